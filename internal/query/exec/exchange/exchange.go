package exchange

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Exchange runs a chain of stages on several cores, once the run is long-running and cores are free. Each stage of
// the chain maps every input row to rows by itself. The batches of the source below the chain are morsels, and workers of a
// pool take each through their own operators (Leis et al., Morsel-driven parallelism, SIGMOD 2014). Rows keep the order of the
// morsels; within a morsel they have the order that the chain gives to a smaller batch. Until then, and in all short runs, the
// exchange passes on the chain's rows.
type Exchange struct {
	r      *runtime.Run
	top    *runtime.Stage
	from   *runtime.Stage // the source
	chain  runtime.Operator
	splice splice // between the chain and the source
	queue  *queue // nil until workers take over the rest of the source
	ended  bool   // the queue is exhausted
}

// splice is the source as the chain sees it until a worker pool takes over.
type splice struct {
	x  *Exchange
	in runtime.Operator
}

func (t *splice) Open(ctx context.Context) error { return t.in.Open(ctx) }
func (t *splice) Close()                         { t.in.Close() }

func (t *splice) Next(ctx context.Context) (*runtime.Batch, error) {
	if t.x.queue != nil || t.x.start(ctx) {
		return nil, nil
	}
	return t.in.Next(ctx)
}

// Mark adds an exchange to the stages whose rows several goroutines may produce, in a tree of stages and its subplans.
func Mark(p *runtime.Program, s *runtime.Stage) {
	below, works := s, false
	for byRow(below) && len(below.Inputs) == 1 {
		switch below.Node.(type) {
		case *plan.Expand, *plan.Intersect, *plan.PairMultiplicity, *plan.Filter:
			works = true
		}
		below = below.Inputs[0]
		if source := below; works && p.Query.Estimates[source.Node] >= float64(minMorsels*p.BatchSize) {
			s.Exchange = func(r *runtime.Run) runtime.Operator { return newExchange(r, s, source) }
			source.Prefetches = false // the workers request other parts of its rows
			break
		}
	}
	if s.Exchange == nil { // so no stage between has one
		for between := s; between != below; between = between.Inputs[0] {
			for _, sub := range between.Subplans {
				Mark(p, sub.Root)
			}
		}
	}
	for _, sub := range below.Subplans {
		Mark(p, sub.Root)
	}
	for _, k := range below.Inputs {
		Mark(p, k)
	}
}

// minMorsels is the estimated number of source batches from which on an exchange is added.
const minMorsels = 8

// byRow reports whether a stage maps every input row to rows by itself.
func byRow(s *runtime.Stage) bool {
	if s.Once || slices.ContainsFunc(s.Subplans, func(sub *runtime.Subplan) bool { return sub.Writes }) {
		return false
	}
	switch s.Node.(type) {
	case *plan.Expand, *plan.Intersect, *plan.PairMultiplicity, *plan.Filter, *plan.Project:
		return true
	}
	return false
}

func newExchange(r *runtime.Run, top, source *runtime.Stage) runtime.Operator {
	x := &Exchange{r: r, top: top, from: source}
	x.splice.x = x
	r.Splice = runtime.Splice{At: source, Build: func() runtime.Operator {
		x.splice.in = r.Build(source)
		return &x.splice
	}}
	x.chain = r.BuildStage(top)
	return x
}

// Open implements runtime.Operator.
func (x *Exchange) Open(ctx context.Context) error {
	x.stop()
	x.ended = false
	return x.chain.Open(ctx)
}

// Close implements runtime.Operator.
func (x *Exchange) Close() {
	x.stop()
	x.chain.Close()
}

// Next implements runtime.Operator.
func (x *Exchange) Next(ctx context.Context) (*runtime.Batch, error) {
	if x.ended {
		return nil, nil
	}
	if x.queue == nil || !x.queue.leads {
		b, err := x.chain.Next(ctx)
		if b != nil || err != nil || x.queue == nil {
			return b, err
		}
		x.queue.leads = true
	}
	b, err := x.queue.next(ctx)
	if b == nil && err == nil {
		x.ended = true
		x.stop()
	}
	return b, err
}

// start creates a worker pool for the rest of the source if cores are free; it reports whether it did.
func (x *Exchange) start(ctx context.Context) bool {
	slots := x.r.Helpers()
	if slots == nil {
		return false
	}
	t := &queue{Pool: Pool{r: x.r}, exchange: x, acct: runtime.Account{Run: x.r, Name: "Exchange"}, inFlight: 2*len(slots) + 2, rows: max(1, x.r.BatchSize()/minMorsels)}
	// The batches that wait for the consumer are accounted for in advance.
	if err := t.acct.Grow(t.inFlight * (maxPending + 2) * x.r.BatchSize() * cmp.Or(x.top.Width, len(x.top.Cols), 1) * memory.CellSize); err != nil {
		t.acct.Release()
		for _, slot := range slots {
			slot.Release()
		}
		return false
	}
	t.jobs = make(chan *morsel, t.inFlight)
	t.spent = make(chan *runtime.Batch, t.inFlight*maxPending)
	var inner context.Context
	inner, t.cancel = context.WithCancel(ctx)
	for _, slot := range slots {
		w := t.newWorker(inner, slot)
		t.workers = append(t.workers, w)
		t.start(slot, func() { w.work(inner, t) })
	}
	x.queue = t
	return true
}

// stop ends the worker pool, if there is one.
func (x *Exchange) stop() {
	t := x.queue
	if t == nil {
		return
	}
	x.queue = nil
	t.cancel()
	close(t.jobs)
	t.join()
	for _, w := range t.workers {
		w.chain.Close()
		w.run.End()
	}
	t.acct.Release()
}

// queue hands the morsels of a source to the workers of a pool, and their rows to the consumer in order.
type queue struct {
	Pool
	exchange *Exchange
	leads    bool // the chain has returned its last rows
	acct     runtime.Account
	inFlight int // bound on concurrent morsels
	jobs     chan *morsel
	cancel   context.CancelFunc
	workers  []*worker

	source *runtime.Batch // the batch whose rows from at on are unsent, or nil
	at     int
	part   runtime.Batch
	rows   int                 // in a morsel
	ended  bool                // the source
	err    error               // of the source, after the rows of all morsels
	queue  []*morsel           // in-flight morsels in order
	lent   *runtime.Batch      // the batch that the consumer holds
	spent  chan *runtime.Batch // consumed batches, for reuse
}

// morsel is a batch of the source in flight.
type morsel struct {
	in    runtime.Batch
	out   chan *runtime.Batch // its rows; closed at the end
	edges int                 // visited
	given int                 // batches
	err   error               // set before out is closed
	panic any
}

// maxPending bounds the batches of one morsel that wait for the consumer.
const maxPending = 8

// next returns the next batch in order.
func (t *queue) next(ctx context.Context) (*runtime.Batch, error) {
	t.recycle()
	for {
		t.fill(ctx)
		if len(t.queue) == 0 {
			return nil, t.err
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
		if err := t.exchange.r.Visit(m.edges); err != nil {
			return nil, err
		}
	}
}

// recycle recycles the batch that the consumer held.
func (t *queue) recycle() {
	if t.lent != nil {
		select {
		case t.spent <- t.lent:
		default:
		}
		t.lent = nil
	}
}

// measure shrinks the next morsels if one produced more batches than may wait, which blocks its worker, and enlarges them if it
// produced few.
func (t *queue) measure(given int) {
	switch {
	case given > maxPending:
		t.rows = max(t.rows/2, 1)
	case given < maxPending/4:
		t.rows = min(2*t.rows, t.exchange.r.BatchSize())
	}
}

// fill sends morsels to the workers until enough are in flight.
func (t *queue) fill(ctx context.Context) {
	for !t.ended && len(t.queue) < t.inFlight {
		if t.source == nil {
			b, err := t.exchange.splice.in.Next(ctx)
			t.source, t.at, t.ended, t.err = b, 0, b == nil || err != nil, err
			continue
		}
		m := &morsel{out: make(chan *runtime.Batch, maxPending)}
		end := min(t.at+t.rows, t.source.N)
		t.part.Slice(t.source, t.at, end)
		m.in.Copy(&t.part)
		if t.at = end; end == t.source.N {
			t.source = nil
		}
		t.queue = append(t.queue, m)
		t.jobs <- m // the channel has room for all morsels in flight
	}
}

// worker is one goroutine of the pool with its own operators.
type worker struct {
	run   *runtime.Run
	chain runtime.Operator
	leaf  leaf
	slot  runtime.Helper
}

func (t *queue) newWorker(ctx context.Context, slot runtime.Helper) *worker {
	number := len(t.workers)
	x, w := t.exchange, &worker{run: t.fork(ctx, number, slot), slot: slot}
	w.run.Splice = runtime.Splice{At: x.from, Build: func() runtime.Operator { return &w.leaf }}
	w.chain = w.run.BuildStage(x.top)
	if x.top.Above != nil {
		w.chain = x.top.Above(w.run, w.chain, number)
	}
	return w
}

func (w *worker) work(ctx context.Context, t *queue) {
	for m := range t.jobs {
		w.do(ctx, t, m)
		if ctx.Err() == nil && w.slot.Contended() {
			return
		}
	}
}

// do produces all rows of a morsel.
func (w *worker) do(ctx context.Context, t *queue, m *morsel) {
	defer close(m.out)
	defer func() { m.panic = recover() }()
	before := w.run.Edges
	m.err = w.rows(ctx, t, m)
	m.edges = int(w.run.Edges - before)
}

func (w *worker) rows(ctx context.Context, t *queue, m *morsel) error {
	if w.run.Err != nil {
		return w.run.Err
	}
	w.leaf.b = &m.in
	if err := w.chain.Open(ctx); err != nil {
		return err
	}
	for {
		b, err := w.chain.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		var out *runtime.Batch
		select {
		case out = <-t.spent:
		default:
			out = new(runtime.Batch)
		}
		out.Copy(b)
		select {
		case m.out <- out:
			m.given++
		case <-ctx.Done():
			return graph.DeadlineError(context.Cause(ctx))
		}
	}
}

// leaf returns one batch.
type leaf struct{ b *runtime.Batch }

func (l *leaf) Open(context.Context) error { return nil }
func (l *leaf) Close()                     { l.b = nil }

func (l *leaf) Next(context.Context) (*runtime.Batch, error) {
	b := l.b
	l.b = nil
	return b, nil
}
