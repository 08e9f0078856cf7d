package bulk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// TestKeyRuns puts keys into tables that spill repeatedly, and compares the tables with a map, also for keys put twice, removed, or
// sharing the first word of their hash.
func TestKeyRuns(t *testing.T) {
	require.Equal(t, uint64(1), func() uint64 { s := mix; return s * unmix }())
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 5))
		spill := &keySpill{fs: vfs.NewMem(), dir: "", open: map[*keyRun]bool{}}
		table := newKeyTable(true)
		want := map[string]graph.VertexID{}
		span := []int64{3000, 1 << 34, math.MaxInt64}[seed%3]
		value := func() graph.Value {
			n := r.Int64N(span) - span/3
			if r.IntN(3) == 0 {
				return graph.StringValue(fmt.Sprint("k", n%1000))
			}
			return graph.IntValue(n)
		}
		var known []graph.Value
		var s keySeeker
		check := func() {
			vals := []graph.Value{graph.FloatValue(0.5), {}, graph.StringValue("none")}
			for range 500 {
				vals = append(vals, value())
				if len(known) > 0 {
					vals = append(vals, known[r.IntN(len(known))])
				}
			}
			s.reset()
			for _, v := range vals {
				s.add(table, v)
			}
			require.NoError(t, s.seek(table))
			for i, v := range vals {
				key, _ := keys.AppendOrdered(nil, v)
				id, ok := want[string(key)]
				if !ok {
					id = graph.NoVertex
				}
				if s.keys[i].id != id {
					t.Fatalf("%v is %d, want %d", v, s.keys[i].id, id)
				}
			}
		}
		for round := range 14 {
			for i := range r.IntN(1200) {
				v, id := value(), graph.VertexID(round<<20|i)
				if len(known) > 0 && r.IntN(9) == 0 {
					v = known[r.IntN(len(known))]
				}
				if r.IntN(9) == 0 {
					id = graph.NoVertex
				}
				key, _ := keys.AppendOrdered(nil, v)
				table.put(key, id)
				want[string(key)] = id
				known = append(known, v)
			}
			check()
			if r.IntN(3) > 0 {
				require.NoError(t, table.spillTo(spill))
				check()
			}
			// Look-ups leave their results in memory.
			s.keep(table)
			check()
		}
		require.NoError(t, table.gather(spill))
		check()
		for _, runs := range table.runs {
			require.Len(t, runs, 1)
		}
		require.Len(t, spill.open, 2)
		require.NoError(t, table.drop(spill))
		names, err := spill.fs.List("")
		require.NoError(t, err)
		require.Empty(t, names)
	}
}

// The second word distinguishes keys whose hashes share the first word, over several blocks.
func TestKeyRunsSameWord(t *testing.T) {
	spill := &keySpill{fs: vfs.NewMem(), dir: "", open: map[*keyRun]bool{}}
	const n = 5 * runBlock
	i := uint64(0)
	run, err := spill.write(kindOthers, 0, true, func(e *keyEntry) (bool, error) {
		*e = keyEntry{hash: [2]uint64{7 + 2*(i/(2*runBlock)), 2 * (i % (2 * runBlock))}, id: graph.VertexID(i)}
		i++
		return i <= n, nil
	})
	require.NoError(t, err)
	for i := range uint64(n) {
		for _, odd := range []uint64{0, 1} {
			s := keySeeker{keys: []keyEntry{{hash: [2]uint64{7 + 2*(i/(2*runBlock)), 2*(i%(2*runBlock)) + odd}, id: graph.NoVertex}}}
			require.NoError(t, s.in(run, []placed{{}}))
			want := graph.VertexID(i)
			if odd == 1 {
				want = graph.NoVertex
			}
			require.Equal(t, want, s.keys[0].id)
		}
	}
	require.NoError(t, spill.close())
}
