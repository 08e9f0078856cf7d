package spill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// anyValue returns a random value of any kind, with lists and maps at most depth deep.
func anyValue(r *rand.Rand, depth int) graph.Value {
	text := func() string { return fmt.Sprint("text ", r.IntN(50)) }
	vertex := func() graph.Value {
		if r.IntN(2) == 0 {
			return graph.VertexValue(graph.VertexID(r.Uint64N(1 << 50)))
		}
		return graph.VertexRecordValue(graph.VertexID(r.IntN(9)), &graph.Record{
			Labels: []string{"A", text()}, Keys: []string{"k"}, Values: []graph.Value{anyValue(r, 0)},
		})
	}
	edge := func() graph.Value {
		return graph.EdgeRefValue(&graph.EdgeValue{
			Edge:   graph.Edge{ID: graph.EdgeID(r.Uint64()), Src: 1, Dst: graph.VertexID(r.IntN(9)), Type: 3},
			Record: &graph.Record{Type: "T", Keys: []string{"k"}, Values: []graph.Value{graph.IntValue(1)}},
		})
	}
	list := func(n int) []graph.Value {
		vs := make([]graph.Value, n)
		for i := range vs {
			vs[i] = anyValue(r, depth-1)
		}
		return vs
	}
	n := 13
	if depth > 0 {
		n = 18
	}
	switch r.IntN(n) {
	case 0:
		return graph.Value{}
	case 1:
		return graph.BoolValue(r.IntN(2) == 0)
	case 2:
		return graph.IntValue(r.Int64() - 1<<62)
	case 3:
		return graph.IntValue(r.Int64N(40) - 20)
	case 4:
		return graph.FloatValue(r.NormFloat64())
	case 5:
		return graph.StringValue(text())
	case 6:
		return graph.DateValue(temporal.Date(r.IntN(2000) - 1000))
	case 7:
		return graph.LocalTimeValue(temporal.LocalTime(r.Int64N(1e9)))
	case 8:
		return graph.TimeValue(temporal.Time{Local: temporal.LocalTime(r.Int64N(1e9)), Offset: -3600})
	case 9:
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: r.Int64N(1e9) - 5e8, Nano: 7})
	case 10:
		t := temporal.DateTime{Sec: r.Int64N(1e9), Nano: 1, Offset: 7200}
		if r.IntN(2) == 0 {
			z, _ := temporal.ParseZone("Europe/Stockholm")
			t.Zone = z.Location
		}
		return graph.DateTimeValue(t)
	case 11:
		return graph.DurationValue(temporal.Duration{Months: -3, Days: r.Int64N(9), Seconds: 5, Nanos: 6})
	case 16:
		return graph.PointValue(graph.Point{CRS: graph.Cartesian3D, X: r.NormFloat64(), Y: 2, Z: -1})
	case 18:
		x, _ := graph.VectorOf(graph.Float32, []graph.Value{graph.FloatValue(r.NormFloat64()), graph.IntValue(2)})
		return graph.VectorValue(x)
	case 17:
		return graph.BytesValue([]byte(text()))
	case 12:
		return vertex()
	case 13:
		return graph.ListValue(list(r.IntN(4)))
	case 14:
		m := make([]graph.MapEntry, r.IntN(3))
		for i := range m {
			m[i] = graph.MapEntry{Key: strconv.Itoa(i), Value: anyValue(r, depth-1)}
		}
		return graph.MapValue(m)
	}
	if r.IntN(2) == 0 {
		return edge()
	}
	return graph.PathValue(&graph.Path{Vertices: []graph.Value{vertex(), vertex()}, Edges: []graph.Value{edge()}})
}

// TestSpilledValues writes and reads values of all kinds; cut short, they are damage.
func TestSpilledValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[graph.ValueKind]bool{}
	for range 2000 {
		v := anyValue(r, 3)
		kinds[v.Kind()] = true
		cell := AppendValue(nil, v)
		d := decoder{b: append(slices.Clone(cell), 42)}
		got := d.value()
		require.False(t, d.bad)
		require.Equal(t, []byte{42}, d.b)
		require.Equal(t, v.Kind(), got.Kind())
		require.Equal(t, cell, AppendValue(nil, got))
		if v.Kind() == graph.EdgeKind {
			require.Equal(t, v.Edge(), got.Edge())
		}
		cut := decoder{b: cell[:r.IntN(len(cell))]}
		cut.value()
		require.True(t, cut.bad)
	}
	require.Len(t, kinds, int(graph.Bytes)+1)
}
