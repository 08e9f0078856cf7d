package kv

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/hopgate/hopgate/internal/graph"
)

// TableOptions returns the options of tables that the store itself writes to a level.
func (in *Instance) TableOptions(level int) sstable.WriterOptions {
	return in.opts.MakeWriterOptions(level, in.DB.TableFormat())
}

// ingest ingests tables, all or none. Like Apply it survives Pebble's reaction to faults. A full disk is not a fault: writes to the log
// and manifest wait for space, and Pebble copies tables before it ingests any.
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
		return Unavailable("storage: not enough disk space to ingest tables into "+in.Name+"; none was ingested", err)
	default:
		in.Fail(err)
		return in.Fault
	}
	return nil
}

// IngestSplitting ingests tables, each at the lowest level where nothing above overlaps it; a table that spans it is split.
func (in *Instance) IngestSplitting(paths []string) error {
	in.splits.Store(true)
	defer in.splits.Store(false)
	return in.ingest(paths...)
}

// LowestLevel is Pebble's last level.
const LowestLevel = 6

// restPoll is how often Rest looks for running compactions.
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

// Compact moves all records to the lowest level and drops the deleted ones. Pebble then looks for blob files to rewrite.
func (in *Instance) Compact(ctx context.Context) error {
	if err := in.Flush(ctx); err != nil {
		return err
	}
	return in.Guard(func() error {
		return in.DB.Compact(ctx, []byte{0}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false)
	})
}

// keepNoLogs makes Pebble delete old logs, of which it would keep up to five of the size of a memtable for reuse: a logFile is as fast in a
// new file. Pebble does so if its cleaner has the marker method of an ArchiveCleaner.
type keepNoLogs struct {
	pebble.DeleteCleaner
	archive
}

type archive struct{ pebble.ArchiveCleaner }

// Checkpoint copies the store to a new directory, with hard links where possible.
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
