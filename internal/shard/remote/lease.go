package remote

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
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

	refs atomic.Int64 // of those who use it
	used atomic.Int64 // when a transaction last did, in Unix nanoseconds
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
	g.leases.mu.Unlock()
	if old != nil {
		old.release()
	}
	g.letGo(l, leaseIdle)
}

// letGo ends a snapshot that is not used any more.
func (g *Graph) letGo(l *lease, after time.Duration) {
	time.AfterFunc(after, func() {
		if rest := leaseIdle - time.Since(time.Unix(0, l.used.Load())); rest > 0 {
			g.letGo(l, rest)
			return
		}
		g.forgo(l, false)
	})
}

// forgo ends the sharing of a snapshot.
func (g *Graph) forgo(l *lease, changed bool) {
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
	l := g.leases.last
	g.leases.mu.Unlock()
	if l != nil {
		g.forgo(l, true)
	}
}

// past says that a snapshot is not the present one.
func past() error {
	return unavailable(shard.SnapshotGone, "others have committed since the state of the graph that is being read", nil)
}

// renewal is the question whether a snapshot is what a new transaction would see. It goes along with what the leader is asked
// anyway, or else is a call of its own.
type renewal struct {
	g *Graph
	l *lease

	mu     sync.Mutex   // of the asking
	finish func() error // waits for the answer to the call of its own, if there is one
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

// ride makes a call to the leader ask as well.
func (r *renewal) ride(snap *pb.Snapshot) { snap.Present, snap.Known = r.l.snap, r.l.names.state }

// rode takes in that such a call was answered.
func (r *renewal) rode() {
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
	limited, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	r.stop = stop
	undo := context.AfterFunc(ctx, stop)
	in := &pb.RenewRequest{Graph: r.g.name, Tx: r.l.id, Snapshot: r.l.snap, Known: r.l.names.state}
	call := func(ctx context.Context) (finish func() error) {
		return r.g.s.leader.start(ctx, pb.LeadService_Renew_FullMethodName, in, &r.answer, nil)
	}
	sent := call(limited)
	undo()
	r.finish = func() error {
		err, lost := fromStatus(limited, leaderName, sent())
		if lost {
			err = retry(limited, limited, leaderName, func(ctx context.Context) error { return call(ctx)() })
		}
		if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
			err = noAnswer(leaderName, timeout, limited.Err()) // the time was not the request's
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
			r.err = past()
		}
		if r.err != nil {
			r.g.forgo(r.l, true)
		}
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
