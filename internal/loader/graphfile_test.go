package loader

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// TestGraphFiles loads files that NetworkX, igraph and APOC have written, and small ones with what these do not write.
func TestGraphFiles(t *testing.T) {
	datadriven.RunTest(t, "testdata/graphfile", func(t *testing.T, d *datadriven.TestData) string {
		w := newWorld(t)
		content := d.Input
		name := d.CmdArgs[0].Key
		if d.Cmd == "file" {
			b, err := os.ReadFile(filepath.Join("testdata/graphs", name))
			require.NoError(t, err)
			content = string(b)
		}
		w.file(name, content)
		rep, err := w.loadFiles(Options{MaxRejects: Budget{Share: 1}}, name)
		if err != nil {
			return strings.ReplaceAll(err.Error(), w.dir, "") + "\n"
		}
		return fmt.Sprintf("%s%d vertices, %d edges, %d rejects\n", w.state(), rep.Vertices, rep.Edges, rep.Rejects)
	})
}

// Compressed files are read whatever their names, and a zip archive if it holds one file.
func TestCompressed(t *testing.T) {
	const table = "id:ID(P),name,:LABEL\n1,Ann,P\n2,Bob,P\n"
	var xzed, zipped, two, workbook bytes.Buffer
	x, err := xz.NewWriter(&xzed)
	require.NoError(t, err)
	_, err = io.WriteString(x, table)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	archive := func(out io.Writer, names ...string) {
		z := zip.NewWriter(out)
		for _, name := range names {
			f, err := z.Create(name)
			require.NoError(t, err)
			if strings.HasSuffix(name, "/") {
				continue
			}
			_, err = io.WriteString(f, table)
			require.NoError(t, err)
		}
		require.NoError(t, z.Close())
	}
	archive(&zipped, "dir/", "a.csv")
	archive(&two, "a.csv", "b.csv")
	archive(&workbook, "[Content_Types].xml", "xl/workbook.xml")
	bz2, err := os.ReadFile("testdata/graphs/table.csv.bz2")
	require.NoError(t, err)
	for _, c := range []struct{ name, content, refused string }{
		{"a.csv.xz", xzed.String(), ""},
		{"a.csv", xzed.String(), ""},
		{"a.csv.zip", zipped.String(), ""},
		{"a.csv.bz2", string(bz2), ""},
		{"a.csv", string(bz2), ""},
		{"a.csv.xz", xzed.String()[:xzed.Len()-20], "cut off"},
		{"a.csv.bz2", string(bz2[:len(bz2)-6]), "cut off"},
		{"a.csv.zip", two.String(), "holds 2 files"},
		{"a.csv.zip", workbook.String(), "Excel"},
		{"a.xlsx", workbook.String(), "Excel"},
		{"a.bin", "\x00\x00\x01\x02\x00\x00", "not text"},
		{"a.dat", "hello\n", "not recognised"},
		{"a.xml", "<html></html>", "neither GraphML nor GEXF"},
		{"a", "PAR1", "no header"},
		{"a", "ARROW1", "no header"},
	} {
		t.Run(c.name+" "+c.refused, func(t *testing.T) {
			w := newWorld(t)
			w.file(c.name, c.content)
			_, err := w.loadFiles(Options{}, c.name)
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, ":P {id: \"1\", name: \"Ann\"}\n:P {id: \"2\", name: \"Bob\"}\n", w.state())
		})
	}
}

// A JSON array is read as its elements, whatever the file is called; in a mapping, in a proposal and in a pipe.
func TestJSONArray(t *testing.T) {
	const array = "\ufeff [{\"id\": 1, \"n\": \"a\\nb\"},\n {\"id\": 2,\n\"n\": [1, 2]}]\n"
	const m = "version: 1\ninputs: [{path: %s, vertices: [{label: A, id: id, properties: {id: {type: int}, n: {type: any}}}]}]\n"
	for _, name := range []string{"a.json", "a.jsonl", "a.data"} {
		w := newWorld(t)
		w.file(name, array)
		_, err := w.load(fmt.Sprintf(m, name), Options{})
		require.NoError(t, err)
		require.Equal(t, ":A {id: 1, n: \"a\\nb\"}\n:A {id: 2, n: [1 2]}\n", w.state())
	}
	w := newWorld(t)
	w.file("a.json", `[{"id": 1}, {"id": 2}`)
	_, err := w.load(fmt.Sprintf(m, "a.json"), Options{})
	require.Error(t, err)
	w = newWorld(t)
	w.file("person.json", `[{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]`)
	out, err := w.propose("person.json")
	require.NoError(t, err)
	_, err = w.load(out, Options{})
	require.NoError(t, err, out)
	require.Equal(t, ":Person {id: 1, name: \"Ann\"}\n:Person {id: 2, name: \"Bob\"}\n", w.state())
}

// loadFiles loads files without a mapping.
func (w *world) loadFiles(o Options, names ...string) (*Report, error) {
	for i := range names {
		names[i] = filepath.Join(w.dir, names[i])
	}
	p, err := NewHeaderPlan(w.t.Context(), HeaderOptions{Paths: names})
	if err != nil {
		return nil, err
	}
	return p.Run(w.t.Context(), NewLocal(w.l), o)
}

// Files that hold graphs have ids of their own: equal ones do not make one vertex.
func TestGraphFilesApart(t *testing.T) {
	w := newWorld(t)
	b, err := os.ReadFile("testdata/graphs/ig.graphml")
	require.NoError(t, err)
	w.file("a.graphml", string(b))
	w.file("b.graphml", string(b))
	rep, err := w.loadFiles(Options{}, "a.graphml", "b.graphml")
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 10, Vertices: 6, Edges: 4}, rep.Totals)
}
