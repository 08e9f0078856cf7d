package part

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
)

// A replica with a damaged file still votes and answers the reads that it can: its log is intact, and other replicas answer the rest.
// Meanwhile it fetches the state of another replica, and continues with that and its own log.

// The pauses between tries to replace a damaged state.
const firstMend, lastMend = 100 * time.Millisecond, time.Minute

// mend starts to replace the damaged state of a replica by that of another one.
func (r *Replicas) mend(no int, damaged *Parts) {
	r.mu.Lock() // else Close or Release may wait for what runs already
	defer r.mu.Unlock()
	s := &r.seeds.shards[no]
	if s.ctx.Err() != nil {
		return
	}
	r.seeds.run(no, func() {
		log := r.opts.Logger.With(slog.Int("shard", no))
		log.Error("replica damaged: fetching the state of another replica; other replicas answer reads that fail here", slog.Any("error", damaged.Damage()))
		for pause := firstMend; ; pause = min(2*pause, lastMend) {
			if s.on.CompareAndSwap(false, true) {
				err := r.restore(s.ctx, no, damaged)
				s.on.Store(false)
				if err == nil {
					log.Info("damaged replica repaired", slog.Uint64("bytes", s.size.Load()))
					return
				}
				if s.ctx.Err() == nil {
					log.Warn("cannot repair the damaged replica yet", slog.Any("error", err), slog.Duration("next", pause))
				}
			}
			select {
			case <-time.After(pause):
			case <-s.ctx.Done():
				return
			}
		}
	})
}

// restore replaces a damaged state, unless it was replaced already.
func (r *Replicas) restore(ctx context.Context, no int, damaged *Parts) error {
	host, group := r.log.host, uint32(no)
	st, ok := host.GroupStatus(group)
	switch now := r.Parts(no); {
	case !ok || now == nil:
		return fmt.Errorf("the replica of shard %d has not started", no)
	case now != damaged:
		return nil
	}
	leader := r.process
	switch {
	case st.Leads: // so that another replica leads while this one is closed
		if err := host.Transfer(ctx, group, 0); err != nil {
			return fmt.Errorf("transfer the lead of shard %d: %w", no, err)
		}
	case st.Leader != 0:
		leader = r.layout.Process(st.Leader)
	}
	index, err := host.KeepLog(ctx, group, true, byDamage)
	if err != nil {
		return err
	}
	err = r.seed(ctx, no, leader, index, func(ctx context.Context, group uint32, at replica.Snapshot, install func(l *replica.Log) (replica.State, error)) error {
		return host.Restore(ctx, group, at, byDamage, install)
	})
	if err == nil {
		r.seeds.shards[no].done.Add(1)
	} else if _, kerr := host.KeepLog(ctx, group, false, byDamage); kerr != nil {
		err = fmt.Errorf("%w; %w", err, kerr)
	}
	return err
}

// byDamage reports whether a fault of a replica results from damage to its state.
func byDamage(fault error) bool { return graph.AsError(fault).Kind == graph.KindCorrupt }
