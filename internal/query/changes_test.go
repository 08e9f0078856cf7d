package query

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// newLogged returns an engine over a store that keeps the logs of its graphs, up to so many bytes.
func newLogged(t testing.TB, bytes int64) *Engine {
	e, closeStore := openLogged(t, t.TempDir(), bytes)
	t.Cleanup(closeStore)
	return e
}

func openLogged(t testing.TB, dir string, bytes int64) (e *Engine, closeStore func()) {
	store, err := local.Open(local.Options{Dir: dir, Shards: 2, LogBytes: bytes, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return New(restricted.NewStore(store), Options{}), func() { require.NoError(t, store.Close()) }
}

// changesOf returns the events of a graph as JSON, up to the end of its log, and the token after them.
func changesOf(t testing.TB, e *Engine, name string, req changes.Request) (lines []string, token string, err error) {
	req.Bounded = true
	s, err := e.Changes(t.Context(), name, req)
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	for {
		es, err := s.Next(t.Context(), 0, 3)
		if err != nil || len(es) == 0 {
			return lines, s.Token(), err
		}
		for i := range es {
			lines = append(lines, string(es[i].AppendJSON(nil)))
		}
	}
}

// normal replaces what differs from run to run: tokens, times and the numbers of transactions.
func normal(text string) string {
	text = regexp.MustCompile(`"id":"[\w-]{40,}"`).ReplaceAllString(text, `"id":"…"`)
	text = regexp.MustCompile(`Time":"[^"]*"`).ReplaceAllString(text, `Time":"…"`)
	txs := map[string]string{}
	return regexp.MustCompile(`"txId":\d+`).ReplaceAllStringFunc(text, func(id string) string {
		if txs[id] == "" {
			txs[id] = fmt.Sprintf(`"txId":"%c"`, 'A'+len(txs))
		}
		return txs[id]
	})
}

// TestChanges runs statements and prints what the log has of them: the events after the last ones, or those of a snapshot. With metadata, whole
// events are printed, otherwise their transaction, seq and event. Each file begins with an empty store.
func TestChanges(t *testing.T) {
	datadriven.Walk(t, "testdata/changes", func(t *testing.T, path string) {
		e := newLogged(t, 64<<20)
		_, from, err := changesOf(t, e, "", changes.Request{From: changes.Current})
		require.NoError(t, err)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := ""
			d.MaybeScanArgs(t, "graph", &name)
			switch d.Cmd {
			case "run":
				return e.show(Request{Graph: name, Statement: d.Input, Params: map[string]graph.Value{"from": graph.StringValue(from)}}, true)
			case "metadata":
				ctx := WithSession(access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Every: access.Admin}),
					&Session{Protocol: "bolt-tls", Address: "10.0.0.7:52044", Server: "10.0.0.2:7687"})
				_, err := rowsOf(e.Query(ctx, Request{Statement: d.Input, Metadata: graph.MapValue([]graph.MapEntry{{Key: "app", Value: graph.StringValue("shop")}})}))
				require.NoError(t, err)
			}
			req := changes.Request{From: from}
			d.MaybeScanArgs(t, "from", &req.From)
			req.Selectors, err = changes.ParseSelectorsJSON([]byte(strings.TrimSpace(d.Input)))
			if d.Cmd == "metadata" {
				req.Selectors, err = changes.Selectors{}, nil
			}
			require.NoError(t, err)
			lines, token, err := changesOf(t, e, name, req)
			if err != nil {
				return graph.AsError(err).Detail + ": " + err.Error() + "\n"
			}
			from = token
			out := normal(strings.Join(append(lines, ""), "\n"))
			if d.Cmd != "metadata" {
				out = regexp.MustCompile(`(?m)^.*?"txId":"(.)","seq":(\d+)(,"last":true)?,"metadata".*?,"event":(.*)}$`).ReplaceAllString(out, `$1/$2$3 $4`)
				out = strings.ReplaceAll(out, `,"last":true`, " last")
			}
			return out
		})
	})
}

// TestNoLog shows what a server without a log answers.
func TestNoLog(t *testing.T) {
	e := newLogged(t, 0)
	for _, statement := range []string{
		"CALL db.cdc.current()", "CALL db.cdc.query()", "ALTER DATABASE neo4j SET OPTION txLogEnrichment 'DIFF'", "CREATE DATABASE g OPTIONS {txLogEnrichment: 'FULL'}",
	} {
		_, err := e.rows(Request{Statement: statement})
		require.Equal(t, "ChangeLogOff", graph.AsError(err).Detail, statement)
	}
	must(t, e, "ALTER DATABASE neo4j SET OPTION txLogEnrichment 'OFF'")
	require.Equal(t, []string{"[{txLogEnrichment: 'OFF'}]"}, must(t, e, "SHOW DATABASE neo4j YIELD options"))
}

// TestChangesUnderRules shows that rules keep their callers from the log, also those that come while a stream is open.
func TestChangesUnderRules(t *testing.T) {
	e := newLogged(t, 64<<20)
	reader := access.WithIdentity(t.Context(), &access.Identity{Name: "eve", Graph: map[string]access.Role{DefaultGraph: access.Reader}})
	nobody := access.WithIdentity(t.Context(), &access.Identity{Name: "joe"})
	query := func(ctx context.Context) error {
		_, err := rowsOf(e.Query(ctx, Request{Statement: "CALL db.cdc.query('earliest')"}))
		return err
	}
	must(t, e, "CREATE (:A {secret: 1}), (:A {secret: 2})")
	require.NoError(t, query(reader))
	require.Equal(t, graph.KindDenied, graph.AsError(query(nobody)).Kind)
	s, err := e.Changes(reader, "", changes.Request{From: changes.Earliest})
	require.NoError(t, err)
	defer s.Close()
	es, err := s.Next(reader, 0, 1)
	require.NoError(t, err)
	require.Len(t, es, 1)

	must(t, e, "DENY READ {secret} ON GRAPH default NODES A TO reader")
	_, err = s.Next(reader, 0, 1)
	require.Equal(t, "Rules", graph.AsError(err).Detail)
	require.Equal(t, "Rules", graph.AsError(query(reader)).Detail)
	_, err = e.Changes(reader, "", changes.Request{})
	require.Equal(t, "Rules", graph.AsError(err).Detail)
	require.NoError(t, query(t.Context()))
}

// TestChangesOfConcurrentCommits shows that transactions that are committed together stay apart, in the order of their commits, with what was
// before each.
func TestChangesOfConcurrentCommits(t *testing.T) {
	e := newLogged(t, 64<<20)
	must(t, e, "CREATE (:Counter {n: 0})")
	_, from, err := changesOf(t, e, "", changes.Request{From: changes.Current})
	require.NoError(t, err)
	const workers, each = 8, 20
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				must(t, e, "MATCH (c:Counter) SET c.n = c.n + 1 CREATE (:Made)")
			}
		})
	}
	all.Wait()
	s, err := e.Changes(t.Context(), "", changes.Request{From: from, Bounded: true})
	require.NoError(t, err)
	defer s.Close()
	n, tx := 0, int64(0)
	for {
		es, err := s.Next(t.Context(), 0, 0)
		require.NoError(t, err)
		if len(es) == 0 {
			break
		}
		for i := range es {
			ev := &es[i]
			require.Equal(t, ev.Seq == 1, ev.Last)
			if ev.Seq == 0 {
				require.Greater(t, ev.TxID, tx)
				tx = ev.TxID
			}
			require.Equal(t, tx, ev.TxID)
			if ev.Op == changes.Update {
				require.Equal(t, fmt.Sprintf(`{"n":%d} {"n":%d}`, n, n+1), string(ev.AppendProperties(nil, false))+" "+string(ev.AppendProperties(nil, true)))
				n++
			}
		}
	}
	require.Equal(t, workers*each, n)
}

// TestTokensOutliveTheServer shows that a token continues after a restart and changes of other graphs, and that a graph that is made again
// refuses those of the former one.
func TestTokensOutliveTheServer(t *testing.T) {
	dir := t.TempDir()
	e, closeStore := openLogged(t, dir, 64<<20)
	must(t, e, "CREATE DATABASE g")
	must(t, e, "CREATE DATABASE other")
	rows, err := e.rows(Request{Graph: "g", Statement: "UNWIND range(1, 5) AS x CREATE (:A {x: x})"})
	require.NoError(t, err)
	require.Empty(t, rows)
	s, err := e.Changes(t.Context(), "g", changes.Request{From: changes.Earliest})
	require.NoError(t, err)
	es, err := s.Next(t.Context(), 0, 2) // within a transaction
	require.NoError(t, err)
	require.Len(t, es, 2)
	from := s.Token()
	s.Close()
	closeStore()

	e, closeStore = openLogged(t, dir, 64<<20)
	defer func() { closeStore() }()
	must(t, e, "DROP DATABASE other")
	must(t, e, "CREATE DATABASE other")
	_, err = e.rows(Request{Graph: "g", Statement: "CREATE (:A {x: 6})"})
	require.NoError(t, err)
	lines, _, err := changesOf(t, e, "g", changes.Request{From: from})
	require.NoError(t, err)
	require.Len(t, lines, 4)
	for i, line := range lines {
		require.Contains(t, line, fmt.Sprintf(`"properties":{"x":%d}`, i+3))
	}
	_, _, err = changesOf(t, e, "other", changes.Request{From: from})
	require.Equal(t, changes.OtherGraph, graph.AsError(err).Detail)
	must(t, e, "CREATE OR REPLACE DATABASE g")
	_, _, err = changesOf(t, e, "g", changes.Request{From: from})
	require.Equal(t, changes.OtherGraph, graph.AsError(err).Detail)
}

// TestAlterGraphInTransactions shows that the option is set when its transaction commits, by an admin of all graphs.
func TestAlterGraphInTransactions(t *testing.T) {
	e := newLogged(t, 64<<20)
	mode := func() string { return must(t, e, "SHOW DATABASE neo4j YIELD options")[0] }
	tx := begin(t, e, TxOptions{})
	tx.must(t, "ALTER DATABASE neo4j SET OPTION txLogEnrichment 'FULL'")
	require.Equal(t, "[{txLogEnrichment: 'DIFF'}]", mode())
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, "[{txLogEnrichment: 'FULL'}]", mode())
	for _, statement := range []string{"ALTER DATABASE nothing SET OPTION txLogEnrichment 'FULL'", "ALTER DATABASE neo4j SET OPTION txLogEnrichment 'MORE'"} {
		tx = begin(t, e, TxOptions{})
		_, err := rowsOf(tx.Run(t.Context(), Request{Statement: statement}))
		require.Error(t, err)
		tx.Rollback()
	}
	admin := access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Graph: map[string]access.Role{DefaultGraph: access.Admin}})
	_, err := rowsOf(e.Query(admin, Request{Statement: "ALTER DATABASE neo4j SET OPTION txLogEnrichment 'OFF'"}))
	require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
	require.Equal(t, "[{txLogEnrichment: 'FULL'}]", mode())
}

// TestChangesOfLoads shows that what a batch of a load writes are events of one transaction, with keys, or a gap with counts if it is kept out
// of the log.
func TestChangesOfLoads(t *testing.T) {
	e := newLogged(t, 64<<20)
	must(t, e, "CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS NODE KEY")
	must(t, e, "CREATE (:P {id: 1, x: 1})-[:T]->(:Q)")
	_, from, err := changesOf(t, e, "", changes.Request{From: changes.Current})
	require.NoError(t, err)
	g, err := e.store.Graph(DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	p, err := tx.Label("P")
	require.NoError(t, err)
	labels, err := tx.LabelSet([]graph.LabelID{p})
	require.NoError(t, err)
	id, _ := g.Prop("id")
	x, _ := g.Prop("x")
	typ, _ := g.Type("T")
	tx.Rollback()
	keys := []graph.Value{graph.IntValue(1), graph.IntValue(2)}
	at := slices.IndexFunc(g.Indexes(), func(ix graph.Index) bool { return ix.Unique })
	space := g.Indexes()[at].ID
	require.NoError(t, g.Load(t.Context(), &shard.Load{
		Vertices: []shard.LoadVertices{{
			Labels: labels, Space: space, Keys: keys, Action: shard.Upsert,
			Props: []shard.LoadColumn{{Prop: id, Values: keys}, {Prop: x, Values: []graph.Value{graph.IntValue(10), graph.IntValue(20)}}},
		}},
		Edges: []shard.LoadEdges{{Type: typ, SrcSpace: space, DstSpace: space, Src: keys[:1], Dst: keys[1:]}},
	}))
	lines, from, err := changesOf(t, e, "", changes.Request{From: from})
	require.NoError(t, err)
	require.Len(t, lines, 3)
	for i, want := range []string{
		`"operation":"u","labels":["P"],"keys":{"P":[{"id":1}]},"state":{"before":{"labels":[],"properties":{"x":1}},"after":{"labels":[],"properties":{"x":10}}}`,
		`"operation":"c","labels":["P"],"keys":{"P":[{"id":2}]},"state":{"before":null,"after":{"labels":["P"],"properties":{"id":2,"x":20}}}`,
		`"type":"T","keys":[],"start":{"elementId":"v0:0","labels":["P"],"keys":{"P":[{"id":1}]}},"end":{"elementId":"`,
	} {
		require.Contains(t, lines[i], want)
		require.Contains(t, lines[i], fmt.Sprintf(`"seq":%d,`, i))
	}
	require.NoError(t, g.Load(t.Context(), &shard.Load{
		Unlogged: true, Vertices: []shard.LoadVertices{{Labels: labels, Space: space, Keys: keys, Action: shard.Delete}},
	}))
	lines, _, err = changesOf(t, e, "", changes.Request{From: from})
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `"seq":0,"last":true,`)
	require.Contains(t, lines[0], `"event":{"eventType":"g","operation":"g","nodes":{"created":0,"updated":0,"deleted":2},"relationships":{"created":0,"updated":0,"deleted":2}}}`)
}
