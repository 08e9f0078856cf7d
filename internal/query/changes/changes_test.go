package changes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
)

// open opens a stream that is closed at the end of the test.
func (g *logged) open(req changes.Request) *changes.Stream {
	g.t.Helper()
	req.Graph = "default"
	s, err := changes.Open(g.t.Context(), g, req)
	require.NoError(g.t, err)
	g.t.Cleanup(s.Close)
	return s
}

// all returns the events from a position to the end of the log as JSON, at most so many at once.
func (g *logged) all(from string, most int, selectors changes.Selectors) (lines, tokens []string) {
	s := g.open(changes.Request{From: from, Selectors: selectors, Bounded: true})
	for {
		es, err := s.Next(g.t.Context(), 0, most)
		require.NoError(g.t, err)
		if len(es) == 0 {
			return lines, tokens
		}
		for i := range es {
			lines = append(lines, string(es[i].AppendJSON(nil)))
			tokens = append(tokens, es[i].ID())
		}
		if !s.InSnapshot() {
			rest, _ := changes.Open(g.t.Context(), g, changes.Request{Graph: "default", From: s.Token()})
			require.NotNil(g.t, rest)
			rest.Close()
		}
	}
}

// short describes events by operation, element and numbers.
func short(es []changes.Event) (out []string) {
	for i := range es {
		e := &es[i]
		s := fmt.Sprintf("%d/%d %c %s", e.TxID, e.Seq, e.Op, e.AppendElementID(nil))
		if e.Last {
			s += " last"
		}
		out = append(out, s)
	}
	return out
}

func (g *logged) create(v int, labels []string, props ...any) changelog.Change {
	return changelog.Change{Op: changelog.Created, Vertex: graph.VertexID(v), After: changelog.State{Labels: g.labels(labels...), Props: g.props(props...)}}
}

func (g *logged) remove(v int, labels ...string) changelog.Change {
	return changelog.Change{Op: changelog.Deleted, Vertex: graph.VertexID(v), Before: changelog.State{Labels: g.labels(labels...)}}
}

func (g *logged) edge(op changelog.Op, id, src, dst int, typ string) changelog.Change {
	return changelog.Change{
		Op: op, IsEdge: true, Edge: graph.Edge{ID: graph.EdgeID(id), Src: graph.VertexID(src), Dst: graph.VertexID(dst), Type: g.typ(typ)},
		Src: changelog.End{Labels: g.labels("A")}, Dst: changelog.End{Labels: g.labels("B")},
	}
}

// change changes one property.
func (g *logged) change(v int, prop string, before, after any, labels ...string) changelog.Change {
	set := g.labels(labels...)
	return changelog.Change{
		Op: changelog.Changed, Vertex: graph.VertexID(v), Before: changelog.State{Labels: set, Props: g.props(prop, before)}, After: changelog.State{Labels: set, Props: g.props(prop, after)},
	}
}

func of(tx int, cs ...changelog.Change) []changelog.Change {
	for i := range cs {
		cs[i].Tx = tx
	}
	return cs
}

// TestOrder shows that the events of a transaction can be applied one by one, and that transactions that are committed together stay apart.
func TestOrder(t *testing.T) {
	g := newGraph(t)
	g.log.commit(nil, slices.Concat(
		of(0, g.edge(changelog.Created, 9, 1, 2, "T"), g.create(1, []string{"A"}), g.remove(3, "A"), g.edge(changelog.Deleted, 8, 3, 4, "T"), g.create(2, []string{"B"})),
		of(1, g.create(7, nil)),
		of(0, g.change(1, "x", graph.Value{}, 1, "A"), g.change(5, "x", 1, 2, "A")), // of another shard
	)...)
	s := g.open(changes.Request{From: changes.Earliest})
	es, err := s.Next(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, []string{
		"256/0 d e0:8:3:4:1", "256/1 d v0:3", "256/2 c v0:1", "256/3 c v0:2", "256/4 u v0:5", "256/5 c e0:9:1:2:1 last", "257/0 c v0:7 last",
	}, short(es))
}

// random fills a log with commits of some transactions, and drops the first ones.
func random(t *testing.T, seed uint64) *logged {
	g := newGraph(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 12 {
		var cs []changelog.Change
		txs := 1 + r.IntN(3)
		for tx := range txs {
			for range r.IntN(5) {
				v := r.IntN(6)
				switch r.IntN(5) {
				case 0:
					cs = append(cs, of(tx, g.create(v, []string{"A"}, "x", r.IntN(3)))...)
				case 1:
					cs = append(cs, of(tx, g.remove(v, "A"))...)
				case 2:
					cs = append(cs, of(tx, g.edge(changelog.Created, r.IntN(9), v, v, "T"))...)
				case 3:
					cs = append(cs, of(tx, changelog.Change{Counts: [6]uint64{1, 2, 3, 4, 5, 6}})...)
				default:
					cs = append(cs, of(tx, g.change(v, "x", r.IntN(2), r.IntN(2), "B"))...)
				}
			}
		}
		g.log.commit(make([]changelog.Origin, txs), cs...)
	}
	g.log.drop(r.IntN(3))
	return g
}

// TestResume shows that a stream from any token gives what follows there, with any size of batch and any selectors.
func TestResume(t *testing.T) {
	for seed := range uint64(4) {
		g := random(t, seed)
		for _, text := range []string{"", `[{"select":"n"}]`, `[{"select":"r"},{"select":"n","operation":"u"}]`, `[{"select":"n","changesTo":["x"],"labels":["A"]}]`} {
			selectors, err := changes.ParseSelectorsJSON([]byte(text))
			require.NoError(t, err)
			lines, tokens := g.all(changes.Earliest, 1+int(seed%7), selectors)
			again, _ := g.all(changes.Earliest, 1000, selectors)
			require.Equal(t, lines, again)
			for i, from := range tokens {
				rest, _ := g.all(from, 3, selectors)
				require.Equal(t, append([]string{}, lines[i+1:]...), append([]string{}, rest...), from)
			}
		}
	}
}

func detail(err error) string {
	e := (*graph.Error)(nil)
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return e.Detail
}

func TestTokens(t *testing.T) {
	g := newGraph(t)
	for v := range 4 {
		g.log.commit(nil, g.create(v, nil), g.create(v+10, nil))
	}
	_, tokens := g.all(changes.Earliest, 0, changes.Selectors{})
	require.Len(t, tokens, 8)
	from := func(text string) error {
		s, err := changes.Open(t.Context(), g, changes.Request{Graph: "default", From: text})
		if err == nil {
			s.Close()
		}
		return err
	}
	for _, text := range append(tokens, changes.Earliest, changes.Current, "") {
		require.NoError(t, from(text))
	}
	for _, text := range []string{"latest", tokens[0][1:], tokens[0] + "A", tokens[0][:20] + "B" + tokens[0][21:]} {
		err := from(text)
		require.Equal(t, changes.Malformed, detail(err))
		require.Equal(t, "Neo.ClientError.ChangeDataCapture.InvalidIdentifier", graph.AsError(err).Code)
		require.Contains(t, err.Error(), "from=snapshot")
	}

	// The first two commits are dropped: only what is after the second one can be read.
	g.log.drop(2)
	for i, want := range []string{changes.TooOld, changes.TooOld, changes.TooOld} {
		err := from(tokens[i])
		require.Equal(t, want, detail(err), i)
		require.Equal(t, graph.KindNotFound, graph.AsError(err).Kind)
		require.Equal(t, "Neo.ClientError.ChangeDataCapture.InvalidIdentifier", graph.AsError(err).Code) // at which @neo4j/graphql begins again
		require.Contains(t, err.Error(), "db.cdc.earliest()")
	}
	for _, text := range tokens[3:] {
		require.NoError(t, from(text))
	}
	require.NoError(t, from(changes.Earliest))

	// A log that was restored to an earlier moment, and continued otherwise.
	signer := token.NewSigner(g.log.state.Key)
	for commit := uint64(2); commit <= 4; commit++ {
		text := signer.Text(token.Token{Commit: commit, Time: start + int64(commit-1)*int64(time.Second)})
		require.NoError(t, from(text))
		text = signer.Text(token.Token{Commit: commit, Time: start + int64(commit-1)*int64(time.Second) + 1})
		require.Equal(t, changes.OtherHistory, detail(from(text)))
	}
	require.Equal(t, changes.OtherHistory, detail(from(signer.Text(token.Token{Commit: 5, Time: start}))))
	require.Equal(t, changes.Expired, detail(from(signer.Text(token.Token{Commit: 4, Time: start, Expires: 1}))))

	g.log.state.Key[0]++
	require.Equal(t, changes.OtherGraph, detail(from(tokens[7])))

	require.NoError(t, g.log.SetLogMode(t.Context(), changelog.Off))
	require.Equal(t, changes.Off, detail(from(changes.Earliest)))
	g.off = true
	require.Equal(t, changes.Off, detail(from(changes.Earliest)))
}

// TestSlowReader shows that a reader keeps a chunk of the log at most, and learns that the log has dropped what it needs.
func TestSlowReader(t *testing.T) {
	g := newGraph(t)
	long := strings.Repeat("x", 10_000)
	for v := range 1000 {
		g.log.commit(nil, g.create(v, nil, "p", long))
	}
	s := g.open(changes.Request{From: changes.Earliest})
	n := 0
	for {
		es, err := s.Next(t.Context(), 0, 7)
		require.NoError(t, err)
		if n += len(es); len(es) == 0 {
			break
		}
	}
	require.Equal(t, 1000, n)
	require.LessOrEqual(t, g.log.largest, 1<<20)

	g.log.commit(nil, g.create(1, nil))
	g.log.commit(nil, g.create(2, nil))
	g.log.drop(1001)
	_, err := s.Next(t.Context(), 0, 7)
	require.Equal(t, changes.TooOld, detail(err))
}

// room is memory of which a reader may hold so much.
type room struct{ left, held, most int }

func (r *room) Grow(bytes int) error {
	if bytes > r.left-r.held {
		return graph.OutOfMemory("no room for %d bytes", bytes)
	}
	r.held += bytes
	r.most = max(r.most, r.held)
	return nil
}

func (r *room) Release() { r.held = 0 }

// A large commit takes memory while it is read. Without room for it, the stream fails, and goes on once there is.
func TestMemory(t *testing.T) {
	g := newGraph(t)
	long := strings.Repeat("x", 10_000)
	var all []changelog.Change
	for v := range 1000 {
		all = append(all, g.create(v, nil, "p", long))
	}
	g.log.commit(nil, g.create(1000, nil))
	g.log.commit(nil, all...)
	g.log.commit(nil, g.create(1001, nil))
	r := &room{left: 1 << 20}
	s := g.open(changes.Request{From: changes.Earliest, Memory: r})
	n := 0
	for range 2 {
		for {
			es, err := s.Next(t.Context(), 0, 100)
			if err != nil {
				require.Equal(t, "OutOfMemory", detail(err))
				break
			}
			if n += len(es); len(es) == 0 {
				break
			}
		}
		require.Contains(t, []int{1, 1002}, n)
		r.left = 64 << 20
	}
	require.Equal(t, 1002, n)
	require.Greater(t, r.most, 10_000_000)
	require.Zero(t, r.held, "all of it has been read")
	s.Close()
}

// TestCatalogBehind shows that a stream catches up with the catalog, as in a gateway whose leader has a new name.
func TestCatalogBehind(t *testing.T) {
	g := newGraph(t)
	s := g.open(changes.Request{From: changes.Earliest})
	g.log.commit(nil, g.create(1, nil, "new", 1))
	g.behind = true
	es, err := s.Next(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, `{"new":1}`, string(es[0].AppendProperties(nil, true)))
}

// TestDamage shows that the events before a damaged commit are not lost, and that the stream does not pass it.
func TestDamage(t *testing.T) {
	g := newGraph(t)
	g.log.commit(nil, g.create(1, nil))
	g.log.commit(nil, g.create(2, nil))
	g.log.commits[1][len(g.log.commits[1])-1] ^= 0xff
	s := g.open(changes.Request{From: changes.Earliest})
	es, err := s.Next(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"256/0 c v0:1 last"}, short(es))
	at := s.Token()
	for range 2 {
		_, err = s.Next(t.Context(), 0, 0)
		require.Equal(t, graph.KindCorrupt, graph.AsError(err).Kind)
		require.Equal(t, at, s.Token())
	}
}

// TestWaiting shows that a stream waits for events, says its position when none comes, and goes on after the end of a context.
func TestWaiting(t *testing.T) {
	g := newGraph(t)
	only, err := changes.ParseSelectorsJSON([]byte(`[{"select":"r"}]`))
	require.NoError(t, err)
	s := g.open(changes.Request{Selectors: only})
	es, err := s.Next(t.Context(), time.Millisecond, 0)
	require.NoError(t, err)
	require.Empty(t, es)
	before := s.Token()
	g.log.commit(nil, g.create(1, nil))
	es, err = s.Next(t.Context(), time.Millisecond, 0)
	require.NoError(t, err)
	require.Empty(t, es)
	require.NotEqual(t, before, s.Token())

	// A stream that passes much over says where it is, and reads at least a chunk each time.
	for v := range 200 {
		g.log.commit(nil, g.create(v, nil, "p", strings.Repeat("x", 50_000)))
	}
	current, err := changes.Position(t.Context(), g, changes.Request{Graph: "default"})
	require.NoError(t, err)
	for s.Token() != current {
		before := s.Token()
		es, err = s.Next(t.Context(), time.Nanosecond, 0)
		require.NoError(t, err)
		require.Empty(t, es)
		require.NotEqual(t, before, s.Token())
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Next(ctx, time.Hour, 0)
	require.ErrorIs(t, err, context.Canceled)
	e := g.edge(changelog.Created, 1, 1, 1, "T")
	go func() { g.log.commit(nil, e) }()
	es, err = s.Next(t.Context(), time.Hour, 0)
	require.NoError(t, err)
	require.Len(t, es, 1)
	require.Equal(t, es[0].ID(), s.Token())
}

// TestSnapshot shows that a stream from a snapshot gives the vertices, the edges and then the changes, without a hole.
func TestSnapshot(t *testing.T) {
	g := newGraph(t)
	g.log.commit(nil, g.create(1, nil)) // before the snapshot
	tx, err := g.Graph.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	const n = 700
	ms := make([]shard.Mutation, n)
	for i := range ms {
		ms[i] = shard.Mutation{Op: shard.CreateVertex, Labels: g.labels("A"), Props: g.props("x", i)}
	}
	require.NoError(t, tx.Apply(t.Context(), ms))
	es := make([]shard.Mutation, n)
	for i := range es {
		es[i] = shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[i].Vertex, Dst: ms[0].Vertex, Type: g.typ("T")}, Props: g.props("y", i)}
	}
	require.NoError(t, tx.Apply(t.Context(), es))
	require.NoError(t, tx.Commit(t.Context()))

	for _, most := range []int{0, 1, 99, 2 * n} {
		s := g.open(changes.Request{From: changes.Snapshot})
		require.True(t, s.InSnapshot())
		var got []string
		var ids []string
		seen := map[string]bool{}
		g.log.commit(nil, g.create(n+1, nil))
		for len(got) < 2*n+1 {
			events, err := s.Next(t.Context(), 0, most)
			require.NoError(t, err)
			require.NotEmpty(t, events)
			got = append(got, short(events)...)
			for i := range events {
				ids = append(ids, events[i].ID())
				seen[string(events[i].AppendElementID(nil))] = true
			}
		}
		require.Len(t, seen, 2*n+1)
		for i := range got {
			want := fmt.Sprintf("0/%d r v", i)
			switch {
			case i == 2*n:
				want = "c v"
			case i >= n:
				want = fmt.Sprintf("0/%d r e", i)
			}
			require.Contains(t, got[i], want)
			require.Equal(t, i >= 2*n-1, strings.HasSuffix(got[i], " last"), got[i])
		}
		require.False(t, s.InSnapshot())

		again := g.open(changes.Request{From: ids[n]}) // the snapshot begins again
		require.True(t, again.InSnapshot())
		events, err := again.Next(t.Context(), 0, 1)
		require.NoError(t, err)
		require.Contains(t, short(events)[0], "0/0 r")
		again.Close()
		after := g.open(changes.Request{From: ids[2*n-1]}) // the snapshot is done
		events, err = after.Next(t.Context(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, got[2*n], short(events)[0])
	}

	edges, err := changes.ParseSelectorsJSON([]byte(`[{"select":"r","operation":"c","changesTo":["y"],"start":{"labels":["A"]}}]`))
	require.NoError(t, err)
	lines, _ := g.all(changes.Snapshot, 64, edges)
	require.Len(t, lines, n)
	require.Contains(t, lines[n-1], `"last":true`)
	require.Contains(t, lines[0], `"keys":[],"start":{"elementId":"v`)
	none, err := changes.ParseSelectorsJSON([]byte(`[{"select":"e","operation":"d"}]`))
	require.NoError(t, err)
	lines, _ = g.all(changes.Snapshot, 64, none)
	require.Empty(t, lines)
}

func TestSelectors(t *testing.T) {
	g := newGraph(t)
	require.NoError(t, g.CreateIndex(t.Context(), graph.Index{Name: "k", Label: "Person", Props: []string{"id"}, Unique: true, Required: true, Indexed: true}))
	id := g.props("id", 7)
	made := g.create(1, []string{"Person"}, "id", 7, "name", "Ann")
	made.Keys = id
	named := g.change(1, "name", "Ann", "Eve", "Person")
	named.Keys = id
	labelled := named
	labelled.Vertex, labelled.After.Labels = 3, g.labels("Person", "Boss")
	gone := g.remove(2, "Dog")
	knows := g.edge(changelog.Created, 5, 1, 2, "KNOWS")
	knows.Src = changelog.End{Labels: g.labels("Person"), Keys: id}
	full := g.change(4, "name", "x", "x", "Cat")
	full.Full = true
	full.Before.Props, full.After.Props = g.props("age", 1, "name", "x"), g.props("age", 2, "name", "x")
	g.log.commit([]changelog.Origin{{User: "alice", Metadata: `{"app":"shop","n":1}`}, {User: "bob"}},
		slices.Concat(of(0, gone, made, labelled, full, knows), of(1, named, changelog.Change{Counts: [6]uint64{0, 0, 0, 1}}))...)
	for _, c := range []struct{ selectors, want string }{
		{`[]`, "d2 c1 u3 u4 c5 u1 g"},
		{`[{"select":"e"}]`, "d2 c1 u3 u4 c5 u1 g"},
		{`[{"select":"n"}]`, "d2 c1 u3 u4 u1"},
		{`[{"select":"r"}]`, "c5 g"},
		{`[{"select":"e","operation":"u"}]`, "u3 u4 u1 g"},
		{`[{"select":"n","operation":"d"},{"select":"n","operation":"c"}]`, "d2 c1"},
		{`[{"select":"n","labels":["Person"]}]`, "c1 u3 u1"},
		{`[{"select":"n","labels":["Person","Boss"]}]`, "u3"},
		{`[{"select":"n","labels":["Nothing"]}]`, ""},
		{`[{"select":"n","changesTo":["name"]}]`, "c1 u3 u1"},
		{`[{"select":"n","changesTo":["name","id"]}]`, "c1"},
		{`[{"select":"n","changesTo":["age"]}]`, "u4"},
		{`[{"select":"n","key":{"id":7}}]`, "c1 u3 u1"},
		{`[{"select":"n","key":{"id":7.0}}]`, "c1 u3 u1"},
		{`[{"select":"n","key":{"id":8}}]`, ""},
		{`[{"select":"n","key":{"name":"Ann"}}]`, ""},
		{`[{"select":"n","elementId":"v0:3"}]`, "u3"},
		{`[{"select":"e","elementId":"e0:5:1:2:1"}]`, "c5 g"},
		{`[{"select":"n","type":null}]`, ""},
		{`[{"select":"r","type":"KNOWS"}]`, "c5 g"},
		{`[{"select":"r","type":"LIKES"}]`, "g"},
		{`[{"select":"r","start":{"labels":["Person"],"key":{"id":7}},"end":{"select":"n","labels":["B"]}}]`, "c5 g"},
		{`[{"select":"r","start":{"elementId":"v0:1"},"end":{"elementId":"v0:2"}}]`, "c5 g"},
		{`[{"select":"r","end":{"labels":["Person"]}}]`, "g"},
		{`[{"select":"n","executingUser":"bob"}]`, "u1"},
		{`[{"select":"n","authenticatedUser":"alice","executingUser":"bob"}]`, ""},
		{`[{"select":"n","operation":"c","txMetadata":{"app":"shop"}}]`, "c1"},
		{`[{"select":"n","txMetadata":{"app":"shop","n":2}}]`, ""},
	} {
		selectors, err := changes.ParseSelectorsJSON([]byte(c.selectors))
		if strings.Contains(c.selectors, `"type":null`) {
			require.ErrorContains(t, err, "selectors[0].type")
			continue
		}
		require.NoError(t, err, c.selectors)
		s := g.open(changes.Request{From: changes.Earliest, Selectors: selectors})
		es, err := s.Next(t.Context(), 0, 0)
		require.NoError(t, err)
		var got []string
		for i := range es {
			e := &es[i]
			switch {
			case e.Op == changes.Gap:
				got = append(got, "g")
			case e.IsEdge():
				got = append(got, fmt.Sprintf("%c%d", e.Op, e.Change.Edge.ID))
			default:
				got = append(got, fmt.Sprintf("%c%d", e.Op, e.Change.Vertex))
			}
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.selectors)
	}
}

func TestBadSelectors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                "selectors: not JSON",
		`[] []`:            "selectors: not JSON",
		`{}`:               "selectors: a list of maps is needed, not the Map",
		`[7]`:              "selectors[0]: a map is needed, not the Integer",
		`[{}]`:             "selectors[0].select: ",
		`[{"select":"x"}]`: "selectors[0].select: ",
		`[{"select":"e"},{"select":"n","operation":"C"}]`: "selectors[1].operation: ",
		`[{"select":"e","labels":["A"]}]`:                 "selectors[0].labels: there is no such field here; use select, operation, changesTo",
		`[{"select":"n","labels":"A"}]`:                   "selectors[0].labels: a list of strings is needed, not the String",
		`[{"select":"n","labels":["A",1]}]`:               "selectors[0].labels[1]: a string is needed, not the Integer",
		`[{"select":"n","changesTo":{}}]`:                 "selectors[0].changesTo: a list of strings",
		`[{"select":"n","key":[]}]`:                       "selectors[0].key: a map is needed, not the List",
		`[{"select":"n","elementId":5}]`:                  "selectors[0].elementId: a string",
		`[{"select":"n","start":{}}]`:                     "selectors[0].start: there is no such field",
		`[{"select":"r","start":[]}]`:                     "selectors[0].start: a map",
		`[{"select":"r","start":{"select":"e"}}]`:         "selectors[0].start.select: ",
		`[{"select":"r","end":{"operation":"c"}}]`:        "selectors[0].end.operation: there is no such field here; use select, elementId, labels, key",
		`[{"select":"r","end":{"labels":[null]}}]`:        "selectors[0].end.labels[0]: a string is needed, not null",
		`[{"select":"r","type":1}]`:                       "selectors[0].type: a string",
		`[{"select":"r","txMetadata":"x"}]`:               "selectors[0].txMetadata: a map",
		`[{"select":"r","executingUser":1}]`:              "selectors[0].executingUser: a string",
	} {
		_, err := changes.ParseSelectorsJSON([]byte(text))
		require.ErrorContains(t, err, want)
		require.Equal(t, changes.BadSelector, detail(err))
	}
}

func FuzzSelectors(f *testing.F) {
	f.Add([]byte(`[{"select":"r","operation":"c","changesTo":["a"],"type":"T","start":{"labels":["A"],"key":{"id":1}},"end":{"elementId":"v0:1"}}]`))
	f.Add([]byte(`[{"select":"n","txMetadata":{"a":[1,{}]},"executingUser":"x","authenticatedUser":null}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := changes.ParseSelectorsJSON(text); err != nil {
			require.Equal(t, changes.BadSelector, detail(err))
		}
	})
}

// TestJSON shows that the two forms of an event say the same.
func TestJSON(t *testing.T) {
	for seed := range uint64(5) {
		g := random(t, seed)
		require.NoError(t, g.CreateIndex(t.Context(), graph.Index{Name: "k", Label: "A", Props: []string{"x"}, Unique: true, Required: true, Indexed: true}))
		s := g.open(changes.Request{From: changes.Earliest})
		es, err := s.Next(t.Context(), 0, 0)
		require.NoError(t, err)
		require.NotEmpty(t, es)
		for i := range es {
			e := &es[i]
			line := strings.Replace(string(e.AppendJSON(nil)), `,"last":true`, "", 1)
			v := string(notation.PlainJSON.Append(nil, e.Value()))
			require.JSONEq(t, strings.ReplaceAll(v, `Z"`, `.000000000Z"`), line)
		}
	}
}

// TestRights shows that who may not read a graph gets no changes.
func TestRights(t *testing.T) {
	g := newGraph(t)
	g.log.commit(nil, g.create(1, nil))
	s := g.open(changes.Request{From: changes.Earliest})
	nobody := access.WithIdentity(t.Context(), &access.Identity{Name: "eve"})
	_, err := s.Next(nobody, 0, 0)
	require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
	_, err = changes.Open(nobody, g, changes.Request{Graph: "default"})
	require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
	reader := access.WithIdentity(t.Context(), &access.Identity{Name: "ann", Graph: map[string]access.Role{"default": access.Reader}})
	es, err := s.Next(reader, 0, 0)
	require.NoError(t, err)
	require.Len(t, es, 1)
}
