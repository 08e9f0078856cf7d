package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// Reading transactions share the last snapshot that the leader has pinned for the gateway. Each asks the leader, while it reads, whether a new
// transaction would still see that snapshot; see Tx.Check. If others have committed, the transaction fails (shard.Retriable), and as long as
// snapshots change, each new transaction asks the leader for its own.

// leaseIdle is how long an unused snapshot waits for the next transaction.
const leaseIdle = time.Second

// lease is a snapshot that a transaction of the leader pins.
type lease struct {
	id    uint64 // of the leader's transaction
	epoch uint64
	snap  uint64 // 0 if the transaction has none
	// versions of the shards in the snapshot; none if the transaction has no snapshot.
	versions []uint64
	online   []uint32
	commit   uint64   // the last one in the snapshot
	time     int64    // of that commit
	names    *catalog // of the snapshot, or later ones
	told     versions
	counts   *graph.Counts
	stop     context.CancelFunc

	confirmed atomic.Int64 // when it was last known to be the present snapshot, by clock
	refs      atomic.Int64 // number of users
	used      atomic.Int64 // when a transaction last began with it, in Unix nanoseconds
}

// release ends the use by one user; the last one unpins the snapshot.
func (l *lease) release() {
	if l.refs.Add(-1) == 0 {
		l.stop()
	}
}

// leases are the shared snapshots of a graph.
type leases struct {
	mu      sync.Mutex
	last    *lease
	changed bool // between the last two snapshots

	recent *lease        // the latest one, for stale reads; nil if there are none
	within time.Duration // the greatest age that stale reads accept
}

// clock is a monotonic clock.
func clock() int64 { return int64(time.Since(started)) }

var started = time.Now()

// before reports whether the snapshot is older than another one.
func (l *lease) before(other *lease) bool {
	return cmp.Or(cmp.Compare(l.epoch, other.epoch), slices.Compare(l.versions, other.versions), cmp.Compare(l.snap, other.snap)) < 0
}

// age returns how long ago the snapshot was last known to be the present one.
func (l *lease) age() time.Duration { return time.Duration(clock() - l.confirmed.Load()) }

// confirm notes that the snapshot was the present one when the leader was asked.
func (l *lease) confirm(asked int64) {
	for {
		old := l.confirmed.Load()
		if old >= asked || l.confirmed.CompareAndSwap(old, asked) {
			return
		}
	}
}

// borrow returns the shared snapshot if it is likely to be the present one, else nil.
func (g *Graph) borrow() *lease {
	g.leases.mu.Lock()
	defer g.leases.mu.Unlock()
	l := g.leases.last
	if l == nil || g.leases.changed {
		return nil
	}
	l.refs.Add(1)
	l.used.Store(time.Now().UnixNano())
	return l
}

// share makes a snapshot that the leader has just pinned the shared one.
func (g *Graph) share(l *lease) {
	l.refs.Add(1)
	l.used.Store(time.Now().UnixNano())
	g.leases.mu.Lock()
	old := g.leases.last
	g.leases.last = l
	g.leases.changed = old != nil && (old.epoch != l.epoch || old.snap != l.snap)
	g.retain(l)
	g.leases.mu.Unlock()
	if old != nil {
		old.release()
	}
	g.dropIdle(l, leaseIdle)
}

// staleness bounds the age of snapshots for stale reads. The leader drops no graph that such a snapshot pins.
const staleness = 30 * time.Second

// borrowStale returns the latest snapshot if it was the present one within a time, else nil.
func (g *Graph) borrowStale(within time.Duration) *lease {
	g.leases.mu.Lock()
	defer g.leases.mu.Unlock()
	g.leases.within = max(g.leases.within, min(within, staleness))
	if g.leases.last != nil {
		g.retain(g.leases.last)
	}
	l := g.leases.recent
	// A plan for another catalog does not fit the snapshot.
	if l == nil || l.names != g.state.Load() || l.age() > within {
		return nil
	}
	l.refs.Add(1)
	return l
}

// retain keeps a snapshot for stale reads, if there are any, in place of an older one. The caller holds leases.mu.
func (g *Graph) retain(l *lease) {
	old := g.leases.recent
	if g.leases.within == 0 || old == l || old != nil && l.before(old) {
		return
	}
	l.refs.Add(1)
	g.leases.recent = l
	if old != nil {
		old.release()
	}
	g.expire(l, g.leases.within)
}

// expire drops a snapshot once it is too old for stale reads.
func (g *Graph) expire(l *lease, after time.Duration) {
	time.AfterFunc(after, func() {
		g.leases.mu.Lock()
		rest := g.leases.within - l.age()
		g.leases.mu.Unlock()
		if rest > 0 {
			g.expire(l, rest)
			return
		}
		g.dropStale(l)
	})
}

// dropStale ends the use of a snapshot by stale reads.
func (g *Graph) dropStale(l *lease) {
	g.leases.mu.Lock()
	defer g.leases.mu.Unlock()
	if l != nil && g.leases.recent == l {
		g.leases.recent, g.leases.within = nil, 0
		l.release()
	}
}

// dropIdle ends the sharing of a snapshot once no transaction has begun with it for leaseIdle.
func (g *Graph) dropIdle(l *lease, after time.Duration) {
	time.AfterFunc(after, func() {
		if rest := leaseIdle - time.Since(time.Unix(0, l.used.Load())); rest > 0 {
			g.dropIdle(l, rest)
			return
		}
		g.drop(l, false)
	})
}

// drop ends the sharing of a snapshot.
func (g *Graph) drop(l *lease, changed bool) {
	g.leases.mu.Lock()
	mine := g.leases.last == l
	if mine {
		g.leases.last, g.leases.changed = nil, changed
	}
	g.leases.mu.Unlock()
	if mine {
		l.release()
	}
}

// endLease drops all snapshots of the graph.
func (g *Graph) endLease() {
	g.leases.mu.Lock()
	l, recent := g.leases.last, g.leases.recent
	g.leases.mu.Unlock()
	if l != nil {
		g.drop(l, true)
	}
	g.dropStale(recent)
}

// renewal asks the leader once whether a new transaction would see a snapshot: with another call to the leader, or by a call of its own.
type renewal struct {
	g *Graph
	l *lease

	mu     sync.Mutex   // of the fields up to stop
	asked  int64        // when it was asked, by clock
	finish func() error // waits for the answer to its own call; nil without one
	answer pb.RenewResponse
	stop   context.CancelFunc

	once sync.Once
	done atomic.Bool
	err  error // once it is done
}

// open reports whether the question has not been sent yet.
func (r *renewal) open() bool {
	if r.done.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finish == nil
}

// piggyback adds the question to a call to the leader.
func (r *renewal) piggyback(snap *pb.Snapshot) (asked int64) {
	snap.Tx, snap.Present, snap.Known = r.l.id, r.l.snap, r.l.names.state
	return clock()
}

// answered notes that such a call was answered.
func (r *renewal) answered(asked int64) {
	r.l.confirm(asked)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finish == nil {
		r.done.Store(true)
	}
}

// send sends the question unless it has been sent.
func (r *renewal) send(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finish != nil || r.done.Load() {
		return
	}
	// Another request of the transaction may wait for the answer.
	limited, stop := context.WithTimeout(context.WithoutCancel(ctx), peers.Patience)
	r.stop, r.asked = stop, clock()
	undo := context.AfterFunc(ctx, stop)
	in := &pb.RenewRequest{Graph: r.g.name, Tx: r.l.id, Snapshot: r.l.snap, Known: r.l.names.state}
	call := func(ctx context.Context) (finish func() error) {
		return r.g.s.leader.Start(ctx, pb.LeadService_Renew_FullMethodName, in, &r.answer, nil)
	}
	sent := call(limited)
	undo()
	r.finish = func() error {
		err, retryable := wire.FromStatus(limited, leaderName, sent())
		if retryable {
			err = peers.Retry(limited, limited, leaderName, func(ctx context.Context) error { return call(ctx)() })
		}
		if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = wire.TimedOut(leaderName, limited.Err()) // no deadline of the request was exceeded
		}
		return err
	}
}

// end cancels the call.
func (r *renewal) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
}

// wait returns nil if the snapshot is the present one. The question must have been sent.
func (r *renewal) wait() error {
	r.once.Do(func() {
		defer r.done.Store(true)
		defer r.stop()
		if r.err = r.finish(); r.err == nil && !r.answer.GetSame() {
			r.err = wire.Superseded()
		}
		if r.err != nil {
			r.g.drop(r.l, true)
			return
		}
		r.l.confirm(r.asked)
	})
	return r.err
}

// Check implements shard.Validator.
func (tx *Tx) Check(ctx context.Context) error {
	r := tx.renewal
	if r == nil {
		return nil
	}
	if r.send(ctx); r.done.Load() {
		return r.err
	}
	defer context.AfterFunc(ctx, r.stop)()
	if err := r.wait(); ctx.Err() == nil {
		return err
	}
	return graph.DeadlineError(ctx.Err())
}
