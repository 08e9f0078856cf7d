package record

import (
	"bytes"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	other "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// parquetFile writes n rows in row groups of 100: an id, a name, a list of tags, and a float that every third row lacks. want is their text.
func parquetFile(t *testing.T, n int, opts ...parquet.WriterProperty) (data []byte, want string) {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	text := strings.Builder{}
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("n", i%7))
		tags := b.Field(2).(*array.ListBuilder)
		tags.Append(true)
		var list []string
		for k := range i % 4 {
			tags.ValueBuilder().(*array.Int32Builder).Append(int32(k))
			list = append(list, strconv.Itoa(k))
		}
		f := "null"
		if i%3 > 0 {
			b.Field(3).(*array.Float64Builder).Append(float64(i) + 0.5)
			f = fmt.Sprintf("%d.5", i)
		} else {
			b.Field(3).AppendNull()
		}
		fmt.Fprintf(&text, "{\"id\":%d,\"name\":\"n%d\",\"tags\":[%s],\"f\":%s}\n", i, i%7, strings.Join(list, ","), f)
	}
	return writeBatch(t, b, opts...), text.String()
}

func writeBatch(t *testing.T, b *array.RecordBuilder, opts ...parquet.WriterProperty) []byte {
	rec := b.NewRecordBatch()
	defer rec.Release()
	var out bytes.Buffer
	opts = append(opts, parquet.WithMaxRowGroupLength(100))
	w, err := pqarrow.NewFileWriter(rec.Schema(), &out, parquet.NewWriterProperties(opts...), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// readParquet reads the text of a file. change, if not nil, changes it before it is read.
func readParquet(data []byte, use func(string) (bool, bool), change func(p *Parquet)) (string, error) {
	p, err := NewParquet(bytes.NewReader(data), int64(len(data)), use)
	if err != nil {
		return "", err
	}
	if change != nil {
		change(p)
	}
	text, err := io.ReadAll(p)
	if err == nil {
		err = p.Close()
	}
	return string(text), err
}

// All codecs, versions of pages and encodings give the same rows, also no rows.
func TestParquetCodecs(t *testing.T) {
	for _, codec := range []compress.Compression{
		compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd, compress.Codecs.Brotli, compress.Codecs.Lz4Raw,
	} {
		for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
			for _, dict := range []bool{true, false} {
				for _, n := range []int{0, 1, 100, 2050} {
					data, want := parquetFile(t, n, parquet.WithCompression(codec), parquet.WithDataPageVersion(version),
						parquet.WithDictionaryDefault(dict), parquet.WithDataPageSize(200))
					got, err := readParquet(data, nil, nil)
					require.NoError(t, err)
					require.Equal(t, want, got, "%v, pages %v, dictionary %v, %d rows", codec, version, dict, n)
				}
			}
		}
	}
}

// A column with fewer or more rows than the footer says is an error after the whole rows.
func TestParquetRowCount(t *testing.T) {
	data, want := parquetFile(t, 300)
	lines := strings.SplitAfter(want, "\n")
	for more, whole := range map[int64]int{1: 200, -1: 199} {
		for _, column := range []string{"id", "tags", "f"} {
			got, err := readParquet(data, func(name string) (bool, bool) { return name == column, false }, func(p *Parquet) {
				p.file.MetaData().RowGroups[1].NumRows += more
			})
			require.ErrorContains(t, err, "of row group 1")
			require.ErrorContains(t, err, "that the footer says")
			require.Equal(t, whole, strings.Count(got, "\n"))
		}
		require.Len(t, lines, 301)
	}
}

// Pages that differ from their checksums are errors, unless no rule uses their column.
func TestParquetChecksum(t *testing.T) {
	type row struct {
		A int64 `parquet:"a,plain"`
		B int64 `parquet:"b,plain"`
	}
	var out bytes.Buffer
	require.NoError(t, other.Write(&out, []row{{1, 0x0102030405060708}, {2, 0x0102030405060709}}, other.Compression(&other.Uncompressed)))
	data := out.Bytes()
	at := bytes.Index(data, []byte{8, 7, 6, 5, 4, 3, 2, 1, 9, 7, 6, 5, 4, 3, 2, 1})
	require.Positive(t, at)
	for _, c := range []bool{false, true} {
		if c {
			data[at] ^= 1
		}
		got, err := readParquet(data, nil, nil)
		if c {
			require.ErrorContains(t, err, `column "b" of row group 0`)
			require.ErrorContains(t, err, "checksum")
			got, err = readParquet(data, func(name string) (bool, bool) { return name == "a", false }, nil)
			require.NoError(t, err)
			require.Equal(t, "{\"a\":1}\n{\"a\":2}\n", got)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "{\"a\":1,\"b\":72623859790382856}\n{\"a\":2,\"b\":72623859790382857}\n", got)
	}
}

// Damage is an error or leaves the number of rows that the footer says; nothing panics or hangs.
func TestParquetDamage(t *testing.T) {
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Lz4Raw} {
		data, want := parquetFile(t, 250, parquet.WithCompression(codec), parquet.WithDataPageSize(300))
		r := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			bad := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
			}
			rows := int64(0)
			got, err := readParquet(bad, nil, func(p *Parquet) {
				for _, g := range p.file.MetaData().RowGroups {
					rows += g.NumRows
				}
			})
			if err == nil {
				require.EqualValues(t, rows, strings.Count(got, "}\n"))
			}
		}
		for _, n := range []int{0, 3, 8, len(data) / 2, len(data) - 1} {
			_, err := readParquet(data[:n], nil, nil)
			require.Error(t, err)
		}
		require.NotEmpty(t, want)
	}
}

// Values of all kinds: those that JSON's numbers do not carry are strings.
func TestParquetValues(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "u", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 38}},
		{Name: "p", Type: &arrow.Decimal128Type{Precision: 38, Scale: 2}},
		{Name: "h", Type: arrow.FixedWidthTypes.Float16},
		{Name: "b", Type: arrow.BinaryTypes.Binary},
		{Name: "x", Type: &arrow.FixedSizeBinaryType{ByteWidth: 2}},
		{Name: "ms", Type: arrow.FixedWidthTypes.Timestamp_ms},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "t", Type: arrow.FixedWidthTypes.Time64us},
		{Name: "u32", Type: arrow.PrimitiveTypes.Uint32},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	big1, _ := new(big.Int).SetString("-12345678901234567890123", 10)
	for i, u := range []uint64{7, 1<<64 - 1} {
		b.Field(0).(*array.Uint64Builder).Append(u)
		b.Field(1).(*array.Decimal128Builder).Append([]decimal128.Num{decimal128.FromI64(42), decimal128.FromBigInt(big1)}[i])
		b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(-105))
		b.Field(3).(*array.Float16Builder).Append(float16.New(1.5))
		b.Field(4).(*array.BinaryBuilder).Append([]byte{0xff, 0, 'a'})
		b.Field(5).(*array.FixedSizeBinaryBuilder).Append([]byte{0xfe, 1})
		b.Field(6).(*array.TimestampBuilder).Append(-1)
		b.Field(7).(*array.Date32Builder).Append(-1)
		b.Field(8).(*array.Time64Builder).Append(1_000_001)
		b.Field(9).(*array.Uint32Builder).Append(1<<32 - 1)
	}
	got, err := readParquet(writeBatch(t, b), func(name string) (bool, bool) { return true, name == "b" || name == "x" }, nil)
	require.NoError(t, err)
	rest := `"p":-1.05,"h":1.5,"b":"/wBh","x":"/gE=","ms":"1969-12-31T23:59:59.999Z","day":"1969-12-31","t":"00:00:01.000001","u32":4294967295}` + "\n"
	require.Equal(t, `{"u":7,"d":42,`+rest+`{"u":"18446744073709551615","d":"-12345678901234567890123",`+rest, got)
}
