package query

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
)

var fetchTime = regexp.MustCompile(`,"time":[0-9]+`)

// TestFunctions calls operations as the remote functions of fetches. The command run runs a statement, operations adds operations, and the others are
// methods of fetches; by is the role of their caller.
func TestFunctions(t *testing.T) {
	e := New(stores["local"](t), Options{})
	datadriven.RunTest(t, "testdata/functions", func(t *testing.T, d *datadriven.TestData) string {
		req := Request{Statement: d.Input}
		switch d.Cmd {
		case "operations":
			req = Request{Statement: "CALL db.operations.put($text) YIELD name RETURN name", Params: map[string]graph.Value{"text": graph.StringValue(d.Input)}}
			fallthrough
		case "run":
			rows, err := e.rows(req)
			if err != nil {
				return err.Error()
			}
			return strings.Join(rows, "\n")
		}
		ctx := t.Context()
		if d.HasArg("by") {
			var by string
			d.ScanArgs(t, "by", &by)
			id := &access.Identity{Name: by}
			if role, err := access.ParseRole(by); err == nil {
				id.Every = role
			} else {
				id.Every, id.Roles = access.Reader, []string{by}
			}
			ctx = access.WithIdentity(ctx, id)
		}
		var b bytes.Buffer
		_, err := e.Fetch(ctx, FetchRequest{Method: d.Cmd, Body: []byte(d.Input)}, &b)
		require.NoError(t, err)
		answer := fetchTime.ReplaceAllString(b.String(), "")
		return strings.Replace(answer, `,"ok":true,"code":200,"msg":"success"`, "", 1)
	})
}

func functionWorld(t testing.TB) *Engine {
	e := New(stores["local"](t), Options{})
	for _, s := range []string{
		"CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE",
		"UNWIND range(1, 1000) AS i CREATE (:Person {id: i, name: toString(i)})",
		"UNWIND range(1, 1000) AS i MATCH (a:Person {id: i}), (b:Person {id: i % 1000 + 1}), (c:Person {id: i % 100 + 1}) CREATE (a)-[:KNOWS]->(b), (a)-[:KNOWS]->(c)",
		"CALL db.operations.put('// name: degree\n// param: id :: INTEGER\nMATCH (:Person {id: $id})-[:KNOWS]->(p) RETURN count(p) AS n')",
	} {
		_, err := e.rows(Request{Statement: s})
		require.NoError(t, err)
	}
	return e
}

const thousandCalls = `{"Person[]": {"count": 1000, "Person": {"@column": "id", "degree()": "degree(id)"}}}`

// The plan of a function is made once for all items.
func TestFunctionPlans(t *testing.T) {
	e := functionWorld(t)
	misses := e.metrics.PlanMisses.Load()
	var b bytes.Buffer
	code, err := e.Fetch(context.Background(), FetchRequest{Method: "get", Body: []byte(thousandCalls)}, &b)
	require.NoError(t, err)
	require.Equal(t, 200, code)
	require.Equal(t, 1000, strings.Count(b.String(), `"degree":`))
	require.LessOrEqual(t, e.metrics.PlanMisses.Load()-misses, uint64(2), "the fetch's and the operation's")
}

func BenchmarkFunctions(b *testing.B) {
	e := functionWorld(b)
	for _, body := range []string{thousandCalls, strings.ReplaceAll(thousandCalls, `, "degree()": "degree(id)"`, "")} {
		b.Run(strconv.FormatBool(strings.Contains(body, "()")), func(b *testing.B) {
			for b.Loop() {
				var out bytes.Buffer
				if _, err := e.Fetch(context.Background(), FetchRequest{Method: "get", Body: []byte(body)}, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
