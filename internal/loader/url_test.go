package loader

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// A URL is read like a file, resumes at an offset, and hides its secrets.
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
	ranges, gone := 0, false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			ranges++
		}
		switch r.URL.Path {
		case "/a.csv":
			if gone && r.Header.Get("Range") != "" {
				http.Error(w, "it is gone", http.StatusGone)
				return
			}
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
		require.NotContains(t, p.inputs[0].Name, "secret")
		p.chunk = 1000
		rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
		require.NoError(t, err)
		require.EqualValues(t, 2000, rep.Vertices)
		if want == "" {
			want = w.state()
		}
		require.Equal(t, want, w.state())
		from, err := p.inputs[0].Open(t.Context(), 500)
		require.NoError(t, err)
		got := make([]byte, 20)
		_, err = from.Read(got)
		require.NoError(t, err)
		require.Equal(t, b.String()[500:520], string(got))
		require.NoError(t, from.Close())
		if path != "/b.csv.gz" {
			gone = true
			_, err = p.inputs[0].Open(t.Context(), 500)
			require.ErrorContains(t, err, "410")
			gone = false
		}
	}
	require.Positive(t, ranges)
	_, err = newWorld(t).plan(fmt.Sprintf(text, srv.URL+"/none.csv?token=secret"))
	require.ErrorContains(t, err, "404")
	require.NotContains(t, err.Error(), "secret")
}

// A server that stops answering does not block a cancelled load, during planning or during the run.
func TestURLCancelled(t *testing.T) {
	body := "id,name\n" + strings.Repeat("1,n\n", 100)
	for _, hangs := range []string{"GET", "body"} {
		t.Run(hangs, func(t *testing.T) {
			hung, gets := make(chan struct{}), 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					gets++
				}
				hang := r.Method == hangs
				if r.Method == http.MethodGet && hangs == "body" && gets > 3 { // the first three plan the load
					_, err := w.Write([]byte(body))
					if err == nil {
						err = http.NewResponseController(w).Flush()
					}
					if err != nil {
						t.Error(err)
					}
					hang = true
				}
				if hang {
					close(hung)
					<-r.Context().Done()
					return
				}
				http.ServeContent(w, r, "a.csv", time.Time{}, strings.NewReader(body))
			}))
			defer srv.Close()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-hung; cancel() }()
			w := newWorld(t)
			m, err := mapping.Parse("m.yaml", fmt.Appendf(nil, `
version: 1
inputs:
  - path: "%s/a.csv"
    vertices: [{label: A, id: id, properties: {id: {type: int}, name: {}}}]
`, srv.URL))
			require.NoError(t, err)
			p, err := NewPlan(ctx, m, "", nil)
			if hangs == "body" {
				require.NoError(t, err)
				_, err = p.Run(ctx, NewLocal(w.l), Options{})
			}
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}
