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

// A gateway keeps the last snapshot that the leader has pinned for it, and lets transactions that read share it. Each of them
// has the leader asked whether that is still what a new transaction would see, along with what it reads; see Tx.Check. If
// something was committed meanwhile, the transaction is lost (shard.Retriable), and the next one, as long as the snapshots change,
// begins by itself.

// leaseIdle is how long a snapshot is kept for transactions to come.
const leaseIdle = time.Second

// lease is a snapshot, and the leader's transaction that pins it.
type lease struct {
	id    uint64 // of the leader's transaction
	epoch uint64
	snap  uint64 // 0 if the transaction has none
	// versions are those of the shards of the snapshot; none if the transaction has no snapshot.
	versions []uint64
	online   []uint32
	names    *catalog // as they were when the snapshot was made, or later
	counts   *graph.Counts
	stop     context.CancelFunc

	confirmed atomic.Int64 // when it was last known to be the present snapshot, by clock
	refs      atomic.Int64 // of those who use it
	used      atomic.Int64 // when a transaction last did, in Unix nanoseconds
}

// release returns what one user has.
func (l *lease) release() {
	if l.refs.Add(-1) == 0 {
		l.stop()
	}
}

// leases are those of a graph.
type leases struct {
	mu      sync.Mutex
	last    *lease
	changed bool // when it was last looked at

	recent *lease        // the last one that was kept, for transactions that may be stale; nil if there are none
	within time.Duration // how old it may be for them at most
}

// clock is a monotonic clock.
func clock() int64 { return int64(time.Since(started)) }

var started = time.Now()

// before reports whether the snapshot is an earlier one than another.
func (l *lease) before(other *lease) bool {
	return cmp.Or(cmp.Compare(l.epoch, other.epoch), slices.Compare(l.versions, other.versions), cmp.Compare(l.snap, other.snap)) < 0
}

// age returns how long ago the snapshot was last known to be the present one.
func (l *lease) age() time.Duration { return time.Duration(clock() - l.confirmed.Load()) }

// confirm takes in that the leader was asked at a time whether the snapshot is the present one, and that it is.
func (l *lease) confirm(asked int64) {
	for {
		old := l.confirmed.Load()
		if old >= asked || l.confirmed.CompareAndSwap(old, asked) {
			return
		}
	}
}

// borrow returns the graph's snapshot if it is likely to be the present one still.
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

// keep makes a snapshot that the leader has just pinned the one that transactions share.
func (g *Graph) keep(l *lease) {
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

// staleness is how long a snapshot is kept for transactions that may be stale. A graph is not dropped before that.
const staleness = 30 * time.Second

// borrowStale returns the last snapshot that was kept if it was the present one within the time, or nil.
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

// retain keeps a snapshot for transactions that may be stale, if there are any, in place of an earlier one. The caller holds leases.mu.
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

// expire drops a snapshot that has become too old for every transaction.
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

// dropStale ends the use of a snapshot by transactions that may be stale.
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

// endLease ends the sharing of whatever snapshot is shared.
func (g *Graph) endLease() {
	g.leases.mu.Lock()
	l, recent := g.leases.last, g.leases.recent
	g.leases.mu.Unlock()
	if l != nil {
		g.drop(l, true)
	}
	g.dropStale(recent)
}

// renewal is the question whether a snapshot is what a new transaction would see. It travels with another call to
// the leader if there is one, or else as a call of its own.
type renewal struct {
	g *Graph
	l *lease

	mu     sync.Mutex   // of the asking
	asked  int64        // when it was asked, by clock
	finish func() error // waits for the answer to the call of its own; nil: there is none
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
	// The answer may be waited for by another request than that which asks.
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
			err = wire.TimedOut(leaderName, limited.Err()) // the time was not the request's
		}
		return err
	}
}

// end ends the question.
func (r *renewal) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
}

// wait returns why the snapshot is not the present one, or is not known to be. It has been asked.
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
