package storage

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/storage/compact"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

func (s *Shard) newCompactor(r *view.Reader) *compact.Compactor {
	t := &s.opts.Tuning
	return compact.New(r, s.graph.NewBatch(), compact.Options{SegmentBytes: t.SegmentBytes, ChunkBytes: t.ChunkBytes, Step: t.CompactStep}, s.compactFrom)
}

// CompactDeltas compacts up to about limit delta records and returns how many. With chunks it includes chunks of lists that have groups or
// many other delta edges, which may take long; without, it leaves them to a Compaction. The caller must be the only writer.
func (s *Shard) CompactDeltas(ctx context.Context, limit int, chunks bool) (n int, err error) {
	v, err := s.Snapshot()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	r := v.Acquire()
	defer v.Release(r, &err)
	c := s.newCompactor(r)
	err = c.Deltas(ctx, limit, chunks)
	if err == nil && c.Taken < limit {
		err = s.compactGarbage(ctx, v, c, limit)
	}
	if err != nil {
		return 0, errors.Join(kv.Fault("compact", err), c.Batch.Close())
	}
	if c.Taken > 0 {
		return c.Taken, s.commitCompacted(c)
	}
	if !c.Left() {
		lower, upper := keys.Bounds(keys.DeltaGroup)
		some, err := kv.Any(v.Graph(), lower, upper)
		if err != nil {
			return 0, errors.Join(err, c.Batch.Close())
		}
		if !some {
			s.deltaCount, s.runCount = 0, 0
		}
	}
	return 0, c.Batch.Close()
}

// commitCompacted applies what was compacted.
func (s *Shard) commitCompacted(c *compact.Compactor) error {
	if err := c.Finish(s.graph.Live()); err != nil {
		return err
	}
	degrees, err := s.degrees.Add(c.Batch, c.Resized)
	if err != nil {
		return err
	}
	var wait func() error
	if s.disk != nil && c.Batch.Len() >= s.opts.Tuning.IngestBytes {
		wait = c.Batch.Close
		err = s.ingestCompacted(c.Batch)
	} else {
		wait, err = s.apply(c.Batch, false, false)
	}
	if err != nil {
		return err
	}
	s.degrees = degrees
	s.deltaCount, s.runCount, s.compactFrom = max(1, s.deltaCount-c.Taken), max(0, s.runCount-c.Taken), c.From
	return wait()
}

// Compaction compacts chunks of lists while writers commit: it reads a snapshot and applies its batch at the end. The delta records of
// commits in between apply to the new lists as well as to the old ones. If such a commit has touched records that the compaction replaces,
// the result is discarded.
type Compaction struct {
	s       *Shard
	r       *view.Reader
	c       *compact.Compactor
	v       *view.View
	version uint64            // of the snapshot
	commits uint64            // since then
	ones    []keys.GroupChunk // that they touched
}

// note notes a commit, and the chunks whose lists got or lost delta records of single edges or runs.
func (x *Compaction) note(ones []keys.GroupChunk) {
	if x == nil {
		return
	}
	x.commits++
	for _, c := range ones {
		if !slices.Contains(x.ones, c) {
			x.ones = append(x.ones, c)
		}
	}
}

// BeginCompaction begins a compaction of chunks. The caller must be the only writer.
func (s *Shard) BeginCompaction() (*Compaction, error) {
	v, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	r := v.Acquire()
	s.compaction = &Compaction{s: s, v: v, r: r, c: s.newCompactor(r), version: s.version}
	return s.compaction, nil
}

// Run compacts chunks with groups, and then those with many other delta edges, until it has taken about limit delta records.
func (x *Compaction) Run(ctx context.Context, limit int) error {
	if err := x.c.Chunks(ctx, limit); err != nil {
		return kv.Fault("compact", err)
	}
	return nil
}

// End applies the result of Run and returns how many delta records were compacted; useful is false if it had to discard the result. The
// caller must be the only writer. After an error of Run, call Discard instead.
func (x *Compaction) End() (n int, useful bool, err error) {
	if x.c.Replaces(x.ones) || x.s.version != x.version+x.commits {
		return 0, false, x.Discard()
	}
	if x.c.Taken == 0 {
		return 0, true, x.Discard()
	}
	x.s.compaction = nil
	err = x.s.commitCompacted(x.c)
	return x.c.Taken, true, errors.Join(err, x.close())
}

// Discard ends a compaction without applying it. The caller must be the only writer.
func (x *Compaction) Discard() error {
	x.s.compaction = nil
	return errors.Join(x.c.Batch.Close(), x.close())
}

func (x *Compaction) close() (err error) {
	x.v.Release(x.r, &err)
	return x.v.Close()
}

// compactGarbage deletes the large values that are marked as garbage. Their deletion is durable before the marks are deleted.
func (s *Shard) compactGarbage(ctx context.Context, v *view.View, c *compact.Compactor, limit int) error {
	if err := kv.Alive(ctx); err != nil {
		return err
	}
	b := s.values.NewBatch()
	it, err := kv.NewIter(s.values.Live(), &pebble.IterOptions{})
	if err != nil {
		return errors.Join(err, b.Close())
	}
	var bytes uint64
	err = kv.Scan(v.Graph(), keys.Garbage, func(k, _ []byte) error {
		if c.Taken >= limit {
			return kv.ErrStop
		}
		c.Taken++
		if it.SeekGE(k[1:]) && string(it.Key()) == string(k[1:]) {
			p, here := it.(*pebble.Iterator)
			if !here {
				return errors.Join(b.Delete(k[1:], nil), c.Batch.Delete(k, nil))
			}
			v := p.LazyValue()
			bytes += uint64(v.Len())
			if err := b.DeleteSized(k[1:], uint32(v.Len()), nil); err != nil {
				return err
			}
		}
		return errors.Join(it.Error(), c.Batch.Delete(k, nil))
	})
	if err = errors.Join(err, it.Close()); err != nil || b.Empty() {
		return errors.Join(err, b.Close())
	}
	// The commit that dropped the last reference may not be synced yet.
	if err := s.put(func(b *pebble.Batch) error { return b.LogData([]byte("garbage"), nil) }); err != nil {
		return err
	}
	wait, err := s.values.Apply(b, true, false)
	if err != nil {
		return err
	}
	if d := s.disk; d != nil {
		d.values.Deleted.Add(bytes)
		s.reclaimer.Kick()
	}
	return wait()
}
