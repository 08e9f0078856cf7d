package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/propose"
)

const oddMapping = `
version: 1
inputs: [{path: %s, %s vertices: [{label: A, id: id, properties: {id: {type: int}, v: {}}}]}]
`

// Texts that are not quite as their names say load the rows that they hold.
func TestOddTexts(t *testing.T) {
	gz, _ := compressed(t, "gz", "id,v\n1,a\n2,b\n")
	zst, _ := compressed(t, "zst", "id,v\n1,a\n2,b\n")
	const two = ":A {id: 1, v: \"a\"}\n:A {id: 2, v: \"b\"}\n"
	for name, c := range map[string]struct{ file, text, options, want string }{
		"gzip without its ending":          {"a.csv", string(gz), "", two},
		"zstd without its ending":          {"a.csv", string(zst), "", two},
		"zstd after a skippable frame":     {"a.csv", "\x5f\x2a\x4d\x18\x02\x00\x00\x00xy" + string(zst), "", two},
		"gzip with another ending":         {"a.csv.zst", string(gz), "", two},
		"text that is not gzip":            {"a.csv.gz", "id,v\n1,a\n2,b\n", "", two},
		"carriage returns":                 {"a.csv", "id,v\r1,a\r2,b\r", "", two},
		"carriage returns, none at end":    {"a.csv", "id,v\r1,a\r2,b", "", two},
		"carriage returns, skipped lines":  {"a.csv", "x\rid,v\r1,a\r\r2,b\r", "skipLines: 1,", two},
		"carriage returns, text of others": {"a.csv", "id,v\r1,\"a\r\nb\"\r", "", ":A {id: 1, v: \"a\\r\\nb\"}\n"},
		"carriage returns, JSON lines":     {"a.jsonl", "{\"id\":1,\"v\":\"a\"}\r{\"id\":2,\"v\":\"b\"}\r", "", two},
		"carriage returns in LF text":      {"a.csv", "id,v\n1,\"a\rb\"\n", "", ":A {id: 1, v: \"a\\rb\"}\n"},
		"a NUL byte":                       {"a.csv", "id,v\n1,a\x00\n", "encoding: utf-8,", ":A {id: 1, v: \"a\\x00\"}\n"},
		"JSON lines":                       {"a.json", "{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":\"b\"}\n", "", two},
		"large integers":                   {"a.jsonl", "{\"id\":1,\"v\":18446744073709551615}\n", "", ":A {id: 1, v: \"18446744073709551615\"}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.file(c.file, c.text)
			_, err := w.load(fmt.Sprintf(oddMapping, c.file, c.options), Options{})
			require.NoError(t, err)
			require.Equal(t, c.want, w.state())
		})
	}
	for name, c := range map[string]struct{ file, text, options, want string }{
		"a NUL byte":        {"a.csv", "id,v\n1,a\x00\n", "", "encoding: utf-8"},
		"encrypted Parquet": {"a.parquet", "PAREx", "", "encrypted Parquet"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			path := w.file(c.file, c.text)
			_, err := w.load(fmt.Sprintf(oddMapping, c.file, c.options), Options{})
			require.ErrorContains(t, err, c.want)
			if c.file == "a.csv" {
				return
			}
			_, err = propose.Propose(t.Context(), []string{path}, func(s string) string { return s })
			require.Error(t, err)
		})
	}
	// Refused rows keep their line and their line ends.
	w := newWorld(t)
	w.file("a.csv", "id,v\r1,a\rx,b\r2,c")
	var refused []Reject
	dir := t.TempDir()
	_, err := w.load(fmt.Sprintf(oddMapping, "a.csv", ""), Options{RejectsDir: dir, MaxRejects: Budget{Rows: 9}, OnReject: func(r Reject) { refused = append(refused, r) }})
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.EqualValues(t, 3, refused[0].Line)
	kept, err := os.ReadFile(filepath.Join(dir, "a.csv"))
	require.NoError(t, err)
	require.Equal(t, "id,v\rx,b\r", string(kept))
}

// fifo makes a FIFO, and writes parts of a text to it unless there are none.
func (w *world) fifo(name string, parts ...string) string {
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, syscall.Mkfifo(path, 0o600))
	if len(parts) == 0 {
		return path
	}
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		for _, p := range parts {
			if err == nil {
				_, err = io.WriteString(f, p)
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			w.t.Error(err)
		}
	}()
	return path
}

// A FIFO is read once, as standard input is, also where its rows are read for vertices and again for edges.
func TestFIFO(t *testing.T) {
	w := newWorld(t)
	w.fifo("a.csv", "\ufeff"+"id,v\n1,", "a\n2", ",b\n")
	p, err := w.plan(fmt.Sprintf(oddMapping, "a.csv", ""))
	require.NoError(t, err)
	require.Empty(t, p.Stream)
	_, err = p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Equal(t, ":A {id: 1, v: \"a\"}\n:A {id: 2, v: \"b\"}\n", w.state())

	w = newWorld(t)
	gz, _ := compressed(t, "gz", "a,b\n1,2\n2,3\n")
	w.fifo("e", string(gz))
	p, err = w.plan(`
version: 1
inputs:
  - path: e
    format: csv
    vertices: [{label: A, id: a}, {label: A, id: b}]
    edges: [{type: E, from: {column: a, idSpace: A}, to: {column: b, idSpace: A}}]
`)
	require.NoError(t, err)
	rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.EqualValues(t, 2, rep.Edges)
	require.NoError(t, p.Close())
	for _, path := range []string{w.fifo("one.csv"), "-"} {
		_, err = NewHeaderPlan(t.Context(), HeaderOptions{Paths: []string{path}})
		require.ErrorContains(t, err, "a pipe needs a mapping")
		_, err = propose.Propose(t.Context(), []string{path}, func(s string) string { return s })
		require.ErrorContains(t, err, "a pipe cannot be sampled")
	}
	_, err = w.planFrom("version: 1\ninputs: [{path: '-', header: false, vertices: [{label: A, id: 0}]}, {path: '-', header: false, vertices: [{label: B, id: 0}]}]\n", "1\n")
	require.ErrorContains(t, err, "standard input can be read only once")
}

// A pipe whose writer never comes, or falls silent, does not outlast a cancelled load.
func TestFIFOCancelled(t *testing.T) {
	for name, open := range map[string]func(w *world){
		"no writer": func(w *world) { w.fifo("a.csv") },
		"silent writer": func(w *world) {
			f, err := os.OpenFile(w.fifo("a.csv"), os.O_RDWR, 0)
			require.NoError(t, err)
			t.Cleanup(func() { _ = f.Close() })
			_, err = f.WriteString("id,v\n1,a\n")
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			open(w)
			m, err := mapping.Parse("m.yaml", fmt.Appendf(nil, oddMapping, "a.csv", ""))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := NewPlan(ctx, m, w.dir, nil)
				ended <- err
			}()
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled)
		})
	}
}
