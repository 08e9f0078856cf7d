package text

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Graph is what full-text indexes follow.
type Graph interface {
	// Newest returns the newest snapshot, for use until release is called.
	Newest() (snap *read.Snapshot, release func())
	// ReadNewest begins to read the newest snapshot, even if something in it has expired, until end is called.
	ReadNewest() (tx *read.Tx, end func(), err error)
	// Defs are the present definitions. LoadDefs makes them follow the catalog.
	Defs() *index.Defs
	LoadDefs()
	// TryLock takes the writer's lock if it is free. Unlock returns it.
	TryLock() bool
	Unlock()
	// Note queues owners, so that an index reads them again.
	Note(ctx context.Context, id graph.IndexID, owners []graph.IndexOwner) error
}

// Config says what Indexes belong to.
type Config struct {
	Graph   Graph
	Readers *read.Readers
	Catalog *storage.Catalog
	Shards  []*storage.Shard
	Dir     string          // of the indexes; they lie in memory unless the graph's file system is that of the machine
	Stop    <-chan struct{} // closed when the graph is being closed
	Room    *storage.TextRoom
}

// Indexes are the full-text indexes of a graph.
type Indexes struct {
	g       Graph
	on      *read.Readers
	catalog *storage.Catalog
	shards  []*storage.Shard
	dir     string
	stop    <-chan struct{}
	room    *storage.TextRoom

	mu   sync.RWMutex
	byID map[graph.IndexID]*Index
	// started says that the indexes follow the graph.
	started bool
}

// Index is a full-text index that is open.
type Index struct {
	of       *Indexes
	id       graph.IndexID
	analyzer *search.Analyzer
	dir      string // "": in memory
	wakes    chan struct{}
	ctx      context.Context // ended when the index is closed
	cancel   context.CancelFunc
	done     chan struct{}

	// Only the goroutine uses the fields below.
	kept    textMark // of the last batch
	trimmed uint64   // the sum of kept.next at the last trim

	mu        sync.Mutex
	index     *search.Index
	next      []uint64 // by shard: the changes before are in the index
	persisted []uint64 // on disk too
	err       error    // why the index cannot follow
	changed   chan struct{}
	batches   uint64            // so far
	held      map[uint64]func() // by number of a batch that is not on disk: what returns its memory
}

// textMark is how far an index is, by shard: it has all changes before next, and none from until on.
type textMark struct{ next, until []uint64 }

func (m *textMark) encode() []byte {
	var b []byte
	for no := range m.next {
		b = binary.AppendUvarint(binary.AppendUvarint(b, m.next[no]), m.until[no])
	}
	return b
}

// decodeTextMark reads the mark of an index over some shards; ok is false if it is none.
func decodeTextMark(b []byte, shards int) (m textMark, ok bool) {
	for range shards {
		next, n := binary.Uvarint(b)
		until, k := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || k <= 0 {
			return m, false
		}
		b = b[n+k:]
		m.next, m.until = append(m.next, next), append(m.until, until)
	}
	return m, len(b) == 0
}

func (t *Indexes) find(id graph.IndexID) *Index {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// Wake tells the indexes about possible changes.
func (t *Indexes) Wake() {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, x := range t.byID {
		x.wake()
	}
}

// Close closes all indexes.
func (t *Indexes) Close() error {
	t.mu.Lock()
	all := t.byID
	t.byID = nil
	t.mu.Unlock()
	var errs []error
	for _, x := range all {
		errs = append(errs, x.close())
	}
	return errors.Join(errs...)
}

// Open opens the indexes of a graph that is being opened, and removes those that were dropped.
func Open(c Config) (*Indexes, error) {
	t := &Indexes{g: c.Graph, on: c.Readers, catalog: c.Catalog, shards: c.Shards, dir: c.Dir, stop: c.Stop, room: c.Room}
	if t.on.Options.ReadOnly {
		return t, nil
	}
	for _, ix := range t.catalog.Indexes() {
		if ix.Kind == graph.FullTextIndex && ix.Failure == "" {
			if err := t.Open(ix.ID); err != nil {
				return nil, errors.Join(err, t.Close())
			}
		}
	}
	if t.on.Options.FS == vfs.Default {
		if err := Remove(t.dir, t.uses); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// Remove removes the full-text indexes of a directory that are not in use.
func Remove(dir string, used func(dir string) bool) error {
	dirs, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, d := range dirs {
		if sub := filepath.Join(dir, d.Name()); !used(sub) {
			if err := os.RemoveAll(sub); err != nil {
				return fmt.Errorf("remove a full-text index that was dropped: %w", err)
			}
		}
	}
	return nil
}

func (t *Indexes) uses(dir string) bool {
	for _, x := range t.byID {
		if x.dir == dir {
			return true
		}
	}
	return false
}

// Open opens a full-text index and has it built again if it is not what its mark says. The caller holds the writer's lock, or is
// opening the graph.
func (t *Indexes) Open(id graph.IndexID) error {
	d := t.g.Defs().ByID[id]
	a, err := search.FindAnalyzer(d.Text.Analyzer)
	if err != nil {
		return err
	}
	x := &Index{
		of: t, id: id, analyzer: a, wakes: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
		persisted: make([]uint64, len(t.shards)),
	}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	if t.on.Options.FS == vfs.Default {
		x.dir = filepath.Join(t.dir, fmt.Sprintf("%08d", id))
	}
	views, err := x.views()
	if err != nil {
		return err
	}
	why := x.load(views)
	if why != nil {
		err = x.renew(views, d.Online, why)
	}
	for _, v := range views {
		err = errors.Join(err, v.Close())
	}
	if err != nil {
		if x.index != nil {
			err = errors.Join(err, x.index.Close())
		}
		return err
	}
	t.mu.Lock()
	if t.byID == nil {
		t.byID = map[graph.IndexID]*Index{}
	}
	t.byID[id] = x
	started := t.started
	t.mu.Unlock()
	if started {
		go x.run()
	}
	return nil
}

// Start makes the indexes follow the graph, once it has a snapshot.
func (t *Indexes) Start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started = true
	for _, x := range t.byID {
		go x.run()
	}
}

// views returns views of all shards as they are. The caller closes them.
func (x *Index) views() (views []*view.View, err error) {
	for _, s := range x.of.shards {
		v, err := s.Snapshot()
		if err != nil {
			return nil, errors.Join(err, closeAll(views))
		}
		views = append(views, v)
	}
	return views, nil
}

func closeAll(views []*view.View) error {
	var errs []error
	for _, v := range views {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}

// errNoMark reports an index that was never begun.
var errNoMark = errors.New("the index does not exist yet")

// load opens the index and reads its mark. An error says why it must be built again.
func (x *Index) load(views []*view.View) error {
	if x.dir != "" {
		if _, err := os.Stat(x.dir); err != nil {
			return errNoMark
		}
	}
	ix, err := search.Open(x.dir, x.analyzer)
	if err != nil {
		return err
	}
	if err = x.loadMark(ix, views); err != nil {
		return errors.Join(err, ix.Close())
	}
	x.index = ix
	return nil
}

func (x *Index) loadMark(ix *search.Index, views []*view.View) error {
	r, err := ix.Reader()
	if err != nil {
		return err
	}
	b := slices.Clone(r.Mark())
	if err := r.Close(); err != nil {
		return err
	}
	if len(b) == 0 {
		return errNoMark
	}
	m, ok := decodeTextMark(b, len(views))
	if !ok {
		return errors.New("malformed mark")
	}
	for no, v := range views {
		trim, err := v.TextTrim(x.id)
		switch {
		case err != nil:
			return err
		case m.next[no] < trim || m.until[no] > v.NextText():
			return fmt.Errorf("the index belongs to another state of the graph: shard %d has changes %d to %d, the index has those up to %d", no, trim, v.NextText(), m.next[no])
		}
	}
	x.kept, x.next, x.persisted = m, slices.Clone(m.next), slices.Clone(m.next)
	return nil
}

// renew makes an empty index. If it was online, it is built from the beginning; else its build has not begun, or begins again.
func (x *Index) renew(views []*view.View, online bool, why error) (err error) {
	if online {
		x.of.on.Options.Logger.Warn("rebuild a full-text index", slog.String("graph", x.of.on.Name), slog.Uint64("index", uint64(x.id)), slog.Any("reason", why))
	}
	if x.dir != "" {
		if err := os.RemoveAll(x.dir); err != nil {
			return fmt.Errorf("remove a full-text index: %w", err)
		}
	}
	d := x.of.g.Defs().ByID[x.id]
	if err := x.of.catalog.ResetIndex(d.Index); err != nil {
		return err
	}
	x.of.g.LoadDefs()
	if x.dir != "" {
		if err := os.MkdirAll(filepath.Dir(x.dir), 0o755); err != nil {
			return err
		}
	}
	if x.index, err = search.Open(x.dir, x.analyzer); err != nil {
		return err
	}
	x.kept = textMark{make([]uint64, len(views)), make([]uint64, len(views))}
	for no, v := range views {
		if x.kept.next[no], err = v.TextTrim(x.id); err != nil {
			return err
		}
		x.kept.until[no] = v.NextText()
	}
	x.next = slices.Clone(x.kept.next)
	return x.index.Apply(&search.Batch{Mark: x.kept.encode()})
}

// Drop closes a full-text index and deletes it. The caller holds the writer's lock.
func (t *Indexes) Drop(id graph.IndexID) error {
	t.mu.Lock()
	x := t.byID[id]
	delete(t.byID, id)
	t.mu.Unlock()
	if x == nil {
		return nil
	}
	err := x.close()
	if x.dir != "" {
		err = errors.Join(err, os.RemoveAll(x.dir))
	}
	return err
}

// close ends the goroutine and closes the index.
func (x *Index) close() error {
	x.cancel()
	if x.of.started {
		<-x.done
	}
	x.mu.Lock()
	ix := x.index
	x.index, x.err = nil, errTextGone
	x.notifyWaiters()
	x.mu.Unlock()
	return x.closeIndex(ix)
}

// closeIndex closes an index, and returns the memory of batches that are not on disk. The caller does not hold x.mu, for which background
// work of the index may wait.
func (x *Index) closeIndex(ix *search.Index) error {
	if ix == nil {
		return nil
	}
	err := ix.Close()
	x.mu.Lock()
	held := x.held
	x.held = nil
	x.mu.Unlock()
	for _, give := range held {
		give()
	}
	return err
}

var errTextGone = unavailable("TextIndexClosed", "the full-text index was dropped, or its graph is closing")

func unavailable(detail, msg string) error {
	return fail.New(graph.KindUnavailable, "Neo.TransientError.General.DatabaseUnavailable", detail, "%s", msg)
}

func (x *Index) wake() {
	select {
	case x.wakes <- struct{}{}:
	default:
	}
}

// notifyWaiters wakes those that wait for the index. The caller holds x.mu.
func (x *Index) notifyWaiters() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// wait returns once all changes before next are in the index.
func (x *Index) wait(ctx context.Context, next []uint64) error {
	for {
		x.mu.Lock()
		err, changed := x.err, x.changed
		ready := true
		for no := range next {
			ready = ready && x.next[no] >= next[no]
		}
		x.mu.Unlock()
		switch {
		case err != nil:
			return err
		case ready:
			return nil
		}
		x.wake()
		select {
		case <-changed:
		case <-ctx.Done():
			return graph.DeadlineError(ctx.Err())
		case <-x.ctx.Done():
			return errTextGone
		case <-x.of.stop:
			return fail.Closed()
		}
	}
}

// reader returns the present state of the index with its mark. The caller closes it.
func (x *Index) reader() (r *search.Reader, m textMark, err error) {
	x.mu.Lock()
	ix, err := x.index, x.err
	if err == nil {
		r, err = ix.Reader()
	}
	x.mu.Unlock()
	if err != nil {
		return nil, m, err
	}
	m, ok := decodeTextMark(r.Mark(), len(x.of.shards))
	if !ok {
		return nil, m, errors.Join(graph.CorruptError("read the mark of a full-text index", nil), r.Close())
	}
	return r, m, nil
}

// Progress is about which part of all changes is in an index, from 0 to 1.
func (t *Indexes) Progress(id graph.IndexID) float64 {
	x := t.find(id)
	if x == nil {
		return 1
	}
	c, release := t.g.Newest()
	defer release()
	x.mu.Lock()
	defer x.mu.Unlock()
	done, all := 1.0, 1.0
	for no, v := range c.Views {
		done, all = done+float64(x.next[no]), all+float64(v.NextText())
	}
	return min(done/all, 1)
}

// Settle waits until a full-text index has all that is queued.
func (t *Indexes) Settle(ctx context.Context, id graph.IndexID) error {
	x := t.find(id)
	if x == nil {
		return index.ErrDropped
	}
	c, release := t.g.Newest()
	next := nextOf(c.Views)
	release()
	return x.wait(ctx, next)
}

// textPause is how long an index waits after an error, and until it tries again to trim its queue.
const textPause = time.Second
