package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Stage is a compiled plan node. It is immutable after compilation.
type Stage struct {
	ID   int // index in Program.Stages and Rows.Stats
	Node plan.Node
	// Cols are the columns of the operator's batches.
	Cols []plan.Col
	// Inputs are the inputs, Subplans the subplans; EXPLAIN prints both below the stage.
	Inputs   []*Stage
	Subplans []*Subplan
	// Alone reports whether the operator runs outside the frame of its subplan: it returns its rows once, not once for each outer
	// row.
	Alone bool
	// Once reports whether operators above an expansion read only its far end, so that it may return each end once.
	Once bool
	// Prefetches reports whether a hop starts from the vertices of the stage, which can prefetch for it.
	Prefetches bool
	// Exchange, if not nil, creates the operator instead of Build: an exchange that runs this stage and some below it on
	// several goroutines.
	Exchange func(r *Run) Operator
	// Above creates the step that each worker adds on top of its rows, of Width cells, for the operator above; nil: none.
	Above func(r *Run, rows Operator, worker int) Operator
	Width int
	// Build creates the operator of one run over the operators of kids.
	Build func(r *Run, kids []Operator) Operator
}

// Pos returns the position of a column in the stage's batches, or -1.
func (s *Stage) Pos(c plan.Col) int { return slices.Index(s.Cols, c) }

// Positions returns the position of each of cols in the stage's batches, or -1.
func (s *Stage) Positions(cols []plan.Col) []int {
	out := make([]int, len(cols))
	for i, c := range cols {
		out[i] = s.Pos(c)
	}
	return out
}

// Operator produces rows batch by batch. One goroutine at a time uses it.
type Operator interface {
	// Open restarts the operator over the current rows of its frame and opens its inputs. It is called before the first Next
	// and may be called again at any time.
	Open(ctx context.Context) error
	// Next returns the next batch, which is never empty, or nil at the end, and nil again until Open.
	Next(ctx context.Context) (*Batch, error)
	// Close releases the operator's memory and closes its inputs. It may be called without Open, and twice.
	Close()
}

// Input is embedded by operators with one input; it opens and closes the input.
type Input struct{ In Operator }

// Open implements Operator.
func (i *Input) Open(ctx context.Context) error { return i.In.Open(ctx) }

// Close implements Operator.
func (i *Input) Close() { i.In.Close() }

// Stat counts the work of one operator in a run. The fields after Batches exclude its inputs and are set only with Env.Profile.
type Stat struct {
	Rows     int64
	Batches  int64
	Time     time.Duration
	Requests int64 // shard requests
	Bytes    int64 // estimated size of the answers, decoded
	Memory   int64 // the operator's peak memory
	Spilled  int64 // bytes that the operator wrote to disk
	Compared int64 // vectors that it compared with another one
	// Candidates counts the vertices that an HNSW graph gave it to rank; 0 if it compared all.
	Candidates int64
	// Metered reports whether the following are counted: hits and misses of the block cache, and large values fetched. They are not
	// if another process reads the shards.
	Metered             bool
	Hits, Misses, Large int64
	// Wired reports whether the following are counted, because other processes keep the shards: calls, bytes sent and received, and
	// edges that expansions and steps read.
	Wired                        bool
	Calls, Sent, Received, Edges int64
}

// Build creates the operator of a stage and all below it.
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

// Splice replaces the operator of one stage while operators are built.
type Splice struct {
	At    *Stage
	Build func() Operator
}

// BuildStage creates the operator of a stage without its exchange, and all below it.
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

// carve takes n zero values off the front of a slab, or allocates them.
func carve[T any](slab *[]T, n int) []T {
	s := *slab
	if len(s) < n {
		return make([]T, n)
	}
	*slab = s[n:]
	return s[:n:n]
}

// meter counts the rows of its operator and checks for cancellation once a batch.
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

// Enter charges time and requests to a stage until the returned function is called.
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

// settle charges the reads since the last call to the running stage.
func (r *Run) settle() {
	if r.io != nil {
		r.io.charge(&r.Stats[r.Current])
	}
}
