package relational

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// grouper prepares the batches of a worker for an Aggregate: it computes the keys and arguments of their rows and numbers the
// groups, so that the aggregate looks up each key once for many rows. The aggregate does the rest, which depends on the order
// of all rows. The batches have a column for each argument.
type grouper struct {
	runtime.Input
	r       *runtime.Run
	es      *expr.Evaluators
	keys    []runtime.Evaluator
	args    []runtime.Evaluator
	repeats []*GroupTable // parallel to args: finds repeats in a group, which become null; nil: repeats count
	table   *GroupTable
	encoded *encodedKeys
	cols    [][]graph.Value
	pair    runtime.Batch // a batch whose row numbers are groups, for repeats
	one     [1][]graph.Value
	num     []int32
	vals    [][]graph.Value // parallel to args, without repeats
	out     runtime.Batch
	made    runtime.Grouped
}

// maxGrouped is how many batches of groups a worker numbers before it starts over.
const maxGrouped = 8

// grouper creates the grouper of a worker over the columns of the aggregate's input.
func (c *aggregateStage) grouper(r *runtime.Run, in runtime.Operator, by int) runtime.Operator {
	g := &grouper{
		Input: runtime.Input{In: in}, r: r, es: expr.New(r, c.in.Cols), table: NewGroupTable(r, "Aggregate", len(c.keys)),
		cols: make([][]graph.Value, len(c.keys)), made: runtime.Grouped{Worker: by},
	}
	g.keys = g.es.AddAll(c.keys)
	g.encoded = newEncodedKeys(r, c.encodable, c.in.Cols)
	for _, a := range c.aggs {
		for _, e := range a.Args {
			g.args, g.repeats = append(g.args, g.es.Add(e)), append(g.repeats, nil)
		}
		if a.Distinct && len(a.Args) == 1 && len(c.keys) > 0 {
			g.repeats[len(g.repeats)-1] = NewGroupTable(r, "Aggregate", 1)
		}
	}
	g.vals = make([][]graph.Value, len(g.args))
	return g
}

func (g *grouper) Next(ctx context.Context) (*runtime.Batch, error) {
	b, err := g.In.Next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	s := runtime.AllRows(b.N)
	g.es.Begin(s)
	g.out.N, g.out.Row, g.out.Grouped = b.N, b.Row, &g.made
	if err := g.number(ctx, b, s); err != nil {
		return nil, err
	}
	g.out.Cols = g.out.Cols[:0]
	for k, x := range g.args {
		if c, ok := x.(*expr.Column); ok && g.repeats[k] == nil {
			g.out.Cols = append(g.out.Cols, b.Cols[c.Pos])
			continue
		}
		vs, err := x.Eval(ctx, b, s)
		if err != nil {
			return nil, err
		}
		if g.repeats[k] != nil {
			if vs, err = g.nullRepeats(k, vs[:b.N], s); err != nil {
				return nil, err
			}
		}
		g.out.Cols = append(g.out.Cols, graph.Column{Vals: vs[:b.N]})
	}
	return &g.out, nil
}

// number numbers the groups of a batch.
func (g *grouper) number(ctx context.Context, b *runtime.Batch, s runtime.Sel) (err error) {
	encode := g.encoded.fit(b)
	for k, x := range g.keys {
		if encode {
			break
		}
		if g.cols[k], err = x.Eval(ctx, b, s); err != nil {
			return err
		}
	}
	m := &g.made
	m.Of, m.Hashes = m.Of[:0], m.Hashes[:0]
	m.Keys.Reset(len(g.keys))
	if len(g.keys) == 0 {
		return nil
	}
	if g.full() {
		g.table.Reset()
		g.encoded.forgetGroups()
		for _, t := range g.repeats {
			if t != nil {
				t.Reset()
			}
		}
	}
	m.Restarted = g.table.len() == 0
	before := g.table.len()
	m.Of = slices.Grow(m.Of, b.N)[:b.N]
	if encode {
		err = g.encoded.number(ctx, b, g.table, m.Of)
	} else {
		err = g.table.Numbers(b, g.cols, s, m.Of)
	}
	if err != nil {
		return err
	}
	now := g.table.len()
	m.Keys.N = now - before
	for k := range g.keys {
		m.Keys.Cols[k].Vals = g.table.keys[k].appendTo(m.Keys.Cols[k].Vals, before, now)
	}
	if b.Row != nil {
		m.Keys.Row = append(m.Keys.Row, g.table.row[before:]...)
	}
	m.Hashes = append(m.Hashes, g.table.hashes[before:]...)
	return nil
}

// full reports whether the tables have reached their limit.
func (g *grouper) full() bool {
	most := maxGrouped * g.r.BatchSize()
	return g.table.len() > most || slices.ContainsFunc(g.repeats, func(t *GroupTable) bool { return t != nil && t.len() > most })
}

// nullRepeats replaces values that repeat within their group by null.
func (g *grouper) nullRepeats(k int, vs []graph.Value, s runtime.Sel) ([]graph.Value, error) {
	t := g.repeats[k]
	g.pair.N, g.pair.Row = len(vs), g.made.Of
	if len(g.num) < len(vs) {
		g.num = make([]int32, max(len(vs), g.r.BatchSize()))
	}
	known := int32(t.len())
	g.one[0] = vs
	if err := t.Numbers(&g.pair, g.one[:], s, g.num); err != nil {
		return nil, err
	}
	out := expr.Grown(g.vals[k], len(vs))
	g.vals[k] = out
	for i, v := range vs {
		if out[i] = v; g.num[i] == known {
			known++
		} else {
			out[i] = graph.Value{}
		}
	}
	return out, nil
}

func (g *grouper) Close() {
	g.table.Acct.Release()
	g.encoded.reset()
	for _, t := range g.repeats {
		if t != nil {
			t.Acct.Release()
		}
	}
	g.In.Close()
}

// workerGroups maps the groups of a worker to those of the aggregate.
type workerGroups struct {
	groups []int32 // by the worker's number; -1: the rows of the group are on disk
	keys   [][]graph.Value
	hashes []uint64
}

// addGrouped adds a batch that a worker has prepared.
func (a *aggregate) addGrouped(ctx context.Context, b *runtime.Batch) error {
	s := runtime.AllRows(b.N)
	on := a.over != nil && a.over.on
	if len(a.keys) == 0 {
		if err := a.number(b, s); err != nil {
			return err
		}
	} else if err := a.translate(b.Grouped, on); err != nil {
		return err
	}
	if !on {
		for _, g := range a.aggs {
			if err := g.add(ctx, g.ready, b, s, a.group, nil); err != nil {
				return err
			}
		}
		a.watch()
		return nil
	}
	for _, g := range a.aggs {
		if err := g.eval(ctx, g.ready, b, s); err != nil {
			return err
		}
	}
	a.splitKnown(b.Grouped)
	return a.part(b.N)
}

// translate sets a.group for rows whose groups a worker has numbered; on reports whether new groups spill to disk.
func (a *aggregate) translate(g *runtime.Grouped, on bool) error {
	for len(a.byWorker) <= g.Worker {
		a.byWorker = append(a.byWorker, workerGroups{keys: make([][]graph.Value, len(a.keys))})
	}
	h := &a.byWorker[g.Worker]
	if g.Restarted {
		h.groups, h.hashes = h.groups[:0], h.hashes[:0]
		for k := range h.keys {
			h.keys[k] = h.keys[k][:0]
		}
	}
	if n := g.Keys.N; n > 0 {
		at := len(h.groups)
		h.groups = slices.Grow(h.groups, n)[:at+n]
		for k := range a.cols {
			a.cols[k] = g.Keys.Cols[k].Vals
			if a.over != nil {
				h.keys[k] = append(h.keys[k], a.cols[k]...)
			}
		}
		if a.over != nil {
			h.hashes = append(h.hashes, g.Hashes...)
		}
		a.table.batch = append(a.table.batch[:0], g.Hashes...)
		if on {
			a.table.findAll(&g.Keys, a.cols, runtime.AllRows(n), h.groups[at:])
		} else if err := a.table.numberAll(&g.Keys, a.cols, runtime.AllRows(n), h.groups[at:]); err != nil {
			return err
		} else if err := a.grow(); err != nil {
			return err
		}
	}
	a.room(len(g.Of))
	for i, n := range g.Of {
		a.group[i] = h.groups[n]
	}
	return nil
}

// splitKnown sets a.known and a.rest for rows whose groups a worker has numbered, and computes the keys of the latter.
func (a *aggregate) splitKnown(g *runtime.Grouped) {
	h := &a.byWorker[g.Worker]
	a.known, a.rest = a.known[:0], a.rest[:0]
	for k := range a.own {
		a.own[k] = expr.Grown(a.own[k], len(g.Of))
		a.cols[k] = a.own[k]
	}
	for len(a.table.batch) < len(g.Of) {
		a.table.batch = append(a.table.batch, 0)
	}
	for i, n := range g.Of {
		if h.groups[n] >= 0 {
			a.known = append(a.known, int32(i))
			continue
		}
		a.rest = append(a.rest, int32(i))
		a.table.batch[i] = h.hashes[n]
		for k := range a.own {
			a.own[k][i] = h.keys[k][n]
		}
	}
}

// aggregateStage holds what the operators of an Aggregate share.
type aggregateStage struct {
	in        *runtime.Stage
	keys      []plan.Expr
	encodable []plan.Expr // see encodable
	aggs      []plan.Agg
}

// width is the number of values in a row that a grouper has prepared, with its group's number and new keys.
func (c *aggregateStage) width() int {
	n := 2 + 2*len(c.keys)
	for _, a := range c.aggs {
		n += len(a.Args)
	}
	return n
}

// helps reports whether a grouper takes work off the aggregate.
func (c *aggregateStage) helps() bool {
	if len(c.keys) > 0 {
		return true
	}
	for _, a := range c.aggs {
		if !compile.Plain(a.Args...) {
			return true
		}
	}
	return false
}
