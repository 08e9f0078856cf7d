package write

import (
	"context"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/relational"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// merging is a compiled plan.Merge. Its rows have the columns of the input, then those of n.Cols.
type merging struct {
	node  *plan.Merge
	sub   *runtime.Subplan
	made  *creation
	outer []plan.Col // of the input
	cols  []plan.Col // all
	// bulk says that only rows with equal keys, the values of keys and the columns at bound, can find what is created for one
	// row. New rows are then distinguished by their keys and created in one batch, without reading the graph.
	bulk  bool
	bound []int
	// puts are the SET items that put a map on an entity, whose keys are known only with the rows: bulk holds if they leave the
	// properties of the pattern unchanged.
	puts []mergePut
	keys map[string]bool // properties in the pattern
	// independent says that the SET items only change entities that the pattern creates or finds.
	independent bool
}

// mergePut is a SET item that puts a map on an entity.
type mergePut struct {
	op    plan.SetOp
	value plan.Expr // reads only columns of the input
	own   int       // the index of its entity's map in plan.Merge.Props, or -1
}

// Merge compiles a Merge.
func Merge(c *compile.Compiler, n *plan.Merge, need plan.ColSet) *runtime.Stage {
	outside := plan.NewColSet()
	for col := range need.All() {
		outside.Add(col)
	}
	own := plan.NewColSet()
	own.Add(n.Cols...)
	items := append(slices.Clone(n.OnCreate), n.OnMatch...)
	below := setNeeds(c, items, outside)
	below = createNeeds(c, n.Create, below)
	below = c.Below(below, n.Props...)
	match := c.Sub(n.Match, own)
	below.Add(match.Args...)
	for col := range own.All() {
		below.Remove(col)
	}
	in := c.Compile(n.Input, below)
	c.Bound(in, match.Args...)
	c.Wrote = true
	m := &merging{node: n, sub: match, outer: in.Cols, cols: append(slices.Clone(in.Cols), n.Cols...)}
	m.made = &creation{node: n.Create, base: len(in.Cols), cols: append(slices.Clone(in.Cols), createdCols(n.Create)...)}
	m.bulk = m.keysIdentify()
	for _, e := range n.Create.Edges {
		for _, col := range []plan.Col{e.Src, e.Dst} {
			if at := in.Pos(col); at >= 0 {
				m.bound = append(m.bound, at)
			}
		}
	}
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Subplans: []*runtime.Subplan{match}, Cols: compile.Kept(m.cols, need)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator { return newMerge(r, m, kids[0], s.Cols) }
	return s
}

// keysIdentify reports whether merging.bulk holds except for puts: the pattern is one vertex, or one edge in a given direction, its
// property maps are literals, and the other SET items cannot change its properties.
func (m *merging) keysIdentify() bool {
	n := m.node
	if len(n.Create.Edges) > 1 || len(n.Create.Edges) == 0 && len(n.Create.Vertices) != 1 {
		return false
	}
	if undirected(n.Match) {
		return false
	}
	for _, v := range n.Create.Vertices {
		if plan.Reads(v.LabelsOf...).Len() > 0 {
			return false
		}
	}
	for _, e := range n.Create.Edges {
		if plan.Reads(e.TypeOf).Len() > 0 {
			return false
		}
	}
	m.keys = map[string]bool{}
	for _, p := range n.Props {
		l, ok := p.(*plan.MapLit)
		if !ok {
			return false
		}
		for _, k := range l.Keys {
			m.keys[k] = true
		}
	}
	m.independent = true
	for _, it := range append(slices.Clone(n.OnCreate), n.OnMatch...) {
		x, ok := it.X.(*plan.ColRef)
		own := ok && slices.Contains(n.Cols, x.Col)
		m.independent = m.independent && own
		switch it.Op {
		case plan.SetProperty:
			if it.KeyOf != nil || m.keys[it.Key] {
				return false
			}
		case plan.SetMap, plan.AddMap:
			for col := range plan.Reads(it.Value).All() {
				if !slices.Contains(m.outer, col) {
					return false
				}
			}
			p := mergePut{op: it.Op, value: it.Value, own: -1}
			if own {
				p.own = m.propsOf(x.Col)
			}
			m.puts = append(m.puts, p)
		default:
			return false
		}
	}
	return true
}

// propsOf returns the index of a column's map in plan.Merge.Props, or -1.
func (m *merging) propsOf(col plan.Col) int {
	at := 0
	place := func(out plan.Col, props plan.Expr) int {
		switch {
		case props == nil:
			return -1
		case out == col:
			return at
		}
		at++
		return -1
	}
	for _, v := range m.node.Create.Vertices {
		if p := place(v.Out, v.Props); p >= 0 {
			return p
		}
	}
	for _, e := range m.node.Create.Edges {
		if p := place(e.Out, e.Props); p >= 0 {
			return p
		}
	}
	return -1
}

// undirected reports whether a plan expands in both directions.
func undirected(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Expand:
		if n.Dir == graph.Both {
			return true
		}
	case *plan.Intersect:
		if n.Legs[0].Dir == graph.Both || n.Legs[1].Dir == graph.Both {
			return true
		}
	case *plan.VarExpand, *plan.ShortestPath:
		return true
	}
	return slices.ContainsFunc(plan.Children(n), undirected)
}

// merge returns for each row the matches of its pattern, or creates them.
//
// It searches for all rows of a batch at once. If some have no match, it first completes the rows before the first of these. If keys
// identify the matches, it creates the first row of each key, which the others of that key then match. Otherwise it continues row by
// row, since each may match what an earlier row has created or changed.
type merge struct {
	runtime.Input
	*merging
	r        *runtime.Run
	frame    *runtime.Frame
	match    runtime.Operator
	maker    *creator
	onCreate *setter
	onMatch  *setter
	props    *expr.Evaluators
	maps     []runtime.Evaluator
	puts     []runtime.Evaluator // of merging.puts
	table    *relational.GroupTable

	matchFrom []int // position of n.Cols in match's batches, by column of cols; -1 for the input's
	inFrom    []int // position in the input's batches by column of cols, or -1
	madeFrom  []int // position in the maker's batches by column of cols
	from      []int // position in cols of each column of the output

	b       *runtime.Batch
	missing runtime.Sel // rows of b, from at on, to search for again or to create
	found   []bool      // by row of b, in the current search
	keys    [][]graph.Value
	part    runtime.Batch // the rows of b to search for, if not all
	rows    runtime.Sel   // the row of b that each row of part is
	toMake  runtime.Batch
	joined  runtime.Batch
	pending []*runtime.Buffer // results that have not been returned
	out     runtime.Batch
}

func newMerge(r *runtime.Run, m *merging, in runtime.Operator, cols []plan.Col) *merge {
	o := &merge{
		Input: runtime.Input{In: in}, merging: m, r: r, maker: newCreator(r, m.made),
		onCreate: newSetter(r, m.node.OnCreate, m.cols), onMatch: newSetter(r, m.node.OnMatch, m.cols),
		props: expr.New(r, m.outer),
	}
	o.maps = o.props.AddAll(m.node.Props)
	for _, p := range m.puts {
		o.puts = append(o.puts, o.props.Add(p.value))
	}
	o.table = relational.NewGroupTable(r, "Merge", len(m.node.Props)+len(m.bound))
	o.frame, o.match = r.BuildSub(m.sub, m.outer)
	all := &runtime.Stage{Cols: m.cols}
	o.inFrom = (&runtime.Stage{Cols: m.outer}).Positions(m.cols)
	o.matchFrom = m.sub.Root.Positions(m.cols)
	for i := range m.outer {
		o.matchFrom[i] = -1
	}
	o.madeFrom = (&runtime.Stage{Cols: m.made.cols}).Positions(m.cols)
	o.from = all.Positions(cols)
	return o
}

func (o *merge) Open(ctx context.Context) error {
	o.b, o.pending = nil, nil
	return o.In.Open(ctx)
}

func (o *merge) Next(ctx context.Context) (*runtime.Batch, error) {
	for {
		for len(o.pending) > 0 {
			if b := o.pending[0].Next(o.r.BatchSize()); b != nil {
				o.out.View(b, o.from)
				return &o.out, nil
			}
			o.pending[0].Acct.Release()
			o.pending = o.pending[1:]
		}
		b, err := o.In.Next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		if err := o.run(ctx, b); err != nil {
			return nil, err
		}
	}
}

// run processes one batch and appends its results to pending.
func (o *merge) run(ctx context.Context, b *runtime.Batch) error {
	o.b = b
	if err := o.checkProps(ctx, b); err != nil {
		return err
	}
	all := runtime.AllRows(b.N)
	if o.bulk && o.keepsKeys(ctx, b) {
		return o.runBulk(ctx, all)
	}
	if len(o.node.OnMatch) == 0 && b.N > 1 {
		// As long as every row finds something, nothing changes.
		hits, missing, err := o.search(ctx, all)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return o.emit(ctx, hits, o.onMatch)
		}
		hits.Acct.Release()
	}
	return o.runEach(ctx, all)
}

func (o *merge) runEach(ctx context.Context, s runtime.Sel) error {
	for i := range s {
		if err := o.runOne(ctx, s[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// keepsKeys reports whether the maps of SET items leave the properties of the pattern unchanged: they contain none of these, or the
// value that the pattern searches for.
func (o *merge) keepsKeys(ctx context.Context, b *runtime.Batch) bool {
	s := runtime.AllRows(b.N)
	for k, x := range o.puts {
		p := &o.merging.puts[k]
		vs, err := x.Eval(ctx, b, s)
		if err != nil {
			return false // processing row by row decides whether a row fails, and which
		}
		for _, i := range s {
			v := vs[i]
			if v.IsNull() && p.op == plan.AddMap {
				continue
			}
			if v.Kind() != graph.Map {
				return false
			}
			for key := range o.merging.keys {
				put, has := entry(v, key)
				if !has && p.op == plan.AddMap {
					continue
				}
				if !has || p.own < 0 {
					return false
				}
				if sought, ok := entry(o.keys[p.own][i], key); !ok || !identical(put, sought) {
					return false
				}
			}
		}
	}
	return true
}

// entry returns the value of a key of a map.
func entry(m graph.Value, key string) (graph.Value, bool) {
	for _, e := range m.Map() {
		if e.Key == key {
			return e.Value, true
		}
	}
	return graph.Value{}, false
}

// identical reports whether two values are known to be the same, of the same type.
func identical(a, b graph.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case graph.Int:
		return a.Int() == b.Int()
	case graph.String:
		return a.Str() == b.Str()
	case graph.Bool:
		return a.Bool() == b.Bool()
	}
	return false
}

// orderMatters reports whether the order of two rows matters even if they find different entities: SET items change or read
// other entities.
func (o *merge) orderMatters() bool {
	if !o.independent {
		return true
	}
	all := runtime.AllRows(o.b.N)
	for _, t := range []*setter{o.onCreate, o.onMatch} {
		if t.always {
			return true
		}
		for _, p := range t.risky {
			if p < len(o.outer) && holdsEntity(&o.b.Cols[p], all) {
				return true
			}
		}
	}
	return false
}

func (o *merge) runOne(ctx context.Context, row runtime.Sel) error {
	hits, missing, err := o.search(ctx, row)
	if err != nil {
		return err
	}
	if err := o.emit(ctx, hits, o.onMatch); err != nil {
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	return o.make(ctx, missing)
}

func (o *merge) runBulk(ctx context.Context, s runtime.Sel) error {
	all := s
	for round := 0; len(s) > 0; round++ {
		hits, missing, err := o.search(ctx, s)
		if err != nil {
			return err
		}
		firsts, again, err := o.firsts(missing)
		if err != nil {
			return err
		}
		// First the rows with matches, then those that create, then the repeated ones.
		if round == 0 && len(firsts) > 0 && (hits.All.N > 0 || len(again) > 0) && o.orderMatters() {
			hits.Acct.Release()
			return o.runEach(ctx, all)
		}
		if err := o.emit(ctx, hits, o.onMatch); err != nil {
			return err
		}
		if len(missing) == 0 {
			return nil
		}
		if round > 0 {
			// These rows found nothing although one with their key was created: their keys hold values that equal nothing.
			firsts, again = missing, nil
		}
		if err := o.make(ctx, firsts); err != nil {
			return err
		}
		s = again
	}
	return nil
}

// firsts splits rows into the first of each key and the others.
func (o *merge) firsts(missing runtime.Sel) (firsts, again runtime.Sel, err error) {
	missing = slices.Clone(missing)
	keys := slices.Clone(o.keys)
	for _, p := range o.bound {
		vs, _ := relational.ColumnValues(&o.b.Cols[p], o.b.N, nil)
		keys = append(keys, vs)
	}
	o.table.Reset()
	group := make([]int32, o.b.N)
	plain := *o.b
	plain.Row = nil
	if err := o.table.Numbers(&plain, keys, missing, group); err != nil {
		return nil, nil, err
	}
	known := int32(0)
	for _, i := range missing {
		if group[i] == known {
			known++
			firsts = append(firsts, i)
		} else {
			again = append(again, i)
		}
	}
	o.table.Acct.Release()
	return firsts, again, nil
}

// checkProps evaluates the maps of the pattern for all rows; no value may be null or NaN, which equal nothing.
func (o *merge) checkProps(ctx context.Context, b *runtime.Batch) error {
	s := runtime.AllRows(b.N)
	o.props.Begin(s)
	o.keys = o.keys[:0]
	for _, m := range o.maps {
		vs, err := m.Eval(ctx, b, s)
		if err != nil {
			return err
		}
		o.keys = append(o.keys, vs)
		for _, i := range s {
			if vs[i].Kind() != graph.Map {
				continue
			}
			for _, e := range vs[i].Map() {
				if v := e.Value; v.IsNull() || v.Kind() == graph.Float && math.IsNaN(v.Float()) {
					return graph.RuntimeError("SemanticError", "MergeReadOwnWrites", "MERGE cannot look for property %q with the value %s", e.Key, notation.Append(nil, v))
				}
			}
		}
	}
	return nil
}

// search searches for the rows s of b. It returns the matches, with the columns of cols, and the rows without one. Both are valid
// until the next search.
func (o *merge) search(ctx context.Context, s runtime.Sel) (*runtime.Buffer, runtime.Sel, error) {
	o.part.Reset(len(o.outer))
	plain := *o.b
	plain.Row = nil
	o.part.AppendRows(&plain, runtime.AllPositions(len(o.outer)), s)
	o.part.N = len(s)
	o.frame.In = &o.part
	o.found = append(o.found[:0], make([]bool, len(s))...)
	hits := &runtime.Buffer{Acct: runtime.Account{Run: o.r, Name: "Merge"}}
	hits.Reset(len(o.cols))
	if err := o.match.Open(ctx); err != nil {
		return nil, nil, err
	}
	for {
		b, err := o.match.Next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if b == nil {
			break
		}
		o.rows = o.rows[:0]
		for _, row := range b.Row {
			o.found[row] = true
			o.rows = append(o.rows, s[row])
		}
		o.joined.Reset(len(o.cols))
		o.joined.AppendRows(o.b, o.inFrom, o.rows)
		inner := *b
		inner.Row = nil
		o.joined.AppendRows(&inner, o.matchFrom, runtime.AllRows(b.N))
		o.joined.N = b.N
		if err := hits.Add(&o.joined, runtime.AllPositions(len(o.cols))); err != nil {
			return nil, nil, err
		}
	}
	o.missing = o.missing[:0]
	for k, ok := range o.found {
		if !ok {
			o.missing = append(o.missing, s[k])
		}
	}
	return hits, o.missing, nil
}

// make creates the pattern for rows of b.
func (o *merge) make(ctx context.Context, s runtime.Sel) error {
	o.toMake.Reset(len(o.outer))
	o.toMake.AppendRows(o.b, runtime.AllPositions(len(o.outer)), s)
	o.toMake.N = len(s)
	all, err := o.maker.run(ctx, &o.toMake)
	if err != nil {
		return err
	}
	made := &runtime.Buffer{Acct: runtime.Account{Run: o.r, Name: "Merge"}}
	made.Reset(len(o.cols))
	if err := made.Add(all, o.madeFrom); err != nil {
		return err
	}
	return o.emit(ctx, made, o.onCreate)
}

// emit runs SET items over rows and appends the rows to pending.
func (o *merge) emit(ctx context.Context, rows *runtime.Buffer, items *setter) error {
	if rows.All.N == 0 {
		return nil
	}
	o.pending = append(o.pending, rows)
	return items.run(ctx, &rows.All, runtime.AllRows(rows.All.N))
}

func (o *merge) Close() {
	for _, p := range o.pending {
		p.Acct.Release()
	}
	o.match.Close()
	o.In.Close()
}
