package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// changeRules adds access rules to a graph, or removes them, all or none.
func (e commands) changeRules(ctx context.Context, g shard.Graph, c *cypher.ChangeRules, params map[string]graph.Value, res *Result) error {
	add, remove, err := changedRules(g, c, params)
	if err != nil {
		return err
	}
	before := rules.Of(g.Definitions())
	if err := shard.ChangeRules(ctx, g, add, remove); err != nil {
		return err
	}
	_, err = res.changed().rules(before, add, remove)
	return err
}

// changedRules returns the rules that a command adds, or removes.
func changedRules(g shard.Graph, c *cypher.ChangeRules, params map[string]graph.Value) (add, remove []rules.Rule, err error) {
	all, err := c.Rules(params, g)
	if c.Revoke {
		return nil, all, err
	}
	return all, nil, err
}

// rules counts the rules that are new, or gone, and returns those that there are afterwards.
func (c *commandCounters) rules(before, add, remove []rules.Rule) ([]rules.Rule, error) {
	after, _, err := rules.Change(before, add, remove)
	c.system += int64(max(len(after)-len(before), len(before)-len(after)))
	return after, err
}
