package bulk

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A table of keys that outgrows its memory goes to disk as a run: its entries in the order of their hashes, newer runs over
// older ones. Keys are looked up many at a time, in the same order, so that a batch of them passes over a run once.

// keySpill stores the entries of tables beyond their memory.
type keySpill struct {
	fs    vfs.FS
	dir   string
	limit int // bytes that all tables of a graph may take
	made  int // runs so far, which names them
	open  map[*keyRun]bool
	seek  keySeeker // of those who hold the writer's lock
}

// close removes all runs.
func (k *keySpill) close() error {
	var errs []error
	for r := range k.open {
		errs = append(errs, k.remove(r))
	}
	return errors.Join(errs...)
}

func (k *keySpill) remove(r *keyRun) error {
	delete(k.open, r)
	return errors.Join(r.f.Close(), k.fs.Remove(r.path))
}

// keyEntry is a key's hash, under which it is sorted, and its vertex. An integer has a hash of one word, which no other has.
type keyEntry struct {
	hash [2]uint64
	id   graph.VertexID
}

func (e *keyEntry) compare(o *keyEntry) int {
	return cmp.Or(cmp.Compare(e.hash[0], o.hash[0]), cmp.Compare(e.hash[1], o.hash[1]))
}

const (
	// mix makes hashes of the keys of integers, and unmix keys of these.
	mix, unmix uint64 = 0x9e3779b97f4a7c15, 0xf1de83e19937733d
	// runBlock is the number of entries that are read together, and runRead how many such blocks where most are wanted.
	runBlock, runRead = 256, 16
	// runFan is the number of runs of a level that become one of the next.
	runFan = 4
)

// keyRun is entries on disk: their hashes, of one or two words, and their vertices, all of 8 bytes, little-endian.
type keyRun struct {
	path    string
	f       vfs.File
	words   int // of a hash
	level   int
	entries int
	firsts  []uint64 // the first word of each block
}

// Kinds of entries, and of the runs that hold them.
const (
	kindInts = iota
	kindOthers
)

// onDisk reports whether a part of the table is on disk.
func (t *keyTable) onDisk() bool { return len(t.runs[kindInts])+len(t.runs[kindOthers]) > 0 }

// drop removes what the table has on disk.
func (t *keyTable) drop(from *keySpill) error {
	var errs []error
	for kind, runs := range t.runs {
		for _, r := range runs {
			errs = append(errs, from.remove(r))
		}
		t.runs[kind] = nil
	}
	return errors.Join(errs...)
}

// grown is the size of the table with n more keys.
func (t *keyTable) grown(n int) int {
	grow := func(slots, used, n int) int {
		for n > 0 && (used+n)*3 >= slots*2 {
			slots = max(minSlots, 2*slots)
		}
		return slots
	}
	if t.nOther > t.nInts {
		return 16*len(t.ints) + 24*grow(len(t.others), t.nOther, n)
	}
	return 16*grow(len(t.ints), t.nInts, n) + 24*len(t.others)
}

// spillTo writes what the table holds in memory to disk.
func (t *keyTable) spillTo(to *keySpill) error {
	if t.nInts > 0 {
		n := 0
		for _, s := range t.ints {
			if s.key != 0 {
				t.ints[n] = intSlot{s.key * mix, s.id}
				n++
			}
		}
		slots := t.ints[:n]
		slices.SortFunc(slots, func(x, y intSlot) int { return cmp.Compare(x.key, y.key) })
		err := t.addRun(to, kindInts, len(slots), func(i int) keyEntry {
			return keyEntry{hash: [2]uint64{slots[i].key}, id: slots[i].id}
		})
		if t.ints, t.nInts = nil, 0; err != nil {
			return err
		}
	}
	if t.nOther > 0 {
		slots := slices.DeleteFunc(t.others, func(s otherSlot) bool { return s.hash == [2]uint64{} })
		slices.SortFunc(slots, func(x, y otherSlot) int {
			return cmp.Or(cmp.Compare(x.hash[0], y.hash[0]), cmp.Compare(x.hash[1], y.hash[1]))
		})
		err := t.addRun(to, kindOthers, len(slots), func(i int) keyEntry { return keyEntry(slots[i]) })
		if t.others, t.nOther = nil, 0; err != nil {
			return err
		}
	}
	return nil
}

// addRun writes a run of n entries, and merges runs if there are too many.
func (t *keyTable) addRun(to *keySpill, kind, n int, entry func(i int) keyEntry) error {
	i := 0
	r, err := to.write(kind, 0, len(t.runs[kind]) == 0, func(e *keyEntry) (bool, error) {
		if i == n {
			return false, nil
		}
		*e = entry(i)
		i++
		return true, nil
	})
	if err != nil {
		return err
	}
	t.runs[kind] = append(t.runs[kind], r)
	for {
		runs := t.runs[kind]
		n := len(runs) - runFan
		if n < 0 || runs[n].level != runs[len(runs)-1].level {
			return nil
		}
		if err := t.merge(to, kind, n); err != nil {
			return err
		}
	}
}

// merge merges the runs from the n-th on.
func (t *keyTable) merge(to *keySpill, kind, n int) error {
	runs := t.runs[kind][n:]
	m := &runMerge{}
	for _, r := range runs {
		c := &runCursor{r: r}
		if err := c.next(); err != nil {
			return err
		}
		m.cursors = append(m.cursors, c)
	}
	merged, err := to.write(kind, runs[len(runs)-1].level+1, n == 0, m.next)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range runs {
		errs = append(errs, to.remove(r))
	}
	t.runs[kind] = append(t.runs[kind][:n:n], merged)
	return errors.Join(errs...)
}

// gather puts all entries into one run of each kind, if any are on disk.
func (t *keyTable) gather(to *keySpill) error {
	if err := t.spillTo(to); err != nil {
		return err
	}
	for kind := range t.runs {
		if len(t.runs[kind]) > 1 {
			if err := t.merge(to, kind, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes a run. first reports that it is the first, so that keys without a vertex may be omitted.
func (k *keySpill) write(kind, level int, first bool, next func(*keyEntry) (bool, error)) (_ *keyRun, err error) {
	k.made++
	r := &keyRun{path: k.fs.PathJoin(k.dir, fmt.Sprintf("keys-%d", k.made)), words: kind + 1, level: level}
	if r.f, err = k.fs.Create(r.path, vfs.WriteCategoryUnspecified); err != nil {
		return nil, fmt.Errorf("make a file of keys: %w", err)
	}
	k.open[r] = true
	buf := make([]byte, 0, runRead*runBlock*r.size())
	flush := func() error {
		if _, err := r.f.Write(buf); err != nil {
			return fmt.Errorf("write a file of keys: %w", err)
		}
		buf = buf[:0]
		return nil
	}
	for {
		var e keyEntry
		ok, err := next(&e)
		if err != nil {
			return nil, err
		}
		if !ok {
			return r, flush()
		}
		if first && e.id == graph.NoVertex {
			continue
		}
		if r.entries%runBlock == 0 {
			r.firsts = append(r.firsts, e.hash[0])
		}
		r.entries++
		for _, h := range e.hash[:r.words] {
			buf = binary.LittleEndian.AppendUint64(buf, h)
		}
		if buf = binary.LittleEndian.AppendUint64(buf, uint64(e.id)); len(buf) == cap(buf) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
}

// size is the size of an entry.
func (r *keyRun) size() int { return 8 * (r.words + 1) }

// read reads n blocks from one on, or as many as there are, into buf if it is large enough.
func (r *keyRun) read(block, n int, buf []byte) ([]byte, error) {
	from := block * runBlock
	size := (min(from+n*runBlock, r.entries) - from) * r.size()
	buf = slices.Grow(buf[:0], size)[:size]
	if _, err := r.f.ReadAt(buf, int64(from)*int64(r.size())); err != nil {
		return buf, fmt.Errorf("read a file of keys: %w", err)
	}
	return buf, nil
}

// entry returns an entry of what was read.
func (r *keyRun) entry(b []byte, i int) (e keyEntry) {
	b = b[i*r.size():]
	for w := range r.words {
		e.hash[w] = binary.LittleEndian.Uint64(b[8*w:])
	}
	e.id = graph.VertexID(binary.LittleEndian.Uint64(b[8*r.words:]))
	return e
}

// runCursor reads a run from its beginning to its end.
type runCursor struct {
	r     *keyRun
	block int
	buf   []byte
	at    int // of the entry at hand in buf
	e     keyEntry
	ended bool
}

func (c *runCursor) next() (err error) {
	if c.at++; c.at*c.r.size() >= len(c.buf) {
		if c.block >= len(c.r.firsts) {
			c.ended = true
			return nil
		}
		if c.buf, err = c.r.read(c.block, runRead, c.buf); err != nil {
			return err
		}
		c.block, c.at = c.block+runRead, 0
	}
	c.e = c.r.entry(c.buf, c.at)
	return nil
}

// runMerge returns the entries of runs in their order, of those with the same key that of the last run.
type runMerge struct{ cursors []*runCursor }

func (m *runMerge) next(e *keyEntry) (ok bool, err error) {
	for _, c := range m.cursors {
		if !c.ended && (!ok || c.e.compare(e) <= 0) {
			*e, ok = c.e, true
		}
	}
	for _, c := range m.cursors {
		if !c.ended && c.e.hash == e.hash {
			if err := c.next(); err != nil {
				return false, err
			}
		}
	}
	return ok, nil
}

// keySeeker looks many keys up in the runs of a table.
type keySeeker struct {
	keys    []keyEntry // in the order of addition; keys that were not found have graph.NoVertex
	order   [2][]placed
	scratch []placed
	buf     []byte
	text    []byte
}

func (s *keySeeker) reset() {
	s.keys = s.keys[:0]
	for kind := range s.order {
		s.order[kind] = s.order[kind][:0]
	}
}

// add adds a value; one that is no key belongs to no vertex.
func (s *keySeeker) add(t *keyTable, v graph.Value) {
	e := keyEntry{id: graph.NoVertex}
	if isKey(v) {
		s.text, _ = keys.AppendOrdered(s.text[:0], v)
		if id, ok := t.find(s.text); ok {
			e.id = id
		} else {
			kind := kindOthers
			if k := intKey(s.text); k != 0 {
				kind, e.hash[0] = kindInts, k*mix
			} else {
				e.hash = t.hash(s.text)
			}
			s.order[kind] = append(s.order[kind], placed{e.hash[0] >> orderShift, uint32(len(s.keys))})
		}
	}
	s.keys = append(s.keys, e)
}

// orderShift leaves as many bits of a hash as keys are put in order by; what follows them tells few blocks apart.
const orderShift = 64 - 3*radixBits

// seek looks up the added keys.
func (s *keySeeker) seek(t *keyTable) error {
	for kind, runs := range t.runs {
		order := s.order[kind]
		s.scratch = slices.Grow(s.scratch[:0], len(order))[:len(order)]
		s.order[kind], s.scratch = sortPlaced(order, s.scratch, 0)
		for i := range runs {
			if err := s.in(runs[i], s.order[kind]); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep puts what was looked up into the table's memory.
func (s *keySeeker) keep(t *keyTable) {
	for kind, order := range s.order {
		for _, o := range order {
			if e := &s.keys[o.at]; kind == kindInts {
				t.addInt(e.hash[0]*unmix, e.id)
			} else {
				t.addOther(e.hash, e.id)
			}
		}
	}
}

// in looks up keys in a run, whose entries are newer than those found before.
func (s *keySeeker) in(r *keyRun, order []placed) (err error) {
	if r.entries == 0 {
		return nil
	}
	ahead := 1
	if len(order) >= len(r.firsts)/2 {
		ahead = runRead
	}
	block, from, to := 0, 0, 0 // those of [from, to) are in buf
	for _, o := range order {
		e := &s.keys[o.at]
		block = r.before(e.hash[0], block)
		for b := block; b < len(r.firsts) && (b == block || r.firsts[b] <= e.hash[0]); b++ {
			if b < from || b >= to {
				if s.buf, err = r.read(b, ahead, s.buf); err != nil {
					return err
				}
				from, to = b, b+ahead
			}
			if r.find(s.buf[(b-from)*runBlock*r.size():], e) {
				break
			}
		}
	}
	return nil
}

// before returns the last block that begins below a first word, or the first of all; it looks from a block on, if it can.
func (r *keyRun) before(word uint64, block int) int {
	if r.firsts[block] >= word {
		block = 0
	}
	step := 1
	for block+step < len(r.firsts) && r.firsts[block+step] < word {
		block += step
		step *= 2
	}
	n, _ := slices.BinarySearch(r.firsts[block+1:min(block+step, len(r.firsts))], word)
	return block + n
}

// find looks for an entry in the block at the start of b, and sets its vertex if it exists; past reports that no later block can
// have it.
func (r *keyRun) find(b []byte, e *keyEntry) (past bool) {
	size := r.size()
	n := min(runBlock, len(b)/size)
	lo, hi := 0, n
	for lo < hi {
		m := int(uint(lo+hi) / 2)
		at := b[m*size:]
		word := binary.LittleEndian.Uint64(at)
		if word < e.hash[0] || word == e.hash[0] && r.words > 1 && binary.LittleEndian.Uint64(at[8:]) < e.hash[1] {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == n {
		return false
	}
	if x := r.entry(b, lo); x.hash == e.hash {
		e.id = x.id
	}
	return true
}
