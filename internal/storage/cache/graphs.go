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
	// mostGraphChanges is how many vertices that have changed since a graph's state a search compares one by one, or the edges that leave them, at most.
	mostGraphChanges = 1 << 14
	// DueChanges is how many changes make a reader ask for the graph to take them in.
	DueChanges = 64
	// mostApart is how many vectors that the graph's arithmetic does not fit a graph leaves to readers.
	mostApart = 1000
	// leastEf is how many rows a search collects at least. Among 5,000 vectors of 384 dimensions that lie evenly around one centre, the recall of
	// the 10 nearest is 0.94 by 100 rows and 0.98 by 200.
	leastEf = 200
	// leastRanked is how many rows of a quantized graph a search ranks by their whole vectors at least, and rankedPerHit how many for each
	// that it is asked for.
	leastRanked, rankedPerHit = 40, 4
	// The numbers that name a row of an edge: its source, by its local id, its own local id, its target, packed, and the row before of those
	// of the source that were added later, or noRow.
	edgeLocal, edgeTarget, rowBefore, edgeIDs = 1, 2, 3, 4
	noRow                                     = math.MaxUint32
)

// GraphKey says which vectors a graph is of: those of a property that vertices with a label have, or the edges of a type.
type GraphKey struct {
	Label             graph.LabelID
	Type              graph.TypeID // 0: of vertices
	Prop              graph.PropID
	Similarity        graph.Similarity
	Dimensions        int
	M, EfConstruction int
	Quantized         bool
}

// VectorGraph is an HNSW graph of the vectors of a shard, and what readers need to know to take only what their snapshots show from it. Its
// rows show the state of one sequence. A vertex that changed between it and a reader's sequence, in whichever order these are, is left
// out, and the reader compares it itself. The rows of edges go with the vertex that they leave: when one of them changes, all do.
type VectorGraph struct {
	cache *Cache
	ids   IDs // of the targets of edges
	key   GraphKey
	log   changeLog

	mu   sync.RWMutex // searches hold it for reading
	rows *hnsw.Graph  // nil until it is built, and after it was evicted
	made bool         // a writer has finished it
	seq  uint64
	n    uint32            // rows that show seq; what lies behind is being added
	base int               // of them, as many were there first, in the order of their ids
	late map[uint32]uint32 // by id, the newest row that was added later
	dead []uint64          // a bit for each row whose vertex or edge has another vector now, or none
	gone int               // their number
	far  []uint32          // sorted: ids with vectors that hnsw.Fits refuses
	mem  []*resident
	runs []run

	claimed  atomic.Bool
	writing  bool   // a GraphWriter is open
	doomed   bool   // evicted meanwhile: the writer returns the memory
	evicted  bool   // so it is built again only where there is room
	unfit    bool   // too large for the cache, or for its arithmetic
	few      bool   // a writer has found too few vectors
	retry    uint64 // so, or there is no room, until the log has so many changes
	searches sync.Pool
}

// Graph returns the graph of a key, which is empty at first and from now on notes the changes of its vertices.
func (g *graphs) Graph(key GraphKey) *VectorGraph {
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
	if x := find(g.list.Load()); x != nil {
		return x
	}
	g.growing.Lock()
	defer g.growing.Unlock()
	old := g.list.Load()
	if x := find(old); x != nil {
		return x
	}
	x := &VectorGraph{cache: g.cache, ids: g.ids, key: key}
	x.searches.New = func() any { return new(hnsw.Searcher) }
	var list []*VectorGraph
	if old != nil {
		list = slices.Clip(*old)
	}
	list = append(list, x)
	x.log.mu.Lock()
	defer x.log.mu.Unlock()
	g.list.Store(&list)
	x.log.since = g.noted.Load() // a commit notes its sequence before it looks for graphs
	return x
}

// ChangedRange notes that a commit set a property of n vertices from first on.
func (c *Columns) ChangedRange(seq uint64, prop graph.PropID, first, n uint64) {
	for _, x := range c.noting(seq) {
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

// GraphHit is a vertex that a search of a graph has found, or an edge and the vertex that it leaves.
type GraphHit struct {
	Score        float64
	Vertex, Edge uint64 // local ids
	Target       graph.VertexID
}

// GraphSearch is the memory and the result of a search.
type GraphSearch struct {
	// Hits, not in order, are of the view's state. Those of a quantized graph are more than were asked for and have no scores: the caller
	// compares them as it does Changed.
	Hits []GraphHit
	// Changed are the local ids of other vertices that may be in the result, or whose edges may: the caller compares them, in its own state.
	Changed []uint32
	// Compared counts the vectors of the graph that were compared, Bytes theirs.
	Compared, Bytes int
	// Due says that the graph is to be built or to take changes in, Behind that there are changes to take in, and Few that there is no graph
	// because there are so few vectors.
	Due, Behind, Few bool
}

// Nearest finds about the k vertices of a graph whose vectors are most similar to a probe, as the view sees them. It returns false if the caller
// must compare all.
func (v *ColumnView) Nearest(x *VectorGraph, probe *vector.Probe, k int, res *GraphSearch) bool {
	return x.nearest(v.seq, v.touched, probe, k, res)
}

// Nearest is ColumnView's for a graph of edges.
func (v *ListView) Nearest(x *VectorGraph, probe *vector.Probe, k int, res *GraphSearch) bool {
	return x.nearest(v.seq, v.touched, probe, k, res)
}

// nearest searches as of a sequence, with what a writer has touched.
func (x *VectorGraph) nearest(seq uint64, touched *Touched, probe *vector.Probe, k int, res *GraphSearch) bool {
	*res = GraphSearch{Hits: res.Hits[:0], Changed: res.Changed[:0]}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !x.made {
		res.Due = !x.writing && !x.unfit && x.log.changes() >= x.retry
		res.Few = !x.writing && !res.Due && x.few
		return false
	}
	for _, r := range x.mem {
		r.touch()
	}
	var ok bool
	if res.Changed, ok = x.log.between(res.Changed, min(x.seq, seq), max(x.seq, seq), mostGraphChanges); !ok {
		res.Due = !x.writing && seq > x.seq
		return false
	}
	res.Behind = !x.writing && seq > x.seq && len(res.Changed) > 0
	res.Due = res.Behind && len(res.Changed) >= DueChanges
	res.Changed = append(res.Changed, x.far...)
	if x.key.Type != 0 {
		res.Changed = touched.appendLocals(res.Changed, uint32(tableIndex(x.key.Type, graph.Out)))
	} else {
		res.Changed = touched.appendLocals(res.Changed, valueSpace(x.key.Prop))
	}
	if x.key.Label != 0 {
		res.Changed = touched.appendLocals(res.Changed, valueSpace(LabelProp))
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
			h := GraphHit{Vertex: uint64(id)}
			if x.key.Type != 0 {
				ids := x.rows.IDs(n.Row)
				h.Edge, h.Target = uint64(ids[edgeLocal]), x.ids.unpack(ids[edgeTarget])
			}
			if x.key.Quantized {
				if len(res.Hits) < max(leastRanked, rankedPerHit*k) {
					res.Hits = append(res.Hits, h)
				}
			} else if score, ok := x.rows.Score(probe, n.Row); ok {
				h.Score = score
				res.Hits = append(res.Hits, h)
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

// graphs are the graphs of a shard, of its vertices or of the edges that leave them.
type graphs struct {
	cache   *Cache
	ids     IDs
	growing sync.Mutex
	list    atomic.Pointer[[]*VectorGraph]
	noted   atomic.Uint64 // the newest sequence of noting
}

// noting notes that a commit has changes, and returns the graphs that may be of them.
func (g *graphs) noting(seq uint64) []*VectorGraph {
	for noted := g.noted.Load(); noted < seq && !g.noted.CompareAndSwap(noted, seq); noted = g.noted.Load() {
	}
	if list := g.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (g *graphs) close() {
	if list := g.list.Load(); list != nil {
		for _, x := range *list {
			x.drop()
		}
	}
}
