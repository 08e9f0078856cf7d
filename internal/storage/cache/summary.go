package cache

import (
	"math"
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
)

// summarize fills the Summary of the cells. Texts and mixed cells are only counted: few ask for more.
func (b *ColumnBuilder) summarize(c *Column) {
	switch {
	case c.form != formNarrow && c.form != formWide:
	case c.kind == graph.Float:
		b.orderFloats(c)
	default:
		c.ordered, c.lo, c.hi = true, uint64(b.lo), uint64(b.hi)
		if most := max(magnitude(b.lo), magnitude(b.hi)); c.kind == graph.Int && most <= math.MaxInt64/uint64(b.count) {
			c.summed = true
			for _, w := range b.wide { // null is 0
				c.sum += int64(w)
			}
		}
	}
}

// orderFloats finds the first of the least and the first of the greatest floats.
func (b *ColumnBuilder) orderFloats(c *Column) {
	lo, hi := math.Inf(1), math.Inf(-1)
	first := true
	for i, word := range b.present {
		for ; word != 0; word &= word - 1 {
			x := math.Float64frombits(b.wide[i<<6+bits.TrailingZeros64(word)])
			if x != x {
				return
			}
			if first || x < lo {
				lo = x
			}
			if first || x > hi {
				hi = x
			}
			first = false
		}
	}
	c.ordered, c.lo, c.hi = true, math.Float64bits(lo), math.Float64bits(hi)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Summary describes the cells. It was made with them, and lasts as long.
func (c *Column) Summary() graph.Summary {
	switch {
	case c.form == formEmpty:
		return graph.Summary{Ordered: true, Summed: true}
	case !c.ordered:
		return graph.Summary{Count: int(c.count)}
	}
	return graph.Summary{
		Count: int(c.count), Ordered: true, Min: number(c.kind, c.lo), Max: number(c.kind, c.hi), Summed: c.summed, Sum: c.sum,
	}
}

// SummaryOf describes the cells lo … hi-1, which it reads.
func (c *Column) SummaryOf(lo, hi uint32) graph.Summary {
	if c.form == formEmpty {
		return c.Summary()
	}
	s := graph.Summary{Ordered: c.ordered, Summed: c.summed}
	var least, most, sum uint64
	switch {
	case c.ordered && c.present == nil && c.kind != graph.Float && lo < hi:
		s.Count = int(hi - lo)
		if c.form == formWide {
			least, most, sum = mergeCells(c.wide[lo:hi])
		} else {
			least, most, sum = mergeCells(c.narrow[lo:hi])
			least, most, sum = c.base+least, c.base+most, sum+c.base*uint64(s.Count)
		}
	default:
		for i := lo; i < hi; i++ {
			if !c.has(i) {
				continue
			}
			s.Count++
			if !c.ordered {
				continue
			}
			x := c.cell(i)
			if s.Count == 1 || c.less(x, least) {
				least = x
			}
			if s.Count == 1 || c.less(most, x) {
				most = x
			}
			sum += x
		}
	}
	if c.ordered && s.Count > 0 {
		s.Min, s.Max = number(c.kind, least), number(c.kind, most)
	}
	if c.summed {
		s.Sum = int64(sum) // as all cells' sum fits, so does that of some
	}
	return s
}

// foldCells returns the least and the greatest cell, as signed numbers, and the sum.
func mergeCells[T uint32 | uint64](cells []T) (least, most, sum uint64) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range cells {
		lo, hi = min(lo, int64(x)), max(hi, int64(x))
		sum += uint64(x)
	}
	return uint64(lo), uint64(hi), sum
}

// cell returns the number inside a narrow or wide cell.
func (c *Column) cell(i uint32) uint64 {
	if c.form == formWide {
		return c.wide[i]
	}
	return c.base + uint64(c.narrow[i])
}

// less compares numbers inside cells.
func (c *Column) less(a, b uint64) bool {
	if c.kind == graph.Float {
		return math.Float64frombits(a) < math.Float64frombits(b)
	}
	return int64(a) < int64(b)
}

// Piece is a part of a block: the cells Lo … Hi-1 of its columns, which are as the view sees them, or N vertices from the local
// id First on, which the caller must read elsewhere.
type Piece struct {
	Lo, Hi   uint32
	First, N uint64
}

// pieces appends the pieces of a block in order. Its first vertex is first, offsets are where the cells of each vertex begin
// (nil: each has one), and changed are the vertices to read elsewhere.
func pieces(dst []Piece, first uint64, offsets []uint32, changed []uint64) []Piece {
	at := func(i int) uint32 {
		if offsets != nil {
			return offsets[i]
		}
		return uint32(i)
	}
	n := len(changed) << 6
	for i := 0; i < n; {
		odd := changed[i>>6]>>(i&63)&1 != 0
		end := i + 1
		for end < n && (changed[end>>6]>>(end&63)&1 != 0) == odd {
			if end&63 == 0 && end+64 <= n && (changed[end>>6] == 0 && !odd || ^changed[end>>6] == 0 && odd) {
				end += 64
				continue
			}
			end++
		}
		switch lo, hi := at(i), at(end); {
		case odd:
			dst = append(dst, Piece{First: first + uint64(i), N: uint64(end - i)})
		case lo < hi:
			dst = append(dst, Piece{Lo: lo, Hi: hi})
		}
		i = end
	}
	return dst
}

// Len is the number of edges of the block that Seek has found, which is that of the cells of each of its columns.
func (c *Cursor) Len() int { return len(c.data.targets) }

// Pieces appends to dst the pieces of the block that Seek has found.
func (c *Cursor) Pieces(dst []Piece) []Piece {
	var changed [listWords]uint64
	if c.over == nil && c.skip == nil {
		return append(dst, Piece{Hi: uint32(c.Len())})
	}
	for w := range changed {
		if c.over != nil {
			changed[w] = c.over.mask(w)
		}
		if c.skip != nil {
			changed[w] |= c.skip[w]
		}
	}
	return pieces(dst, c.block*ListBlock, c.data.offsets, changed[:])
}

// Held appends to dst, block by block, whether its lists are decoded with all that is wanted, and returns how many edges these
// have; exact says that no change stands beside them.
func (v *ListView) Held(dst []bool, typ graph.TypeID, dir graph.Direction, want *Want) (held []bool, edges int, exact bool) {
	exact = v.touched == nil
	t := v.lists.tables.at(tableIndex(typ, dir))
	for b := uint64(0); b*ListBlock < v.vertices; b++ {
		dst = append(dst, false)
		s := t.find(b)
		if s == nil {
			continue
		}
		if seg := s.seg.Load(); seg != nil && seg.since <= v.seq && seg.data.has(want) {
			dst[len(dst)-1] = true
			edges += len(seg.data.targets)
			exact = exact && seg.over.Load() == nil
		}
	}
	return dst, edges, exact
}

// Held returns how many vertices have a property in the blocks that are decoded.
func (v *ColumnView) Held(prop graph.PropID) (values int) {
	t := v.columns.tables.at(columnIndex(prop))
	for b := uint64(0); b*ColumnBlock < v.vertices; b++ {
		if s := t.find(b); s != nil {
			if seg := s.seg.Load(); seg != nil && seg.since <= v.seq {
				values += int(seg.data.count)
			}
		}
	}
	return values
}

// Block appends to cols the columns of some properties of a block, and to dst its pieces. It reports false if the caller must
// read the block elsewhere.
func (v *ColumnView) Block(props []graph.PropID, block uint64, cols []*Column, dst []Piece) ([]*Column, []Piece, bool, error) {
	if block*ColumnBlock >= v.vertices {
		return cols, dst, false, nil
	}
	var changed [ColumnBlock / 64]uint64
	for _, prop := range props {
		seg, err := v.segment(v.columns.tables.at(columnIndex(prop)), prop, block, ColumnBlock)
		if seg == nil || err != nil {
			return cols, dst, false, err
		}
		over, skip := seg.over.Load(), v.touched.block(valueSpace(prop), block*ColumnBlock/ListBlock)
		for w := range changed {
			if over != nil {
				changed[w] |= over.mask(w)
			}
			if skip != nil {
				changed[w] |= skip[int(block*ColumnBlock%ListBlock)>>6+w]
			}
		}
		cols = append(cols, &seg.data)
	}
	return cols, pieces(dst, block*ColumnBlock, nil, changed[:]), true, nil
}

// CountTargets adds the list of a vertex to row: each target by its number in codes, by shard and local id; those without one,
// or with a negative one, to the last cell. It reports false if the caller must read the list elsewhere.
func (c *Cursor) CountTargets(v graph.VertexID, codes [][]int32, row []int64) bool {
	l, ok := c.List(v)
	if !ok {
		return false
	}
	ids, last := c.view.lists.ids, uint32(len(row)-1)
	if ids.shards == 1 && len(codes) > 0 {
		of := codes[0]
		for _, t := range l.Targets {
			code := last
			if uint64(t) < uint64(len(of)) {
				code = min(code, uint32(of[t]))
			}
			row[code]++
		}
		return true
	}
	for _, t := range l.Targets {
		code := last
		if no, at := ids.Shard(t), ids.Local(t); no < len(codes) && uint64(at) < uint64(len(codes[no])) {
			code = min(code, uint32(codes[no][at]))
		}
		row[code]++
	}
	return true
}
