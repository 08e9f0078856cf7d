package pack

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// bulkLists is the new edges of one call of Bulk.Edges.
type bulkLists struct {
	t     graph.TypeID
	dir   graph.Direction
	edges []codec.ListEdge
	cols  []Column
}

// Edges puts new edges, sorted by SortEdges, into the lists of one type and direction; their rows count the rows of the
// columns. It takes ownership of edges. Call it once for each type and direction, and again only after a Spill.
func (b *Bulk) Edges(t graph.TypeID, dir graph.Direction, edges []codec.ListEdge, cols []Column) {
	// Readers of a segment rely on the order of its properties.
	slices.SortFunc(cols, func(x, y Column) int { return cmp.Compare(x.Prop, y.Prop) })
	if dir == graph.Out {
		for i := range cols {
			n := 0
			for j := range edges {
				if !cols[i].null(int(edges[j].Row)) {
					n++
				}
			}
			b.delta.CountEdgeProp(t, cols[i].Prop, n)
		}
	}
	if len(edges) > 0 {
		b.lists = append(b.lists, bulkLists{t, dir, edges, cols})
	}
}

// packLists writes a record for each list with new edges: the list itself if it was empty, else a run, which a compaction merges later. It
// packs both directions concurrently.
func (b *Bulk) packLists() error {
	slices.SortFunc(b.lists, func(x, y bulkLists) int {
		if x.t != y.t {
			return int(x.t) - int(y.t)
		}
		return int(x.dir) - int(y.dir)
	})
	var packed [2]bulkPacker
	var in sync.WaitGroup
	for dir := range packed {
		packed[dir] = bulkPacker{b: b, r: &b.records[2+dir], resized: map[stats.Degree]int64{}}
	}
	in.Go(func() { packed[graph.In].packAll(graph.In) })
	packed[graph.Out].packAll(graph.Out)
	in.Wait()
	for dir := range packed {
		p := &packed[dir]
		if p.err != nil {
			return kv.Fault("load edges", p.err)
		}
		b.delta.Resize(p.resized)
		b.Runs += p.runs
		b.Touched = append(b.Touched, p.touched...)
	}
	for i := range b.lists {
		l := &b.lists[i]
		b.Changed.Lists = append(b.Changed.Lists, ListRange{l.t, l.dir, l.edges})
	}
	return nil
}

// bulkPacker packs the lists of one direction.
type bulkPacker struct {
	b       *Bulk
	r       *records
	scratch packScratch
	// What the lists change of the statistics, how many runs there are and in which chunks.
	resized map[stats.Degree]int64
	runs    int
	touched []keys.GroupChunk
	err     error
}

func (p *bulkPacker) packAll(dir graph.Direction) {
	for i := range p.b.lists {
		if l := &p.b.lists[i]; l.dir == dir && p.err == nil {
			p.err = p.pack(l)
		}
	}
}

func (p *bulkPacker) pack(l *bulkLists) error {
	probe := prober{b: p.b, t: l.t, dir: l.dir}
	defer probe.close()
	r := p.r
	r.reserve(l)
	most := p.b.segmentBytes
	for rest := l.edges; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Vertex == rest[0].Vertex {
			n++
		}
		edges := rest[:n]
		rest = rest[n:]
		empty, err := probe.empty(edges[0].Vertex)
		if err != nil {
			return err
		}
		if empty {
			r.add()
			r.buf = keys.AppendList(r.buf, l.t, l.dir, edges[0].Vertex)
			r.value()
			p.appendRun(edges, l.cols)
			if r.end(); int(r.refs[len(r.refs)-1].end) <= most {
				stats.ResizeList(p.resized, l.t, l.dir, 0, n)
				continue
			}
			r.drop()
		}
		first := edges[0].Edge
		for i := range edges {
			first = min(first, edges[i].Edge)
		}
		r.add()
		r.buf = keys.AppendDeltaRun(r.buf, l.t, l.dir, edges[0].Vertex, first)
		r.value()
		p.appendRun(edges, l.cols)
		r.end()
		p.runs++
		c := keys.ChunkOf(l.t, l.dir, edges[0].Vertex)
		if k := len(p.touched); k == 0 || p.touched[k-1] != c {
			p.touched = append(p.touched, c)
		}
	}
	return nil
}

// reserve allocates memory for lists: about 32 bytes each, five for each edge, and half the size of the unpacked properties.
func (r *records) reserve(l *bulkLists) {
	lists := 0
	for i := range l.edges {
		if i == 0 || l.edges[i].Vertex != l.edges[i-1].Vertex {
			lists++
		}
	}
	bytes := 32*lists + 5*len(l.edges)
	for i := range l.cols {
		bytes += len(l.cols[i].cells.Buf)/2 + 4*len(l.cols[i].ints)
	}
	r.refs = slices.Grow(r.refs, lists)
	r.buf = slices.Grow(r.buf, bytes)
}

// appendRun appends edges of one list as a segment.
func (p *bulkPacker) appendRun(edges []codec.ListEdge, cols []Column) {
	p.r.buf = appendListSegment(p.r.buf, edges, cols, len(edges), &p.scratch)
}

// packScratch is memory that packing a list uses.
type packScratch struct {
	edges codec.Ends
	cells codec.Cells
	ints  []int64
	col   []byte
}

// appendListSegment appends edges of one list, whose rows count the rows of the columns, as a segment.
func appendListSegment(dst []byte, edges []codec.ListEdge, cols []Column, total int, s *packScratch) []byte {
	s.edges.Set(edges)
	dst = codec.AppendTopology(dst, &s.edges, total)
	return s.appendColumns(dst, cols, func(c *Column) {
		if c.ints != nil {
			s.ints = slices.Grow(s.ints[:0], len(edges))[:len(edges)]
			for j := range edges {
				s.ints[j] = c.ints[edges[j].Row]
			}
			s.col = codec.AppendIntColumn(s.col, s.ints)
			return
		}
		s.cells.Reset()
		for j := range edges {
			s.cells.Add(c.cells.At(int(edges[j].Row)))
		}
		s.appendCells(&s.cells)
	})
}

// appendCells appends the rows of a column to col, unless all are null.
func (s *packScratch) appendCells(rows *codec.Cells) {
	if len(rows.Buf) > 0 {
		s.col = codec.AppendColumn(s.col, rows)
	}
}

// appendColumns appends the property columns of a segment; column appends the rows of one to col, unless all are null.
func (s *packScratch) appendColumns(dst []byte, cols []Column, column func(*Column)) []byte {
	n, at := 0, len(dst)
	dst = append(dst, 0)
	for i := range cols {
		s.col = s.col[:0]
		column(&cols[i])
		if len(s.col) == 0 {
			continue
		}
		n++
		dst = binary.AppendUvarint(dst, uint64(cols[i].Prop))
		dst = binary.AppendUvarint(dst, uint64(len(s.col)))
		dst = append(dst, s.col...)
	}
	if n < 0x80 {
		dst[at] = byte(n)
		return dst
	}
	return slices.Replace(dst, at, at+1, binary.AppendUvarint(nil, uint64(n))...)
}

// prober finds out whether lists are empty. If most are not, it stops looking.
type prober struct {
	b          *Bulk
	t          graph.TypeID
	dir        graph.Direction
	ls         *view.Lists
	asked, hit int
}

// empty reports whether a list has no records. Vertices come in ascending order. It may return false for an empty list.
func (p *prober) empty(local uint64) (bool, error) {
	if p.asked > 64 && p.hit*4 < p.asked {
		return false, nil
	}
	if p.ls == nil {
		var err error
		if p.ls, err = p.b.view.Lists(p.t, p.dir); err != nil {
			return false, err
		}
	}
	p.asked++
	empty, err := p.ls.Empty(local)
	if empty && err == nil {
		p.hit++
	}
	return empty, err
}

func (p *prober) close() {
	if p.ls != nil {
		p.ls.Close()
	}
}

// SortEdges sorts by vertex, neighbour and edge: by vertex with a radix sort, as there are many, and then each list.
// The result may be in other memory than edges.
func SortEdges(edges []codec.ListEdge) []codec.ListEdge {
	edges = radixSort(edges)
	for i := 0; i < len(edges); {
		n := 1
		for i+n < len(edges) && edges[i+n].Vertex == edges[i].Vertex {
			n++
		}
		if list := edges[i : i+n]; n > 1 && !slices.IsSortedFunc(list, compareEdges) {
			slices.SortFunc(list, compareEdges)
		}
		i += n
	}
	return edges
}

const radixBits = 11

// radixSort sorts by vertex.
func radixSort(edges []codec.ListEdge) []codec.ListEdge {
	least, most, sorted := uint64(math.MaxUint64), uint64(0), true
	for i := range edges {
		v := edges[i].Vertex
		sorted = sorted && v >= most
		least, most = min(least, v), max(most, v)
	}
	if sorted {
		return edges
	}
	from, to := edges, make([]codec.ListEdge, len(edges))
	for shift := 0; shift < bits.Len64(most-least); shift += radixBits {
		var at [1 << radixBits]int
		for i := range from {
			at[(from[i].Vertex-least)>>shift&(1<<radixBits-1)]++
		}
		sum := 0
		for d := range at {
			at[d], sum = sum, sum+at[d]
		}
		for i := range from {
			d := (from[i].Vertex - least) >> shift & (1<<radixBits - 1)
			to[at[d]] = from[i]
			at[d]++
		}
		from, to = to, from
	}
	return from
}
