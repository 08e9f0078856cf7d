package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Stage is a compiled plan node. It is never changed after compilation.
type Stage struct {
	ID   int // index in Prepared.stages and Rows.Stats
	Node plan.Node
	// Cols are the columns of the operator's batches.
	Cols []plan.Col
	// Inputs are the inputs, subs the subplans; all are printed below the stage.
	Inputs   []*Stage
	Subplans []*Subplan
	// Alone says that the operator runs outside the frame of its subplan: it gives its rows once, not once for each outer row.
	Alone bool
	// Once says that nothing of a row of an expansion but its far end is read above, and that repeats are left out there.
	Once bool
	// Prefetches says that a hop begins with the vertices that the stage finds, and that the stage can prefetch for it.
	Prefetches bool
	// Exchange, if not nil, makes the operator in place of build: one that runs this stage and some below it on several goroutines.
	Exchange func(r *Run) Operator
	// Above makes what each of these goroutines does with its rows for the operator above, of rows with Width cells; nil: nothing.
	Above func(r *Run, rows Operator, worker int) Operator
	Width int
	// Build makes the operator of one run over the operators of kids.
	Build func(r *Run, kids []Operator) Operator
}

// Pos gives the position of a column in the stage's batches, or -1.
func (s *Stage) Pos(c plan.Col) int { return slices.Index(s.Cols, c) }

// Positions gives, for each of cols, its position in the stage's batches, or -1.
func (s *Stage) Positions(cols []plan.Col) []int {
	out := make([]int, len(cols))
	for i, c := range cols {
		out[i] = s.Pos(c)
	}
	return out
}

// Operator gives rows batch by batch. One goroutine at a time uses it.
type Operator interface {
	// Open makes the operator start over, with what its frame holds now; it opens its inputs. It is called before the
	// first next and may be called again at any time.
	Open(ctx context.Context) error
	// Next gives the next batch, never an empty one, or nil at the end, and then nil again until open.
	Next(ctx context.Context) (*Batch, error)
	// Close gives back what the operator holds; it closes its inputs. It may be called without open, and twice.
	Close()
}

// Input is what operators with one input embed: it opens and closes the input.
type Input struct{ In Operator }

// Open implements Operator.
func (i *Input) Open(ctx context.Context) error { return i.In.Open(ctx) }

// Close implements Operator.
func (i *Input) Close() { i.In.Close() }

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

// Build makes the operator of a stage and of all below it.
func (r *Run) Build(s *Stage) Operator {
	switch {
	case s == r.Splice.At && r.Splice.Build != nil:
		build := r.Splice.Build
		r.Splice = Splice{}
		return build()
	case s.Exchange != nil && !r.forked:
		return s.Exchange(r)
	}
	return r.BuildStage(s)
}

// Splice says, while operators are built, which one takes the place of that of a stage.
type Splice struct {
	At    *Stage
	Build func() Operator
}

// BuildStage makes the operator of a stage without its exchange, and of all below it.
func (r *Run) BuildStage(s *Stage) Operator {
	kids := carve(&r.kids, len(s.Inputs))
	frame := r.Frame
	for i, k := range s.Inputs {
		if k.Alone {
			r.Frame = nil
		}
		kids[i] = r.Build(k)
		r.Frame = frame
	}
	m := &carve(&r.meters, 1)[0]
	m.r, m.id, m.op = r, s.ID, s.Build(r, kids)
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
	r  *Run
	id int
	op Operator
}

func (m *meter) Open(ctx context.Context) error {
	if m.r.Env.Profile {
		defer m.r.Enter(m.id)()
	}
	if m.r.labels != nil {
		defer m.r.labels.enter(m.id)()
	}
	return m.op.Open(ctx)
}

func (m *meter) Next(ctx context.Context) (*Batch, error) {
	if m.r.Env.Profile {
		defer m.r.Enter(m.id)()
	}
	if m.r.labels != nil {
		defer m.r.labels.enter(m.id)()
	}
	st := &m.r.Stats[m.id]
	if st.Batches > 1 { // a short run does not yield
		if err := m.r.CheckCancel(ctx); err != nil {
			return nil, err
		}
	} else if ctx.Err() != nil {
		return nil, graph.DeadlineError(context.Cause(ctx))
	}
	b, err := m.op.Next(ctx)
	if b != nil {
		st.Rows += int64(b.N)
		st.Batches++
	}
	return b, err
}

func (m *meter) Close() { m.op.Close() }

// Enter charges time and requests to a stage until the function that it gives is called.
func (r *Run) Enter(id int) func() {
	now := time.Now()
	outer := r.Current
	r.Stats[outer].Time += now.Sub(r.Mark)
	r.settle()
	r.Current, r.Mark = id, now
	return func() {
		now := time.Now()
		r.Stats[id].Time += now.Sub(r.Mark)
		r.settle()
		r.Current, r.Mark = outer, now
	}
}

// settle charges what was read since the last time to the stage that is running.
func (r *Run) settle() {
	st := &r.Stats[r.Current]
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
