package procedure

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// addChanges adds Neo4j's procedures for change data capture, also by the names that they had before Neo4j 5.17.
func (r *Registry) addChanges() {
	for _, space := range []string{"db.cdc.", "cdc."} {
		for _, p := range []struct{ name, from, description string }{
			{"earliest", changes.Earliest, "Return the change identifier before the first change that the log of the graph has."},
			{"current", changes.Current, "Return the change identifier after the last change."},
		} {
			r.add(space+p.name+"() :: (id :: STRING)", p.description,
				func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
					id, err := changes.Position(ctx, c.Graph, r.changesOf(ctx, p.from))
					return column([]string{id}), err
				})
		}
		name := space + "query"
		r.addStream(name+"(from = \"\" :: STRING, selectors = [] :: LIST<MAP>) :: (id :: STRING, txId :: INTEGER, seq :: INTEGER, metadata :: MAP, event :: MAP)",
			"List what has changed after a change identifier, earliest or current, in the order of the commits: all, or what one of the selectors takes.",
			func(ctx context.Context, c *exec.Call) (exec.Stream, error) {
				if v := c.Args[0]; v.Kind() != graph.String && !v.IsNull() {
					return nil, badArgument(name, "from", "a string", v)
				}
				return r.openChanges(ctx, c)
			})
	}
}

func (r *Registry) openChanges(ctx context.Context, c *exec.Call) (exec.Stream, error) {
	selectors, err := changes.ParseSelectors(c.Args[1])
	if err != nil {
		return nil, err
	}
	req := r.changesOf(ctx, "")
	req.Selectors, req.Bounded, req.Memory = selectors, true, &runtime.Account{Run: c.Run, Name: "ProcedureCall"}
	if v := c.Args[0]; !v.IsNull() {
		req.From = v.Str()
	}
	s, err := changes.Open(ctx, c.Graph, req)
	if err != nil {
		return nil, err
	}
	return changeRows{s}, nil
}

// changesOf asks for the changes of the graph at hand.
func (r *Registry) changesOf(ctx context.Context, from string) changes.Request {
	name := r.host.Graph(ctx)
	return changes.Request{Graph: name, Database: r.clientName(name), From: from}
}

// changeRows are the rows of db.cdc.query.
type changeRows struct{ s *changes.Stream }

// changesAtOnce bounds the rows of a portion.
const changesAtOnce = 256

// Next implements exec.Stream.
func (r changeRows) Next(ctx context.Context) ([][]graph.Value, error) {
	events, err := r.s.Next(ctx, 0, changesAtOnce)
	if err != nil {
		return nil, err
	}
	rows := make([][]graph.Value, len(events))
	for i := range events {
		rows[i] = events[i].Columns()
	}
	return rows, nil
}

// Close implements exec.Stream.
func (r changeRows) Close() { r.s.Close() }
