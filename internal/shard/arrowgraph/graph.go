package arrowgraph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// The columns that are no properties. Labels are a list of strings; the ends of an edge are numbers of rows of vertices.
const (
	Labels = "labels"
	Type   = "type"
	Source = "source"
	Target = "target"
)

// Open returns the graph of two streams of Arrow's IPC format: row i of vertices is the vertex with local id i of shard 0, row i of edges
// likewise. A property is a column of Int64, Float64, String or Boolean, in either or both.
func Open(vertices, edges io.Reader) (shard.Graph, error) {
	g := new(backing)
	if err := errors.Join(g.vertices.read(vertices), g.edges.read(edges)); err != nil {
		return nil, err
	}
	if err := errors.Join(g.readLabels(), g.readEdges()); err != nil {
		return nil, err
	}
	return shard.ReadOnly(&g.catalog, func(context.Context) (shard.Tx, error) {
		return shard.Complete(&g.catalog, g, nil, func() {}), nil
	}), nil
}

// backing implements shard.Reader.
type backing struct {
	catalog
	vertices, edges table
	sets            []graph.LabelSet // by vertex
	types           []graph.TypeID   // by edge
	ends            [2][]int64       // sources and targets by edge
	lists           [2]lists         // of the edges that leave a vertex, and that come in
}

// table are the columns of a stream, each in one array.
type table struct {
	rows    int
	columns map[string]arrow.Array
	names   []string // of the columns, in order
}

func (t *table) read(r io.Reader) error {
	in, err := ipc.NewReader(r)
	if err != nil {
		return err
	}
	defer in.Release()
	parts := map[string][]arrow.Array{}
	for in.Next() {
		b := in.RecordBatch()
		t.rows += int(b.NumRows())
		for i, f := range in.Schema().Fields() {
			b.Column(i).Retain()
			parts[f.Name] = append(parts[f.Name], b.Column(i))
		}
	}
	t.columns = map[string]arrow.Array{}
	for _, f := range in.Schema().Fields() {
		t.names = append(t.names, f.Name)
		if t.columns[f.Name], err = array.Concatenate(parts[f.Name], memory.DefaultAllocator); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return in.Err()
}

// value returns a property of a row, null if there is none.
func (t *table) value(name string, row int) graph.Value {
	col := t.columns[name]
	if col == nil || col.IsNull(row) {
		return graph.Value{}
	}
	switch c := col.(type) {
	case *array.Int64:
		return graph.IntValue(c.Value(row))
	case *array.Float64:
		return graph.FloatValue(c.Value(row))
	case *array.String:
		return graph.StringValue(c.Value(row))
	case *array.Boolean:
		return graph.BoolValue(c.Value(row))
	}
	return graph.Value{}
}

// lists are adjacency lists in compressed rows: those of vertex v are edges[offsets[v]:offsets[v+1]], by type, far end and id.
type lists struct {
	offsets []int
	edges   []int32
}

func (g *backing) readLabels() error {
	col, ok := g.vertices.columns[Labels].(*array.List)
	if !ok {
		return errors.New("the vertices have no column of labels")
	}
	texts := col.ListValues().(*array.String)
	for i := range texts.Len() {
		g.labels.add(texts.Value(i))
	}
	g.labels.sort()
	g.sets = make([]graph.LabelSet, g.vertices.rows)
	for v := range g.sets {
		lo, hi := col.ValueOffsets(v)
		var set []graph.LabelID
		for i := lo; i < hi; i++ {
			l, _ := g.Label(texts.Value(int(i)))
			set = append(set, l)
		}
		g.sets[v] = g.set(set)
	}
	for _, name := range slices.Concat(g.vertices.names, g.edges.names) {
		if name != Labels && name != Type && name != Source && name != Target {
			g.props.add(name)
		}
	}
	return nil
}

func (g *backing) readEdges() error {
	types, ok := g.edges.columns[Type].(*array.String)
	if !ok {
		return errors.New("the edges have no column of types")
	}
	for i := range types.Len() {
		g.catalog.types.add(types.Value(i))
	}
	g.catalog.types.sort()
	for i := range types.Len() {
		t, _ := g.Type(types.Value(i))
		g.types = append(g.types, t)
	}
	for end, name := range []string{Source, Target} {
		col, ok := g.edges.columns[name].(*array.Int64)
		if !ok {
			return fmt.Errorf("the edges have no column %s", name)
		}
		g.ends[end] = col.Int64Values()
		for _, v := range g.ends[end] {
			if v < 0 || v >= int64(g.vertices.rows) {
				return fmt.Errorf("an edge with vertex %d of %d", v, g.vertices.rows)
			}
		}
	}
	for dir := range g.lists {
		l := &g.lists[dir]
		l.edges = make([]int32, g.edges.rows)
		for e := range l.edges {
			l.edges[e] = int32(e)
		}
		near, far := g.ends[dir], g.ends[1-dir]
		slices.SortFunc(l.edges, func(a, b int32) int {
			return cmp.Or(cmp.Compare(near[a], near[b]), cmp.Compare(g.types[a], g.types[b]), cmp.Compare(far[a], far[b]), cmp.Compare(a, b))
		})
		l.offsets = make([]int, g.vertices.rows+1)
		for v, at := 0, 0; v < g.vertices.rows; v++ {
			for at < len(l.edges) && near[l.edges[at]] == int64(v) {
				at++
			}
			l.offsets[v+1] = at
		}
	}
	return nil
}

// row returns the row of a vertex.
func (g *backing) row(id graph.VertexID) (row int, ok bool) {
	return int(id.Local()), id.Shard() == 0 && id.Local() < uint64(g.vertices.rows)
}

// Scan implements shard.Reader.
func (g *backing) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) ([]graph.VertexID, graph.VertexID, bool, error) {
	if err := ctx.Err(); err != nil {
		return dst, from, false, graph.DeadlineError(err)
	}
	for row, ok := g.row(from); ok && row < g.vertices.rows; row++ {
		if label != 0 && !slices.Contains(g.Labels(g.sets[row]), label) {
			continue
		}
		if len(dst) == cap(dst) {
			return dst, graph.MakeVertexID(0, uint64(row)), false, nil
		}
		dst = append(dst, graph.MakeVertexID(0, uint64(row)))
	}
	return dst, graph.NoVertex, true, nil
}

// LabelSets implements shard.Reader.
func (g *backing) LabelSets(_ context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	for i, id := range ids {
		out[i] = 0
		if row, ok := g.row(id); ok {
			out[i] = g.sets[row]
		}
	}
	return nil
}

// Properties implements shard.Reader.
func (g *backing) Properties(_ context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	for p, prop := range props {
		name := g.PropName(prop)
		for i, id := range ids {
			out[p][i] = graph.Value{}
			if row, ok := g.row(id); ok {
				out[p][i] = g.vertices.value(name, row)
			}
		}
	}
	return nil
}

// EdgeProperties implements shard.Reader.
func (g *backing) EdgeProperties(_ context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	for p, prop := range props {
		name := g.PropName(prop)
		for i, e := range edges {
			out[p][i] = graph.Value{}
			if row := e.ID.Local(); e.ID.Shard() == 0 && row < uint64(g.edges.rows) && g.edge(int32(row)) == e {
				out[p][i] = g.edges.value(name, int(row))
			}
		}
	}
	return nil
}

// edge returns the edge of a row.
func (g *backing) edge(row int32) graph.Edge {
	return graph.Edge{
		ID: graph.MakeEdgeID(0, uint64(row)), Type: g.types[row],
		Src: graph.MakeVertexID(0, uint64(g.ends[0][row])), Dst: graph.MakeVertexID(0, uint64(g.ends[1][row])),
	}
}

// each calls f with the edges of a vertex, by type and direction; a loop comes once.
func (g *backing) each(id graph.VertexID, types []graph.TypeID, dir graph.Direction, f func(e graph.Edge, far graph.VertexID, reverse bool)) {
	row, ok := g.row(id)
	if !ok {
		return
	}
	list := func(dir int) []int32 {
		return g.lists[dir].edges[g.lists[dir].offsets[row]:g.lists[dir].offsets[row+1]]
	}
	if len(types) == 0 {
		types = g.allTypes()
	}
	for _, t := range types {
		if dir != graph.In {
			for _, e := range list(0) {
				if e := g.edge(e); e.Type == t {
					f(e, e.Dst, false)
				}
			}
		}
		if dir != graph.Out {
			for _, e := range list(1) {
				if e := g.edge(e); e.Type == t && (dir == graph.In || e.Src != e.Dst) {
					f(e, e.Src, true)
				}
			}
		}
	}
}

// Degrees implements shard.Reader.
func (g *backing) Degrees(_ context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	for i, id := range ids {
		out[i] = 0
		g.each(id, types, dir, func(graph.Edge, graph.VertexID, bool) { out[i]++ })
	}
	return nil
}

// Expand implements shard.Reader.
func (g *backing) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	if err := ctx.Err(); err != nil {
		return graph.DeadlineError(err)
	}
	res.Reset(len(req.Props))
	for _, src := range req.Sources {
		g.each(src, req.Types, req.Dir, func(e graph.Edge, far graph.VertexID, reverse bool) {
			res.Seen++
			row := int(e.ID.Local())
			for i := range req.Where {
				if w := &req.Where[i]; !w.In.Holds(g.edges.value(g.PropName(w.Prop), row)) {
					return
				}
			}
			res.Targets = append(res.Targets, far)
			if req.Edges {
				res.Edges, res.Types = append(res.Edges, e.ID), append(res.Types, e.Type)
				if req.Dir != graph.Out {
					res.Reverse = append(res.Reverse, reverse)
				}
			}
			for p, prop := range req.Props {
				res.Props[p] = append(res.Props[p], g.edges.value(g.PropName(prop), row))
			}
		})
		res.Done, res.Offsets = res.Done+1, append(res.Offsets, len(res.Targets))
		if req.MaxEdges > 0 && res.Seen >= req.MaxEdges {
			break
		}
	}
	if req.Into != nil {
		res.Put(req.Into)
	}
	return nil
}
