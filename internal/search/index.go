package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hopgate/hopgate/internal/search/segment"
)

// ID names a document; the bytes are the caller's.
type ID []byte

// Doc is a document: texts by field.
type Doc struct {
	ID     ID
	Fields []Field
}

// Field are the texts of a field. Several are the elements of a list: no phrase reaches from one to the next.
type Field struct {
	Name  string
	Texts []string
}

// sum is a checksum of what a document holds.
func (d *Doc) sum(h *xxhash.Digest) uint32 {
	h.Reset()
	var size [binary.MaxVarintLen64]byte
	put := func(s string) {
		_, _ = h.Write(binary.AppendUvarint(size[:0], uint64(len(s))))
		_, _ = h.WriteString(s)
	}
	for _, f := range d.Fields {
		put(f.Name)
		for _, t := range f.Texts {
			put(t)
		}
		put("")
	}
	return uint32(h.Sum64())
}

// Batch is a set of changes that become visible together.
type Batch struct {
	Docs   []Doc // take the place of those with the same IDs
	Delete []ID
	// Mark is what Reader.Mark then returns.
	Mark []byte
	// Persisted, if not nil, is called once the changes survive a crash, or cannot.
	Persisted func(err error)
}

// Index is a full-text index, in a directory or in memory: segments that never change, and for each the documents that are dead in it. One
// goroutine at a time may write.
//
// Apply makes a segment in memory and replaces the state. Of an index on disk, one goroutine merges the segments in memory into a file and then
// replaces the file that names the segments of a state, so that a crash leaves that state or the one before; another one merges files.
type Index struct {
	analyzer *Analyzer
	dir      string

	mu      sync.Mutex
	state   *state
	waiting []func(error) // of batches that are not on disk
	file    uint64        // the number of the last file

	stored  *state        // on disk; only the goroutine that persists uses it
	changes chan struct{} // wakes it
	files   chan struct{} // wakes the goroutine that merges files
	ctx     context.Context
	cancel  context.CancelFunc // ends both
	work    sync.WaitGroup
	closing atomic.Bool
	failed  atomic.Pointer[error]
}

// state is what an index is at a time. It never changes; the last who uses it closes its segments.
type state struct {
	parts []part
	mark  []byte
	stats Stats
	users atomic.Int32
}

// part is a segment of a state.
type part struct {
	*holder
	dead   []uint64 // a bit for each dead document; nil: none
	living int
}

// holder holds a segment for the states that have it. The last to release it removes its file, unless the index is being closed: the state
// on disk has its segments too.
type holder struct {
	seg   *segment.Segment
	of    *Index
	file  uint64 // 0: in memory
	users atomic.Int32
}

func (h *holder) release() error {
	if h.users.Add(-1) > 0 {
		return nil
	}
	err := h.seg.Close()
	if h.file > 0 && !h.of.closing.Load() {
		err = errors.Join(err, os.Remove(filepath.Join(h.of.dir, fileName(h.file))))
	}
	return err
}

func (p *part) isDead(doc uint32) bool { return p.dead != nil && p.dead[doc>>6]>>(doc&63)&1 != 0 }

// newState returns a state that its caller uses.
func newState(parts []part, mark []byte, stats Stats) *state {
	s := &state{parts: parts, mark: mark, stats: stats}
	s.users.Store(1)
	for i := range parts {
		parts[i].users.Add(1)
	}
	return s
}

// release ends a use.
func (s *state) release() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	var errs []error
	for i := range s.parts {
		errs = append(errs, s.parts[i].holder.release())
	}
	return errors.Join(errs...)
}

// Stats count what was ever put into an index, by field: documents with the field, and terms. Their quotients are the average lengths of
// fields; what was replaced or deleted counts on.
type Stats struct {
	Docs, Terms map[string]uint64
}

func (s *Stats) add(o *Stats) {
	for f, n := range o.Docs {
		s.count(f, n, o.Terms[f])
	}
}

func (s *Stats) count(field string, docs, terms uint64) {
	if s.Docs == nil {
		s.Docs, s.Terms = map[string]uint64{}, map[string]uint64{}
	}
	s.Docs[field] += docs
	s.Terms[field] += terms
}

func (s *Stats) clone() Stats { return Stats{maps.Clone(s.Docs), maps.Clone(s.Terms)} }

// Open opens the index in a directory, making it if it is not there; without a directory, a new one in memory, which
// need not be closed.
func Open(dir string, a *Analyzer) (*Index, error) {
	x := &Index{analyzer: a, dir: dir}
	if dir == "" {
		x.state = newState(nil, nil, Stats{})
		return x, nil
	}
	if err := x.load(); err != nil {
		return nil, fmt.Errorf("open the full-text index %s: %w", dir, err)
	}
	x.changes, x.files = make(chan struct{}, 1), make(chan struct{}, 1)
	x.ctx, x.cancel = context.WithCancel(context.Background())
	wake(x.files)
	x.work.Go(x.persistAll)
	x.work.Go(x.mergeAll)
	return x, nil
}

// Close closes the index, whose readers must be closed. What is not persisted is lost.
func (x *Index) Close() error {
	x.closing.Store(true)
	if x.cancel != nil {
		x.cancel()
	}
	x.work.Wait()
	x.mu.Lock()
	s := x.state
	x.state, x.waiting = nil, nil
	x.mu.Unlock()
	err := s.release()
	if x.stored != nil {
		err = errors.Join(err, x.stored.release())
	}
	return err
}

// Err says what went wrong in the background, or nil.
func (x *Index) Err() error {
	if p := x.failed.Load(); p != nil {
		return fmt.Errorf("the full-text index %s: %w", x.dir, *p)
	}
	return nil
}

// alone is how many documents of a batch one goroutine splits, at least.
const alone = 256

// Apply makes changes visible.
func (x *Index) Apply(b *Batch) error {
	if err := x.Err(); err != nil {
		return err
	}
	docs := sorted(b.Docs)
	goroutines := max(1, min(runtime.GOMAXPROCS(0), len(docs)/alone))
	made := make([]part, goroutines)
	stats := make([]Stats, goroutines)
	var work errgroup.Group
	for i := range made {
		some := docs[i*len(docs)/goroutines : (i+1)*len(docs)/goroutines]
		work.Go(func() (err error) {
			made[i], stats[i], err = x.segment(some)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	made = slices.DeleteFunc(made, func(p part) bool { return p.living == 0 })
	if err := x.add(b, docs, made, stats); err != nil {
		return err
	}
	if b.Persisted != nil && x.dir == "" {
		b.Persisted(nil)
	}
	return nil
}

// add replaces the state by one with the segments of a batch.
func (x *Index) add(b *Batch, docs []*Doc, made []part, stats []Stats) (err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == nil {
		return errClosed
	}
	parts := slices.Clone(x.state.parts)
	for i := range parts {
		parts[i].without(docs, b.Delete)
	}
	parts = append(slices.DeleteFunc(parts, func(p part) bool { return p.living == 0 }), made...)
	all := x.state.stats.clone()
	for i := range stats {
		all.add(&stats[i])
	}
	if x.dir == "" {
		if parts, err = x.mergeInMemory(parts); err != nil {
			return err
		}
	}
	if err := x.become(newState(parts, b.Mark, all)); err != nil {
		return err
	}
	if x.dir != "" {
		if b.Persisted != nil {
			x.waiting = append(x.waiting, b.Persisted)
		}
		wake(x.changes)
	}
	return nil
}

// become replaces the state. The caller holds x.mu.
func (x *Index) become(s *state) error {
	old := x.state
	x.state = s
	return old.release()
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sorted returns documents in the order of their IDs, of several with one ID the last.
func sorted(docs []Doc) []*Doc {
	out := make([]*Doc, len(docs))
	for i := range docs {
		out[i] = &docs[i]
	}
	slices.SortStableFunc(out, func(a, b *Doc) int { return bytes.Compare(a.ID, b.ID) })
	n := 0
	for i, d := range out {
		if i+1 == len(out) || !bytes.Equal(d.ID, out[i+1].ID) {
			out[n] = d
			n++
		}
	}
	return out[:n]
}

// without marks the documents with some IDs as dead.
func (p *part) without(docs []*Doc, ids []ID) {
	own := false
	mark := func(id []byte) {
		doc, ok := p.seg.Find(id)
		if !ok || p.isDead(doc) {
			return
		}
		if !own {
			own = true
			p.dead = slices.Clone(p.dead)
		}
		p.bury(doc)
	}
	if len(docs) > 0 {
		least, greatest := p.seg.Bounds()
		if bytes.Compare(docs[0].ID, greatest) <= 0 && bytes.Compare(least, docs[len(docs)-1].ID) <= 0 {
			for _, d := range docs {
				mark(d.ID)
			}
		}
	}
	for _, id := range ids {
		mark(id)
	}
}

// bury marks a living document as dead, in bits of the part's own.
func (p *part) bury(doc uint32) {
	if p.dead == nil {
		p.dead = make([]uint64, (p.seg.Docs()+63)/64)
	}
	p.dead[doc>>6] |= 1 << (doc & 63)
	p.living--
}

// segment makes a segment in memory.
func (x *Index) segment(docs []*Doc) (part, Stats, error) {
	var b segment.Builder
	var s Stats
	var h xxhash.Digest
	var buf []byte
	for _, d := range docs {
		b.Add(d.ID, d.sum(&h))
		for _, f := range d.Fields {
			to := b.Field(f.Name)
			for i, text := range f.Texts {
				buf = x.analyzer.each(text, buf, func(term []byte, pos int) { to.Add(term, i, pos) })
			}
			s.count(f.Name, 1, uint64(to.Length()))
		}
	}
	seg, err := segment.New(b.Finish())
	return part{holder: &holder{seg: seg, of: x}, living: len(docs)}, s, err
}

var errClosed = errors.New("the full-text index is closed")

// Reader is one state of an index.
type Reader struct{ *state }

// Reader returns the present state, which lasts until it is closed.
func (x *Index) Reader() (*Reader, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == nil {
		return nil, errClosed
	}
	x.state.users.Add(1)
	return &Reader{x.state}, nil
}

// Close ends the reader.
func (r *Reader) Close() error { return r.release() }

// Mark is that of the last batch; nil before the first.
func (r *Reader) Mark() []byte { return r.mark }

// Docs is the number of documents.
func (r *Reader) Docs() (n uint64) {
	for i := range r.parts {
		n += uint64(r.parts[i].living)
	}
	return n
}

// Holds reports whether the index has a document just as it is, by a checksum of 32 bits.
func (r *Reader) Holds(d *Doc) bool {
	var h xxhash.Digest
	for i := range r.parts {
		p := &r.parts[i]
		if doc, ok := p.seg.Find(d.ID); ok && !p.isDead(doc) {
			return p.seg.Sum(doc) == d.sum(&h)
		}
	}
	return false
}

// EachID calls f with the IDs of all documents, until it fails. An ID is valid until f returns.
func (r *Reader) EachID(f func(id ID) error) error {
	for i := range r.parts {
		p := &r.parts[i]
		ids := p.seg.IDs()
		for doc := range uint32(p.seg.Docs()) {
			if p.isDead(doc) {
				continue
			}
			id := ids.ID(doc)
			if id == nil {
				return segment.ErrCorrupt
			}
			if err := f(id); err != nil {
				return err
			}
		}
	}
	return nil
}
