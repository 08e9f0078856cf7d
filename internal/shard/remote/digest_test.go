package remote_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/check"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// TestReplicaDiffers changes one byte of a record in one replica, under a right checksum. A check names the process and no other.
func TestReplicaDiffers(t *testing.T) {
	c := newReplicated(t, 3, 1)
	gateway := c.gateway()
	fill(t, gateway, 200, 4, 1)
	verify := func() *shard.CheckReport {
		var report *shard.CheckReport
		until(t, func() (err error) {
			report, err = gateway.Check(t.Context(), local.DefaultGraph, shard.CheckOptions{})
			return err
		})
		return report
	}
	require.Empty(t, verify().Findings)

	victim := (c.leader(0) + 1) % 3
	parts := c.processes[victim].Local().Parts(0)
	for _, h := range parts.Held() {
		require.NoError(t, parts.Flush(t.Context(), storage.PartOf{Name: h.Name, ID: h.ID, Shards: h.Shards}))
	}
	c.kill(victim)
	flip(t, c, victim)
	c.start(victim)
	require.Eventually(t, func() bool { return c.processes[victim].Ready() == nil }, time.Minute, time.Millisecond)
	report := verify()
	require.Len(t, report.Findings, 1)
	f := report.Findings[0]
	require.Equal(t, check.FaultReplica, f.Kind)
	require.EqualValues(t, 1, f.Count)
	require.False(t, f.Repairable)
	require.Contains(t, f.Examples[0], "shard 0, process "+string(rune('0'+victim))+":")
	require.Contains(t, f.Examples[0], "1 of 3 replicas")
}

// flip changes the last byte of the first column of properties in a process that is down.
func flip(t *testing.T, c *replicated, process int) {
	const dir = "data/replicas/0000/graphs/default/shard-0000/graph"
	db, err := pebble.Open(dir, &pebble.Options{FS: c.fs[process], Logger: silent{}, ErrorIfNotExists: true})
	require.NoError(t, err)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{byte(keys.Column)}, UpperBound: []byte{byte(keys.Member)}})
	require.NoError(t, err)
	require.True(t, it.First(), "there is no property")
	key, value := append([]byte(nil), it.Key()...), append([]byte(nil), it.Value()...)
	require.NoError(t, it.Close())
	value[len(value)-1] ^= 1
	require.NoError(t, db.Set(key, value, pebble.Sync))
	require.NoError(t, db.Flush())
	require.NoError(t, db.Close())
}

// silent drops what Pebble reports.
type silent struct{}

func (silent) Infof(string, ...any)           {}
func (silent) Errorf(string, ...any)          {}
func (silent) Fatalf(format string, _ ...any) { panic(strings.Clone(format)) }
