package past

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
)

// The details of errors: stable codes.
const (
	gapDetail   = "ChangeLogGap"
	largeDetail = "PastTooLarge"
)

// gap is the error of who reads a commit before one that is not in the log as a whole.
func gap(moment, commit uint64) error {
	return &graph.Error{
		Kind: graph.KindNotFound, Code: "Neo.ClientError.ChangeDataCapture.InvalidIdentifier", Type: "ArgumentError", Phase: graph.PhaseRuntime,
		Detail: gapDetail, Msg: fmt.Sprintf("the graph as of commit %d is not known: commit %d was kept out of the commit log", moment, commit),
	}
}

// tooLarge is the error of who reads a moment after which too much was changed: more than the room, or than the memory that there is.
func tooLarge(moment uint64, bytes, room int) error {
	e := graph.BudgetError("the graph as of commit %d differs by %d bytes from the present, and reads in the past may take %d", moment, bytes, room)
	if bytes <= room {
		e = graph.BudgetError("what reads in the past hold, with the graph as of commit %d, is %d bytes, which the memory of all statements has no room for", moment, bytes)
	}
	e.Detail = largeDetail
	return e
}

// spaceMoved is the error of who looks up the keys of a load among what has changed: the log has no such keys.
func spaceMoved(ix *graph.Index, moment uint64) error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
		Detail: "IDSpaceMovedOn", Msg: fmt.Sprintf("the keys of the id space %s are not known as of commit %d", ix.Name, moment),
	}
}

// ReadOnly is the error of who changes the past.
func ReadOnly() error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.AccessMode", Type: "SemanticError", Phase: graph.PhaseCompile,
		Detail: "AsOfIsReadOnly", Msg: "a request that reads the graph as of a moment cannot change it",
	}
}

func noLog() error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime,
		Detail: "ChangeLogOff", Msg: "the graph keeps no commit log, so only its present can be read",
	}
}
