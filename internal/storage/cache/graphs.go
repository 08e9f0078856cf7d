package cache

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/search/hnsw"
)

const (
	// mostGraphChanges is how many vertices that have changed since a graph's state a search compares one by one, at most.
	mostGraphChanges = 1 << 14
	// dueChanges is how many of them make a reader ask for the graph to take them in.
	dueChanges = 64
	// mostApart is how many vectors that the graph's arithmetic does not fit a graph leaves to readers.
	mostApart = 1000
	// leastEf is how many rows a search collects at least. Among 5,000 vectors of 384 dimensions that lie evenly around one centre, the recall of
	// the 10 nearest is 0.94 by 100 rows and 0.98 by 200.
	leastEf = 200
	// leastRanked is how many rows of a quantized graph a search ranks by their whole vectors at least, and rankedPerHit how many for each
	// that it is asked for.
	leastRanked, rankedPerHit = 40, 4
)

// GraphKey says which vectors a graph is of: those of a property that vertices with a label have.
type GraphKey struct {
	Label             graph.LabelID
	Prop              graph.PropID
	Similarity        graph.Similarity
	Dimensions        int
	M, EfConstruction int
	Quantized         bool
}

// VectorGraph is an HNSW graph of the vectors of a shard, and what readers need to know to take only what their snapshots show from it. Its
// rows show the state of one sequence. A vertex that changed between it and a reader's sequence, in whichever order these are, is left
// out, and the reader compares it itself.
type VectorGraph struct {
	cache *Cache
	key   GraphKey
	log   changeLog

	mu   sync.RWMutex // searches hold it for reading
	rows *hnsw.Graph  // nil until it is built, and after it was evicted
	made bool         // a writer has finished it
	seq  uint64
	n    uint32            // rows that show seq; what lies behind is being added
	base int               // of them, as many were there first, in the order of their ids
	late map[uint32]uint32 // the rows of ids that were added later
	dead []uint64          // a bit for each row whose vertex has another vector now, or none
	gone int               // their number
	far  []uint32          // sorted: vertices whose vectors hnsw.Fits refuses
	mem  []*resident
	runs []run

	claimed  atomic.Bool
	writing  bool   // a GraphWriter is open
	doomed   bool   // evicted meanwhile: the writer returns the memory
	evicted  bool   // so it is built again only where there is room
	unfit    bool   // too large for the cache, or for its arithmetic
	retry    uint64 // there are too few vectors until the log has so many changes
	searches sync.Pool
}

// Graph returns the graph of a key, which is empty at first and from now on notes the changes of its vertices.
func (c *Columns) Graph(key GraphKey) *VectorGraph {
	find := func(list *[]*VectorGraph) *VectorGraph {
		if list != nil {
			for _, x := range *list {
				if x.key == key {
					return x
				}
			}
		}
		return nil
	}
	if x := find(c.list.Load()); x != nil {
		return x
	}
	c.growing.Lock()
	defer c.growing.Unlock()
	old := c.list.Load()
	if x := find(old); x != nil {
		return x
	}
	x := &VectorGraph{cache: c.cache, key: key}
	x.searches.New = func() any { return new(hnsw.Searcher) }
	var list []*VectorGraph
	if old != nil {
		list = slices.Clip(*old)
	}
	list = append(list, x)
	x.log.mu.Lock()
	defer x.log.mu.Unlock()
	c.list.Store(&list)
	x.log.since = c.noted.Load() // a commit notes its sequence before it looks for graphs
	return x
}

// ChangedRange notes that a commit set a property of n vertices from first on.
func (c *Columns) ChangedRange(seq uint64, prop graph.PropID, first, n uint64) {
	for noted := c.noted.Load(); noted < seq && !c.noted.CompareAndSwap(noted, seq); noted = c.noted.Load() {
	}
	list := c.list.Load()
	if list == nil {
		return
	}
	for _, x := range *list {
		if prop == x.key.Prop || prop == LabelProp && x.key.Label != 0 {
			x.log.add(seq, first, n)
		}
	}
}

// drop gives the rows up.
func (x *VectorGraph) drop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.evicted = true
	if x.writing {
		x.doomed = true
	}
	x.dropLocked()
}

func (x *VectorGraph) dropLocked() {
	x.rows, x.made, x.dead, x.late, x.far = nil, false, nil, nil, nil
	for _, r := range x.mem {
		x.cache.remove(r)
	}
	x.mem = nil
	if !x.writing {
		x.cache.columns.retire(x.runs...)
		x.runs = nil
	}
}

// alloc is hnsw's. The memory counts as one resident a piece; when one is evicted, all go.
func (x *VectorGraph) alloc(n int) ([]byte, bool) {
	r, ok := x.cache.alloc(n)
	if !ok {
		return nil, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.runs = append(x.runs, r)
	if x.doomed {
		return nil, false
	}
	piece := &resident{at: -1, size: r.size(), limbo: &x.cache.columns, evict: x.drop}
	piece.used.Store(true)
	x.mem = append(x.mem, piece)
	x.cache.add(piece)
	return r.mem, true
}

// GraphHit is a vertex that a search of a graph has found.
type GraphHit struct {
	Vertex uint64 // local id
	Score  float64
}

// GraphSearch is the memory and the result of a search.
type GraphSearch struct {
	// Hits, not in order, are of the view's state. Those of a quantized graph are more than were asked for and have no scores: the caller
	// compares them as it does Changed.
	Hits []GraphHit
	// Changed are the local ids of other vertices that may be in the result: the caller compares them, in its own state.
	Changed []uint32
	// Compared counts the vectors of the graph that were compared, Bytes theirs.
	Compared, Bytes int
	// Due says that the graph is to be built or to take changes in.
	Due bool
}

// Nearest finds about the k vertices of a graph whose vectors are most similar to a probe, as the view sees them. It returns false if the caller
// must compare all.
func (v *ColumnView) Nearest(x *VectorGraph, probe *vector.Probe, k int, res *GraphSearch) bool {
	*res = GraphSearch{Hits: res.Hits[:0], Changed: res.Changed[:0]}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !x.made {
		res.Due = !x.writing && !x.unfit && x.log.changes() >= x.retry
		return false
	}
	for _, r := range x.mem {
		r.touch()
	}
	var ok bool
	if res.Changed, ok = x.log.between(res.Changed, min(x.seq, v.seq), max(x.seq, v.seq), mostGraphChanges); !ok {
		res.Due = !x.writing && v.seq > x.seq
		return false
	}
	res.Due = !x.writing && v.seq > x.seq && len(res.Changed) >= dueChanges
	res.Changed = append(res.Changed, x.far...)
	res.Changed = v.touched.appendLocals(res.Changed, valueSpace(x.key.Prop))
	if x.key.Label != 0 {
		res.Changed = v.touched.appendLocals(res.Changed, valueSpace(LabelProp))
	}
	slices.Sort(res.Changed)
	res.Changed = slices.Compact(res.Changed)
	s := x.searches.Get().(*hnsw.Searcher)
	defer x.searches.Put(s)
	if k > int(x.n)/4 {
		return false
	}
	for ef := max(leastEf, 2*k); ef <= max(leastEf, int(x.n)/2); ef *= 2 {
		near, ok := s.Search(x.rows, probe, ef)
		if !ok {
			return false
		}
		res.Compared += s.Compared
		res.Hits = res.Hits[:0]
		for _, n := range near {
			id := x.rows.ID(n.Row)
			if n.Row >= x.n || x.dead[n.Row/64]>>(n.Row%64)&1 != 0 {
				continue
			}
			if _, changed := slices.BinarySearch(res.Changed, id); changed {
				continue
			}
			if x.key.Quantized {
				if len(res.Hits) < max(leastRanked, rankedPerHit*k) {
					res.Hits = append(res.Hits, GraphHit{Vertex: uint64(id)})
				}
			} else if score, ok := x.rows.Score(probe, n.Row); ok {
				res.Hits = append(res.Hits, GraphHit{uint64(id), score})
			}
		}
		if len(res.Hits) >= k {
			res.Bytes = res.Compared * x.rows.VectorBytes()
			return true
		}
	}
	return false
}

// appendLocals appends the vertices of a space.
func (t *Touched) appendLocals(dst []uint32, space uint32) []uint32 {
	if t == nil {
		return dst
	}
	for k, b := range t.blocks {
		if k.space != space {
			continue
		}
		for i := range uint64(ListBlock) {
			if local := k.block*ListBlock + i; b[i>>6]>>(i&63)&1 != 0 && local < math.MaxUint32 {
				dst = append(dst, uint32(local))
			}
		}
	}
	return dst
}

// room reports whether n more bytes push nothing out.
func (c *Cache) room(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arena.used+n <= c.arena.budget-c.arena.budget/8
}

// graphs are the graphs of a shard.
type graphs struct {
	growing sync.Mutex
	list    atomic.Pointer[[]*VectorGraph]
	noted   atomic.Uint64 // the newest sequence that ChangedRange was told
}

func (g *graphs) close() {
	if list := g.list.Load(); list != nil {
		for _, x := range *list {
			x.drop()
		}
	}
}
