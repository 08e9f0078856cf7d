package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// merging is a compiled plan.Merge. Its rows are worked on with the columns of the input, then those of n.Cols.
type merging struct {
	node  *plan.Merge
	sub   *subplan
	made  *creation
	outer []plan.Col // of the input
	cols  []plan.Col // all
	// bulk says that what is made for one row can only be found by rows with equal keys: the values of keys and the
	// columns at bound. New rows can then be told apart, and made together, without looking into the graph.
	bulk  bool
	bound []int
}

func (c *compiler) merge(n *plan.Merge, need plan.ColSet) *stage {
	outside := plan.ColSet{}
	for col := range need {
		outside.Add(col)
	}
	own := plan.ColSet{}
	own.Add(n.Cols...)
	items := append(slices.Clone(n.OnCreate), n.OnMatch...)
	below := c.setNeeds(items, outside)
	below = c.createNeeds(n.Create, below)
	below = c.below(below, n.Props...)
	match := c.sub(n.Match, own)
	below.Add(match.args...)
	for col := range own {
		delete(below, col)
	}
	in := c.compile(n.Input, below)
	c.bound(in, match.args...)
	c.wrote = true
	m := &merging{node: n, sub: match, outer: in.cols, cols: append(slices.Clone(in.cols), n.Cols...)}
	m.made = &creation{node: n.Create, base: len(in.cols), cols: append(slices.Clone(in.cols), makes(n.Create)...)}
	m.bulk = tellsApart(n)
	for _, e := range n.Create.Edges {
		for _, col := range []plan.Col{e.Src, e.Dst} {
			if at := in.pos(col); at >= 0 {
				m.bound = append(m.bound, at)
			}
		}
	}
	s := &stage{node: n, kids: []*stage{in}, subs: []*subplan{match}, cols: kept(m.cols, need)}
	s.build = func(r *run, kids []operator) operator { return newMerge(r, m, kids[0], s.cols) }
	return s
}

// tellsApart says whether merging.bulk holds: the pattern is one vertex, or one edge in a given direction, its property
// maps are literals, and the SET items cannot change what the pattern looks for.
func tellsApart(n *plan.Merge) bool {
	if len(n.Create.Edges) > 1 || len(n.Create.Edges) == 0 && len(n.Create.Vertices) != 1 {
		return false
	}
	if undirected(n.Match) {
		return false
	}
	keys := map[string]bool{}
	for _, v := range n.Create.Vertices {
		if len(plan.Reads(v.LabelsOf...)) > 0 {
			return false
		}
	}
	for _, e := range n.Create.Edges {
		if len(plan.Reads(e.TypeOf)) > 0 {
			return false
		}
	}
	for _, p := range n.Props {
		m, ok := p.(*plan.MapLit)
		if !ok {
			return false
		}
		for _, k := range m.Keys {
			keys[k] = true
		}
	}
	for _, it := range append(slices.Clone(n.OnCreate), n.OnMatch...) {
		if it.Op != plan.SetProperty || it.KeyOf != nil || keys[it.Key] {
			return false
		}
	}
	return true
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

// merge gives for each row what its pattern finds, or else makes it.
//
// It looks for all rows of a batch at once. If some find nothing, then rows before the first such row are done; if the
// keys of rows tell what they would find, the first row of each key is made, and the others of that key find it; if
// not, the rows go on one by one, since each may find what one before it has made or changed.
type merge struct {
	input
	*merging
	r        *run
	frame    *frame
	match    operator
	maker    *maker
	onCreate *setter
	onMatch  *setter
	props    *evaluators
	maps     []evaluator
	table    *groupTable

	matchFrom []int // position of n.Cols in match's batches, by column of cols; -1 for the input's
	inFrom    []int // position in the input's batches by column of cols, or -1
	madeFrom  []int // position in the maker's batches by column of cols
	from      []int // position in cols of each column of the output

	b       *batch
	missing sel    // rows of b, from at, that are to be looked for again or made
	found   []bool // by row of b, in the present search
	keys    [][]graph.Value
	part    batch // the rows of b to look for, if not all
	rows    sel   // the row of b that each row of part is
	toMake  batch
	joined  batch
	pending []*spool // results that wait to be given
	out     batch
}

func newMerge(r *run, m *merging, in operator, cols []plan.Col) *merge {
	o := &merge{
		input: input{in}, merging: m, r: r, maker: newMaker(r, m.made),
		onCreate: newSetter(r, m.node.OnCreate, m.cols), onMatch: newSetter(r, m.node.OnMatch, m.cols),
		props: r.evaluators(m.outer),
	}
	o.maps = o.props.addAll(m.node.Props)
	o.table = newGroupTable(r, "Merge", len(m.node.Props)+len(m.bound))
	o.frame, o.match = r.buildSub(m.sub, m.outer)
	all := &stage{cols: m.cols}
	o.inFrom = (&stage{cols: m.outer}).positions(m.cols)
	o.matchFrom = m.sub.root.positions(m.cols)
	for i := range m.outer {
		o.matchFrom[i] = -1
	}
	o.madeFrom = (&stage{cols: m.made.cols}).positions(m.cols)
	o.from = all.positions(cols)
	return o
}

func (o *merge) open(ctx context.Context) error {
	o.b, o.pending = nil, nil
	return o.in.open(ctx)
}

func (o *merge) next(ctx context.Context) (*batch, error) {
	for {
		for len(o.pending) > 0 {
			if b := o.pending[0].next(o.r.batchSize()); b != nil {
				o.out.view(b, o.from)
				return &o.out, nil
			}
			o.pending[0].acct.release()
			o.pending = o.pending[1:]
		}
		b, err := o.in.next(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		if err := o.run(ctx, b); err != nil {
			return nil, err
		}
	}
}

// run works on one batch and leaves its results in pending.
func (o *merge) run(ctx context.Context, b *batch) error {
	o.b = b
	if err := o.checkProps(ctx, b); err != nil {
		return err
	}
	all := allRows(b.N)
	if o.bulk {
		return o.runBulk(ctx, all)
	}
	if len(o.node.OnMatch) == 0 && b.N > 1 {
		// As long as every row finds something, nothing changes.
		hits, missing, err := o.search(ctx, all)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return o.give(ctx, hits, o.onMatch)
		}
		hits.acct.release()
	}
	for i := range all {
		if err := o.runOne(ctx, all[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (o *merge) runOne(ctx context.Context, row sel) error {
	hits, missing, err := o.search(ctx, row)
	if err != nil {
		return err
	}
	if err := o.give(ctx, hits, o.onMatch); err != nil {
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	return o.make(ctx, missing)
}

func (o *merge) runBulk(ctx context.Context, s sel) error {
	for round := 0; len(s) > 0; round++ {
		hits, missing, err := o.search(ctx, s)
		if err != nil {
			return err
		}
		if err := o.give(ctx, hits, o.onMatch); err != nil {
			return err
		}
		if len(missing) == 0 {
			return nil
		}
		firsts, again, err := o.firsts(missing)
		if err != nil {
			return err
		}
		if round > 0 {
			// These rows found nothing although one with their key was made: their keys hold what equals nothing.
			firsts, again = missing, nil
		}
		if err := o.make(ctx, firsts); err != nil {
			return err
		}
		s = again
	}
	return nil
}

// firsts parts rows into the first of each key and the others.
func (o *merge) firsts(missing sel) (firsts, again sel, err error) {
	missing = slices.Clone(missing)
	keys := slices.Clone(o.keys)
	for _, p := range o.bound {
		vs, _ := columnValues(&o.b.Cols[p], o.b.N, nil)
		keys = append(keys, vs)
	}
	o.table.reset()
	group := make([]int32, o.b.N)
	plain := *o.b
	plain.row = nil
	if err := o.table.numbers(&plain, keys, missing, group); err != nil {
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
	o.table.acct.release()
	return firsts, again, nil
}

// checkProps evaluates the maps of the pattern, in which no value may be null, for all rows.
func (o *merge) checkProps(ctx context.Context, b *batch) error {
	s := allRows(b.N)
	o.props.begin(s)
	o.keys = o.keys[:0]
	for _, m := range o.maps {
		vs, err := m.eval(ctx, b, s)
		if err != nil {
			return err
		}
		o.keys = append(o.keys, vs)
		for _, i := range s {
			if vs[i].Kind() != graph.Map {
				continue
			}
			for _, e := range vs[i].Map() {
				if e.Value.IsNull() {
					return graph.RuntimeError("SemanticError", "MergeReadOwnWrites", "MERGE cannot look for property %q with the value null", e.Key)
				}
			}
		}
	}
	return nil
}

// search looks for the rows s of b. It gives what they found, with the columns of cols, and the rows that found
// nothing, which are valid until the next search.
func (o *merge) search(ctx context.Context, s sel) (*spool, sel, error) {
	o.part.reset(len(o.outer))
	plain := *o.b
	plain.row = nil
	o.part.appendRows(&plain, allPositions(len(o.outer)), s)
	o.part.N = len(s)
	o.frame.in = &o.part
	o.found = append(o.found[:0], make([]bool, len(s))...)
	hits := &spool{acct: account{r: o.r, name: "Merge"}}
	hits.reset(len(o.cols))
	if err := o.match.open(ctx); err != nil {
		return nil, nil, err
	}
	for {
		b, err := o.match.next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if b == nil {
			break
		}
		o.rows = o.rows[:0]
		for _, row := range b.row {
			o.found[row] = true
			o.rows = append(o.rows, s[row])
		}
		o.joined.reset(len(o.cols))
		o.joined.appendRows(o.b, o.inFrom, o.rows)
		inner := *b
		inner.row = nil
		o.joined.appendRows(&inner, o.matchFrom, allRows(b.N))
		o.joined.N = b.N
		if err := hits.add(&o.joined, allPositions(len(o.cols))); err != nil {
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

// make makes the pattern for rows of b.
func (o *merge) make(ctx context.Context, s sel) error {
	o.toMake.reset(len(o.outer))
	o.toMake.appendRows(o.b, allPositions(len(o.outer)), s)
	o.toMake.N = len(s)
	all, err := o.maker.run(ctx, &o.toMake)
	if err != nil {
		return err
	}
	made := &spool{acct: account{r: o.r, name: "Merge"}}
	made.reset(len(o.cols))
	if err := made.add(all, o.madeFrom); err != nil {
		return err
	}
	return o.give(ctx, made, o.onCreate)
}

// give runs SET items over rows and leaves the rows to be given.
func (o *merge) give(ctx context.Context, rows *spool, items *setter) error {
	if rows.all.N == 0 {
		return nil
	}
	o.pending = append(o.pending, rows)
	return items.run(ctx, &rows.all, allRows(rows.all.N))
}

func (o *merge) close() {
	for _, p := range o.pending {
		p.acct.release()
	}
	o.match.close()
	o.in.close()
}
