package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/shard"
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
	if e.pool != nil {
		req.Memory = &pooled{pool: e.pool}
	}
	return changes.Open(ctx, g, req)
}

// pooled is what a reader of a log holds of the memory of all statements.
type pooled struct {
	pool *memory.Pool
	held int64
}

// Grow implements changes.Memory.
func (p *pooled) Grow(bytes int) error {
	if !p.pool.Take(int64(bytes)) {
		return graph.OutOfMemory("a commit of the log takes %d bytes to read, which the memory of all statements, %d bytes, has not left; try again later",
			p.held+int64(bytes), p.pool.Limit)
	}
	p.held += int64(bytes)
	return nil
}

// Release implements changes.Memory.
func (p *pooled) Release() {
	p.pool.Give(p.held)
	p.held = 0
}

// GraphsOf returns the names of all graphs.
func GraphsOf(e *Engine) []string { return e.store.Graphs() }

// LogOf returns the commit log of a graph, and what reads the names that its commits have by now.
func LogOf(ctx context.Context, e *Engine, name string) (shard.ChangeLog, func() (changelog.Names, error), error) {
	g, err := e.current(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if g.ChangeLog() == nil {
		return nil, nil, shard.LogOff(name)
	}
	return g.ChangeLog(), func() (n changelog.Names, err error) {
		tx, err := certain(ctx, g, shard.Read, 0)
		if err == nil {
			n = changelog.NamesOf(g)
			tx.Rollback()
		}
		return n, err
	}, nil
}
