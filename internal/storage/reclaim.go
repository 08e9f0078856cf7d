package storage

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Large values that nothing refers to go in three steps:
//
//	1. a commit, or a compaction, that drops the last reference marks the value as garbage, in the same batch;
//	2. a compaction deletes the values that are marked from the values store, then the marks. Snapshots keep what they see;
//	3. when the deleted values weigh enough against those that live, the shard's reclaimer flushes the deletions and
//	   compacts the values store, which holds references alone, so that blob files lose theirs.
//
// Pebble then rewrites blob files with enough garbage, one after the other, and removes the old ones. It
// looks for such files only after a flush or compaction, so that a store without writers would keep its garbage
// without step 3.

// reclaimRatio is how many bytes of deleted values there may be for each that lives. With the ratio from which Pebble rewrites blob
// files it keeps the disk use below twice the live bytes.
const (
	reclaimRatio = 0.25
	levelRatio   = 0.2
)

// A load leaves tables full of delta edges that were merged into lists and deleted. Pebble drops them when new writes push
// their tombstones down, which in an idle store is never, so an idle shard compacts its graph store once more than
// levelRatio of it is above the lowest level. Reads then look at one level.

// idleRests is for how many rests nothing must be written to a shard that is idle.
const idleRests = 20

// idleLog is the size in bytes up to which an idle store keeps its log. It writes what a longer one holds to tables, which take
// less space, and are compressed.
const idleLog = 1 << 20

// maxRest bounds how long a reclaimer rests after it could give nothing back because snapshots hold on to it.
const maxRest = time.Minute

// reclaimer frees the space of deleted large values, in a goroutine that begins with the first deletion.
type reclaimer struct {
	kick    chan struct{}
	ctx     context.Context // ends with the shard
	cancel  context.CancelFunc
	running sync.WaitGroup
	// written and compacted are the bytes that had come into the graph store when the loop last looked for garbage in it, and
	// when it last compacted it.
	written, compacted uint64
}

func (r *reclaimer) init() {
	r.kick = make(chan struct{}, 1)
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.compacted = math.MaxUint64
}

// startReclaiming starts the reclaimer of a shard that may be written to.
func (s *Shard) startReclaiming() {
	if s.disk != nil {
		s.dropTables()
	}
	if s.disk == nil || s.opts.ReadOnly || s.opts.Tuning.ReclaimBytes < 0 {
		return
	}
	s.reclaimer.running.Go(s.reclaimLoop)
	if s.values.Stats().SeparatedFiles > 0 {
		s.kickReclaimer()
	}
}

// kickReclaimer makes the reclaimer look at the large values.
func (s *Shard) kickReclaimer() {
	r := &s.reclaimer
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (s *Shard) stopReclaiming() {
	s.reclaimer.cancel()
	s.reclaimer.running.Wait()
}

func (s *Shard) reclaimLoop() {
	r := &s.reclaimer
	timer := time.NewTimer(0)
	defer timer.Stop()
	idle := time.NewTicker(idleRests * s.opts.Tuning.ReclaimRest)
	defer idle.Stop()
	rest := s.opts.Tuning.ReclaimRest
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-idle.C:
			if err := s.compactIdle(r); err != nil && r.ctx.Err() == nil {
				s.opts.Logger.Error("compact an idle store", slog.String("store", s.graph.Label()), slog.Any("error", err))
			}
			continue
		case <-r.kick:
		}
		s.closeRetired() // which would keep what is dead
		for s.reclaimable() {
			began := time.Now()
			before := s.values.Stats().SeparatedDead
			if err := s.disk.values.Compact(r.ctx); err != nil && r.ctx.Err() == nil {
				s.opts.Logger.Error("reclaim large values", slog.String("store", s.values.Label()), slog.Any("error", err))
			}
			if s.values.Stats().SeparatedDead < before/2 {
				rest = s.opts.Tuning.ReclaimRest
			} else {
				rest = min(2*rest, maxRest)
			}
			// At most a fifth of the time goes into this.
			timer.Reset(max(rest, 4*time.Since(began)))
			select {
			case <-r.ctx.Done():
				return
			case <-timer.C:
			}
		}
	}
}

// reclaimable reports whether deleted values weigh enough to be reclaimed. Numbers from before the last deletion would not
// do: nothing else may come that makes the reclaimer look again.
func (s *Shard) reclaimable() bool {
	var st kv.Stats
	err := s.values.Guard(func() error {
		st = s.disk.values.Measure()
		return nil
	})
	return err == nil && st.SeparatedDead > uint64(s.opts.Tuning.ReclaimBytes) && float64(st.SeparatedDead) > reclaimRatio*float64(st.SeparatedLive)
}

// compactIdle compacts the graph store if nothing was written to it since the last call, but since its last compaction, and
// enough of it is above the lowest level. It also flushes long logs, and lets go of tables that compactions have replaced.
func (s *Shard) compactIdle(r *reclaimer) error {
	in := s.disk.graph
	var st kv.Stats
	err := in.Guard(func() error {
		st = in.Measure()
		return nil
	})
	written := st.LogIn + st.Ingested
	idle := written == r.written
	r.written = written
	if err != nil || !idle {
		return err
	}
	if st.Replaced > 0 {
		s.releaseReaders()
	}
	for _, in := range []*kv.Instance{s.disk.graph, s.disk.values} {
		if err := in.FlushLog(r.ctx, idleLog); err != nil {
			return err
		}
	}
	var all uint64
	for _, l := range st.Levels {
		all += uint64(l.Bytes)
	}
	upper := all - uint64(st.Levels[kv.LowestLevel].Bytes)
	if written == r.compacted || upper < uint64(s.opts.Tuning.ReclaimBytes) || float64(upper) < levelRatio*float64(all) {
		return nil
	}
	r.compacted = written
	s.closeRetired()
	return in.Compact(r.ctx)
}

// compactGarbage deletes large values that nothing refers to. They are gone for good before the marks are.
func (f *compactor) compactGarbage(ctx context.Context, limit int) error {
	if err := kv.Alive(ctx); err != nil {
		return err
	}
	b := f.s.values.NewBatch()
	it, err := kv.NewIter(f.s.values.Live(), &pebble.IterOptions{})
	if err != nil {
		return errors.Join(err, b.Close())
	}
	var bytes uint64
	err = kv.Scan(f.r.v.graph, keys.Garbage, func(k, _ []byte) error {
		if f.taken >= limit {
			return errStop
		}
		f.taken++
		if it.SeekGE(k[1:]) && string(it.Key()) == string(k[1:]) {
			p, here := it.(*pebble.Iterator)
			if !here {
				return errors.Join(b.Delete(k[1:], nil), f.b.Delete(k, nil))
			}
			v := p.LazyValue()
			bytes += uint64(v.Len())
			if err := b.DeleteSized(k[1:], uint32(v.Len()), nil); err != nil {
				return err
			}
		}
		return errors.Join(it.Error(), f.b.Delete(k, nil))
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	if err = errors.Join(err, it.Close()); err != nil || b.Empty() {
		return errors.Join(err, b.Close())
	}
	// The commit that dropped the last reference may wait for its sync still.
	if err := f.s.put(func(b *pebble.Batch) error { return b.LogData([]byte("garbage"), nil) }); err != nil {
		return err
	}
	wait, err := f.s.values.Apply(b, true, false)
	if err != nil {
		return err
	}
	if d := f.s.disk; d != nil {
		d.values.Deleted.Add(bytes)
		f.s.kickReclaimer()
	}
	return wait()
}
