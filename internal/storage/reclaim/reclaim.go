package reclaim

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Large values without references are deleted in three steps:
//
//	1. a commit or compaction that drops the last reference marks the value as garbage, in the same batch;
//	2. a compaction deletes the marked values from the values store, and then the marks;
//	3. when there are enough deleted values compared to live ones, the Reclaimer flushes the deletions and compacts the values store, which
//	   has only references, so that blob files lose theirs.
//
// Pebble then rewrites blob files with enough garbage, one by one. It looks for such files only after a flush or compaction, so without
// step 3 a store without writers would keep its garbage.

// reclaimRatio is the maximum ratio of deleted to live bytes of values. With the ratio from which Pebble rewrites blob files it keeps the
// disk use below twice the live bytes.
const (
	reclaimRatio = 0.25
	levelRatio   = 0.2
)

// A load leaves tables full of delta edges that were merged into lists and deleted. Pebble drops them when new writes push their
// tombstones down, which never happens in an idle store. So the Reclaimer compacts the graph store of an idle shard if more than
// levelRatio of it is above the lowest level. Reads then look at one level.

// idleRests is the number of pauses without a write after which a shard is idle.
const idleRests = 20

// idleLog is the maximum size in bytes of the log of an idle store. A longer one is flushed to tables, which are compressed.
const idleLog = 1 << 20

// maxRest is the maximum pause after a compaction that freed nothing because snapshots need it.
const maxRest = time.Minute

// Reclaimer frees the space of deleted large values and compacts idle stores, in a goroutine. A nil Reclaimer does nothing.
type Reclaimer struct {
	graph, values *kv.Instance
	views         *view.Set
	log           *slog.Logger
	// least is the number of deleted bytes from which values are reclaimed, and rest the minimum pause between two compactions.
	least int
	rest  time.Duration

	kick    chan struct{}
	ctx     context.Context // ends with Stop
	cancel  context.CancelFunc
	running sync.WaitGroup
	// written and compacted are the bytes that had been written to the graph store when the loop last looked at it, and when it last
	// compacted it.
	written, compacted uint64
}

// Start starts the reclaimer of a shard's two stores, which pauses for rest after each compaction of the values, and leaves less than least
// bytes of deleted values alone.
func Start(graph, values *kv.Instance, views *view.Set, least int, rest time.Duration) *Reclaimer {
	r := &Reclaimer{
		graph: graph, values: values, views: views, log: views.Logger, least: least, rest: rest,
		kick: make(chan struct{}, 1), compacted: math.MaxUint64,
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.running.Go(r.loop)
	if values.Stats().SeparatedFiles > 0 {
		r.Kick()
	}
	return r
}

// Kick makes the reclaimer look at the large values.
func (r *Reclaimer) Kick() {
	if r == nil {
		return
	}
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Stop ends the reclaimer and waits for its end.
func (r *Reclaimer) Stop() {
	if r != nil {
		r.cancel()
		r.running.Wait()
	}
}

func (r *Reclaimer) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	idle := time.NewTicker(idleRests * r.rest)
	defer idle.Stop()
	rest := r.rest
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-idle.C:
			if err := r.compactIdle(); err != nil && r.ctx.Err() == nil {
				r.log.Error("compact an idle store", slog.String("store", r.graph.Label()), slog.Any("error", err))
			}
			continue
		case <-r.kick:
		}
		r.views.CloseRetired() // which need deleted values
		for r.reclaimable() {
			began := time.Now()
			before := r.values.Stats().SeparatedDead
			if err := r.values.Compact(r.ctx); err != nil && r.ctx.Err() == nil {
				r.log.Error("reclaim large values", slog.String("store", r.values.Label()), slog.Any("error", err))
			}
			if r.values.Stats().SeparatedDead < before/2 {
				rest = r.rest
			} else {
				rest = min(2*rest, maxRest)
			}
			// This takes at most a fifth of the time.
			timer.Reset(max(rest, 4*time.Since(began)))
			select {
			case <-r.ctx.Done():
				return
			case <-timer.C:
			}
		}
	}
}

// reclaimable reports whether there are enough deleted values. It measures anew, since cached numbers may miss the last deletion, after
// which nothing may kick the reclaimer again.
func (r *Reclaimer) reclaimable() bool {
	var st kv.Stats
	err := r.values.Guard(func() error {
		st = r.values.Measure()
		return nil
	})
	return err == nil && st.SeparatedDead > uint64(r.least) && float64(st.SeparatedDead) > reclaimRatio*float64(st.SeparatedLive)
}

// compactIdle compacts the graph store if nothing was written to it since the last call, something was since its last compaction, and
// enough of it is above the lowest level. It also flushes long logs, and releases tables that compactions have replaced.
func (r *Reclaimer) compactIdle() error {
	in := r.graph
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
		r.views.ReleaseReaders()
	}
	for _, in := range []*kv.Instance{r.graph, r.values} {
		if err := in.FlushLog(r.ctx, idleLog); err != nil {
			return err
		}
	}
	var all uint64
	for _, l := range st.Levels {
		all += uint64(l.Bytes)
	}
	upper := all - uint64(st.Levels[kv.LowestLevel].Bytes)
	if written == r.compacted || upper < uint64(r.least) || float64(upper) < levelRatio*float64(all) {
		return nil
	}
	r.compacted = written
	r.views.CloseRetired()
	return in.Compact(r.ctx)
}
