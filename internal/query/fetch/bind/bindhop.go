package bind

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// hops binds the rows of a table reached by a hop: each vertex once, at its least distance, and never a start.
func (b *Binder) hops(lv *level, p *Part, in plan.Node, a *syntax.Array, h *syntax.Hop, sc *Scope) (plan.Node, error) {
	if err := b.checkTypes(h.N, h.Steps); err != nil {
		return nil, err
	}
	if h.Find != "" {
		return nil, syntax.Unsupported(h.N, "paths are found in arrays")
	}
	w := &walker{b: b, lv: lv.below(), sc: sc, h: h, to: p.Src.Vertex, label: p.t.Label}
	if t := b.edgeTable(a, h); t != nil {
		if t.Ranked() {
			return nil, syntax.Unsupported(cmp.Or(t.N.Get("@near"), t.N.Get("@search")), "@near and @search belong to a table of vertices")
		}
		if p.t.Near != nil && p.t.Search != nil {
			return nil, syntax.Unsupported(t.N, "@near and @search together do not go with a table of the edge")
		}
		w.table = t
	}
	node, err := w.begin()
	if err != nil {
		return nil, err
	}
	switch {
	case h.Walk:
		node, err = w.walks(node)
	case len(h.Steps) > 1:
		node, err = w.chain(node)
	case h.Max > 1:
		node, err = w.reach(node)
	default:
		node, err = w.oneHop(node)
	}
	if err != nil {
		return nil, err
	}
	apply := &plan.Apply{Input: in, Sub: node, Kind: plan.Inner, Cols: []plan.Col{w.to}}
	p.Src.cols = map[string]plan.Expr{syntax.DepthColumn: IntConst(int64(len(h.Steps)))}
	if w.depth != 0 {
		apply.Cols = append(apply.Cols, w.depth)
		p.Src.cols[syntax.DepthColumn] = &plan.ColRef{Col: w.depth}
	}
	if w.edge != 0 {
		apply.Cols = append(apply.Cols, w.edge)
	}
	return apply, b.edgePart(lv, w, sc)
}

// edgePart binds the columns of the edge's table.
func (b *Binder) edgePart(lv *level, w *walker, sc *Scope) error {
	if w.table == nil {
		return nil
	}
	src := &source{t: w.table, edge: true, Vertex: w.edge, denied: b.deniedOfEdge(w.table)}
	bd := &bound{t: w.table, lv: lv, src: src, open: true}
	src.bound = bd
	p := &Part{t: w.table, Src: src, bound: bd}
	if err := b.columns(lv, p, nil, false); err != nil {
		return err
	}
	sc.things[w.table.Key] = &thing{table: bd}
	b.edges[w.table] = p
	return nil
}

// deniedOfEdge are the properties of an edge that the request may not read; checkTypes has let the type itself pass.
func (b *Binder) deniedOfEdge(t *syntax.Table) map[string]bool {
	right, _ := b.Req.Rights.Check(t.N, nil, true, t.Label)
	return right.Unreadable
}

// edgeTable returns the table of an array that represents the edges of the hop, or nil.
func (b *Binder) edgeTable(a *syntax.Array, h *syntax.Hop) *syntax.Table {
	if a == nil || a.Hop != h {
		return nil
	}
	for _, m := range a.Members {
		if m.Kind == syntax.MemberTable && h.IsEdge(m.Table) {
			return m.Table
		}
	}
	return nil
}

// edgeFields are the columns of a hop's edge in an item.
func (b *answers) edgeFields(lv *level, m *syntax.Member) ([]Field, error) {
	p := b.edges[m.Table]
	if p == nil {
		return nil, syntax.Illegal(m.N, "stands for the edges of a hop a second time")
	}
	p.bound.open = false
	var fields []Field
	if p.bound.star {
		for _, name := range b.Cat.AllProps() {
			if e := p.bound.column(b.Cat, name); e != nil {
				fields = append(fields, Field{Lit: b.literal(name, syntax.MemberPlain), Col: lv.Outs.Add(e, name)})
			}
		}
	}
	all := newKeyed(fields)
	for _, o := range p.outs {
		all.put(Field{Lit: b.literal(o.name, syntax.MemberPlain), Col: lv.Outs.Add(o.expr, o.name)})
	}
	return []Field{{Kind: FieldObject, Lit: b.literal(m.Key, m.Kind), Col: -1, Fields: all.fields}}, nil
}

// walker binds one hop. Its level is a subplan of the rows that hop.
type walker struct {
	b     *Binder
	lv    *level
	sc    *Scope
	h     *syntax.Hop
	label string // of the ends
	start plan.Col
	to    plan.Col
	depth plan.Col
	table *syntax.Table // of the edges, or nil
	edge  plan.Col      // the edge by which an end was reached; 0 unless there is a table
	// not are more tests that an end is no start.
	not []plan.Expr
}

// begin binds the starts.
func (w *walker) begin() (plan.Node, error) {
	node, err := w.starts(&w.start, w.h.Start, w.h.Ref)
	if err != nil {
		return nil, err
	}
	w.not = append(w.not, Op(plan.Ne, &plan.ColRef{Col: w.to}, &plan.ColRef{Col: w.start}))
	return node, nil
}

// starts binds the vertices that keys or a reference name, or the enclosing item.
func (w *walker) starts(col *plan.Col, keys *syntax.Node, ref string) (plan.Node, error) {
	b := w.b
	var list plan.Expr
	var labels []string
	switch {
	case ref != "":
		t, err := b.resolve(ref, w.sc, w.lv)
		if err != nil {
			return nil, err
		}
		list = null()
		if t.found() {
			list = call("sql.list", t.value(w.lv))
		}
		if label := b.labelOf(ref); label != "" {
			labels = []string{label}
		}
	case keys == nil:
		t := b.enclosing(w.sc)
		if t == nil {
			return nil, syntax.Illegal(w.h.N, "needs a start: there is no item around it")
		}
		if t.src.Vertex == 0 || t.src.edge || t.cols != nil && !t.plain() {
			return nil, syntax.Illegal(w.h.N, "needs a start: the item around it is no vertex")
		}
		if !w.lv.within(t.lv) {
			return nil, errOuter
		}
		w.lv.use(&plan.ColRef{Col: t.src.Vertex}, t.lv)
		*col = t.src.Vertex
		return w.lv.arg, nil
	case keys.Kind == syntax.JSONObject:
		keys = keys.Members[0]
		labels = []string{keys.Key}
		if _, ok := b.Cat.Label(keys.Key); !ok {
			return nil, syntax.NotFound(keys, "there is no label %q", keys.Key)
		}
		fallthrough
	default:
		list = call("sql.list", b.lift(keys, Param{Kind: ParamList, Elem: -1}))
	}
	if labels == nil {
		labels = b.keyed()
	}
	*col = w.lv.col("start", graph.VertexKind)
	if col == &w.start && slices.Contains(labels, w.label) {
		key := &plan.Prop{X: &plan.ColRef{Col: w.to}, Key: b.Key(w.label)}
		w.not = append(w.not, Op(plan.Not, Op(plan.In, key, list)))
	}
	return b.findKeys(w.lv, w.lv.arg, *col, labels, list), nil
}

// plain reports whether the rows of a table are its vertices, not groups of them.
func (t *bound) plain() bool { return !t.grouped }

// keyed are the labels with a unique key, or all where none has one.
func (b *levels) keyed() []string {
	var labels []string
	seen := make(map[string]bool)
	for _, ix := range b.Cat.Indexes() {
		if ix.Label != "" && ix.Unique && len(ix.Props) == 1 && !seen[ix.Label] {
			seen[ix.Label] = true
			labels = append(labels, ix.Label)
		}
	}
	if labels == nil {
		return b.Cat.AllLabels()
	}
	return labels
}

// findKeys joins the vertices of the labels whose key is in the list.
func (b *Binder) findKeys(lv *level, in plan.Node, col plan.Col, labels []string, list plan.Expr) plan.Node {
	find := func(in plan.Node, col plan.Col, label string) plan.Node {
		return b.where(lv, Scan(in, col, label), []plan.Expr{Op(plan.In, &plan.Prop{X: &plan.ColRef{Col: col}, Key: b.Key(label)}, list)})
	}
	if len(labels) == 1 {
		return find(in, col, labels[0])
	}
	u := &plan.Union{Out: []plan.Col{col}}
	for _, label := range labels {
		arg := &plan.Argument{}
		eachCol(list, func(c plan.Col) { arg.Cols = append(arg.Cols, c) })
		c := lv.col("", graph.VertexKind)
		u.Inputs = append(u.Inputs, find(arg, c, label))
		u.Cols = append(u.Cols, []plan.Col{c})
	}
	return &plan.Apply{Input: in, Sub: u, Kind: plan.Inner, Cols: []plan.Col{col}}
}

// labelOf is the label of the table whose key a reference names; "" where it names something else.
func (b *levels) labelOf(ref string) string {
	var table, column string
	parts := strings.Split(ref, "/")
	if last := parts[len(parts)-1]; syntax.IsArrayKey(last) {
		if target := syntax.ArrayTarget(last); len(target) == 2 {
			table, column = target[0], target[1]
		}
	} else if len(parts) > 1 {
		table, column = parts[len(parts)-2], last
	}
	label, _ := syntax.SplitAlias(table)
	if _, ok := b.Cat.Label(label); !ok || column != b.Key(label) {
		return ""
	}
	return label
}

// enclosing is the main table of the item around a scope.
func (b *Binder) enclosing(sc *Scope) *bound {
	for ; sc != nil; sc = sc.parent {
		if sc.main != nil {
			return sc.main
		}
	}
	return nil
}

// tests binds the conditions of the edge's table on an edge column.
func (w *walker) tests(edge plan.Col) ([]plan.Expr, error) {
	if w.table == nil {
		return nil, nil
	}
	src := &source{t: w.table, edge: true, Vertex: edge, denied: w.b.deniedOfEdge(w.table)}
	src.bound = &bound{t: w.table, lv: w.lv, src: src, open: true}
	preds, never, err := w.b.conditions(w.lv, src, w.sc, nil)
	if err == nil && never {
		preds = []plan.Expr{BoolConst(false)}
	}
	return preds, err
}

// expand adds one step; the edge has a column if there is a table for it.
func (w *walker) expand(in plan.Node, from, to plan.Col, s syntax.Step) (*plan.Expand, error) {
	x := &plan.Expand{Input: in, From: from, To: to, Types: s.Types, Dir: s.Direction()}
	if to == w.to {
		x.Labels = &plan.LabelExpr{Op: plan.LabelName, Name: w.label}
	}
	if w.table == nil || !s.Has(w.table.Label) {
		return x, nil
	}
	x.Edge = w.lv.col(w.table.Key, graph.EdgeKind)
	var err error
	x.Where, err = w.tests(x.Edge)
	return x, err
}

// oneHop is a hop of one step.
func (w *walker) oneHop(in plan.Node) (plan.Node, error) {
	x, err := w.expand(in, w.start, w.to, w.h.Steps[0])
	if err != nil {
		return nil, err
	}
	return w.once(x, x.Edge), nil
}

// once keeps each end once, with the first of its edges, and no start.
func (w *walker) once(node plan.Node, edge plan.Col) plan.Node {
	node = &plan.Filter{Input: node, Preds: w.not}
	if edge == 0 {
		return &plan.Distinct{Input: node, Cols: []plan.Col{w.to}}
	}
	edges := w.lv.col("edges", graph.List)
	w.edge = w.lv.col(w.table.Key, graph.EdgeKind)
	agg := &plan.Aggregate{
		Input: node, Keys: []plan.Item{{Col: w.to, Expr: &plan.ColRef{Col: w.to}}},
		Aggs: []plan.Agg{{Col: edges, Func: "collect", Args: []plan.Expr{&plan.ColRef{Col: edge}}}},
	}
	first := Op(plan.Index, &plan.ColRef{Col: edges}, IntConst(0))
	return &plan.Project{Input: agg, Items: []plan.Item{{Col: w.edge, Expr: first}}, Keep: true}
}

// chain is a hop of several consecutive steps.
func (w *walker) chain(in plan.Node) (plan.Node, error) {
	from, node, edge := w.start, in, plan.Col(0)
	for i, s := range w.h.Steps {
		end := w.to
		if i < len(w.h.Steps)-1 {
			end = w.lv.col("", graph.VertexKind)
		}
		x, err := w.expand(node, from, end, s)
		if err != nil {
			return nil, err
		}
		if x.Edge != 0 {
			edge = x.Edge
		}
		from, node = end, x
	}
	if w.h.Walk {
		w.edge = edge
		return node, nil
	}
	return w.once(node, edge), nil
}

// walks counts every walk of min to max steps, including repeated vertices.
func (w *walker) walks(in plan.Node) (plan.Node, error) {
	if len(w.h.Steps) > 1 {
		return w.chain(in)
	}
	if w.h.Max == 1 {
		x, err := w.expand(in, w.start, w.to, w.h.Steps[0])
		if err == nil {
			w.edge = x.Edge
		}
		return x, err
	}
	w.depth = w.lv.col(syntax.DepthColumn, graph.Int)
	u := &plan.Union{Out: []plan.Col{w.to, w.depth}, All: true}
	if w.table != nil {
		w.edge = w.lv.col(w.table.Key, graph.EdgeKind)
		u.Out = append(u.Out, w.edge)
	}
	for n := w.h.Min; n <= w.h.Max; n++ {
		var node plan.Node = &plan.Argument{Cols: []plan.Col{w.start}}
		from, edge := w.start, plan.Col(0)
		for range n {
			x, err := w.expand(node, from, w.lv.col("", graph.VertexKind), w.h.Steps[0])
			if err != nil {
				return nil, err
			}
			from, edge, node = x.To, x.Edge, x
		}
		d := w.lv.col("", graph.Int)
		label := &plan.HasLabels{X: &plan.ColRef{Col: from}, Labels: &plan.LabelExpr{Op: plan.LabelName, Name: w.label}}
		node = &plan.Filter{Input: node, Preds: []plan.Expr{label}}
		node = &plan.Project{Input: node, Items: []plan.Item{{Col: d, Expr: IntConst(int64(n))}}, Keep: true}
		cols := []plan.Col{from, d}
		if w.table != nil {
			cols = append(cols, edge)
		}
		u.Inputs = append(u.Inputs, node)
		u.Cols = append(u.Cols, cols)
	}
	return &plan.Apply{Input: in, Sub: u, Kind: plan.Inner, Cols: u.Out}, nil
}

// reach is a hop of min to max steps: each end at its least distance, found by one breadth-first search for each start.
func (w *walker) reach(in plan.Node) (plan.Node, error) {
	x := &plan.VarExpand{
		Input: in, From: w.start, To: w.to, Types: w.h.Steps[0].Types, Dir: w.h.Steps[0].Direction(),
		Min: IntConst(1), Max: IntConst(int64(w.h.Max)), Ends: true, Depth: w.lv.col(syntax.DepthColumn, graph.Int),
		Labels: &plan.LabelExpr{Op: plan.LabelName, Name: w.label},
	}
	w.depth = x.Depth
	if w.table != nil {
		x.EdgeVar, x.Last = w.lv.col("", graph.EdgeKind), w.lv.col(w.table.Key, graph.EdgeKind)
		w.edge = x.Last
		var err error
		if x.Where, err = w.tests(x.EdgeVar); err != nil {
			return nil, err
		}
	}
	var node plan.Node = x
	if !w.single() {
		node = w.nearest(node)
	}
	var preds []plan.Expr
	if !w.single() { // an end of one start may be another start
		preds = append(preds, w.not[:len(w.not)-1]...)
	}
	if w.h.Min > 1 {
		preds = append(preds, Op(plan.Ge, &plan.ColRef{Col: w.depth}, IntConst(int64(w.h.Min))))
	}
	if len(preds) > 0 {
		node = &plan.Filter{Input: node, Preds: preds}
	}
	return node, nil
}

// single reports whether there is one start at most: the item around the hop.
func (w *walker) single() bool { return w.h.Start == nil && w.h.Ref == "" }

// nearest keeps each end once, at its least distance from any start.
func (w *walker) nearest(in plan.Node) plan.Node {
	depth := w.lv.col(syntax.DepthColumn, graph.Int)
	agg := &plan.Aggregate{
		Input: in, Keys: []plan.Item{{Col: w.to, Expr: &plan.ColRef{Col: w.to}}},
		Aggs: []plan.Agg{{Col: depth, Func: "min", Args: []plan.Expr{&plan.ColRef{Col: w.depth}}}},
	}
	var node plan.Node = agg
	if w.edge != 0 { // of the last edges, that of the shortest path
		ways, v, last := w.lv.col("", graph.List), w.lv.col("", graph.Null), w.lv.col(w.table.Key, graph.EdgeKind)
		way := &plan.ListLit{Elems: []plan.Expr{&plan.ColRef{Col: w.depth}, &plan.ColRef{Col: w.edge}}}
		agg.Aggs = append(agg.Aggs, plan.Agg{Col: ways, Func: "collect", Args: []plan.Expr{way}})
		near := &plan.Comprehension{
			Var: v, List: &plan.ColRef{Col: ways},
			Where: Op(plan.Eq, Op(plan.Index, &plan.ColRef{Col: v}, IntConst(0)), &plan.ColRef{Col: depth}),
			Map:   Op(plan.Index, &plan.ColRef{Col: v}, IntConst(1)),
		}
		node = &plan.Project{Input: agg, Items: []plan.Item{{Col: last, Expr: Op(plan.Index, near, IntConst(0))}}, Keep: true}
		w.edge = last
	}
	w.depth = depth
	return node
}

// paths binds an array of paths between a start and an end.
func (b *answers) paths(lv *level, a *syntax.Array, sc *Scope) (*items, error) {
	h := a.Hop
	if err := b.checkTypes(h.N, h.Steps); err != nil {
		return nil, err
	}
	// Whatever lies on a path is shown.
	if r := &b.Req.Rights; r.Rules != nil {
		if x, err := r.As(h.N, nil); err != nil || x != syntax.RoleAdmin {
			return nil, syntax.Fail(syntax.CodeNoRight, h.N, "paths are for the role ADMIN while access rules are on")
		}
	}
	w := &walker{b: &b.Binder, lv: lv, sc: sc, h: h}
	if lv.arg == nil {
		w.lv = lv.below()
	}
	if t := b.edgeTable(a, h); t != nil {
		w.table = t
	}
	var end plan.Col
	from, err := w.starts(&w.start, h.Start, h.Ref)
	if err != nil {
		return nil, err
	}
	to, err := w.starts(&end, h.End, h.EndRef)
	if err != nil {
		return nil, err
	}
	edgeVar := lv.col("", graph.EdgeKind)
	where, err := w.tests(edgeVar)
	if err != nil {
		return nil, err
	}
	both := &plan.Apply{Input: from, Sub: to, Kind: plan.Inner, Cols: []plan.Col{end}}
	apart := &plan.Filter{Input: both, Preds: []plan.Expr{Op(plan.Ne, &plan.ColRef{Col: w.start}, &plan.ColRef{Col: end})}}
	path := lv.col("path", graph.PathKind)
	var node plan.Node = &plan.ShortestPath{
		Input: apart, From: w.start, To: end, Path: path, Types: h.Steps[0].Types, Dir: h.Steps[0].Direction(),
		Min: IntConst(int64(h.Min)), Max: IntConst(int64(h.Max)), All: h.Find == "all", EdgeVar: edgeVar, Where: where,
	}
	if lv.arg == nil {
		node = &plan.Apply{Input: lv.leaf(), Sub: node, Kind: plan.Inner, Cols: []plan.Col{path}}
	}
	l := &items{node: b.cut(a, node, defaultCount)}
	if a.Query != 0 {
		return nil, syntax.Unsupported(a.N.Get("query"), "paths have no total")
	}
	walked, err := b.walked(a)
	if err != nil {
		return nil, err
	}
	l.elem = &Element{Path: walked, Col: lv.Outs.Add(&plan.ColRef{Col: path}, "path"), Object: -1}
	return l, nil
}

// walked describes the form of the vertices and edges of a path.
func (b *answers) walked(a *syntax.Array) (*Walked, error) {
	w := &Walked{Tables: make(map[string]*PathTable)}
	for _, m := range a.Members {
		if m.Kind != syntax.MemberTable {
			return nil, syntax.Illegal(m.N, "an array of paths holds tables alone")
		}
		t := m.Table
		edge := a.Hop.IsEdge(t)
		if _, ok := b.Cat.Label(t.Label); !ok && !edge {
			return nil, syntax.NotFound(t.N, "there is no label %q", t.Label)
		}
		if len(t.Conds) > 0 && !edge {
			return nil, syntax.Unsupported(t.Conds[0].N, "the vertices of a path have no conditions")
		}
		p := &PathTable{Lit: b.literal(m.Key, m.Kind)}
		if t.Has {
			p.Names = []string{}
		}
		for _, c := range t.Columns {
			n, ok := c.Expr.(*syntax.NameExpr)
			if !ok {
				return nil, syntax.Unsupported(t.N.Get("@column"), "a path has plain columns alone")
			}
			p.Names = append(p.Names, n.Name)
			p.Lits = append(p.Lits, b.literal(c.Name, syntax.MemberPlain))
		}
		w.Tables[t.Label] = p
	}
	return w, nil
}
