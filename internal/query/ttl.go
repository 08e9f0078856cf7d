package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/option"
	"github.com/hopgate/hopgate/internal/shard"
)

func schemaError(kind graph.Kind, code, detail, format string, args ...any) error {
	return graph.SchemaError(kind, "ClientError.Schema."+code, detail, format, args...)
}

// alterTTL runs CREATE LABEL, ALTER LABEL and the same of relationship types.
func (e commands) alterTTL(ctx context.Context, g shard.Graph, c *cypher.AlterTTL, params map[string]graph.Value) error {
	name := c.Label + c.Type
	if c.Remove {
		err := g.DropTTL(ctx, c.Label, c.Type)
		if isKind(err, graph.KindNotFound) {
			return schemaError(graph.KindNotFound, "ConstraintNotFound", "NotFound", "%s has no TTL", name)
		}
		return err
	}
	options, err := option.TTL(c, params)
	if err != nil {
		return err
	}
	old := graph.FindTTL(g.TTLs(), c.Label, c.Type)
	switch {
	case c.Create && old != nil && c.IfNotExists:
		return nil
	case c.Create && old != nil:
		return schemaError(graph.KindExists, "EquivalentSchemaRuleAlreadyExists", "TTLExists", "%s has a TTL already; ALTER changes it", name)
	case c.Create && len(options) == 0:
		return e.internName(ctx, g, c)
	}
	t := graph.TTL{Label: c.Label, Type: c.Type}
	if old != nil {
		t = *old // options that are not named keep their values
	}
	drop, err := option.SetTTL(&t, options)
	switch {
	case err != nil:
		return err
	case drop && old == nil:
		return nil
	case drop:
		return g.DropTTL(ctx, c.Label, c.Type)
	case t.After == 0:
		return schemaError(graph.KindInvalid, "SchemaRuleCreationFailed", "InvalidTTL", "the options of %s name no ttl", name)
	}
	return g.SetTTL(ctx, t)
}

// internName adds a label or a relationship type to the catalog.
func (e commands) internName(ctx context.Context, g shard.Graph, c *cypher.AlterTTL) error {
	tx, err := g.Begin(ctx, shard.Write)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if c.Type != "" {
		_, err = tx.Type(c.Type)
	} else {
		_, err = tx.Label(c.Label)
	}
	return err
}
