package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newOracle returns an oracle of two shards with the default graph.
func newOracle(t testing.TB) shard.Store {
	store := oracle.New(2)
	require.NoError(t, store.CreateGraph(context.Background(), query.DefaultGraph))
	return store
}

// newLocal returns a store on disk, of two shards.
func newLocal(t testing.TB) shard.Store {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// newHTTP returns the handler of an engine; host may have settings that all transports share.
func newHTTP(store shard.Store, qopt query.Options, opt Options, host ...request.Host) *Handler {
	h := append(host, request.Host{})[0]
	h.Engine, h.Log = query.New(store, qopt), slog.New(slog.DiscardHandler)
	return New(&h, opt)
}

// newRequest returns a request of a client that is not a web page.
func newRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost:8080"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do sends a request in wire format: a line with method and path, header lines, an empty line, the body.
func do(t testing.TB, h http.Handler, text string) *http.Response {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	r := newRequest(method, path, body)
	for _, l := range lines[1:] {
		name, value, ok := strings.Cut(l, ":")
		require.True(t, ok, "header %q", l)
		value = strings.TrimSpace(value)
		switch name {
		case "Host":
			r.Host = value
		case "Content-Type": // "" is none
			r.Header.Set(name, value)
		default:
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// short removes varying and redundant parts from an answer: times, ids, counters that are 0 and repeated lines.
func short(body string) string {
	body = marks.ReplaceAllString(body, "hg1:…")
	body = took.ReplaceAllString(body, `"$1":0`)
	body = metered.ReplaceAllString(body, "")
	body = zeros.ReplaceAllString(body, "")
	seen := map[string]int{}
	body = elementID.ReplaceAllStringFunc(body, func(id string) string {
		if seen[id] == 0 {
			seen[id] = len(seen) + 1
		}
		return fmt.Sprintf(`"%c#%d"`, id[1], seen[id])
	})
	lines := strings.Split(strings.TrimRight(body, "\n"), "\n")
	var b strings.Builder
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		b.WriteString(lines[i])
		if n > 1 {
			fmt.Fprintf(&b, " … %d times", n)
		}
		b.WriteByte('\n')
		i += n
	}
	return b.String()
}

var zeros = regexp.MustCompile(`,"(nodes|relationships|properties|labels|indexes|constraints)[A-Z][a-z]+":0`)

// elementID is an opaque id, which is only compared.
var elementID = regexp.MustCompile(`"[ve][0-9a-f]+:[0-9a-f:]+"`)

var took = regexp.MustCompile(`"(time|timeUs)":[0-9.]+`)

// metered is what only a store that decodes blocks counts.
var metered = regexp.MustCompile(`,"cacheHits":\d+,"cacheMisses":\d+,"largeValues":\d+`)

// Scripts in testdata/http: requests and answers, one server a file, over an oracle and over a store on disk.
func TestHTTP(t *testing.T) {
	for name, open := range map[string]func(testing.TB) shard.Store{"oracle": newOracle, "local": newLocal} {
		t.Run(name, func(t *testing.T) { runScripts(t, "testdata/http", open) })
	}
	t.Run("own", func(t *testing.T) { runScripts(t, "testdata/local", newLocal) }) // messages that the oracle words otherwise
}

func runScripts(t *testing.T, dir string, open func(testing.TB) shard.Store) {
	web, err := access.NewWeb("https://app.example.com", "graphs.example.com, *.inner.example.com")
	require.NoError(t, err)
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		h := newHTTP(open(t), query.Options{MaxRows: 5000}, Options{TestProcedures: true}, request.Host{MaxRequestBytes: 4096, Web: web})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			input := d.Input
			if d.HasArg("body-bytes") {
				var n int
				d.ScanArgs(t, "body-bytes", &n)
				input += "\n\n" + strings.Repeat(" ", n)
			}
			res := do(t, h, input)
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			out := fmt.Sprintf("%d %s\n", res.StatusCode, res.Header.Get("Content-Type"))
			for _, name := range []string{"Allow", "Retry-After", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"} {
				if v := res.Header.Get(name); v != "" {
					out += name + ": " + v + "\n"
				}
			}
			return out + short(string(body))
		})
	})
}
