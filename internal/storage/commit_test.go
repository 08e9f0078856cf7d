package storage

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// TestIntentOvertakesNothing commits to one shard and then to two. The intent of the second commit must not reach the disk before the first
// commit: after a crash, it would be carried out without it.
func TestIntentOvertakesNothing(t *testing.T) {
	var holds atomic.Bool
	var intents0 atomic.Int64
	release := make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !holds.Load() || !strings.HasSuffix(op.Path, ".log") || op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData && op.Kind != errorfs.OpFileSyncTo {
			return nil
		}
		if strings.Contains(op.Path, "data/1/") {
			<-release
		} else {
			intents0.Add(1)
		}
		return nil
	}))
	o := &Options{Dir: "data", FS: fs}
	o.EnsureDefaults()
	sh := NewShared(o)
	defer sh.Close()
	shards := make([]*Shard, 2)
	for no, dir := range []string{"data/0", "data/1"} {
		var err error
		if shards[no], err = CreateShard(o, sh, dir, no, 2); err != nil {
			t.Fatal(err)
		}
	}
	intents, err := Recover(shards)
	if err != nil {
		t.Fatal(err)
	}
	writers := func(on ...int) []*staging.Writer {
		ws := []*staging.Writer{shards[0].NewWriter(), shards[1].NewWriter()}
		for _, no := range on {
			if err := ws[no].Vertices.Put(ws[no].NewVertex(), graph.NoLabels, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		return ws
	}
	holds.Store(true)
	first, err := Commit(shards, writers(1), &CommitInfo{}, &intents)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		second, err := Commit(shards, writers(0, 1), &CommitInfo{}, &intents)
		if err == nil {
			err = second()
		}
		done <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if n := intents0.Load(); n != 0 {
		t.Errorf("shard 0 was synced %d times before the first commit was on disk", n)
	}
	close(release)
	for _, err := range []error{first(), <-done} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, s := range shards {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
