package hnsw

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

const (
	// ChunkRows is how many rows a piece of memory holds.
	ChunkRows = 1024
	// upperRun is how many links a piece of memory for the levels above the lowest holds.
	upperRun = 1 << 15
	// mostLevels bounds the levels above the lowest.
	mostLevels = 16
	// upperEf is how many rows a search takes from level to level above the lowest. Of 1,000,000 vectors of 384 dimensions in 200 clusters the
	// recall of the 10 nearest is 0.88 by one row and 0.96 by 8, in the same time.
	upperEf = 8
	// none is no row.
	none = math.MaxUint32
	// stripes is how many locks guard the lists of all rows.
	stripes = 1024
	// longest bounds the length of a vector, so that neither the square of a distance overflows nor the inverse of a length is lost in 32 bits.
	longest = 1e15
)

// Options set a graph up.
type Options struct {
	Similarity graph.Similarity
	Dimensions int
	// Quantized makes the graph keep and compare codes of 8 bits a coordinate; see vector.Quantize.
	Quantized bool
	// M is how many links a row gets at each level; at the lowest one it keeps twice as many.
	M int
	// EfConstruction is how many rows an insertion chooses its links from.
	EfConstruction int
	// IDs is how many numbers name a row; 1 if it is 0.
	IDs int
	// Alloc returns memory for n bytes with any content, aligned to 64 bytes, or false if there is none.
	Alloc func(n int) ([]byte, bool)
}

// Graph is a graph of vectors, numbered from row 0 on.
type Graph struct {
	o      Options
	stride int
	factor float64 // of the logarithm that draws a level

	chunks atomic.Pointer[[]chunk]
	uppers atomic.Pointer[[][]uint32]
	room   int // links left in the last of uppers
	rows   atomic.Uint32
	entry  atomic.Uint64 // 1 + its level above, its row below; 0 in an empty graph
	raise  sync.Mutex    // guards a change of entry
	locks  [stripes]sync.Mutex
	codes  []int8 // scratch memory of the goroutine that appends
}

// chunk is what the graph knows of ChunkRows rows, one after the other.
type chunk struct {
	links   []uint32 // 2·M a row at the lowest level, ended by none
	coords  []float32
	lengths []float64
	codes   []int8    // instead of coords and lengths in a quantized graph
	squares []float32 // with codes; see point
	factors []float32 // see point
	ids     []uint32  // o.IDs a row
	upper   []uint32  // the place of the row's links at the levels above, or none
}

// New returns an empty graph.
func New(o Options) *Graph {
	o.M = max(o.M, 2)
	o.EfConstruction = max(o.EfConstruction, o.M)
	o.IDs = max(o.IDs, 1)
	g := &Graph{o: o, stride: vector.Stride(o.Dimensions), factor: 1 / math.Log(float64(o.M))}
	g.chunks.Store(new([]chunk))
	g.uppers.Store(new([][]uint32))
	return g
}

// Bytes is about how much memory a graph of so many rows takes.
func Bytes(o *Options, rows int) int {
	m := max(o.M, 2)
	chunks := (rows + ChunkRows - 1) / ChunkRows
	return chunks*chunkBytes(o, m) + (rows*m/(m-1)/upperRun+1)*upperRun*4
}

func chunkBytes(o *Options, m int) int {
	of := vectorBytes(o) + 8
	if o.Quantized {
		of = vectorBytes(o) + 4
	}
	return ChunkRows * (4*2*m + of + 4 + 4*max(o.IDs, 1) + 4)
}

// vectorBytes is what the coordinates of a row take.
func vectorBytes(o *Options) int {
	if o.Quantized {
		return vector.Stride(o.Dimensions)
	}
	return 4 * vector.Stride(o.Dimensions)
}

// VectorBytes returns how many bytes a comparison with a row reads of it.
func (g *Graph) VectorBytes() int { return vectorBytes(&g.o) }

// Fits reports whether a vector of this length can be in a graph.
func Fits(by graph.Similarity, length float64) bool {
	return length < longest && (by == graph.Euclidean || length > 1/longest)
}

// Rows returns the number of rows.
func (g *Graph) Rows() int { return int(g.rows.Load()) }

// ID returns the first number of a row.
func (g *Graph) ID(row uint32) uint32 { return g.at(row).ids[int(row%ChunkRows)*g.o.IDs] }

// IDs returns the numbers that a row was appended with.
func (g *Graph) IDs(row uint32) []uint32 {
	i := int(row % ChunkRows)
	return g.at(row).ids[i*g.o.IDs : (i+1)*g.o.IDs]
}

// Score returns the similarity of a probe and a row of a graph that is not quantized, exactly; see vector.Probe.Packed.
func (g *Graph) Score(probe *vector.Probe, row uint32) (score float64, ok bool) {
	c, i := g.at(row), int(row%ChunkRows)
	return probe.Packed(c.coords[i*g.stride:(i+1)*g.stride], c.lengths[i])
}

// Holds reports whether a row has a packed vector, or in a quantized graph one that no search tells from it. Only the goroutine that appends
// may ask.
func (g *Graph) Holds(row uint32, x []float32) bool {
	c, i := g.at(row), int(row%ChunkRows)
	if g.o.Quantized {
		p := g.quantize(g.codes[:0], x)
		g.codes = p.codes
		return c.factors[i] == p.factor && slices.Equal(c.codes[i*g.stride:(i+1)*g.stride], p.codes)
	}
	return slices.Equal(c.coords[i*g.stride:(i+1)*g.stride], x)
}

func (g *Graph) at(row uint32) *chunk { return &(*g.chunks.Load())[row/ChunkRows] }

// Append adds a packed vector that Fits says can be in the graph, with Options.IDs numbers and without links. It returns false if there is no
// memory. One goroutine appends at a time.
func (g *Graph) Append(x []float32, length float64, ids ...uint32) (row uint32, ok bool) {
	row = g.rows.Load()
	chunks := *g.chunks.Load()
	if int(row) == len(chunks)*ChunkRows {
		c, ok := g.newChunk()
		if !ok {
			return 0, false
		}
		chunks = append(slices.Clip(chunks), c)
		g.chunks.Store(&chunks)
	}
	c, i := &chunks[row/ChunkRows], int(row%ChunkRows)
	place, ok := g.placeUpper(g.level(row))
	if !ok {
		return 0, false
	}
	if g.o.Quantized {
		p := g.quantize(g.codes[:0], x)
		g.codes = p.codes
		copy(c.codes[i*g.stride:(i+1)*g.stride], p.codes)
		c.factors[i], c.squares[i] = p.factor, p.square
	} else {
		copy(c.coords[i*g.stride:(i+1)*g.stride], x)
		c.factors[i], c.lengths[i] = float32(1/length), length
	}
	c.upper[i] = place
	copy(c.ids[i*g.o.IDs:(i+1)*g.o.IDs], ids)
	fill(c.links[i*2*g.o.M : (i+1)*2*g.o.M])
	g.rows.Store(row + 1)
	return row, true
}

// point is a vector as the graph compares it: by its coordinates and the inverse of its length, or by its codes.
//
// Codes times factor are the vector; for the cosine, the vector of the length √½ in its direction, so that the square of a distance is
// 1 - cos α. The square is that of its length, so that a distance takes one dot product of codes.
type point struct {
	coords []float32
	codes  []int8
	factor float32
	square float32
}

// point returns the vector of a row.
func (g *Graph) point(row uint32) point {
	c, i := g.at(row), int(row%ChunkRows)
	if g.o.Quantized {
		return point{codes: c.codes[i*g.stride : (i+1)*g.stride], factor: c.factors[i], square: c.squares[i]}
	}
	return point{coords: c.coords[i*g.stride : (i+1)*g.stride], factor: c.factors[i]}
}

// quantize appends the codes of a packed vector to dst.
func (g *Graph) quantize(dst []int8, x []float32) point {
	codes, scale, squares := vector.Quantize(dst, x)
	factor, square := float64(scale), float64(scale)*float64(scale)*float64(squares)
	if g.o.Similarity == graph.Cosine {
		factor, square = math.Sqrt(0.5/float64(squares)), 0.5
	}
	return point{codes: codes, factor: float32(factor), square: float32(square)}
}

func (g *Graph) newChunk() (c chunk, ok bool) {
	mem, ok := g.o.Alloc(chunkBytes(&g.o, g.o.M))
	if !ok {
		return c, false
	}
	c.links, mem = carve[uint32](mem, ChunkRows*2*g.o.M)
	if g.o.Quantized {
		c.codes, mem = carve[int8](mem, ChunkRows*g.stride)
		c.squares, mem = carve[float32](mem, ChunkRows)
	} else {
		c.coords, mem = carve[float32](mem, ChunkRows*g.stride)
		c.lengths, mem = carve[float64](mem, ChunkRows)
	}
	c.factors, mem = carve[float32](mem, ChunkRows)
	c.ids, mem = carve[uint32](mem, ChunkRows*g.o.IDs)
	c.upper, _ = carve[uint32](mem, ChunkRows)
	return c, true
}

// carve cuts n elements off the front of b.
func carve[T int8 | uint32 | float32 | float64](b []byte, n int) ([]T, []byte) {
	s := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
	return s, b[n*int(unsafe.Sizeof(s[0])):]
}

// placeUpper makes room for the links of a row at the levels above the lowest.
func (g *Graph) placeUpper(level int) (place uint32, ok bool) {
	n := level * g.o.M
	if n == 0 {
		return none, true
	}
	uppers := *g.uppers.Load()
	if n > g.room {
		mem, ok := g.o.Alloc(4 * upperRun)
		if !ok {
			return 0, false
		}
		run, _ := carve[uint32](mem, upperRun)
		uppers = append(slices.Clip(uppers), run)
		g.uppers.Store(&uppers)
		g.room = upperRun
	}
	at := upperRun - g.room
	g.room -= n
	fill(uppers[len(uppers)-1][at : at+n])
	return uint32((len(uppers)-1)*upperRun + at), true
}

func fill(links []uint32) {
	for i := range links {
		atomic.StoreUint32(&links[i], none)
	}
}

// level draws the highest level of a row from its number, so that a graph of the same rows has the same levels.
func (g *Graph) level(row uint32) int {
	z := uint64(row)*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15 // splitmix64
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	u := (float64(z>>11) + 1) / (1 << 53)
	return int(min(-math.Log(u)*g.factor, mostLevels))
}

// links returns the list of a row at a level.
func (g *Graph) links(row uint32, level int) []uint32 {
	c, i := g.at(row), int(row%ChunkRows)
	if level == 0 {
		return c.links[i*2*g.o.M : (i+1)*2*g.o.M]
	}
	at := int(c.upper[i]) + (level-1)*g.o.M
	return (*g.uppers.Load())[at/upperRun][at%upperRun : at%upperRun+g.o.M]
}

// top returns the row where searches begin, and its level; ok is false in an empty graph.
func (g *Graph) top() (row uint32, level int, ok bool) {
	e := g.entry.Load()
	return uint32(e), int(e>>32) - 1, e != 0
}

// Link links a row that was appended into the graph.
func (g *Graph) Link(row uint32, s *Searcher) {
	level := g.level(row)
	if _, highest, ok := g.top(); !ok || level > highest {
		g.raise.Lock()
		defer g.raise.Unlock()
	}
	start, highest, ok := g.top()
	if ok {
		s.begin(g, g.point(row))
		s.descend(start, highest, level)
		chosen := [mostLevels + 1][]uint32{}
		s.kept = s.kept[:0]
		for l := min(level, highest); l >= 0; l-- {
			s.search(l, g.o.EfConstruction)
			sortFor(row, s.best)
			at := len(s.kept)
			s.kept = s.choose(s.kept, s.best, g.o.M)
			chosen[l] = s.kept[at:]
		}
		// Others can find the row only once its own lists are there.
		for l := min(level, highest); l >= 0; l-- {
			own := g.links(row, l)
			for i, other := range chosen[l] {
				atomic.StoreUint32(&own[i], other)
			}
		}
		for l := min(level, highest); l >= 0; l-- {
			for _, other := range chosen[l] {
				g.linkBack(other, row, l, s)
			}
		}
	}
	if !ok || level > highest {
		g.entry.Store(uint64(level+1)<<32 | uint64(row))
	}
}

// linkBack adds a row to the list of another one, which gives up others if it is full.
func (g *Graph) linkBack(of, row uint32, level int, s *Searcher) {
	lock := &g.locks[of%stripes]
	lock.Lock()
	defer lock.Unlock()
	list := g.links(of, level)
	s.batch = s.batch[:0]
	for i := range list {
		other := atomic.LoadUint32(&list[i])
		if other == none {
			atomic.StoreUint32(&list[i], row)
			return
		}
		s.batch = append(s.batch, other)
	}
	s.batch = append(s.batch, row)
	x := g.point(of)
	s.shrunk = s.measure(s.shrunk[:0], &x, s.batch)
	sortFor(of, s.shrunk)
	s.batch = s.choose(s.batch[:0], s.shrunk, len(list))
	for i := range list {
		other := uint32(none)
		if i < len(s.batch) {
			other = s.batch[i]
		}
		atomic.StoreUint32(&list[i], other)
	}
}
