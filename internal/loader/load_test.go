package loader

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/shard"
)

// TestLoad loads small inputs into a naive graph. The input of "load" is files, each after a line "-- NAME"; the
// mapping is mapping.yaml, without which headers are read. It prints the whole graph, then refused rows, or the error.
// "again" loads into the graph of the case before.
func TestLoad(t *testing.T) {
	var w *world
	datadriven.RunTest(t, "testdata/load", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "load" {
			w = newWorld(t)
		} else {
			w.t, w.dir = t, t.TempDir()
		}
		text := ""
		for _, part := range strings.Split("\n"+d.Input, "\n-- ")[1:] {
			name, body, _ := strings.Cut(part, "\n")
			body += "\n"
			body = strings.NewReplacer(`\r`, "\r", `\t`, "\t", `\xff`, "\xff", `\xe9`, "\xe9").Replace(body)
			switch {
			case name == "mapping.yaml":
				text = body
			case strings.HasSuffix(name, ".gz"):
				writeWith(t, w, name, body, false)
			case strings.HasSuffix(name, ".zst"):
				writeWith(t, w, name, body, true)
			default:
				w.file(name, body)
			}
		}
		o := Options{MaxRejects: Budget{Rows: 100}, RejectsDir: t.TempDir()}
		if d.HasArg("budget") {
			d.ScanArgs(t, "budget", &o.MaxRejects.Rows)
		}
		o.Restart = d.HasArg("restart")
		rep, err := w.load(text, o)
		var out strings.Builder
		if err != nil {
			fmt.Fprintln(&out, "error:", strings.ReplaceAll(err.Error(), w.dir, "DIR"))
		}
		if rep == nil {
			return out.String()
		}
		out.WriteString(w.state())
		fmt.Fprintf(&out, "rows %d vertices %d edges %d rejects %d\n", rep.Rows, rep.Vertices, rep.Edges, rep.Rejects)
		fmt.Fprintf(&out, "vertices %+v edges %+v\n", rep.VertexCounts, rep.EdgeCounts)
		if rep.Rejects > 0 {
			out.WriteString(readAll(t, o.RejectsDir))
		}
		return out.String()
	})
}

func writeWith(t *testing.T, w *world, name, body string, zst bool) {
	path := filepath.Join(w.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	f, err := os.Create(path)
	require.NoError(t, err)
	if zst {
		z, err := zstd.NewWriter(f)
		require.NoError(t, err)
		_, err = z.Write([]byte(body))
		require.NoError(t, err)
		require.NoError(t, z.Close())
	} else {
		z := gzip.NewWriter(f)
		_, err = z.Write([]byte(body))
		require.NoError(t, err)
		require.NoError(t, z.Close())
	}
	require.NoError(t, f.Close())
}

// Refused rows, loaded again with the same mapping from their own directory, are all that was missing.
func TestRejectsLoadAgain(t *testing.T) {
	const text = `
version: 1
inputs:
  - {path: sub/v.csv, vertices: [{label: V, id: id, properties: {id: {type: int}}}]}
  - {path: w.csv, vertices: [{label: W, id: id, properties: {id: {type: int}}}]}
  - {path: e.csv.gz, edges: [{type: E, from: {column: a, idSpace: V}, to: {column: b, idSpace: W}}]}
`
	w := newWorld(t)
	w.file("sub/v.csv", "id\n1\n2\n")
	w.file("w.csv", "id\n1\n")
	writeWith(t, w, "e.csv.gz", "a,b\n1,1\n2,2\n3,1\n1,x\n", false)
	rejects := t.TempDir()
	rep, err := w.load(text, Options{MaxRejects: Budget{Share: 0.5}, RejectsDir: rejects})
	require.NoError(t, err)
	require.Equal(t, int64(3), rep.Rejects)
	w.file("sub/v.csv", "id\n3\n")
	w.file("w.csv", "id\n2\n")
	writeWith(t, w, "e.csv.gz", "a,b\n", false)
	_, err = w.load(text, Options{})
	require.NoError(t, err)
	w.dir = rejects
	rep, err = w.load(text, Options{MaxRejects: Budget{Rows: 1}, RejectsDir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, int64(1), rep.Rejects)
	require.Equal(t, int64(2), rep.Edges)
}

// A share of rows is a budget too.
func TestBudgetShare(t *testing.T) {
	w := newWorld(t)
	w.file("v.csv", "id:ID(V){id-type:long},:LABEL\n1,V\n2,V\nx,V\n")
	_, err := w.load("", Options{MaxRejects: Budget{Share: 0.3}})
	var many *TooManyRejectsError
	require.ErrorAs(t, err, &many)
	w = newWorld(t)
	w.file("v.csv", "id:ID(V){id-type:long},:LABEL\n1,V\n2,V\nx,V\n")
	_, err = w.load("", Options{MaxRejects: Budget{Share: 0.34}})
	require.NoError(t, err)
}

// A dry run counts what a load would do, and writes nothing.
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	w.file("v.csv", "id:ID(V),:LABEL\na,V\nb,V\n")
	w.file("e.csv", ":START_ID(V),:END_ID(V),:TYPE\na,b,E\na,c,E\n")
	p, err := w.plan("")
	require.NoError(t, err)
	rep, err := p.DryRun(t.Context(), Options{MaxRejects: Budget{Rows: 5}}, nil)
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 4, Vertices: 2, Edges: 1, Rejects: 1}, rep.Totals)
	require.Equal(t, int64(1), rep.Dangling)
	require.Positive(t, rep.DiskBytes)
	require.Equal(t, "\n", w.state())

	w.file("v.csv", "id:ID(V),:LABEL\na,V\nb,V\na,V\n")
	for how, rejects := range map[shard.OnDuplicate]int64{shard.DuplicateOverwrite: 1, shard.DuplicateKeepFirst: 1, shard.DuplicateError: 2} {
		p, err := w.plan("")
		require.NoError(t, err)
		rep, err := p.DryRun(t.Context(), Options{MaxRejects: Budget{Rows: 5}, OnDuplicate: how}, nil)
		require.NoError(t, err)
		require.Equal(t, Totals{Rows: 5, Vertices: 4 - rejects, Edges: 1, Rejects: rejects}, rep.Totals)
	}
}

// Standard input is streamed, and buffered if it must be read twice.
func TestStandardInput(t *testing.T) {
	w := newWorld(t)
	w.t = t
	rep, err := func() (*Report, error) {
		p, err := w.planFrom(`
version: 1
inputs:
  - path: "-"
    vertices: [{label: A, id: a, properties: {a: {}}}]
    edges: [{type: E, from: {column: a, idSpace: A}, to: {column: b, idSpace: A}}]
`, "a,b\nx,y\ny,x\n")
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		require.Empty(t, p.Stream)
		return p.Run(t.Context(), NewLocal(w.l), Options{})
	}()
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 2, Vertices: 2, Edges: 2}, rep.Totals)
}

// A streamed input may have a header and a byte order mark too.
func TestStandardInputHeader(t *testing.T) {
	w := newWorld(t)
	p, err := w.planFrom(`
version: 1
inputs: [{path: "-", vertices: [{label: A, id: a, properties: {a: {type: int}}}]}]
`, "\ufeff"+"a,b\n1,2\n3,4\n")
	require.NoError(t, err)
	require.NotNil(t, p.inputs[0].Pipe)
	rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 2, Vertices: 2}, rep.Totals)
}

// Standard input in another encoding is converted to UTF-8; refused rows keep the original.
func TestStandardInputEncoding(t *testing.T) {
	w := newWorld(t)
	p, err := w.planFrom(`
version: 1
inputs: [{path: "-", encoding: latin1, vertices: [{label: A, id: a, properties: {a: {}, b: {}}}]}]
`, "a,b\ncaf\xe9,1\nna\xefve\n")
	require.NoError(t, err)
	require.NotNil(t, p.inputs[0].Pipe)
	rejects := t.TempDir()
	rep, err := p.Run(t.Context(), NewLocal(w.l), Options{RejectsDir: rejects, MaxRejects: Budget{Rows: 1}})
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 2, Vertices: 1, Rejects: 1}, rep.Totals)
	require.Contains(t, w.state(), "café")
	refused, err := os.ReadFile(filepath.Join(rejects, "stdin.csv"))
	require.NoError(t, err)
	require.Equal(t, "a,b\nna\xefve\n", string(refused))
}

// Edges whose vertices an earlier load has made find them by the constraint of the label that the id space is named
// as.
func TestFindSpaces(t *testing.T) {
	w := newWorld(t)
	w.file("p.csv", "id:ID(P),:LABEL\na,P\nb,P\n")
	_, err := w.load("", Options{})
	require.NoError(t, err)
	w.dir = t.TempDir()
	w.file("e.csv", ":START_ID(P),:END_ID(P),:TYPE\na,b,E\n")
	p, err := w.plan("")
	require.NoError(t, err)
	require.True(t, p.Finds())
	g, err := w.store.Graph("default")
	require.NoError(t, err)
	p.FindSpaces(g.Indexes())
	require.False(t, p.Finds())
	rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 1, Edges: 1}, rep.Totals)
}
