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
	done chan struct{}
	err  error // once it is answered
	stop context.CancelFunc
}

// renew asks the leader.
func (g *Graph) renew(ctx context.Context, l *lease) *renewal {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	r := &renewal{done: make(chan struct{}), stop: stop}
	go func() {
		defer close(r.done)
		defer stop()
		same := false
		r.err = again(ctx, leaderName, func(ctx context.Context) error {
			a, err := g.s.lead.Renew(ctx, &pb.RenewRequest{Graph: g.name, Tx: l.id, Cut: l.cut, Known: l.names.state})
			same = a.GetSame()
			return err
		})
		if r.err == nil && !same {
			r.err = unavailable(shard.CutGone, "others have committed since the state of the graph that is being read", nil)
		}
		if r.err != nil {
			g.forgo(l, true)
		}
	}()
	return r
}

// Check implements shard.Checked.
func (tx *Tx) Check(ctx context.Context) error {
	if tx.renewal == nil {
		return nil
	}
	select {
	case <-tx.renewal.done:
		return tx.renewal.err
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	}
}

// stale tells, if it is known, that the cut is not the present one.
func (tx *Tx) stale() error {
	if tx.renewal == nil {
		return nil
	}
	select {
	case <-tx.renewal.done:
		return tx.renewal.err
	default:
		return nil
	}
}
