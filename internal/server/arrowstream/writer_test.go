package arrowstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
)

func unbounded(int) error { return nil }

// write writes rows, a slice a column, in batches of some size.
func write(columns [][]graph.Value, batch int, hold func(int) error) ([]byte, error) {
	var buf bytes.Buffer
	names := make([]string, len(columns))
	for i := range names {
		names[i] = fmt.Sprint("c", i)
	}
	w := arrowstream.New(names, func(s *arrow.Schema) (arrowstream.Sink, error) { return ipc.NewWriter(&buf, ipc.WithSchema(s)), nil }, hold)
	for from := 0; len(columns) > 0 && from < len(columns[0]); from += batch {
		b := graph.Batch{N: min(batch, len(columns[0])-from), Cols: make([]graph.Column, len(columns))}
		for i, c := range columns {
			b.Cols[i].Vals = append([]graph.Value(nil), c[from:from+b.N]...)
		}
		if err := w.Append(&b); err != nil {
			return nil, err
		}
		for i := range b.Cols { // the writer must not retain memory that the caller reuses
			clear(b.Cols[i].Vals)
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

// check reads a stream and compares every cell.
func check(t *testing.T, stream []byte, columns [][]graph.Value) *arrow.Schema {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	require.NoError(t, err)
	defer r.Release()
	row := 0
	for r.Next() {
		rec := r.RecordBatch()
		require.EqualValues(t, len(columns), rec.NumCols())
		for i := range int(rec.NumRows()) {
			for c := range columns {
				if want := columns[c][row]; !same(want, rec.Column(c), i, r.Schema().Field(c)) {
					t.Fatalf("column %d, row %d: want %s, have %s of type %s",
						c, row, notation.TypedJSON.Append(nil, want), rec.Column(c).ValueStr(i), rec.Column(c).DataType())
				}
			}
			row++
		}
	}
	require.NoError(t, r.Err())
	if len(columns) > 0 {
		require.Equal(t, len(columns[0]), row)
	}
	return r.Schema()
}

// same compares a cell with the value written, by the type mapping of docs/http.md.
func same(v graph.Value, a arrow.Array, i int, f arrow.Field) bool {
	if a.DataType() == arrow.Null {
		return v.IsNull()
	}
	if a.IsNull(i) || v.IsNull() {
		return a.IsNull(i) && v.IsNull()
	}
	if at := f.Metadata.FindKey("hopgate.json"); at >= 0 {
		form := map[string]*notation.JSONForm{"plain": &notation.PlainJSON, "typed": &notation.TypedJSON}[f.Metadata.Values()[at]]
		return texts(a).Value(i) == string(form.Append(nil, v))
	}
	switch a := a.(type) {
	case *array.Boolean:
		return v.Kind() == graph.Bool && a.Value(i) == v.Bool()
	case *array.Int64:
		return v.Kind() == graph.Int && a.Value(i) == v.Int()
	case *array.Float64:
		return v.IsNumber() && math.Float64bits(a.Value(i)) == math.Float64bits(v.Number())
	case *array.String:
		return v.Kind() == graph.String && a.Value(i) == v.Str()
	case *array.Binary:
		return v.Kind() == graph.Bytes && bytes.Equal(a.Value(i), v.Bytes())
	case *array.Date32:
		return v.Kind() == graph.Date && int64(a.Value(i)) == int64(v.Date())
	case *array.Time64:
		return v.Kind() == graph.LocalTime && int64(a.Value(i)) == int64(v.LocalTime())
	case *array.Timestamp:
		return sameInstant(v, a, i)
	case *array.FixedSizeList:
		if v.Kind() != graph.VectorKind {
			return false
		}
		from, to := a.ValueOffsets(i)
		x := v.Vector()
		if int(to-from) != x.Dimensions() {
			return false
		}
		for k := range x.Dimensions() {
			if fmt.Sprint(x.At(k).Number()) != fmt.Sprint(coordinate(a.ListValues(), int(from)+k)) {
				return false
			}
		}
		return true
	case *array.List:
		from, to := a.ValueOffsets(i)
		return v.Kind() == graph.List && sameList(v.List(), a, int(from), int(to))
	case *array.Struct:
		return sameStruct(v, a, i)
	}
	return false
}

// coordinate returns an element of a column of numbers.
func coordinate(a arrow.Array, i int) float64 {
	switch a := a.(type) {
	case *array.Int8:
		return float64(a.Value(i))
	case *array.Int16:
		return float64(a.Value(i))
	case *array.Int32:
		return float64(a.Value(i))
	case *array.Int64:
		return float64(a.Value(i))
	case *array.Float32:
		return float64(a.Value(i))
	}
	return a.(*array.Float64).Value(i)
}

func sameList(l []graph.Value, a *array.List, from, to int) bool {
	if len(l) != to-from {
		return false
	}
	for k, e := range l {
		if !same(e, a.ListValues(), from+k, a.DataType().(*arrow.ListType).ElemField()) {
			return false
		}
	}
	return true
}

func sameInstant(v graph.Value, a *array.Timestamp, i int) bool {
	typ := a.DataType().(*arrow.TimestampType)
	at := a.Value(i).ToTime(typ.Unit)
	switch v.Kind() {
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		return typ.TimeZone == "" && at.Equal(time.Unix(t.Sec, int64(t.Nano)))
	case graph.DateTime:
		t := v.DateTime()
		want := time.Unix(t.Sec, int64(t.Nano))
		if t.Zone != nil {
			return typ.TimeZone == t.Zone.String() && at.Equal(want)
		}
		zone, err := typ.GetZone()
		_, offset := want.In(zone).Zone()
		return err == nil && at.Equal(want) && offset == int(t.Offset)
	}
	return false
}

func sameStruct(v graph.Value, a *array.Struct, i int) bool {
	fields := a.DataType().(*arrow.StructType).Fields()
	var parts []graph.Value
	switch v.Kind() {
	case graph.Map:
		for k, e := range v.Map() {
			if fields[k].Name != e.Key {
				return false
			}
			parts = append(parts, e.Value)
		}
	case graph.Time:
		return same(graph.LocalTimeValue(v.Time().Local), a.Field(0), i, fields[0]) && a.Field(1).(*array.Int32).Value(i) == v.Time().Offset
	case graph.DateTime:
		t := v.DateTime()
		utc := t
		utc.Zone, utc.Offset = nil, 0
		zone := a.Field(1).(*array.String).Value(i)
		text := string(t.Append(nil))
		if t.Zone != nil {
			text = "[" + t.Zone.String() + "]"
			zone = "[" + zone + "]"
		} else if zone == "UTC" {
			zone = "Z"
		}
		return same(graph.DateTimeValue(utc), a.Field(0), i, fields[0]) && strings.HasSuffix(text, zone)
	case graph.Duration:
		d := v.Duration()
		parts = []graph.Value{graph.IntValue(d.Months), graph.IntValue(d.Days), graph.IntValue(d.Seconds)}
		if a.Field(3).(*array.Int32).Value(i) != d.Nanos {
			return false
		}
		fields = fields[:3]
	case graph.PointKind:
		p := v.Point()
		z := graph.FloatValue(p.Z)
		if p.CRS.Dimensions() == 2 {
			z = graph.Value{}
		}
		return a.Field(0).(*array.Int32).Value(i) == int32(p.CRS) && same(graph.FloatValue(p.X), a.Field(1), i, fields[1]) &&
			same(graph.FloatValue(p.Y), a.Field(2), i, fields[2]) && same(z, a.Field(3), i, fields[3])
	case graph.VertexKind:
		labels, err := a.Field(1).GetOneForMarshal(i).(interface{ MarshalJSON() ([]byte, error) }).MarshalJSON()
		have := fmt.Sprintf(`{"elementId":%q,"labels":%s,"properties":%s}`, text(a, 0, i), labels, text(a, 2, i))
		return err == nil && have == string(notation.PlainJSON.Append(nil, v))
	case graph.EdgeKind:
		have := fmt.Sprintf(`{"elementId":%q,"startNodeElementId":%q,"endNodeElementId":%q,"type":%q,"properties":%s}`,
			text(a, 0, i), text(a, 1, i), text(a, 2, i), text(a, 3, i), text(a, 4, i))
		return have == string(notation.PlainJSON.Append(nil, v))
	case graph.PathKind:
		parts = []graph.Value{graph.ListValue(v.Path().Vertices), graph.ListValue(v.Path().Edges)}
	}
	if len(parts) != len(fields) {
		return false
	}
	for k, p := range parts {
		if !same(p, a.Field(k), i, fields[k]) {
			return false
		}
	}
	return true
}

func text(a *array.Struct, field, i int) string { return texts(a.Field(field)).Value(i) }

// texts are the texts of a column, which the library may know to be JSON.
func texts(a arrow.Array) *array.String {
	if x, ok := a.(array.ExtensionArray); ok {
		a = x.Storage()
	}
	return a.(*array.String)
}

// kinds return random values, a function each kind; nested ones draw the kinds of their elements each time.
func kinds(r *rand.Rand) []func() graph.Value {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		panic(err)
	}
	names := []string{"", "a", "straße", "line\nbreak \"quoted\"", strings.Repeat("long ", 30), "日本"}
	name := func() string { return names[r.IntN(len(names))] }
	record := func() *graph.Record {
		rec := &graph.Record{Labels: []string{"Person", "Städter"}[:r.IntN(3)], Type: "KNOWS"}
		if r.IntN(2) == 0 {
			rec.Keys = []string{"age", "name"}
			rec.Values = []graph.Value{graph.IntValue(r.Int64()), graph.StringValue(name())}
		}
		return rec
	}
	vertex := func() graph.Value {
		return graph.VertexRecordValue(graph.MakeVertexID(r.IntN(3), r.Uint64N(1<<40)), record())
	}
	edge := func() graph.Value {
		return graph.EdgeRefValue(&graph.EdgeValue{
			Edge:   graph.Edge{ID: graph.MakeEdgeID(0, r.Uint64N(1<<40)), Src: graph.VertexID(r.IntN(9)), Dst: graph.VertexID(r.IntN(9)), Type: 1},
			Record: record(),
		})
	}
	sec := func() int64 {
		switch r.IntN(8) {
		case 0:
			return 253402300799 // the end of the year 9999
		case 1:
			return -1<<40 - r.Int64N(1<<30)
		}
		return r.Int64N(1 << 32)
	}
	nano := func() int32 { return []int32{0, 5000, 999999999}[r.IntN(3)] }
	return []func() graph.Value{
		func() graph.Value { return graph.BoolValue(r.IntN(2) == 0) },
		func() graph.Value {
			return graph.IntValue([]int64{0, -1, math.MinInt64, math.MaxInt64, 1 << 53, 1<<53 + 1}[r.IntN(6)])
		},
		func() graph.Value { return graph.IntValue(r.Int64N(100)) },
		func() graph.Value {
			return graph.FloatValue([]float64{0.5, math.NaN(), math.Inf(-1), math.Copysign(0, -1), 3}[r.IntN(5)])
		},
		func() graph.Value { return graph.StringValue(name()) },
		func() graph.Value { return graph.BytesValue([]byte(name())) },
		func() graph.Value { return graph.DateValue(temporal.MakeDate(r.Int64N(4000), 2, 3)) },
		func() graph.Value { return graph.DateValue(temporal.MakeDate(999_999_999, 2, 3)) },
		func() graph.Value { return graph.LocalTimeValue(temporal.LocalTime(r.Int64N(86400e9))) },
		func() graph.Value {
			return graph.TimeValue(temporal.Time{Local: temporal.LocalTime(r.Int64N(86400e9)), Offset: int32(r.IntN(3600))})
		},
		func() graph.Value { return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: sec(), Nano: nano()}) },
		func() graph.Value {
			return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: 253402300799, Nano: 5000})
		},
		func() graph.Value { return graph.DateTimeValue(temporal.DateTime{Sec: sec(), Nano: nano()}) },
		func() graph.Value {
			return graph.DateTimeValue(temporal.DateTime{Sec: r.Int64N(1 << 32), Offset: []int32{0, 3600, -12600, 3601}[r.IntN(4)]})
		},
		func() graph.Value {
			return graph.DateTimeValue(temporal.DateTime{Sec: r.Int64N(1 << 32), Offset: -12600})
		},
		func() graph.Value {
			return graph.DateTimeValue(temporal.FromTime(time.Unix(r.Int64N(1<<32), 1), temporal.ZoneOf(paris)))
		},
		func() graph.Value {
			return graph.DurationValue(temporal.Duration{Months: r.Int64N(99), Days: -r.Int64N(99), Seconds: r.Int64(), Nanos: nano()})
		},
		func() graph.Value {
			return graph.PointValue(graph.Point{CRS: []graph.CRS{graph.WGS84, graph.Cartesian3D}[r.IntN(2)], X: r.Float64(), Y: 1})
		},
		func() graph.Value {
			x, _ := graph.VectorOf(graph.Float32, []graph.Value{graph.FloatValue(r.NormFloat64()), graph.IntValue(2), graph.IntValue(-1)})
			return graph.VectorValue(x)
		},
		func() graph.Value {
			x, _ := graph.VectorOf(graph.CoordinateType(1+r.IntN(6)), []graph.Value{graph.FloatValue(99 * r.NormFloat64() / 9)})
			return graph.VectorValue(x)
		},
		vertex,
		edge,
		func() graph.Value {
			return graph.PathValue(&graph.Path{Vertices: []graph.Value{vertex(), vertex()}, Edges: []graph.Value{edge()}})
		},
		func() graph.Value { return graph.Value{} },
	}
}

// source returns the values of a column: of one kind, of two, or of lists or maps.
func source(r *rand.Rand, depth int) func() graph.Value {
	all := kinds(r)
	one := all[r.IntN(len(all))]
	switch r.IntN(8) {
	case 0:
		other := all[r.IntN(len(all))]
		return func() graph.Value { return []func() graph.Value{one, other}[r.IntN(2)]() }
	case 1, 2:
		if depth == 3 {
			break
		}
		elem := source(r, depth+1)
		return func() graph.Value {
			l := make([]graph.Value, r.IntN(4))
			for i := range l {
				l[i] = elem()
			}
			return graph.ListValue(l)
		}
	case 3:
		if depth == 3 {
			break
		}
		a, b := source(r, depth+1), source(r, depth+1)
		uneven := r.IntN(4) == 0
		return func() graph.Value {
			m := []graph.MapEntry{{Key: "a", Value: a()}, {Key: "b", Value: b()}}
			if uneven {
				m = m[r.IntN(3):]
			}
			return graph.MapValue(m)
		}
	}
	return one
}

// Every value survives a round trip.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		columns := make([][]graph.Value, r.IntN(5))
		rows := []int{0, 1, 9, 700}[r.IntN(4)]
		for i := range columns {
			next, sparse := source(r, 0), r.IntN(3)
			for range rows {
				v := next()
				if r.IntN(4) < sparse {
					v = graph.Value{}
				}
				columns[i] = append(columns[i], v)
			}
		}
		stream, err := write(columns, []int{1, 100, 1024}[r.IntN(3)], unbounded)
		require.NoError(t, err, "seed %d", seed)
		check(t, stream, columns)
	}
}

// Columns are reused for many record batches, and nulls may appear late.
func TestManyBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	all := kinds(r)
	columns := make([][]graph.Value, 0, len(all)+2)
	for k := range all {
		if v := all[k](); v.Kind() == graph.LocalDateTime || v.Kind() == graph.DateTime { // whose form may change late
			continue
		}
		var c []graph.Value
		for i := range 40_000 {
			v := all[k]()
			if i > 20_000 && i%5 == 0 {
				v = graph.Value{}
			}
			c = append(c, v)
		}
		columns = append(columns, c)
	}
	lists, late := make([]graph.Value, 40_000), make([]graph.Value, 40_000)
	for i := range lists {
		l := make([]graph.Value, i%3)
		for k := range l {
			l[k] = graph.MapValue([]graph.MapEntry{{Key: "n", Value: graph.IntValue(int64(i))}, {Key: "s", Value: graph.StringValue("x")}})
		}
		lists[i] = graph.ListValue(l)
	}
	late[30_000] = graph.StringValue("the types were fixed when all were null")
	columns = append(columns, lists, late)
	stream, err := write(columns, 1000, unbounded)
	require.NoError(t, err)
	schema := check(t, stream, columns)
	require.Equal(t, "list<item: struct<n: int64 nullable, s: utf8 nullable>, nullable>", schema.Field(len(columns)-2).Type.String())
	require.True(t, schema.Field(len(columns)-1).HasMetadata())
}

// A value that its column cannot hold any more ends the stream with an error that names both.
func TestTypeChanges(t *testing.T) {
	column := make([]graph.Value, 20_000)
	for i := range column {
		column[i] = graph.IntValue(int64(i))
	}
	column[19_000] = graph.StringValue("odd")
	_, err := write([][]graph.Value{column}, 1000, unbounded)
	require.ErrorContains(t, err, "column `c0` of the Arrow stream has the type int64 from its first rows, but one of the rows from 16385 on has String 'odd'")
	column[100] = graph.StringValue("known before")
	stream, err := write([][]graph.Value{column}, 1000, unbounded)
	require.NoError(t, err)
	check(t, stream, [][]graph.Value{column})
}

// The types that docs/http.md names.
func TestTypes(t *testing.T) {
	i, f, s := graph.IntValue(1), graph.FloatValue(1.5), graph.StringValue("a")
	at := func(sec int64, nano, offset int32) graph.Value {
		return graph.DateTimeValue(temporal.DateTime{Sec: sec, Nano: nano, Offset: offset})
	}
	local := func(sec int64, nano int32) graph.Value {
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: sec, Nano: nano})
	}
	list := func(vs ...graph.Value) graph.Value { return graph.ListValue(vs) }
	entry := func(k string, v graph.Value) graph.Value { return graph.MapValue([]graph.MapEntry{{Key: k, Value: v}}) }
	const farSec = 253402300799
	for _, c := range []struct {
		vals []graph.Value
		want string
	}{
		{nil, "null"},
		{[]graph.Value{{}, {}}, "null"},
		{[]graph.Value{i, {}}, "int64"},
		{[]graph.Value{i, f}, "float64"},
		{[]graph.Value{f, graph.IntValue(1<<53 + 1)}, "utf8 json"},
		{[]graph.Value{i, s}, "utf8 json"},
		{[]graph.Value{at(0, 1, 0), at(5, 0, 0)}, "timestamp[ns, tz=UTC]"},
		{[]graph.Value{at(0, 0, 3600), at(5, 0, 3600)}, "timestamp[ns, tz=+01:00]"},
		{[]graph.Value{at(0, 0, 3600), at(farSec, 0, 3600)}, "timestamp[us, tz=+01:00]"},
		{[]graph.Value{at(0, 0, 3600), at(5, 0, 0)}, "struct<instant: timestamp[ns, tz=UTC] nullable, zone: utf8 nullable>"},
		{[]graph.Value{at(0, 0, 1)}, "struct<instant: timestamp[ns, tz=UTC] nullable, zone: utf8 nullable>"},
		{[]graph.Value{local(0, 1), local(5, 0)}, "timestamp[ns]"},
		{[]graph.Value{local(0, 1000), local(farSec, 0)}, "timestamp[us]"},
		{[]graph.Value{local(0, 1), local(farSec, 0)}, "utf8 json"},
		{[]graph.Value{list(i), list(), {}}, "list<item: int64, nullable>"},
		{[]graph.Value{list(i, f)}, "list<item: float64, nullable>"},
		{[]graph.Value{list(i), list(s)}, "list<item: utf8, nullable>"},
		{[]graph.Value{list(), list()}, "list<item: null, nullable>"},
		{[]graph.Value{entry("a", i), entry("a", graph.Value{})}, "struct<a: int64 nullable>"},
		{[]graph.Value{entry("a", i), entry("b", i)}, "utf8 json"},
		{[]graph.Value{graph.MapValue(nil)}, "utf8 json"},
	} {
		stream, err := write([][]graph.Value{c.vals}, 10, unbounded)
		require.NoError(t, err)
		field := check(t, stream, [][]graph.Value{c.vals}).Field(0)
		have := strings.ReplaceAll(field.Type.String(), "extension<arrow.json[storage_type=utf8]>", "utf8") // as the library shows JSON that it knows
		if field.HasMetadata() {
			have += " json"
		}
		require.Equal(t, c.want, have, "%v", c.vals)
	}
}

// Lists nested deeper than Arrow's readers follow are JSON.
func TestDeep(t *testing.T) {
	v := graph.IntValue(1)
	for range 100 {
		v = graph.ListValue([]graph.Value{v})
	}
	columns := [][]graph.Value{{v}}
	stream, err := write(columns, 1, unbounded)
	require.NoError(t, err)
	check(t, stream, columns)
}

// The writer reports the bytes it holds, and fails when they are too many.
func TestHold(t *testing.T) {
	column := make([]graph.Value, 30_000)
	for i := range column {
		column[i] = graph.StringValue(strings.Repeat("x", 100))
	}
	most := 0
	_, err := write([][]graph.Value{column}, 1000, func(n int) error {
		most = max(most, n)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, most, 2_000_000)
	require.Less(t, most, 30<<20)
	full := errors.New("full")
	_, err = write([][]graph.Value{column}, 1000, func(n int) error {
		if n > 500_000 {
			return full
		}
		return nil
	})
	require.ErrorIs(t, err, full)
}

// Elements as structs have a field for each property of the first rows; what has no place there is JSON.
func TestStructs(t *testing.T) {
	record := func(labels []string, keys []string, values ...graph.Value) graph.Value {
		return graph.VertexRecordValue(1, &graph.Record{Labels: labels, Keys: keys, Values: values})
	}
	day := graph.DateValue(3)
	rows := []graph.Value{
		record([]string{"A", "B"}, []string{"day", "n", "tags"}, day, graph.IntValue(1), graph.ListValue([]graph.Value{graph.StringValue("x")})),
		{},
		record([]string{"A"}, []string{"n"}, graph.IntValue(2)),
	}
	for range 20_000 {
		rows = append(rows, record([]string{"A"}, nil))
	}
	rows = append(rows, record([]string{"C"}, []string{"a", "day", "n", "z"}, day, day, graph.StringValue("text"), graph.FloatValue(1)))
	var buf bytes.Buffer
	w := arrowstream.New([]string{"v"}, func(s *arrow.Schema) (arrowstream.Sink, error) { return ipc.NewWriter(&buf, ipc.WithSchema(s)), nil }, unbounded)
	w.Structs(true)
	first := len(rows) - 1
	require.NoError(t, w.Append(&graph.Batch{N: first, Cols: []graph.Column{{Vals: rows[:first]}}}))
	require.NoError(t, w.Append(&graph.Batch{N: 1, Cols: []graph.Column{{Vals: rows[first:]}}}))
	require.NoError(t, w.Close())
	r, err := ipc.NewReader(&buf)
	require.NoError(t, err)
	defer r.Release()
	require.Equal(t, "struct<day: date32 nullable, n: int64 nullable, tags: list<item: utf8, nullable> nullable>", r.Schema().Field(0).Type.(*arrow.StructType).Field(2).Type.String())
	var got []string
	for r.Next() {
		c := r.RecordBatch().Column(0)
		for i := range c.Len() {
			got = append(got, c.ValueStr(i))
		}
	}
	require.NoError(t, r.Err())
	require.Len(t, got, len(rows))
	require.JSONEq(t, `{"elementId": "v0:1", "labels": ["A", "B"], "properties": {"day": "1970-01-04", "n": 1, "tags": ["x"]}, "more": null}`, got[0])
	require.Equal(t, "(null)", got[1])
	require.JSONEq(t, `{"elementId": "v0:1", "labels": ["A"], "properties": {"day": null, "n": 2, "tags": null}, "more": null}`, got[2])
	require.Contains(t, got[len(got)-1], `"labels":["C"]`)
	require.Contains(t, got[len(got)-1], `"properties":{"day":"1970-01-04","n":null,"tags":null}`)
	require.Contains(t, got[len(got)-1], `"_value":"text"`)
	require.Contains(t, got[len(got)-1], `"z"`)
}
