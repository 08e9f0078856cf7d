package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// statement returns the body of a request to /v1/query. A number that differs from request to request replaces %d, so that the statements
// differ.
func statement(text string) string { return `{"statement": "` + text + `"}` }

// request is one that demands or contains too much.
type request struct {
	name, path, body string
	item             string // repeated in the empty list of the body, up to manyBytes
}

// manyBytes is less than a request may have.
const manyBytes = 57 << 20

// content returns the body of a request and its size, without holding a long list in memory.
func (r *request) content(n int) (io.Reader, int) {
	body := fmt.Sprintf(r.body, n)
	if r.item == "" {
		return strings.NewReader(body), len(body)
	}
	before, after, _ := strings.Cut(body, "[]")
	piece := strings.Repeat(r.item+",", (64<<10)/len(r.item))
	parts := []io.Reader{strings.NewReader(before + "[")}
	size := len(before) + len(r.item) + len(after) + 2
	for range manyBytes / len(piece) {
		parts = append(parts, strings.NewReader(piece))
		size += len(piece)
	}
	parts = append(parts, strings.NewReader(r.item+"]"+after))
	return io.MultiReader(parts...), size
}

// worst are such requests.
var worst = []request{
	{name: "product", path: "/v1/query", body: statement("MATCH (a:Person), (b:Person), (c:Person) WHERE a.age + b.age + c.age = -%d RETURN a")},
	{name: "product all", path: "/v1/query", body: statement("MATCH (a:Person), (b:Person) RETURN a, b SKIP %d")},
	{name: "paths", path: "/v1/query", body: statement("MATCH p = (a:Dense)-[:LINKED*1..15]->(b) WHERE a.id <> %d RETURN p")},
	{name: "count paths", path: "/v1/query", body: statement("MATCH p = (a:Dense)-[:LINKED*1..15]->(b) WHERE all(n IN nodes(p) WHERE n.id <> %d) RETURN count(p)")},
	{name: "collect", path: "/v1/query", body: statement("MATCH (a:Person), (b:Dense) WHERE b.id <> %d RETURN collect([a, b])")},
	{name: "collect text", path: "/v1/query", body: statement("MATCH (a:Person) UNWIND range(1, 1%d) AS i RETURN collect(a.about + i)")},
	{name: "sort", path: "/v1/query", body: statement("MATCH (a:Person), (b:Dense) WHERE b.id <> %d RETURN a.name, b.id ORDER BY a.about, b.id DESC")},
	{name: "distinct", path: "/v1/query", body: statement("MATCH (a:Person), (b:Dense) RETURN count(DISTINCT a.name + b.id + '%d')")},
	{name: "groups", path: "/v1/query", body: statement("UNWIND range(1, 100000000) AS x RETURN x %% 50000000, count(*), %d")},
	{name: "range", path: "/v1/query", body: statement("UNWIND range(1, 1000000000%d) AS x RETURN sum(x)")},
	{name: "range rows", path: "/v1/query", body: statement("UNWIND range(1, 1000000000) AS x RETURN x + %d")},
	{name: "range list", path: "/v1/query", body: statement("RETURN size([x IN range(1, 100000000) | x + %d])")},
	{name: "doubled text", path: "/v1/query", body: statement("RETURN size(reduce(s = 'x%d', x IN range(1, 100) | s + s))")},
	{name: "regex", path: "/v1/query", body: statement("WITH reduce(s = 'a', x IN range(1, 20) | s + s) AS s UNWIND range(1, 1000) AS x WITH s + x AS s WHERE s =~ '(a|b)*(a|c)*(a|d)*e%d' RETURN s")},
	{name: "deep parameter", path: "/v1/query", body: `{"statement": "RETURN size($p) + %d", "parameters": {"p": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`},
	{name: "deep JSON", path: "/v1/query", body: strings.Repeat(`{"statement":`, 100_000) + "%d"},
	{name: "deep statement", path: "/v1/query", body: statement("RETURN " + strings.Repeat("(", 100_000) + "%d" + strings.Repeat(")", 100_000))},
	{name: "large parameter", path: "/v1/query", body: `{"statement": "UNWIND $p AS x RETURN count(DISTINCT x) + %d", "parameters": {"p": [` + strings.Repeat("12345, ", 1<<20) + `1]}}`},
	{name: "large literal", path: "/v1/query", body: statement("RETURN size([" + strings.Repeat("12345, ", 1<<18) + "%d])")},
	{name: "large request", path: "/v1/query", body: statement("RETURN size('" + strings.Repeat("x", 15<<20) + "%d')")},
	{name: "many rows", path: "/v1/query", body: statement("UNWIND range(1, 100000000) AS x CREATE (m:M {k: x, v: %d}) RETURN m")},
	{name: "fetch", path: "/get", body: `{"Person[]": {"count": 100000, "Person": {"@order": "about-,name+", "id>": %d}}, "Dense[]": {"count": 100000, "Dense": {}}}`},
	{name: "deep fetch", path: "/get", body: strings.Repeat(`{"a":`, 5000) + "%d" + strings.Repeat("}", 5000)},
	{name: "many numbers", path: "/v1/query", body: `{"statement": "RETURN size($p) + %d", "parameters": {"p": []}}`, item: "1"},
	{name: "many lists", path: "/v1/query", body: `{"statement": "RETURN size($p) + %d", "parameters": {"p": []}}`, item: "[]"},
	{name: "many objects", path: "/db/default/query/v2", body: `{"statement": "RETURN size($p) + %d", "parameters": {"p": []}}`, item: `{"a":{}}`},
}

// crowd is the set of clients that send the worst requests.
type crowd struct {
	http    string
	clients int
	only    int // index in worst, or -1
	client  *http.Client
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu       sync.Mutex
	outcomes map[string]map[string]int // by request name
}

func newCrowd(address string, o *options) (*crowd, error) {
	c := &crowd{
		http: address, clients: o.clients, only: -1, outcomes: map[string]map[string]int{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.clients}},
	}
	for i := range worst {
		if worst[i].name == o.only {
			c.only = i
		}
	}
	if o.only != "" && c.only < 0 {
		return nil, errors.New("there is no " + o.only)
	}
	return c, nil
}

// start makes all clients send requests continuously.
func (c *crowd) start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	for i := range c.clients {
		c.wg.Go(func() {
			for n := i; ctx.Err() == nil; n += 7 { // all kinds run at any time
				w := worst[n%len(worst)]
				if c.only >= 0 {
					w = worst[c.only]
				}
				body, size := w.content(n % 100)
				outcome := c.send(ctx, w.path, body, size)
				c.mu.Lock()
				if c.outcomes[w.name] == nil {
					c.outcomes[w.name] = map[string]int{}
				}
				c.outcomes[w.name][outcome]++
				c.mu.Unlock()
				if strings.HasPrefix(outcome, "429") {
					select { // Retry-After, in part
					case <-ctx.Done():
					case <-time.After(100 * time.Millisecond):
					}
				}
			}
		})
	}
}

func (c *crowd) stop() {
	c.cancel()
	c.wg.Wait()
	c.client.CloseIdleConnections()
}

// Outcomes without a status of the server.
const (
	leftAlone = "the client went away"
	brokenOff = "the connection was broken off"
)

// failure finds the error at the end of a response.
var failure = regexp.MustCompile(`"errors":\[\{"code":"([^"]*)"`)

// send sends a request and returns its outcome.
func (c *crowd) send(ctx context.Context, path string, body io.Reader, size int) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.http+path, body)
	if err != nil {
		return err.Error()
	}
	req.ContentLength = int64(size)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.client.Do(req)
	if err != nil {
		return c.broken(ctx, err)
	}
	defer res.Body.Close()
	end, err := lastPart(res.Body)
	if err != nil {
		return c.broken(ctx, err)
	}
	var answer struct{ Code int }
	if path == "/get" && json.Unmarshal(end, &answer) == nil {
		return fmt.Sprintf("%d code %d", res.StatusCode, answer.Code)
	}
	if m := failure.FindSubmatch(end); m != nil {
		return fmt.Sprintf("%d %s", res.StatusCode, m[1])
	}
	return strconv.Itoa(res.StatusCode)
}

func (c *crowd) broken(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return leftAlone
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "broken pipe") || strings.Contains(err.Error(), "connection reset") {
		return brokenOff
	}
	return err.Error()
}

// lastPart reads everything and returns the end.
func lastPart(r io.Reader) ([]byte, error) {
	const most = 64 << 10
	var end []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		end = append(end, buf[:n]...)
		if len(end) > most {
			end = append(end[:0], end[len(end)-most/2:]...)
		}
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// right are prefixes of correct outcomes of excessive requests.
var right = []string{
	leftAlone, brokenOff, "200", "400 Neo.ClientError.Request.Invalid", "400 Neo.ClientError.Statement.", "408 Neo.ClientError.Transaction.TransactionTimedOut",
	"413 Neo.TransientError.General.", "413 Neo.ClientError.", "429 Neo.TransientError.Request.NoThreadsAvailable",
}

// allowed reports whether an outcome is correct.
func allowed(outcome string) bool {
	for _, r := range right {
		if strings.HasPrefix(outcome, r) {
			return true
		}
	}
	return false
}
