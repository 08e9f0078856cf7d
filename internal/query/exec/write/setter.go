package write

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// setter runs SET items over batches as if row by row, in as few requests as that allows. For each row, all values of a clause are
// computed before its first item changes anything.
//
//   - If no value depends on the graph, all values are computed first and all changes made at once, in row order.
//   - If all items change what stands in one column, and values depend on the graph through this column alone, rows are
//     taken together as long as they name different entities.
//   - Otherwise each row goes by itself.
type setter struct {
	r       *runtime.Run
	m       mutations
	clauses []setClause // nearly always one
	// target is the column of all items, or -1.
	target int
	// risky are the columns through which a value may depend on the graph; always says that one does regardless of the columns.
	risky  []int
	always bool
	// replaces says that an item replaces all properties, which depends on the existing ones.
	replaces bool

	row    int                               // where the changes of the current row begin
	labels map[graph.VertexID]graph.LabelSet // as changed in the current step
	seen   map[uint64]struct{}
}

// setClause is the items of one clause, and their evaluators.
type setClause struct {
	es    *expr.Evaluators
	items []*setItem
}

// setItem is one item with its evaluators.
type setItem struct {
	plan.SetItem
	x, value runtime.Evaluator
	key      runtime.Evaluator // of KeyOf, or nil
	xs, vs   []graph.Value
	alive    []graph.Value // xs without what the statement has deleted
	keys     []graph.Value
	names    []runtime.Evaluator // of LabelsOf
	given    [][]string          // by row, their values
	maps     expr.EntityMaps     // of the values of SetMap and AddMap
	before   expr.EntityMaps     // of the targets of SetMap
	old      []graph.Value
	ids      []graph.LabelID
	sets     expr.LabelSets
}

func newSetter(r *runtime.Run, items []plan.SetItem, cols []plan.Col) *setter {
	t := &setter{r: r, m: mutations{r: r}, target: -1}
	reads := plan.NewColSet()
	var targets []plan.Col
	for _, it := range items {
		if len(t.clauses) == 0 || it.Then {
			t.clauses = append(t.clauses, setClause{es: expr.New(r, cols)})
		}
		c := &t.clauses[len(t.clauses)-1]
		k := &setItem{SetItem: it, maps: expr.EntityMaps{Run: r}, before: expr.EntityMaps{Run: r}, sets: expr.LabelSets{Run: r}}
		k.x = c.es.Add(it.X)
		if it.KeyOf != nil {
			k.key = c.es.Add(it.KeyOf)
			if touchesGraph(it.KeyOf) {
				for col := range plan.Reads(it.KeyOf).All() {
					reads.Add(col)
				}
			}
			t.always = t.always || plan.HasSubquery(it.KeyOf)
		}
		for _, x := range it.LabelsOf {
			k.names = append(k.names, c.es.Add(x))
			if touchesGraph(x) {
				for col := range plan.Reads(x).All() {
					reads.Add(col)
				}
			}
			t.always = t.always || plan.HasSubquery(x)
		}
		if it.Value != nil {
			k.value = c.es.Add(it.Value)
			if it.Op != plan.SetProperty || touchesGraph(it.Value) {
				for col := range plan.Reads(it.Value).All() {
					reads.Add(col)
				}
			}
			t.always = t.always || plan.HasSubquery(it.Value)
		}
		t.replaces = t.replaces || it.Op == plan.SetMap
		if ref, ok := it.X.(*plan.ColRef); ok {
			targets = append(targets, ref.Col)
		} else {
			targets = append(targets, 0)
			for col := range plan.Reads(it.X).All() {
				reads.Add(col)
			}
		}
		c.items = append(c.items, k)
	}
	if len(targets) > 0 && targets[0] != 0 && !slices.ContainsFunc(targets, func(c plan.Col) bool { return c != targets[0] }) {
		t.target = slices.Index(cols, targets[0])
	}
	for pos, c := range cols {
		if reads.Has(c) {
			t.risky = append(t.risky, pos)
		}
	}
	return t
}

// touchesGraph reports whether an expression may read properties or labels.
func touchesGraph(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Prop, *plan.MapProject, *plan.HasLabels, *plan.Subquery:
		return true
	case *plan.Op:
		if e.Op == plan.Index {
			return true
		}
	case *plan.Call:
		if expr.StoreFunctions[e.Func] != nil {
			return true
		}
	}
	found := false
	plan.Parts(e, func(p *plan.Expr) { found = found || *p != nil && touchesGraph(*p) })
	return found
}

// run runs the items for the rows of s.
func (t *setter) run(ctx context.Context, b *runtime.Batch, s runtime.Sel) error {
	if len(t.clauses) == 0 {
		return nil
	}
	alone, others := t.depends(b, s)
	switch {
	case !alone && !others && !t.replaces:
		return t.step(ctx, b, s, t.clauses)
	case !others && t.target >= 0:
		return t.runDistinct(ctx, b, s)
	}
	for k := range s {
		if err := t.inOrder(ctx, b, s[k:k+1]); err != nil {
			return err
		}
	}
	return nil
}

// depends reports whether a value may depend on the graph through the target column, and through others.
func (t *setter) depends(b *runtime.Batch, s runtime.Sel) (target, others bool) {
	others = t.always
	for _, pos := range t.risky {
		if !holdsEntity(&b.Cols[pos], s) {
			continue
		}
		if pos == t.target {
			target = true
		} else {
			others = true
		}
	}
	return target, others
}

// holdsEntity reports whether a column contains a vertex or an edge anywhere in its values.
func holdsEntity(c *graph.Column, s runtime.Sel) bool {
	if c.IDs != nil {
		return true
	}
	for _, i := range s {
		if entityWithin(c.Vals[i]) {
			return true
		}
	}
	return false
}

func entityWithin(v graph.Value) bool {
	switch v.Kind() {
	case graph.VertexKind, graph.EdgeKind, graph.PathKind:
		return true
	case graph.List:
		return slices.ContainsFunc(v.List(), entityWithin)
	case graph.Map:
		return slices.ContainsFunc(v.Map(), func(e graph.MapEntry) bool { return entityWithin(e.Value) })
	}
	return false
}

// runDistinct splits s where an entity of the target column repeats.
func (t *setter) runDistinct(ctx context.Context, b *runtime.Batch, s runtime.Sel) error {
	if t.seen == nil {
		t.seen = map[uint64]struct{}{}
	}
	for len(s) > 0 {
		clear(t.seen)
		n := 0
		for ; n < len(s); n++ {
			v := b.Cols[t.target].Value(int(s[n]))
			var id uint64
			switch v.Kind() {
			case graph.VertexKind:
				id = uint64(v.Vertex())
			case graph.EdgeKind:
				id = ^uint64(v.EdgeID())
			default:
				continue
			}
			if _, again := t.seen[id]; again {
				break
			}
			t.seen[id] = struct{}{}
		}
		if err := t.inOrder(ctx, b, s[:n]); err != nil {
			return err
		}
		s = s[n:]
	}
	return nil
}

// inOrder runs one clause after the other for the rows of s.
func (t *setter) inOrder(ctx context.Context, b *runtime.Batch, s runtime.Sel) error {
	for k := range t.clauses {
		if err := t.step(ctx, b, s, t.clauses[k:k+1]); err != nil {
			return err
		}
	}
	return nil
}

// step computes all values of the clauses for the rows of s, then makes the changes in row order.
func (t *setter) step(ctx context.Context, b *runtime.Batch, s runtime.Sel, clauses []setClause) error {
	clear(t.labels)
	for _, c := range clauses {
		c.es.Begin(s)
		for _, it := range c.items {
			if err := t.prepare(ctx, b, s, it); err != nil {
				return err
			}
		}
	}
	t.m.reset()
	for _, i := range s {
		t.row = len(t.m.ms)
		for _, c := range clauses {
			for _, it := range c.items {
				if err := t.change(it, i); err != nil {
					return err
				}
			}
		}
	}
	return t.m.apply(ctx)
}

// prepare computes the inputs of an item for the rows of s.
func (t *setter) prepare(ctx context.Context, b *runtime.Batch, s runtime.Sel, it *setItem) (err error) {
	if it.xs, err = it.x.Eval(ctx, b, s); err != nil {
		return err
	}
	if err := t.takeTargets(it, s); err != nil {
		return err
	}
	if it.key != nil {
		if it.keys, err = it.key.Eval(ctx, b, s); err != nil {
			return err
		}
	}
	if it.value != nil {
		if it.vs, err = it.value.Eval(ctx, b, s); err != nil {
			return err
		}
	}
	switch it.Op {
	case plan.SetMap, plan.AddMap:
		if it.vs, err = it.maps.Maps(ctx, it.vs, b.N, s); err != nil {
			return err
		}
		if it.Op == plan.SetMap {
			it.old, err = it.before.Maps(ctx, it.xs, b.N, s)
		}
		return err
	case plan.AddLabels, plan.RemoveLabels:
		if err := it.prepareNames(ctx, b, s); err != nil {
			return err
		}
		return t.prepareLabels(ctx, it, s)
	}
	return nil
}

// prepareNames computes the labels that expressions give for the rows of s.
func (it *setItem) prepareNames(ctx context.Context, b *runtime.Batch, s runtime.Sel) error {
	if len(it.names) == 0 {
		return nil
	}
	it.given = append(it.given[:0], make([][]string, b.N)...)
	for _, x := range it.names {
		vs, err := x.Eval(ctx, b, s)
		if err != nil {
			return err
		}
		for _, i := range s {
			if it.xs[i].IsNull() {
				continue
			}
			names, err := fn.Names(vs[i])
			if err != nil {
				return err
			}
			it.given[i] = append(it.given[i], names...)
		}
	}
	return nil
}

// takeTargets checks the targets of an item. A deleted target is like null: nothing changes.
func (t *setter) takeTargets(it *setItem, s runtime.Sel) error {
	copied := false
	for _, i := range s {
		v := it.xs[i]
		gone := false
		switch v.Kind() {
		case graph.Null:
		case graph.VertexKind:
			_, gone = t.r.Deleted.Vertices[v.Vertex()]
		case graph.EdgeKind:
			_, gone = t.r.Deleted.Edges[v.EdgeID()]
			if it.Op == plan.AddLabels || it.Op == plan.RemoveLabels {
				return graph.TypeError("InvalidArgumentType", "labels need a Node, not %s", notation.Describe(v))
			}
		default:
			return graph.TypeError("InvalidArgumentType", "SET and REMOVE need a Node or a Relationship, not %s", notation.Describe(v))
		}
		if !gone {
			continue
		}
		if !copied { // the row may share the slice
			it.alive, copied = append(it.alive[:0], it.xs...), true
			it.xs = it.alive
		}
		it.xs[i] = graph.Value{}
	}
	return nil
}

// prepareLabels reads the label sets of the targets and numbers the labels.
func (t *setter) prepareLabels(ctx context.Context, it *setItem, s runtime.Sel) error {
	if t.labels == nil {
		t.labels = map[graph.VertexID]graph.LabelSet{}
	}
	var err error
	if it.ids, err = t.number(it, it.ids[:0], it.Labels); err != nil {
		return err
	}
	if err := it.sets.Read(ctx, it.xs, s); err != nil {
		return err
	}
	for k, id := range it.sets.IDs {
		t.labels[id] = it.sets.Sets[k]
	}
	return nil
}

// number appends the ids of labels to ids. A label to remove may be unknown.
func (t *setter) number(it *setItem, ids []graph.LabelID, names []string) ([]graph.LabelID, error) {
	for _, name := range names {
		id, known := t.r.Graph.Label(name)
		if it.Op == plan.AddLabels {
			var err error
			if id, err = t.r.Tx.Label(name); err != nil {
				return nil, err
			}
		} else if !known {
			continue
		}
		ids = withLabel(ids, id)
	}
	return ids, nil
}

// change appends the change of an item for row i.
func (t *setter) change(it *setItem, i int32) error {
	x := it.xs[i]
	if x.IsNull() {
		return nil
	}
	at := len(t.m.props)
	switch it.Op {
	case plan.SetProperty:
		key := it.Key
		if it.key != nil {
			if it.keys[i].Kind() != graph.String {
				return graph.TypeError("InvalidArgumentType", "the name of a property must be a String, not %s", notation.Describe(it.keys[i]))
			}
			key = it.keys[i].Str()
		}
		if err := t.m.put(key, it.vs[i]); err != nil {
			return err
		}
	case plan.SetMap, plan.AddMap:
		if err := t.changeMap(it, i, at); err != nil {
			return err
		}
	default:
		return t.changeLabels(it, i, x.Vertex())
	}
	props := t.m.since(at)
	if len(props) == 0 {
		return nil
	}
	t.r.Counters.PropertiesSet += int64(len(props))
	if x.Kind() == graph.VertexKind {
		t.m.ms = append(t.m.ms, shard.Mutation{Op: shard.SetVertex, Vertex: x.Vertex(), Props: props})
	} else {
		t.m.ms = append(t.m.ms, shard.Mutation{Op: shard.SetEdge, Edge: x.Edge().Edge, Props: props})
	}
	return nil
}

// changeMap puts the entries of a map, and, for SetMap, nulls for the properties that it does not name: those from before the clause,
// and those that earlier items of the row set. The change's properties begin at the given place.
func (t *setter) changeMap(it *setItem, i int32, at int) error {
	v := it.vs[i]
	if v.IsNull() && it.Op == plan.AddMap {
		return nil
	}
	var entries []graph.MapEntry
	if !v.IsNull() {
		entries = v.Map()
	}
	for _, e := range entries {
		if err := t.m.put(e.Key, e.Value); err != nil {
			return err
		}
	}
	if it.Op == plan.AddMap {
		return nil
	}
	for _, e := range it.old[i].Map() {
		if slices.ContainsFunc(entries, func(n graph.MapEntry) bool { return n.Key == e.Key }) {
			continue
		}
		if err := t.m.put(e.Key, graph.Value{}); err != nil {
			return err
		}
	}
	for _, m := range t.m.ms[t.row:] {
		if !sameTarget(&m, it.xs[i]) {
			continue
		}
		for _, p := range m.Props {
			if !slices.ContainsFunc(t.m.since(at), func(n graph.Property) bool { return n.ID == p.ID }) {
				t.m.props = append(t.m.props, graph.Property{ID: p.ID})
			}
		}
	}
	return nil
}

// sameTarget reports whether a change is one of the properties of x.
func sameTarget(m *shard.Mutation, x graph.Value) bool {
	switch m.Op {
	case shard.SetVertex:
		return x.Kind() == graph.VertexKind && x.Vertex() == m.Vertex
	case shard.SetEdge:
		return x.Kind() == graph.EdgeKind && x.EdgeID() == m.Edge.ID
	}
	return false
}

func (t *setter) changeLabels(it *setItem, i int32, id graph.VertexID) error {
	old := t.r.Graph.Labels(t.labels[id])
	labels, ids := slices.Clone(old), it.ids
	if len(it.names) > 0 {
		var err error
		if ids, err = t.number(it, slices.Clone(ids), it.given[i]); err != nil {
			return err
		}
	}
	for _, l := range ids {
		at := slices.Index(labels, l)
		switch {
		case it.Op == plan.AddLabels && at < 0:
			labels = append(labels, l)
			t.r.Counters.LabelsAdded++
		case it.Op == plan.RemoveLabels && at >= 0:
			labels = slices.Delete(labels, at, at+1)
			t.r.Counters.LabelsRemoved++
		}
	}
	if len(labels) == len(old) {
		return nil // labels are only added or only removed
	}
	ls, err := t.r.Tx.LabelSet(labels)
	if err != nil {
		return err
	}
	t.labels[id] = ls
	t.m.ms = append(t.m.ms, shard.Mutation{Op: shard.SetLabels, Vertex: id, Labels: ls})
	return nil
}
