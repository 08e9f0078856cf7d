package procedure

import (
	"context"
	"math"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/shard"
)

// awaitPoll is how often the state of indexes is looked at.
const awaitPoll = 5 * time.Millisecond

func noIndex() error {
	return graph.SchemaError(graph.KindInvalid, "ClientError.Schema.IndexNotFound", "NotFound", "there is no such index")
}

// awaitIndexes returns when the index of a name, or all, are online. It fails if one of them could not be built, or is not
// within a number of seconds.
func awaitIndexes(ctx context.Context, g shard.Graph, name string, seconds graph.Value) error {
	if seconds.Kind() != graph.Int || seconds.Int() < 0 {
		return graph.TypeError("InvalidArgumentValue", "timeOutSeconds must be an Integer from 0 on, not %s", notation.Describe(seconds))
	}
	failed := func(code, detail, format string, args ...any) error {
		return graph.SchemaError(graph.KindInvalid, code, detail, format, args...)
	}
	late := time.NewTimer(time.Duration(min(seconds.Int(), int64(math.MaxInt64/time.Second))) * time.Second)
	defer late.Stop()
	tick := time.NewTicker(awaitPoll)
	defer tick.Stop()
	for {
		waiting, there := "", name == ""
		for _, ix := range g.Indexes() {
			if name != "" && name != ix.Name {
				continue
			}
			there = true
			if ix.Failure != "" {
				return failed("DatabaseError.Schema.IndexCreationFailed", "IndexFailed", "the index %s could not be built: %s", ix.Name, ix.Failure)
			}
			if !ix.Online {
				waiting = ix.Name
			}
		}
		switch {
		case !there:
			return noIndex()
		case waiting == "":
			return nil
		}
		select {
		case <-ctx.Done():
			return graph.DeadlineError(ctx.Err())
		case <-late.C:
			return failed("ClientError.Procedure.ProcedureTimedOut", "TimedOut", "the index %s is not online after %d s", waiting, seconds.Int())
		case <-tick.C:
		}
	}
}
