package keys

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

func ordered(t testing.TB, v graph.Value) []byte {
	k, ok := AppendOrdered(nil, v)
	require.True(t, ok)
	return k
}

// compare is openCypher's order of property values, plainly.
func compare(a, b graph.Value) int {
	rank := func(v graph.Value) int {
		if v.IsNumber() {
			return 100
		}
		return slices.Index([]graph.ValueKind{
			graph.List, graph.VectorKind, graph.Bytes, graph.PointKind, graph.DateTime, graph.LocalDateTime, graph.Date, graph.Time, graph.LocalTime, graph.Duration, graph.String, graph.Bool,
		}, v.Kind())
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a.Kind() {
	case graph.List:
		return slices.CompareFunc(a.List(), b.List(), compare)
	case graph.VectorKind:
		x, y := a.Vector(), b.Vector()
		if c := cmp.Or(cmp.Compare(x.Dimensions(), y.Dimensions()), cmp.Compare(x.Type, y.Type)); c != 0 {
			return c
		}
		return slices.CompareFunc(x.List(), y.List(), compare)
	case graph.Bytes:
		return bytes.Compare(a.Bytes(), b.Bytes())
	case graph.PointKind:
		p, q := a.Point(), b.Point()
		return cmp.Or(cmp.Compare(p.CRS, q.CRS), cmp.Compare(p.X, q.X), cmp.Compare(p.Y, q.Y), cmp.Compare(p.Z, q.Z))
	case graph.DateTime:
		return a.DateTime().Compare(b.DateTime())
	case graph.LocalDateTime:
		return a.LocalDateTime().Compare(b.LocalDateTime())
	case graph.Date:
		return cmp.Compare(a.Date(), b.Date())
	case graph.Time:
		return a.Time().Compare(b.Time())
	case graph.LocalTime:
		return cmp.Compare(a.LocalTime(), b.LocalTime())
	case graph.Duration:
		return a.Duration().Compare(b.Duration())
	case graph.String:
		return cmp.Compare(a.Str(), b.Str())
	case graph.Bool:
		return cmp.Compare(boolInt(a), boolInt(b))
	}
	na, nb := nan(a), nan(b)
	if na || nb {
		return cmp.Compare(boolInt(graph.BoolValue(na)), boolInt(graph.BoolValue(nb)))
	}
	return number(a).Cmp(number(b))
}

func boolInt(b graph.Value) int {
	if b.Bool() {
		return 1
	}
	return 0
}

func nan(v graph.Value) bool { return v.Kind() == graph.Float && math.IsNaN(v.Float()) }

func number(v graph.Value) *big.Float {
	if v.Kind() == graph.Int {
		return new(big.Float).SetInt64(v.Int())
	}
	return big.NewFloat(v.Float())
}

func randomInt(r *rand.Rand) int64 {
	n := int64(r.Uint64()) >> r.IntN(64)
	switch r.IntN(4) {
	case 0:
		return n
	case 1:
		return []int64{math.MaxInt64, math.MinInt64, 1 << 53, -1 << 53}[r.IntN(4)] + int64(r.IntN(7)-3)
	case 2:
		return int64(r.IntN(5)) - 2
	}
	return int64(float64(n))
}

// randomValue returns values that are often near each other.
func randomValue(r *rand.Rand, depth int) graph.Value {
	small := func() int64 { return int64(r.IntN(4)) - 1 }
	switch r.IntN(17) {
	case 16:
		list := make([]graph.Value, 1+r.IntN(3))
		for i := range list {
			list[i] = graph.FloatValue(float64(small()) / 2)
		}
		x, _ := graph.VectorOf(graph.CoordinateType(1+r.IntN(6)), list)
		return graph.VectorValue(x)
	case 14:
		return graph.BytesValue([]byte(strings.Repeat([]string{"a", "\x00", "\x00\xff", "\xff"}[r.IntN(4)], r.IntN(3))))
	case 15:
		crs := []graph.CRS{graph.WGS84, graph.WGS843D, graph.Cartesian, graph.Cartesian3D}[r.IntN(4)]
		p, _ := graph.MakePoint(crs, []float64{float64(small()), float64(small()) / 2, float64(small())}[:crs.Dimensions()]...)
		return graph.PointValue(p)
	case 0, 1:
		return graph.IntValue(randomInt(r))
	case 2:
		return graph.FloatValue(float64(randomInt(r)))
	case 3:
		return graph.FloatValue([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 0.5, -0.5, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 63, -1 << 63}[r.IntN(11)])
	case 4:
		return graph.StringValue(strings.Repeat([]string{"a", "\x00", "\x00\xff", "\xff", "é"}[r.IntN(5)], r.IntN(3)) + []string{"", "b", "\x00"}[r.IntN(3)])
	case 5:
		return graph.BoolValue(r.IntN(2) == 0)
	case 6:
		return graph.DateValue(temporal.Date(randomInt(r)))
	case 7:
		return graph.LocalTimeValue(temporal.LocalTime(r.Int64N(86400e9)))
	case 8:
		return graph.TimeValue(temporal.Time{Local: temporal.LocalTime(r.IntN(3) * 3600e9), Offset: int32(r.IntN(5)-2) * 3600})
	case 9:
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: small(), Nano: int32(r.IntN(3))})
	case 10:
		t := temporal.DateTime{Sec: small(), Nano: int32(r.IntN(2)), Offset: int32(r.IntN(3)-1) * 3600}
		if r.IntN(2) == 0 {
			t.Zone = zoneOf([]string{"Europe/Stockholm", "Europe/Rome"}[r.IntN(2)])
		}
		return graph.DateTimeValue(t)
	case 11:
		return graph.DurationValue(temporal.Duration{Months: small() * randomScale(r), Days: small() * randomScale(r), Seconds: small() * randomScale(r), Nanos: int32(r.IntN(3))})
	}
	if depth == 0 {
		return graph.IntValue(small())
	}
	l := make([]graph.Value, r.IntN(3))
	for i := range l {
		l[i] = randomValue(r, depth-1)
	}
	return graph.ListValue(l)
}

func randomScale(r *rand.Rand) int64 { return []int64{1, 30, 86400, 2629746, 1 << 50}[r.IntN(5)] }

func zoneOf(name string) *time.Location {
	l, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return l
}

// The order of the bytes is the order of the values, by themselves and within a tuple.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 40_000 {
		a, b := randomValue(r, 2), randomValue(r, 2)
		ka, kb := ordered(t, a), ordered(t, b)
		require.Equal(t, compare(a, b), bytes.Compare(ka, kb), "%v %v", a, b)
		if c := compare(a, b); c != 0 {
			x, y := ordered(t, randomValue(r, 1)), ordered(t, randomValue(r, 1))
			require.Equal(t, c, bytes.Compare(append(ka, x...), append(kb, y...)), "%v %v", a, b)
		}
	}
}

func TestOrderedNumbers(t *testing.T) {
	require.Equal(t, ordered(t, graph.IntValue(1)), ordered(t, graph.FloatValue(1)))
	require.Equal(t, ordered(t, graph.FloatValue(0)), ordered(t, graph.FloatValue(math.Copysign(0, -1))))
	require.Equal(t, ordered(t, graph.FloatValue(math.NaN())), ordered(t, graph.FloatValue(-math.NaN())))
	require.NotEqual(t, ordered(t, graph.IntValue(1<<53+1)), ordered(t, graph.FloatValue(1<<53)))
	require.Equal(t, ordered(t, graph.IntValue(math.MinInt64)), ordered(t, graph.FloatValue(-1<<63)))
	require.Less(t, string(ordered(t, graph.IntValue(math.MaxInt64))), string(ordered(t, graph.FloatValue(1<<63))))
}

// A change of these bytes breaks stored data.
func TestOrderedPinned(t *testing.T) {
	stockholm := zoneOf("Europe/Stockholm")
	for _, c := range []struct {
		v    graph.Value
		want string
	}{
		{graph.IntValue(933), "30c08d28000000000000"},
		{graph.IntValue(-1), "30400fffffffffffff00"},
		{graph.IntValue(math.MaxInt64), "30c3dfffffffffffff04ff"},
		{graph.FloatValue(math.NaN()), "30ffffffffffffffff00"},
		{graph.StringValue("a\x00b"), "206100ff620001"},
		{graph.BoolValue(true), "2801"},
		{graph.Value{}, "40"},
		{graph.DateValue(1), "1a8000000000000001"},
		{graph.LocalTimeValue(2), "1c8000000000000002"},
		{graph.TimeValue(temporal.Time{Local: 3600e9, Offset: 3600}), "1b800000000000000080000e10"},
		{graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: 5, Nano: 6}), "19800000000000000580000006"},
		{graph.DateTimeValue(temporal.DateTime{Sec: 5, Nano: 6, Offset: 7200, Zone: stockholm}), "1880000000000000058000000680001c204575726f70652f53746f636b686f6c6d0001"},
		{graph.DurationValue(temporal.Duration{Months: 1, Days: 2, Seconds: 3, Nanos: 4}), "1d80000000000000000009f4e7499c520480000000000000018000000000000002"},
		{graph.ListValue([]graph.Value{graph.BoolValue(false), graph.StringValue("")}), "1028002000" + "0101"},
		{graph.PointValue(graph.Point{CRS: graph.Cartesian, X: 1, Y: -2}), "171c23bff00000000000003fffffffffffffff"},
		{vectorValue(graph.Float32, 1, -2), "14000205bf8000003fffffff"},
		{vectorValue(graph.Integer16, 1, -2), "1400020280017ffe"},
		{graph.BytesValue([]byte{1, 0, 255}), "160100ffff0001"},
	} {
		require.Equal(t, c.want, hex.EncodeToString(ordered(t, c.v)), "%v", c.v.Kind())
	}
}

func TestUnstorable(t *testing.T) {
	for _, v := range []graph.Value{
		graph.MapValue(nil), graph.VertexValue(1), graph.PathValue(&graph.Path{}), graph.EdgeRefValue(&graph.EdgeValue{}),
		graph.ListValue([]graph.Value{graph.IntValue(1), graph.MapValue(nil)}),
	} {
		_, ok := AppendOrdered(nil, v)
		require.False(t, ok)
		cell, ok := AppendCell([]byte("x"), v)
		require.False(t, ok)
		require.Equal(t, "x", string(cell))
		require.False(t, Storable(v))
	}
	deep := graph.IntValue(1)
	for range maxDepth {
		deep = graph.ListValue([]graph.Value{deep})
	}
	require.True(t, Storable(deep))
	deep = graph.ListValue([]graph.Value{deep})
	require.False(t, Storable(deep))
	_, ok := AppendCell(nil, deep)
	require.False(t, ok)
}

func TestTypeBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		a, b := randomValue(r, 1), randomValue(r, 1)
		lower, upper := TypeBounds(a)
		k := ordered(t, b)
		same := a.Kind() == b.Kind() || a.IsNumber() && b.IsNumber()
		within := bytes.Compare(lower, k) <= 0 && bytes.Compare(k, upper) < 0
		require.Equal(t, same && !nan(b), within, "%v %v", a.Kind(), b.Kind())
	}
}

func TestSuccessor(t *testing.T) {
	require.Equal(t, []byte{1, 3}, AppendSuccessor(nil, []byte{1, 2}))
	require.Equal(t, []byte{2}, AppendSuccessor(nil, []byte{1, 0xff, 0xff}))
	require.Empty(t, AppendSuccessor(nil, []byte{0xff}))
}

func FuzzOrder(f *testing.F) {
	f.Add(int64(1), 1.5, "a", "b")
	f.Fuzz(func(t *testing.T, i int64, x float64, s, u string) {
		vs := []graph.Value{graph.IntValue(i), graph.FloatValue(x), graph.StringValue(s), graph.StringValue(u)}
		for _, a := range vs {
			for _, b := range vs {
				require.Equal(t, compare(a, b), bytes.Compare(ordered(t, a), ordered(t, b)))
			}
		}
		require.Equal(t, strings.HasPrefix(s, u), bytes.HasPrefix(ordered(t, graph.StringValue(s)), AppendTextPrefix(nil, u)))
	})
}
