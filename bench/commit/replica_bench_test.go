package commit

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// BenchmarkPart applies batches of 300 bytes to the shards of a replica, each synced by its log. Each graph has a client. The disk is the
// file system's, or in memory with syncs of 0.2 ms.
func BenchmarkPart(b *testing.B) {
	for _, disk := range []string{"disk", "memory"} {
		for _, graphs := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/graphs=%d", disk, graphs), func(b *testing.B) {
				opts := local.Options{Dir: "data", FS: slowFS{vfs.NewMem()}}
				if disk == "disk" {
					opts.Dir, opts.FS = b.TempDir(), nil
				}
				parts(b, opts, graphs)
			})
		}
	}
}

// silent drops what Pebble reports about the store that makes batches.
type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func parts(b *testing.B, opts local.Options, graphs int) {
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	r, err := part.OpenReplicas(opts, shard.Layout{Processes: 2, Shards: 2, Replicas: 1}, 1, part.Network{})
	must(err)
	defer func() { must(r.Close()) }()
	must(r.Host().Begin(b.Context(), 1))
	s := r.Parts(1)
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: silent{}})
	must(err)
	defer func() { must(db.Close()) }()
	ctx := b.Context()
	versions := make([]uint64, graphs)
	for i := range versions {
		versions[i], err = s.Attach(ctx, storage.PartOf{Name: fmt.Sprint("g", i), ID: uint64(i) + 1, Shards: 2}, 1, 1, true)
		must(err)
	}
	var next atomic.Int64
	var clients sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := processor(b)
	for i, version := range versions {
		name := fmt.Sprint("g", i)
		clients.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				batch := db.NewBatch()
				err := batch.Set(binary.BigEndian.AppendUint64([]byte{byte(keys.Outcome)}, uint64(n)), make([]byte, 280), nil)
				if err == nil {
					version++
					err = s.Apply(ctx, name, 1, &storage.Changed{Version: version, Batch: batch.Repr()})
				}
				if err == nil {
					err = batch.Close()
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "cpu-µs/batch")
}
