package procedure

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/named"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
)

// showSnapshots lists the named snapshots of a graph: state is ONLINE if the log reaches back to it, else LOST; logBytes is what the log has
// since.
func showSnapshots(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	all := named.All(c.Graph.Definitions(), time.Now())
	log := c.Graph.ChangeLog()
	if len(all) == 0 {
		return nil, nil
	}
	var st shard.LogState
	if log != nil {
		var err error
		if st, err = log.LogState(ctx); err != nil {
			return nil, err
		}
	}
	sign := token.NewSigner(st.Key)
	rows := make([][]graph.Value, len(all))
	for i, s := range all {
		state, bytes := "ONLINE", max(st.Bytes, s.Bytes)-s.Bytes
		if st.Mode == changelog.Off || s.Commit < st.First || s.Commit > st.Last {
			state, bytes = "LOST", 0
		}
		expires := graph.Value{}
		if s.Expires != 0 {
			expires = clockTime(s.Expires)
		}
		rows[i] = []graph.Value{
			text(s.Name), text(state), text(sign.Text(token.Token{Commit: s.Commit, Time: s.Time})), graph.IntValue(int64(s.Commit)), clockTime(s.Time),
			clockTime(s.Created), expires, graph.IntValue(int64(bytes)),
		}
	}
	return rows, nil
}

// clockTime is a time in nanoseconds since 1970, in UTC.
func clockTime(ns int64) graph.Value {
	t := time.Unix(0, ns)
	return graph.DateTimeValue(temporal.DateTime{Sec: t.Unix(), Nano: int32(t.Nanosecond())})
}
