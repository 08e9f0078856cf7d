package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

func TestSizes(t *testing.T) {
	lo, hi, err := parseSizes("100..4KiB")
	require.NoError(t, err)
	require.Equal(t, [2]int{100, 4096}, [2]int{lo, hi})
	for _, text := range []string{"", "9..3", "a..b", "0..0"} {
		_, _, err := parseSizes(text)
		require.Error(t, err, text)
	}
}

// Files that have no header to load them by are refused with the command that proposes a mapping.
func TestLoadSuggestsInit(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "the people.csv")
	require.NoError(t, os.WriteFile(name, []byte("id,name\n1,Ann\n"), 0o600))
	cmd := newRoot(&app{})
	cmd.SetArgs([]string{"load", name})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	require.ErrorContains(t, cmd.Execute(), "graphctl load --init '"+name+"' >mapping.yaml")
}

// A column travels in its narrowest form; nulls are marked.
func TestColumnForm(t *testing.T) {
	null := graph.Value{}
	ints := columnProto([]graph.Value{graph.IntValue(1), null, graph.IntValue(-3)})
	require.Equal(t, []int64{1, 0, -3}, ints.GetIntegers().GetValues())
	require.Equal(t, []byte{2}, ints.GetNulls())
	texts := columnProto([]graph.Value{graph.StringValue("ab"), null, graph.StringValue(""), graph.StringValue("c")})
	require.Equal(t, "abc", string(texts.GetTexts().GetText()))
	require.Equal(t, []uint32{2, 2, 2, 3}, texts.GetTexts().GetEnds())
	require.Equal(t, []byte{2}, texts.GetNulls())
	floats := columnProto([]graph.Value{graph.FloatValue(1.5)})
	require.Equal(t, []float64{1.5}, floats.GetFloats().GetValues())
	require.Nil(t, floats.GetNulls())
	mixed := columnProto([]graph.Value{graph.IntValue(1), graph.StringValue("x"), graph.BoolValue(true)})
	require.Len(t, mixed.GetValues().GetValues(), 3)
	require.Equal(t, []byte{3}, columnProto([]graph.Value{null, null}).GetNulls())
	list := func(vs ...graph.Value) graph.Value { return graph.ListValue(vs) }
	lists := columnProto([]graph.Value{list(graph.IntValue(4), graph.IntValue(5)), null, list(), list(graph.IntValue(6))})
	require.Equal(t, []int64{4, 5, 6}, lists.GetLists().GetElements().GetIntegers().GetValues())
	require.Equal(t, []uint32{2, 2, 2, 3}, lists.GetLists().GetEnds())
	require.Equal(t, []byte{2}, lists.GetNulls())
	d := valueProto(graph.ListValue([]graph.Value{graph.DateValue(temporal.Date(0))})).GetList().GetValues()[0].GetTemporal()
	require.Equal(t, "1970-01-01", d.GetText())
	require.Equal(t, pb.TemporalType_TEMPORAL_TYPE_DATE, d.GetType())
}

// A dry run asks the server which ends of edges exist.
func TestLoadDryRun(t *testing.T) {
	a, _ := serve(t)
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	write("p.csv", "id\n1\n2\n")
	write("e.csv", "a,b\n1,2\n1,3\n")
	_, errs, code := ctl(a.Address, "", "load", write("p.yaml", "version: 1\ninputs: [{path: p.csv, vertices: [{label: P, id: id, idSpace: P, properties: {id: {}}}]}]"))
	require.Zero(t, code, errs)
	edges := write("e.yaml", "version: 1\nidSpaces: {P: {label: P, property: id, type: string}}\ninputs: [{path: e.csv, edges: [{type: K, from: {column: a, idSpace: P}, to: {column: b, idSpace: P}}]}]")
	out, errs, code := ctl(a.Address, "", "load", "--dry-run", edges)
	require.NotZero(t, code)
	require.Contains(t, out, "2 rows would write 0 vertices and 1 edges")
	require.Contains(t, out, "1 dangling edges", errs)
}
