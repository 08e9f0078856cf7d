package shardtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/shard"
)

// Follower has the vertices and edges of a graph as its commit log tells them.
type Follower struct {
	T     *testing.T
	Graph shard.Graph
	// At is the position up to which the log has been read, with the time of its commit.
	At   uint64
	Time int64
	// Vertices and Edges are what there is at At, by id.
	Vertices map[graph.VertexID]Element
	Edges    map[graph.EdgeID]Element
	// Skipped has the counts of changes that loads have kept out of the log since the last Check, which then compares nothing.
	Skipped [][6]uint64
	// Each, if not nil, is called with each change, before it is applied.
	Each  func(*changelog.Change)
	began bool
}

// Element is a vertex, or an edge, which has no labels.
type Element struct {
	Labels graph.LabelSet
	Edge   graph.Edge
	Props  map[graph.PropID]graph.Value
}

// text writes an element without its values' addresses.
func (e Element) text() string {
	out := fmt.Sprintf("%d %v", e.Labels, e.Edge)
	for _, p := range slices.Sorted(maps.Keys(e.Props)) {
		out += fmt.Sprintf(" %d=%s %s", p, e.Props[p].Kind(), notation.Append(nil, e.Props[p]))
	}
	return out
}

// follows reports whether the graph keeps commits.
func (f *Follower) follows() bool {
	log := f.Graph.ChangeLog()
	if log == nil {
		return false
	}
	st, err := log.LogState(context.Background())
	require.NoError(f.T, err)
	return st.Mode != changelog.Off
}

// Check reads the log up to the snapshot of a transaction, and compares what it tells with what the transaction reads. It begins, or begins
// again where the log has been cut, with the latter.
func (f *Follower) Check(tx shard.Tx) {
	f.T.Helper()
	f.Skipped = f.Skipped[:0]
	if !f.follows() {
		return
	}
	until, time := tx.Features().Commits.Position()
	st, err := f.Graph.ChangeLog().LogState(context.Background())
	require.NoError(f.T, err)
	vertices, edges := readAll(f.T, tx)
	if f.began && f.At >= st.First && f.read(until) {
		require.Equal(f.T, time, f.Time)
		if len(f.Skipped) == 0 {
			requireSame(f.T, vertices, f.Vertices)
			requireSame(f.T, edges, f.Edges)
		}
	}
	f.began, f.At, f.Time, f.Vertices, f.Edges = true, until, time, vertices, edges
}

func requireSame[K comparable](t *testing.T, want, got map[K]Element) {
	t.Helper()
	for id, e := range want {
		require.Equal(t, e.text(), got[id].text(), "%v", id)
	}
	for id, e := range got {
		require.Contains(t, want, id, e.text())
	}
}

// read applies the commits up to a position; ok is false if the log has been cut meanwhile.
func (f *Follower) read(until uint64) (ok bool) {
	f.T.Helper()
	for f.At < until {
		b, err := f.Graph.ChangeLog().ReadLog(context.Background(), f.At, 1<<10, nil)
		if err != nil && graph.AsError(err).Kind == graph.KindNotFound {
			return false
		}
		require.NoError(f.T, err)
		if len(b) == 0 { // what holds the writer's lock may see a commit before others do
			require.NoError(f.T, f.Graph.ChangeLog().AwaitLog(context.Background(), f.At))
		}
		for len(b) > 0 && f.At < until {
			c, rest, err := changelog.ReadCommit(b)
			require.NoError(f.T, err)
			require.Equal(f.T, f.At+1, c.Number)
			require.Greater(f.T, c.Time, f.Time)
			f.apply(c)
			b, f.At, f.Time = rest, c.Number, c.Time
		}
	}
	return true
}

// apply applies a commit, whose changes must fit what there is.
func (f *Follower) apply(commit *changelog.Commit) {
	f.T.Helper()
	var m changelog.Merger
	require.NoError(f.T, commit.Each(func(c *changelog.Change) error {
		m.Add(c)
		return nil
	}))
	for _, c := range m.Take() {
		if c.Op == changelog.Skipped {
			f.Skipped = append(f.Skipped, c.Counts)
			continue
		}
		if f.Each != nil {
			f.Each(&c)
		}
		if c.IsEdge {
			was, ok := f.Edges[c.Edge.ID]
			if now := f.changed(&c, was, ok); now == nil {
				delete(f.Edges, c.Edge.ID)
			} else {
				now.Edge = c.Edge
				f.Edges[c.Edge.ID] = *now
			}
			continue
		}
		was, ok := f.Vertices[c.Vertex]
		if now := f.changed(&c, was, ok); now == nil {
			delete(f.Vertices, c.Vertex)
		} else {
			f.Vertices[c.Vertex] = *now
		}
	}
}

// changed returns an element after a change, nil if it is deleted.
func (f *Follower) changed(c *changelog.Change, was Element, ok bool) *Element {
	f.T.Helper()
	what := fmt.Sprintf("%+v", c)
	require.Equal(f.T, c.Op != changelog.Created, ok, what)
	require.Equal(f.T, was.Labels, c.Before.Labels, what)
	if ok && c.IsEdge {
		require.Equal(f.T, was.Edge, c.Edge)
	}
	for _, p := range c.Before.Props {
		require.True(f.T, changelog.Identical(was.Props[p.ID], p.Value), "%s: property %d", what, p.ID)
	}
	whole := len(c.Before.Props)
	for _, p := range c.Before.Props {
		if p.Value.IsNull() {
			whole--
		}
	}
	if c.Op == changelog.Deleted || c.Full {
		require.Len(f.T, was.Props, whole, what)
	}
	if c.Op == changelog.Deleted {
		return nil
	}
	now := Element{Labels: c.After.Labels, Props: maps.Clone(was.Props)}
	if now.Props == nil {
		now.Props = map[graph.PropID]graph.Value{}
	}
	for _, p := range c.After.Props {
		if p.Value.IsNull() {
			delete(now.Props, p.ID)
		} else {
			now.Props[p.ID] = p.Value.Clone()
		}
	}
	return &now
}

// readAll reads all vertices and edges.
func readAll(t *testing.T, tx shard.Tx) (map[graph.VertexID]Element, map[graph.EdgeID]Element) {
	t.Helper()
	ctx := context.Background()
	vertices, edges := map[graph.VertexID]Element{}, map[graph.EdgeID]Element{}
	for from, done := graph.VertexID(0), false; !done; {
		var ids []graph.VertexID
		var err error
		ids, from, done, err = tx.Scan(ctx, 0, from, make([]graph.VertexID, 0, 64))
		require.NoError(t, err)
		recs := make([]shard.Record, len(ids))
		require.NoError(t, tx.Records(ctx, ids, recs))
		for i, id := range ids {
			vertices[id] = elementOf(recs[i])
		}
		readEdges(t, tx, ids, edges)
	}
	return vertices, edges
}

func elementOf(r shard.Record) Element {
	e := Element{Labels: r.Labels, Props: map[graph.PropID]graph.Value{}}
	for _, p := range r.Props {
		e.Props[p.ID] = p.Value.Clone()
	}
	return e
}

// readEdges reads the edges that leave vertices.
func readEdges(t *testing.T, tx shard.Tx, ids []graph.VertexID, into map[graph.EdgeID]Element) {
	t.Helper()
	for len(ids) > 0 {
		var res shard.Neighbours
		require.NoError(t, tx.Expand(context.Background(), &shard.Expand{Sources: ids, Dir: graph.Out, Edges: true}, &res))
		var found []graph.Edge
		for s := range res.Done {
			for i := res.Offsets[s]; i < res.Offsets[s+1]; i++ {
				found = append(found, graph.Edge{ID: res.Edges[i], Type: res.Types[i], Src: ids[s], Dst: res.Targets[i]})
			}
		}
		recs := make([]shard.Record, len(found))
		require.NoError(t, tx.EdgeRecords(context.Background(), found, recs))
		for i, e := range found {
			x := elementOf(recs[i])
			x.Labels, x.Edge = 0, e
			into[e.ID] = x
		}
		ids = ids[res.Done:]
	}
}
