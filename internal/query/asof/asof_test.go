package asof_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/named"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/commitlog"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/shard/restricted"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// world is an engine over a store with a commit log.
type world struct {
	t *testing.T
	e *query.Engine
	g shard.Graph
}

func open(t *testing.T) *world {
	opts := localtest.Options(rand.New(rand.NewPCG(1, 2)), 2)
	opts.FS, opts.LogBytes = vfs.NewMem(), 1<<20
	s, err := local.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	g, err := s.Graph(query.DefaultGraph)
	require.NoError(t, err)
	return &world{t, query.New(restricted.NewStore(past.NewStore(s, past.DefaultBytes)), query.Options{}), g}
}

// run returns the rows of a statement, one text each, or its error.
func (w *world) run(ctx context.Context, text string, params map[string]graph.Value) (rows []string, err error) {
	res, err := w.e.Query(ctx, query.Request{Statement: text, Params: params})
	if err != nil {
		return nil, err
	}
	defer res.Close()
	for {
		b, err := res.Next()
		if b == nil || err != nil {
			return rows, err
		}
		for row := range b.N {
			var cells []string
			for k := range b.Cols {
				cells = append(cells, shardtest.Text(b.Cols[k].Value(row)))
			}
			rows = append(rows, strings.Join(cells, " "))
		}
	}
}

func (w *world) must(text string) []string {
	rows, err := w.run(w.t.Context(), text, nil)
	require.NoError(w.t, err, text)
	return rows
}

// now returns the last commit: its token, and its time.
func (w *world) now() (text string, at time.Time) {
	st, err := w.g.ChangeLog().LogState(w.t.Context())
	require.NoError(w.t, err)
	return token.NewSigner(st.Key).Text(token.Token{Commit: st.Last, Time: st.LastTime}), time.Unix(0, st.LastTime).UTC()
}

// Statements read every former moment, by its token and by its time: vertices, edges, paths, indexes, counts, aggregates.
func TestStatements(t *testing.T) {
	w := open(t)
	w.must("CREATE (:P {k: 0})")
	texts := []string{
		"MATCH (n:P) RETURN n.k, n.v, labels(n) ORDER BY n.k",
		"MATCH (n:P) RETURN count(*)",
		"MATCH ()-[r:R]->() RETURN count(r), sum(r.w)",
		"MATCH (a:P)-[r]->(b) RETURN a.k, r.w, b.k ORDER BY a.k, b.k, r.w",
		"MATCH (n:P) WHERE n.v >= 3 RETURN n.k ORDER BY n.k",
		"MATCH (n:P {k: 2}) RETURN n.v",
		"MATCH p = (a:P {k: 0})-[:R*1..4]->(b) RETURN length(p), b.k ORDER BY length(p), b.k",
		"MATCH p = shortestPath((a:P {k: 0})-[:R*]->(b:P {k: 3})) RETURN length(p)",
		"MATCH (n:P) RETURN n.v, count(*) ORDER BY n.v",
	}
	type moment struct {
		token string
		at    time.Time
		rows  map[string][]string
	}
	var all []moment
	for i, change := range []string{
		"UNWIND range(1, 9) AS i CREATE (:P {k: i, v: i % 4})",
		"MATCH (a:P), (b:P {k: a.k + 1}) CREATE (a)-[:R {w: a.k}]->(b)",
		"CREATE INDEX FOR (n:P) ON (n.k)",
		"MATCH (n:P {k: 2}) SET n.v = 77, n:Q",
		"MATCH (a:P {k: 2})-[r:R]->() DELETE r",
		"MATCH (a:P {k: 0}), (b:P {k: 3}) CREATE (a)-[:R {w: 100}]->(b), (a)-[:R]->(a)",
		"CREATE INDEX FOR (n:P) ON (n.v)",
		"MATCH (n:P) WHERE n.k > 7 DETACH DELETE n",
		"MATCH (n:P {k: 3}) REMOVE n:P, n.v",
		"MATCH (n) DETACH DELETE n",
	} {
		w.must(change)
		m := moment{rows: map[string][]string{}}
		m.token, m.at = w.now()
		for _, text := range texts {
			m.rows[text] = w.must(text)
		}
		all = append(all, m)
		for _, m := range all {
			for k, text := range texts {
				as := []string{"'" + m.token + "'", "datetime('" + m.at.Format(time.RFC3339Nano) + "')", "'" + m.at.Format(time.RFC3339Nano) + "'"}[(i+k)%3]
				require.Equal(t, m.rows[text], w.must("USE neo4j AS OF "+as+" "+text), "%s after %s", text, change)
			}
			ctx, err := asof.With(t.Context(), "at", m.token)
			require.NoError(t, err)
			rows, err := w.run(ctx, texts[3], nil)
			require.NoError(t, err)
			require.Equal(t, m.rows[texts[3]], rows)
			rows, err = w.run(t.Context(), "USE neo4j FOR SYSTEM_TIME AS OF datetime($at) "+texts[0], map[string]graph.Value{"at": graph.StringValue(m.token)})
			require.NoError(t, err)
			require.Equal(t, m.rows[texts[0]], rows)
		}
	}
	// A time between two commits means the former, one before the last second the last.
	between := all[3].at.Add(all[4].at.Sub(all[3].at) - 1)
	require.Equal(t, all[3].rows[texts[0]], w.must("USE neo4j AS OF '"+between.Format(time.RFC3339Nano)+"' "+texts[0]))
	require.Equal(t, all[9].rows[texts[0]], w.must("USE neo4j AS OF '"+all[9].at.Add(1).Format(time.RFC3339Nano)+"' "+texts[0]))
}

func TestErrors(t *testing.T) {
	w := open(t)
	w.must("CREATE (:P {k: 0})")
	here, at := w.now()
	w.must("CREATE (:P {k: 1})")
	other := open(t)
	other.must("CREATE ()")
	foreign, _ := other.now()
	st, err := w.g.ChangeLog().LogState(t.Context())
	require.NoError(t, err)
	sign := func(k token.Token) string { return token.NewSigner(st.Key).Text(k) }
	for as, detail := range map[string]string{
		"''":                asof.Invalid,
		"'2026'":            "",
		"'-x'":              asof.Invalid,
		"'AAAA'":            "TokenMalformed",
		"$none":             asof.Invalid,
		"$number":           asof.Invalid,
		"'" + foreign + "'": "TokenOfOtherGraph",
		"'" + sign(token.Token{Commit: 99, Time: 5}) + "'":                            "TokenOfOtherHistory",
		"'" + sign(token.Token{Commit: st.Last - 1, Time: 5}) + "'":                   "TokenOfOtherHistory",
		"'" + sign(token.Token{Commit: st.Last, Time: st.LastTime, Expires: 1}) + "'": "TokenExpired",
		"'-200000-01-01T00:00:00Z'":                                                   "ChangeLogTooOld",
		"'2999-01-01T00:00:00Z'":                                                      asof.InFuture,
	} {
		_, err := w.run(t.Context(), "USE neo4j AS OF "+as+" MATCH (n) RETURN n.k", map[string]graph.Value{"none": {}, "number": graph.IntValue(5)})
		if detail != "" {
			require.Error(t, err, as)
			require.Equal(t, detail, graph.AsError(err).Detail, "%s: %v", as, err)
		}
	}
	for text, detail := range map[string]string{
		"USE neo4j AS OF '%s' CREATE (n)":                                         "AsOfIsReadOnly",
		"USE neo4j AS OF '%s' MATCH (n) SET n.k = 5":                              "AsOfIsReadOnly",
		"USE neo4j AS OF '%s' SHOW INDEXES":                                       "UnexpectedSyntax",
		"USE neo4j AS OF '%s' CREATE INDEX FOR (n:P) ON (n.k)":                    "UnexpectedSyntax",
		"USE neo4j AS OF '%s' MATCH (n) CALL (n) { SET n.k = 1 } IN TRANSACTIONS": "AsOfIsReadOnly",
	} {
		_, err := w.run(t.Context(), fmt.Sprintf(text, here), nil)
		require.Error(t, err, text)
		require.Equal(t, detail, graph.AsError(err).Detail, "%s: %v", text, err)
	}
	ctx, err := asof.With(t.Context(), "at", at.Format(time.RFC3339Nano))
	require.NoError(t, err)
	for _, text := range []string{"CREATE (n)", "CREATE INDEX FOR (n:P) ON (n.k)", "CREATE DATABASE x"} {
		_, err := w.run(ctx, text, nil)
		require.Error(t, err, text)
		require.Equal(t, "AsOfIsReadOnly", graph.AsError(err).Detail, "%s: %v", text, err)
	}
	_, err = w.run(ctx, "USE neo4j AS OF '"+here+"' RETURN 1", nil)
	require.Equal(t, asof.Invalid, graph.AsError(err).Detail)
	_, err = w.e.Begin(ctx, query.TxOptions{})
	require.Equal(t, "AsOfIsReadOnly", graph.AsError(err).Detail)

	tx, err := w.e.Begin(ctx, query.TxOptions{ReadOnly: true})
	require.NoError(t, err)
	res, err := tx.Run(t.Context(), query.Request{Statement: "MATCH (n) RETURN count(*)", Buffer: true})
	require.NoError(t, err)
	b, err := res.Next()
	require.NoError(t, err)
	require.Equal(t, int64(1), b.Cols[0].Value(0).Int())
	res.Close()
	_, err = tx.Run(t.Context(), query.Request{Statement: "USE neo4j AS OF '" + here + "' RETURN 1"})
	require.Equal(t, asof.InTransaction, graph.AsError(err).Detail)
	tx.Rollback()
	require.Equal(t, []string{"Int 2"}, w.must("MATCH (n) RETURN count(*)"))
}

// EXPLAIN says which commit is read.
func TestExplain(t *testing.T) {
	w := open(t)
	w.must("CREATE (:P {k: 0})")
	here, _ := w.now()
	st, err := w.g.ChangeLog().LogState(t.Context())
	require.NoError(t, err)
	w.must("CREATE (:P {k: 1})")
	res, err := w.e.Query(t.Context(), query.Request{Statement: "EXPLAIN USE neo4j AS OF '" + here + "' MATCH (n) RETURN n"})
	require.NoError(t, err)
	defer res.Close()
	require.Contains(t, res.Summary().Plan.Args, fmt.Sprintf("as of commit %d; vectors and texts by exact search", st.Last))
}

// A fetch reads the moment of its context.
func TestFetch(t *testing.T) {
	w := open(t)
	w.must("CREATE (:P {k: 0})")
	here, _ := w.now()
	w.must("MATCH (n) SET n.k = 1")
	for at, want := range map[string]string{here: `"k":0`, "": `"k":1`} {
		ctx, err := asof.With(t.Context(), "at", at)
		require.NoError(t, err)
		var out strings.Builder
		code, err := w.e.Fetch(ctx, query.FetchRequest{Method: "get", Body: []byte(`{"P": {"k>=": 0}}`)}, &out)
		require.NoError(t, err)
		require.Equal(t, 200, code, out.String())
		require.Contains(t, out.String(), want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "AQx_", "2026-03-01T12:00:00Z", "+999999999-01-01T00:00Z", "-5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := asof.Parse("at", text)
		require.Equal(t, err == nil, m != nil)
		if err != nil {
			require.Equal(t, asof.Invalid, graph.AsError(err).Detail)
		}
	})
}

// Named snapshots are read until they expire or are dropped, however small the log is.
func TestSnapshots(t *testing.T) {
	w := open(t)
	w.must("CREATE (:P {k: 0})")
	here, _ := w.now()
	w.must("CREATE SNAPSHOT a")
	w.must("CREATE SNAPSHOT a IF NOT EXISTS EXPIRES 'P1D'")
	w.must("MATCH (n) SET n.k = 1")
	params := map[string]graph.Value{"s": graph.StringValue("b c"), "d": graph.StringValue("2199-01-01T00:00:00Z"), "a": graph.StringValue("a")}
	_, err := w.run(t.Context(), "CREATE SNAPSHOT $s EXPIRES datetime($d)", params)
	require.NoError(t, err)
	w.must("CREATE SNAPSHOT d EXPIRES duration({days: 1})")
	w.must("DROP SNAPSHOT d")
	w.must("CREATE SNAPSHOT d EXPIRES duration('P1M')")
	w.must("MATCH (n) SET n.k = 2")
	require.Equal(t, []string{"Int 0"}, w.must("USE neo4j AS OF SNAPSHOT a MATCH (n) RETURN n.k"))
	require.Equal(t, []string{"Int 0"}, w.must("USE neo4j AS OF 'snapshot:a' MATCH (n) RETURN n.k"))
	require.Equal(t, []string{"Int 1"}, w.must("USE neo4j FOR SYSTEM_TIME AS OF SNAPSHOT `b c` MATCH (n) RETURN n.k"))
	rows, err := w.run(t.Context(), "USE neo4j AS OF SNAPSHOT $a MATCH (n) RETURN n.k", params)
	require.NoError(t, err)
	require.Equal(t, []string{"Int 0"}, rows)
	ctx, err := asof.With(t.Context(), "at", "snapshot:b c")
	require.NoError(t, err)
	rows, err = w.run(ctx, "MATCH (n) RETURN n.k", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"Int 1"}, rows)
	require.Equal(t, []string{
		`"a" "ONLINE" Bool true Bool true`, `"b c" "ONLINE" Bool false Bool true`, `"d" "ONLINE" Bool false Bool true`,
	}, w.must("SHOW SNAPSHOTS YIELD name, state, expires, logBytes RETURN name, state, expires IS NULL, logBytes > 0"))
	require.Equal(t, []string{`"` + here + `"`}, w.must("SHOW SNAPSHOTS YIELD name, token WHERE name = 'a' RETURN token"))

	for text, detail := range map[string]string{
		"CREATE SNAPSHOT a": named.Exists,
		"CREATE SNAPSHOT e EXPIRES '2000-01-01T00:00:00Z'":      named.Invalid,
		"CREATE SNAPSHOT e EXPIRES 'P0D'":                       named.Invalid,
		"CREATE SNAPSHOT e EXPIRES 'soon'":                      named.Invalid,
		"CREATE SNAPSHOT e EXPIRES 'P9999999Y'":                 named.Invalid,
		"DROP SNAPSHOT e":                                       named.NotFound,
		"USE neo4j AS OF SNAPSHOT e RETURN 1":                   named.NotFound,
		"USE neo4j AS OF 'snapshot:' RETURN 1":                  asof.Invalid,
		"EXPLAIN USE neo4j AS OF SNAPSHOT e MATCH (n) RETURN n": named.NotFound,
		"ALTER DATABASE neo4j SET OPTION txLogEnrichment 'OFF'": "SnapshotsHoldLog",
	} {
		_, err := w.run(t.Context(), text, nil)
		require.Error(t, err, text)
		require.Equal(t, detail, graph.AsError(err).Detail, "%s: %v", text, err)
	}
	_, err = w.run(ctx, "CREATE SNAPSHOT e", nil)
	require.Equal(t, "AsOfIsReadOnly", graph.AsError(err).Detail)
	w.must("DROP SNAPSHOT e IF EXISTS")

	// Beyond the bounds of the log.
	for range 30 {
		w.must("UNWIND range(1, 1000) AS i CREATE (:Q {text: 'something that is longer than a number'})")
	}
	tokens := w.must("SHOW SNAPSHOTS YIELD token RETURN token")
	require.Len(t, tokens, 3)
	for _, name := range []string{"a", "`b c`", "d"} {
		require.Equal(t, []string{"Int 1"}, w.must("USE neo4j AS OF SNAPSHOT "+name+" MATCH (n) RETURN count(*)"))
	}
	cut := func() uint64 {
		require.NoError(t, w.g.ChangeLog().(*commitlog.Log).Cut())
		st, err := w.g.ChangeLog().LogState(t.Context())
		require.NoError(t, err)
		if first := st.Bytes - st.FirstBytes; first > 1<<20 {
			return st.First
		}
		return 0
	}
	first := cut()
	require.NotZero(t, first, "the log has more than its bounds")
	w.must("DROP SNAPSHOT a")
	require.Greater(t, cut(), first)
	require.Equal(t, []string{"Int 1"}, w.must("USE neo4j AS OF SNAPSHOT d MATCH (n) RETURN n.k"))
	tx, err := w.e.Begin(t.Context(), query.TxOptions{})
	require.NoError(t, err)
	for _, name := range []string{"d", "`b c`"} {
		res, err := tx.Run(t.Context(), query.Request{Statement: "DROP SNAPSHOT " + name})
		require.NoError(t, err)
		res.Close()
	}
	err = tx.Commit(t.Context())
	require.NoError(t, err)
	require.Empty(t, w.must("SHOW SNAPSHOTS"))
	require.Zero(t, cut(), "nothing holds the log any more")
	_, err = w.run(t.Context(), "USE neo4j AS OF '"+here+"' RETURN 1", nil)
	require.Equal(t, "ChangeLogTooOld", graph.AsError(err).Detail)
}

// What is kept of the past takes its memory from that of all statements, and gives it up before one of them is ended.
func TestMemory(t *testing.T) {
	opts := localtest.Options(rand.New(rand.NewPCG(1, 2)), 2)
	opts.FS, opts.LogBytes = vfs.NewMem(), 1<<30
	s, err := local.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	g, err := s.Graph(query.DefaultGraph)
	require.NoError(t, err)
	kept := past.NewStore(s, past.DefaultBytes)
	w := &world{t, query.New(restricted.NewStore(kept), query.Options{PoolBytes: 8 << 20, Past: kept}), g}
	w.must("CREATE (:P)")
	here, _ := w.now()
	for range 10 {
		w.must("UNWIND range(1, 2500) AS i CREATE (:Q)")
	}
	const large = "UNWIND range(1, 300000) AS i WITH collect(i) AS all RETURN size(all)"
	w.must(large)
	require.Equal(t, []string{"Int 1"}, w.must("USE neo4j AS OF '"+here+"' MATCH (n) RETURN count(*)"))
	w.must(large)
	freed := kept.Forget(1)
	require.Zero(t, freed, "it gave way to the statement")
	w.must("USE neo4j AS OF '" + here + "' MATCH (n) RETURN count(*)")
	require.Greater(t, kept.Forget(1), 2<<20)
}
