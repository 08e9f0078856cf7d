package keys

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

func TestCellRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		v := randomValue(r, 2)
		b, ok := AppendCell([]byte{9}, v)
		require.True(t, ok)
		b = append(b, 7)
		got, _, isRef, rest, err := Cell(b[1:])
		require.NoError(t, err)
		require.False(t, isRef)
		require.Equal(t, []byte{7}, rest)
		require.Equal(t, v.Kind(), got.Kind())
		require.Equal(t, ordered(t, v), ordered(t, got))
		rest, err = SkipCell(b[1:])
		require.NoError(t, err)
		require.Equal(t, []byte{7}, rest)
	}
	b := AppendRef(nil, Ref{ID: 1 << 50, Size: 4711})
	_, ref, isRef, rest, err := Cell(b)
	require.NoError(t, err)
	require.True(t, isRef)
	require.Empty(t, rest)
	require.Equal(t, Ref{ID: 1 << 50, Size: 4711}, ref)
}

// The first value with a zone does not tie the zone's name to the bytes that it was read from, which are used again.
func TestZoneOutlivesCell(t *testing.T) {
	kathmandu, err := time.LoadLocation("Asia/Kathmandu")
	require.NoError(t, err)
	zones.Delete(kathmandu.String())
	cell, ok := AppendCell(nil, graph.DateTimeValue(temporal.DateTime{Sec: 1, Offset: 20700, Zone: kathmandu}))
	require.True(t, ok)
	b := bytes.Clone(cell)
	v, _, _, _, err := Cell(b)
	require.NoError(t, err)
	clear(b)
	again, ok := AppendCell(nil, v)
	require.True(t, ok)
	require.Equal(t, cell, again)
}

// A change of these bytes breaks stored data.
func TestCellPinned(t *testing.T) {
	for _, c := range []struct {
		v    graph.Value
		want string
	}{
		{graph.Value{}, "00"},
		{graph.BoolValue(true), "0101"},
		{graph.IntValue(-1), "0201"},
		{graph.IntValue(933), "02ca0e"},
		{graph.FloatValue(1), "03000000000000f03f"},
		{graph.StringValue("ab"), "04026162"},
		{graph.ListValue([]graph.Value{graph.IntValue(1), {}}), "0502020200"},
		{graph.DateValue(1), "0702"},
		{graph.LocalTimeValue(1), "0802"},
		{graph.TimeValue(temporal.Time{Local: 1, Offset: -1}), "090201"},
		{graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: 1, Nano: 2}), "0a0204"},
		{graph.DateTimeValue(temporal.DateTime{Sec: 1, Nano: 2, Offset: 3, Zone: zoneOf("Asia/Tokyo")}), "0b0204060a417369612f546f6b796f"},
		{graph.DurationValue(temporal.Duration{Months: 1, Days: 2, Seconds: 3, Nanos: 4}), "0c02040608"},
		{graph.PointValue(graph.Point{CRS: graph.Cartesian, X: 1, Y: -2}), "10a338000000000000f03f00000000000000c0"},
		{graph.PointValue(graph.Point{CRS: graph.WGS843D, X: 1, Y: 2, Z: 3}), "10f326000000000000f03f00000000000000400000000000000840"},
		{graph.BytesValue([]byte{1, 0, 255}), "11030100ff"},
		{vectorValue(graph.Float32, 1, -2), "1205020000803f000000c0"},
		{vectorValue(graph.Integer16, 1, -2), "1202020100feff"},
	} {
		b, ok := AppendCell(nil, c.v)
		require.True(t, ok)
		require.Equal(t, c.want, hex.EncodeToString(b), "%v", c.v.Kind())
	}
	require.Equal(t, "400507", hex.EncodeToString(AppendRef(nil, Ref{ID: 5, Size: 7})))
}

func vectorValue(t graph.CoordinateType, coordinates ...int64) graph.Value {
	var list []graph.Value
	for _, c := range coordinates {
		list = append(list, graph.IntValue(c))
	}
	v, err := graph.VectorOf(t, list)
	if err != nil {
		panic(err)
	}
	return graph.VectorValue(v)
}

// TestVectorCellDamage holds that no cell holds what is no vector.
func TestVectorCellDamage(t *testing.T) {
	for _, text := range []string{"12", "1200", "120501", "12050100008", "1205000000803f", "120701", "1205010000c07f", "12050100000080", "120102ff", "1201ffffffff0f01"} {
		if len(text)%2 != 0 {
			text += "0"
		}
		b, err := hex.DecodeString(text)
		require.NoError(t, err)
		_, _, _, _, err = Cell(b)
		require.ErrorIs(t, err, ErrCell, text)
	}
}

// TestAppendVectorCell holds that a vector is packed as a list of the same numbers is.
func TestAppendVectorCell(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		typ := graph.CoordinateType(1 + r.IntN(6))
		list := make([]graph.Value, 1+r.IntN(70))
		for i := range list {
			list[i] = graph.IntValue(int64(r.IntN(250)) - 125)
		}
		x, err := graph.VectorOf(typ, list)
		require.NoError(t, err)
		a, _ := AppendCell(nil, graph.VectorValue(x))
		b, _ := AppendCell(nil, graph.ListValue(list))
		pa, na, oka := AppendVector(nil, a)
		pb, nb, okb := AppendVector(nil, b)
		require.Equal(t, pb, pa)
		require.Equal(t, nb, na)
		require.Equal(t, okb, oka)
	}
}

func FuzzCell(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		b, _ := AppendCell(nil, randomValue(r, 2))
		f.Add(b)
	}
	f.Add(AppendRef(nil, Ref{ID: 5, Size: 7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ref, isRef, rest, err := Cell(b)
		if err != nil {
			return
		}
		skipped, err := SkipCell(b)
		require.NoError(t, err)
		require.Equal(t, len(rest), len(skipped))
		again := AppendRef(nil, ref)
		if !isRef {
			var ok bool
			again, ok = AppendCell(nil, v)
			require.True(t, ok)
		}
		_, _, _, rest, err = Cell(again)
		require.NoError(t, err)
		require.Empty(t, rest)
	})
}

// A change of these keys breaks stored data.
func TestKeysPinned(t *testing.T) {
	v, e := graph.MakeVertexID(1, 2), graph.MakeEdgeID(3, 4)
	for _, c := range []struct {
		name string
		key  []byte
		size int
		want string
	}{
		{"list", AppendList(nil, 7, graph.In, 5), ListSize, "100000000701000000000005"},
		{"segment", AppendSegment(nil, 7, graph.In, 5, v, e), SegmentSize, "10000000070100000000000500010000000000020003000000000004"},
		{"run", AppendDeltaRun(nil, 7, graph.Out, 5, e), DeltaRunSize, "110000000700000000000005000003000000000004"},
		{"group", AppendGroup(nil, 7, graph.Out, 1<<16+5, e), GroupSize, "1200000007000000000100000003000000000004"},
		{"one", AppendDeltaOne(nil, 7, graph.Out, 5, v, e), DeltaOneSize, "1100000007000000000000050100010000000000020003000000000004"},
		{"chunk", AppendChunk(nil, 7, 511), ChunkSize, "20000000070000000001ff"},
		{"delta properties", AppendDeltaProps(nil, 5), DeltaVSize, "21000000000005"},
		{"member", AppendMember(nil, 7, 3), MemberSize, "300000000700000003"},
		{"delta member", AppendDeltaMember(nil, 7, 5), DeltaLSize, "3100000007000000000005"},
		{"entry", AppendEntry(nil, 7), EntrySize, "4000000007"},
		{"garbage", AppendGarbage(nil, 5), 9, "090000000000000005"},
		{"value", AppendValueKey(nil, 5), 8, "0000000000000005"},
	} {
		require.Equal(t, c.want, hex.EncodeToString(c.key), c.name)
		require.Len(t, c.key, c.size, c.name)
	}
	ty, dir, local := List(AppendDeltaOne(nil, 7, graph.In, 1<<47+9, v, e))
	require.Equal(t, graph.TypeID(7), ty)
	require.Equal(t, graph.In, dir)
	require.Equal(t, uint64(1<<47+9), local)
	n, ed := Pair(AppendPair(nil, v, e))
	require.Equal(t, v, n)
	require.Equal(t, e, ed)
	p, last := Chunk(AppendChunk(nil, 9, 77))
	require.Equal(t, graph.PropID(9), p)
	require.Equal(t, uint64(77), last)
	require.True(t, bytes.Compare(AppendList(nil, 7, graph.In, 5), AppendSegment(nil, 7, graph.In, 5, 0, 0)) < 0)
}
