// Package grpc_test runs the example programs that decode answers of gRPC, and those that read them as Arrow over HTTP and Flight.
package grpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// programs are the examples: the files that .ci/examples prepares, and how they run.
var programs = map[string]struct {
	prepared string
	command  []string
	http     bool
}{
	"go":         {"go/main.go", []string{"go", "run", "./go"}, false},
	"python":     {"python/.venv/bin/python", []string{"python/.venv/bin/python", "python/query.py"}, false},
	"arrow":      {"../arrow/.venv/bin/python", []string{"../arrow/.venv/bin/python", "../arrow/query.py"}, true},
	"flight":     {"../arrow/.venv/bin/python", []string{"../arrow/.venv/bin/python", "../arrow/flight.py"}, false},
	"adbc":       {"../arrow/.venv/bin/python", []string{"../arrow/.venv/bin/python", "../arrow/adbc.py"}, false},
	"javascript": {"javascript/node_modules", []string{"node", "javascript/query.js", "../../api/proto"}, false},
	"java":       {"java/target/lib", []string{"java", "-cp", "java/target/classes:java/target/lib/*", "Query"}, false},
}

// statements give every kind of column and of value, and values at the edges of a column.
var statements = []string{
	`UNWIND [0, -1, 9007199254740993, -9223372036854775808, 9223372036854775807] AS x RETURN x, x / 2 AS half`,
	`UNWIND [0.5, -1e308, 5e-324] AS x RETURN x`,
	`UNWIND ['', 'ä€😀', 'x', ''] AS s RETURN s, s + '!' AS more`,
	`UNWIND [null, true, false, 0, 1.5, '', 'ä', [], {}, [1, [null, 'x']], {a: 1, b: {c: [2.5]}}] AS x RETURN x, 1 AS one`,
	`RETURN date('2026-01-02') AS d, localtime('03:04:05.000000006') AS lt, time('03:04+01:00') AS t, localdatetime('2026-01-02T03:04') AS ldt,
	 datetime('2026-01-02T03:04:05Z') AS dt, duration('P1Y2M3DT4.5S') AS du`,
	`UNWIND [point({x: 1, y: 2.5}), point({longitude: 12.5, latitude: 55.7, height: 3})] AS p RETURN p`,
	`RETURN vector([1, -128], 2, INT8) AS i8, vector([1, -300], 2, INT16) AS i16, vector([1, -70000], 2, INT32) AS i32,
	 vector([1, -9007199254740993], 2, INT64) AS i64, vector([0.5, -2], 2, FLOAT32) AS f32, vector([0.1, -1e300], 2, FLOAT64) AS f64`,
	`MATCH p = (a:A {name: 'Ann'})-[r:R*]->(z) RETURN a, p, r, z ORDER BY length(p)`,
	`MATCH (n) RETURN n ORDER BY n.name`,
	`MATCH ()-[r]->() RETURN r ORDER BY r.since`,
	`MATCH p = (:B) RETURN p`,
	`UNWIND range(1, 20000) AS x RETURN x, toString(x) AS s, CASE x % 5000 WHEN 0 THEN null ELSE x END AS sometimes`,
	`CREATE (n:Nothing) DELETE n`,
}

// Every program decodes every answer to what the HTTP API answers in plain JSON.
func TestPrograms(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	s := server.New(query.New(store, query.Options{}), loader.New(store), nil, prometheus.NewRegistry(), server.Options{Logger: slog.New(slog.DiscardHandler)})
	addrs, err := s.Listen(t.Context(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", "admin": "127.0.0.1:0"})
	require.NoError(t, err)
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.Drain(ctx)
	}()
	overHTTP(t, addrs["http"], `CREATE (:A {name: 'Ann', tags: ['x', 'y']})-[:R {since: 1}]->(:A:B {name: 'Bob', born: date('2000-01-02')})-[:R {since: 2, weight: 0.5}]->({name: 'Zoe'})`)
	wants := make([][]any, len(statements))
	for i, statement := range statements {
		wants[i] = overHTTP(t, addrs["http"], statement)
	}
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.FromSlash(p.prepared)); err != nil {
				t.Skip("not prepared, see .ci/examples")
			}
			address := addrs["grpc"]
			if p.http {
				address = addrs["http"]
			}
			for i, statement := range statements {
				cmd := exec.CommandContext(t.Context(), p.command[0], append(p.command[1:len(p.command):len(p.command)], address, statement)...)
				cmd.Env = append(os.Environ(), "PYTHONPATH=../../api/proto")
				var errs bytes.Buffer
				cmd.Stderr = &errs
				out, err := cmd.Output()
				require.NoError(t, err, "%s\n%s", statement, &errs)
				require.Equal(t, wants[i], rows(t, out), statement)
			}
		})
	}
}

// overHTTP gives the rows of the answer to a statement.
func overHTTP(t *testing.T, address, statement string) []any {
	body, err := json.Marshal(map[string]string{"statement": statement})
	require.NoError(t, err)
	res, err := http.Post("http://"+address+"/v1/query", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	var answer struct {
		Data struct{ Values json.RawMessage }
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&answer))
	require.Equal(t, http.StatusOK, res.StatusCode, statement)
	list, ok := rows(t, answer.Data.Values)[0].([]any)
	require.True(t, ok)
	return list
}

// rows reads values of JSON. A number is the same however a language writes it.
func rows(t *testing.T, text []byte) []any {
	out := []any{}
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		d.UseNumber()
		var row any
		require.NoError(t, d.Decode(&row), "%s", text)
		out = append(out, plain(row))
	}
	return out
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			f, err := v.Float64()
			if err == nil {
				return strconv.FormatFloat(f, 'g', -1, 64)
			}
		}
		return v.String() // as JavaScript, which has no such integers, writes large ones
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// The document shows the decoders as they are run.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/grpc.md")
	require.NoError(t, err)
	for fence, file := range map[string]string{"python": "python/query.py", "javascript": "javascript/query.js", "java": "java/src/main/java/Query.java", "go": "go/main.go"} {
		program, err := os.ReadFile(filepath.FromSlash(file))
		require.NoError(t, err)
		_, rest, found := strings.Cut(string(text), "```"+fence+"\n")
		require.True(t, found, fence)
		block, _, _ := strings.Cut(rest, "\n```\n")
		require.Contains(t, string(program), block, file)
	}
}
