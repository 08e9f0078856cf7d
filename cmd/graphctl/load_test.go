package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/loader"
)

func TestBudget(t *testing.T) {
	for text, want := range map[string]loader.Budget{
		"0": {}, "12": {Rows: 12}, "1%": {Share: 0.01}, "0.5%": {Share: 0.005}, "0%": {}, "100%": {Share: 1},
	} {
		got, err := parseBudget(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "x", "101%", "-1%", "%", "1.5"} {
		_, err := parseBudget(text)
		require.Error(t, err, text)
	}
}

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

// On a terminal, the client shows the proposed mapping and loads the files with it once the user agrees.
func TestLoadOffersMapping(t *testing.T) {
	name := filepath.Join(t.TempDir(), "people.csv")
	require.NoError(t, os.WriteFile(name, []byte("id,name\n1,Ann\n"), 0o600))
	for answer, loads := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "n\n": false, "": false} {
		cmd, shown := newRoot(&app{}), new(strings.Builder)
		cmd.SetIn(strings.NewReader(answer))
		cmd.SetErr(shown)
		cmd.SetContext(t.Context())
		l := &loadFlags{idType: "string", asks: func() bool { return true }}
		plan, err := l.plan(cmd, []string{name})
		require.Contains(t, shown.String(), "label: People", answer)
		require.Contains(t, shown.String(), "[y/N]")
		if !loads {
			require.ErrorContains(t, err, "graphctl load --init")
			continue
		}
		require.NoError(t, err)
		require.NoError(t, plan.Close())
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		require.Equal(t, want, grouped(n))
	}
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

// A line of progress shows the load before the bar and the current input after it, and omits unknown figures.
func TestProgressLine(t *testing.T) {
	p := loader.Progress{
		Totals: loader.Totals{Rows: 3000, Vertices: 1000, Edges: 1999, Rejects: 1}, Done: 250, Bytes: 1000, Elapsed: 2 * time.Second, Left: 6 * time.Second,
		Inputs: []loader.InputProgress{
			{Path: "a.csv"},
			{Path: "b.csv", Totals: loader.Totals{Rows: 500}, Done: 50, Bytes: 200, Elapsed: time.Second, Left: 3 * time.Second},
		}, Current: 1,
	}
	require.Equal(t, "25%  2s  3,000 rows  1,000 vertices  1,999 edges  1 rejects  1,500 rows/s  6s left  |  b.csv  25%  500 rows/s  3s left", progressLine(&p))
	p.Bytes, p.Left, p.Inputs[1].Bytes, p.Inputs[1].Left = 0, -1, 0, -1
	require.Equal(t, "2s  3,000 rows  1,000 vertices  1,999 edges  1 rejects  1,500 rows/s  |  b.csv  500 rows/s", progressLine(&p))
	require.Equal(t, "0s  0 rows  0 vertices  0 edges  0 rejects  0 rows/s", progressLine(&loader.Progress{Left: -1}))
}
