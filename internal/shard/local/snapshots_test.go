package local_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/named"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/commitlog"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
)

// A named snapshot holds the log from its commit on, by age and by bytes, through a restart, until it expires.
func TestSnapshotsHoldLog(t *testing.T) {
	for what, bounds := range map[string]struct {
		bytes int64
		age   time.Duration
	}{"bytes": {1 << 10, 0}, "age": {1 << 30, time.Minute}} {
		t.Run(what, func(t *testing.T) {
			opts := localtest.Options(rand.New(rand.NewPCG(1, 2)), 2)
			var passed atomic.Int64
			opts.FS, opts.LogBytes, opts.LogAge = vfs.NewMem(), bounds.bytes, bounds.age
			opts.Clock = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
			var s *local.Store
			var g shard.Graph
			open := func() {
				var err error
				s, err = local.Open(opts)
				require.NoError(t, err)
				g, err = s.Graph("default")
				require.NoError(t, err)
			}
			state := func() shard.LogState {
				require.NoError(t, g.ChangeLog().(*commitlog.Log).Cut())
				st, err := g.ChangeLog().LogState(t.Context())
				require.NoError(t, err)
				return st
			}
			write := func() {
				for range 20 {
					tx, err := g.Begin(t.Context(), shard.Write)
					require.NoError(t, err)
					p, err := tx.Prop("p")
					require.NoError(t, err)
					m := []shard.Mutation{{Op: shard.CreateVertex, Labels: graph.NoLabels, Props: []graph.Property{{ID: p, Value: graph.StringValue("a text of some length")}}}}
					require.NoError(t, tx.Apply(t.Context(), m))
					require.NoError(t, tx.Commit(t.Context()))
				}
			}
			open()
			write()
			hour := time.Now().Add(time.Hour).UnixNano()
			created, err := named.Create(t.Context(), g, "a", hour, false)
			require.NoError(t, err)
			require.True(t, created)
			a, err := named.Get(g.Definitions(), "a", time.Now())
			require.NoError(t, err)
			require.EqualValues(t, 20, a.Commit)
			write()
			_, err = named.Create(t.Context(), g, "b", 0, false)
			require.NoError(t, err)
			write()
			passed.Store(int64(2 * time.Minute))
			require.EqualValues(t, 20, state().First)
			_, err = g.ChangeLog().ReadLog(t.Context(), 20, 1, nil)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			open()
			write()
			require.EqualValues(t, 20, state().First)
			passed.Store(int64(2 * time.Hour))
			require.EqualValues(t, 41, state().First, "the first one has expired")
			require.Len(t, named.All(g.Definitions(), time.Now()), 1, "and is gone")
			dropped, err := named.Drop(t.Context(), g, "b", false)
			require.NoError(t, err)
			require.True(t, dropped)
			require.Greater(t, state().First, uint64(41))
			require.NoError(t, s.Close())
		})
	}
}

// A snapshot that is made while others commit and the log is cut keeps the log from it on, until it is dropped.
func TestSnapshotsWhileCutting(t *testing.T) {
	opts := localtest.Options(rand.New(rand.NewPCG(3, 4)), 2)
	opts.FS, opts.LogBytes = vfs.NewMem(), 1
	s, err := local.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	g, err := s.Graph("default")
	require.NoError(t, err)
	done := make(chan struct{})
	var others errgroup.Group
	stop := sync.OnceValue(func() error {
		close(done)
		return others.Wait()
	})
	t.Cleanup(func() { _ = stop() }) // before the store closes, if the test fails
	until := func(f func() error) {
		others.Go(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				if err := f(); err != nil {
					return err
				}
			}
		})
	}
	until(func() error {
		tx, err := g.Begin(t.Context(), shard.Write)
		if err != nil {
			return err
		}
		err = tx.Apply(t.Context(), []shard.Mutation{{Op: shard.CreateVertex, Labels: graph.NoLabels}})
		if err == nil {
			err = tx.Commit(t.Context())
		}
		tx.Rollback()
		return err
	})
	until(g.ChangeLog().(*commitlog.Log).Cut)
	made := 0
	for n := range 100 {
		name := string(rune('a' + n%7))
		created, err := named.Create(t.Context(), g, name, 0, true)
		if err == nil && created {
			made++
			at, err := named.Get(g.Definitions(), name, time.Now())
			require.NoError(t, err)
			_, err = g.ChangeLog().ReadLog(t.Context(), at.Commit, 1, nil)
			require.NoError(t, err)
		}
		if err != nil {
			require.Equal(t, "ChangeLogTooOld", graph.AsError(err).Detail)
		}
		for _, at := range named.All(g.Definitions(), time.Now()) {
			_, err := g.ChangeLog().ReadLog(t.Context(), at.Commit, 1, nil)
			require.NoError(t, err, "%d, snapshot %s", n, at.Name)
		}
		if n%3 == 2 {
			all := named.All(g.Definitions(), time.Now())
			for _, at := range all {
				_, err := named.Drop(t.Context(), g, at.Name, false)
				require.NoError(t, err)
			}
		}
	}
	require.NoError(t, stop())
	require.Greater(t, made, 50)
}
