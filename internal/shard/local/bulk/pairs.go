package bulk

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// An upsert must know whether there is an edge between its ends. To read a list for every row costs about as much as all
// the rest of a load, and most of the time there is none: so the graph keeps, for the types that loads upsert, a filter
// (Bloom's) of the ends of all edges, to which every commit adds. What the filter does not know is not there.

// pairFilter is a Bloom filter of pairs of vertices, in parts that double in size. All bits of a pair lie in one word pair of 128
// bits.
type pairFilter struct {
	parts []filterPart
}

type filterPart struct {
	words []uint64 // 2^k, in pairs
	room  int      // pairs that may still be added
}

const (
	// pairBits is the size of the filter in bits a pair: the rate of false positives is about one in 300.
	pairBits = 16
	// firstPart is the number of pairs of the first part.
	firstPart = 1 << 16
	// maxPairs bounds a filter, at 128 MiB.
	maxPairs = 64 << 20
)

// hashPair mixes a pair as splitmix64 does.
func hashPair(src, dst graph.VertexID) uint64 {
	h := uint64(src)*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(uint64(dst)*0xbf58476d1ce4e5b9, 31)
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}

// filterBits are the bits of a hash in its word pair: three in each word.
func filterBits(h uint64) (a, b uint64) {
	return 1<<(h&63) | 1<<(h>>6&63) | 1<<(h>>12&63), 1<<(h>>18&63) | 1<<(h>>24&63) | 1<<(h>>30&63)
}

func (p *filterPart) at(h uint64) int { return int(h>>36) & (len(p.words) - 1) &^ 1 }

func (f *pairFilter) add(h uint64) {
	if n := len(f.parts); n == 0 || f.parts[n-1].room == 0 {
		room := firstPart << n
		f.parts = append(f.parts, filterPart{make([]uint64, room*pairBits/64), room})
	}
	p := &f.parts[len(f.parts)-1]
	i := p.at(h)
	a, b := filterBits(h)
	p.words[i] |= a
	p.words[i+1] |= b
	p.room--
}

// has reports whether the pair may have been added.
func (f *pairFilter) has(h uint64) bool {
	a, b := filterBits(h)
	for k := range f.parts {
		p := &f.parts[k]
		if i := p.at(h); p.words[i]&a == a && p.words[i+1]&b == b {
			return true
		}
	}
	return false
}

// full reports whether the filter has reached its bound.
func (f *pairFilter) full() bool { return len(f.parts) > 0 && firstPart<<len(f.parts) > maxPairs }

// NotePairs adds the edges that writers are about to commit to the filters.
func (g *Graph) NotePairs(ws []*staging.Writer) {
	if len(g.pairs) == 0 {
		return
	}
	for _, w := range ws {
		for _, e := range w.Changes().Edges {
			if f := g.pairs[e.Type]; f != nil && e.Dir == graph.Out && e.What == staging.EdgeAdded {
				f.add(hashPair(e.Vertex, e.Neighbour))
			}
		}
	}
	for t, f := range g.pairs {
		if f.full() {
			delete(g.pairs, t)
		}
	}
}

// filter returns the filter of a type's edges, nil if there is none: it is begun when the type has no edges, or few beside
// the n rows that are about to be loaded.
func (b *Batch) filter(t graph.TypeID, n int) (*pairFilter, error) {
	if f := b.g.pairs[t]; f != nil {
		return f, nil
	}
	count := b.tx.Count(stats.Count{Kind: stats.CountType, Type: t})
	if count > int64(16*n) || count > maxPairs/2 {
		return nil, nil
	}
	f := &pairFilter{}
	if count > 0 {
		if err := b.fillFilter(t, f); err != nil {
			return nil, err
		}
	}
	if b.g.pairs == nil {
		b.g.pairs = map[graph.TypeID]*pairFilter{}
	}
	b.g.pairs[t] = f
	return f, nil
}

// fillFilter adds all edges of a type.
func (b *Batch) fillFilter(t graph.TypeID, f *pairFilter) error {
	ids := make([]graph.VertexID, 0, graph.BatchSize)
	var res shard.Neighbours
	for from, done := graph.VertexID(0), false; !done; {
		var err error
		if ids, from, done, err = b.tx.Scan(b.ctx, 0, from, ids[:0]); err != nil {
			return err
		}
		for rest := ids; len(rest) > 0; rest = rest[res.Done:] {
			req := shard.Expand{Sources: rest, Types: []graph.TypeID{t}, MaxEdges: 1 << 16}
			if err := b.tx.Expand(b.ctx, &req, &res); err != nil {
				return err
			}
			for i := range res.Done {
				for _, dst := range res.Targets[res.Offsets[i]:res.Offsets[i+1]] {
					f.add(hashPair(rest[i], dst))
				}
			}
		}
	}
	return nil
}

// splitOld removes from e the rows whose edges exist and returns them, in order; rows that repeat the ends of an earlier row become
// part of it. A removed row has no source.
func (b *Batch) splitOld(e *edgeRows) (old []edgeRow, err error) {
	f, err := b.filter(e.t, len(e.rows))
	if err != nil {
		return nil, err
	}
	var firsts pairTable
	firsts.reset(len(e.rows))
	var maybe []int32    // rows, the first with their ends, between which there may be an edge
	var again [][2]int32 // rows that are not the first with their ends, and the first
	for i := range e.rows {
		r := &e.rows[i]
		if r.src == graph.NoVertex {
			continue
		}
		if err := b.alive(); err != nil {
			return nil, err
		}
		h := hashPair(r.src, r.dst)
		if first := firsts.put(e.rows, h, int32(i)); first != int32(i) {
			again = append(again, [2]int32{first, int32(i)})
			continue
		}
		if f == nil || f.has(h) {
			maybe = append(maybe, int32(i))
		}
	}
	olds, err := b.thoseThere(e, maybe)
	if err != nil {
		return nil, err
	}
	there := map[int32]bool{}
	for _, i := range olds {
		there[i] = true
	}
	slices.SortStableFunc(again, func(x, y [2]int32) int { return cmp.Compare(x[0], y[0]) })
	for len(again) > 0 {
		first := again[0][0]
		run := []int32{first}
		for ; len(again) > 0 && again[0][0] == first; again = again[1:] {
			run = append(run, again[0][1])
		}
		if there[first] {
			olds = append(olds, run[1:]...)
		} else {
			b.compactRun(e, run)
		}
	}
	slices.Sort(olds)
	for _, i := range olds {
		old = append(old, e.rows[i])
		e.rows[i].src = graph.NoVertex
	}
	return old, nil
}

// thoseThere returns the rows whose edges exist, according to the lists.
func (b *Batch) thoseThere(e *edgeRows, rows []int32) (there []int32, err error) {
	slices.SortFunc(rows, func(x, y int32) int {
		a, c := &e.rows[x], &e.rows[y]
		return cmp.Or(cmp.Compare(a.src, c.src), cmp.Compare(a.dst, c.dst))
	})
	p := pairs{b: b, t: e.t}
	defer p.close()
	for _, i := range rows {
		ok, err := p.has(e.rows[i].src, e.rows[i].dst)
		if err != nil {
			return nil, err
		}
		if ok {
			there = append(there, i)
		}
	}
	return there, nil
}

// pairTable finds the first row with the same ends, by open addressing.
type pairTable struct {
	slots []int32 // row + 1; 0 is empty
	shift int
}

func (t *pairTable) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	t.slots, t.shift = make([]int32, size), 64-bits.Len(uint(size-1))
}

// put returns the row that has the ends of row i first, which may be i itself. h is the hash of the ends.
func (t *pairTable) put(rows []edgeRow, h uint64, i int32) int32 {
	for at := int(h >> t.shift); ; at = (at + 1) & (len(t.slots) - 1) {
		first := t.slots[at] - 1
		if first < 0 {
			t.slots[at] = i + 1
			return i
		}
		if rows[first].src == rows[i].src && rows[first].dst == rows[i].dst {
			return first
		}
	}
}

// pairs reports which edges of a type exist. Sources are in ascending order.
type pairs struct {
	b       *Batch
	t       graph.TypeID
	no      int // of the open lists' shard
	ls      *view.Lists
	nothing bool // the shard has no edges of the type
	src     graph.VertexID
	known   bool
	out     view.Edges
}

func (p *pairs) has(src, dst graph.VertexID) (bool, error) {
	if p.ls == nil || p.no != src.Shard() {
		p.close()
		p.no = src.Shard()
		w := p.b.tx.Writers()[p.no]
		var err error
		if p.nothing, err = w.ListsEmpty(p.t, graph.Out); err != nil {
			return false, err
		}
		if p.ls, err = w.Lists(p.t, graph.Out); err != nil {
			return false, err
		}
		p.known = false
	}
	if p.nothing {
		return false, nil
	}
	if !p.known || p.src != src {
		p.src, p.known = src, true
		p.out.Targets = p.out.Targets[:0]
		if p.b.made(src) == 0 {
			if err := p.ls.Append(p.b.ctx, src, view.Want{}, &p.out, nil); err != nil {
				return false, err
			}
		}
	}
	_, ok := slices.BinarySearch(p.out.Targets, dst)
	return ok, nil
}

func (p *pairs) close() {
	if p.ls != nil {
		p.ls.Close()
		p.ls = nil
	}
}
