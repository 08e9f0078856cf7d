package query

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/explain"
	"github.com/hopgate/hopgate/internal/shard"
)

// runOwn runs a plan that commits by itself: its outer part reads one snapshot, and its transactions begin and commit
// meanwhile. Their changes remain if the statement fails later.
func (e *Engine) runOwn(ctx context.Context, g shard.Graph, p *prepared, params map[string]graph.Value, res *Result) error {
	if err := res.q.cpu.BeginPlan(ctx, p.exec); err != nil {
		return err
	}
	tx, err := certain(ctx, g, shard.Read, 0)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if p.version != g.Version() && !res.rare.over() {
		return errStalePlan
	}
	if res.Columns = p.exec.Columns(); res.Columns == nil {
		res.Columns = []string{}
	}
	env := e.env(res.q, params, p.prefix == "PROFILE")
	if p.merges {
		env.Slot = nil // others wait for its transactions, so it never yields
	}
	res.req.Limits.apply(&env, e)
	env.Permit = func() error { return res.q.allow(ctx, p) }
	env.Stood = &res.q.stood
	env.Begin = func(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
		if mode == shard.Write && p.merges {
			mode = shard.WriteExclusive
		}
		tx, err := certain(ctx, g, mode, 0)
		if err == nil && mode != shard.Read {
			res.q.tell(tx)
		}
		return tx, err
	}
	if p.calls {
		env.Statement = e.statement(res.q, g, nil, res, func(ctx context.Context, text string, params map[string]graph.Value) (*prepared, error) {
			return e.prepareWith(ctx, g, text, params)
		})
	}
	res.q.most = res.req.Limits.units()
	if err := res.q.price(ctx, p.exec, g, tx, params); err != nil {
		return err
	}
	rows, err := p.exec.Run(ctx, g, tx, env)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := res.buffer(ctx, rows); err != nil {
		return err
	}
	res.counters = rows.Counters()
	if p.prefix == "PROFILE" {
		res.plan = explain.Tree(p.exec, rows.Stats(), nil)
	}
	return nil
}
