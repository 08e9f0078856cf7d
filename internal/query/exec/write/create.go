package write

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// creation is a compiled plan.Create: its rows have the columns of the input, then the created ones.
type creation struct {
	node *plan.Create
	cols []plan.Col
	base int // the number of the input's columns
}

// createdCols returns the columns that a Create fills.
func createdCols(n *plan.Create) []plan.Col {
	var out []plan.Col
	for _, v := range n.Vertices {
		out = append(out, v.Out)
	}
	for _, e := range n.Edges {
		out = append(out, e.Out)
	}
	return out
}

// createNeeds returns the input columns that a Create reads, besides need.
func createNeeds(c *compile.Compiler, n *plan.Create, need plan.ColSet) plan.ColSet {
	var exprs []plan.Expr
	for _, v := range n.Vertices {
		exprs = append(append(exprs, v.Props), v.LabelsOf...)
	}
	for _, e := range n.Edges {
		exprs = append(exprs, e.Props, e.TypeOf)
	}
	below := c.Below(need, exprs...)
	for _, e := range n.Edges {
		below.Add(e.Src, e.Dst)
	}
	for _, col := range createdCols(n) {
		below.Remove(col)
	}
	return below
}

// Create compiles a Create.
func Create(c *compile.Compiler, n *plan.Create, need plan.ColSet) *runtime.Stage {
	below := createNeeds(c, n, need)
	in := c.Compile(n.Input, below)
	c.Wrote = true
	k := &creation{node: n, base: len(in.Cols), cols: append(slices.Clone(in.Cols), createdCols(n)...)}
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(k.cols, need)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &create{Input: runtime.Input{In: kids[0]}, maker: newCreator(r, k), from: (&runtime.Stage{Cols: k.cols}).Positions(s.Cols)}
	}
	return s
}

// create creates vertices and edges for each row.
type create struct {
	runtime.Input
	maker *creator
	from  []int
	out   runtime.Batch
}

func (c *create) Open(ctx context.Context) error {
	c.maker.begin()
	return c.Input.Open(ctx)
}

func (c *create) Next(ctx context.Context) (*runtime.Batch, error) {
	b, err := c.In.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	all, err := c.maker.run(ctx, b)
	if err != nil {
		return nil, err
	}
	c.out.View(all, c.from)
	return &c.out, nil
}

// creator creates the entities of a Create for whole batches.
type creator struct {
	*creation
	m      mutations
	es     *expr.Evaluators
	vprops []runtime.Evaluator // by vertex; nil: none
	eprops []runtime.Evaluator
	vnames [][]runtime.Evaluator // by vertex: of plan.NewVertex.LabelsOf
	enames []runtime.Evaluator   // by edge: of plan.NewEdge.TypeOf, or nil
	// early says, first of vertices, then of edges, that the properties read entities of the same Create, which must therefore
	// be created first.
	early  []bool
	labels []graph.LabelSet
	types  []graph.TypeID
	all    runtime.Batch
}

func newCreator(r *runtime.Run, k *creation) *creator {
	m := &creator{creation: k, m: mutations{r: r}, es: expr.New(r, k.cols)}
	made := plan.NewColSet()
	eval := func(x plan.Expr) runtime.Evaluator {
		if x == nil {
			return nil
		}
		for col := range plan.Reads(x).All() {
			m.early[len(m.early)-1] = m.early[len(m.early)-1] || made.Has(col)
		}
		m.es.Group++
		return m.es.Add(x)
	}
	for _, v := range k.node.Vertices {
		m.early = append(m.early, false)
		m.vprops = append(m.vprops, eval(v.Props))
		var names []runtime.Evaluator
		for _, x := range v.LabelsOf {
			names = append(names, eval(x))
		}
		m.vnames = append(m.vnames, names)
		made.Add(v.Out)
	}
	for _, e := range k.node.Edges {
		m.early = append(m.early, false)
		m.eprops, m.enames = append(m.eprops, eval(e.Props)), append(m.enames, eval(e.TypeOf))
		made.Add(e.Out)
	}
	return m
}

// run creates everything for the rows of b and returns them with the columns of the creation. The result is valid until the
// next call.
func (m *creator) run(ctx context.Context, b *runtime.Batch) (*runtime.Batch, error) {
	if err := m.resolve(); err != nil {
		return nil, err
	}
	m.all.N, m.all.Row = b.N, b.Row
	m.all.Cols = append(m.all.Cols[:0], b.Cols...)
	for range len(m.cols) - m.base {
		m.all.Cols = append(m.all.Cols, graph.Column{})
	}
	s := runtime.AllRows(b.N)
	m.es.Begin(s)
	nv := len(m.node.Vertices)
	first := 0 // the first vertex whose creation waits
	for k := range nv {
		if m.early[k] {
			if err := m.flushVertices(ctx, first, k); err != nil {
				return nil, err
			}
			first = k
			m.es.Begin(s)
		}
		if err := m.addVertex(ctx, k, s); err != nil {
			return nil, err
		}
	}
	if err := m.flushVertices(ctx, first, nv); err != nil {
		return nil, err
	}
	if nv > 0 {
		m.es.Begin(s)
	}
	first = 0
	for k := range m.node.Edges {
		if m.early[nv+k] {
			if err := m.flushEdges(ctx, first, k); err != nil {
				return nil, err
			}
			first = k
			m.es.Begin(s)
		}
		if err := m.addEdge(ctx, k, s); err != nil {
			return nil, err
		}
	}
	return &m.all, m.flushEdges(ctx, first, len(m.node.Edges))
}

// begin clears the numbers of names, which are valid within a transaction, and the created entities.
func (m *creator) begin() {
	m.labels, m.types = m.labels[:0], m.types[:0]
	m.m.Forget()
}

// resolve numbers the labels and types, once after begin.
func (m *creator) resolve() error {
	if len(m.labels)+len(m.types) > 0 {
		return nil
	}
	for _, v := range m.node.Vertices {
		ls, err := labelSet(m.m.r, v.Labels)
		if err != nil {
			return err
		}
		m.labels = append(m.labels, ls)
	}
	for _, e := range m.node.Edges {
		var t graph.TypeID
		if e.TypeOf == nil {
			var err error
			if t, err = m.m.r.Tx.Type(e.Type); err != nil {
				return err
			}
		}
		m.types = append(m.types, t)
	}
	return nil
}

// relabel sets the labels that expressions compute for the rows of s of vertex k, whose changes start at at.
func (m *creator) relabel(ctx context.Context, k, at int, s runtime.Sel) error {
	if len(m.vnames[k]) == 0 {
		return nil
	}
	rows := make([][]string, len(s))
	for _, x := range m.vnames[k] {
		vs, err := x.Eval(ctx, &m.all, s)
		if err != nil {
			return err
		}
		for j, i := range s {
			names, err := fn.Names(vs[i])
			if err != nil {
				return err
			}
			rows[j] = append(rows[j], names...)
		}
	}
	for j, names := range rows {
		ls, err := labelSet(m.m.r, append(names, m.node.Vertices[k].Labels...))
		if err != nil {
			return err
		}
		m.m.ms[at+j].Labels = ls
	}
	return nil
}

// retype sets the type that an expression computes for the rows of s of edge k, whose changes start at at.
func (m *creator) retype(ctx context.Context, k, at int, s runtime.Sel) error {
	if m.enames[k] == nil {
		return nil
	}
	vs, err := m.enames[k].Eval(ctx, &m.all, s)
	if err != nil {
		return err
	}
	for j, i := range s {
		names, err := fn.Names(vs[i])
		if err != nil {
			return err
		}
		if len(names) != 1 {
			return graph.TypeError("InvalidArgumentValue", "a new relationship needs one type, not %d", len(names))
		}
		if m.m.ms[at+j].Edge.Type, err = m.m.r.Tx.Type(names[0]); err != nil {
			return err
		}
	}
	return nil
}

// properties appends one list of properties for each row to lists.
func (m *creator) properties(ctx context.Context, x runtime.Evaluator, s runtime.Sel, each func(i int32, props []graph.Property)) error {
	if x == nil {
		for _, i := range s {
			each(i, nil)
		}
		return nil
	}
	vs, err := x.Eval(ctx, &m.all, s)
	if err != nil {
		return err
	}
	for _, i := range s {
		at := len(m.m.props)
		n, err := m.m.putMap(vs[i])
		if err != nil {
			return err
		}
		m.m.r.Counters.PropertiesSet += int64(n)
		each(i, m.m.since(at))
	}
	return nil
}

func (m *creator) addVertex(ctx context.Context, k int, s runtime.Sel) error {
	at := len(m.m.ms)
	err := m.properties(ctx, m.vprops[k], s, func(_ int32, props []graph.Property) {
		m.m.ms = append(m.m.ms, shard.Mutation{Op: shard.CreateVertex, Labels: m.labels[k], Props: props})
	})
	if err != nil {
		return err
	}
	return m.relabel(ctx, k, at, s)
}

// flushVertices creates vertices first … end-1, whose changes stand in this order, all rows of one vertex together.
func (m *creator) flushVertices(ctx context.Context, first, end int) error {
	if first == end {
		return nil
	}
	if err := m.m.apply(ctx); err != nil {
		return err
	}
	n := m.all.N
	for k := first; k < end; k++ {
		ids := make([]graph.VertexID, n)
		for i := range ids {
			made := &m.m.ms[(k-first)*n+i]
			ids[i] = made.Vertex
			m.m.r.Counters.LabelsAdded += int64(len(m.m.r.Graph.Labels(made.Labels)))
		}
		m.all.Cols[m.base+k] = graph.Column{IDs: ids}
		m.m.r.Counters.NodesCreated += int64(n)
	}
	m.m.reset()
	return nil
}

func (m *creator) addEdge(ctx context.Context, k int, s runtime.Sel) error {
	e := &m.node.Edges[k]
	src := &m.all.Cols[slices.Index(m.cols, e.Src)]
	dst := &m.all.Cols[slices.Index(m.cols, e.Dst)]
	var failed error
	at := len(m.m.ms)
	err := m.properties(ctx, m.eprops[k], s, func(i int32, props []graph.Property) {
		from, err := m.end(src.Value(int(i)))
		if err != nil {
			failed = err
		}
		to, err := m.end(dst.Value(int(i)))
		if err != nil {
			failed = err
		}
		m.m.ms = append(m.m.ms, shard.Mutation{
			Op: shard.CreateEdge, Edge: graph.Edge{Src: from, Dst: to, Type: m.types[k]}, Props: props,
		})
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return m.retype(ctx, k, at, s)
}

// end returns the vertex at the end of a new edge.
func (m *creator) end(v graph.Value) (graph.VertexID, error) {
	if v.Kind() != graph.VertexKind {
		return 0, graph.TypeError("InvalidArgumentType", "an edge needs a Node at each end, not %s", notation.Describe(v))
	}
	if len(m.m.r.Deleted.Vertices) > 0 {
		return v.Vertex(), m.m.r.CheckVertices([]graph.VertexID{v.Vertex()})
	}
	return v.Vertex(), nil
}

// flushEdges creates edges first … end-1.
func (m *creator) flushEdges(ctx context.Context, first, end int) error {
	if first == end {
		return nil
	}
	if err := m.m.apply(ctx); err != nil {
		return err
	}
	n := m.all.N
	for k := first; k < end; k++ {
		edges := make([]graph.EdgeValue, n)
		vals := make([]graph.Value, n)
		for i := range edges {
			edges[i].Edge = m.m.ms[(k-first)*n+i].Edge
			vals[i] = graph.EdgeRefValue(&edges[i])
		}
		m.all.Cols[m.base+len(m.node.Vertices)+k] = graph.Column{Vals: vals}
		m.m.r.Counters.RelationshipsCreated += int64(n)
	}
	m.m.reset()
	return nil
}
