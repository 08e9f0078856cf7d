package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/bulk"
	"github.com/hopgate/hopgate/internal/shard/local/commitlog"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/maintain"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/shard/local/text"
	"github.com/hopgate/hopgate/internal/shard/local/turns"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// Graph is a graph over local shards. It implements shard.Graph.
//
// A transaction that writes reads a snapshot and its own changes, beside any number of others, and takes the writer's lock
// only to commit: see Tx.rebase for what becomes of conflicts. The lock ends once the changes are applied, and the wait
// for their sync lies outside of it, so that commits that follow each other share syncs. After every commit a snapshot is
// made: a snapshot of each shard. It is published, for new transactions, when the commit and all before it are synced.
// So readers never wait and see nothing that a crash could undo.
//
// Only the writer's lock, and that of a compaction, which is taken before it, are held across waits, so there are no deadlocks. Transactions
// that wait for their turns hold neither.
type Graph struct {
	*storage.Catalog
	*read.Readers
	id       uint64 // see ID
	dir      string
	shards   []*storage.Shard
	writer   chan struct{} // holds one token while somebody writes
	stop     chan struct{} // closed when the graph is being closed
	stopOnce sync.Once
	commits  commits
	turns    turns.Queues

	// The writer's lock guards the fields below.
	intents   uint64
	snapshots uint64
	last      *publication
	loads     bulk.Graph
	untold    bool // changes of the catalog are told by no commit: they are those of commits that are in the log

	defs  atomic.Pointer[index.Defs]
	texts *text.Indexes
	*logged
	compactor *maintain.Compactor
	expirer   *maintain.Expirer
	builds    *maintain.Builds

	mu      sync.Mutex // guards the fields below
	current *snapshot
	bases   map[uint64]int // how many transactions write over a snapshot of a sequence
	recent  []writeSet     // of the commits that one of these, or one that begins now, does not see
}

// due is a time before which nothing expires: nothing that a commit writes, or, if all is set, nothing that there is.
type due struct {
	at  int64 // nanoseconds since 1970
	all bool
}

// snapshot is a snapshot of all shards.
type snapshot struct {
	read.Snapshot
	id   uint64 // of all that were made since the graph was opened
	due  int64  // nothing in it expires before
	size uint64 // vertices and edges
	refs int    // under Graph.mu
}

// publication is a snapshot on its way to the readers.
type publication struct {
	snap *snapshot
	prev *publication
	done chan struct{}
	err  error // set before done is closed
}

func openGraph(ctx context.Context, opts *Options, shared *storage.Shared, name, dir string, m datadir.Manifest, create bool) (_ *Graph, err error) {
	g := &Graph{
		Readers: read.NewReaders(name, opts), id: m.ID, dir: dir, writer: make(chan struct{}, 1), stop: make(chan struct{}), bases: map[uint64]int{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closeShards())
		}
	}()
	g.shards = make([]*storage.Shard, m.Shards)
	if opts.Peers != nil {
		err = g.openPeers(ctx, m.PartOf(name), create)
	} else {
		err = g.openShards(shared, create)
	}
	if err != nil {
		return nil, err
	}
	if g.intents, err = storage.Recover(g.shards); err != nil {
		return nil, err
	}
	g.logged = &logged{}
	if g.log, err = commitlog.Open(host{g}, g.Readers, g.shards, g.stop); err != nil {
		return nil, err
	}
	if g.Catalog, err = storage.OpenCatalog(g.shards[0]); err != nil {
		return nil, err
	}
	if !opts.ReadOnly {
		if err := g.clearDropped(); err != nil {
			return nil, err
		}
	}
	g.loads = bulk.Graph{
		Catalog: g.Catalog, Shards: g.shards, PlaceBlock: opts.Tuning.PlaceBlock, ValueThreshold: opts.ValueThreshold,
	}
	g.loadDefs()
	g.compactor = maintain.NewCompactor(host{g}, g.Readers, g.shards, g.stop)
	g.builds = maintain.NewBuilds(host{g}, g.Readers, g.Catalog, g.shards)
	g.expirer = maintain.NewExpirer(host{g}, g.Readers, func() int64 {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.current.due
	}, g.stop)
	if err := g.expirer.Find(); err != nil {
		return nil, err
	}
	if g.texts, err = text.Open(text.Config{
		Graph: host{g}, Readers: g.Readers, Catalog: g.Catalog, Shards: g.shards, Dir: g.textDir(), Stop: g.stop, Room: shared.Texts(),
	}); err != nil {
		return nil, err
	}
	g.Topology = read.NewTopology(shared.Topology(), m.Shards)
	g.Again = func() (*read.Reader, func(), error) {
		tx, err := g.Begin(context.Background(), shard.Read)
		if err != nil {
			return nil, nil, err
		}
		return &tx.(*Tx).Reader, tx.Rollback, nil
	}
	if g.current, err = g.newSnapshot(); err != nil {
		return nil, err
	}
	g.current.refs = 1
	if !opts.ReadOnly {
		g.compactor.Note()
		go g.compactor.Run()
		go g.expirer.Run()
		go g.log.Run()
		g.texts.Start()
		g.builds.Resume()
	}
	return g, nil
}

// openShards opens the graph's shards, which lie in its directory.
func (g *Graph) openShards(shared *storage.Shared, create bool) (err error) {
	open := storage.OpenShard
	if create {
		open = storage.CreateShard
	}
	for no := range g.shards {
		if g.shards[no], err = open(g.Options, shared, storage.Dir(g.dir, no), no, len(g.shards)); err != nil {
			return err
		}
	}
	return nil
}

// openPeers attaches the graph to its shards. The first one, with which a new graph exists, comes last.
func (g *Graph) openPeers(ctx context.Context, of storage.PartOf, create bool) error {
	attach := func(ctx context.Context, no int) error {
		p, version, err := g.Options.Peers.Open(ctx, of, no, create)
		if err != nil {
			return err
		}
		if g.shards[no], err = storage.OpenPeer(g.Options, p, fmt.Sprintf("shard %d of %s", no, of.Name), no, version); err != nil {
			return errors.Join(err, p.Close())
		}
		return nil
	}
	others, side := errgroup.WithContext(ctx)
	for no := 1; no < of.Shards; no++ {
		others.Go(func() error { return attach(side, no) })
	}
	if err := others.Wait(); err != nil {
		return err
	}
	return attach(ctx, 0)
}

// newSnapshot snapshots all shards. The caller holds the writer's lock.
func (g *Graph) newSnapshot() (*snapshot, error) {
	g.snapshots++
	c := &snapshot{id: g.snapshots, due: g.expirer.Due()}
	last := g.log.Last()
	c.Seq, c.Time, c.Defs = last.Number, last.Time, g.defs.Load()
	for _, s := range g.shards {
		if err := c.Add(s); err != nil {
			g.closeViews(c)
			return nil, err
		}
	}
	c.size = c.Size()
	return c, nil
}

// enqueue makes a snapshot of what has been applied. The caller holds the writer's lock.
func (g *Graph) enqueue() (*publication, error) {
	c, err := g.newSnapshot()
	if err != nil {
		return nil, err
	}
	p := &publication{snap: c, prev: g.last, done: make(chan struct{})}
	g.last = p
	return p, nil
}

// publish waits until all commits before are published, and publishes this one. err is how its own sync ended.
func (g *Graph) publish(p *publication, err error) error {
	if p.prev != nil {
		<-p.prev.done
		if err == nil {
			err = p.prev.err
		}
		p.prev = nil
	}
	p.err = err
	g.mu.Lock()
	old := p.snap
	if err == nil {
		p.snap.refs = 1
		old, g.current = g.current, p.snap
		g.forget()
		if g.current.due < old.due {
			g.expirer.Rouse()
		}
	} else {
		old.refs = 1
	}
	p.snap = nil
	g.mu.Unlock()
	close(p.done)
	g.texts.Wake()
	g.log.Published()
	g.release(old)
	return err
}

// acquire takes the newest snapshot.
func (g *Graph) acquire() *snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.refs++
	return g.current
}

func (g *Graph) release(c *snapshot) {
	g.mu.Lock()
	c.refs--
	last := c.refs == 0
	g.mu.Unlock()
	if last {
		g.closeViews(c)
	}
}

func (g *Graph) closeViews(c *snapshot) {
	if err := c.Close(); err != nil {
		g.Options.Logger.Error("close a snapshot", slog.String("graph", g.Name), slog.Any("error", err))
	}
}

// lock takes the writer's lock.
func (g *Graph) lock(ctx context.Context) error {
	if g.Options.ReadOnly {
		return fail.ReadOnly()
	}
	if err := kv.Alive(ctx); err != nil {
		return err
	}
	select {
	case g.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	case <-g.stop:
		return fail.Closed()
	}
}

func (g *Graph) unlock() { <-g.writer }

// Size implements shard.Graph.
func (g *Graph) Size() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current.size
}

// Begin implements shard.Graph.
func (g *Graph) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	if g.Emptying() {
		return nil, fail.Closed()
	}
	return g.beginAlways(ctx, mode)
}

// BeginStale implements shard.Graph: this process has the present snapshot.
func (g *Graph) BeginStale(ctx context.Context, _ time.Duration) (shard.Tx, error) {
	return g.Begin(ctx, shard.Read)
}

// beginAlways is Begin for work that must not fail while the graph is being emptied, since that may be cancelled.
func (g *Graph) beginAlways(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	if err := kv.Alive(ctx); err != nil {
		return nil, err
	}
	if err := g.Enter(); err != nil {
		return nil, err
	}
	if mode == shard.Read {
		c := g.acquire()
		if c.due == write.Never || g.Options.ReadOnly {
			return g.reader(c), nil
		}
		g.release(c) // something in it may have expired
	}
	tx, err := g.begin(ctx, mode)
	if err != nil {
		g.Leave()
		return nil, err
	}
	return tx, nil
}

// begin opens a transaction on a snapshot, or on the present state, in which nothing has expired.
func (g *Graph) begin(ctx context.Context, mode shard.Mode) (*Tx, error) {
	if mode != shard.Read {
		if err := g.writable(); err != nil {
			return nil, err
		}
	}
	for {
		var c *snapshot
		var at int64
		switch mode {
		case shard.Read:
			c = g.acquire()
			at = c.due
		case shard.WriteExclusive:
			if err := g.lock(ctx); err != nil {
				return nil, err
			}
			at = g.expirer.Due()
		default:
			c = g.acquireBase()
			at = c.due
		}
		if at == write.Never || at > g.expirer.Now() || g.Options.ReadOnly {
			return g.transaction(mode, c), nil
		}
		switch mode {
		case shard.Read:
			g.release(c)
		case shard.WriteExclusive:
			g.unlock()
		default:
			g.releaseBase(c)
		}
		if err := g.expirer.Expire(ctx); err != nil {
			return nil, err
		}
	}
}

// transaction makes a transaction over a snapshot, nil for one that holds the writer's lock.
func (g *Graph) transaction(mode shard.Mode, c *snapshot) *Tx {
	if mode == shard.Read {
		return g.reader(c)
	}
	tx := g.writerOver(c)
	if mode == shard.WriteInTurn {
		tx.turn = &turns.Taker{}
	}
	return tx
}

// writable says why the graph cannot be written to, or nil.
func (g *Graph) writable() error {
	if g.Options.ReadOnly {
		return fail.ReadOnly()
	}
	for _, s := range g.shards {
		if err := s.Writable(); err != nil {
			return err
		}
	}
	return nil
}

// change is what a commit applies.
type change struct {
	ws []*staging.Writer
	// ids name the transactions, origins say where they come from.
	ids     []storage.CommitID
	origins []changelog.Origin
	load    *bulk.Batch         // or nil
	next    due                 // when what was written expires
	info    *storage.CommitInfo // of a commit that is made again; else nil
}

// commit applies the writers' changes and releases the writer's lock, which the caller holds. It returns when they are
// durable and can be read. seq is the commit's number, 0 if there was nothing to commit.
func (g *Graph) commit(c *change) (seq uint64, time int64, err error) {
	some := false
	for _, w := range c.ws {
		some = some || !w.Empty()
		if c.load == nil && w.Entries.Changed() {
			g.loads.Keys = nil
		}
	}
	g.loads.NotePairs(c.ws)
	written := writeSetOf(c.ws)
	info := c.info
	if info == nil {
		info = g.log.Next(c.ids, c.origins)
	}
	wait, err := storage.Commit(g.shards, c.ws, info, &g.intents)
	if err != nil {
		g.loads.Keys = nil
	} else if c.load != nil {
		c.load.Committed()
	}
	if err != nil || !some {
		g.unlock()
		return 0, 0, err
	}
	seq = info.Number
	g.log.Done(info)
	if c.next.all {
		g.expirer.Set(c.next.at)
	} else {
		g.expirer.Note(c.next.at)
	}
	g.remember(seq, written)
	g.Topology.Note(seq, c.ws)
	if c.load != nil {
		g.Topology.NoteAll(seq)
	}
	p, err := g.enqueue()
	g.compactor.Note()
	g.unlock()
	if err != nil {
		return seq, info.Time, errors.Join(err, wait())
	}
	return seq, info.Time, g.publish(p, wait())
}

// close closes the graph after the transactions that run have ended.
func (g *Graph) close(ctx context.Context) error {
	g.Shut()
	g.stopOnce.Do(func() { close(g.stop) })
	select {
	case <-g.Idle():
	case <-ctx.Done():
		return graph.DeadlineError(ctx.Err())
	}
	if !g.Options.ReadOnly {
		g.compactor.Wait()
		g.expirer.Wait()
		g.log.Wait()
	}
	g.builds.Wait()
	err := g.texts.Close()
	g.release(g.current)
	g.Topology.Close()
	return errors.Join(err, g.closeShards())
}

func (g *Graph) closeShards() error {
	var errs []error
	for _, s := range g.shards {
		if s != nil { // it was opened
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// Settle compacts all delta records, so that reads take the packed form alone.
func (g *Graph) Settle(ctx context.Context) error {
	if err := g.Enter(); err != nil {
		return err
	}
	defer g.Leave()
	for {
		if some, err := g.compactor.Step(ctx); err != nil || !some {
			return err
		}
	}
}

// Flush writes all memtables to tables.
func (g *Graph) Flush(ctx context.Context) error {
	if err := g.Enter(); err != nil {
		return err
	}
	defer g.Leave()
	var errs []error
	for _, s := range g.shards {
		errs = append(errs, s.Flush(ctx))
	}
	return errors.Join(errs...)
}

// ID is the graph's, if its shards are in several processes: one that is made again under its name has another.
func (g *Graph) ID() uint64 { return g.id }

// Shards is the number of the graph's shards.
func (g *Graph) Shards() int { return len(g.shards) }

// textDir is the directory of the graph's full-text indexes. Where all shards are replicas it names the graph by its id, which no later
// graph has: the process may not lead while the graph is dropped and another takes its name.
func (g *Graph) textDir() string {
	if g.dir == "" {
		return filepath.Join(g.Options.Dir, datadir.TextsName, fmt.Sprintf("%016x", g.id))
	}
	return filepath.Join(g.dir, datadir.TextsName)
}
