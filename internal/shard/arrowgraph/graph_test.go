package arrowgraph

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// stream writes rows, a batch of 50 after the other. first are the fields before those of properties, which fill writes.
func stream(t *testing.T, rows []shardtest.Row, first []arrow.Field, fill func(b *array.RecordBuilder, r *shardtest.Row)) io.Reader {
	fields := append(slices.Clone(first), arrow.Field{Name: shardtest.Key, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	for _, col := range shardtest.Columns {
		types := map[graph.ValueKind]arrow.DataType{
			graph.Bool: arrow.FixedWidthTypes.Boolean, graph.String: arrow.BinaryTypes.String, graph.Int: arrow.PrimitiveTypes.Int64, graph.Float: arrow.PrimitiveTypes.Float64,
		}
		fields = append(fields, arrow.Field{Name: col.Name, Type: types[col.Kind], Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for batch := range slices.Chunk(rows, 50) {
		for i := range batch {
			fill(b, &batch[i])
			for k, f := range fields[len(first):] {
				v := batch[i].Props[f.Name]
				switch f := b.Field(len(first) + k).(type) {
				case *array.BooleanBuilder:
					f.AppendValues([]bool{!v.IsNull() && v.Bool()}, []bool{!v.IsNull()})
				case *array.Int64Builder:
					f.AppendValues([]int64{intOf(v)}, []bool{!v.IsNull()})
				case *array.Float64Builder:
					f.AppendValues([]float64{floatOf(v)}, []bool{!v.IsNull()})
				case *array.StringBuilder:
					f.AppendValues([]string{textOf(v)}, []bool{!v.IsNull()})
				}
			}
		}
		require.NoError(t, w.Write(b.NewRecordBatch()))
	}
	require.NoError(t, w.Close())
	return &out
}

func intOf(v graph.Value) int64 {
	if v.IsNull() {
		return 0
	}
	return v.Int()
}

func floatOf(v graph.Value) float64 {
	if v.IsNull() {
		return 0
	}
	return v.Float()
}

func textOf(v graph.Value) string {
	if v.IsNull() {
		return ""
	}
	return v.Str()
}

func open(t *testing.T, c *shardtest.Contents) shard.Graph {
	vertices := stream(t, c.Vertices, []arrow.Field{{Name: Labels, Type: arrow.ListOf(arrow.BinaryTypes.String)}}, func(b *array.RecordBuilder, r *shardtest.Row) {
		l := b.Field(0).(*array.ListBuilder)
		l.Append(true)
		for _, name := range r.Names {
			l.ValueBuilder().(*array.StringBuilder).Append(name)
		}
	})
	edges := stream(t, c.Edges, []arrow.Field{
		{Name: Type, Type: arrow.BinaryTypes.String}, {Name: Source, Type: arrow.PrimitiveTypes.Int64}, {Name: Target, Type: arrow.PrimitiveTypes.Int64},
	}, func(b *array.RecordBuilder, r *shardtest.Row) {
		b.Field(0).(*array.StringBuilder).Append(r.Names[0])
		b.Field(1).(*array.Int64Builder).Append(int64(r.Source))
		b.Field(2).(*array.Int64Builder).Append(int64(r.Target))
	})
	g, err := Open(vertices, edges)
	require.NoError(t, err)
	return g
}

// A backing of six methods passes all that is required of what only reads.
func TestReads(t *testing.T) {
	shardtest.RunReads(t, func(yield func(uint64) bool) {
		for seed := range uint64(10) {
			if !yield(seed) {
				return
			}
		}
	}, open, shard.Aggregates, shard.FullText, shard.Turns, shard.Validation, shard.ReadMetering, shard.WireMetering, shard.Passing,
		shard.ChangeDates, shard.DegreeBounds, shard.RuleScans, shard.Versions, shard.Commits, shard.Positions)
}

// Queries with hops, paths and aggregates give the oracle's answers, and the plan has no operator that needs a feature.
func TestQueries(t *testing.T) {
	c, o := shardtest.Fill(t, 3)
	engines := []*query.Engine{
		query.New(shard.OneGraph(query.DefaultGraph, open(t, c)), query.Options{}), query.New(shard.OneGraph(query.DefaultGraph, o), query.Options{}),
	}
	for _, text := range []string{
		"MATCH (a:L0)-[r:T0]->(b)-[:T1]->(c:L2) RETURN a.key, r.key, b.key, c.key",
		"MATCH (a {key: 0})-[:T0|T2*1..3]->(b) RETURN DISTINCT b.key",
		"MATCH (a:L1)<-[r]-(b) WHERE r.number > 5 RETURN a.key, r.number, b.name",
		"MATCH (a) RETURN a.name, count(*), sum(a.number), min(a.weight)",
		"MATCH (a)-[:T1]->(b) RETURN a.flag, b.flag, count(*)",
		"MATCH ()-[r:T2]->() RETURN avg(r.weight), max(r.number)",
		"MATCH p = shortestPath((a {key: 0})-[*]-(b {key: 9})) RETURN length(p)",
		"MATCH (a:L0:L1) RETURN a.key, labels(a), properties(a)",
		"MATCH (a {key: 0})-[r]->() RETURN properties(r), type(r)",
	} {
		var got [2][]string
		for i, e := range engines {
			res, err := e.Query(t.Context(), query.Request{Statement: text})
			require.NoError(t, err, text)
			for {
				b, err := res.Next()
				require.NoError(t, err, text)
				if b == nil {
					break
				}
				for row := range b.N {
					var cells []any
					for k := range b.Cols {
						cells = append(cells, shardtest.Text(b.Cols[k].Value(row)))
					}
					got[i] = append(got[i], fmt.Sprint(cells...))
				}
			}
			res.Close()
			slices.Sort(got[i])
		}
		require.NotEmpty(t, got[1], text)
		require.Equal(t, got[1], got[0], text)
	}
	_, err := engines[0].Query(t.Context(), query.Request{Statement: "CREATE ()"})
	require.Error(t, err)
}
