package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/hopgate/hopgate/internal/graph"
)

// tableOptions are those of the tables that the store writes itself to a level.
func (in *instance) tableOptions(level int) sstable.WriterOptions {
	return in.opts.MakeWriterOptions(level, in.db.TableFormat())
}

// ingest moves tables in. Like apply it survives what Pebble does at faults.
func (in *instance) ingest(paths ...string) error {
	if err := in.writable(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				in.wedged.Store(true)
				err := fmt.Errorf("%v", r)
				in.fail(err)
				done <- err
			}
		}()
		done <- in.db.Ingest(context.Background(), paths)
	}()
	select {
	case err := <-done:
		if err != nil {
			in.fail(err)
			return in.fault
		}
		in.applied.Add(1)
		return nil
	case <-in.failed:
		return in.fault
	}
}

// ingestSplitting moves tables in, each to the lowest level at which none lies over it; one that lies around it is split.
func (in *instance) ingestSplitting(paths []string) error {
	in.splits.Store(true)
	defer in.splits.Store(false)
	return in.ingest(paths...)
}

// lowestLevel is the level of Pebble's that nothing lies below.
const lowestLevel = 6

// restPoll is how often the compactions are looked at that are waited for.
const restPoll = 5 * time.Millisecond

// rest waits until no compaction runs.
func (in *instance) rest(ctx context.Context) error {
	for {
		running := true
		err := in.guard(func() error {
			running = in.db.Metrics().Compact.NumInProgress > 0
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

// flushLog writes the memtables to tables if the log is longer than most bytes.
func (in *instance) flushLog(ctx context.Context, most uint64) error {
	long := false
	err := in.guard(func() error {
		long = in.db.Metrics().WAL.Size > most
		return nil
	})
	if err != nil || !long {
		return err
	}
	return in.flush(ctx)
}

// compact moves all records to the lowest level, without those that are deleted, whereupon Pebble looks for blob files to
// rewrite.
func (in *instance) compact(ctx context.Context) error {
	if err := in.flush(ctx); err != nil {
		return err
	}
	return in.guard(func() error {
		return in.db.Compact(ctx, []byte{0}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false)
	})
}

// keepNoLogs makes Pebble delete the logs that it would keep to write over, up to five of the size of a memtable: a logFile is
// as fast in a new file. Pebble does so if its cleaner is marked as an ArchiveCleaner is.
type keepNoLogs struct {
	pebble.DeleteCleaner
	archive
}

type archive struct{ pebble.ArchiveCleaner }

func (in *instance) checkpoint(dir string) error {
	if err := in.writable(); err != nil {
		return err
	}
	err := in.guard(func() error { return in.db.Checkpoint(dir, pebble.WithFlushedWAL()) })
	if err != nil {
		return fault("copy "+in.name, err)
	}
	return nil
}
