package remote_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestRules changes access rules through one gateway: a transaction that begins afterwards through another has them, or fails its check,
// whatever snapshots that gateway shares; also after the process that leads has been killed.
func TestRules(t *testing.T) {
	c := newReplicated(t, 3, 1)
	mine, other := newPairs(t, c.gateway()), newPairs(t, c.gateway())
	mine.write()
	of := func(role string) []rules.Rule {
		return []rules.Rule{{Effect: rules.Grant, Action: rules.Match, Role: role}}
	}
	// seen returns the roles of the rules that a transaction of the other gateway has.
	seen := func(begin func(context.Context) (shard.Tx, error)) (roles []string) {
		until(t, func() error {
			tx, err := begin(t.Context())
			if err != nil {
				return err
			}
			defer tx.Rollback()
			roles = nil
			for _, r := range rules.Of(other.g.Definitions()) {
				roles = append(roles, r.Role)
			}
			if _, err := countEdges(t.Context(), tx, mine); err != nil {
				return err
			}
			return tx.Features().Validator.Check(t.Context())
		})
		return roles
	}
	present := func(ctx context.Context) (shard.Tx, error) { return other.g.Begin(ctx, shard.Read) }
	stale := func(ctx context.Context) (shard.Tx, error) { return other.g.BeginStale(ctx, time.Minute) }
	require.Empty(t, seen(present))
	require.Empty(t, seen(stale))
	var want []string
	change := func(step int) {
		name := strconv.Itoa(step)
		require.NoError(t, shard.ChangeRules(t.Context(), mine.g, of(name), nil))
		want = append(want, name)
		require.ElementsMatch(t, want, seen(present))
		require.NoError(t, shard.ChangeRules(t.Context(), mine.g, nil, of(want[0])))
		want = slices.Clone(want[1:])
		require.ElementsMatch(t, want, seen(present))
		require.NoError(t, shard.ChangeRules(t.Context(), mine.g, of("x"), nil))
		require.ElementsMatch(t, append(slices.Clone(want), "x"), seen(stale), "a graph with rules has no stale transactions")
		require.NoError(t, shard.ChangeRules(t.Context(), mine.g, nil, of("x")))
	}
	require.NoError(t, shard.ChangeRules(t.Context(), mine.g, of("first"), nil))
	want = []string{"first"}
	for step := range 5 {
		change(step)
	}
	i := c.leader(0)
	c.kill(i)
	change(5)
	c.start(i)
	change(6)

	var both sync.WaitGroup
	for i, p := range []*pairs{mine, other} {
		both.Go(func() {
			if err := shard.ChangeRules(t.Context(), p.g, of(fmt.Sprint("at once ", i)), nil); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	require.ElementsMatch(t, append(want, "at once 0", "at once 1"), seen(present))
	err := shard.ChangeRules(t.Context(), mine.g, []rules.Rule{{Effect: rules.Grant, Action: "FLY", Role: "a"}}, nil)
	require.ErrorContains(t, err, `the action "FLY" is not known`)
}
