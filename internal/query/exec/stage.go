package exec

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// stage is a compiled plan node. It is never changed after compilation.
type stage struct {
	id   int // index in Prepared.stages and Rows.Stats
	node plan.Node
	// cols are the columns of the operator's batches.
	cols []plan.Col
	// kids are the inputs, subs the subplans; all are printed below the stage.
	kids []*stage
	subs []*subplan
	// alone says that the operator runs outside the frame of its subplan: it gives its rows once, not once for each outer row.
	alone bool
	// once says that nothing of a row of an expansion but its far end is read above, and that repeats are left out there.
	once bool
	// exchange, if not nil, makes the operator in place of build: one that runs this stage and some below it on several goroutines.
	exchange func(r *run) operator
	// build makes the operator of one run over the operators of kids.
	build func(r *run, kids []operator) operator
}

// pos gives the position of a column in the stage's batches, or -1.
func (s *stage) pos(c plan.Col) int { return slices.Index(s.cols, c) }

// positions gives, for each of cols, its position in the stage's batches, or -1.
func (s *stage) positions(cols []plan.Col) []int {
	out := make([]int, len(cols))
	for i, c := range cols {
		out[i] = s.pos(c)
	}
	return out
}

// operator gives rows batch by batch. One goroutine at a time uses it.
type operator interface {
	// open makes the operator start over, with what its frame holds now; it opens its inputs. It is called before the
	// first next and may be called again at any time.
	open(ctx context.Context) error
	// next gives the next batch, never an empty one, or nil at the end, and then nil again until open.
	next(ctx context.Context) (*batch, error)
	// close gives back what the operator holds; it closes its inputs. It may be called without open, and twice.
	close()
}

// input is what operators with one input embed: it opens and closes the input.
type input struct{ in operator }

func (i *input) open(ctx context.Context) error { return i.in.open(ctx) }
func (i *input) close()                         { i.in.close() }

// Stat is what one operator did in a run. What follows Batches is its own, without that of its inputs, and is taken
// only when Env.Profile is set.
type Stat struct {
	Rows     int64
	Batches  int64
	Time     time.Duration
	Requests int64 // shard requests
	Bytes    int64 // about what they gave, decoded
	Memory   int64 // the most bytes that the operator held at one time
	Spilled  int64 // bytes that the operator wrote to disk
	// Metered says that the following are counted: the decoded blocks that were in the cache or not, and the large values
	// fetched. They are not where another process reads the shards.
	Metered             bool
	Hits, Misses, Large int64
	// Wired says that the following are counted, which they are where other processes have the shards: requests to them,
	// what these sent and received in bytes, and the edges that expansions and steps went over.
	Wired                        bool
	Calls, Sent, Received, Edges int64
}

// build makes the operator of a stage and of all below it.
func (r *run) build(s *stage) operator {
	switch {
	case s == r.splice.at && r.splice.build != nil:
		build := r.splice.build
		r.splice = splice{}
		return build()
	case s.exchange != nil && !r.forked:
		return s.exchange(r)
	}
	return r.buildStage(s)
}

// splice says, while operators are built, which one takes the place of that of a stage.
type splice struct {
	at    *stage
	build func() operator
}

func (r *run) buildStage(s *stage) operator {
	kids := carve(&r.kids, len(s.kids))
	frame := r.frame
	for i, k := range s.kids {
		if k.alone {
			r.frame = nil
		}
		kids[i] = r.build(k)
		r.frame = frame
	}
	m := &carve(&r.meters, 1)[0]
	m.r, m.id, m.op = r, s.id, s.build(r, kids)
	return m
}

// carve gives n zero values off the front of a slab, or new ones if it has fewer.
func carve[T any](slab *[]T, n int) []T {
	s := *slab
	if len(s) < n {
		return make([]T, n)
	}
	*slab = s[n:]
	return s[:n:n]
}

// meter counts what its operator gives, and checks the context once a batch.
type meter struct {
	r  *run
	id int
	op operator
}

func (m *meter) open(ctx context.Context) error {
	if m.r.env.Profile {
		defer m.r.enter(m.id)()
	}
	if m.r.labels != nil {
		defer m.r.labels.enter(m.id)()
	}
	return m.op.open(ctx)
}

func (m *meter) next(ctx context.Context) (*batch, error) {
	if m.r.env.Profile {
		defer m.r.enter(m.id)()
	}
	if m.r.labels != nil {
		defer m.r.labels.enter(m.id)()
	}
	st := &m.r.stats[m.id]
	if st.Batches > 1 { // a short run asks nobody
		if err := m.r.alive(ctx); err != nil {
			return nil, err
		}
	} else if ctx.Err() != nil {
		return nil, graph.DeadlineError(context.Cause(ctx))
	}
	b, err := m.op.next(ctx)
	if b != nil {
		st.Rows += int64(b.N)
		st.Batches++
	}
	return b, err
}

func (m *meter) close() { m.op.close() }

// enter charges time and requests to a stage until the function that it gives is called.
func (r *run) enter(id int) func() {
	now := time.Now()
	outer := r.current
	r.stats[outer].Time += now.Sub(r.mark)
	r.settle()
	r.current, r.mark = id, now
	return func() {
		now := time.Now()
		r.stats[id].Time += now.Sub(r.mark)
		r.settle()
		r.current, r.mark = outer, now
	}
}

// settle charges what was read since the last time to the stage that is running.
func (r *run) settle() {
	st := &r.stats[r.current]
	if r.wire != nil {
		now := [3]int64{r.wire.Requests.Load(), r.wire.Sent.Load(), r.wire.Received.Load()}
		st.Calls += now[0] - r.settledWire[0]
		st.Sent += now[1] - r.settledWire[1]
		st.Received += now[2] - r.settledWire[2]
		r.settledWire = now
	}
	if r.reads == nil {
		return
	}
	now := [3]int64{r.reads.Hits.Load(), r.reads.Misses.Load(), r.reads.Large.Load()}
	st.Hits += now[0] - r.settled[0]
	st.Misses += now[1] - r.settled[1]
	st.Large += now[2] - r.settled[2]
	r.settled = now
}
