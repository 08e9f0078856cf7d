package server

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// Each answer tells its snapshot, also that of a write, and a read that brings the token sees the write. A token that the graph does not have is
// refused: one that was changed, one of another graph and one of commits to come.
func TestSnapshotTokens(t *testing.T) {
	store := newLogged(t)
	r := serveOver(t, store, query.Options{}, Options{})
	post := func(path, body, token string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addrs.HTTP+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Hopgate-Snapshot", token)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		answer, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res, string(answer)
	}
	tokenOf := func(res *http.Response) string {
		if v := res.Header.Get("Hopgate-Snapshot"); v != "" {
			return v
		}
		return res.Trailer.Get("Hopgate-Snapshot")
	}
	ok := func(path, body, token string) string {
		res, answer := post(path, body, token)
		require.Equal(t, http.StatusOK, res.StatusCode, answer)
		require.NotEmpty(t, tokenOf(res), path)
		return tokenOf(res)
	}
	first := ok("/v1/query", `{"statement":"RETURN 1"}`, "")
	wrote := ok("/v1/query", `{"statement":"CREATE (:P {id: 1})"}`, first)
	require.NotEqual(t, first, wrote)
	require.Equal(t, wrote, ok("/v1/query", `{"statement":"MATCH (n) RETURN n"}`, wrote))
	require.Equal(t, wrote, ok("/get", `{"P":{"id":1}}`, wrote))

	_, answer := post("/v1/query", `{"statement":"RETURN 1"}`, wrote[:len(wrote)-1]+"x")
	require.Contains(t, answer, "TokenMalformed")
	ok("/v1/query", `{"statement":"CREATE DATABASE other"}`, "")
	res, answer := post("/v1/query", `{"graph":"other","statement":"CREATE (:P)"}`, "")
	require.Equal(t, http.StatusOK, res.StatusCode, answer)
	_, answer = post("/v1/query", `{"statement":"RETURN 1"}`, tokenOf(res))
	require.Contains(t, answer, "TokenOfOtherGraph")
}

// newLogged returns a store on disk that keeps commits.
func newLogged(t testing.TB) shard.Store {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, LogBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
