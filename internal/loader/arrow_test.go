package loader

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// arrowFile writes people as an Arrow file, or as a stream.
func arrowFile(t *testing.T, stream bool) string {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "name", Type: arrow.BinaryTypes.String}, {Name: "raw", Type: arrow.BinaryTypes.Binary},
	}, nil)
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, "%c{\"id\": %d, \"name\": \"n%d\", \"raw\": \"/wA=\"}", "[,"[min(i, 1)], i, i%7)
	}
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows.String()+"]"))
	require.NoError(t, err)
	var out bytes.Buffer
	if stream {
		w := ipc.NewWriter(&out, ipc.WithSchema(schema), ipc.WithLZ4())
		require.NoError(t, w.Write(batch))
		require.NoError(t, w.Close())
		return out.String()
	}
	w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	return out.String()
}

// Arrow loads by its extension or its beginning, compressed as a whole, from a pipe, and from an offset; a proposal for it loads.
func TestArrow(t *testing.T) {
	const rules = "vertices: [{label: P, id: id, properties: {id: {type: int}, name: {}, raw: {type: bytes}}}]"
	text := func(path string) string { return "version: 1\ninputs: [{path: \"" + path + "\", " + rules + "}]\n" }
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte(arrowFile(t, true)))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	want := ""
	for name, content := range map[string]string{
		"people.arrow": arrowFile(t, false), "people.arrows": arrowFile(t, true), "people.feather": arrowFile(t, false),
		"a": arrowFile(t, false), "b": arrowFile(t, true), "people.arrows.gz": zipped.String(),
	} {
		w := newWorld(t)
		w.file(name, content)
		p, err := w.plan(text(name))
		require.NoError(t, err, name)
		p.chunk = 5000
		rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
		require.NoError(t, err)
		require.EqualValues(t, 1000, rep.Vertices)
		if want == "" {
			want = w.state()
		}
		require.Equal(t, want, w.state(), name)
		all, err := p.inputs[0].Peek(t.Context())
		require.NoError(t, err)
		from, err := p.inputs[0].Open(t.Context(), 1234)
		require.NoError(t, err)
		rest := make([]byte, 66)
		_, err = from.Read(rest)
		require.NoError(t, err)
		require.Equal(t, all[1234:1300], rest)
		require.NoError(t, from.Close())
	}
	w := newWorld(t)
	p, err := w.planFrom(text("-"), arrowFile(t, true))
	require.NoError(t, err)
	_, err = p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.Equal(t, want, w.state())

	w = newWorld(t)
	w.file("p.feather", arrowFile(t, false))
	proposed, err := w.propose("p.feather")
	require.NoError(t, err)
	rep, err := w.load(proposed, Options{})
	require.NoError(t, err, proposed)
	require.EqualValues(t, 1000, rep.Vertices)

	w = newWorld(t)
	w.file("p.arrow", arrowFile(t, true)[:3000])
	_, err = w.load(text("p.arrow"), Options{})
	require.ErrorContains(t, err, "cut off")
}

// Refused rows are kept as JSON lines that the same mapping reads.
func TestArrowRejects(t *testing.T) {
	w := newWorld(t)
	w.file("p.arrow", arrowFile(t, false))
	text := "version: 1\ninputs: [{path: p.arrow, vertices: [{label: P, id: id, properties: {id: {type: int}, name: {type: int, values: {n0: 0, n1: 1, n2: 2, n3: 3, n4: 4, n5: 5}}}}]}]\n"
	dir := t.TempDir()
	rep, err := w.load(text, Options{RejectsDir: dir, MaxRejects: Budget{Rows: 500}})
	require.NoError(t, err)
	require.EqualValues(t, 142, rep.Rejects)
	kept, err := os.ReadFile(filepath.Join(dir, "p.arrow"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(kept), `{"id":6,"name":"n6"}`+"\n"), string(kept[:40]))
	w.file("p.arrow", strings.ReplaceAll(string(kept), "n6", "6"))
	rep, err = w.load(text, Options{})
	require.NoError(t, err)
	require.EqualValues(t, 142, rep.Vertices)
}
