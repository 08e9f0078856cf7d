package remote_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/check"
)

// flush has a process put all that its replica of shard 0 has into tables, and restarts it without what it has decoded of them.
func (c *replicated) flush(i int) {
	// A replica behind the others would have the rest in its log alone.
	require.Eventually(c.t, func() bool {
		return c.processes[i].Local().Replicas()[0].Applied >= c.processes[c.leader(0)].Local().Replicas()[0].Applied
	}, time.Minute, time.Millisecond)
	parts := c.processes[i].Local().Parts(0)
	for _, h := range parts.Held() {
		require.NoError(c.t, parts.Flush(c.t.Context(), storage.PartOf{Name: h.Name, ID: h.ID, Shards: h.Shards}))
	}
	c.kill(i)
	c.start(i)
	require.Eventually(c.t, func() bool { return c.processes[i].Ready() == nil }, time.Minute, time.Millisecond)
}

// damage flips bits in all blocks of the tables of a process that runs, but for those at their ends that it has read.
func (c *replicated) damage(i int) {
	fs, dir := c.fs[i], "data/replicas/0000/graphs/default/shard-0000/graph"
	names, err := fs.List(dir)
	require.NoError(c.t, err)
	tables := 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		tables++
		f, err := fs.OpenReadWrite(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		require.NoError(c.t, err)
		info, err := f.Stat()
		require.NoError(c.t, err)
		var b [1]byte
		for at := int64(0); at < info.Size()-2048; at += 256 {
			_, err := f.ReadAt(b[:], at)
			require.NoError(c.t, err)
			b[0] ^= 1
			_, err = f.WriteAt(b[:], at)
			require.NoError(c.t, err)
		}
		require.NoError(c.t, f.Close())
	}
	require.Positive(c.t, tables)
}

// mended waits until the state of a process's replica has been replaced.
func (c *replicated) mended(i int) {
	require.Eventually(c.t, func() bool {
		s := c.processes[i].Local().Replicas()[0]
		return s.Seeds == 1 && s.Damage == nil && c.processes[i].Ready() == nil
	}, time.Minute, time.Millisecond)
}

// TestDamagedTable damages the tables of one replica after another, while they run. Reads that come to it are answered by others, the process
// says what is damaged, and it gets the state of another replica, behind which it goes on with its own log.
func TestDamagedTable(t *testing.T) {
	c := newReplicated(t, 3, 1)
	store := c.gateway()
	until(t, func() error {
		_, err := store.Graph(local.DefaultGraph)
		return err
	})
	w := fill(t, store, 3000, 4, 1)
	read := func(s shard.Store) []graph.Value {
		cols := shard.Columns(1, len(w.ids))
		until(t, func() error {
			g, err := s.Graph(local.DefaultGraph)
			if err != nil {
				return err
			}
			tx, err := g.Begin(t.Context(), shard.Read)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := tx.Properties(t.Context(), w.ids, []graph.PropID{w.num}, cols); err != nil {
				return err
			}
			return tx.Features().Validator.Check(t.Context())
		})
		return cols[0]
	}
	want := read(store)
	p := newPairs(t, store)
	whole := []int{0, 1, 2}
	for _, leads := range []bool{false, true} {
		victim := whole[slices.IndexFunc(whole, func(i int) bool { return i != c.leader(0) })]
		whole = slices.DeleteFunc(whole, func(i int) bool { return i == victim })
		c.flush(victim)
		if leads {
			require.NoError(t, store.TransferLead(t.Context(), 0, victim))
		}
		near, err := gateway.OpenNear(c.layout, c.addresses, victim, grpc.WithContextDialer(c.dial))
		require.NoError(t, err)
		c.damage(victim)
		require.Equal(t, want, read(near))
		p.write()
		c.mended(victim)
		require.NoError(t, near.Close())
		p.write()
		p.read()
	}
	var report *shard.CheckReport
	until(t, func() (err error) {
		report, err = store.Check(t.Context(), local.DefaultGraph, shard.CheckOptions{})
		return err
	})
	require.Empty(t, report.Findings)
	// The replicas that were mended have a majority by themselves.
	c.kill(whole[0])
	p.write()
	require.Equal(t, want, read(store))
	p.read()
}

// TestCheckDamaged has a check find the damage. It names the process.
func TestCheckDamaged(t *testing.T) {
	c := newReplicated(t, 3, 1)
	store := c.gateway()
	until(t, func() error {
		_, err := store.Graph(local.DefaultGraph)
		return err
	})
	fill(t, store, 3000, 4, 1)
	victim := (c.leader(0) + 1) % 3
	c.flush(victim)
	c.damage(victim)
	var report *shard.CheckReport
	until(t, func() (err error) {
		report, err = store.Check(t.Context(), local.DefaultGraph, shard.CheckOptions{})
		return err
	})
	require.NotEmpty(t, report.Findings)
	for _, f := range report.Findings {
		require.Contains(t, []string{check.FaultReplica, check.FaultChecksum}, f.Kind)
		require.Contains(t, f.Examples[0], "process "+string(rune('0'+victim)))
	}
	c.mended(victim)
}
