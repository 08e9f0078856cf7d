package maintain

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
)

// Builds are the indexes of a graph that are being built, each by a goroutine.
type Builds struct {
	g       Graph
	on      *read.Readers
	catalog *storage.Catalog
	shards  []*storage.Shard

	mu      sync.Mutex
	byID    map[graph.IndexID]*Build
	running sync.WaitGroup
}

// NewBuilds returns the builds of a graph.
func NewBuilds(g Graph, on *read.Readers, catalog *storage.Catalog, shards []*storage.Shard) *Builds {
	return &Builds{g: g, on: on, catalog: catalog, shards: shards, byID: map[graph.IndexID]*Build{}}
}

// Wait waits for the goroutines.
func (bs *Builds) Wait() { bs.running.Wait() }

// Len is how many indexes are being built.
func (bs *Builds) Len() int {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return len(bs.byID)
}

// Build is an index under construction. From its definition on, every transaction keeps the entries of what it writes,
// so the build adds those of existing elements: it finds vertices or edges in a snapshot, which costs writers nothing,
// and then, some thousand at a time, reads what they are now and puts their entries in a transaction of its own, which
// carries the mark from which the build continues after a crash. It leaves out the vertices that were made since it began,
// so it ends however many are added meanwhile.
type Build struct {
	of     *Builds
	id     graph.IndexID
	ends   []uint64        // by shard: the first local id of a vertex that is made later
	ctx    context.Context // ended when the build is cancelled
	cancel context.CancelCauseFunc
	part   atomic.Uint64 // the bits of the part that is done, 0 to 1
	done   chan struct{}
	err    error // set before done is closed
}

// Start begins to build an index that is defined. The caller holds the writer's lock, or is opening the graph.
func (bs *Builds) Start(id graph.IndexID) *Build {
	b := &Build{of: bs, id: id, done: make(chan struct{})}
	for _, s := range bs.shards {
		b.ends = append(b.ends, s.NextVertex())
	}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	bs.mu.Lock()
	bs.byID[id] = b
	bs.mu.Unlock()
	bs.running.Go(b.run)
	return b
}

// Resume goes on with what was being built when the graph was closed.
func (bs *Builds) Resume() {
	for _, ix := range index.All(bs.catalog) {
		if !ix.Online && ix.Failure == "" {
			bs.Start(ix.ID)
		}
	}
}

// Progress is about which part of an index is built, from 0 to 1.
func (bs *Builds) Progress(id graph.IndexID) float64 {
	d := bs.g.Defs().ByID[id]
	if d != nil && d.Online {
		return 1
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.byID[id]
	if b == nil {
		return 0
	}
	part := math.Float64frombits(b.part.Load())
	if d != nil && d.Kind == graph.FullTextIndex {
		part *= bs.g.TextProgress(id) // what is found is yet to be split into terms
	}
	return part
}

// Await waits until the index is built. If ctx ends before, the build goes on, or, if it is strict, is given up. stop is closed when the graph
// is being closed.
func (b *Build) Await(ctx context.Context, stop <-chan struct{}, strict bool) error {
	select {
	case <-b.done:
		return b.err
	case <-stop:
		return fail.Closed()
	case <-ctx.Done():
	}
	err := graph.DeadlineError(ctx.Err())
	if strict {
		b.cancel(err)
	}
	return err
}

// run builds the index, and puts it online or says that it failed. A build that the closing of the graph or a fault of the
// store interrupts continues when the graph is opened again.
func (b *Build) run() {
	err := b.fill()
	var gerr *graph.Error
	if err != nil && b.ctx.Err() == nil && !errors.As(err, &gerr) {
		b.of.on.Options.Logger.Error("build an index", slog.String("graph", b.of.on.Name), slog.Any("error", err))
	}
	switch {
	case err == nil:
		err = b.finish()
	case b.ctx.Err() != nil:
		err = b.giveUp(context.Cause(b.ctx))
	case gerr != nil && (gerr.Kind == graph.KindExists || gerr.Kind == graph.KindInvalid):
		err = b.giveUp(err)
	}
	b.of.mu.Lock()
	delete(b.of.byID, b.id)
	b.of.mu.Unlock()
	b.cancel(nil)
	b.err = err
	close(b.done)
}

// locked calls f with the index's definition while it holds the writer's lock.
func (b *Build) locked(f func(ix graph.Index) error) error {
	if err := b.of.on.Enter(); err != nil {
		return err
	}
	defer b.of.on.Leave()
	if err := b.of.g.Lock(context.Background()); err != nil {
		return err
	}
	defer b.of.g.Unlock()
	d := b.of.g.Defs().ByID[b.id]
	if d == nil {
		return index.ErrDropped
	}
	return f(d.Index)
}

// finish puts the index online: first for the readers of snapshots from now on, then for planners.
func (b *Build) finish() error {
	return b.locked(func(ix graph.Index) error {
		if b.ctx.Err() != nil {
			return errors.Join(context.Cause(b.ctx), b.of.g.RemoveIndex(ix))
		}
		ix.Online = true
		all := index.All(b.of.catalog)
		for i := range all {
			if all[i].ID == ix.ID {
				all[i] = ix
			}
		}
		b.of.g.SetDefs(all)
		err := b.of.g.Refresh()
		if err == nil {
			err = b.of.catalog.PutIndex(ix, nil)
		}
		if err != nil {
			b.of.g.LoadDefs()
		}
		return err
	})
}

// giveUp removes a constraint that does not hold, and marks an index that could not be built as failed.
func (b *Build) giveUp(cause error) error {
	return b.locked(func(ix graph.Index) error {
		if ix.Unique || ix.Required {
			return errors.Join(cause, b.of.g.RemoveIndex(ix))
		}
		ix.Failure = cause.Error()
		err := b.of.catalog.PutIndex(ix, nil)
		b.of.g.LoadDefs()
		err = errors.Join(err, b.of.g.DropText(ix.ID))
		for _, s := range b.of.shards {
			err = errors.Join(err, s.ClearIndex(ix.ID))
		}
		return errors.Join(cause, err, b.of.g.Refresh())
	})
}
