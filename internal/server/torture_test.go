package server

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// worst are requests to /v1/query that ask for too much, or are too much.
var worst = []string{
	`{"statement": "MATCH (a), (b), (c), (d), (e), (f) WHERE a.k + b.k + c.k + d.k + e.k + f.k < 0 RETURN a"}`,
	`{"statement": "MATCH p = (a)-[*1..15]->(b) RETURN p"}`,
	`{"statement": "MATCH (a), (b), (c), (d) RETURN collect([a, b, c, d])"}`,
	`{"statement": "UNWIND range(1, 100000000) AS x RETURN x ORDER BY -x"}`,
	`{"statement": "UNWIND range(1, 100000000) AS x RETURN x % 50000000, count(*)"}`,
	`{"statement": "UNWIND range(1, 100000000) AS x RETURN DISTINCT 'key ' + x"}`,
	`{"statement": "UNWIND range(1, 100000000) AS x CREATE (m:M {k: x}) RETURN m"}`,
	`{"statement": "RETURN size(reduce(s = 'x', x IN range(1, 100) | s + s))"}`,
	`{"statement": "RETURN [x IN range(1, 100000000) | x]"}`,
	`{"statement": "RETURN $p", "parameters": {"p": ` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}}`,
	`{"statement": "RETURN size($p)", "parameters": {"p": "` + strings.Repeat("x", 2<<20) + `"}}`,
	`{"statement": "RETURN ` + strings.Repeat("(", 50000) + `1` + strings.Repeat(")", 50000) + `"}`,
	strings.Repeat(`{"statement":`, 10000),
}

// TestTorture lets many clients ask for too much at one time. Each gets an answer or the right refusal, small requests beside them are
// answered, and nothing of them is left in the end.
func TestTorture(t *testing.T) {
	spill, err := exec.NewSpill(t.TempDir(), 64<<20)
	require.NoError(t, err)
	r := serveOver(t, newLocal(t), query.Options{
		Timeout: 300 * time.Millisecond, QueryBytes: 4 << 20, PoolBytes: 8 << 20, Spill: spill, Admission: admission.Limits{Running: 4, Queue: 8, Wait: 5 * time.Second},
	}, Options{MaxRequestBytes: 1 << 20})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(body string) (int, string) {
		res, err := client.Post("http://"+r.addrs.HTTP+"/v1/query", "application/json", strings.NewReader(body))
		if err != nil {
			return 0, err.Error() // the connection of a request that is too large, or of an answer, was broken off
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 8<<20))
		return res.StatusCode, string(text[:min(len(text), 300)])
	}
	for _, statement := range []string{
		"UNWIND range(1, 25) AS x CREATE (:N {k: x})", "MATCH (a:N), (b:N) WHERE a <> b CREATE (a)-[:R]->(b)",
	} {
		code, text := ask(`{"timeoutMs": 60000, "statement": "` + statement + `"}`)
		require.Equal(t, 200, code, text)
	}
	var mu sync.Mutex
	codes := map[int]int{}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			for k := range 4 {
				body := worst[(i+k*7)%len(worst)]
				code, text := ask(body)
				mu.Lock()
				codes[code]++
				switch code {
				case 0, 200, 400, 408, 413, 429:
				default:
					t.Errorf("%d for %.80s: %s", code, body, text)
				}
				mu.Unlock()
			}
		})
	}
	answered := 0
	for asked := 0; asked < 20 || answered == 0; asked++ {
		code, text := ask(`{"timeoutMs": 60000, "statement": "MATCH (n:N {k: 1}) RETURN n.k"}`)
		require.Contains(t, []int{200, 429}, code, text)
		if code == 200 {
			answered++
		}
	}
	wg.Wait()
	require.Positive(t, codes[413])
	require.Positive(t, codes[429])
	code, text := ask(`{"timeoutMs": 60000, "statement": "MATCH (n:M) RETURN count(n)"}`)
	require.Equal(t, 200, code, text)
	require.Eventually(t, func() bool { l := r.engine.Load(); return l.Running == 0 && l.Queued == 0 }, time.Minute, time.Millisecond)
	require.Equal(t, 0, r.engine.ActiveQueries())
	require.Zero(t, spill.Used())
}
