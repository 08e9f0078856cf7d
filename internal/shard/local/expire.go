package local

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// What has expired is deleted by an ordinary commit. A snapshot knows a time before which nothing in it expires. A transaction
// that would begin on one that is overdue has what is due deleted first, so that no transaction sees what had expired when it
// began, while one that runs keeps its snapshot. Else a goroutine deletes what is due in time.

// due is a time before which nothing expires: nothing that a commit writes, or, if all is set, nothing that there is.
type due struct {
	at  int64 // nanoseconds since 1970
	all bool
}

func (g *Graph) now() int64 { return g.Options.Clock().UnixNano() }

// noteDue notes what a commit says. The caller holds the writer's lock.
func (g *Graph) noteDue(d due) {
	if g.Options.KeepExpired {
		return
	}
	if d.all {
		g.due = d.at
		return
	}
	g.due = min(g.due, d.at)
}

// findDue finds out when something expires first. The caller holds the writer's lock, or is opening the graph.
func (g *Graph) findDue() error {
	g.due = write.Never
	if len(g.defs.Load().TTLs) == 0 || g.Options.ReadOnly || g.Options.KeepExpired {
		return nil
	}
	tx := g.writerOver(nil)
	defer tx.Discard()
	at, err := tx.earliest(context.Background(), math.MinInt64)
	if err == nil {
		g.due = at
	} else {
		g.due = math.MinInt64
	}
	return err
}

// refreshDue recomputes when something expires first, and publishes that to readers. The caller holds the writer's lock.
func (g *Graph) refreshDue() error {
	return errors.Join(g.findDue(), g.refresh())
}

// earliest is when something expires first, where nothing does before a time.
func (tx *Tx) earliest(ctx context.Context, from int64) (int64, error) {
	first := int64(write.Never)
	for _, d := range tx.g.defs.Load().TTLs {
		err := tx.walkDue(ctx, d, from, nil, func(start int64, _ graph.IndexOwner) bool {
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
func (tx *Tx) walkDue(ctx context.Context, d *index.Def, from int64, upper []byte, f func(start int64, o graph.IndexOwner) bool) error {
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

// expire deletes what is due. It returns when readers see a snapshot without it.
func (g *Graph) expire(ctx context.Context) error {
	select {
	case g.expiring <- struct{}{}:
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	case <-g.stop:
		return fail.Closed()
	}
	defer func() { <-g.expiring }()
	for {
		if some, err := g.expireStep(ctx); err != nil || !some {
			return err
		}
	}
}

// expireStep deletes some expired owners and reports whether there were any.
func (g *Graph) expireStep(ctx context.Context) (some bool, err error) {
	if err := g.Enter(); err != nil {
		return false, err
	}
	defer g.Leave()
	if err := g.writable(); err != nil {
		return false, err
	}
	if err := g.lock(ctx); err != nil {
		return false, err
	}
	now := g.now()
	if g.due > now {
		g.unlock()
		return false, nil
	}
	tx := g.writerOver(nil)
	tx.Plain()
	defer tx.CloseDecoded()
	next, err := tx.dropDue(ctx, now)
	if err != nil {
		tx.Discard()
		g.unlock()
		return false, err
	}
	if tx.Empty() {
		// The time was that of something that has been changed or deleted since.
		tx.Discard()
		defer g.unlock()
		if next <= now {
			return false, graph.CorruptError("delete what has expired: there is no such vertex or edge; check the graph", nil)
		}
		g.due = next
		return true, g.refresh()
	}
	var gone [2]int64
	for _, w := range tx.Writers() {
		gone[0] -= w.Counts[stats.Count{Kind: stats.CountVertices}]
		gone[1] -= w.Counts[stats.Count{Kind: stats.CountEdges}]
	}
	if _, err := g.commit(tx.Writers(), nil, nil, due{next, true}); err != nil {
		return false, err
	}
	for i, n := range gone {
		g.expired[i].Add(uint64(n))
	}
	return true, nil
}

// dropDue deletes some of what is due and gives the time before which nothing of the rest expires.
func (tx *Tx) dropDue(ctx context.Context, now int64) (next int64, err error) {
	for _, d := range tx.g.defs.Load().TTLs {
		if err := tx.dropDueOf(ctx, d, now); err != nil {
			return 0, err
		}
	}
	return tx.earliest(ctx, tx.g.due)
}

func (tx *Tx) dropDueOf(ctx context.Context, d *index.Def, now int64) error {
	if now < math.MinInt64+int64(d.TTL) {
		return nil
	}
	last := now - int64(d.TTL)
	upper := view.AppendStart(nil, last+1)
	most := tx.g.Options.Tuning.ExpireBatch
	var owners []graph.IndexOwner
	err := tx.walkDue(ctx, d, tx.g.due, upper, func(_ int64, o graph.IndexOwner) bool {
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
		t, _ := tx.g.Catalog.Type(d.Type)
		for _, o := range owners {
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: index.EdgeOf(o, t)})
		}
	} else {
		ids := make([]graph.VertexID, len(owners))
		for i, o := range owners {
			ids[i] = o.Vertex
		}
		slices.Sort(ids)
		if ms, err = tx.detach(ctx, ids, most); err != nil {
			return err
		}
	}
	return tx.Apply(ctx, ms)
}

// expirePause is how long to wait after a failure, and expireWait at most until the clock is looked at again, which may have
// been set.
const (
	expirePause = 5 * time.Second
	expireWait  = time.Minute
)

// expireLoop deletes what is due in time.
func (g *Graph) expireLoop() {
	defer close(g.expireDone)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-g.stop
		cancel()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-g.rouse:
		case <-timer.C:
		}
		g.mu.Lock()
		at := g.current.due
		g.mu.Unlock()
		now := g.now()
		wait := expireWait
		switch {
		case at == write.Never:
		case at > now:
			wait = min(wait, time.Duration(at-now))
		default:
			if err := g.expire(ctx); err != nil {
				wait = expirePause
				if ctx.Err() == nil {
					g.Options.Logger.Error("delete what has expired", slog.String("graph", g.Name), slog.Any("error", err))
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
func (tx *Tx) detach(ctx context.Context, ids []graph.VertexID, most int) ([]shard.Mutation, error) {
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
