package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/query/changes"
)

// Changes opens a stream of what changes in the graph that a client means by a name; see changes.Open.
func (e *Engine) Changes(ctx context.Context, name string, req changes.Request) (*changes.Stream, error) {
	name, err := e.GraphNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	g, err := e.current(ctx, name)
	if err != nil {
		return nil, err
	}
	req.Graph, req.Database = name, e.ClientName(name)
	return changes.Open(ctx, g, req)
}
