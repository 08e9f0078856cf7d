package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec/exectest"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// statement is one statement of a history. If it has rows, they are the list r of its UNWIND, which may be split over
// any number of statements.
type statement struct {
	text string
	rows []string
	read bool
}

// randomHistory makes random statements over people with a key k, which the oracle and all stores answer alike.
func randomHistory(rng *rand.Rand, n int) (out []statement) {
	keys := 0
	key := func() int { return rng.IntN(keys) }
	rows := func(most int, row func() string) (rs []string) {
		for range 1 + rng.IntN(most) {
			rs = append(rs, row())
		}
		return rs
	}
	value := func() string {
		switch rng.IntN(6) {
		case 0:
			return "null"
		case 1:
			return strconv.Itoa(rng.IntN(10))
		case 2:
			return fmt.Sprintf("[%d, '%s']", rng.IntN(3), strings.Repeat("l", rng.IntN(60)))
		}
		return fmt.Sprintf("'%s%d'", strings.Repeat("text ", rng.IntN(60)), rng.IntN(5))
	}
	for len(out) < n {
		var s statement
		op := rng.IntN(16)
		if keys == 0 {
			op = 0
		}
		switch op {
		case 0, 1:
			s.rows = rows(40, func() string { keys++; return fmt.Sprintf("{k: %d, a: %d, s: %s}", keys-1, rng.IntN(20), value()) })
			s.text = "CREATE (:P {k: r.k, a: r.a, s: r.s})"
		case 2, 3, 4:
			s.rows = rows(80, func() string { return fmt.Sprintf("{x: %d, y: %d, w: %d, s: %s}", key(), key(), rng.IntN(9), value()) })
			s.text = "MATCH (x:P {k: r.x}), (y:P {k: r.y}) CREATE (x)-[:" + []string{"T", "U"}[rng.IntN(2)] + " {w: r.w, s: r.s}]->(y)"
		case 5, 6:
			s.rows = rows(10, func() string { return fmt.Sprintf("{k: %d}", key()) })
			s.text = fmt.Sprintf("MATCH (n:P {k: r.k}) SET n.s = %s, n:Q", value())
		case 7:
			s.rows = rows(10, func() string { return fmt.Sprintf("{k: %d}", key()) })
			s.text = "MATCH (n:P {k: r.k}) REMOVE n.s, n:Q"
		case 8:
			s.text = fmt.Sprintf("MATCH (:P {k: %d})-[e:T]->() SET e.s = %s", key(), value())
		case 9:
			s.text = fmt.Sprintf("MATCH (:P {k: %d})-[e]->() WHERE e.w < %d DELETE e", key(), rng.IntN(9))
		case 10:
			s.text = fmt.Sprintf("MATCH (n:P {k: %d}) DETACH DELETE n", key())
		default:
			s.read = true
			s.text = []string{
				"MATCH (n:P) RETURN n.k, n.a, n.s, labels(n) = ['P']",
				"MATCH (x:P)-[e]->(y) RETURN x.k, type(e), y.k, e.w, e.s",
				"MATCH (n:Q) WHERE n.a > 5 RETURN count(*), min(n.k), max(n.s)",
				fmt.Sprintf("MATCH (:P {k: %d})-[:T*1..3]-(y) RETURN count(DISTINCT y), count(*)", key()),
				fmt.Sprintf("MATCH (x:P {k: %d})-[:T|U]->()-[e:T]->(y) RETURN y.k, e.w", key()),
				fmt.Sprintf("MATCH (x:P) WHERE x.k >= %d AND x.k < %d OPTIONAL MATCH (x)<-[:U]-(y) RETURN x.k, count(y)", key(), key()),
			}[rng.IntN(6)]
		}
		out = append(out, s)
	}
	return out
}

// play runs a history and gives the answers to its reads, sorted. Rows go in batches; after each statement between is
// called, which must not be noticed.
func play(t *testing.T, engine func() *query.Engine, h []statement, batch int, between func(i int)) (answers []string) {
	t.Helper()
	for i, s := range h {
		e := engine()
		rest := s.rows
		for first := true; first || len(rest) > 0; first = false {
			text := s.text
			if len(rest) > 0 {
				n := min(batch, len(rest))
				text = "UNWIND [" + strings.Join(rest[:n], ", ") + "] AS r " + text
				rest = rest[n:]
			}
			rows := answer(t, e, text)
			if s.read {
				answers = append(answers, text+"\n"+strings.Join(rows, "\n"))
			}
		}
		between(i)
	}
	return answers
}

func answer(t *testing.T, e *query.Engine, text string) (rows []string) {
	t.Helper()
	res, err := e.Query(context.Background(), query.Request{Statement: text})
	require.NoError(t, err, text)
	defer res.Close()
	for {
		b, err := res.Next()
		require.NoError(t, err, text)
		if b == nil {
			break
		}
		for i := range b.N {
			row := make([]graph.Value, len(b.Cols))
			for c := range b.Cols {
				row[c] = b.Cols[c].Value(i)
			}
			rows = append(rows, exectest.ShowRow(row))
		}
	}
	slices.Sort(rows)
	return rows
}

// TestMetamorphic plays one random history on stores with many sets of options, and on the oracle: whatever the number
// of shards, thresholds, caches, times of flushing, compacting and opening again, and sizes of batches, the answers are the
// same.
func TestMetamorphic(t *testing.T) {
	sets, statements := size(12, 5), size(120, 40)
	for seed := range eachSeed(t, seeds(4)) {
		rng := rand.New(rand.NewPCG(seed, 99))
		h := randomHistory(rng, statements)
		o := oracle.New(1)
		require.NoError(t, o.CreateGraph(context.Background(), DefaultGraph))
		e := query.New(o, query.Options{})
		want := play(t, func() *query.Engine { return e }, h, 1000, func(int) {})
		for set := range sets {
			opts := tiny(rng, 1+set%4)
			opts.FS = vfs.NewMem()
			opts.CacheMode = kv.CacheMode(set % 2)
			opts.Tuning.ReclaimBytes = []int{-1, 1 << 10}[rng.IntN(2)]
			opts.Tuning.ReclaimRest = time.Millisecond
			opts.ValueThreshold = []int{16, 64, 200, 1 << 16}[rng.IntN(4)]
			opts.TopologyBytes = []int64{-1, 1 << 20, 64 << 20}[rng.IntN(3)]
			opts.Tuning.CompactRecords = []int{-1, 1, 50, 1000}[rng.IntN(4)]
			if set == 3 {
				opts.FS, opts.Dir, opts.CacheMode = vfs.Default, t.TempDir(), kv.CacheDirect
				if _, err := kv.NewDirectFS(opts.FS, opts.Dir); err != nil {
					opts.CacheMode = kv.CacheBlocks
				}
			}
			batch, index := 1+rng.IntN(60), rng.IntN(len(h))
			name := fmt.Sprintf("seed %d, set %d: %d shards, threshold %d, cache %v, %d decoded, compactions at %d, batches of %d",
				seed, set, opts.Shards, opts.ValueThreshold, opts.CacheMode, opts.TopologyBytes, opts.Tuning.CompactRecords, batch)
			st, err := Open(opts)
			require.NoError(t, err, name)
			e := query.New(st, query.Options{})
			got := play(t, func() *query.Engine { return e }, h, batch, func(i int) {
				g, err := st.Local(DefaultGraph)
				require.NoError(t, err)
				switch rng.IntN(12) {
				case 0:
					err = g.Flush(context.Background())
				case 1:
					err = g.Settle(context.Background())
				case 2:
					require.NoError(t, st.Close())
					st, err = Open(opts)
					e = query.New(st, query.Options{})
				}
				require.NoError(t, err, name)
				if i == index {
					answer(t, e, "CREATE INDEX FOR (n:P) ON (n.k)")
				}
			})
			require.Equal(t, want, got, name)
			require.NoError(t, st.Close())
		}
	}
}
