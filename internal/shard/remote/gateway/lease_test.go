package gateway

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
)

// TestStaleSnapshots keeps snapshots for transactions that may be stale: as long as one may read them, and no longer.
func TestStaleSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Graph{name: "g", shards: 1, hints: newHints()}
		learnt(t, g, &pb.Catalog{State: &pb.State{Epoch: 1, Number: 1}}, nil)
		var stopped sync.Map // by number
		pin := func(snap uint64) {
			l := &lease{id: snap, epoch: 1, snap: snap, versions: []uint64{snap}, names: g.state.Load(), counts: &graph.Counts{}, stop: func() { stopped.Store(snap, true) }}
			l.confirmed.Store(clock())
			l.refs.Add(1)
			g.share(l)
			l.release()
		}
		hasEnded := func(snap uint64) bool {
			_, ok := stopped.Load(snap)
			return ok
		}
		stale := func(within time.Duration) uint64 {
			l := g.borrowStale(within)
			if l == nil {
				return 0
			}
			defer l.release()
			return l.snap
		}

		pin(1) // nobody has asked for one that may be stale
		time.Sleep(2 * leaseIdle)
		synctest.Wait()
		require.True(t, hasEnded(1))
		require.Zero(t, stale(10*time.Second))

		pin(2)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Nil(t, g.borrow(), "transactions that read the present have let go of it")
		require.EqualValues(t, 2, stale(5*time.Second))
		require.Zero(t, stale(4*time.Second), "it is older than that")
		pin(4)
		require.True(t, hasEnded(2))
		pin(3) // which the leader had pinned before
		require.EqualValues(t, 4, stale(10*time.Second))

		time.Sleep(6 * time.Second)
		l := g.borrowStale(10 * time.Second)
		l.confirm(clock()) // it is the present one still
		l.release()
		time.Sleep(6 * time.Second)
		require.EqualValues(t, 4, stale(10*time.Second))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.True(t, hasEnded(4), "no transaction may read it")

		require.Zero(t, stale(time.Hour))
		pin(5)
		learnt(t, g, &pb.Catalog{State: &pb.State{Epoch: 1, Number: 2}}, nil)
		require.Zero(t, stale(time.Hour), "it has another catalog than plans are made for")
		time.Sleep(staleness)
		synctest.Wait()
		require.True(t, hasEnded(5))
	})
}
