package maintain

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Expirer deletes the vertices and edges of a graph that have expired. The zero value is not ready; see NewExpirer.
type Expirer struct {
	g    Graph
	on   *read.Readers
	stop <-chan struct{} // closed when the graph is being closed

	due     int64         // nothing that was applied expires before, in nanoseconds since 1970; the writer's lock guards it
	next    func() int64  // due of the newest snapshot
	busy    chan struct{} // holds one token while somebody deletes what has expired
	rouse   chan struct{} // signals an earlier due time
	done    chan struct{}
	deleted [2]atomic.Uint64 // vertices and edges
}

// NewExpirer returns the expirer of a graph. next returns Due of the newest snapshot.
func NewExpirer(g Graph, on *read.Readers, next func() int64, stop <-chan struct{}) *Expirer {
	return &Expirer{
		g: g, on: on, stop: stop, due: write.Never, next: next,
		busy: make(chan struct{}, 1), rouse: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// Due is a time before which nothing that was applied expires, in nanoseconds since 1970. The caller holds the writer's lock.
func (x *Expirer) Due() int64 { return x.due }

// Now is the time of the graph's clock.
func (x *Expirer) Now() int64 { return x.on.Options.Clock().UnixNano() }

// Deleted returns how many vertices and edges have been deleted.
func (x *Expirer) Deleted() [2]uint64 { return [2]uint64{x.deleted[0].Load(), x.deleted[1].Load()} }

// Note records that what a commit has written does not expire before a time. The caller holds the writer's lock.
func (x *Expirer) Note(at int64) {
	if !x.on.Options.KeepExpired {
		x.due = min(x.due, at)
	}
}

// Set records that nothing expires before a time. The caller holds the writer's lock.
func (x *Expirer) Set(at int64) {
	if !x.on.Options.KeepExpired {
		x.due = at
	}
}

// Rouse says that something expires earlier than before.
func (x *Expirer) Rouse() {
	select {
	case x.rouse <- struct{}{}:
	default:
	}
}

// Wait returns once Run has ended.
func (x *Expirer) Wait() { <-x.done }

// Find finds out when something expires first. The caller holds the writer's lock, or is opening the graph.
func (x *Expirer) Find() error {
	x.due = write.Never
	if len(x.g.Defs().TTLs) == 0 || x.on.Options.ReadOnly || x.on.Options.KeepExpired {
		return nil
	}
	tx := &read.Tx{}
	m := write.Begin(tx, nil, x.g.State())
	defer m.Discard()
	at, err := earliest(context.Background(), tx, math.MinInt64)
	if err == nil {
		x.due = at
	} else {
		x.due = math.MinInt64
	}
	return err
}

// Refresh is Find, which shows readers the answer.
func (x *Expirer) Refresh() error { return errors.Join(x.Find(), x.g.Refresh()) }

// earliest is when something expires first, where nothing does before a time.
func earliest(ctx context.Context, tx *read.Tx, from int64) (int64, error) {
	first := int64(write.Never)
	for _, d := range tx.Defs().TTLs {
		err := walkDue(ctx, tx, d, from, nil, func(start int64, _ graph.IndexOwner) bool {
			first = min(first, view.Due(start, &d.Index))
			return false
		})
		if err != nil {
			return 0, err
		}
	}
	return first, nil
}

// walkDue calls f with the entries of a TTL that expire at a time or later, in the order of their times within each shard,
// until f says no for that shard.
func walkDue(ctx context.Context, tx *read.Tx, d *index.Def, from int64, upper []byte, f func(start int64, o graph.IndexOwner) bool) error {
	start := int64(math.MinInt64)
	if from > math.MinInt64+int64(d.TTL) {
		start = from - int64(d.TTL)
	}
	lower := view.AppendStart(nil, start)
	for _, v := range tx.Views() {
		malformed := false
		err := v.Walk(ctx, d.ID, lower, upper, false, func(rest []byte, o graph.IndexOwner) bool {
			start, ok := view.Start(rest)
			malformed = !ok
			return ok && f(start, o)
		})
		if err != nil {
			return err
		}
		if malformed {
			return graph.CorruptError("read when something expires", nil)
		}
	}
	return nil
}

// Expire deletes what is due. It returns when readers see a snapshot without it.
func (x *Expirer) Expire(ctx context.Context) error {
	select {
	case x.busy <- struct{}{}:
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	case <-x.stop:
		return fail.Closed()
	}
	defer func() { <-x.busy }()
	for {
		if some, err := x.step(ctx); err != nil || !some {
			return err
		}
	}
}

// step deletes some expired owners and reports whether there were any.
func (x *Expirer) step(ctx context.Context) (some bool, err error) {
	if err := x.on.Enter(); err != nil {
		return false, err
	}
	defer x.on.Leave()
	if err := x.g.Writable(); err != nil {
		return false, err
	}
	if err := x.g.Lock(ctx); err != nil {
		return false, err
	}
	now := x.Now()
	if x.due > now {
		x.g.Unlock()
		return false, nil
	}
	tx := &read.Tx{}
	m := write.Begin(tx, nil, x.g.State())
	tx.Plain()
	defer tx.CloseDecoded()
	next, err := x.drop(ctx, tx, m, now)
	if err != nil {
		m.Discard()
		x.g.Unlock()
		return false, err
	}
	if m.Empty() {
		// The time was that of something that has been changed or deleted since.
		m.Discard()
		defer x.g.Unlock()
		if next <= now {
			return false, graph.CorruptError("delete what has expired: there is no such vertex or edge; check the graph", nil)
		}
		x.due = next
		return true, x.g.Refresh()
	}
	var gone [2]int64
	for _, w := range m.Writers() {
		gone[0] -= w.Counts[stats.Count{Kind: stats.CountVertices}]
		gone[1] -= w.Counts[stats.Count{Kind: stats.CountEdges}]
	}
	if err := x.g.CommitExpired(m.Writers(), next); err != nil {
		return false, err
	}
	for i, n := range gone {
		x.deleted[i].Add(uint64(n))
	}
	return true, nil
}

// drop deletes some of what is due and returns the time before which nothing of the rest expires.
func (x *Expirer) drop(ctx context.Context, tx *read.Tx, m *write.Mutator, now int64) (next int64, err error) {
	for _, d := range tx.Defs().TTLs {
		if err := x.dropOf(ctx, tx, m, d, now); err != nil {
			return 0, err
		}
	}
	return earliest(ctx, tx, x.due)
}

func (x *Expirer) dropOf(ctx context.Context, tx *read.Tx, m *write.Mutator, d *index.Def, now int64) error {
	if now < math.MinInt64+int64(d.TTL) {
		return nil
	}
	last := now - int64(d.TTL)
	upper := view.AppendStart(nil, last+1)
	most := x.on.Options.Tuning.ExpireBatch
	var owners []graph.IndexOwner
	err := walkDue(ctx, tx, d, x.due, upper, func(_ int64, o graph.IndexOwner) bool {
		if len(owners) == most {
			return false
		}
		owners = append(owners, o)
		return true
	})
	if err != nil || len(owners) == 0 {
		return err
	}
	var ms []shard.Mutation
	if d.Type != "" {
		t, _ := x.g.State().Catalog.Type(d.Type)
		for _, o := range owners {
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: index.EdgeOf(o, t)})
		}
	} else {
		ids := make([]graph.VertexID, len(owners))
		for i, o := range owners {
			ids[i] = o.Vertex
		}
		slices.Sort(ids)
		if ms, err = detach(ctx, tx, ids, most); err != nil {
			return err
		}
	}
	return m.Apply(ctx, ms)
}

// expirePause is how long to wait after a failure. expireWait is how long to wait at most: the clock may have been set.
const (
	expirePause = 5 * time.Second
	expireWait  = time.Minute
)

// Run deletes what is due in time, until the graph closes.
func (x *Expirer) Run() {
	defer close(x.done)
	ctx, cancel := until(x.stop)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-x.stop:
			return
		case <-x.rouse:
		case <-timer.C:
		}
		at, now := x.next(), x.Now()
		wait := expireWait
		switch {
		case at == write.Never:
		case at > now:
			wait = min(wait, time.Duration(at-now))
		default:
			if err := x.Expire(ctx); err != nil {
				wait = expirePause
				if ctx.Err() == nil {
					x.on.Options.Logger.Error("delete what has expired", slog.String("graph", x.on.Name), slog.Any("error", err))
				}
			} else {
				wait = 0
			}
		}
		timer.Reset(wait)
	}
}

// detach makes the mutations that delete vertices with their edges. It stops after about most edges, with whole vertices as
// long as these have not many more.
func detach(ctx context.Context, tx *read.Tx, ids []graph.VertexID, most int) ([]shard.Mutation, error) {
	var res shard.Neighbours
	req := shard.Expand{Sources: ids, Dir: graph.Both, Edges: true, MaxEdges: most}
	if err := tx.Expand(ctx, &req, &res); err != nil {
		return nil, err
	}
	var ms []shard.Mutation
	for i := range res.Done {
		for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
			if len(ms) >= 16*most {
				return ms, nil
			}
			e := graph.Edge{ID: res.Edges[k], Src: ids[i], Dst: res.Targets[k], Type: res.Types[k]}
			if res.Reverse[k] {
				e.Src, e.Dst = e.Dst, e.Src
			}
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		}
		ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: ids[i]})
	}
	return ms, nil
}
