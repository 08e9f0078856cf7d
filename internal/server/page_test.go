package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// paged is two servers over one store, as two gateways are.
func paged(t *testing.T) [2]*running {
	store := past.NewStore(newLogged(t), past.DefaultBytes)
	a, b := serveOver(t, store, query.Options{}, Options{}), serveOver(t, shard.Store(store), query.Options{}, Options{})
	for _, text := range []string{"CREATE CONSTRAINT FOR (n:P) REQUIRE n.k IS UNIQUE", "UNWIND range(1, 20) AS k CREATE (:P {k: k})"} {
		_, err := a.query(t.Context(), &pb.QueryRequest{Statement: text})
		require.NoError(t, err)
	}
	return [2]*running{a, b}
}

func (r *running) send(t *testing.T, path, body, accept string) (int, string, http.Header) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.addrs.HTTP+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode, string(answer), res.Trailer
}

// Each transport begins pages, and goes on with those that another server has begun.
func TestPages(t *testing.T) {
	servers := paged(t)
	const text = "MATCH (n:P) RETURN n.k AS k ORDER BY k"
	keys := func(from, to int, form string) string {
		var all []string
		for k := from; k <= to; k++ {
			all = append(all, fmt.Sprintf(form, k))
		}
		return strings.Join(all, ",")
	}
	var token string
	next := func(answer string) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(answer), &m), answer)
		token, _ = m["nextPageToken"].(string)
	}
	statement := func(size int) string {
		return fmt.Sprintf(`{"statement":%q,"pageSize":%d,"pageToken":%q}`, text, size, token)
	}
	_, answer, _ := servers[0].send(t, "/v1/query", statement(4), "application/json")
	require.Contains(t, answer, `"values":[`+keys(1, 4, "[%d]")+`]`)
	next(answer)
	_, err := servers[1].query(t.Context(), &pb.QueryRequest{Statement: "MATCH (n:P) WHERE n.k > 6 DETACH DELETE n"})
	require.NoError(t, err)

	_, answer, _ = servers[1].send(t, "/v1/query", statement(5), "application/x-ndjson")
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	require.Len(t, lines, 7)
	require.Equal(t, "[9]", lines[5])
	next(lines[6])

	stream, err := pb.NewGraphServiceClient(servers[0].conn).Query(t.Context(), &pb.QueryRequest{Statement: text, PageSize: 6, PageToken: token})
	require.NoError(t, err)
	rows := 0
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		rows += int(m.GetRows().GetRows())
		if s := m.GetSummary(); s != nil {
			token = s.GetNextPageToken()
		}
	}
	require.Equal(t, 6, rows)
	require.NotEmpty(t, token)

	_, _, trailer := servers[1].send(t, "/v1/query", statement(3), "application/vnd.apache.arrow.stream")
	next(trailer.Get("Hopgate-Summary"))
	_, answer, _ = servers[1].send(t, "/v1/query", statement(3), "application/json")
	require.Contains(t, answer, `"values":[[19],[20]]`)
	require.NotContains(t, answer, "nextPageToken")

	status, answer, _ := servers[1].send(t, "/v1/query", `{"statement":"MATCH (n) RETURN n","pageSize":3}`, "application/json")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "PageNeedsOrder")
	status, answer, _ = servers[1].send(t, "/v1/query", `{"statement":"RETURN 1","pageSize":-3}`, "application/json")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "PageSizeInvalid")

	_, answer, _ = servers[0].send(t, "/get?pageSize=2", `{"P[]":{"P":{"@order":"k"}}}`, "application/json")
	require.Contains(t, answer, `[{"k":1},{"k":2}]`)
	next(answer)
	fetch, err := pb.NewGraphServiceClient(servers[1].conn).Fetch(t.Context(), &pb.FetchRequest{Request: []byte(`{"P[]":{"P":{"@order":"k"}}}`), PageSize: 3, PageToken: token})
	require.NoError(t, err)
	var chunks strings.Builder
	for {
		m, err := fetch.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		chunks.Write(m.GetChunk())
		if m.GetCode() != 0 {
			token = m.GetNextPageToken()
		}
	}
	require.Contains(t, chunks.String(), `[{"k":3},{"k":4},{"k":5}]`)
	_, _, trailer = servers[0].send(t, "/get?pageSize=0", `{"P[]":{"P":{}}}`, "application/json")
	require.Empty(t, trailer)
	_, answer, _ = servers[0].send(t, "/get?pageSize=9&pageToken="+url.QueryEscape(token), `{"P[]":{"P":{"@order":"k"}}}`, "application/json")
	require.Contains(t, answer, `[{"k":6}]`)
	_, _, trailer = servers[0].send(t, "/get?pageSize=2", `{"P[]":{"P":{"@order":"k"}}}`, "application/vnd.apache.arrow.stream")
	require.NotEmpty(t, trailer.Get("Hopgate-Next-Page-Token"))
}

// The Query API takes and gives bookmarks as Bolt does.
func TestQueryAPIBookmarks(t *testing.T) {
	servers := paged(t)
	bookmark := func(answer string) string {
		var m struct{ Bookmarks []string }
		require.NoError(t, json.Unmarshal([]byte(answer), &m), answer)
		require.Len(t, m.Bookmarks, 1)
		return m.Bookmarks[0]
	}
	_, answer, _ := servers[0].send(t, "/db/neo4j/query/v2", `{"statement":"CREATE (:P {k: 99})"}`, "application/json")
	wrote := bookmark(answer)
	require.True(t, strings.HasPrefix(wrote, "hg1:"), wrote)
	status, answer, _ := servers[1].send(t, "/db/neo4j/query/v2", fmt.Sprintf(`{"statement":"MATCH (n:P {k: 99}) RETURN n.k","bookmarks":[%q]}`, wrote), "application/json")
	require.Equal(t, http.StatusAccepted, status)
	require.Contains(t, answer, "[99]")
	for _, path := range []string{"/db/neo4j/query/v2", "/db/neo4j/query/v2/tx"} {
		for _, bad := range []string{"x", wrote[:len(wrote)-2] + "xx"} {
			status, answer, _ = servers[1].send(t, path, fmt.Sprintf(`{"statement":"RETURN 1","bookmarks":[%q]}`, bad), "application/json")
			require.Equal(t, http.StatusBadRequest, status)
			require.Contains(t, answer, "InvalidBookmark")
		}
	}
	_, answer, _ = servers[0].send(t, "/db/neo4j/query/v2/tx", fmt.Sprintf(`{"statement":"CREATE (:P {k: 100})","bookmarks":[%q]}`, wrote), "application/json")
	var begun struct{ Transaction struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(answer), &begun))
	_, answer, _ = servers[0].send(t, "/db/neo4j/query/v2/tx/"+begun.Transaction.ID+"/commit", ``, "application/json")
	require.NotEqual(t, wrote, bookmark(answer))
}
