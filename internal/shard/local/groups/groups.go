// Package groups adds up rows by group, from blocks of decoded columns.
package groups

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

const (
	// maxGroups and maxKeyBytes bound the groups. From minRows rows on, there must be rowsPerGroup of them for each group, unless their
	// members are asked for.
	maxGroups, maxKeyBytes, minRows, rowsPerGroup = 1 << 16, 16 << 20, 1 << 13, 2
)

// Grouper adds up rows by group. Groups are finer than those of a statement: keys that are equal there, such as 1 and 1.0, differ here.
type Grouper struct {
	req     *shard.Aggregate
	ordered bool

	values []cache.Dictionary // by key: encoded values
	tuples cache.Dictionary   // the numbers of several keys
	codes  [][]uint32         // by key and group: the number of the value
	first  []graph.VertexID   // by group
	rows   []int64            // by group
	aggs   []partial
	seen   int // rows

	members  []graph.VertexID
	memberOf []uint32

	numbers  [][]uint32 // by key and row: the number of the value
	known    []uint32   // by code of a block: the number of the value, plus 1
	combined []uint32   // by row: the group
	cell     []byte
}

// partial is the state of an aggregate.
type partial struct {
	fn   shard.AggFunc
	prop int
	kind graph.ValueKind // of extremes; they are of one kind
	most uint64          // bounds the magnitude of each sum of Ints
	of   []state
	vals []graph.Value // extremes that are not Ints, by group
	sums []floatSum    // by group; nil without floats
}

// state is how many values a group has, and the sum or the extreme of Ints.
type state struct{ n, x int64 }

// floatSum is a sum with a running correction, as that of rows is.
type floatSum struct {
	n    int64
	f, c float64
}

// New returns a Grouper without rows.
func New(req *shard.Aggregate, ordered bool) *Grouper {
	n := len(req.Keys)
	g := &Grouper{req: req, ordered: ordered, values: make([]cache.Dictionary, n), codes: make([][]uint32, n), numbers: make([][]uint32, n)}
	for k := range g.values {
		g.values[k].Reset(0)
	}
	if n > 1 {
		g.tuples.Reset(0)
	}
	g.aggs = make([]partial, len(req.Aggs))
	for i, a := range req.Aggs {
		g.aggs[i] = partial{fn: a.Func, prop: a.Prop}
	}
	if n == 0 {
		g.first, g.rows = []graph.VertexID{0}, []int64{0}
		g.extend()
	}
	return g
}

// Count adds n rows to the one group that there is without keys or aggregates.
func (g *Grouper) Count(n int) { g.rows[0] += int64(n) }

// Summarize adds n rows to the one group that there is without keys, by statistics of each property. It reports false, having added
// nothing, if it needs their values.
func (g *Grouper) Summarize(n int, sums []cache.Summary) (bool, error) {
	for i := range g.aggs {
		a := &g.aggs[i]
		s := &sums[a.prop]
		switch {
		case s.Count == 0 || a.fn == shard.AggCount:
		case a.fn == shard.AggSum && (!s.Summed || !a.room(magnitude(s.Sum), 1)), a.fn != shard.AggSum && !s.Ordered:
			return false, nil
		}
	}
	g.rows[0] += int64(n)
	for i := range g.aggs {
		a := &g.aggs[i]
		s := &sums[a.prop]
		if s.Count == 0 {
			continue
		}
		of := &a.of[0]
		switch a.fn {
		case shard.AggSum:
			of.x += s.Sum
		case shard.AggMin, shard.AggMax:
			best := s.Min
			if a.fn == shard.AggMax {
				best = s.Max
			}
			if err := g.extreme(a, 0, best); err != nil {
				return false, err
			}
			of.n--
		}
		of.n += int64(s.Count)
	}
	return true, nil
}

// Rows adds the rows at some places, which are ascending. cells are those of each property; first is the vertex at place 0.
func (g *Grouper) Rows(first graph.VertexID, places []uint32, cells []cache.Cells) error {
	group, err := g.group(first, places, cells)
	if err != nil {
		return err
	}
	if len(g.req.Keys) == 0 {
		g.rows[0] += int64(len(group))
	} else {
		for _, k := range group {
			g.rows[k]++
		}
	}
	if g.req.Members {
		for i, k := range group {
			g.members, g.memberOf = append(g.members, first+graph.VertexID(places[i])), append(g.memberOf, k)
		}
	}
	for i := range g.aggs {
		a := &g.aggs[i]
		if err := g.add(a, group, places, &cells[a.prop]); err != nil {
			return err
		}
	}
	return nil
}

// group returns the groups of rows, and adds new ones.
func (g *Grouper) group(first graph.VertexID, places []uint32, cells []cache.Cells) ([]uint32, error) {
	n := len(places)
	g.combined = slices.Grow(g.combined[:0], n)[:n]
	size := 0
	for k, p := range g.req.Keys {
		g.numbers[k] = slices.Grow(g.numbers[k][:0], n)[:n]
		if !g.number(&g.values[k], places, &cells[p], g.numbers[k]) {
			return nil, shard.ErrRows
		}
		size += g.values[k].Size()
	}
	groups := g.combined
	switch len(g.req.Keys) {
	case 0:
		clear(groups)
		return groups, nil
	case 1:
		groups = g.numbers[0]
	default:
		for i := range groups {
			g.cell = g.cell[:0]
			for k := range g.numbers {
				g.cell = binary.LittleEndian.AppendUint32(g.cell, g.numbers[k][i])
			}
			groups[i] = g.tuples.Number(g.cell)
		}
	}
	for i, at := range groups {
		if int(at) < len(g.rows) {
			continue
		}
		for k := range g.codes {
			g.codes[k] = append(g.codes[k], g.numbers[k][i])
		}
		g.first, g.rows = append(g.first, first+graph.VertexID(places[i])), append(g.rows, 0)
	}
	g.extend()
	g.seen += n
	if size > maxKeyBytes || !g.req.Members && (g.seen >= minRows && len(g.rows)*rowsPerGroup > g.seen || len(g.rows) > maxGroups) {
		return nil, shard.ErrRows
	}
	return groups, nil
}

// extend makes room for all groups.
func (g *Grouper) extend() {
	n := len(g.rows)
	for i := range g.aggs {
		a := &g.aggs[i]
		a.of = grown(a.of, n)
		if a.vals != nil {
			a.vals = grown(a.vals, n)
		}
		if a.sums != nil {
			a.sums = grown(a.sums, n)
		}
	}
}

// grown extends a slice to n items.
func grown[T any](s []T, n int) []T {
	if len(s) >= n {
		return s
	}
	return append(s, make([]T, n-len(s))...)
}

// number sets dst to the numbers of the values at some places. It reports false for a value without an encoding.
func (g *Grouper) number(d *cache.Dictionary, places []uint32, c *cache.Cells, dst []uint32) (ok bool) {
	one := func(v graph.Value) uint32 {
		var stored bool
		g.cell, stored = keys.AppendCell(g.cell[:0], v)
		ok = ok && stored
		return d.Number(g.cell)
	}
	ok = true
	if c.Codes == nil {
		for j, i := range places {
			dst[j] = one(c.Value(i))
		}
		return ok
	}
	g.known = append(g.known[:0], make([]uint32, len(c.Dict))...)
	for j, i := range places {
		code := c.Codes[i]
		if g.known[code] == 0 {
			g.known[code] = one(c.Dict[code]) + 1
		}
		dst[j] = g.known[code] - 1
	}
	return ok
}

// add adds the values at some places, whose groups are given, to an aggregate.
func (g *Grouper) add(a *partial, group, places []uint32, c *cache.Cells) error {
	switch {
	case a.fn == shard.AggCount:
		a.count(group, places, c)
		return nil
	case !c.Ints() || a.fn != shard.AggSum && a.kind != graph.Null && a.kind != graph.Int:
	case a.fn == shard.AggMin:
		a.extremes(group, places, c, -1)
		return nil
	case a.fn == shard.AggMax:
		a.extremes(group, places, c, 1)
		return nil
	case a.room(c.Most, len(places)):
		a.add(group, places, c)
		return nil
	}
	for j, i := range places {
		v := c.Value(i)
		if v.IsNull() {
			continue
		}
		if a.fn != shard.AggSum {
			if err := g.extreme(a, group[j], v); err != nil {
				return err
			}
			continue
		}
		switch v.Kind() {
		case graph.Int:
			if !a.room(magnitude(v.Int()), 1) {
				return shard.ErrRows
			}
			a.of[group[j]].x += v.Int()
		case graph.Float:
			if !g.ordered {
				return shard.ErrOrder
			}
			a.sums = grown(a.sums, len(g.rows))
			a.sums[group[j]].add(v.Float())
		default:
			return shard.ErrRows
		}
		a.of[group[j]].n++
	}
	return nil
}

func magnitude(n int64) uint64 { return uint64(max(n, -n)) }

// room reports whether n more Ints of a magnitude fit the sums.
func (a *partial) room(magnitude uint64, n int) bool {
	hi, all := bits.Mul64(magnitude, uint64(n))
	if sum := a.most + all; hi == 0 && sum >= all && sum <= math.MaxInt64 {
		a.most = sum
		return true
	}
	return false
}

func (a *partial) count(group, places []uint32, c *cache.Cells) {
	for j, i := range places {
		if c.Ints() && c.Has(i) || !c.Ints() && !c.Value(i).IsNull() {
			a.of[group[j]].n++
		}
	}
}

func (a *partial) add(group, places []uint32, c *cache.Cells) {
	if c.Present != nil || c.Narrow == nil {
		for j, i := range places {
			if c.Has(i) {
				of := &a.of[group[j]]
				of.n++
				of.x += c.Int(i)
			}
		}
		return
	}
	for j, i := range places {
		of := &a.of[group[j]]
		of.n++
		of.x += c.Base + int64(c.Narrow[i])
	}
}

// extremes keeps the least values for sign -1, the greatest for 1.
func (a *partial) extremes(group, places []uint32, c *cache.Cells, sign int) {
	a.kind = graph.Int
	for j, i := range places {
		if !c.Has(i) {
			continue
		}
		of, x := &a.of[group[j]], c.Int(i)
		if of.n == 0 || cmp.Compare(x, of.x) == sign {
			of.x = x
		}
		of.n++
	}
}

// extreme adds a value to a least or greatest one: of those that are equal, the first stays.
func (g *Grouper) extreme(a *partial, group uint32, v graph.Value) error {
	if a.kind == graph.Null {
		a.kind = v.Kind()
	}
	if v.Kind() != a.kind {
		return shard.ErrRows
	}
	if a.kind == graph.Float && !g.ordered {
		return shard.ErrOrder // 0.0 or -0.0
	}
	of := &a.of[group]
	if a.kind == graph.Int {
		if of.n == 0 || a.fn == shard.AggMin && v.Int() < of.x || a.fn == shard.AggMax && v.Int() > of.x {
			of.x = v.Int()
		}
		of.n++
		return nil
	}
	a.vals = grown(a.vals, len(g.rows))
	best := &a.vals[group]
	order := 0
	switch a.kind {
	case graph.Date:
		order = cmp.Compare(v.Date(), best.Date())
	case graph.LocalTime:
		order = cmp.Compare(v.LocalTime(), best.LocalTime())
	case graph.String:
		order = strings.Compare(v.Str(), best.Str())
	case graph.Float:
		if math.IsNaN(v.Float()) {
			return shard.ErrRows
		}
		order = cmp.Compare(v.Float(), best.Float())
	default:
		return shard.ErrRows
	}
	if of.n == 0 || a.fn == shard.AggMin && order < 0 || a.fn == shard.AggMax && order > 0 {
		*best = v
	}
	of.n++
	return nil
}

// add is that of the aggregates of rows (Neumaier's), so that the sums are equal.
func (s *floatSum) add(x float64) {
	t := s.f + x
	if math.Abs(s.f) >= math.Abs(x) {
		s.c += (s.f - t) + x
	} else {
		s.c += (x - t) + s.f
	}
	s.f = t
	s.n++
}

// Groups implements shard.Partial. A sum with floats has up to two more entries: the sum of the floats, and its correction.
func (g *Grouper) Groups() ([]*shard.Groups, error) {
	out := &shard.Groups{
		First: g.first, Rows: g.rows, Keys: make([][]graph.Value, len(g.codes)),
		Counts: make([][]int64, len(g.aggs)), Values: make([][]graph.Value, len(g.aggs)), Members: g.members, MemberOf: g.memberOf,
	}
	for k, codes := range g.codes {
		for _, n := range codes {
			v, _, _, _, err := keys.Cell(g.values[k].At(n))
			if err != nil {
				return nil, graph.InternalError("decode a key", err)
			}
			out.Keys[k] = append(out.Keys[k], v)
		}
	}
	n := len(g.rows)
	for i := range g.aggs {
		a := &g.aggs[i]
		for group := range n {
			of := &a.of[group]
			v := graph.Value{}
			switch {
			case of.n == 0 || a.fn == shard.AggCount:
			case a.vals != nil:
				v = a.vals[group]
			case a.sums == nil || of.n > a.sums[group].n:
				v = graph.IntValue(of.x)
			}
			out.Counts[i], out.Values[i] = append(out.Counts[i], of.n), append(out.Values[i], v)
		}
	}
	for i := range g.aggs {
		for group, s := range g.aggs[i].sums {
			if s.n > 0 {
				split(out, i, group, s.f)
			}
			if s.n > 1 && s.c != 0 && !math.IsNaN(s.c) {
				split(out, i, group, s.c)
			}
		}
	}
	return []*shard.Groups{out}, nil
}

// split adds an entry to a group that has a float for a value of aggregate i, which the group's first entry counts no more.
func split(out *shard.Groups, i, group int, f float64) {
	out.First, out.Rows = append(out.First, out.First[group]), append(out.Rows, 0)
	for k := range out.Keys {
		out.Keys[k] = append(out.Keys[k], out.Keys[k][group])
	}
	for j := range out.Counts {
		out.Counts[j], out.Values[j] = append(out.Counts[j], 0), append(out.Values[j], graph.Value{})
	}
	last := len(out.Rows) - 1
	out.Counts[i][group]--
	out.Counts[i][last], out.Values[i][last] = 1, graph.FloatValue(f)
}
