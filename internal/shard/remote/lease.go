package remote

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// A gateway keeps the last cut that the leader has pinned for it, and lets transactions that read share it. Each of them
// has the leader asked whether that is still what a new transaction would see, while it reads already; see Tx.Check. If
// something was committed meanwhile, the transaction is lost (shard.Lost), and the next one, as long as the cuts change,
// begins by itself.

// leaseIdle is how long a cut is kept for transactions to come.
const leaseIdle = time.Second

// lease is a cut, and the leader's transaction that pins it.
type lease struct {
	id    uint64 // of the leader's transaction
	epoch uint64
	cut   uint64 // 0 if the transaction has none
	// versions are those of the shards of the cut; none if the transaction has no cut.
	versions []uint64
	online   []uint32
	names    *catalog // as they were when the cut was made, or later
	counts   *graph.Counts
	stop     context.CancelFunc

	refs atomic.Int64 // of those who use it
	used atomic.Int64 // when a transaction last did, in Unix nanoseconds
}

// release gives back what one user has.
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

// borrow gives the graph's cut if it is likely to be the present one still.
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

// keep makes a cut that the leader has just pinned the one that transactions share.
func (g *Graph) keep(l *lease) {
	l.refs.Add(1)
	l.used.Store(time.Now().UnixNano())
	g.leases.mu.Lock()
	old := g.leases.last
	g.leases.last = l
	g.leases.changed = old != nil && (old.epoch != l.epoch || old.cut != l.cut)
	g.leases.mu.Unlock()
	if old != nil {
		old.release()
	}
	g.letGo(l, leaseIdle)
}

// letGo ends a cut that is not used any more.
func (g *Graph) letGo(l *lease, after time.Duration) {
	time.AfterFunc(after, func() {
		if rest := leaseIdle - time.Since(time.Unix(0, l.used.Load())); rest > 0 {
			g.letGo(l, rest)
			return
		}
		g.forgo(l, false)
	})
}

// forgo ends the sharing of a cut.
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

// endLease ends the sharing of whatever cut is shared.
func (g *Graph) endLease() {
	g.leases.mu.Lock()
	l := g.leases.last
	g.leases.mu.Unlock()
	if l != nil {
		g.forgo(l, true)
	}
}

// renewal is the question whether a cut is what a new transaction would see.
type renewal struct {
	g      *Graph
	l      *lease
	r      *pb.RenewRequest
	answer pb.RenewResponse
	finish func() error
	stop   context.CancelFunc

	once sync.Once
	done atomic.Bool
	err  error // once it is done
}

// renew asks the leader.
func (g *Graph) renew(ctx context.Context, l *lease) *renewal {
	// The answer may be waited for by another request than that which began the transaction.
	limited, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	r := &renewal{g: g, l: l, r: &pb.RenewRequest{Graph: g.name, Tx: l.id, Cut: l.cut, Known: l.names.state}, stop: stop}
	undo := context.AfterFunc(ctx, stop)
	call := func(ctx context.Context) (finish func() error) {
		return g.s.leader.start(ctx, pb.LeadService_Renew_FullMethodName, r.r, &r.answer, nil)
	}
	sent := call(limited)
	undo()
	r.finish = func() error {
		err, lost := fromStatus(limited, leaderName, sent())
		if lost {
			err = retry(limited, limited, leaderName, func(ctx context.Context) error { return call(ctx)() })
		}
		return err
	}
	return r
}

// wait gives why the cut is not the present one, or is not known to be.
func (r *renewal) wait() error {
	r.once.Do(func() {
		defer r.done.Store(true)
		defer r.stop()
		if r.err = r.finish(); r.err == nil && !r.answer.GetSame() {
			r.err = unavailable(shard.CutGone, "others have committed since the state of the graph that is being read", nil)
		}
		if r.err != nil {
			r.g.forgo(r.l, true)
		}
	})
	return r.err
}

// Check implements shard.Checked.
func (tx *Tx) Check(ctx context.Context) error {
	r := tx.renewal
	if r == nil {
		return nil
	}
	if r.done.Load() {
		return r.err
	}
	defer context.AfterFunc(ctx, r.stop)()
	if err := r.wait(); ctx.Err() == nil {
		return err
	}
	return graph.DeadlineError(ctx.Err())
}
