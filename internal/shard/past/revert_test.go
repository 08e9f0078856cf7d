package past_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// texts writes what a graph has, apart from ids: its vertices, and its edges with their ends.
func (c contents) texts() (out []string) {
	for _, r := range c.vertices {
		out = append(out, shardtest.RecordText(r))
	}
	for e, ps := range c.edges {
		out = append(out, fmt.Sprintf("%s -%s-> %s", shardtest.RecordText(c.vertices[e.Src]),
			shardtest.RecordText(shard.Record{Labels: graph.LabelSet(e.Type), Props: ps}), shardtest.RecordText(c.vertices[e.Dst])))
	}
	slices.Sort(out)
	return out
}

// A graph is again what it was at any commit, and its log tells how it became so. Then, it is again what it was before that.
func TestRevert(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(20)) {
		t.Run("seed="+strconv.FormatUint(seed, 10), func(t *testing.T) {
			ctx := context.Background()
			rng := rand.New(rand.NewPCG(seed, 11))
			shards := 1 + rng.IntN(3)
			opts := localtest.Options(rng, shards)
			opts.FS, opts.LogBytes = vfs.NewMem(), 1<<30
			s, err := local.Open(opts)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			g, err := s.Local("default")
			require.NoError(t, err)
			if rng.IntN(2) == 0 {
				require.NoError(t, g.ChangeLog().SetLogMode(ctx, changelog.Full))
			}
			w := shardtest.NewModel(t, rng, g, shards)
			w.Schema()
			position := func() uint64 {
				st, err := g.ChangeLog().LogState(ctx)
				require.NoError(t, err)
				return st.Last
			}
			type state struct {
				at    uint64
				texts []string
			}
			var all []state
			for range 15 {
				w.Transaction()
				all = append(all, state{position(), read(t, g).texts()})
			}
			f := shardtest.Follower{T: t, Graph: g}
			check := func() {
				tx, err := g.Begin(ctx, shard.Read)
				require.NoError(t, err)
				defer tx.Rollback()
				f.Check(tx)
			}
			check()
			for range 6 {
				to := all[rng.IntN(len(all))]
				_, err := past.Revert(ctx, g, to.at)
				require.NoError(t, err)
				require.Equal(t, to.texts, read(t, g).texts(), "commit %d", to.at)
				check()
				all = append(all, state{position(), to.texts})
			}
			_, err = past.Revert(ctx, g, position()+1)
			require.Equal(t, "ChangeLogAhead", graph.AsError(err).Detail)
		})
	}
}
