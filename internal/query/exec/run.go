package exec

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// Env is what one run is given beside the plan and the graph.
type Env struct {
	Params map[string]graph.Value
	Fn     *fn.Context // nil: a fresh one with the present time
	Budget Budget
	Turn   Turn // is asked now and then whether others may compute; nil: they need not
	// Labels are those of the goroutine, to which the operator is to be added; nil: no profile is taken.
	Labels context.Context
	Held   *Held   // is told what the operators hold; nil: nobody asks
	Pools  []*Pool // are told too; none: what all runs hold is not bounded
	Spill  *Spill  // for rows that do not fit into Budget.Bytes; nil: the run fails then
	Totals *Totals // are added to when the run is closed; nil: nobody asks
	// Procs finds the procedures for CALL; nil: there are none.
	Procs Procedures
	// Statement runs a statement within a call of a procedure, in the transaction of the run; nil: procedures run none.
	Statement func(ctx context.Context, tx shard.Tx, text string, params map[string]graph.Value) ([][]graph.Value, Counters, error)
	// ImportDir is the directory that LOAD CSV reads from; "": LOAD CSV is off.
	ImportDir string
	// Begin opens the transactions of CALL {…} IN TRANSACTIONS; nil: there can be none.
	Begin func(ctx context.Context, mode shard.Mode) (shard.Tx, error)
	// Committed says that the transaction reads what has been committed and nothing else, so that constraints hold in it.
	Committed bool
	// Profile asks for times and shard requests in the statistics.
	Profile bool
	// Partial makes traversals end when a budget does, or at Until, and the result what was found until then.
	Partial bool
	Until   time.Time
}

// Turn shares the processors between runs.
type Turn interface {
	// Pause lets others compute if it is their turn, and waits for the next of its own. The context may have ended then.
	Pause(ctx context.Context) error
	// Beside gives the turns of at most so many goroutines that compute while the run waits for them, if the run takes long
	// and processors are free: two at least, of whom nobody wants the last, or none.
	Beside(most int) []Helper
}

// Helper is the turn of a goroutine that computes for a run. That goroutine alone uses it.
type Helper interface {
	Turn
	// Wanted reports whether the goroutine should end its work soon, as others wait for processors.
	Wanted() bool
	// End gives the turn back.
	End()
}

// Budget limits a run; 0 is no limit.
type Budget struct {
	Bytes int64 // held by operators at one time
	Rows  int64 // of the result
	Edges int64 // visited by expansions
}

// Procedures finds procedures by name.
type Procedures interface {
	Procedure(name string) (Procedure, bool)
}

// Procedure is a procedure that CALL runs.
type Procedure struct {
	// Args and Results are the names of the arguments and of the result columns.
	Args, Results []string
	// Run gives the rows of one call, each with one value a result.
	Run func(ctx context.Context, c *Call) ([][]graph.Value, error)
}

// Call is one call of a procedure.
type Call struct {
	Graph shard.Graph
	Tx    shard.Tx
	Args  []graph.Value
	// Statement runs a statement as a part of the calling one, in its transaction, and gives its rows; nil if the transaction only
	// reads.
	Statement func(ctx context.Context, text string, params map[string]graph.Value) ([][]graph.Value, error)
}

// Counters are what a run has changed.
type Counters struct {
	NodesCreated, NodesDeleted                 int64
	RelationshipsCreated, RelationshipsDeleted int64
	PropertiesSet                              int64
	LabelsAdded, LabelsRemoved                 int64
}

// ContainsUpdates reports whether the run has changed anything.
func (c *Counters) ContainsUpdates() bool { return *c != Counters{} }

// run is one execution of a Prepared. Its operators share it; one goroutine uses it.
type run struct {
	p        *Prepared
	g        shard.Graph
	tx       shard.Tx
	env      Env
	counters Counters
	stats    []Stat
	// meters and kids are memory for as many operators as there are stages.
	meters []meter
	kids   []operator
	// params are the evaluators of parameters, readers those of properties, lent the batches with values of these, of operators
	// that later runs may use.
	params  []paramUse
	readers []*propReader
	lent    []*batch
	cut     cut
	// frame is, while operators are built, the frame of the subplan that they are part of; nil at the top level.
	frame   *frame
	deleted deleted
	// recorder reads the records of the result.
	recorder recorder
	// err is the first error that building operators or evaluators met.
	err error
	// transactions counts those that the run has begun by itself; after are those that read what they have left.
	transactions int
	after        []shard.Tx
	labels       *labelling // nil unless a profile is taken
	// closers are the subplans of expressions, which no operator closes.
	closers []interface{ close() }
	// bytes is what all operators hold, pooled what of it env.Pools know, edges what expansions have visited.
	bytes, pooled, edges int64
	// fewest is the number of vertices from which on a frontier is walked as a bitmap; 0: not known yet.
	fewest int
	// current is the stage that time since mark is charged to; see enter.
	current int
	mark    time.Time
	reads   *graph.Reads // what the shards count, or nil
	settled [3]int64     // the part of it that stages have been charged with
	metered []shard.Metered
	// wire is what goes to other processes, or nil, settledWire the part of it that stages have been charged with.
	wire        *graph.Wire
	settledWire [3]int64
	wired       []shard.Wired
	// hopCounts are those of a traversal, truncated the reason why the result is not whole.
	hopCounts []HopCount
	truncated string
	tally     tallyTx // counts what the shards are asked for
}

// batchSize is the number of rows that an operator aims at.
func (r *run) batchSize() int { return r.p.opt.BatchSize }

// fail keeps the first error of building.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// visit counts edges that an operator has seen and fails when the budget is spent.
func (r *run) visit(n int) error {
	r.edges += int64(n)
	if r.env.Budget.Edges > 0 && r.edges > r.env.Budget.Edges {
		return graph.BudgetError("the statement visited more than %d edges, the budget of max-visits", r.env.Budget.Edges)
	}
	return nil
}

// alive lets others compute if it is their turn, and tells whether the run may go on.
func (r *run) alive(ctx context.Context) error {
	if r.env.Turn != nil {
		if err := r.env.Turn.Pause(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return graph.DeadlineError(context.Cause(ctx))
	}
	return nil
}

// account counts the bytes that one operator holds.
type account struct {
	r    *run
	name string // of the operator, for the error
	held int64  // bytes
}

// grow adds bytes and fails when the statement holds more than it may.
func (a *account) grow(n int) error {
	a.held += int64(n)
	a.r.bytes += int64(n)
	a.r.tell(a)
	if a.r.env.Profile {
		st := &a.r.stats[a.r.current]
		st.Memory = max(st.Memory, a.held)
	}
	if limit := a.r.env.Budget.Bytes; limit > 0 && a.r.bytes > limit {
		err := graph.BudgetError("the statement needs more than %d bytes, the budget of query-memory; operator %s holds %d bytes",
			limit, a.name, a.held)
		if a.r.bytes-limit > finishBytes || !a.r.truncate(err) {
			return err
		}
	}
	return nil
}

// finishBytes is how much more the operators of a run may hold that ends early, to finish with what was found.
const finishBytes = 16 << 20

// cellSize is what a value takes by itself, in bytes.
const cellSize = 24

// valueSize is about what a value holds, in bytes.
func valueSize(v graph.Value) int {
	const cell = cellSize
	n := cell
	switch v.Kind() {
	case graph.String:
		n += len(v.Str())
	case graph.List:
		for _, e := range v.List() {
			n += valueSize(e)
		}
	case graph.Map:
		for _, e := range v.Map() {
			n += len(e.Key) + 16 + valueSize(e.Value)
		}
	case graph.VertexKind:
		n += recordSize(v.Record())
	case graph.EdgeKind:
		n += 48 + recordSize(v.Edge().Record)
	case graph.PathKind:
		p := v.Path()
		n += 48
		for _, x := range p.Vertices {
			n += valueSize(x)
		}
		for _, x := range p.Edges {
			n += valueSize(x)
		}
	}
	return n
}

// recordSize is about what the values of a record hold, in bytes; nil holds nothing.
func recordSize(r *graph.Record) int {
	if r == nil {
		return 0
	}
	n := 64
	for _, v := range r.Values {
		n += valueSize(v)
	}
	return n
}

// release gives all bytes back.
func (a *account) release() {
	a.r.bytes -= a.held
	a.held = 0
	a.r.tell(a)
}

// Rows is the result of a run. One goroutine uses it.
type Rows struct {
	x      *execution
	r      *run // of x; when the operators are kept for another run, one that says of this what Close leaves to say
	opened bool
	failed bool
	count  int64
	kept   account // what the caller of Next keeps
}

// Run begins an execution within a transaction, which the caller ends. The result is valid until then. Nothing is read
// or written before the first Next.
func (p *Prepared) Run(ctx context.Context, g shard.Graph, tx shard.Tx, env Env) (*Rows, error) {
	rs := new(Rows)
	if err := p.RunInto(ctx, rs, g, tx, &env); err != nil {
		return nil, err
	}
	return rs, nil
}

// RunInto is Run with the memory of the caller for the result. env is copied.
func (p *Prepared) RunInto(ctx context.Context, rs *Rows, g shard.Graph, tx shard.Tx, env *Env) error {
	x, err := p.execution(ctx, g, tx, env)
	if err != nil {
		return err
	}
	*rs = Rows{x: x, r: &x.run}
	return nil
}

// setTx makes the operators use another transaction.
func (r *run) setTx(tx shard.Tx) {
	r.tally.Tx = tx
	r.tx = &r.tally
	if r.env.Profile {
		r.tally.r = r
		if m, ok := tx.(shard.Metered); ok {
			r.meter(m)
		}
		if w, ok := tx.(shard.Wired); ok {
			r.count(w)
		}
	}
}

// count has a transaction count what it asks other processes.
func (r *run) count(w shard.Wired) {
	if r.wire == nil {
		r.wire = new(graph.Wire)
		for i := range r.stats {
			r.stats[i].Wired = true
		}
	}
	w.Wire(r.wire)
	r.wired = append(r.wired, w)
}

// meter has a transaction count its reads.
func (r *run) meter(m shard.Metered) {
	if r.reads == nil {
		r.reads = new(graph.Reads)
		for i := range r.stats {
			r.stats[i].Metered = true
		}
	}
	m.Meter(r.reads)
	r.metered = append(r.metered, m)
}

// Next gives the next batch, with one column for each result column of the plan, or nil at the end. Vertices and edges
// have their records. The batch is valid until the next call, or Close.
func (rs *Rows) Next(ctx context.Context) (*graph.Batch, error) {
	failed := rs.failed
	rs.failed = true // should it panic
	b, err := rs.next(ctx)
	rs.failed = failed || err != nil
	return b, err
}

func (rs *Rows) next(ctx context.Context) (*graph.Batch, error) {
	if rs.r.env.Profile {
		rs.r.mark = time.Now() // what the caller did meanwhile is nobody's time
		defer rs.r.enter(rs.r.current)()
	}
	x := rs.x
	if !rs.opened {
		rs.opened = true
		if err := x.root.open(ctx); err != nil {
			return nil, err
		}
	}
	b, err := x.root.next(ctx)
	if b == nil || err != nil {
		return nil, err
	}
	rs.count += int64(b.N)
	x.out.view(b, rs.r.p.out)
	if limit := rs.r.env.Budget.Rows; limit > 0 && rs.count > limit {
		err := graph.BudgetError("the result has more than %d rows, the budget of max-rows", limit)
		if !rs.r.truncate(err) {
			return nil, err
		}
		left := b.N - int(rs.count-limit)
		if left <= 0 {
			return nil, nil
		}
		var first batch
		first.slice(b, 0, left)
		x.out.view(&first, rs.r.p.out)
	}
	if err := rs.r.materialise(ctx, &x.out.Batch); err != nil {
		return nil, err
	}
	return &x.out.Batch, nil
}

// Hold accounts for a batch of Next that the caller keeps, until Close.
func (rs *Rows) Hold(b *graph.Batch) error {
	if rs.kept.r == nil {
		rs.kept = account{r: rs.r, name: "Result"}
	}
	size := 0
	for i := range b.Cols {
		for j := range b.N {
			size += valueSize(b.Cols[i].Value(j))
		}
	}
	return rs.kept.grow(size)
}

// Close gives back what the run holds; it does not end the transaction. What Next gave must not be used any more, nor
// Next be called.
func (rs *Rows) Close() {
	if rs.x == nil {
		return
	}
	x := rs.x
	rs.x = nil
	x.root.close()
	for _, m := range rs.r.metered {
		m.Meter(nil)
	}
	for _, w := range rs.r.wired {
		w.Wire(nil)
	}
	for _, c := range rs.r.closers {
		c.close()
	}
	for _, tx := range rs.r.after {
		tx.Rollback()
	}
	rs.r.tellPools(-rs.r.pooled)
	if h := rs.r.env.Held; h != nil {
		h.operator.Store(nil) // it lies in the memory of the operators, and whoever lists what runs may keep h
	}
	rs.r.total()
	if p := rs.r.p; p.keeps(&rs.r.env) && !rs.failed && rs.r.truncated == "" {
		rs.r = &p.nothing
		x.end()
		return
	}
	// Whoever still asks for the counters keeps no rows.
	x.root, x.out = nil, batch{}
	rs.r.meters, rs.r.kids, rs.r.params, rs.r.readers, rs.r.lent, rs.r.closers, rs.r.recorder = nil, nil, nil, nil, nil, nil, recorder{}
}

// Counters gives what the run has changed so far.
func (rs *Rows) Counters() Counters { return rs.r.counters }

// Stats gives what the operators did so far, by the ids of Prepared.Explain.
func (rs *Rows) Stats() []Stat { return rs.r.stats }

// Columns gives the names of the result columns.
func (p *Prepared) Columns() []string { return p.Query.Names }
