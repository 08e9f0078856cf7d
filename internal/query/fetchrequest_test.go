package query

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

// Fetches obey the rules of requests of their graph from the moment when an admin has put them, and only an admin may.
func TestFetchRequests(t *testing.T) {
	var log bytes.Buffer
	overStores(t, Options{Audit: access.NewAudit(&log)}, func(t *testing.T, e *Engine) {
		fetch := func(method, body string) string {
			var out bytes.Buffer
			_, err := e.Fetch(context.Background(), FetchRequest{Method: method, Body: []byte(body)}, &out)
			require.NoError(t, err)
			return out.String()
		}
		must(t, e, "CREATE CONSTRAINT FOR (m:Moment) REQUIRE m.id IS UNIQUE")
		must(t, e, "CREATE (:Moment {id: 1, content: 'a', views: 9})")
		require.Contains(t, fetch("gets", `{"Moment": {"id": 1}}`), `"content":"a"`)
		must(t, e, `CALL db.fetch.putRequest('POST', 'Moment', 1, '{"MUST": "content", "REFUSE": "!", "INSERT": {"id": 2, "views": 0}}')`)
		must(t, e, `UNWIND ['put', 'delete'] AS method CALL db.fetch.putRequest(method, 'Moment', 1, '{"MUST": "id", "UPDATE": {"@role": "UNKNOWN"}}')`)
		must(t, e, `CALL db.fetch.putRequest('gets', 'one', 1, '{"Moment": {"UPDATE": {"@column": "id,views"}}}')`)
		for _, c := range []struct{ method, body, want string }{
			{"post", `{"Moment": {"content": "b"}}`, `"code":406`},
			{"post", `{"tag": "Moment", "Moment": {"content": "b", "views": 7}}`, `"code":406,"msg":"\"Moment/views\": may not be there"`},
			{"post", `{"tag": "Moment", "Moment": {"content": "b"}}`, `"count":1,"id":2`},
			{"get", `{"Moment": {"id": 2}}`, `"views":0`},
			{"put", `{"tag": "Moment", "Moment": {"id": 2, "content": "c"}}`, `"count":1,"id":2`},
			{"put", `{"tag": "Moment", "Moment": {"id{}": [1, 2], "content": "c"}}`, `"code":406,"msg":"\"Moment\": needs \"id\""`},
			{"gets", `{"tag": "one", "Moment": {"id": 2}}`, `{"Moment":{"id":2,"views":0},"ok":true`},
			{"gets", `{"tag": "other", "Moment": {"id": 2}}`, `"code":403`},
			{"heads", `{"Moment": {"id": 2}}`, `"code":406`},
			{"delete", `{"tag": "Moment", "Moment": {"id": 2}}`, `"count":1,"id":2`},
			{"head", `{"Moment": {}}`, `"count":1`},
		} {
			require.Contains(t, fetch(c.method, c.body), c.want, "%s %s", c.method, c.body)
		}
		require.Equal(t, []string{"['delete', 'Moment']", "['gets', 'one']", "['post', 'Moment']", "['put', 'Moment']"},
			must(t, e, "CALL db.fetch.requests() YIELD method, tag RETURN method, tag ORDER BY method"))

		put := "CALL db.fetch.putRequest('heads', 'Moment', 1, '{}')"
		log.Reset()
		for _, statement := range []string{put, "CALL db.fetch.dropRequest('gets', 'one', 1)", "CALL db.fetch.requests()"} {
			_, err := rowsOf(e.Query(as("ann"), Request{Statement: statement}))
			require.Equal(t, graph.KindDenied, graph.AsError(err).Kind, statement)
		}
		require.Contains(t, log.String(), `"action":"rules","graph":"default","what":"CALL db.fetch.putRequest`)
		_, err := rowsOf(e.Query(context.Background(), Request{Statement: put, ReadOnly: true}))
		require.ErrorContains(t, err, "in a request that may write")
		_, err = rowsOf(e.Query(context.Background(), Request{Statement: "CREATE (n) WITH 1 AS x " + put + " RETURN x"}))
		require.ErrorContains(t, err, "changes nothing else")
		tx, err := e.Begin(context.Background(), TxOptions{})
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = rowsOf(tx.Run(context.Background(), Request{Statement: put}))
		require.ErrorContains(t, err, "outside transactions")
		_, err = rowsOf(e.Query(context.Background(), Request{Statement: "CALL db.fetch.putRequest('post', 'Moment', 1, '{\"VERIFY\": 1}')"}))
		require.ErrorContains(t, err, "VERIFY")
		require.Len(t, must(t, e, "CALL db.fetch.requests()"), 4)

		must(t, e, "CALL db.fetch.requests() YIELD method, tag, version CALL db.fetch.dropRequest(method, tag, version) RETURN count(*)")
		require.Contains(t, fetch("gets", `{"Moment": {"id": 1}}`), `"content":"a"`)
	})
}
