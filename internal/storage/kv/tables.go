package kv

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/hopgate/hopgate/internal/graph"
)

// TableOptions are those of the tables that the store writes itself to a level.
func (in *Instance) TableOptions(level int) sstable.WriterOptions {
	return in.opts.MakeWriterOptions(level, in.DB.TableFormat())
}

// ingest moves tables in, all or none. Like Apply it survives what Pebble does at faults. A full disk is no fault: of tables, the log and
// the manifest, which wait for room, Pebble needs room for tables alone, and that before it moves any in.
func (in *Instance) ingest(paths ...string) error {
	if err := in.Writable(); err != nil {
		return err
	}
	err := in.Guard(func() error { return in.DB.Ingest(context.Background(), paths) })
	switch {
	case err == nil:
		in.applied.Add(1)
	case in.Health.Writable() == nil && noRoom(err):
		in.NoteFull(err)
		return Unavailable("storage: there is no room to move tables into "+in.Name+", so none was", err)
	default:
		in.Fail(err)
		return in.Fault
	}
	return nil
}

// IngestSplitting moves tables in, each to the lowest level at which none lies over it; one that lies around it is split.
func (in *Instance) IngestSplitting(paths []string) error {
	in.splits.Store(true)
	defer in.splits.Store(false)
	return in.ingest(paths...)
}

// LowestLevel is the level of Pebble's that nothing lies below.
const LowestLevel = 6

// restPoll is how often the compactions are looked at that are waited for.
const restPoll = 5 * time.Millisecond

// Rest waits until no compaction runs.
func (in *Instance) Rest(ctx context.Context) error {
	for {
		running := true
		err := in.Guard(func() error {
			running = in.DB.Metrics().Compact.NumInProgress > 0
			return nil
		})
		if err != nil || !running {
			return err
		}
		select {
		case <-time.After(restPoll):
		case <-ctx.Done():
			return graph.DeadlineError(ctx.Err())
		}
	}
}

// FlushLog writes the memtables to tables if the log is longer than most bytes.
func (in *Instance) FlushLog(ctx context.Context, most uint64) error {
	long := false
	err := in.Guard(func() error {
		long = in.DB.Metrics().WAL.Size > most
		return nil
	})
	if err != nil || !long {
		return err
	}
	return in.Flush(ctx)
}

// Compact moves all records to the lowest level, without those that are deleted, whereupon Pebble looks for blob files to
// rewrite.
func (in *Instance) Compact(ctx context.Context) error {
	if err := in.Flush(ctx); err != nil {
		return err
	}
	return in.Guard(func() error {
		return in.DB.Compact(ctx, []byte{0}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false)
	})
}

// keepNoLogs makes Pebble delete the logs that it would keep to write over, up to five of the size of a memtable: a logFile is
// as fast in a new file. Pebble does so if its cleaner is marked as an ArchiveCleaner is.
type keepNoLogs struct {
	pebble.DeleteCleaner
	archive
}

type archive struct{ pebble.ArchiveCleaner }

// Checkpoint copies the store to a directory that does not exist yet, of hard links where it can.
func (in *Instance) Checkpoint(dir string) error {
	if err := in.Writable(); err != nil {
		return err
	}
	err := in.Guard(func() error { return in.DB.Checkpoint(dir, pebble.WithFlushedWAL()) })
	if err != nil {
		return Fault("copy "+in.Name, err)
	}
	return nil
}
