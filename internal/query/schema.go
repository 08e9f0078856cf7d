package query

import (
	"context"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query/schema"
	"github.com/hopgate/hopgate/internal/shard"
)

// Schema returns a graph's schema and counts.
func (e *Engine) Schema(ctx context.Context, name string) (schema.Schema, error) {
	name = e.graphName(name)
	if err := access.Check(ctx, name, access.Reader); err != nil {
		return schema.Schema{}, err
	}
	g, tx, err := e.begin(ctx, name, shard.Read, 0)
	if err != nil {
		return schema.Schema{}, err
	}
	defer tx.Rollback()
	return schema.Of(ctx, g, tx)
}

// probeTime bounds the server's own query.
const probeTime = 5 * time.Second

// Probe runs a small query through all layers.
func (e *Engine) Probe(ctx context.Context) error {
	res, err := e.Query(ctx, Request{Statement: "MATCH (a)-->(b) RETURN 1 LIMIT 1", ReadOnly: true, Timeout: probeTime, probe: true})
	if err != nil {
		return err
	}
	defer res.Close()
	_, err = res.Next()
	return err
}
