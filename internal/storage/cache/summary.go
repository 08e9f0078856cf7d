package cache

import (
	"math"
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
)

// Summary describes the values of one property of some vertices or edges.
type Summary struct {
	Count int // of the values; null is none
	// Ordered reports whether Min and Max are the least and the greatest value: all are of one kind for which Bounds holds.
	Ordered  bool
	Min, Max graph.Value // null without values
	// Summed reports whether Sum is the exact sum: all values are Ints.
	Summed bool
	Sum    int64
}

// Misses reports whether an interval contains none of the values. False may also mean that the summary cannot decide.
func (s *Summary) Misses(iv *graph.Interval) bool {
	if s.Count == 0 {
		return true
	}
	above, below := graph.Interval{Lo: iv.Lo, LoOpen: iv.LoOpen}, graph.Interval{Hi: iv.Hi, HiOpen: iv.HiOpen}
	return s.Ordered && (!above.Holds(s.Max) || !below.Holds(s.Min))
}

// Within reports whether an interval contains all of the values. False may also mean that the summary cannot decide.
func (s *Summary) Within(iv *graph.Interval) bool {
	return s.Count == 0 || s.Ordered && iv.Holds(s.Min) && iv.Holds(s.Max)
}

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
func (c *Column) Summary() Summary {
	switch {
	case c.form == formEmpty:
		return Summary{Ordered: true, Summed: true}
	case !c.ordered:
		return Summary{Count: int(c.count)}
	}
	return Summary{
		Count: int(c.count), Ordered: true, Min: number(c.kind, c.lo), Max: number(c.kind, c.hi), Summed: c.summed, Sum: c.sum,
	}
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
	for i, n := 0, len(changed)<<6; i < n; {
		odd := changed[i>>6]>>(i&63)&1 != 0
		end := runEnd(changed, i)
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

// runEnd returns the first place after i whose bit differs from that of i, or the end.
func runEnd(words []uint64, i int) int {
	same := -(words[i>>6] >> (i & 63) & 1) // 64 bits as that of i is
	for w, other := i>>6, (words[i>>6]^same)>>(i&63)<<(i&63); ; other = words[w] ^ same {
		if other != 0 {
			return w<<6 + bits.TrailingZeros64(other)
		}
		if w++; w == len(words) {
			return w << 6
		}
	}
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
func (c *Cursor) CountTargets(v graph.VertexID, codes [][]int32, row []int64) (edges int, ok bool) {
	l, ok := c.List(v)
	if !ok {
		return 0, false
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
		return len(l.Targets), true
	}
	for _, t := range l.Targets {
		code := last
		if no, at := ids.Shard(t), ids.Local(t); no < len(codes) && uint64(at) < uint64(len(codes[no])) {
			code = min(code, uint32(codes[no][at]))
		}
		row[code]++
	}
	return len(l.Targets), true
}
