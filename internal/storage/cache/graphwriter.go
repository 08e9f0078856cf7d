package cache

import (
	"cmp"
	"maps"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/search/hnsw"
)

// GraphWriter builds a graph, or makes it show a later state, beside searches. One goroutine uses it.
type GraphWriter struct {
	x       *VectorGraph
	seq     uint64
	rows    *hnsw.Graph
	first   bool
	buf     []float32
	linkers sync.WaitGroup
	work    chan uint32
	id      uint32 // of Begin
	// of a graph that is there: the rows of id, by their edges, and which of them stay
	old  []uint32
	kept []bool
	// rows that go, and the newest ones of ids that get others
	lost  []uint32
	added map[uint32]uint32
	far   []uint32
	// what x had when the writer began
	base  int
	late  map[uint32]uint32
	dead  []uint64
	unfit bool // too many vectors do not fit the graph's arithmetic
	full  bool // there is no memory
}

// Claim reserves the graph for one that is going to write to it. It reports false if another one has it.
func (x *VectorGraph) Claim() bool { return x.claimed.CompareAndSwap(false, true) }

// Release ends a claim.
func (x *VectorGraph) Release() { x.claimed.Store(false) }

// Write opens the graph for a writer that reads a snapshot of sequence seq. If there is no graph yet, the writer gives what all vertices have, in
// the order of their ids: rebuild is true. Otherwise it gives those that changed. ok is false if there is nothing to do now.
func (x *VectorGraph) Write(seq uint64) (w *GraphWriter, changed []uint32, rebuild, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unfit {
		return nil, nil, false, false
	}
	if x.made {
		if seq <= x.seq {
			return nil, nil, false, false
		}
		if x.gone <= int(x.n)/4 && int(x.n)-x.base <= max(x.base, mostGraphChanges) {
			if changed, ok = x.log.between(nil, x.seq, seq, max(x.base/2, mostGraphChanges)); ok {
				w = &GraphWriter{x: x, seq: seq, rows: x.rows, added: map[uint32]uint32{}, far: slices.Clone(x.far), base: x.base, late: x.late, dead: x.dead}
				x.writing = true
				w.start(1)
				return w, changed, false, true
			}
		}
		x.dropLocked() // too much of it is old
	}
	if _, ok := x.log.between(nil, seq, seq, 0); !ok {
		return nil, nil, false, false // the log began later
	}
	x.writing, x.doomed = true, false
	w = &GraphWriter{x: x, seq: seq, first: true}
	return w, nil, true, true
}

// Fits reports whether a graph of so many vectors is to be built, and gets ready for it. least is the number that pays.
func (w *GraphWriter) Fits(vectors, least int) bool {
	x := w.x
	o := hnsw.Options{
		Similarity: x.key.Similarity, Dimensions: x.key.Dimensions, M: x.key.M, EfConstruction: x.key.EfConstruction, Quantized: x.key.Quantized,
		Alloc: x.alloc,
	}
	if x.key.Type != 0 {
		o.IDs = edgeIDs
	}
	bytes := hnsw.Bytes(&o, vectors)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.few = vectors < least
	switch {
	case x.few:
		x.retry = x.log.changes() + uint64(least-vectors)
		return false
	case bytes > x.cache.limit() || x.evicted && !x.cache.room(bytes):
		x.retry = x.log.changes() + uint64(vectors)/8 // the budget may have changed by then
		return false
	}
	w.rows = hnsw.New(o)
	w.start(max(runtime.GOMAXPROCS(0)/2, 1))
	return true
}

// start starts the goroutines that link rows.
func (w *GraphWriter) start(n int) {
	w.work = make(chan uint32, 256)
	for range n {
		w.linkers.Go(func() {
			s := w.x.searches.Get().(*hnsw.Searcher)
			defer w.x.searches.Put(s)
			for row := range w.work {
				w.rows.Link(row, s)
			}
		})
	}
}

// Put gives the vector that a vertex has, or any other value if it has none or is not to be found. It returns false if the
// graph can no longer be built.
func (w *GraphWriter) Put(local uint64, v graph.Value) bool {
	return w.Begin(local) && w.put(v, w.id)
}

// Begin begins with the edges that leave a vertex; PutEdge gives each of them. It returns false if the graph can no longer be built.
func (w *GraphWriter) Begin(local uint64) bool {
	w.lose()
	if w.id = uint32(local); local >= math.MaxUint32 {
		w.unfit = true
		return false
	}
	if w.first {
		return true
	}
	w.rowsOf(w.id)
	if i, was := slices.BinarySearch(w.far, w.id); was {
		w.far = slices.Delete(w.far, i, i+1)
	}
	return true
}

// PutEdge gives a value that an edge has.
func (w *GraphWriter) PutEdge(e graph.Edge, v graph.Value) bool {
	target, ok := w.x.ids.Pack(e.Dst)
	if !ok || e.ID.Local()>>32 != 0 {
		w.unfit = true
		return false
	}
	return w.put(v, w.id, uint32(e.ID.Local()), target, noRow)
}

// put gives a value of the row that ids name.
func (w *GraphWriter) put(v graph.Value, ids ...uint32) bool {
	x, length, kind := w.pack(v)
	switch kind {
	case far:
		if i, was := slices.BinarySearch(w.far, w.id); !was {
			w.far = slices.Insert(w.far, i, w.id)
			w.unfit = len(w.far) > mostApart
		}
	case fits:
		if i, had := slices.BinarySearchFunc(w.old, w.name(ids), w.compare); had && w.rows.Holds(w.old[i], x) {
			w.kept[i] = true
			return true
		}
		if !w.first && len(ids) == edgeIDs {
			ids[rowBefore] = w.newest(w.id)
		}
		row, ok := w.rows.Append(x, length, ids...)
		if !ok {
			w.full = true
			return false
		}
		if !w.first {
			w.added[w.id] = row
		}
		w.work <- row
	}
	return !w.unfit
}

// name is what tells the rows of one id apart.
func (w *GraphWriter) name(ids []uint32) uint32 {
	if w.x.key.Type == 0 {
		return 0
	}
	return ids[edgeLocal]
}

func (w *GraphWriter) compare(row, name uint32) int {
	return cmp.Compare(w.name(w.rows.IDs(row)), name)
}

// lose gives up the rows of the id that are left.
func (w *GraphWriter) lose() {
	for i, row := range w.old {
		if !w.kept[i] {
			w.lost = append(w.lost, row)
		}
	}
	w.old = w.old[:0]
}

// newest returns the row of an id that was added last, or noRow.
func (w *GraphWriter) newest(id uint32) uint32 {
	if row, ok := w.added[id]; ok {
		return row
	}
	if row, ok := w.late[id]; ok {
		return row
	}
	return noRow
}

// rowsOf makes old the rows of an id in what readers see.
func (w *GraphWriter) rowsOf(id uint32) {
	live := func(row uint32) {
		if w.dead[row/64]>>(row%64)&1 == 0 {
			w.old = append(w.old, row)
		}
	}
	for at := sort.Search(w.base, func(i int) bool { return w.rows.ID(uint32(i)) >= id }); at < w.base && w.rows.ID(uint32(at)) == id; at++ {
		live(uint32(at))
	}
	for row := w.newest(id); row != noRow; row = w.rows.IDs(row)[rowBefore] {
		live(row)
		if w.x.key.Type == 0 {
			break // those of before are dead
		}
	}
	slices.SortFunc(w.old, func(a, b uint32) int { return w.compare(a, w.name(w.rows.IDs(b))) })
	w.kept = append(w.kept[:0], make([]bool, len(w.old))...)
}

const (
	absent = iota // no search finds it
	far           // only a comparison does
	fits
)

// pack packs a value as a row.
func (w *GraphWriter) pack(v graph.Value) (x []float32, length float64, kind int) {
	if vector.Dimensions(v) != w.x.key.Dimensions {
		return nil, 0, absent
	}
	var ok bool
	if w.buf, ok = vector.Pack(w.buf[:0], v); !ok {
		return nil, 0, far // the cosine may take it, scaled
	}
	length = vector.Length(w.buf)
	switch {
	case hnsw.Fits(w.x.key.Similarity, length):
		return w.buf, length, fits
	case length == 0:
		return nil, 0, absent
	}
	return nil, 0, far
}

// End makes searches find what the writer has put, unless it failed.
func (w *GraphWriter) End(done bool) {
	if w.work != nil {
		close(w.work)
		w.linkers.Wait()
	}
	w.lose()
	x := w.x
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writing = false
	if x.doomed {
		x.doomed = false
		x.dropLocked()
		return
	}
	if !done || w.unfit || w.full {
		x.unfit, x.evicted = w.unfit, x.evicted || w.full
		x.dropLocked()
		return
	}
	n := uint32(w.rows.Rows())
	if w.first {
		x.rows, x.base, x.late, x.gone, x.dead = w.rows, int(n), map[uint32]uint32{}, 0, nil
	}
	for uint32(len(x.dead)) <= n/64 {
		x.dead = append(x.dead, 0)
	}
	for _, row := range w.lost {
		x.dead[row/64] |= 1 << (row % 64)
		x.gone++
	}
	maps.Copy(x.late, w.added)
	x.n, x.seq, x.far, x.made = n, w.seq, w.far, true
}
