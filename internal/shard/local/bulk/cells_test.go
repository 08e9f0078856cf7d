package bulk

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A row combines with an encoded value as with the value itself.
func TestCombineCell(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	simple := func() graph.Value {
		switch rng.IntN(9) {
		case 0:
			return graph.FloatValue(float64(rng.IntN(4)))
		case 1:
			return graph.IntValue(int64(rng.IntN(4)))
		case 2:
			return graph.IntValue(rng.Int64())
		case 3:
			return graph.BoolValue(true)
		}
		return graph.StringValue(fmt.Sprint("t", rng.IntN(80)))
	}
	value := func() graph.Value {
		if rng.IntN(3) == 0 {
			return simple()
		}
		of := simple
		if rng.IntN(4) > 0 {
			of = func() graph.Value { return graph.StringValue(fmt.Sprint("t", rng.IntN(80))) }
		}
		l := make([]graph.Value, rng.IntN(60))
		for i := range l {
			l[i] = of()
		}
		return graph.ListValue(l)
	}
	for range 20_000 {
		s := shard.Strategy(rng.IntN(8))
		var old graph.Value
		var cell []byte
		if rng.IntN(5) > 0 {
			old = value()
			cell, _ = keys.AppendCell(nil, old)
		}
		v := value()
		want, bad := combine(s, old, v)
		got, r := combineCell([]byte("head"), s, cell, v)
		require.Equal(t, bad, r, "%v %v %v", s, old, v)
		require.Equal(t, "head", string(got[:4]))
		if bad == nil {
			enc, _ := keys.AppendCell(nil, want)
			require.Equal(t, enc, got[4:], "%v %v %v", s, old, v)
		}
	}
	tags, _ := keys.AppendCell(nil, graph.ListValue([]graph.Value{graph.StringValue("a"), graph.StringValue("b")}))
	visits, _ := keys.AppendCell(nil, graph.IntValue(5))
	more, buf := graph.ListValue([]graph.Value{graph.StringValue("c")}), make([]byte, 0, 64)
	require.Zero(t, int(alloctest.Least(100, func() {
		_, _ = combineCell(buf, shard.Union, tags, more)
		_, _ = combineCell(buf, shard.Sum, visits, graph.IntValue(3))
	})))
}
