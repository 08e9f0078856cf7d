package loader

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A URL is read as a file is, goes on at an offset, and shows no secret.
func TestURL(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "id,name")
	for i := range 2000 {
		fmt.Fprintf(&b, "%d,n%d\n", i, i)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte(b.String()))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	ranges := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			ranges++
		}
		switch r.URL.Path {
		case "/a.csv":
			http.ServeContent(w, r, "a.csv", time.Time{}, strings.NewReader(b.String()))
		case "/b.csv.gz":
			http.ServeContent(w, r, "b.csv.gz", time.Time{}, bytes.NewReader(zipped.Bytes()))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	text := `
version: 1
inputs:
  - path: "%s"
    vertices: [{label: A, id: id, properties: {id: {type: int}, name: {}}}]
`
	want := ""
	for _, path := range []string{"/a.csv?token=secret", "/b.csv.gz"} {
		w := newWorld(t)
		p, err := w.plan(fmt.Sprintf(text, srv.URL+path))
		require.NoError(t, err)
		require.NotEmpty(t, p.Stream)
		require.NotContains(t, p.inputs[0].name, "secret")
		p.chunk = 1000
		rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
		require.NoError(t, err)
		require.EqualValues(t, 2000, rep.Vertices)
		if want == "" {
			want = w.state()
		}
		require.Equal(t, want, w.state())
		from, err := p.inputs[0].open(500)
		require.NoError(t, err)
		got := make([]byte, 20)
		_, err = from.Read(got)
		require.NoError(t, err)
		require.Equal(t, b.String()[500:520], string(got))
		require.NoError(t, from.Close())
	}
	require.Positive(t, ranges)
	_, err = newWorld(t).plan(fmt.Sprintf(text, srv.URL+"/none.csv?token=secret"))
	require.ErrorContains(t, err, "404")
	require.NotContains(t, err.Error(), "secret")
}
