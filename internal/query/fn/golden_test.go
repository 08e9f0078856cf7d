package fn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/fn"
	_ "github.com/hopgate/hopgate/internal/query/fn/apoc"
)

// TestGolden evaluates the expressions in testdata, one a line, and prints each value or error. They call every function.
func TestGolden(t *testing.T) {
	called := map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				out.WriteString(evalText(strings.TrimSuffix(line, "\n"), called))
				out.WriteByte('\n')
			}
			return out.String()
		})
	})
	for _, f := range fn.All() {
		if !f.Aggregating() && !called[f.Name] {
			t.Errorf("no case calls %s", f.Name)
		}
	}
}

func evalText(text string, called map[string]bool) (result string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case unsupported:
			result = "unsupported: " + p.what
		case failure:
			e := graph.AsError(p.err)
			result = fmt.Sprintf("%s %s: %s", e.Type, e.Detail, e.Msg)
		default:
			panic(p)
		}
	}()
	x, err := parse.Expression(text)
	if err != nil {
		return err.Error()
	}
	stockholm, err := time.LoadLocation("Europe/Stockholm")
	if err != nil {
		return err.Error()
	}
	at := time.Date(2024, 2, 29, 12, 31, 14, 645876123, time.UTC)
	e := evaluator{called: called, ctx: &fn.Context{Statement: at, Transaction: at.Add(-time.Hour), Rand: rand.New(rand.NewPCG(1, 2)), MaxList: 1000}}
	var names row
	names = names.with("NaN", graph.FloatValue(math.NaN())).with("Inf", graph.FloatValue(math.Inf(1))).
		with("stockholm", graph.StringValue(stockholm.String()))
	for name, v := range entities() {
		names = names.with(name, v)
	}
	return string(notation.Append(nil, e.eval(names, x)))
}

// entities are a node, relationships and a path with their records, and a bare node.
func entities() map[string]graph.Value {
	ann := graph.VertexRecordValue(graph.MakeVertexID(0, 1), &graph.Record{
		Labels: []string{"Person", "Odd name"}, Keys: []string{"age", "name"},
		Values: []graph.Value{graph.IntValue(31), graph.StringValue("Ann")},
	})
	bob := graph.VertexRecordValue(graph.MakeVertexID(2, 7), &graph.Record{})
	edge := func(id uint64, src, dst graph.Value, r *graph.Record) graph.Value {
		e := graph.Edge{ID: graph.MakeEdgeID(src.Vertex().Shard(), id), Src: src.Vertex(), Dst: dst.Vertex(), Type: 3}
		return graph.EdgeRefValue(&graph.EdgeValue{Edge: e, Record: r})
	}
	knows := edge(5, ann, bob, &graph.Record{Type: "KNOWS", Keys: []string{"since"}, Values: []graph.Value{graph.IntValue(2001)}})
	back := edge(6, ann, bob, &graph.Record{Type: "LIKES"})
	return map[string]graph.Value{
		"ann": ann, "bob": bob, "bare": graph.VertexValue(graph.MakeVertexID(1, 9)), "knows": knows, "likes": back,
		"short": graph.PathValue(&graph.Path{Vertices: []graph.Value{ann, bob}, Edges: []graph.Value{knows}}),
		"path":  graph.PathValue(&graph.Path{Vertices: []graph.Value{ann, bob, ann}, Edges: []graph.Value{knows, back}}),
	}
}
