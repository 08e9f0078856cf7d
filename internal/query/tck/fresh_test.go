package tck

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// small are commits that change little, each in its way.
var small = []string{
	"MATCH (n:A) WITH n LIMIT 1 SET n.x = coalesce(n.x, 0) + 1", "MATCH (n) WITH n SKIP 1 LIMIT 1 SET n:C", "MATCH (n:B) WITH n LIMIT 1 REMOVE n:B",
	"CREATE (:C {x: 1})", "CREATE ()", "CREATE (:A:B {s: 'ab', x: 2})", "MATCH ()-[r:T]->() WITH r LIMIT 1 DELETE r", "MATCH ()-[r:U]->() WITH r LIMIT 1 SET r.w = 5",
	"MATCH (n) WITH n SKIP 2 LIMIT 1 DETACH DELETE n", "MATCH (a:A), (b) WITH a, b LIMIT 1 CREATE (a)-[:U]->(b)", "MATCH (a) WITH a LIMIT 1 CREATE (a)-[:V {w: 1}]->(:C {id: 77})",
	"CREATE (:Z {zz: 1})", "MATCH (n) WITH n LIMIT 1 REMOVE n.s", "MATCH (n) WITH n LIMIT 1 SET n.hidden = true", "MATCH (n:A) WHERE NOT n:Hidden WITH n LIMIT 1 SET n:Hidden", "MATCH (n:Hidden) WITH n LIMIT 1 REMOVE n:Hidden",
	"MATCH (n:A) WITH n LIMIT 1 SET n.d = date('2020-02-02')", "MATCH (n) WHERE n.l IS NOT NULL WITH n LIMIT 1 SET n.l = [9]", "MATCH (n) WITH n LIMIT 1 SET n += {q: 1}",
	"CREATE INDEX made IF NOT EXISTS FOR (n:A) ON (n.x)", "DROP INDEX made IF EXISTS",
}

// TestFresh commits random changes between random reads. Whenever a read would not be run, because its client or the cache has the answer, it must
// give that answer if it is run: with the plan that the engine has, so in the same order.
func TestFresh(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 12
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		seeds = n
	}
	var asked, tagged, same uint64
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			a, b, c := freshSeed(t, seed)
			asked, tagged, same = asked+a, tagged+b, same+c
		})
	}
	t.Logf("%d reads, %d with a tag, %d unmodified", asked, tagged, same)
	if seeds >= 4 {
		require.Greater(t, tagged, asked/2)
		require.Greater(t, same, asked/10)
	}
}

func freshSeed(t *testing.T, seed uint64) (asked, tagged, same uint64) {
	ctx := t.Context()
	r := rand.New(rand.NewPCG(seed, 47))
	disk, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 1 + int(seed%3)})
	require.NoError(t, err)
	defer disk.Close()
	store := restricted.NewStore(disk)
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	opt := query.Options{}
	if seed%2 == 1 {
		opt.ResponseCache = 64 << 10
	}
	e := &engine{g: g, whole: query.New(store, opt), store: store}
	_, err = e.run((&grammar{r: r}).graph(), nil)
	require.NoError(t, err)
	if seed%4 >= 2 {
		require.NoError(t, e.rule(true))
	}
	texts := []string{
		"MATCH (n:A) RETURN n.x", "MATCH (n:A)-[r:T]->(m) RETURN m.s, r.w", "MATCH (n) RETURN n", "MATCH (n:C) RETURN count(*)", "MATCH (a:A)-[:T|U*1..2]->(b:B) RETURN DISTINCT b.x",
		"MATCH (n) WHERE n.x = 1 RETURN labels(n), n.id", "MATCH (n:!A) RETURN n.id", "MATCH p = (:A)-[*0..2]-() RETURN length(p), nodes(p)[0].x", "MATCH (n:A) RETURN keys(n), n {.x, .s}",
	}
	for range 8 {
		text, _ := (&grammar{r: r}).query()
		texts = append(texts, text)
	}
	ask := func(text string, c *fresh.Condition) (string, error) {
		res, err := e.whole.Query(e.context(), query.Request{Statement: text, Condition: c})
		if err != nil {
			return "", err
		}
		defer res.Close()
		return shown(res)
	}
	// run gives the answer of an explicit transaction, which nothing is reused for.
	run := func(text string) (string, error) {
		tx, err := e.whole.Begin(e.context(), query.TxOptions{ReadOnly: true})
		if err != nil {
			return "", err
		}
		defer tx.Rollback()
		res, err := tx.Run(e.context(), query.Request{Statement: text})
		if err != nil {
			return "", err
		}
		defer res.Close()
		return shown(res)
	}
	tags, answers := map[string]string{}, map[string]string{}
	for range 16 {
		change := small[r.IntN(len(small))]
		switch n := r.IntN(20); {
		case n < 6 && g.Size() < 200: // or some make it many times as large, again and again
			change = (&grammar{r: r}).update()
		case n == 6:
			loadOne(t, g, int64(r.IntN(3)))
			change = "RETURN 1"
		}
		if res, err := e.whole.Query(ctx, query.Request{Statement: change}); err == nil {
			res.Close()
		}
		for _, text := range texts {
			c := &fresh.Condition{None: tags[text], Format: "rows"}
			got, err := ask(text, c)
			want, err2 := run(text)
			if err != nil || err2 != nil {
				require.Equal(t, err != nil, err2 != nil || c.Unmodified, "%s: %v %v", text, err, err2)
				continue
			}
			asked++
			if c.Unmodified {
				same++
				require.Equal(t, answers[text], want, "%s\nafter\n%s", text, change)
				continue
			}
			if tags[text] = c.Tag; c.Tag == "" {
				continue
			}
			tagged++
			require.Equal(t, want, got, "%s\nafter\n%s", text, change)
			answers[text] = got
		}
	}
	return asked, tagged + same, same
}

// shown writes a whole answer, with the ids of vertices and edges.
func shown(res *query.Result) (string, error) {
	out := fmt.Append(nil, res.Columns)
	for {
		b, err := res.Next()
		if err != nil {
			return "", err
		}
		if b == nil {
			return string(fmt.Append(out, res.Summary().Notifications)), nil
		}
		for i := range b.N {
			out = append(out, '\n')
			for j := range b.Cols {
				out = append(notation.TypedJSON.Append(out, b.Cols[j].Value(i)), ' ')
			}
		}
	}
}

// loadOne loads a vertex.
func loadOne(t *testing.T, g shard.Graph, key int64) {
	ctx := t.Context()
	_ = g.CreateIndex(ctx, graph.Index{Name: "space", Unique: true, Indexed: true})
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	a, err := tx.Label("A")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{a})
	require.NoError(t, err)
	x, err := tx.Prop("x")
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	for _, ix := range g.Indexes() {
		if ix.Name == "space" {
			require.NoError(t, g.Load(ctx, &shard.Load{Vertices: []shard.LoadVertices{{
				Labels: set, Space: ix.ID, Keys: []graph.Value{graph.IntValue(key)}, Props: []shard.LoadColumn{{Prop: x, Values: []graph.Value{graph.IntValue(key + 40)}}},
			}}}))
		}
	}
}
