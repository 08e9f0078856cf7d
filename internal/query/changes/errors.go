package changes

import (
	"errors"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/token"
)

// The details of the errors.
const (
	// Off says that the graph keeps no log.
	Off = "ChangeLogOff"
	// Malformed says that a token is none, or was changed.
	Malformed = "TokenMalformed"
	// OtherGraph says that a token is of another graph.
	OtherGraph = "TokenOfOtherGraph"
	// TooOld says that the log has dropped what follows a token.
	TooOld = "TokenTooOld"
	// OtherHistory says that the graph does not have the commit of a token, since it was restored to an earlier moment.
	OtherHistory = "TokenOfOtherHistory"
	// Expired says that a token holds no more.
	Expired = "TokenExpired"
	// BadSelector says that a selector is wrong.
	BadSelector = "InvalidSelector"
)

const again = "; begin again with from=snapshot, which gives the graph and then its changes, or with the token of db.cdc.earliest()"

// tokenError is an error of a token. All have the code at which Neo4j's clients take a new one.
func tokenError(kind graph.Kind, detail, msg string) *graph.Error {
	return &graph.Error{
		Kind: kind, Code: "Neo.ClientError.ChangeDataCapture.InvalidIdentifier", Type: "ChangesError", Phase: graph.PhaseRuntime, Detail: detail, Msg: msg,
	}
}

// TokenError is the error of a client whose token cannot be read.
func TokenError(err error) error {
	switch {
	case errors.Is(err, token.ErrOtherGraph):
		return tokenError(graph.KindInvalid, OtherGraph,
			"the token is of another graph, or of one of this name that has been dropped"+again)
	case errors.Is(err, token.ErrExpired):
		return tokenError(graph.KindNotFound, Expired, err.Error()+again)
	}
	return tokenError(graph.KindInvalid, Malformed,
		"from is neither earliest, current or snapshot nor a token of a change"+again)
}

func errTooOld(commit, first uint64) error {
	return tokenError(graph.KindNotFound, TooOld,
		fmt.Sprintf("the log has dropped the changes after commit %d: it begins after commit %d", commit, first)+again)
}

// HistoryError is the error of a client whose token is of a commit that the graph does not have.
func HistoryError(commit uint64) error {
	return tokenError(graph.KindInvalid, OtherHistory,
		fmt.Sprintf("the graph does not have commit %d of the token: it was restored to an earlier moment", commit)+again)
}

func errSelector(place, format string, args ...any) error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: BadSelector,
		Msg: place + ": " + fmt.Sprintf(format, args...),
	}
}
