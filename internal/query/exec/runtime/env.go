package runtime

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// Env holds the settings of one run apart from the plan and the graph.
type Env struct {
	Params map[string]graph.Value
	Fn     *fn.Context // nil: a new one with the current time
	Budget Budget
	Slot   Slot // shares the cores with other runs; nil: there are none
	// Labels holds the goroutine's profiler labels, to which runs add the operator; nil: no profile is taken.
	Labels context.Context
	Held   *Held          // publishes the memory of the operators; nil: nothing is published
	Pools  []*memory.Pool // bound the memory of several runs
	Spill  *spill.Space   // for rows beyond Budget.Bytes; nil: the run fails instead
	Totals *Totals        // updated when the run closes; nil: not updated
	// Visits counts the vertices, edges and index entries that the run has read, batch by batch; nil: nothing counts them.
	Visits *atomic.Int64
	// Procs finds the procedures for CALL; nil: there are none.
	Procs Procedures
	// Statement runs a statement for a procedure in a transaction; nil: procedures run none.
	Statement func(ctx context.Context, tx shard.Tx, in *Inner) (Counters, error)
	// Open opens a file or URL that a statement names, as UTF-8 text, and returns how messages name it; nil: there are none to read.
	Open func(ctx context.Context, name string) (r io.ReadCloser, shown string, err error)
	// Permit returns why the transactions of CALL {…} IN TRANSACTIONS may not commit any more, or nil.
	Permit func() error
	// Begin opens the transactions of CALL {…} IN TRANSACTIONS; nil: there can be none.
	Begin func(ctx context.Context, mode shard.Mode) (shard.Tx, error)
	// Stood counts what the transactions of CALL {…} IN TRANSACTIONS have committed; nil: nothing counts it.
	Stood *Stood
	// Committed reports whether the transaction reads only committed data, so that constraints hold.
	Committed bool
	// Profile requests times and shard requests in the statistics.
	Profile bool
	// Partial makes traversals return their results so far when a budget is exhausted, or at Until.
	Partial bool
	Until   time.Time
}

// Stood counts changes that stand, whatever becomes of the run that made them: transactions, and the input rows that they worked on.
type Stood struct{ Transactions, Rows int64 }

// Slot is the CPU slot of a run. It shares the cores between runs.
type Slot interface {
	// Yield lets waiting runs compute and returns when this run may go on. The context may have ended then.
	Yield(ctx context.Context) error
	// Helpers returns CPU slots for at most that many goroutines that compute while the run waits for them, if the run is
	// long-running and cores are idle. It returns none or at least two; no other run waits for the last one.
	Helpers(most int) []Helper
}

// Helper is the CPU slot of a goroutine that computes for a run. Only that goroutine uses it.
type Helper interface {
	Slot
	// Contended reports whether the goroutine should finish soon because others wait for cores.
	Contended() bool
	// Release returns the slot.
	Release()
}

// Budget limits a run; 0 is no limit.
type Budget struct {
	Bytes    int64 // held by operators at one time, with Kept
	Retained int64 // buffered results of earlier runs of the transaction
	Rows     int64 // of the result
	Edges    int64 // visited by expansions
}

// Procedures finds procedures by name.
type Procedures interface {
	Procedure(name string) (Procedure, bool)
}

// Procedure is a procedure that CALL runs.
type Procedure struct {
	// Args and Results are the names of the arguments and of the result columns.
	Args, Results []string
	// Integers says which arguments are integers; a call turns whole floats into them.
	Integers []bool
	// Run returns the rows of one call; each row has one value for each result.
	Run func(ctx context.Context, c *Call) ([][]graph.Value, error)
	// Table, if not nil, returns the rows of one call in Run's place, as a table.
	Table func(ctx context.Context, c *Call) (*Table, error)
	// Stream, if not nil, returns the rows of one call in Run's place, as the caller asks for them.
	Stream func(ctx context.Context, c *Call) (Stream, error)
}

// Stream computes the rows of a call portion by portion.
type Stream interface {
	// Next returns the next rows, or none after the last.
	Next(ctx context.Context) ([][]graph.Value, error)
	// Close releases the stream's resources.
	Close()
}

// Table are the rows of a procedure that has many: they are read batch by batch.
type Table struct {
	N int // rows
	// Append appends the values of a result in rows lo … hi-1 to dst.
	Append func(result, lo, hi int, dst []graph.Value) []graph.Value
	// Close releases the table's resources.
	Close func()
}

// Inner is a statement that runs as part of another one.
type Inner struct {
	Text     string
	Params   map[string]graph.Value
	Writes   bool // whether it may change data
	Commands bool // whether it may be a command
	// Row gets the names of the columns and a row. It owns the row.
	Row func(columns []string, row []graph.Value) error
}

// Call is one call of a procedure.
type Call struct {
	Run   *Run // the run of the calling statement
	Graph shard.Graph
	Tx    shard.Tx
	Args  []graph.Value
	// Statement runs a statement as part of the calling one, in its transaction, and returns its rows; nil in a read-only
	// transaction.
	Statement func(ctx context.Context, text string, params map[string]graph.Value) ([][]graph.Value, error)
	// Query runs a statement that a caller has written, likewise. It may change data if the procedure does.
	Query func(ctx context.Context, in Inner) error
	// Transact runs statements of a caller in a transaction of their own, which works on so many rows, and commits it. After a conflict
	// it runs them again. nil where a statement cannot commit by itself.
	Transact func(ctx context.Context, rows int64, statements ...Inner) error
}
