package export

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

func listOf(vs ...*pb.Value) *pb.Value {
	return &pb.Value{Kind: &pb.Value_List{List: &pb.ListValue{Values: vs}}}
}

func textOf(s string) *pb.Value { return &pb.Value{Kind: &pb.Value_String_{String_: s}} }
func intOf(i int64) *pb.Value   { return &pb.Value{Kind: &pb.Value_Integer{Integer: i}} }
func floatOf(f float64) *pb.Value {
	return &pb.Value{Kind: &pb.Value_Float{Float: f}}
}

// A property has a column for each type of its values. Empty lists join other lists, and values with ambiguous semicolons are
// quoted.
func TestTypes(t *testing.T) {
	p := &prop{}
	for _, v := range []*pb.Value{intOf(1), listOf(), listOf(intOf(1)), listOf(intOf(1), textOf("x"))} {
		require.NoError(t, p.note(v))
	}
	p.settle()
	require.True(t, p.several())
	require.Equal(t, typeInt, p.typeOf(nil))
	require.Equal(t, typeInt|listType, p.typeOf(listOf()))
	require.Equal(t, typeAny|listType, p.typeOf(listOf(textOf("x"), floatOf(1))))
	require.NotZero(t, p.tricky>>(typeInt|listType)&1)
	for _, v := range []*pb.Value{listOf(textOf("")), listOf(textOf("a;b")), listOf()} {
		p := &prop{}
		require.NoError(t, p.note(v))
		p.settle()
		require.Equal(t, uint64(1)<<(typeString|listType), p.types)
		require.Equal(t, p.types, p.tricky)
	}
	for _, v := range []*pb.Value{listOf(listOf()), listOf(&pb.Value{}), listOf(intOf(1), floatOf(math.NaN()))} {
		require.Error(t, (&prop{}).note(v))
	}
}

// Parquet holds what was written, and distinguishes null, an empty list and an empty string.
func TestParquet(t *testing.T) {
	f := &file{shape: &shape{labels: []string{"A"}}, columns: []column{
		{name: "b", typ: typeBool}, {name: "f", typ: typeFloat}, {name: "i", typ: typeInt}, {name: "l", typ: typeString | listType}, {name: "s", typ: typeString},
	}}
	require.NoError(t, refuseColumns(f))
	var out bytes.Buffer
	w, err := newParquet(&out, f)
	require.NoError(t, err)
	yes := &pb.Value{Kind: &pb.Value_Boolean{Boolean: true}}
	require.NoError(t, w.write([]int64{7}, []*pb.Value{yes, floatOf(0.5), intOf(-3), listOf(textOf("x;"), textOf("")), textOf("")}, nil))
	require.NoError(t, w.flush())
	require.NoError(t, w.write([]int64{8}, []*pb.Value{nil, nil, nil, listOf(), nil}, nil))
	require.NoError(t, w.write([]int64{9}, []*pb.Value{nil, nil, nil, nil, textOf("é")}, nil))
	require.NoError(t, w.close())

	type row struct {
		ID int64    `parquet:":ID"`
		B  *bool    `parquet:"b,optional"`
		F  *float64 `parquet:"f,optional"`
		I  *int64   `parquet:"i,optional"`
		S  *string  `parquet:"s,optional"`
	}
	r := parquet.NewGenericReader[row](bytes.NewReader(out.Bytes()))
	rows := make([]row, 4)
	n, err := r.Read(rows)
	if !errors.Is(err, io.EOF) {
		require.NoError(t, err)
	}
	require.Equal(t, 3, n)
	require.NoError(t, r.Close())
	require.EqualValues(t, []int64{7, 8, 9}, []int64{rows[0].ID, rows[1].ID, rows[2].ID})
	require.True(t, *rows[0].B)
	require.InDelta(t, 0.5, *rows[0].F, 0)
	require.EqualValues(t, -3, *rows[0].I)
	require.Empty(t, *rows[0].S)
	require.Nil(t, rows[1].S)
	require.Equal(t, "é", *rows[2].S)
	require.Nil(t, rows[2].I)

	file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	leaf, ok := file.Schema().Lookup("l", "list", "element")
	require.True(t, ok)
	var levels []int
	for _, g := range file.RowGroups() {
		rs := g.Rows()
		buf := make([]parquet.Row, 4)
		n, err := rs.ReadRows(buf)
		if !errors.Is(err, io.EOF) {
			require.NoError(t, err)
		}
		for _, row := range buf[:n] {
			for _, v := range row {
				if v.Column() == leaf.ColumnIndex {
					levels = append(levels, v.DefinitionLevel())
				}
			}
		}
		require.NoError(t, rs.Close())
	}
	require.Equal(t, []int{2, 2, 1, 0}, levels)
	f.columns[0].typ = typeAny | listType
	require.Error(t, refuseColumns(f))
}
