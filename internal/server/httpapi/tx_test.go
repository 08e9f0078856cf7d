package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard"
)

var (
	txID    = regexp.MustCompile(`(?:"transaction":\{"id":"|/db/\w+/tx/)([A-Z2-7]+)`)
	numbers = regexp.MustCompile(`"(id|startNode|endNode)":("\d+"|\d+)([,}])`)
	marks   = regexp.MustCompile(`hg1:default:\d+(-[\w-]+)?`)
	expires = regexp.MustCompile(`"expires":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT)"`)
)

// Scripts in testdata/tx: as TestHTTP, with {tx} for the id of the transaction that was begun last.
func TestHTTPTransactions(t *testing.T) {
	for name, open := range map[string]func(testing.TB) shard.Store{"oracle": newOracle, "local": newLocal} {
		t.Run(name, func(t *testing.T) {
			datadriven.Walk(t, "testdata/tx", func(t *testing.T, path string) {
				h := newHTTP(open(t), query.Options{MaxRows: 5000}, Options{})
				defer h.txs.close()
				id := "none"
				datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
					res := do(t, h, strings.ReplaceAll(d.Input, "{tx}", id))
					defer res.Body.Close()
					body, err := io.ReadAll(res.Body)
					require.NoError(t, err)
					if m := txID.FindSubmatch(body); m != nil {
						id = string(m[1])
					}
					out := strings.ReplaceAll(expires.ReplaceAllString(numbers.ReplaceAllString(short(string(body)), `"$1":"…"$3`), `"expires":"…"`), id, "{tx}")
					if allow := res.Header.Get("Allow"); allow != "" {
						out = "Allow: " + allow + "\n" + out
					}
					return fmt.Sprintf("%d %s\n", res.StatusCode, res.Header.Get("Content-Type")) + out
				})
			})
		})
	}
}

// txAnswer is an answer of the Query API.
type txAnswer struct {
	status int
	Data   struct {
		Fields []string            `json:"fields"`
		Values [][]json.RawMessage `json:"values"`
	} `json:"data"`
	Transaction struct {
		ID      string    `json:"id"`
		Expires time.Time `json:"expires"`
	} `json:"transaction"`
	Errors []struct{ Code, Message string } `json:"errors"`
}

// code is the status code of an answer's error, "" for none.
func (a *txAnswer) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	return a.Errors[0].Code
}

// post sends a request of the Query API to a handler.
func post(t testing.TB, h http.Handler, method, path, body string) *txAnswer {
	res := do(t, h, method+" "+path+"\nContent-Type: application/json\n\n"+body)
	defer res.Body.Close()
	a := &txAnswer{status: res.StatusCode}
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, a), "%s", data)
	return a
}

// An idle transaction is rolled back without a request, and each use puts that off.
func TestHTTPTransactionIdle(t *testing.T) {
	h := newHTTP(newLocal(t), query.Options{}, Options{}, request.Host{TxIdle: 50 * time.Millisecond})
	a := post(t, h, "POST", "/db/neo4j/query/v2/tx", `{"statement": "CREATE (:A)"}`)
	require.Equal(t, 202, a.status)
	require.WithinDuration(t, time.Now(), a.Transaction.Expires, time.Minute)
	require.Eventually(t, func() bool { return len(h.e.Running(context.Background())) == 0 }, time.Minute, time.Millisecond)
	b := post(t, h, "POST", "/db/neo4j/query/v2/tx/"+a.Transaction.ID, `{"statement": "RETURN 1"}`)
	require.Equal(t, 404, b.status)
	require.Equal(t, "Neo.ClientError.Transaction.TransactionNotFound", b.code())
	b = post(t, h, "POST", "/db/neo4j/query/v2", `{"statement": "MATCH (n) RETURN count(n)"}`)
	require.Equal(t, "0", string(b.Data.Values[0][0]))
	require.Empty(t, h.txs.byID)

	h = newHTTP(newOracle(t), query.Options{}, Options{}, request.Host{TxIdle: time.Hour})
	defer h.txs.close()
	a = post(t, h, "POST", "/db/neo4j/query/v2/tx", "")
	for range 3 {
		time.Sleep(2 * time.Millisecond) // times are in milliseconds
		b = post(t, h, "POST", "/db/neo4j/query/v2/tx/"+a.Transaction.ID, "")
		require.Equal(t, a.Transaction.ID, b.Transaction.ID)
		require.True(t, b.Transaction.Expires.After(a.Transaction.Expires))
		a = b
	}
}

// slow is a statement that runs until it is ended.
const slow = "UNWIND range(1, 1000) AS a UNWIND range(1, 1000) AS b UNWIND range(1, 1000) AS c UNWIND range(1, 1000) AS d RETURN count(*)"

// A transaction's own time ends it, whatever runs in it.
func TestHTTPTransactionTimeout(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	a := post(t, h, "POST", "/db/neo4j/query/v2/tx", `{"timeoutMs": 30}`)
	require.Less(t, time.Until(a.Transaction.Expires), time.Second)
	b := post(t, h, "POST", "/db/neo4j/query/v2/tx/"+a.Transaction.ID, `{"statement": "`+slow+`"}`)
	require.Contains(t, []int{404, 408}, b.status)
	require.Eventually(t, func() bool { return len(h.e.Running(context.Background())) == 0 }, time.Minute, time.Millisecond)
	require.Empty(t, h.txs.byID)
}

// A transaction serves one request at a time.
func TestHTTPTransactionConcurrent(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	defer h.txs.close()
	path := "/db/neo4j/query/v2/tx/" + post(t, h, "POST", "/db/neo4j/query/v2/tx", "").Transaction.ID
	first := make(chan *txAnswer, 1)
	go func() { first <- post(t, h, "POST", path, `{"statement": "`+slow+`"}`) }()
	require.Eventually(t, func() bool { return h.e.ActiveQueries() == 1 }, time.Minute, time.Millisecond)
	b := post(t, h, "POST", path, `{"statement": "RETURN 1"}`)
	require.Equal(t, 400, b.status)
	require.Equal(t, "Neo.ClientError.Transaction.TransactionAccessedConcurrently", b.code())
	require.Equal(t, 200, post(t, h, "DELETE", path, "").status) // ends what runs
	require.Equal(t, "Neo.ClientError.Transaction.Terminated", (<-first).code())
	require.Equal(t, 404, post(t, h, "DELETE", path, "").status)
}
