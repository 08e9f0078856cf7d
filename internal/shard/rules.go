package shard

import (
	"context"

	"github.com/hopgate/hopgate/internal/rules"
)

// ChangeRules adds access rules to a graph and removes some, all or none; see rules.Changed.
func ChangeRules(ctx context.Context, g Graph, add, remove []rules.Rule) error {
	c, err := rules.Changed(add, remove)
	if err != nil {
		return err
	}
	return g.Define(ctx, c)
}
