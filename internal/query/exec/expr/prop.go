package expr

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// fetch reads properties of one column of a batch together.
type fetch struct {
	es      *Evaluators
	pos     int // of the column
	group   int
	reader  propReader
	fetched bool
}

// property is one property of a column.
type property struct {
	f  *fetch
	at int // index in f.reader.keys
}

// prop returns the evaluator of a property access.
func (es *Evaluators) prop(e *plan.Prop) runtime.Evaluator {
	c, ok := e.X.(*plan.ColRef)
	if !ok {
		return &propertyOf{x: es.Add(e.X), reader: propReader{r: es.r, keys: []string{e.Key}}}
	}
	pos := slices.Index(es.cols, c.Col)
	if pos < 0 {
		es.r.Fail(es.r.Program.Unbound(c.Col))
		return &Constant{}
	}
	var into *fetch
	for _, f := range es.fetches {
		if f.pos != pos {
			continue
		}
		if at := slices.Index(f.reader.keys, e.Key); at >= 0 {
			return &property{f: f, at: at}
		}
		if f.group == es.Group {
			into = f
		}
	}
	if into == nil {
		into = &fetch{es: es, pos: pos, group: es.Group, reader: propReader{r: es.r}}
		es.fetches = append(es.fetches, into)
		if es.r.Program.Reusable {
			es.r.Values = append(es.r.Values, &into.reader)
		}
	}
	into.reader.keys = append(into.reader.keys, e.Key)
	return &property{f: into, at: len(into.reader.keys) - 1}
}

func (p *property) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	if f := p.f; !f.fetched {
		if err := f.reader.read(ctx, &b.Cols[f.pos], b.N, f.es.sel.get()); err != nil {
			return nil, err
		}
		f.fetched = true
	}
	return p.f.reader.out[p.at], nil
}

// propertyOf is one property of a computed value.
type propertyOf struct {
	x      runtime.Evaluator
	reader propReader
}

func (p *propertyOf) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	vs, err := p.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	if err := p.reader.read(ctx, &graph.Column{Vals: vs}, b.N, s); err != nil {
		return nil, err
	}
	return p.reader.out[0], nil
}

// propReader reads properties of vertices, edges, maps and temporal values in bulk.
type propReader struct {
	r    *runtime.Run
	keys []string
	ids  []graph.PropID // parallel to keys; 0 for a name that no property has had
	out  [][]graph.Value

	// The rows with vertices, or with edges, and their properties.
	vertices []graph.VertexID
	edges    []graph.Edge
	vrows    runtime.Sel
	erows    runtime.Sel
	got      [][]graph.Value
	known    []graph.PropID // those of ids that are not 0
	sorted   runtime.Frontier
}

// read fills out[k][i] with property keys[k] of cell i, for the rows i of s of a column of n cells.
func (p *propReader) read(ctx context.Context, c *graph.Column, n int, s runtime.Sel) error {
	p.resolve()
	for k := range p.out {
		p.out[k] = Grown(p.out[k], n)
	}
	if c.IDs != nil {
		if len(s) == n {
			return p.readVertices(ctx, c.IDs, nil)
		}
		p.vertices = p.vertices[:0]
		for _, i := range s {
			p.vertices = append(p.vertices, c.IDs[i])
		}
		return p.readVertices(ctx, p.vertices, s)
	}
	p.vertices, p.edges, p.vrows, p.erows = p.vertices[:0], p.edges[:0], p.vrows[:0], p.erows[:0]
	for _, i := range s {
		v := c.Vals[i]
		switch kind := v.Kind(); {
		case kind == graph.VertexKind && !v.Virtual():
			p.vertices, p.vrows = append(p.vertices, v.Vertex()), append(p.vrows, i)
		case kind == graph.EdgeKind && !v.Virtual():
			p.edges, p.erows = append(p.edges, v.Edge().Edge), append(p.erows, i)
		default:
			for k, key := range p.keys {
				x, err := fn.Property(v, key)
				if err != nil {
					return err
				}
				p.out[k][i] = x
			}
		}
	}
	if len(p.vertices) > 0 {
		if err := p.readVertices(ctx, p.vertices, p.vrows); err != nil {
			return err
		}
	}
	if len(p.edges) > 0 {
		return p.readEdges(ctx)
	}
	return nil
}

// resolve looks up names that were unknown; the statement may have created them.
func (p *propReader) resolve() {
	if p.out == nil {
		p.ids = make([]graph.PropID, len(p.keys))
		p.out = make([][]graph.Value, len(p.keys))
	}
	p.known = p.known[:0]
	for k, id := range p.ids {
		if id == 0 {
			p.ids[k], _ = p.r.Graph.Prop(p.keys[k])
		}
		if p.ids[k] != 0 {
			p.known = append(p.known, p.ids[k])
		}
	}
}

// Forget clears all values.
func (p *propReader) Forget() {
	for _, col := range p.out {
		clear(col[:cap(col)])
	}
	for _, col := range p.got {
		clear(col[:cap(col)])
	}
}

// readVertices fills out for the vertices ids in the given rows; nil rows are 0, 1, …. It requests each vertex once, in
// ascending order, unless sorting costs more than it saves because the vertices are nearly in order.
func (p *propReader) readVertices(ctx context.Context, ids []graph.VertexID, rows runtime.Sel) error {
	if err := p.r.CheckVertices(ids); err != nil {
		return err
	}
	ordered := nearlyAscending(ids)
	if ordered && rows == nil && len(p.known) == len(p.keys) {
		return p.r.Tx.Properties(ctx, ids, p.known, p.out)
	}
	if rows == nil {
		rows = runtime.AllRows(len(ids))
	}
	if len(p.known) == 0 {
		p.scatter(rows, nil)
		return nil
	}
	if ordered {
		p.buffers(len(ids))
		if err := p.r.Tx.Properties(ctx, ids, p.known, p.got); err != nil {
			return err
		}
		p.scatter(rows, nil)
		return nil
	}
	p.sorted.Set(ids)
	p.buffers(len(p.sorted.IDs))
	if err := p.r.Tx.Properties(ctx, p.sorted.IDs, p.known, p.got); err != nil {
		return err
	}
	p.scatter(rows, p.sorted.Pos)
	return nil
}

// nearlyAscending reports whether ids consist of long ascending runs, like the far ends of a few vertices.
func nearlyAscending(ids []graph.VertexID) bool {
	left := len(ids) / 32
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			if left--; left < 0 {
				return false
			}
		}
	}
	return true
}

func (p *propReader) readEdges(ctx context.Context) error {
	if err := p.r.CheckEdges(p.edges); err != nil {
		return err
	}
	p.buffers(len(p.edges))
	if len(p.known) > 0 {
		if err := p.r.Tx.EdgeProperties(ctx, p.edges, p.known, p.got); err != nil {
			return err
		}
	}
	p.scatter(p.erows, nil)
	return nil
}

// buffers points got at one column of n cells for each known property.
func (p *propReader) buffers(n int) {
	for len(p.got) < len(p.known) {
		p.got = append(p.got, nil)
	}
	p.got = p.got[:len(p.known)]
	for k := range p.got {
		p.got[k] = Grown(p.got[k], n)
	}
}

// scatter writes got to the given rows of out, and null for unknown properties. The cell for rows[j] is at[j], or j if at is
// nil.
func (p *propReader) scatter(rows runtime.Sel, at []int32) {
	next := 0
	for k, id := range p.ids {
		out := p.out[k]
		if id == 0 {
			for _, i := range rows {
				out[i] = graph.Value{}
			}
			continue
		}
		got := p.got[next]
		next++
		if at == nil {
			for j, i := range rows {
				out[i] = got[j]
			}
			continue
		}
		for j, i := range rows {
			out[i] = got[at[j]]
		}
	}
}
