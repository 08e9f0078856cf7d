package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
)

func text(s string) *pb.Value { return &pb.Value{Kind: &pb.Value_String_{String_: s}} }

func float(f float64) *pb.Value { return &pb.Value{Kind: &pb.Value_Float{Float: f}} }

// Every kind of value is JSON as the HTTP contract has it.
func TestValues(t *testing.T) {
	vertex := &pb.Vertex{ElementId: "v0:1", Labels: []string{"A", "B"}, Properties: []*pb.MapEntry{{Key: "k", Value: text("<&>")}}}
	edge := &pb.Edge{ElementId: "e1", StartElementId: "v0:1", EndElementId: "v0:2", Type: "T"}
	const vertexJSON = `{"elementId":"v0:1","labels":["A","B"],"properties":{"k":"<&>"}}`
	const edgeJSON = `{"elementId":"e1","startNodeElementId":"v0:1","endNodeElementId":"v0:2","type":"T","properties":{}}`
	for want, v := range map[string]*pb.Value{
		`null`: {}, `true`: {Kind: &pb.Value_Boolean{Boolean: true}}, `9223372036854775807`: {Kind: &pb.Value_Integer{Integer: math.MaxInt64}},
		`1.0`: float(1), `0.1`: float(0.1), `1e+300`: float(1e300), `-0.0`: float(math.Copysign(0, -1)),
		`"NaN"`: float(math.NaN()), `"Infinity"`: float(math.Inf(1)), `"-Infinity"`: float(math.Inf(-1)),
		`"a\"\\\né"`:   text("a\"\\\né"),
		`"2020-01-02"`: {Kind: &pb.Value_Temporal{Temporal: &pb.TemporalValue{Text: "2020-01-02"}}},
		`[1.0,null]`:   {Kind: &pb.Value_List{List: &pb.ListValue{Values: []*pb.Value{float(1), {}}}}},
		`{"b":1.0,"a":"x"}`: {Kind: &pb.Value_Map{Map: &pb.MapValue{Entries: []*pb.MapEntry{
			{Key: "b", Value: float(1)}, {Key: "a", Value: text("x")},
		}}}},
		vertexJSON: {Kind: &pb.Value_Vertex{Vertex: vertex}},
		edgeJSON:   {Kind: &pb.Value_Edge{Edge: edge}},
		`[` + vertexJSON + `,` + edgeJSON + `,` + vertexJSON + `]`: {Kind: &pb.Value_Path{Path: &pb.Path{
			Vertices: []*pb.Vertex{vertex, vertex}, Edges: []*pb.Edge{edge},
		}}},
	} {
		got := string(answer.AppendJSON(nil, v))
		require.Equal(t, want, got)
		require.True(t, json.Valid([]byte(got)), got)
	}
}

// Rows are decoded from columns of each form.
func TestRows(t *testing.T) {
	var b bytes.Buffer
	p, err := newPrinter("ndjson", &b)
	require.NoError(t, err)
	p.begin([]string{"i", "f", "t", "v"})
	require.NoError(t, p.rows(&pb.RowBatch{Rows: 3, Columns: []*pb.Column{
		{Data: &pb.Column_Integers{Integers: &pb.IntColumn{Values: []int64{1, -2, 3}}}},
		{Data: &pb.Column_Floats{Floats: &pb.DoubleColumn{Values: []float64{1, 2.5, 3}}}},
		{Data: &pb.Column_Texts{Texts: &pb.TextColumn{Text: []byte("néb"), Ends: []uint32{3, 3, 4}}}},
		{Data: &pb.Column_Values{Values: &pb.ListValue{Values: []*pb.Value{{}, text("x"), float(1)}}}},
	}}))
	require.Equal(t, `{"i":1,"f":1.0,"t":"né","v":null}
{"i":-2,"f":2.5,"t":"","v":"x"}
{"i":3,"f":3.0,"t":"b","v":1.0}
`, b.String())
}

// The first rows determine the widths of a table, in characters; wider values in later rows are not lost.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	p, err := newPrinter("table", &b)
	require.NoError(t, err)
	p.begin([]string{"name", "n"})
	for range tableRows {
		require.NoError(t, p.row([]*pb.Value{text("é"), float(1)}))
	}
	require.NoError(t, p.row([]*pb.Value{text("long\nname"), float(2)}))
	require.NoError(t, p.end())
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, tableRows+4)
	require.Equal(t, []string{"name  n", "----  ---", "é     1.0"}, lines[:3])
	require.Equal(t, []string{`long\nname  2.0`, "(1001 rows)"}, lines[len(lines)-2:])
}

// An answer without rows, or without columns, is well formed in every form.
func TestEmpty(t *testing.T) {
	for form, want := range map[string]string{"table": "a\n-\n(0 rows)\n", "json": "[]\n", "ndjson": "", "csv": "a\n"} {
		for fields, want := range map[string]string{"a": want, "": map[string]string{"json": "[]\n"}[form]} {
			var b bytes.Buffer
			p, err := newPrinter(form, &b)
			require.NoError(t, err)
			p.begin(strings.Fields(fields))
			require.NoError(t, p.end())
			require.Equal(t, want, b.String(), "%s %q", form, fields)
		}
	}
}

func TestParams(t *testing.T) {
	for in, want := range map[string]string{
		"abc": `"abc"`, `"abc"`: `"abc"`, "1": "1", "1.0": "1.0", "true": "true", "null": "null", "[1, {\"b\": 2}]": `[1,{"b":2}]`,
		"2020-01-02": `"2020-01-02"`, "": `""`, "-": `"-"`, "1 2": `"1 2"`,
	} {
		v, err := paramValue(in)
		require.NoError(t, err, in)
		require.Equal(t, want, string(answer.AppendJSON(nil, v)), in)
	}
	for _, in := range []string{"[1", `{"a"`, `"x`, "9223372036854775808", "[1] 2", "1e999"} {
		_, err := paramValue(in)
		require.Error(t, err, in)
	}
	_, err := (&queryFlags{params: []string{"x"}}).values()
	require.ErrorContains(t, err, "must be name=value")
}

// A profiled plan is a tree with the shares of each operator, and a page of its own.
func TestPlan(t *testing.T) {
	leaf := &pb.PlanNode{
		Operator: "Scan", Arguments: "(n)", Rows: 7, Batches: 1, Time: durationpb.New(750 * time.Microsecond), ShardRequests: 2, EstimatedRows: new(8.5), Bytes: 56, Memory: 24,
		CacheHits: proto.Uint64(5), CacheMisses: proto.Uint64(1), LargeValues: proto.Uint64(3),
	}
	plan := &pb.PlanNode{
		Operator: "Join", Rows: 7, Batches: 1, Time: durationpb.New(250 * time.Microsecond),
		Children: []*pb.PlanNode{leaf, {Operator: "Unit", Time: durationpb.New(0)}},
	}
	var b strings.Builder
	printPlan(&b, plan)
	require.Equal(t, `operator    estimated  rows  batches   time  share  requests  bytes  memory  hits  misses  large
Join                      7        1  250µs  25.0%         0      0       0     -       -      -
├ Scan (n)          9     7        1  750µs  75.0%         2     56      24     5       1      3
└ Unit                    0        0     0s   0.0%         0      0       0     -       -      -
`, b.String())
	page, err := sunburstPage(plan, "RETURN '</script><script>alert(1)</script>'")
	require.NoError(t, err)
	require.NotContains(t, string(page), "<script>alert")
	require.Contains(t, string(page), `"operator":"Scan"`)
	require.Equal(t, 1, strings.Count(string(page), "</script>"))
}

// A gateway's calls to other processes have further columns.
func TestPlanWire(t *testing.T) {
	wire := func(n *pb.PlanNode, requests, sent, received, edges uint64) *pb.PlanNode {
		n.Time = durationpb.New(time.Millisecond)
		n.WireRequests, n.WireSent, n.WireReceived, n.Edges = &requests, &sent, &received, &edges
		return n
	}
	plan := wire(&pb.PlanNode{Operator: "Expand", Rows: 40, Batches: 1, ShardRequests: 1}, 4, 120, 330, 200)
	plan.Children = []*pb.PlanNode{wire(&pb.PlanNode{Operator: "Unit", Rows: 1, Batches: 1}, 0, 0, 0, 0)}
	var b strings.Builder
	printPlan(&b, plan)
	require.Equal(t, `operator  estimated  rows  batches  time  share  requests  bytes  memory  hits  misses  large  calls  sent  received  edges  bytes/edge
Expand                 40        1   1ms  50.0%         1      0       0     -       -      -      4   120       330    200        2.25
└ Unit                  1        1   1ms  50.0%         0      0       0     -       -      -      0     0         0      0           -
`, b.String())
	page, err := sunburstPage(plan, "RETURN 1")
	require.NoError(t, err)
	require.Contains(t, string(page), `"wireRequests":4,"wireSent":120,"wireReceived":330,"edges":200,"wirePerEdge":2.25`)
}

// A float that is no number is written as its text, for tables and CSV; within lists and maps it is JSON.
func TestTextsOfFloats(t *testing.T) {
	nan := float(math.NaN())
	list := &pb.Value{Kind: &pb.Value_List{List: &pb.ListValue{Values: []*pb.Value{nan}}}}
	require.Equal(t, []string{"NaN", "-Infinity", "1.0", `["NaN"]`}, texts([]*pb.Value{nan, float(math.Inf(-1)), float(1), list}))
}
