package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
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
func TestExportTypes(t *testing.T) {
	p := &exportProp{}
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
		p := &exportProp{}
		require.NoError(t, p.note(v))
		p.settle()
		require.Equal(t, uint64(1)<<(typeString|listType), p.types)
		require.Equal(t, p.types, p.tricky)
	}
	for _, v := range []*pb.Value{listOf(listOf()), listOf(&pb.Value{}), listOf(intOf(1), floatOf(math.NaN()))} {
		require.Error(t, (&exportProp{}).note(v))
	}
}

// nasty are texts that some format might read as something else.
var nasty = []string{
	"", " ", " lead", "trail ", "\t", "a\tb", "\n", "a\nb\n", "\r", "a\r\nb", "\x00", "a\x00b", "\x01\x1f\x7f", `"`, `""quoted""`, "'", `it\'s \n \\`, "\\",
	"\ufeffbom", "😀👩‍👩‍👧", "\u202eRTL עברית", "e\u0301 \u2028 \u2029 \ufffe", "null", "NULL", "true", "007", "1e5", "NaN", "2020-02-29", "a,b", "a;b", "a|b", "]]>", "&lt;<a>&amp;",
	`[1, "x"]`, `{"a": 1}`, ":A:B", "`tick`", "$x", "-", "#", "\\N", strings.Repeat("long \n\"", 20_000),
}

// Every format brings back every text, alone, in a list and on an edge.
func TestExportTexts(t *testing.T) {
	text, err := json.Marshal(nasty)
	require.NoError(t, err)
	const create = "UNWIND range(0, size($s) - 1) AS i CREATE (:A {i: i, s: $s[i], l: [$s[i], 'x', $s[i]], one: [$s[i]]})-[:R {s: $s[i]}]->(:B)"
	const read = "MATCH (a:A)-[r:R]->(:B) RETURN a.i AS i, a.s AS s, a.l AS l, a.one AS one, r.s AS r ORDER BY i"
	from, _ := serve(t)
	params := filepath.Join(t.TempDir(), "p.json")
	require.NoError(t, os.WriteFile(params, append(append([]byte(`{"s": `), text...), '}'), 0o600))
	_, errs, code := ctl(from.address, "", "query", create, "--params", params)
	require.Zero(t, code, errs)
	want, _, _ := ctl(from.address, "", "query", "-o", "ndjson", read)
	require.Equal(t, len(nasty), strings.Count(want, "}\n"))
	for format := range exportFormats {
		dir := filepath.Join(t.TempDir(), format)
		_, errs, code := ctl(from.address, "", "export", dir, "--format", format)
		require.Zero(t, code, errs)
		to, _ := serve(t)
		_, errs, code = ctl(to.address, "", "load", dir)
		require.Zero(t, code, errs)
		got, _, _ := ctl(to.address, "", "query", "-o", "ndjson", read)
		require.Equal(t, want, got, format)
	}
}

// A property with values that JSON does not tell apart is refused by name, and leaves nothing behind.
func TestExportAPOC(t *testing.T) {
	a, _ := serve(t)
	const create = `CREATE ({i: 1, f: 0.0/0.0, at: date('2020-02-29'), p: point({x: 1, y: 2}), d: duration('P1DT0.5S'), v: vector([1, 2], 2, INTEGER8), l: [date('2020-01-01')], e: []})
		-[:R {at: time('10:00Z'), any: 1}]->(:B:A {at: 'text', id: 7})<-[:R {any: [1.5]}]-(:A {any: 'x'}), (:A {any: true})`
	const read = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN labels(n) AS l, properties(n) AS n, [k IN keys(n) | k + valueType(n[k])] AS t, r.at AS at, r.any AS any, valueType(r.any) AS tr, labels(m) AS m ORDER BY toString(n)"
	_, errs, code := ctl(a.address, "", "query", create)
	require.Zero(t, code, errs)
	dir := filepath.Join(t.TempDir(), "e")
	out, errs, code := ctl(a.address, "", "export", dir, "--format", "json")
	require.Zero(t, code, errs)
	require.Contains(t, out, "4 vertices and 2 edges to 1 files")
	text, err := os.ReadFile(filepath.Join(dir, "graph.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `{"type":"node","id":"1","labels":["A","B"],"properties":{"at":"text","id":7}}`+"\n")
	require.Regexp(t, `"label":"R","properties":\{"any":1,"at":"10:00:00Z"\},"start":\{"id":"\d+"\},"end":\{"id":"\d+","labels":\["A","B"\]\}\}\n`, string(text))
	to, _ := serve(t)
	_, errs, code = ctl(to.address, "", "load", dir)
	require.Zero(t, code, errs)
	want, _, _ := ctl(a.address, "", "query", "-o", "ndjson", read)
	got, _, _ := ctl(to.address, "", "query", "-o", "ndjson", read)
	require.Equal(t, want, got)

	_, _, code = ctl(a.address, "", "query", "CREATE (:A {any: date('2020-01-01')})")
	require.Zero(t, code)
	dir = filepath.Join(t.TempDir(), "refused")
	_, errs, code = ctl(a.address, "", "export", dir, "--format", "json")
	require.NotZero(t, code)
	require.Contains(t, errs, `the property "any" has values of several types`)
	require.NoDirExists(t, dir)
}

// Parquet holds what was written, and distinguishes null, an empty list and an empty string.
func TestExportParquet(t *testing.T) {
	f := &exportFile{shape: &exportShape{labels: []string{"A"}}, columns: []exportColumn{
		{name: "b", typ: typeBool}, {name: "f", typ: typeFloat}, {name: "i", typ: typeInt}, {name: "l", typ: typeString | listType}, {name: "s", typ: typeString},
	}}
	require.NoError(t, refuseColumns(f))
	var out bytes.Buffer
	w, err := newParquetExport(&out, f)
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
