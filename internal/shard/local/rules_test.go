package local

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

func granting(role string) rules.Rule {
	return rules.Rule{Effect: rules.Grant, Action: rules.Match, Names: []string{"Person"}, Role: role}
}

// roles returns the roles of a graph's rules.
func roles(g shard.Graph) (out []string) {
	for _, r := range rules.Of(g.Definitions()) {
		out = append(out, r.Role)
	}
	return out
}

// Access rules outlive a crash, and are in backups; changes at the same time all count.
func TestRules(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewCrashableMem()
	s, err := Open(Options{Dir: ".", FS: fs, Shards: 2})
	require.NoError(t, err)
	g, err := s.Graph(DefaultGraph)
	require.NoError(t, err)
	require.Empty(t, rules.Of(g.Definitions()))
	require.NoError(t, shard.ChangeRules(ctx, g, []rules.Rule{granting("a"), granting("b"), granting("a")}, nil))
	require.Equal(t, []string{"a", "b"}, roles(g))
	version := g.Version()
	require.NoError(t, shard.ChangeRules(ctx, g, []rules.Rule{granting("a")}, []rules.Rule{granting("x")}))
	require.Equal(t, version, g.Version(), "nothing has changed")
	require.Error(t, shard.ChangeRules(ctx, g, []rules.Rule{granting("c"), {Role: "d"}}, []rules.Rule{granting("a")}))
	require.Equal(t, []string{"a", "b"}, roles(g))
	c, err := s.Checkpoint(ctx, nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := shard.ChangeRules(ctx, g, []rules.Rule{granting(strconv.Itoa(i))}, []rules.Rule{granting("a")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.ElementsMatch(t, []string{"b", "0", "1", "2", "3", "4", "5", "6", "7"}, roles(g))
	require.Greater(t, g.Version(), version)

	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	copied := vfs.NewCrashableMem()
	copyOut(t, c, copied)
	require.NoError(t, c.Close())
	require.NoError(t, s.Close())
	for fs, want := range map[vfs.FS]int{crashed: 9, copied: 2} {
		s, err := Open(Options{Dir: ".", FS: fs})
		require.NoError(t, err)
		g, err := s.Graph(DefaultGraph)
		require.NoError(t, err)
		require.Len(t, rules.Of(g.Definitions()), want)
		require.NoError(t, shard.ChangeRules(ctx, g, nil, rules.Of(g.Definitions())))
		require.Empty(t, rules.Of(g.Definitions()))
		checkClean(t, s, DefaultGraph)
		require.NoError(t, s.Close())
	}
}
