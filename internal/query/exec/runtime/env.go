package runtime

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// Env is what one run is given beside the plan and the graph.
type Env struct {
	Params map[string]graph.Value
	Fn     *fn.Context // nil: a new one with the present time
	Budget Budget
	Slot   Slot // lets other runs compute now and then; nil: there are none
	// Labels are those of the goroutine, to which the operator is to be added; nil: no profile is taken.
	Labels context.Context
	Held   *Held        // publishes what the operators hold; nil: it is not published
	Pools  []*Pool      // bound what several runs hold; none: it is not bounded
	Spill  *spill.Space // for rows that do not fit into Budget.Bytes; nil: the run fails then
	Totals *Totals      // grow when the run is closed; nil: they are not kept
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

// Slot is the CPU slot of a run: it shares the processors between runs.
type Slot interface {
	// Yield lets other runs compute if they wait, and returns when this run may go on. The context may have ended then.
	Yield(ctx context.Context) error
	// Beside gives the CPU slots of at most so many goroutines that compute while the run waits for them, if the run takes long and
	// processors are free: none, or at least two, the last of which no other run waits for.
	Beside(most int) []Helper
}

// Helper is the CPU slot of a goroutine that computes for a run. That goroutine alone uses it.
type Helper interface {
	Slot
	// Wanted reports whether the goroutine should end its work soon, as others wait for processors.
	Wanted() bool
	// End gives the slot back.
	End()
}

// Budget limits a run; 0 is no limit.
type Budget struct {
	Bytes int64 // held by operators at one time, with Kept
	Kept  int64 // what earlier runs of the transaction have left in memory
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
