package exec

import (
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

// Parameters and results of a run.
type (
	// Env holds the settings of one run apart from the plan and the graph.
	Env = runtime.Env
	// Budget limits a run.
	Budget = runtime.Budget
	// Slot is the CPU slot of a run.
	Slot = runtime.Slot
	// Helper is the CPU slot of a goroutine that computes for a run.
	Helper = runtime.Helper
	// Procedures finds procedures by name.
	Procedures = runtime.Procedures
	// Procedure is a procedure that CALL runs.
	Procedure = runtime.Procedure
	// Call is one call of a procedure.
	Call = runtime.Call
	// Inner is a statement that runs as part of another one.
	Inner = runtime.Inner
	// Table holds the rows of a procedure that returns many.
	Table = runtime.Table
	// Stream computes the rows of a procedure as they are asked for.
	Stream = runtime.Stream
	// Counters count the changes of a run.
	Counters = runtime.Counters
	// Stood counts changes that stand; see runtime.Stood.
	Stood = runtime.Stood
	// Held publishes the memory that the operators of a run hold.
	Held = runtime.Held
	// Retained is the memory of rows that outlive their run.
	Retained = runtime.Retained
	// Pool bounds the memory of several runs.
	Pool = memory.Pool
	// Stat counts the work of one operator in a run.
	Stat = runtime.Stat
	// HopCount counts the work of one hop of a traversal.
	HopCount = runtime.HopCount
	// Totals count the work of the operators of all runs.
	Totals = runtime.Totals
	// OperatorTotal counts the work of one kind of operators.
	OperatorTotal = runtime.OperatorTotal
	// Spill is disk space for rows.
	Spill = spill.Space
)

// NewSpill opens dir for at most limit bytes of rows; "" is the directory of temporary files.
func NewSpill(dir string, limit int64) (*Spill, error) { return spill.Open(dir, limit) }
