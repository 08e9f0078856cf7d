package bulk

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
)

// misuse reports that a request does not fit the graph.
func misuse(format string, args ...any) error {
	return graph.InternalError(fmt.Sprintf(format, args...), nil)
}

func invalid(format string, args ...any) error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "DatabaseError", Phase: graph.PhaseRuntime,
		Detail: "Invalid", Msg: fmt.Sprintf(format, args...),
	}
}
