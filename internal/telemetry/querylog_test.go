package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// Lines of the query log have what a request was, took and came to, with its parameters only where they are asked for.
func TestQueryLog(t *testing.T) {
	var out bytes.Buffer
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	e := query.New(store, query.Options{})
	l := NewQueryLog(e.Watch(), &out, QueryLogOptions{Sample: 1})
	ctx, _ := access.WithRequest(context.Background(), "r1")
	run := func(statement string, params map[string]graph.Value) (lines []map[string]any) {
		t.Helper()
		out.Reset()
		res, err := e.Query(ctx, query.Request{Statement: statement, Params: params})
		if err == nil {
			for b, err := res.Next(); b != nil && err == nil; b, err = res.Next() {
			}
			res.Close()
		}
		for line := range strings.Lines(out.String()) {
			var m map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &m))
			for _, name := range []string{"time", "elapsedMs", "cpuMs", "queueMs", "id", "visits"} {
				require.Contains(t, m, name)
				delete(m, name)
			}
			lines = append(lines, m)
		}
		return lines
	}
	secret := map[string]graph.Value{"b": graph.StringValue("x"), "a": graph.IntValue(1)}
	line := map[string]any{
		"request": "r1", "caller": "", "graph": "default", "kind": "statement", "rows": 2.0, "bytes": 0.0, "outcome": "ok", "statement": "UNWIND [$a, 2] AS n RETURN n",
	}
	require.Equal(t, []map[string]any{line}, run("UNWIND [$a, 2] AS n RETURN n", secret))
	l.Set(QueryLogOptions{Sample: 1, Parameters: true})
	line["parameters"] = `{"a":1,"b":"x"}`
	require.Equal(t, []map[string]any{line}, run("UNWIND [$a, 2] AS n RETURN n", secret))
	l.Set(QueryLogOptions{})
	require.Empty(t, run("RETURN 1", nil), "no sample")
	failed := run("RETURN 1 / $a", map[string]graph.Value{"a": graph.IntValue(0)})
	require.Len(t, failed, 1, "one that fails is logged in any case")
	require.Equal(t, "Neo.ClientError.Statement.ArithmeticError", failed[0]["outcome"])
	require.Equal(t, "/ by zero", failed[0]["error"])
	l.Set(QueryLogOptions{Slow: time.Nanosecond})
	require.Len(t, run("RETURN 1", nil), 1, "so is a slow one")
	long := run("RETURN  '"+strings.Repeat("é", 20_000)+"'", nil)[0]["statement"].(string)
	require.Equal(t, 16<<10-1+len("…"), len(long), "cut before a letter") //nolint:testifylint // The text is long.
	require.NoError(t, l.Close())
	require.Empty(t, run("RETURN 1", nil))
	l = NewQueryLog(e.Watch(), &out, QueryLogOptions{Sample: 0.5})
	defer l.Close()
	some := 0
	for range 200 {
		some += len(run("RETURN 1", nil))
	}
	require.InDelta(t, 100, some, 60)
}

func TestParseQueryLog(t *testing.T) {
	o, err := ParseQueryLog("")
	require.NoError(t, err)
	require.Equal(t, QueryLogOptions{Sample: 1, Size: 100 << 20, Files: 5}, o)
	o, err = ParseQueryLog("sample=10%, slow=500ms,parameters=true,size=2MiB,files=1")
	require.NoError(t, err)
	require.Equal(t, QueryLogOptions{Sample: .1, Slow: 500 * time.Millisecond, Parameters: true, Size: 2 << 20, Files: 1}, o)
	_, err = ParseQueryLog("sample=2,slow=x,parameters=maybe,size=1,files=-1,more=1")
	require.EqualError(t, err, `sample: "2" is not a share from 0 to 1, or from 0% to 100%
slow: "x" is not a duration; write 500ms
parameters: "maybe" is not true or false
size: must be a whole number of MiB, from 1MiB
files: "-1" is not a number from 1
more: there is no such option; there are sample, slow, parameters, size and files`)
}
