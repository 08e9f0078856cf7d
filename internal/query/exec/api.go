package exec

import (
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
)

// What callers give a run, and learn of it.
type (
	// Env is what one run is given beside the plan and the graph.
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
	// Table are the rows of a procedure that has many.
	Table = runtime.Table
	// Counters are what a run has changed.
	Counters = runtime.Counters
	// Held is what the operators of a run hold.
	Held = runtime.Held
	// Retained is the memory of rows that outlive their run.
	Retained = runtime.Retained
	// Pool bounds what several runs hold together.
	Pool = runtime.Pool
	// Stat is what one operator did in a run.
	Stat = runtime.Stat
	// HopCount says what one hop of a traversal did.
	HopCount = runtime.HopCount
	// Totals are what the operators of all runs have done.
	Totals = runtime.Totals
	// OperatorTotal is what the operators of one kind have done.
	OperatorTotal = runtime.OperatorTotal
	// Spill is disk space for rows.
	Spill = spill.Space
)

// NewSpill makes dir a place for at most limit bytes of rows; "" stands for the directory of temporary files.
func NewSpill(dir string, limit int64) (*Spill, error) { return spill.Open(dir, limit) }
