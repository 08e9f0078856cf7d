package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/search/segment"
)

// The file commit names what an index on disk is: commitMagic; the number of segments; for each the number of its file, the number of its
// documents that are dead, and the distances between these, less one; the mark, after its size; the number of fields; for each the name,
// documents and terms of Stats; and a CRC-32C of all before. Integers are varints. A new one is written beside it, synced, and then takes
// its place, after all of its segments are on disk. Other files in the directory are left over from a crash.
const (
	commitName  = "commit"
	commitMagic = "HGTEXTS\x01"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errCommit = errors.New("the commit of a full-text index is corrupt")

func fileName(n uint64) string { return fmt.Sprintf("%08x.seg", n) }

// commit is what the file says.
type commit struct {
	parts []commitPart
	mark  []byte // nil: nothing was ever written
	stats Stats
}

type commitPart struct {
	file uint64
	dead []uint32
}

func (c *commit) encode() []byte {
	b := binary.AppendUvarint([]byte(commitMagic), uint64(len(c.parts)))
	for _, p := range c.parts {
		b = binary.AppendUvarint(b, p.file)
		b = binary.AppendUvarint(b, uint64(len(p.dead)))
		next := uint32(0)
		for _, d := range p.dead {
			b = binary.AppendUvarint(b, uint64(d-next))
			next = d + 1
		}
	}
	b = append(binary.AppendUvarint(b, uint64(len(c.mark))), c.mark...)
	b = binary.AppendUvarint(b, uint64(len(c.stats.Docs)))
	for _, f := range slices.Sorted(maps.Keys(c.stats.Docs)) {
		b = append(binary.AppendUvarint(b, uint64(len(f))), f...)
		b = binary.AppendUvarint(b, c.stats.Docs[f])
		b = binary.AppendUvarint(b, c.stats.Terms[f])
	}
	return sealed(b)
}

// sealed appends a checksum.
func sealed(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeCommit reads what encode wrote.
func decodeCommit(b []byte) (*commit, error) {
	n := len(b) - 4
	if n < len(commitMagic) || string(b[:len(commitMagic)]) != commitMagic || crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, errCommit
	}
	r := bytes.NewReader(b[len(commitMagic):n])
	ok := true
	number := func() uint64 {
		v, err := binary.ReadUvarint(r)
		ok = ok && err == nil
		return v
	}
	text := func() []byte {
		size := number()
		if !ok || size > uint64(r.Len()) {
			ok = false
			return nil
		}
		t := make([]byte, size)
		_, _ = r.Read(t)
		return t
	}
	c := &commit{}
	for left := number(); left > 0 && ok; left-- {
		p := commitPart{file: number()}
		next := uint64(0)
		for dead := number(); dead > 0 && ok; dead-- {
			next += number()
			ok = ok && next < segment.NoDoc
			p.dead = append(p.dead, uint32(next))
			next++
		}
		c.parts = append(c.parts, p)
	}
	c.mark = text()
	for left := number(); left > 0 && ok; left-- {
		field := string(text())
		docs := number()
		c.stats.count(field, docs, number())
	}
	if !ok || r.Len() > 0 {
		return nil, errCommit
	}
	return c, nil
}

// load reads the state on disk, and removes what does not belong to it.
func (x *Index) load() error {
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return err
	}
	c := &commit{}
	b, err := os.ReadFile(filepath.Join(x.dir, commitName))
	if err == nil {
		c, err = decodeCommit(b)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	keep := map[string]bool{commitName: true}
	var parts []part
	for _, p := range c.parts {
		keep[fileName(p.file)] = true
		x.file = max(x.file, p.file)
		at, err := x.open(p)
		if err != nil {
			for i := range parts {
				err = errors.Join(err, parts[i].seg.Close())
			}
			return err
		}
		parts = append(parts, at)
	}
	x.state = newState(parts, c.mark, c.stats)
	x.stored = x.state
	x.stored.users.Add(1)
	entries, err := os.ReadDir(x.dir)
	for _, e := range entries {
		if err == nil && !keep[e.Name()] {
			err = os.RemoveAll(filepath.Join(x.dir, e.Name()))
		}
	}
	if err != nil {
		x.closing.Store(true)
		err = errors.Join(err, x.state.release(), x.stored.release())
	}
	return err
}

// open opens a segment of the state on disk.
func (x *Index) open(c commitPart) (part, error) {
	seg, err := segment.Open(filepath.Join(x.dir, fileName(c.file)))
	if err != nil {
		return part{}, err
	}
	p := part{holder: &holder{seg: seg, of: x, file: c.file}, living: seg.Docs()}
	for _, d := range c.dead {
		if int64(d) >= int64(seg.Docs()) {
			return p, errors.Join(errCommit, seg.Close())
		}
		p.bury(d)
	}
	return p, nil
}

// store makes a state the one on disk. Its segments are there already.
func (x *Index) store(s *state) error {
	c := &commit{mark: s.mark, stats: s.stats}
	for i := range s.parts {
		p := commitPart{file: s.parts[i].file}
		for w, word := range s.parts[i].dead {
			for ; word != 0; word &= word - 1 {
				p.dead = append(p.dead, uint32(64*w+bits.TrailingZeros64(word)))
			}
		}
		c.parts = append(c.parts, p)
	}
	path := filepath.Join(x.dir, commitName)
	if err := writeFile(path+".new", func(f *os.File) error { _, err := f.Write(c.encode()); return err }); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return segment.SyncDir(x.dir)
}

// writeFile writes a file and syncs it.
func writeFile(path string, write func(f *os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// persistAll puts the state on disk whenever it has changed, until the index is closed or fails.
func (x *Index) persistAll() {
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-x.changes:
		}
		x.mu.Lock()
		s, waiting := x.state, x.waiting
		x.waiting = nil
		s.users.Add(1)
		x.mu.Unlock()
		err := errors.Join(x.persist(s), s.release())
		if x.ctx.Err() != nil && err != nil {
			return
		}
		if err != nil {
			x.failed.CompareAndSwap(nil, &err)
		}
		for _, f := range waiting {
			f(err)
		}
		if err != nil {
			return
		}
		wake(x.files)
	}
}

// persist puts a state on disk, with one file in the place of its segments in memory, which the present state then has too.
func (x *Index) persist(s *state) error {
	var parts []part
	var memory []int
	for i := range s.parts {
		if s.parts[i].file == 0 {
			memory = append(memory, i)
		} else {
			parts = append(parts, s.parts[i])
		}
	}
	if len(memory) > 0 {
		made, err := x.merge(s, memory)
		if err != nil {
			return err
		}
		defer func() { _ = made.release() }() // its state has it
		parts = append(parts, made)
	}
	next := newState(parts, s.mark, s.stats)
	if err := x.store(next); err != nil {
		return errors.Join(err, next.release())
	}
	old := x.stored
	x.stored = next
	return old.release()
}

// merge writes some segments of a state to a file, which takes their place in the present state. It returns what the file is in the given
// state, for a use of the caller.
func (x *Index) merge(s *state, which []int) (made part, err error) {
	x.mu.Lock()
	x.file++
	file := x.file
	x.mu.Unlock()
	var sources []segment.Source
	for _, i := range which {
		sources = append(sources, segment.Source{Segment: s.parts[i].seg, Dead: s.parts[i].dead})
	}
	path := filepath.Join(x.dir, fileName(file))
	var numbers [][]uint32
	err = writeFile(path, func(f *os.File) (err error) {
		w := bufio.NewWriterSize(f, 1<<18)
		if len(sources) == 1 && sources[0].Dead == nil {
			_, err = w.Write(sources[0].Bytes())
		} else {
			numbers, err = segment.Merge(x.ctx, w, sources)
		}
		return errors.Join(err, w.Flush())
	})
	if err != nil {
		return part{}, err
	}
	seg, err := segment.Open(path)
	if err != nil {
		return part{}, err
	}
	made = part{holder: &holder{seg: seg, of: x, file: file}, living: seg.Docs()}
	made.users.Add(1)
	x.mu.Lock()
	defer x.mu.Unlock()
	now := made
	parts := slices.Clone(x.state.parts)
	for k, i := range which {
		was := &s.parts[i]
		at := slices.IndexFunc(parts, func(p part) bool { return p.holder == was.holder })
		for doc := range uint32(was.seg.Docs()) {
			// All documents of a segment that is gone are dead.
			if was.isDead(doc) || at >= 0 && !parts[at].isDead(doc) {
				continue
			}
			if numbers == nil {
				now.bury(doc)
			} else {
				now.bury(numbers[k][doc])
			}
		}
		if at >= 0 {
			parts = slices.Delete(parts, at, at+1)
		}
	}
	if now.living > 0 {
		parts = append(parts, now)
	}
	if err := x.become(newState(parts, x.state.mark, x.state.stats)); err != nil {
		return part{}, errors.Join(err, made.release())
	}
	return made, nil
}

// atRest is how long no file must have been written until those that are left are merged.
const atRest = time.Second

// mergeAll merges files after others were written, until the index is closed or fails.
func (x *Index) mergeAll() {
	rest := time.NewTimer(atRest)
	defer rest.Stop()
	for {
		by := plan
		select {
		case <-x.ctx.Done():
			return
		case <-x.files:
			rest.Reset(atRest)
		case <-rest.C:
			by = planAtRest
		}
		for more := true; more; {
			var err error
			if more, err = x.mergeFiles(by); x.ctx.Err() != nil {
				return
			}
			if err != nil {
				x.failed.CompareAndSwap(nil, &err)
				return
			}
		}
	}
}

// mergeFiles merges what a plan says, and reports whether it said something.
func (x *Index) mergeFiles(by func(parts []part, may func(p *part) bool) []int) (bool, error) {
	x.mu.Lock()
	s := x.state
	s.users.Add(1)
	x.mu.Unlock()
	which := by(s.parts, func(p *part) bool { return p.file > 0 })
	if which == nil {
		return false, s.release()
	}
	made, err := x.merge(s, which)
	if err == nil {
		wake(x.changes)
		err = made.release()
	}
	return true, errors.Join(err, s.release())
}

// mergeInMemory merges segments in memory until none are left to merge.
func (x *Index) mergeInMemory(parts []part) ([]part, error) {
	for {
		which := plan(parts, func(*part) bool { return true })
		if which == nil {
			return parts, nil
		}
		var sources []segment.Source
		for _, i := range which {
			sources = append(sources, segment.Source{Segment: parts[i].seg, Dead: parts[i].dead})
		}
		var out bytes.Buffer
		if _, err := segment.Merge(context.Background(), &out, sources); err != nil {
			return nil, err
		}
		seg, err := segment.New(out.Bytes())
		if err != nil {
			return nil, err
		}
		for _, i := range slices.Backward(which) {
			parts = slices.Delete(parts, i, i+1)
		}
		parts = append(parts, part{holder: &holder{seg: seg, of: x}, living: seg.Docs()})
	}
}

const (
	// atOnce is how many segments of about one size are merged. Those of a size differ by less than so many times.
	atOnce = 4
	// smallest is the size below which all segments count as of one size.
	smallest = 64 << 10
	// Segments that are larger are merged no more. A merge takes about 16 bytes of memory for each document, beside its terms.
	mostBytes, mostDocs = 512 << 20, 1 << 20
)

// large reports whether a segment is merged no more.
func (p *part) large() bool { return len(p.seg.Bytes()) > mostBytes || p.seg.Docs() > mostDocs }

// plan returns which segments to merge, ascending; nil if none. Each document is merged once for each size that its segment grows to.
func plan(parts []part, may func(p *part) bool) []int {
	var sizes [32][]int
	for i := range parts {
		p := &parts[i]
		if !may(p) {
			continue
		}
		size := len(p.seg.Bytes())
		switch {
		case p.living*2 < p.seg.Docs():
			return []int{i}
		case !p.large():
			level := bits.Len(uint(size/smallest)) / 2
			sizes[level] = append(sizes[level], i)
		}
	}
	var below []int
	for _, of := range sizes {
		below = append(below, of...)
		if len(of) >= atOnce {
			slices.Sort(below)
			return below
		}
	}
	return nil
}

// planAtRest is plan for an index that nobody writes. It leaves out a segment that is over four times as large as all that are smaller
// together, so that a document is not merged again each time that a few were written.
func planAtRest(parts []part, may func(p *part) bool) []int {
	var which []int
	sum := 0
	size := func(i int) int { return len(parts[i].seg.Bytes()) }
	for i := range parts {
		if may(&parts[i]) && !parts[i].large() {
			which = append(which, i)
			sum += size(i)
		}
	}
	slices.SortFunc(which, func(a, b int) int { return size(a) - size(b) })
	for len(which) > 1 {
		last := which[len(which)-1]
		if size(last) <= 4*(sum-size(last)) {
			slices.Sort(which)
			return which
		}
		sum -= size(last)
		which = which[:len(which)-1]
	}
	return nil
}
