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
	Fn     *fn.Context // nil: a fresh one with the present time
	Budget Budget
	Turn   Turn // is asked now and then whether others may compute; nil: they need not
	// Labels are those of the goroutine, to which the operator is to be added; nil: no profile is taken.
	Labels context.Context
	Held   *Held        // is told what the operators hold; nil: nobody asks
	Pools  []*Pool      // are told too; none: what all runs hold is not bounded
	Spill  *spill.Space // for rows that do not fit into Budget.Bytes; nil: the run fails then
	Totals *Totals      // are added to when the run is closed; nil: nobody asks
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
