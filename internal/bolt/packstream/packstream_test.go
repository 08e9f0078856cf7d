package packstream

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

var (
	modern = Form{ElementIDs: true, UTC: true}
	legacy = Form{}
	utc44  = Form{UTC: true}
	six    = Form{ElementIDs: true, UTC: true, Vectors: true}
)

func stockholm(t testing.TB) *time.Location {
	z, err := temporal.ParseZone("Europe/Stockholm")
	require.NoError(t, err)
	return z.Location
}

// samples are values of all kinds that may be parameters, with the bytes of 5.0 and of 4.4 where these differ.
func samples(t testing.TB) []struct {
	v          graph.Value
	bytes, v44 string
} {
	ints := func(n int) graph.Value { return graph.ListValue(slices.Repeat([]graph.Value{graph.IntValue(1)}, n)) }
	return []struct {
		v          graph.Value
		bytes, v44 string
	}{
		{graph.Value{}, "C0", ""},
		{graph.BoolValue(true), "C3", ""},
		{graph.BoolValue(false), "C2", ""},
		{graph.IntValue(0), "00", ""},
		{graph.IntValue(-1), "FF", ""},
		{graph.IntValue(-16), "F0", ""},
		{graph.IntValue(-17), "C8EF", ""},
		{graph.IntValue(127), "7F", ""},
		{graph.IntValue(-128), "C880", ""},
		{graph.IntValue(128), "C90080", ""},
		{graph.IntValue(-129), "C9FF7F", ""},
		{graph.IntValue(32767), "C97FFF", ""},
		{graph.IntValue(32768), "CA00008000", ""},
		{graph.IntValue(-32769), "CAFFFF7FFF", ""},
		{graph.IntValue(math.MaxInt32), "CA7FFFFFFF", ""},
		{graph.IntValue(math.MaxInt32 + 1), "CB0000000080000000", ""},
		{graph.IntValue(math.MinInt64), "CB8000000000000000", ""},
		{graph.FloatValue(1.5), "C13FF8000000000000", ""},
		{graph.FloatValue(math.Inf(-1)), "C1FFF0000000000000", ""},
		{graph.FloatValue(math.NaN()), "C17FF8000000000001", ""},
		{graph.StringValue(""), "80", ""},
		{graph.StringValue("Å"), "82C385", ""},
		{graph.StringValue(strings.Repeat("a", 16)), "D010" + strings.Repeat("61", 16), ""},
		{graph.StringValue(strings.Repeat("a", 256)), "D10100" + strings.Repeat("61", 256), ""},
		{graph.StringValue(strings.Repeat("a", 65536)), "D200010000" + strings.Repeat("61", 65536), ""},
		{ints(0), "90", ""},
		{ints(15), "9F" + strings.Repeat("01", 15), ""},
		{ints(16), "D410" + strings.Repeat("01", 16), ""},
		{ints(256), "D50100" + strings.Repeat("01", 256), ""},
		{ints(65536), "D600010000" + strings.Repeat("01", 65536), ""},
		{graph.MapValue([]graph.MapEntry{{Key: "b", Value: graph.IntValue(1)}, {Key: "a", Value: ints(1)}}), "A2816201816191" + "01", ""},
		{graph.DateValue(-1), "B144FF", ""},
		{graph.LocalTimeValue(1), "B17401", ""},
		{graph.TimeValue(temporal.Time{Local: 1, Offset: 3600}), "B25401C90E10", ""},
		{ // 12:34:56-02:05:07
			graph.TimeValue(temporal.Time{Local: (12*3600 + 34*60 + 56) * 1_000_000_000, Offset: -(2*3600 + 5*60 + 7)}),
			"B254CB000029324BFD6000C9E2AD", "",
		},
		{graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: 1, Nano: 2}), "B2640102", ""},
		{graph.DurationValue(temporal.Duration{Months: 1, Days: -2, Seconds: -3, Nanos: 4}), "B44501FEFD04", ""},
		{graph.BytesValue([]byte{1, 2}), "CC020102", ""},
		{graph.BytesValue(make([]byte, 256)), "CD0100" + strings.Repeat("00", 256), ""},
		{graph.PointValue(graph.Point{CRS: graph.Cartesian, X: 1, Y: -2}), "B358C91C23C13FF0000000000000C1C000000000000000", ""},
		{
			graph.PointValue(graph.Point{CRS: graph.WGS843D, X: 1, Y: -2, Z: 0.5}),
			"B459C91373C13FF0000000000000C1C000000000000000C13FE0000000000000", "",
		},
		{graph.DateTimeValue(temporal.DateTime{Sec: 1, Nano: 2, Offset: 60}), "B34901023C", "B3463D023C"},
		{graph.DateTimeValue(temporal.DateTime{Sec: 1, Nano: 2, Offset: -7507}), "B3490102C9E2AD", "B346C9E2AE02C9E2AD"},
		{
			graph.DateTimeValue(temporal.DateTime{Sec: 0, Nano: 2, Offset: 3600, Zone: stockholm(t)}),
			"B3690002D010" + hex.EncodeToString([]byte("Europe/Stockholm")), "B366C90E1002D010" + hex.EncodeToString([]byte("Europe/Stockholm")),
		},
	}
}

// A date-time may name an offset as its zone, as Java's drivers do.
func TestOffsetAsZone(t *testing.T) {
	for zone, offset := range map[string]int32{"+01:00": 3600, "-05:30": -19800, "Z": 0} {
		name := hex.EncodeToString(AppendString(nil, zone))
		in, err := hex.DecodeString("B3690002" + name)
		require.NoError(t, err)
		d := NewDecoder(modern, in)
		v, err := d.Value()
		require.NoError(t, err)
		require.Nil(t, d.TakeFlaw(), zone)
		require.Equal(t, temporal.DateTime{Nano: 2, Offset: offset}, v.DateTime(), zone)
	}
}

// The bytes of the samples must not change: drivers of other vendors read them.
func TestBytesAndRoundTrip(t *testing.T) {
	for _, s := range samples(t) {
		for _, f := range []Form{modern, legacy, utc44} {
			want := s.bytes
			if !f.UTC && s.v44 != "" {
				want = s.v44
			}
			got := f.Append([]byte{7}, s.v)
			require.Equal(t, strings.ToUpper(want), strings.ToUpper(hex.EncodeToString(got[1:])))
			d := NewDecoder(f, got[1:])
			back, err := d.Value()
			require.NoError(t, err)
			require.Nil(t, d.TakeFlaw())
			require.Zero(t, d.Left())
			require.Equal(t, got[1:], f.Append(nil, back))
		}
	}
}

// Entities carry the ids of id() and elementId(); below 5.0 only numbers.
func TestEntities(t *testing.T) {
	node := func(local uint64) graph.Value {
		return graph.VertexRecordValue(graph.MakeVertexID(0, local), &graph.Record{
			Labels: []string{"P"}, Keys: []string{"n"}, Values: []graph.Value{graph.IntValue(int64(local))},
		})
	}
	edge := func(local, src, dst uint64) graph.Value {
		return graph.EdgeRefValue(&graph.EdgeValue{
			Edge:   graph.Edge{ID: graph.MakeEdgeID(0, local), Src: graph.VertexID(src), Dst: graph.VertexID(dst), Type: 2},
			Record: &graph.Record{Type: "K"},
		})
	}
	hexOf := func(f Form, v graph.Value) string { return strings.ToUpper(hex.EncodeToString(f.Append(nil, v))) }
	require.Equal(t, "B34E05918150A1816E05", hexOf(legacy, node(5)))
	require.Equal(t, "B44E05918150A1816E058476303A35", hexOf(modern, node(5)))
	require.Equal(t, "B552070506814BA0", hexOf(legacy, edge(7, 5, 6)))
	require.Equal(t, "B852070506814BA08A65303A373A353A363A328476303A358476303A36", hexOf(modern, edge(7, 5, 6)))
	// (5)-[7]->(6)<-[8]-(5)-[7]->(6): two nodes, two relationships, the second against its direction.
	p := &graph.Path{
		Vertices: []graph.Value{node(5), node(6), node(5), node(6)},
		Edges:    []graph.Value{edge(7, 5, 6), edge(8, 5, 6), edge(7, 5, 6)},
	}
	n5, n6 := "B34E05918150A1816E05", "B34E06918150A1816E06"
	require.Equal(t, "B350"+"92"+n5+n6+"92"+"B37207814BA0"+"B37208814BA0"+"96"+"0101FE000101", hexOf(legacy, graph.PathValue(p)))
	require.Equal(t, "B350"+"91"+n5+"90"+"90", hexOf(legacy, graph.PathValue(&graph.Path{Vertices: []graph.Value{node(5)}})))
	require.Equal(t, "B34E05"+"90A0", hexOf(legacy, graph.VertexValue(5)), "a node without its record")
}

// Vectors are big-endian in 6.0, and a map before it.
func TestVectors(t *testing.T) {
	for typ, want := range map[graph.CoordinateType]string{
		graph.Integer8:  "B256" + "CC01C8" + "CC0201FE",
		graph.Integer16: "B256" + "CC01C9" + "CC040001FFFE",
		graph.Integer32: "B256" + "CC01CA" + "CC0800000001FFFFFFFE",
		graph.Integer64: "B256" + "CC01CB" + "CC100000000000000001FFFFFFFFFFFFFFFE",
		graph.Float32:   "B256" + "CC01C6" + "CC083F800000C0000000",
		graph.Float64:   "B256" + "CC01C1" + "CC103FF0000000000000C000000000000000",
	} {
		x, err := graph.VectorOf(typ, []graph.Value{graph.IntValue(1), graph.IntValue(-2)})
		require.NoError(t, err)
		b := six.Append(nil, graph.VectorValue(x))
		require.Equal(t, want, strings.ToUpper(hex.EncodeToString(b)))
		d := NewDecoder(six, b)
		back, err := d.Value()
		require.NoError(t, err)
		require.Nil(t, d.TakeFlaw())
		require.Equal(t, x, back.Vector())
		d = NewDecoder(modern, modern.Append(nil, graph.VectorValue(x)))
		back, err = d.Value()
		require.NoError(t, err)
		require.Equal(t, "VECTOR(2, "+typ.String()+")", back.Get("originalType").Str())
	}
	for in, want := range map[string]string{
		"B256CC01C8CC00": "from 1 to 4096 dimensions", "B256CC01CACC020102": "cut off", "B256CC01C6CC047FC00000": "that at 0 is not",
		"B256CC01C7CC0101": "unknown coordinate type C7", "B256CC02C8C8CC0101": "unknown coordinate type C8C8", "B256C8C8CC0101": "must be of the type ByteArray", "B156CC0101": "has 2 fields",
	} {
		b, err := hex.DecodeString(in)
		require.NoError(t, err)
		d := NewDecoder(six, b)
		_, err = d.Value()
		require.NoError(t, err, in)
		require.ErrorContains(t, d.TakeFlaw(), want, in)
	}
}

// Integers, strings, lists, maps and structures are accepted in longer forms than necessary.
func TestWideForms(t *testing.T) {
	for in, want := range map[string]string{
		"C801": "01", "C90001": "01", "CA00000001": "01", "CB0000000000000001": "01", "C8FF": "FF",
		"D00161": "8161", "D1000161": "8161", "D20000000161": "8161",
		"D40101": "9101", "D5000101": "9101", "D60000000101": "9101",
		"D801816101": "A1816101", "D90001D0016101": "A1816101", "DA0000000181" + "6101": "A1816101",
		"DC014401": "B14401", "DD00014401": "B14401",
	} {
		b, err := hex.DecodeString(in)
		require.NoError(t, err)
		v, err := NewDecoder(modern, b).Value()
		require.NoError(t, err, in)
		require.Equal(t, want, strings.ToUpper(hex.EncodeToString(modern.Append(nil, v))), in)
	}
}

// Malformed input is an error, whatever follows it.
func TestMalformed(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "past the end",
		"81":                        "past the end",
		"D2FFFFFFFF":                "past the end",
		"D67FFFFFFF":                "past the end",
		"DA7FFFFFFF":                "past the end",
		"9F01":                      "past the end",
		"9292" + "01":               "past the end",
		"C1000000":                  "past the end",
		"81FF":                      "not UTF-8",
		"A181FF01":                  "not UTF-8",
		"A10101":                    "not a string",
		"A2816101816102":            "duplicate",
		"C4":                        "unknown marker C4",
		"DF":                        "unknown marker DF",
		strings.Repeat("91", 129):   "nested deeper than 128",
		strings.Repeat("B141", 129): "nested deeper than 128",
	} {
		b, err := hex.DecodeString(in)
		require.NoError(t, err)
		_, err = NewDecoder(modern, b).Value()
		require.ErrorContains(t, err, want, in)
	}
	many := AppendMap(nil, 300)
	for i := range 300 {
		many = AppendInt(AppendString(many, string(rune('a'+i%299))), 1)
	}
	_, err := NewDecoder(modern, many).Value()
	require.ErrorContains(t, err, "duplicate")
	deep, err := hex.DecodeString(strings.Repeat("91", 128) + "01")
	require.NoError(t, err)
	_, err = NewDecoder(modern, deep).Value()
	require.NoError(t, err)
}

// A value that the engine does not have is named by its place, and the rest of the message is read.
func TestFlaws(t *testing.T) {
	for in, want := range map[string]string{
		"A28161B05281" + "6201":                              "a: a relationship cannot be a parameter",
		"A1816192" + "01B34E0190A0":                          "a[1]: a node cannot be a parameter",
		"A18161A18162B3" + "58010203":                        "a.b: field 1 of the structure X must be of the type Float, not Integer",
		"B35801C10000000000000000C10000000000000000":         "unknown coordinate reference system 1",
		"B358CA00011C23C10000000000000000C10000000000000000": "unknown coordinate reference system 72739",
		"B358C91C23C17FF0000000000000C10000000000000000":     "a coordinate of a point is a finite number",
		"A28161B256010281" + "62CC00":                        "a: a vector needs Bolt 6.0",
		"B14481" + "61":                                      "field 0 of the structure D must be of the type Integer, not String",
		"B2440101":                                           "the structure D has 1 fields, not 2",
		"B17AC0":                                             "unknown structure 7A",
		"B3460102" + "03":                                    "unknown structure 46",
		"B1" + "74FF":                                        "a field of the structure t is out of range",
		"B254" + "00CA7FFFFFFF":                              "a field of the structure T is out of range",
		"B36900" + "0083" + "4E6F70":                         `unknown time zone "Nop"`,
		"B26400FF":                                           "a field of the structure d is out of range",
	} {
		b, err := hex.DecodeString(in)
		require.NoError(t, err)
		d := NewDecoder(modern, b)
		_, err = d.Value()
		require.NoError(t, err, in)
		require.Zero(t, d.Left(), in)
		flaw := d.TakeFlaw()
		require.NotNil(t, flaw, in)
		require.Contains(t, flaw.Error(), want, in)
		require.Nil(t, d.TakeFlaw())
	}
	legacyUTC, err := hex.DecodeString("B349000000")
	require.NoError(t, err)
	d := NewDecoder(legacy, legacyUTC)
	_, err = d.Value()
	require.NoError(t, err)
	require.ErrorContains(t, d.TakeFlaw(), "unknown structure 49")
}

// A header that announces more than the message contains allocates nothing for the excess.
func TestPromises(t *testing.T) {
	b := bytes.Repeat([]byte{0xD6, 0, 0, 0x20, 0}, 128) // lists that each promise 8,192 values
	b = append(b, make([]byte, 8192)...)
	got := alloctest.Least(10, func() {
		_, err := NewDecoder(modern, b).Value()
		require.True(t, errors.Is(err, ErrShort))
	})
	require.Less(t, got, 20.0)
}

// Encoding numbers, strings and nodes takes no memory of its own.
func TestAppendAllocates(t *testing.T) {
	vs := []graph.Value{graph.IntValue(1 << 40), graph.FloatValue(1), graph.StringValue("abc"), graph.VertexValue(9), graph.DateValue(3)}
	buf := make([]byte, 0, 1024)
	require.Zero(t, alloctest.Least(100, func() {
		b := buf
		for _, v := range vs {
			b = modern.Append(b, v)
		}
	}))
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		if len(s.bytes) < 200 {
			b, _ := hex.DecodeString(s.bytes)
			f.Add(b, true)
			f.Add(b, false)
		}
	}
	f.Add([]byte{0xB3, 'X', 1, 2, 3}, true)
	f.Add([]byte{0x91, 0xCC, 1, 1}, true)
	f.Add([]byte{0xB2, 'V', 0xCC, 1, 0xC9, 0xCC, 2, 1, 2}, true)
	f.Add([]byte{0xB2, 'V', 0xCC, 1, 0xC6, 0xCC, 4, 0x80, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, b []byte, utc bool) {
		form := Form{UTC: utc, Vectors: utc}
		d := NewDecoder(form, b)
		v, err := d.Value()
		if err != nil || d.TakeFlaw() != nil {
			return
		}
		once := form.Append(nil, v)
		again := NewDecoder(form, once)
		w, err := again.Value()
		if err != nil {
			t.Fatalf("%x became %x, which is %v", b, once, err)
		}
		if twice := form.Append(nil, w); !bytes.Equal(once, twice) {
			t.Fatalf("%x became %x and then %x", b, once, twice)
		}
		if again.TakeFlaw() != nil || again.Left() != 0 {
			t.Fatalf("%x became %x, which is not whole", b, once)
		}
	})
}
