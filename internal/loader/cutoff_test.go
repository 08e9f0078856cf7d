package loader

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/text"
)

const cutMapping = `
version: 1
inputs: [{path: "%s", vertices: [{label: A, id: id, properties: {id: {type: int}, v: {type: int}}}]}]
`

// compressed returns body in two members of a format, and the length of the first.
func compressed(t *testing.T, ext, body string) (out []byte, first int) {
	for _, part := range []string{body[:len(body)/2], body[len(body)/2:]} {
		first = len(out)
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		if ext == "zst" {
			z, err := zstd.NewWriter(&b)
			require.NoError(t, err)
			w = z
		}
		_, err := io.WriteString(w, part)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		out = append(out, b.Bytes()...)
	}
	return out, first
}

// A compressed file that is cut off anywhere, but between two members, ends a load, a dry run and an offline load. Rows of the part that is
// there are whole.
func TestCutOff(t *testing.T) {
	body, whole := "id,v\n", map[string]bool{}
	for i := range 30 {
		body += fmt.Sprintf("%d,%d\n", i, i*1000)
		whole[fmt.Sprintf(":A {id: %d, v: %d}", i, i*1000)] = true
	}
	for _, ext := range []string{"gz", "zst"} {
		all, first := compressed(t, ext, body)
		for n := range len(all) {
			w := newWorld(t)
			w.file("a.csv."+ext, string(all[:n]))
			m := fmt.Sprintf(cutMapping, "a.csv."+ext)
			rep, err := w.load(m, Options{})
			if n == first {
				require.NoError(t, err)
				require.Less(t, rep.Rows, int64(30))
				continue
			}
			require.ErrorIs(t, err, text.ErrCutOff, "%s cut off at %d of %d", ext, n, len(all))
			for line := range strings.FieldsFuncSeq(w.state(), func(r rune) bool { return r == '\n' }) {
				require.True(t, whole[line], line)
			}
		}
		w := newWorld(t)
		w.file("a.csv."+ext, string(all[:len(all)-3]))
		_, err := w.plan(fmt.Sprintf(cutMapping, "a.csv."+ext))
		require.ErrorIs(t, err, text.ErrCutOff)
		require.ErrorContains(t, err, "a.csv")
	}
}

// A cut beyond what planning reads ends the runs.
func TestCutOffLate(t *testing.T) {
	body := strings.Builder{}
	body.WriteString("id,v\n")
	for i := range 130_000 {
		fmt.Fprintf(&body, "%d,%d\n", i, i)
	}
	for _, ext := range []string{"gz", "zst"} {
		all, _ := compressed(t, ext, body.String())
		w := newWorld(t)
		m := fmt.Sprintf(cutMapping, "a.csv."+ext)
		w.file("a.csv."+ext, string(all[:len(all)-3]))
		p, err := w.plan(m)
		require.NoError(t, err)
		_, err = p.DryRun(t.Context(), Options{}, nil)
		require.ErrorIs(t, err, text.ErrCutOff)
		_, err = w.load(m, Options{})
		require.ErrorIs(t, err, text.ErrCutOff)
		_, err = runOffline(t, t.Context(), t.TempDir(), 1, 64<<20, m, w.dir, Options{})
		require.ErrorIs(t, err, text.ErrCutOff)
	}
}

// A body that ends before its announced length ends the load; the next run continues, and every row counts once. HEAD may be refused.
func TestShortBody(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,v\n")
	for i := range 130_000 {
		fmt.Fprintf(&b, "%d,%d\n", i, i)
	}
	body := b.String()
	cuts := len(body) - 3
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		from := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(body)-1, len(body)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = io.WriteString(w, body[from:cuts])
	}))
	defer srv.Close()
	m := fmt.Sprintf(cutMapping, srv.URL+"/a.csv")
	w := newWorld(t)
	p, err := w.plan(m)
	require.NoError(t, err)
	_, err = p.DryRun(t.Context(), Options{}, nil)
	require.ErrorIs(t, err, text.ErrShort)
	run := func() (*Report, error) {
		p, err := w.plan(m)
		require.NoError(t, err)
		p.chunk = 20_000
		return p.Run(t.Context(), NewLocal(w.l), Options{Workers: 1})
	}
	_, err = run()
	require.ErrorIs(t, err, text.ErrShort)
	require.NotContains(t, w.state(), "id: 129999,")
	cuts = len(body)
	rep, err := run()
	require.NoError(t, err)
	require.True(t, rep.Resumed)
	state := w.state()
	require.Equal(t, 130_000, strings.Count(state, ":A {"))
	require.Contains(t, state, ":A {id: 129999, v: 129999}")
}
