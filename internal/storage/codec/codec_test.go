package codec

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// randomCells makes rows that suit one of the encodings.
func randomCells(r *rand.Rand) *Cells {
	var cs Cells
	kind := r.IntN(8)
	for range r.IntN(70) {
		var v graph.Value
		switch kind {
		case 0:
			v = graph.IntValue(int64(r.Uint64()) >> r.IntN(64))
		case 1:
			v = graph.IntValue(7)
		case 2:
			v = graph.FloatValue(r.NormFloat64())
		case 3:
			v = graph.BoolValue(r.IntN(2) == 0)
		case 4:
			v = graph.StringValue(strings.Repeat("word", r.IntN(4)))
		case 5:
			v = graph.StringValue(strings.Repeat("text", r.IntN(3000)))
		case 6:
			v = graph.DateValue(temporal.Date(r.IntN(1000)))
		default:
			v = []graph.Value{graph.IntValue(1), graph.StringValue("x"), graph.DurationValue(temporal.Duration{Days: 1})}[r.IntN(3)]
		}
		if r.IntN(5) > 0 {
			cs.Buf, _ = keys.AppendCell(cs.Buf, v)
		}
		if kind == 7 && r.IntN(5) == 0 {
			cs.Buf = keys.AppendRef(cs.Buf[:endOf(&cs)], keys.Ref{ID: r.Uint64(), Size: 5})
		}
		cs.Close()
	}
	return &cs
}

func endOf(cs *Cells) int {
	if n := cs.Len(); n > 0 {
		return int(cs.End[n-1])
	}
	return 0
}

func TestColumnRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		cs := randomCells(r)
		var c Column
		require.NoError(t, c.Parse(AppendColumn(nil, cs)))
		require.Equal(t, cs.Len(), c.N)
		var a Arena
		for i := range c.N {
			got, err := c.AppendCell(nil, i)
			require.NoError(t, err)
			require.Equal(t, string(cs.At(i)), string(got))
			v, ref, isRef, err := c.Value(i, &a)
			require.NoError(t, err)
			if len(cs.At(i)) == 0 {
				require.True(t, v.IsNull() && !isRef)
				continue
			}
			again := keys.AppendRef(nil, ref)
			if !isRef {
				again, _ = keys.AppendCell(nil, v)
			}
			require.Equal(t, string(cs.At(i)), string(again))
		}
	}
}

func TestIntColumn(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		var cs Cells
		rows := make([]int64, 1+r.IntN(40))
		base, shift := int64(r.Uint64()), r.IntN(64)
		for i := range rows {
			rows[i] = base + int64(r.Uint64()>>shift)
			cs.Buf, _ = keys.AppendCell(cs.Buf, graph.IntValue(rows[i]))
			cs.Close()
		}
		require.Equal(t, AppendColumn(nil, &cs), AppendIntColumn(nil, rows))
	}
}

// A change of these sizes and bytes breaks stored data.
func TestColumnPinned(t *testing.T) {
	column := func(vs ...graph.Value) []byte {
		var cs Cells
		for _, v := range vs {
			if !v.IsNull() {
				cs.Buf, _ = keys.AppendCell(cs.Buf, v)
			}
			cs.Close()
		}
		return AppendColumn(nil, &cs)
	}
	i, s, null := graph.IntValue, graph.StringValue, graph.Value{}
	for _, c := range []struct {
		want, name string
		col        []byte
	}{
		{"0301" + "02" + "c801" + "01" + "000105", "ints", column(i(100), i(101), i(105))},
		{"0381" + "02" + "02" + "04" + "01" + "0000fe", "ints with a hole", column(i(2), null, i(256))},
		{"0201" + "02" + "0e" + "00", "equal ints", column(i(7), i(7))},
		{"0102" + "000000000000f03f", "floats", column(graph.FloatValue(1))},
		{"0203" + "02", "bools", column(graph.BoolValue(false), graph.BoolValue(true))},
		{"0204" + "02" + "01000300" + "616263", "texts", column(s("a"), s("bc"))},
		{"0406" + "02" + "02000400" + "06000800" + "0202" + "0101" + "0204" + "0101", "mixed", column(i(1), graph.BoolValue(true), i(2), graph.BoolValue(true))},
	} {
		require.Equal(t, c.want, hex.EncodeToString(c.col), c.name)
	}
	long := strings.Repeat("x", 20)
	require.Equal(t, encDict, column(s(long), s(long), s(long), s(long))[1])
}

func FuzzColumn(f *testing.F) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 30 {
		f.Add(AppendColumn(nil, randomCells(r)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Column
		if c.Parse(b) != nil || c.N > 1<<16 {
			return
		}
		var a Arena
		for i := range c.N {
			_, _, _, _ = c.Value(i, &a)
			_, _ = c.AppendCell(nil, i)
		}
	})
}

func randomRows(r *rand.Rand, n int) []Row {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{Neighbour: graph.MakeVertexID(r.IntN(2), uint64(r.IntN(1000))), Edge: graph.MakeEdgeID(r.IntN(2), r.Uint64N(1<<r.IntN(40)))}
	}
	slices.SortFunc(rows, Row.Compare)
	return slices.CompactFunc(rows, func(a, b Row) bool { return a.Compare(b) == 0 })
}

func TestSegmentRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 1000 {
		var m Merged
		rows := randomRows(r, r.IntN(60))
		props := []graph.PropID{1, 2, 300}
		want := map[Row][3]string{}
		for i := range rows {
			body := []byte{DeltaInserted}
			var cs [3]string
			for p, id := range props {
				if r.IntN(2) == 0 {
					cell, _ := keys.AppendCell(nil, graph.IntValue(int64(r.IntN(100))))
					cs[p] = string(cell)
					body = append(appendUvarint(body, uint64(id)), cell...)
				}
			}
			want[rows[i]] = cs
			require.NoError(t, m.AddOne(rows[i].Neighbour, rows[i].Edge, body))
		}
		m.Sort()
		names, err := m.Props()
		require.NoError(t, err)
		var p Packer
		b, err := p.AppendSegment(nil, &m, m.Rows, names, 77)
		require.NoError(t, err)

		var back Merged
		require.NoError(t, back.AddSegment(b))
		require.Len(t, back.Rows, len(rows))
		require.Equal(t, 77, back.Segs[0].Total)
		for i, got := range back.Rows {
			require.Zero(t, got.Compare(rows[i]))
			for p, id := range props {
				cell, err := back.AppendCell(nil, got, id)
				require.NoError(t, err)
				require.Equal(t, want[rows[i]][p], string(cell))
			}
		}
	}
}

func appendUvarint(b []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// A change of these bytes breaks stored data.
func TestSegmentPinned(t *testing.T) {
	var m Merged
	require.NoError(t, m.AddOne(5, 1000, []byte{DeltaInserted}))
	require.NoError(t, m.AddOne(300, 1001, []byte{DeltaInserted, 4, 2, 14}))
	var p Packer
	b, err := p.AppendSegment(nil, &m, m.Rows, []graph.PropID{4}, 2)
	require.NoError(t, err)
	require.Equal(t, "0202"+"03"+"05a702"+"09"+"e807"+"01"+"04"+"06"+"02810102"+"0e00", hex.EncodeToString(b))
	// Neighbours that lie near each other take a byte each, and edge ids that were given out source by source none in
	// out lists and few in in lists.
	rows := make([]Row, 36)
	for i := range rows {
		rows[i] = Row{Neighbour: graph.VertexID(50_000 + 100*i), Edge: graph.EdgeID(1_000_000 + i)}
	}
	b, err = p.AppendSegment(nil, &m, rows, nil, 36)
	require.NoError(t, err)
	require.Len(t, b, 46)
	for i := range rows {
		rows[i].Edge = graph.EdgeID(1_000_000 + 3700*i + i%7)
	}
	b, err = p.AppendSegment(nil, &m, rows, nil, 36)
	require.NoError(t, err)
	require.Len(t, b, 83)
	var ids Ends
	for i, id := range []graph.EdgeID{110_003, 147_040, 221_024, 740_901} {
		ids.add([]graph.VertexID{3000, 4000, 6000, 20000}[i], id)
	}
	require.Equal(t, "0404"+"08"+"b817"+"e807"+"d00f"+"b06d"+"0a"+"25"+"06"+"c90f"+"4a"+"1f"+"aa1d"+"00", hex.EncodeToString(append(AppendTopology(nil, &ids, 4), 0)))
	ids.reset()
	ids.add(3, 1000)
	ids.add(4, 300)
	ids.add(6, 301)
	require.Equal(t, "0300"+"03"+"030102"+"02"+"ac02"+"bc0200000100", hex.EncodeToString(AppendTopology(nil, &ids, 0)))
}

// TestTopologyRoundTrip packs edges whose ids follow each other, rise with the neighbours or do neither, over one shard
// and several.
func TestTopologyRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	ways := map[byte]int{}
	for range 4000 {
		var e Ends
		kind, shards, local, id := r.IntN(4), 1+r.IntN(3), uint64(0), r.Uint64N(1<<30)
		for range r.IntN(80) {
			local += r.Uint64N(1 << r.IntN(20))
			v := graph.MakeVertexID(r.IntN(shards), local)
			switch kind {
			case 0:
				id++
				e.add(v, graph.MakeEdgeID(1, id))
			case 1, 2:
				e.add(v, graph.MakeEdgeID(v.Shard(), local*37+r.Uint64N(64)))
			default:
				e.add(v, graph.EdgeID(r.Uint64()))
			}
		}
		slices.Sort(e.Neighbours)
		if kind == 2 {
			slices.Sort(e.IDs)
		}
		b := append(AppendTopology(nil, &e, 5), "rest"...)
		var back topology
		rest, err := back.parse(b)
		require.NoError(t, err)
		require.Equal(t, "rest", string(rest))
		ways[back.way]++
		require.Equal(t, 5, back.Total)
		neighbours, err := back.AppendNeighbours([]graph.VertexID{})
		require.NoError(t, err)
		ids, err := back.AppendIDs([]graph.EdgeID{}, neighbours)
		require.NoError(t, err)
		require.Equal(t, append([]graph.VertexID{}, e.Neighbours...), neighbours)
		require.Equal(t, append([]graph.EdgeID{}, e.IDs...), ids)
		for n := range len(b) - len("rest") {
			if _, err := back.parse(b[:n]); err != nil {
				require.ErrorIs(t, err, ErrSegment)
			}
		}
	}
	for _, way := range []byte{8, IDsFollow, IDsAlong} {
		require.Greater(t, ways[way], 100, ways)
	}
}

func FuzzSegment(f *testing.F) {
	f.Add([]byte{2, 2, 3, 5, 0xa7, 2, 1, 0xe8, 7, 0, 1, 1, 4, 6, 2, 0x81, 1, 2, 0x0e, 0})
	f.Add([]byte{2, 2, 3, 5, 0xa7, 2, IDsFollow, 0xe8, 7, 1, 4, 6, 2, 0x81, 1, 2, 0x0e, 0})
	f.Add([]byte{3, 3, 3, 3, 1, 2, IDsAlong, 37, 3, 6, 1, 4, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Merged
		if m.AddSegment(b) != nil {
			return
		}
		ps, err := m.Props()
		if err != nil {
			return
		}
		for _, r := range m.Rows {
			for _, p := range ps {
				_, _ = m.AppendCell(nil, r, p)
			}
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte{4, 2, 14, 5, 4, 1, 'x'})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = EachProp(b, func(p graph.PropID, cell []byte) error {
			_, err := PropCell(b, p)
			return err
		})
	})
}

func FuzzGroup(f *testing.F) {
	f.Add([]byte{2, 1, 5, 0, 9, 1, 3, 7, 1, 0, 1, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var x GroupIndex
		if x.Add(b) != nil {
			return
		}
		x.Index()
		g := &x.groups[0]
		for i := range g.N {
			require.Equal(t, i, g.Find(g.Vertex(i)))
			one, err := g.Run(i)
			two, err2 := x.Run(i)
			require.Equal(t, err, err2)
			require.Equal(t, one, two)
		}
	})
}

// The lists of a vertex follow each other in the order of the groups, however many there are.
func TestGroupIndexOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for groups := range 40 {
		var x GroupIndex
		for range groups {
			places := map[uint16]bool{}
			for range r.IntN(60) {
				places[uint16(r.IntN(1<<16)>>r.IntN(16))] = true
			}
			b := []byte{byte(len(places)), 0}
			for _, p := range slices.Sorted(maps.Keys(places)) {
				b = binary.LittleEndian.AppendUint16(b, p)
			}
			require.NoError(t, x.Add(b))
		}
		want := slices.Sorted(slices.Values(x.At))
		x.Index()
		require.Equal(t, want, x.At)
	}
}

func TestMembersRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var m, back Members
	for range 200 {
		m = Members{}
		switch r.IntN(3) {
		case 0:
			for range r.IntN(2000) {
				SetRange(&m, 0, 0)
				i := r.IntN(MemberRows)
				SetRange(&m, i, i)
			}
		case 1:
			for range r.IntN(20) {
				i := r.IntN(MemberRows)
				SetRange(&m, i, i+r.IntN(MemberRows-i))
			}
		default:
			for i := range m {
				m[i] = r.Uint64()
			}
		}
		b := AppendMembers(nil, &m)
		require.LessOrEqual(t, len(b), 1+MemberRows/8)
		require.NoError(t, ParseMembers(b, &back))
		require.True(t, m == back)
	}
	SetRange(&m, 0, MemberRows-1)
	require.Equal(t, "030000ffff", hex.EncodeToString(AppendMembers(nil, &m)))
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0xff, 0xff})
	f.Add([]byte{2, 1, 0, 9, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Members
		_ = ParseMembers(b, &m)
	})
}
