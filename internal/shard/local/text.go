package local

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
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// A full-text index lies in a store of its own, beside the shards: DIR/search/ID. With replicas, each process that has led the cluster has
// one, which it takes up again when it leads if the queue still has what it lacks. Each commit queues, in its batches, what it has changed
// (storage/texts.go); a goroutine of each index reads what is queued in the newest snapshot and puts it into the index, with a mark: how
// far in the queue of each shard it is. A search waits until the mark has reached its snapshot. What was changed after the snapshot, or
// by the transaction itself, it leaves out of the index and takes from the transaction instead (tx_text.go). After a crash the index has
// an earlier state and its mark, and goes on from there. An index that is missing or damaged is built again.

// texts are the full-text indexes of a graph.
type texts struct {
	mu   sync.RWMutex
	byID map[graph.IndexID]*textIndex
	room *storage.TextRoom
	// started says that the indexes follow the graph.
	started bool
}

// textIndex is a full-text index that is open.
type textIndex struct {
	g        *Graph
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
	held      map[uint64]func() // by number of a batch that is not on disk: what gives its memory back
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

func (t *texts) find(id graph.IndexID) *textIndex {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// wake tells the indexes that there may be changes.
func (t *texts) wake() {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, x := range t.byID {
		x.wake()
	}
}

// close closes all indexes.
func (t *texts) close() error {
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

// openTexts opens the indexes of a graph that is being opened, and removes those that were dropped.
func (g *Graph) openTexts() error {
	if g.Options.ReadOnly {
		return nil
	}
	for _, ix := range g.Indexes() {
		if ix.Kind == graph.FullTextIndex && ix.Failure == "" {
			if err := g.openText(ix.ID); err != nil {
				return err
			}
		}
	}
	if g.Options.FS != vfs.Default {
		return nil
	}
	return removeTexts(g.textDir(), g.texts.uses)
}

// textDir is the directory of the graph's full-text indexes. Where all shards are replicas it names the graph by its id, which no later
// graph has: the process may not lead while the graph is dropped and another takes its name.
func (g *Graph) textDir() string {
	if g.dir == "" {
		return filepath.Join(g.Options.Dir, datadir.TextsName, fmt.Sprintf("%016x", g.id))
	}
	return filepath.Join(g.dir, datadir.TextsName)
}

// removeTexts removes what lies in a directory of full-text indexes and is not in use any more.
func removeTexts(dir string, used func(dir string) bool) error {
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

func (t *texts) uses(dir string) bool {
	for _, x := range t.byID {
		if x.dir == dir {
			return true
		}
	}
	return false
}

// openText opens a full-text index and has it built again if it is not what its mark says. The caller holds the writer's lock, or is
// opening the graph.
func (g *Graph) openText(id graph.IndexID) error {
	d := g.defs.Load().ByID[id]
	a, err := search.FindAnalyzer(d.Text.Analyzer)
	if err != nil {
		return err
	}
	x := &textIndex{
		g: g, id: id, analyzer: a, wakes: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
		persisted: make([]uint64, len(g.shards)),
	}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	if g.Options.FS == vfs.Default {
		x.dir = filepath.Join(g.textDir(), fmt.Sprintf("%08d", id))
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
	g.texts.mu.Lock()
	if g.texts.byID == nil {
		g.texts.byID = map[graph.IndexID]*textIndex{}
	}
	g.texts.byID[id] = x
	started := g.texts.started
	g.texts.mu.Unlock()
	if started {
		go x.run()
	}
	return nil
}

// start makes the indexes follow the graph, once it has a snapshot.
func (t *texts) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started = true
	for _, x := range t.byID {
		go x.run()
	}
}

// views returns views of all shards as they are. The caller closes them.
func (x *textIndex) views() (views []*view.View, err error) {
	for _, s := range x.g.shards {
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

// errNoMark says that an index was never begun.
var errNoMark = errors.New("there is no index yet")

// load opens the index and reads its mark. An error says why it must be built again.
func (x *textIndex) load(views []*view.View) error {
	if x.dir != "" {
		if _, err := os.Stat(x.dir); err != nil {
			return errNoMark
		}
	}
	ix, err := search.Open(x.dir, x.analyzer, false)
	if err != nil {
		return err
	}
	if err = x.loadMark(ix, views); err != nil {
		return errors.Join(err, ix.Close())
	}
	x.index = ix
	return nil
}

func (x *textIndex) loadMark(ix *search.Index, views []*view.View) error {
	r, err := ix.Reader()
	if err != nil {
		return err
	}
	b, err := r.Mark()
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if b == nil {
		return errNoMark
	}
	m, ok := decodeTextMark(b, len(views))
	if !ok {
		return errors.New("its mark is malformed")
	}
	for no, v := range views {
		trim, err := v.TextTrim(x.id)
		switch {
		case err != nil:
			return err
		case m.next[no] < trim || m.until[no] > v.NextText():
			return fmt.Errorf("it is of another state of the graph: shard %d has changes from %d to %d, the index those up to %d", no, trim, v.NextText(), m.next[no])
		}
	}
	x.kept, x.next, x.persisted = m, slices.Clone(m.next), slices.Clone(m.next)
	return nil
}

// renew makes an empty index. If it was online, it is built from the beginning; else its build has not begun, or begins again.
func (x *textIndex) renew(views []*view.View, online bool, why error) (err error) {
	if online {
		x.g.Options.Logger.Warn("build a full-text index again", slog.String("graph", x.g.Name), slog.Uint64("index", uint64(x.id)), slog.Any("reason", why))
	}
	if x.dir != "" {
		if err := os.RemoveAll(x.dir); err != nil {
			return fmt.Errorf("remove a full-text index: %w", err)
		}
	}
	d := x.g.defs.Load().ByID[x.id]
	if err := x.g.ResetIndex(d.Index); err != nil {
		return err
	}
	x.g.loadDefs()
	if x.dir != "" {
		if err := os.MkdirAll(filepath.Dir(x.dir), 0o755); err != nil {
			return err
		}
	}
	if x.index, err = search.Open(x.dir, x.analyzer, false); err != nil {
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

// dropText closes a full-text index and deletes it. The caller holds the writer's lock.
func (g *Graph) dropText(id graph.IndexID) error {
	g.texts.mu.Lock()
	x := g.texts.byID[id]
	delete(g.texts.byID, id)
	g.texts.mu.Unlock()
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
func (x *textIndex) close() error {
	x.cancel()
	if x.g.texts.started {
		<-x.done
	}
	x.mu.Lock()
	ix := x.index
	x.index, x.err = nil, errTextGone
	x.notifyWaiters()
	x.mu.Unlock()
	return x.closeIndex(ix)
}

// closeIndex closes an index, and gives back the memory of what it did not put on disk. The caller does not hold x.mu, for which what the
// index does in the background may wait.
func (x *textIndex) closeIndex(ix *search.Index) error {
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

var errTextGone = unavailable("TextIndexClosed", "the full-text index was dropped, or its graph is being closed")

func unavailable(detail, msg string) error {
	return fail.New(graph.KindUnavailable, "Neo.TransientError.General.DatabaseUnavailable", detail, "%s", msg)
}

func (x *textIndex) wake() {
	select {
	case x.wakes <- struct{}{}:
	default:
	}
}

// notifyWaiters wakes those that wait for the index. The caller holds x.mu.
func (x *textIndex) notifyWaiters() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// wait returns once all changes before next are in the index.
func (x *textIndex) wait(ctx context.Context, next []uint64) error {
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
		case <-x.g.stop:
			return fail.Closed()
		}
	}
}

// reader returns the present state of the index with its mark. The caller closes it.
func (x *textIndex) reader() (r *search.Reader, m textMark, err error) {
	x.mu.Lock()
	ix, err := x.index, x.err
	if err == nil {
		r, err = ix.Reader()
	}
	x.mu.Unlock()
	if err != nil {
		return nil, m, err
	}
	b, err := r.Mark()
	if err == nil {
		var ok bool
		if m, ok = decodeTextMark(b, len(x.g.shards)); !ok {
			err = graph.CorruptError("read the mark of a full-text index", nil)
		}
	}
	if err != nil {
		return nil, m, errors.Join(err, r.Close())
	}
	return r, m, nil
}

// part is about which part of all changes is in the index, from 0 to 1.
func (x *textIndex) part() float64 {
	c := x.g.acquire()
	defer x.g.release(c)
	x.mu.Lock()
	defer x.mu.Unlock()
	done, all := 1.0, 1.0
	for no, v := range c.Views {
		done, all = done+float64(x.next[no]), all+float64(v.NextText())
	}
	return min(done/all, 1)
}

// settleText waits until a full-text index has all that is queued.
func (g *Graph) settleText(ctx context.Context, id graph.IndexID) error {
	x := g.texts.find(id)
	if x == nil {
		return errDropped
	}
	c := g.acquire()
	next := make([]uint64, len(c.Views))
	for no, v := range c.Views {
		next[no] = v.NextText()
	}
	g.release(c)
	return x.wait(ctx, next)
}

// textPause is how long an index rests after it could not follow, and until it tries again to trim its queue.
const textPause = time.Second
