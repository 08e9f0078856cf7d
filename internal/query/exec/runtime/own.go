package runtime

import (
	"context"

	"github.com/hopgate/hopgate/internal/shard"
)

// Commit runs f in a transaction of its own, which works on so many input rows, and commits it.
func (r *Run) Commit(ctx context.Context, mode shard.Mode, rows int64, f func(tx shard.Tx) error) error {
	tx, err := r.Env.Begin(ctx, mode)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	if r.Env.Permit != nil {
		if err := r.Env.Permit(); err != nil {
			return err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if s := r.Env.Stood; s != nil {
		s.Transactions++
		s.Rows += rows
	}
	return nil
}

// Renew makes what has been committed meanwhile visible to the operators.
func (r *Run) Renew(ctx context.Context) error {
	tx, err := r.Env.Begin(ctx, shard.Read)
	if err != nil {
		return err
	}
	r.After = append(r.After, tx)
	r.SetTx(tx)
	return nil
}
