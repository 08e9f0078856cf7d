package exec

import (
	"context"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// spread runs a chain of stages, each of which makes rows of each row of its input by itself, on several processors once
// the run turns out to take long and processors are free: the batches of the source below the chain are morsels, each
// of which one of a team of goroutines takes through operators of its own (Leis et al., Morsel-driven parallelism,
// SIGMOD 2014). The rows of each morsel come before those of the next; among them they stand as the chain orders those of
// a smaller batch. Until then, and in all short runs, it passes on what the chain gives.
type spread struct {
	r     *run
	top   *stage
	from  *stage // the source
	chain operator
	tap   tap // between the chain and the source
	// above makes what one of a team does with the rows of its chain for the consumer; nil: nothing.
	above func(r *run, in operator, by int) operator
	width int // cells of a row for the consumer
	team  *team
	ended bool // the team has given all
}

// tap is the source as the chain sees it, until a team takes the rest.
type tap struct {
	x  *spread
	in operator
}

func (t *tap) open(ctx context.Context) error { return t.in.open(ctx) }
func (t *tap) close()                         { t.in.close() }

func (t *tap) next(ctx context.Context) (*batch, error) {
	if t.x.team != nil || t.x.start(ctx) {
		return nil, nil
	}
	return t.in.next(ctx)
}

// markSpreads marks the stages below which the rows of a source are spread, in a tree of stages and its subplans.
func markSpreads(p *program, s *stage) {
	below, hops := s, 0
	for below.byRow() && len(below.kids) == 1 {
		switch below.node.(type) {
		case *plan.Expand, *plan.Intersect:
			hops++
		}
		below = below.kids[0]
		if source := below; hops > 0 && p.query.Estimates[source.node] >= float64(leastMorsels*p.batchSize) {
			s.exchange = func(r *run) operator { return newSpread(r, s, source) }
			break
		}
	}
	if s.exchange == nil {
		below = s
	}
	for _, sub := range below.subs {
		markSpreads(p, sub.root)
	}
	for _, k := range below.kids {
		markSpreads(p, k)
	}
}

// leastMorsels is how many batches a source is expected to give at least whose rows are spread.
const leastMorsels = 8

// byRow reports whether a stage makes rows of each row of its input by itself.
func (s *stage) byRow() bool {
	if s.once || slices.ContainsFunc(s.subs, func(sub *subplan) bool { return sub.writes }) {
		return false
	}
	switch s.node.(type) {
	case *plan.Expand, *plan.Intersect, *plan.Filter, *plan.Project:
		return true
	}
	return false
}

func newSpread(r *run, top, source *stage) operator {
	x := &spread{r: r, top: top, from: source, width: len(top.cols)}
	x.tap.x = x
	r.splice = splice{source, func() operator {
		x.tap.in = r.build(source)
		return &x.tap
	}}
	x.chain = r.buildStage(top)
	return x
}

func (x *spread) open(ctx context.Context) error {
	x.dismiss()
	x.ended = false
	return x.chain.open(ctx)
}

func (x *spread) close() {
	x.dismiss()
	x.chain.close()
}

func (x *spread) next(ctx context.Context) (*batch, error) {
	if x.ended {
		return nil, nil
	}
	if x.team == nil || !x.team.leads {
		b, err := x.chain.next(ctx)
		if b != nil || err != nil || x.team == nil {
			return b, err
		}
		x.team.leads = true
	}
	b, err := x.team.next(ctx)
	if b == nil && err == nil {
		x.ended = true
		x.dismiss()
	}
	return b, err
}

// start makes a team for the rest of the source, if that is worth its while now.
func (x *spread) start(ctx context.Context) bool {
	turns := x.r.beside()
	if turns == nil {
		return false
	}
	t := &team{x: x, acct: account{r: x.r, name: "Spread"}, ahead: 2*len(turns) + 2, rows: max(1, x.r.batchSize()/leastMorsels)}
	// What waits for the consumer is accounted for as a whole.
	if err := t.acct.grow(t.ahead * (mostWaiting + 2) * x.r.batchSize() * max(1, x.width) * cellSize); err != nil {
		t.acct.release()
		for _, turn := range turns {
			turn.End()
		}
		return false
	}
	t.jobs = make(chan *morsel, t.ahead)
	t.spent = make(chan *batch, t.ahead*mostWaiting)
	var inner context.Context
	inner, t.cancel = context.WithCancel(ctx)
	for _, turn := range turns {
		w := x.newWorker(inner, turn, len(t.workers))
		t.workers = append(t.workers, w)
		t.done.Go(func() { w.work(inner, t) })
	}
	x.team = t
	return true
}

// dismiss ends the team, if there is one.
func (x *spread) dismiss() {
	t := x.team
	if t == nil {
		return
	}
	x.team = nil
	t.cancel()
	close(t.jobs)
	t.done.Wait()
	for _, w := range t.workers {
		w.chain.close()
		w.run.end()
		x.r.join(&w.run)
	}
	t.acct.release()
}

// team is the goroutines that work at a source's morsels, as whoever consumes the rows sees it.
type team struct {
	x       *spread
	leads   bool // the chain has given its last rows
	acct    account
	ahead   int // morsels that are under way at one time
	jobs    chan *morsel
	cancel  context.CancelFunc
	workers []*worker
	done    sync.WaitGroup

	source *batch // of which rows from at on are still to be sent, or nil
	at     int
	part   batch
	rows   int         // of a morsel
	ended  bool        // the source
	queue  []*morsel   // that are under way, in their order
	lent   *batch      // the consumer has it
	spent  chan *batch // that were consumed
}

// morsel is a batch of the source on its way.
type morsel struct {
	in    batch
	out   chan *batch // what has become of it, closed at the end
	edges int         // visited
	given int         // batches
	err   error       // set before out is closed
	panic any
}

// mostWaiting is how many batches that were made of one morsel wait at most.
const mostWaiting = 8

// next gives the next batch that the team has made.
func (t *team) next(ctx context.Context) (*batch, error) {
	t.giveBack()
	for {
		if err := t.fill(ctx); err != nil {
			return nil, err
		}
		if len(t.queue) == 0 {
			return nil, nil
		}
		m := t.queue[0]
		select {
		case b, ok := <-m.out:
			if ok {
				t.lent = b
				return b, nil
			}
		case <-ctx.Done():
			return nil, graph.DeadlineError(context.Cause(ctx))
		}
		t.queue = append(t.queue[:0], t.queue[1:]...)
		t.measure(m.given)
		if m.panic != nil {
			panic(m.panic)
		}
		if m.err != nil {
			return nil, m.err
		}
		if err := t.x.r.visit(m.edges); err != nil {
			return nil, err
		}
	}
}

// giveBack lets the memory of the batch that the consumer had be used again.
func (t *team) giveBack() {
	if t.lent != nil {
		select {
		case t.spent <- t.lent:
		default:
		}
		t.lent = nil
	}
}

// measure makes the next morsels smaller if one has given more batches than may wait, so that its worker was held up, and
// larger if it has given few.
func (t *team) measure(given int) {
	switch {
	case given > mostWaiting:
		t.rows = max(t.rows/2, 1)
	case given < mostWaiting/4:
		t.rows = min(2*t.rows, t.x.r.batchSize())
	}
}

// fill sends morsels to the workers until enough are under way.
func (t *team) fill(ctx context.Context) error {
	for !t.ended && len(t.queue) < t.ahead {
		if t.source == nil {
			b, err := t.x.tap.in.next(ctx)
			if err != nil {
				return err
			}
			t.source, t.at, t.ended = b, 0, b == nil
			continue
		}
		m := &morsel{out: make(chan *batch, mostWaiting)}
		end := min(t.at+t.rows, t.source.N)
		t.part.slice(t.source, t.at, end)
		m.in.copy(&t.part)
		if t.at = end; end == t.source.N {
			t.source = nil
		}
		t.queue = append(t.queue, m)
		t.jobs <- m // there is room for as many as are under way
	}
	return nil
}

// worker is one goroutine of a team, with operators and a run of its own.
type worker struct {
	run   run
	chain operator
	leaf  leaf
	turn  Helper
}

func (x *spread) newWorker(ctx context.Context, turn Helper, by int) *worker {
	w := &worker{turn: turn}
	of := x.r.env.Fn
	own := &fn.Context{Statement: of.Statement, Transaction: of.Transaction, Zone: of.Zone, MaxList: of.MaxList, Run: ctx}
	x.r.fork(&w.run, turn, own)
	w.run.setTx(x.r.tally.Tx)
	w.run.splice = splice{x.from, func() operator { return &w.leaf }}
	w.chain = w.run.buildStage(x.top)
	if x.above != nil {
		w.chain = x.above(&w.run, w.chain, by)
	}
	return w
}

func (w *worker) work(ctx context.Context, t *team) {
	defer w.turn.End()
	for m := range t.jobs {
		w.do(ctx, t, m)
		if ctx.Err() == nil && w.turn.Wanted() {
			return
		}
	}
}

// do makes all rows of a morsel.
func (w *worker) do(ctx context.Context, t *team, m *morsel) {
	defer close(m.out)
	defer func() { m.panic = recover() }()
	before := w.run.edges
	m.err = w.rows(ctx, t, m)
	m.edges = int(w.run.edges - before)
}

func (w *worker) rows(ctx context.Context, t *team, m *morsel) error {
	if w.run.err != nil {
		return w.run.err
	}
	w.leaf.b = &m.in
	if err := w.chain.open(ctx); err != nil {
		return err
	}
	for {
		b, err := w.chain.next(ctx)
		if b == nil || err != nil {
			return err
		}
		var out *batch
		select {
		case out = <-t.spent:
		default:
			out = new(batch)
		}
		out.copy(b)
		select {
		case m.out <- out:
			m.given++
		case <-ctx.Done():
			return graph.DeadlineError(context.Cause(ctx))
		}
	}
}

// leaf gives one batch.
type leaf struct{ b *batch }

func (l *leaf) open(context.Context) error { return nil }
func (l *leaf) close()                     { l.b = nil }

func (l *leaf) next(context.Context) (*batch, error) {
	b := l.b
	l.b = nil
	return b, nil
}
