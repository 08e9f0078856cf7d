package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// arrowBytes writes batches as a file or a stream.
func arrowBytes(t testing.TB, asFile bool, batches []arrow.RecordBatch, opts ...ipc.Option) []byte {
	var out bytes.Buffer
	opts = append(opts, ipc.WithSchema(batches[0].Schema()))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	} = ipc.NewWriter(&out, opts...)
	if asFile {
		f, err := ipc.NewFileWriter(&out, opts...)
		require.NoError(t, err)
		w = f
	}
	for _, b := range batches {
		require.NoError(t, w.Write(b))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func readArrow(data []byte, use func(string) (bool, bool)) (string, error) {
	text, err := io.ReadAll(NewArrow(bytes.NewReader(data), use))
	return string(text), err
}

func batchOf(t testing.TB, fields []arrow.Field, rows string) arrow.RecordBatch {
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(rows))
	require.NoError(t, err)
	return b
}

// sampleBatches have dictionaries, lists and nulls.
func sampleBatches(t testing.TB) (batches []arrow.RecordBatch, want string) {
	fields := []arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	}
	for i := range 3 {
		rows := fmt.Sprintf(`[{"id": %d, "name": "Ann", "tags": ["a", null]}, {"id": %d, "name": null, "tags": []}, {"id": -1, "name": "é\"", "tags": null}]`, i, i+10)
		batches = append(batches, batchOf(t, fields, rows))
		want += fmt.Sprintf(`{"id":%d,"name":"Ann","tags":["a",null]}
{"id":%d,"name":null,"tags":[]}
{"id":-1,"name":"é\"","tags":null}
`, i, i+10)
	}
	return batches, want
}

// Files and streams, plain and compressed, give the same rows, also no rows.
func TestArrowFormats(t *testing.T) {
	batches, want := sampleBatches(t)
	empty := []arrow.RecordBatch{batches[0].NewSlice(0, 0)}
	for _, asFile := range []bool{true, false} {
		for _, opts := range [][]ipc.Option{nil, {ipc.WithLZ4()}, {ipc.WithZstd()}} {
			got, err := readArrow(arrowBytes(t, asFile, batches, opts...), nil)
			require.NoError(t, err)
			require.Equal(t, want, got)
			got, err = readArrow(arrowBytes(t, asFile, empty, opts...), nil)
			require.NoError(t, err)
			require.Empty(t, got)
		}
	}
	got, err := readArrow([]byte(want), nil)
	require.NoError(t, err)
	require.Equal(t, want, got, "refused rows are read as they are")
	_, err = readArrow(arrowBytes(t, true, batches), func(name string) (bool, bool) { return name == "other", false })
	require.ErrorContains(t, err, "none of the columns")
	for text, want := range map[string]string{"FEA1....": "Feather of version 1", "hello, all": "no Arrow IPC file"} {
		_, err = readArrow([]byte(text), nil)
		require.ErrorContains(t, err, want)
	}
}

// A file or stream that ends anywhere but at its end is an error after whole rows.
func TestArrowCutOff(t *testing.T) {
	batches, want := sampleBatches(t)
	for _, asFile := range []bool{true, false} {
		data := arrowBytes(t, asFile, batches)
		for n := 1; n < len(data); n++ {
			got, err := readArrow(data[:n], nil)
			require.Error(t, err, "%d of %d bytes", n, len(data))
			require.True(t, strings.HasPrefix(want, got))
			require.True(t, got == "" || got[len(got)-1] == '\n')
		}
	}
}

// Polars writes files whose schema has no length before it and whose dictionaries come last.
func TestArrowOfPolars(t *testing.T) {
	batches, want := sampleBatches(t)
	for i := range batches { // with one dictionary for all
		batches[i] = batches[0].NewSlice(0, 3)
	}
	want = strings.Repeat(want[:len(want)/3], 3)
	file := arrowBytes(t, true, batches)
	parts := map[ipc.MessageType][]byte{}
	stream := bytes.NewReader(file[arrowFile:])
	messages := ipc.NewMessageReader(stream)
	at := arrowFile
	for {
		m, err := messages.Message()
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		end := len(file) - stream.Len()
		parts[m.Type()] = append(parts[m.Type()], file[at:end]...)
		at = end
	}
	late := slices.Concat(parts[ipc.MessageRecordBatch], parts[ipc.MessageDictionaryBatch], file[at:])
	odd := slices.Concat(file[:arrowFile], parts[ipc.MessageSchema][8:], late)
	got, err := readArrow(odd, nil)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for n := 0; n < len(odd); n += 7 {
		_, err := readArrow(odd[:n], nil)
		require.True(t, err != nil || n == 0, "%d bytes", n)
	}
	d := &dictionariesFirst{MessageReader: ipc.NewMessageReader(bytes.NewReader(late)), missing: 1, largest: 1}
	_, err = d.Message()
	require.ErrorContains(t, err, "before the dictionaries")
}

// A length that no file of its size can have is an error, and no such memory is used.
func TestArrowLengths(t *testing.T) {
	batches, _ := sampleBatches(t)
	data := arrowBytes(t, false, batches, ipc.WithZstd())
	for _, n := range []uint64{1 << 33, 1 << 62} {
		bad := bytes.Clone(data)
		at := bytes.Index(bad, []byte("\x28\xb5\x2f\xfd")) - 8 // the length before the first compressed buffer
		require.Positive(t, at)
		binary.LittleEndian.PutUint64(bad[at:], n)
		_, err := readArrow(bad, nil)
		require.ErrorContains(t, err, "a record batch has at most")
	}
}

// FuzzArrow reads any bytes: what comes out is whole lines.
func FuzzArrow(f *testing.F) {
	batches, _ := sampleBatches(f)
	f.Add(arrowBytes(f, true, batches))
	f.Add(arrowBytes(f, false, batches, ipc.WithLZ4()))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := NewArrow(bytes.NewReader(data), nil)
		a.largest = 1 << 20
		r := &io.LimitedReader{R: a, N: 1 << 20}
		text, err := io.ReadAll(r)
		if r.N > 0 && len(text) > 0 && data[0] != '{' {
			require.Equal(t, byte('\n'), text[len(text)-1], "%v", err)
		}
	})
}

// Values of all types: those that JSON's numbers do not carry are strings.
func TestArrowValues(t *testing.T) {
	uuid := arrow.NewMetadata([]string{ipc.ExtensionTypeKeyName}, []string{"arrow.uuid"})
	inner := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true})
	for _, c := range []struct {
		typ      arrow.DataType
		in, want string
	}{
		{arrow.Null, `null`, `null`},
		{arrow.FixedWidthTypes.Boolean, `true`, `true`},
		{arrow.PrimitiveTypes.Int8, `-128`, `-128`},
		{arrow.PrimitiveTypes.Int16, `-3`, `-3`},
		{arrow.PrimitiveTypes.Int32, `7`, `7`},
		{arrow.PrimitiveTypes.Int64, `9223372036854775807`, `9223372036854775807`},
		{arrow.PrimitiveTypes.Uint8, `255`, `255`},
		{arrow.PrimitiveTypes.Uint16, `65535`, `65535`},
		{arrow.PrimitiveTypes.Uint32, `4294967295`, `4294967295`},
		{arrow.PrimitiveTypes.Uint64, `18446744073709551615`, `"18446744073709551615"`},
		{arrow.FixedWidthTypes.Float16, `1.5`, `1.5`},
		{arrow.PrimitiveTypes.Float32, `0.1`, `0.1`},
		{arrow.PrimitiveTypes.Float64, `2`, `2.0`},
		{arrow.BinaryTypes.String, `"a\u0000\"\n"`, `"a\u0000\"\u000a"`},
		{arrow.BinaryTypes.LargeString, `"x"`, `"x"`},
		{arrow.BinaryTypes.StringView, `"longer than twelve bytes"`, `"longer than twelve bytes"`},
		{arrow.BinaryTypes.Binary, `"YQ=="`, `"a"`},
		{arrow.BinaryTypes.LargeBinary, `"YQ=="`, `"a"`},
		{&arrow.FixedSizeBinaryType{ByteWidth: 16}, `"AAECAwQFBgcICQoLDA0ODw=="`, `"00010203-0405-0607-0809-0a0b0c0d0e0f"`},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, `"-1.05"`, `-1.05`},
		{&arrow.Decimal256Type{Precision: 40}, `"12345678901234567890123"`, `"12345678901234567890123"`},
		{arrow.FixedWidthTypes.Date32, `"1969-12-31"`, `"1969-12-31"`},
		{arrow.FixedWidthTypes.Date64, `"1969-12-31"`, `"1969-12-31"`},
		{arrow.FixedWidthTypes.Time32ms, `"01:02:03.5"`, `"01:02:03.5"`},
		{arrow.FixedWidthTypes.Time64ns, `"01:02:03.000000001"`, `"01:02:03.000000001"`},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, `"1969-12-31T23:59:59.999999"`, `"1969-12-31T23:59:59.999999"`},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, `"2020-07-01T10:00:00Z"`, `"2020-07-01T10:00:00Z"`},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "Europe/Stockholm"}, `"2020-07-01T10:00:00Z"`, `"2020-07-01T12:00:00+02:00[Europe/Stockholm]"`},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "+05:30"}, `"2020-07-01T10:00:00Z"`, `"2020-07-01T15:30:00+05:30"`},
		{arrow.FixedWidthTypes.Duration_ms, `"-1500ms"`, `"P0M0DT-1.500000000S"`},
		{arrow.FixedWidthTypes.MonthInterval, `{"months": 14}`, `"P14M0DT0.000000000S"`},
		{arrow.FixedWidthTypes.DayTimeInterval, `{"days": -2, "milliseconds": 1}`, `"P0M-2DT0.001000000S"`},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, `{"months": 1, "days": 2, "nanoseconds": -1}`, `"P1M2DT-0.000000001S"`},
		{arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int32)), `[[1, null], [], null]`, `[[1,null],[],null]`},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Int32), `[1]`, `[1]`},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[1, 2.5]`, `[1.0,2.5]`},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}, `"d"`, `"d"`},
		{arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `"r"`, `"r"`},
	} {
		field := arrow.Field{Name: "v", Type: c.typ, Nullable: true}
		if c.typ.ID() == arrow.FIXED_SIZE_BINARY {
			field.Metadata = uuid
		}
		got, err := readArrow(arrowBytes(t, true, []arrow.RecordBatch{batchOf(t, []arrow.Field{field}, `[{"v": `+c.in+`}, {"v": null}]`)}), nil)
		require.NoError(t, err, c.typ)
		require.Equal(t, `{"v":`+c.want+"}\n{\"v\":null}\n", got, "%s", c.typ)
	}
	got, err := readArrow(arrowBytes(t, true, []arrow.RecordBatch{batchOf(t, []arrow.Field{
		{Name: "s", Type: inner, Nullable: true}, {Name: "l", Type: arrow.ListOf(inner), Nullable: true},
	}, `[{"s": {"x": 1, "y": "a"}, "l": [{"x": 2, "y": null}, null]}, {"s": null, "l": null}]`)}), nil)
	require.NoError(t, err)
	require.Equal(t, `{"s.x":1,"s.y":"a","l.x":[2,null],"l.y":[null,null]}`+"\n"+`{"s.x":null,"s.y":null,"l.x":null,"l.y":null}`+"\n", got)

	use := func(string) (bool, bool) { return true, true }
	got, err = readArrow(arrowBytes(t, true, []arrow.RecordBatch{batchOf(t, []arrow.Field{{Name: "b", Type: arrow.BinaryTypes.Binary}}, `[{"b": "/wA="}]`)}), use)
	require.NoError(t, err)
	require.Equal(t, `{"b":"/wA="}`+"\n", got)

	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "u", Type: arrow.SparseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})},
	}, nil))
	_, err = readArrow(arrowBytes(t, true, []arrow.RecordBatch{b.NewRecordBatch()}), nil)
	require.ErrorContains(t, err, `column "u": the Arrow type sparse_union`)
	twice := []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}, {Name: "a", Type: arrow.PrimitiveTypes.Int8}}
	_, err = readArrow(arrowBytes(t, true, []arrow.RecordBatch{array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(twice, nil)).NewRecordBatch()}), nil)
	require.ErrorContains(t, err, `column "a": the file has two columns of that name`)
}
