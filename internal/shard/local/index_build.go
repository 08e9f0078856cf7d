package local

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
)

// builds are the indexes of a graph that are being built, each by a goroutine.
type builds struct {
	mu      sync.Mutex
	byID    map[graph.IndexID]*build
	running sync.WaitGroup
}

// build is an index under construction. From its definition on, every transaction keeps the entries of what it writes,
// so the build adds those of what was there before: it finds vertices or edges in a snapshot, which costs writers nothing,
// and then, some thousand at a time, reads what they are now and puts their entries in a transaction of its own, which
// carries the mark from which the build goes on after a crash. It leaves out the vertices that were made since it began,
// so it ends however many are added meanwhile.
type build struct {
	g      *Graph
	id     graph.IndexID
	ends   []uint64        // by shard: the first local id of a vertex that is made later
	ctx    context.Context // ended when the build is given up
	cancel context.CancelCauseFunc
	part   atomic.Uint64 // the bits of the part that is done, 0 to 1
	done   chan struct{}
	err    error // set before done is closed
}

// startBuild begins to build an index that is defined. The caller holds the writer's lock, or is opening the graph.
func (g *Graph) startBuild(id graph.IndexID) *build {
	b := &build{g: g, id: id, done: make(chan struct{})}
	for _, s := range g.shards {
		b.ends = append(b.ends, s.NextVertex())
	}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	g.builds.mu.Lock()
	if g.builds.byID == nil {
		g.builds.byID = map[graph.IndexID]*build{}
	}
	g.builds.byID[id] = b
	g.builds.mu.Unlock()
	g.builds.running.Go(b.run)
	return b
}

// resumeBuilds goes on with what was being built when the graph was closed.
func (g *Graph) resumeBuilds() {
	for _, ix := range index.All(g.Catalog) {
		if !ix.Online && ix.Failure == "" {
			g.startBuild(ix.ID)
		}
	}
}

// IndexProgress implements shard.Graph.
func (g *Graph) IndexProgress(id graph.IndexID) float64 {
	if d := g.defs.Load().ByID[id]; d != nil && d.Online {
		return 1
	}
	g.builds.mu.Lock()
	defer g.builds.mu.Unlock()
	if b := g.builds.byID[id]; b != nil {
		part := math.Float64frombits(b.part.Load())
		return part * g.texts.Progress(id) // what is found is yet to be split into terms
	}
	return 0
}

// abandon returns the build up, unless it has come to its end.
func (b *build) abandon(cause error) { b.cancel(cause) }

// run builds the index, and puts it online or says that it failed. A build that the closing of the graph or a fault of the
// store interrupts is left for the next time the graph is opened.
func (b *build) run() {
	err := b.fill()
	var gerr *graph.Error
	if err != nil && b.ctx.Err() == nil && !errors.As(err, &gerr) {
		b.g.Options.Logger.Error("build an index", slog.String("graph", b.g.Name), slog.Any("error", err))
	}
	switch {
	case err == nil:
		err = b.finish()
	case b.ctx.Err() != nil:
		err = b.giveUp(context.Cause(b.ctx))
	case gerr != nil && (gerr.Kind == graph.KindExists || gerr.Kind == graph.KindInvalid):
		err = b.giveUp(err)
	}
	b.g.builds.mu.Lock()
	delete(b.g.builds.byID, b.id)
	b.g.builds.mu.Unlock()
	b.cancel(nil)
	b.err = err
	close(b.done)
}

// locked calls f with the index's definition while it holds the writer's lock.
func (b *build) locked(f func(ix graph.Index) error) error {
	if err := b.g.Enter(); err != nil {
		return err
	}
	defer b.g.Leave()
	if err := b.g.lock(context.Background()); err != nil {
		return err
	}
	defer b.g.unlock()
	d := b.g.defs.Load().ByID[b.id]
	if d == nil {
		return index.ErrDropped
	}
	return f(d.Index)
}

// finish puts the index online: first for the readers of snapshots from now on, then for planners.
func (b *build) finish() error {
	return b.locked(func(ix graph.Index) error {
		if b.ctx.Err() != nil {
			return errors.Join(context.Cause(b.ctx), b.g.removeIndex(ix))
		}
		ix.Online = true
		all := index.All(b.g.Catalog)
		for i := range all {
			if all[i].ID == ix.ID {
				all[i] = ix
			}
		}
		b.g.storeDefs(all)
		err := b.g.refresh()
		if err == nil {
			err = b.g.PutIndex(ix)
		}
		if err != nil {
			b.g.loadDefs()
		}
		return err
	})
}

// giveUp removes a constraint that cannot be, and marks an index that could not be built as failed.
func (b *build) giveUp(cause error) error {
	return b.locked(func(ix graph.Index) error {
		if ix.Unique || ix.Required {
			return errors.Join(cause, b.g.removeIndex(ix))
		}
		ix.Failure = cause.Error()
		err := b.g.PutIndex(ix)
		b.g.loadDefs()
		err = errors.Join(err, b.g.texts.Drop(ix.ID))
		for _, s := range b.g.shards {
			err = errors.Join(err, s.ClearIndex(ix.ID))
		}
		return errors.Join(cause, err, b.g.refresh())
	})
}
