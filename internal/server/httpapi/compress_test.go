package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

func TestAcceptEncoding(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "zstd;q=0.5, gzip": "gzip", "br": "", "*": "gzip",
		"gzip;q=0": "", "GZIP ; q=1.0": "gzip", "gzip;q=x": "", "identity": "", "x-gzip": "gzip", "deflate, gzip;q=0.8, zstd;q=0.8": "zstd",
	} {
		require.Equal(t, want, acceptEncoding([]string{header}), header)
	}
}

func decompressed(t *testing.T, res *http.Response) string {
	var r io.Reader = res.Body
	switch res.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(r)
		require.NoError(t, err)
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		require.NoError(t, err)
		defer z.Close()
		r = z
	}
	var b bytes.Buffer
	_, err := b.ReadFrom(r)
	require.NoError(t, err)
	return b.String()
}

// A compressed answer equals the plain one; a short one stays plain.
func TestCompressed(t *testing.T) {
	srv := httptest.NewServer(newHTTP(newOracle(t), query.Options{}, Options{}))
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	send := func(path, body, accept, encoding string) *http.Response {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, srv.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		r.Header.Set("Accept-Encoding", encoding)
		r.Header.Set("Content-Type", "application/json")
		res, err := client.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	send("/v1/query", `{"statement": "UNWIND range(1, 20000) AS i CREATE (:User {id: i, name: 'name ' + i})"}`, "", "identity")
	for _, q := range []struct{ path, body, accept string }{
		{"/get", `{"User[]": {"count": 0, "User": {"@column": "id,name"}}}`, ""},
		{"/v1/query", `{"statement": "MATCH (u:User) RETURN u.id, u.name"}`, ""},
		{"/v1/query", `{"statement": "MATCH (u:User) RETURN u.id, u.name"}`, mediaLines},
	} {
		plain := send(q.path, q.body, q.accept, "identity")
		require.Empty(t, plain.Header.Get("Content-Encoding"))
		want := took.ReplaceAllString(decompressed(t, plain), "")
		require.Greater(t, len(want), 100_000)
		for _, encoding := range []string{"gzip", "zstd"} {
			res := send(q.path, q.body, q.accept, encoding)
			require.Equal(t, encoding, res.Header.Get("Content-Encoding"))
			require.Equal(t, []string{"Accept-Encoding"}, res.Header.Values("Vary"))
			require.Equal(t, want, took.ReplaceAllString(decompressed(t, res), ""))
		}
	}
	res := send("/get", `{"User": {"id": 1}}`, "", "gzip, zstd")
	require.Empty(t, res.Header.Get("Content-Encoding"))
	require.Contains(t, decompressed(t, res), `"name 1"`)
	res = send("/v1/query", `{"statement": "nonsense"}`, "", "gzip")
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	require.Contains(t, decompressed(t, res), "errors")
}

// An answer that breaks off does not look like a whole one.
func TestCompressedAbort(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		compressed(w, r, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("0123456789"), 10_000))
			panic(http.ErrAbortHandler)
		})
	}))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		return // not even the header went out
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.Error(t, err)
}
