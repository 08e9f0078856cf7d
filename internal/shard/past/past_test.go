package past_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// logged is a graph with a commit log of what note finds.
type logged struct {
	shard.Graph
	t        *testing.T
	rng      *rand.Rand
	settle   func()
	contents contents // at the last commit
	commits  [][]byte // from number 1 on
	set      shard.FeatureSet
}

func open(t *testing.T, rng *rand.Rand, shards int) *logged {
	opts := localtest.Options(rng, shards)
	opts.FS = vfs.NewMem()
	s, err := local.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	g, err := s.Local("default")
	require.NoError(t, err)
	l := &logged{Graph: g, t: t, rng: rng, settle: func() { require.NoError(t, g.Settle(context.Background())) }, set: *g.Features()}
	l.set[shard.Commits] = ""
	return l
}

func (g *logged) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	tx, err := g.Graph.Begin(ctx, mode)
	return &loggedTx{tx, uint64(len(g.commits)), &g.set}, err
}

func (g *logged) Features() *shard.FeatureSet { return &g.set }

func (g *logged) ChangeLog() shard.ChangeLog { return g }

func (g *logged) LogState(context.Context) (shard.LogState, error) {
	return shard.LogState{Last: uint64(len(g.commits))}, nil
}

func (g *logged) ReadLog(_ context.Context, after uint64, max int, dst []byte) ([]byte, error) {
	start := len(dst)
	for _, c := range g.commits[after:] {
		if len(dst) > start && len(dst)+len(c)-start > min(max, 2000) {
			break
		}
		dst = append(dst, c...)
	}
	return dst, nil
}

func (*logged) AwaitLog(context.Context, uint64) error { return nil }

func (*logged) SetLogMode(context.Context, changelog.Mode) error { return nil }

// loggedTx is a transaction that knows its commit.
type loggedTx struct {
	shard.Tx
	at  uint64
	set *shard.FeatureSet
}

func (tx *loggedTx) Features() shard.Features {
	f := tx.Tx.Features()
	f.Commits, f.Set = tx, tx.set
	return f
}

func (tx *loggedTx) Position() (uint64, int64)             { return tx.at, int64(tx.at) * 10 }
func (*loggedTx) CommittedAt() (number uint64, time int64) { return 0, 0 }
func (*loggedTx) From(changelog.Origin)                    {}

// contents are all vertices and edges of a graph.
type contents struct {
	vertices map[graph.VertexID]shard.Record
	edges    map[graph.Edge][]graph.Property
}

func read(t *testing.T, g shard.Graph) (c contents) {
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	c = contents{map[graph.VertexID]shard.Record{}, map[graph.Edge][]graph.Property{}}
	for from, done := graph.VertexID(0), false; !done; {
		var ids []graph.VertexID
		ids, from, done, err = tx.Scan(ctx, 0, from, make([]graph.VertexID, 0, 100))
		require.NoError(t, err)
		out := make([]shard.Record, len(ids))
		require.NoError(t, tx.Records(ctx, ids, out))
		var res shard.Neighbours
		require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Edges: true}, &res))
		var edges []graph.Edge
		for i, id := range ids {
			c.vertices[id] = shard.Record{Labels: out[i].Labels, Props: cloned(out[i].Props)}
			for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
				edges = append(edges, graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: id, Dst: res.Targets[k]})
			}
		}
		out = make([]shard.Record, len(edges))
		require.NoError(t, tx.EdgeRecords(ctx, edges, out))
		for i, e := range edges {
			c.edges[e] = cloned(out[i].Props)
		}
	}
	return c
}

func cloned(ps []graph.Property) (out []graph.Property) {
	for _, p := range ps {
		out = append(out, graph.Property{ID: p.ID, Value: p.Value.Clone()})
	}
	return out
}

// note adds a commit of what has changed since the last one, in one of the forms that it can have.
func (g *logged) note() {
	was, is := g.contents, read(g.t, g.Graph)
	g.contents = is
	var e changelog.Encoder
	e.Begin(0)
	add := func(c changelog.Change) { require.NoError(g.t, e.Add(&c)) }
	for id, r := range was.vertices {
		c := changelog.Change{Vertex: id, Before: changelog.State{Labels: r.Labels, Props: r.Props}}
		now, ok := is.vertices[id]
		c.After = changelog.State{Labels: now.Labels, Props: now.Props}
		g.change(c, ok, add)
	}
	for edge, ps := range was.edges {
		c := changelog.Change{IsEdge: true, Edge: edge, Before: changelog.State{Props: ps}}
		now, ok := is.edges[edge]
		c.After.Props = now
		g.change(c, ok, add)
	}
	for id, r := range is.vertices {
		if _, ok := was.vertices[id]; !ok {
			g.create(changelog.Change{Vertex: id, After: changelog.State{Labels: r.Labels, Props: r.Props}}, add)
		}
	}
	for edge, ps := range is.edges {
		if _, ok := was.edges[edge]; !ok {
			g.create(changelog.Change{IsEdge: true, Edge: edge, After: changelog.State{Props: ps}}, add)
		}
	}
	if g.rng.IntN(3) == 0 { // a vertex of this commit alone
		c := changelog.Change{Op: changelog.Created, Vertex: graph.MakeVertexID(0, 1<<30+uint64(len(g.commits))), After: changelog.State{Labels: graph.NoLabels}}
		add(c)
		c.Op, c.Before, c.After = changelog.Deleted, c.After, changelog.State{}
		add(c)
		add(changelog.Change{})
	}
	commit := changelog.Commit{Number: uint64(len(g.commits) + 1)}
	require.NoError(g.t, e.Records(0, nil, func(_ int, b []byte) error {
		commit.Records = append(commit.Records, b)
		return nil
	}))
	g.commits = append(g.commits, commit.AppendTo(nil))
}

// values returns some properties with the values that they have among others, null for none.
func values(of, among []graph.Property) (out []graph.Property) {
	for _, p := range of {
		q := graph.Property{ID: p.ID}
		for _, have := range among {
			if have.ID == p.ID {
				q.Value = have.Value
			}
		}
		out = append(out, q)
	}
	return out
}

// change adds a change or a deletion, perhaps after another change of the same commit.
func (g *logged) change(c changelog.Change, stays bool, add func(changelog.Change)) {
	if !stays {
		if g.rng.IntN(3) == 0 && len(c.Before.Props) > 0 {
			mid := c
			mid.Op, mid.After.Labels = changelog.Changed, c.Before.Labels
			mid.Before.Props = c.Before.Props[:1]
			mid.After.Props = []graph.Property{{ID: c.Before.Props[0].ID, Value: graph.StringValue("between")}}
			add(mid)
			c.Before.Props = append(slices.Clone(mid.After.Props), c.Before.Props[1:]...)
		}
		c.Op, c.After = changelog.Deleted, changelog.State{}
		add(c)
		return
	}
	var all []graph.Property // of both, in order
	for _, p := range slices.Concat(c.Before.Props, c.After.Props) {
		if !slices.ContainsFunc(all, func(o graph.Property) bool { return o.ID == p.ID }) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b graph.Property) int { return cmp.Compare(a.ID, b.ID) })
	before, after := values(all, c.Before.Props), values(all, c.After.Props)
	c.Op, c.Before.Props, c.After.Props = changelog.Changed, before, after
	same := func(i int) bool { return keys.Identical(before[i].Value, after[i].Value) }
	differs := c.Before.Labels != c.After.Labels
	for i := range all {
		differs = differs || !same(i)
	}
	if !differs {
		return
	}
	if g.rng.IntN(2) == 0 {
		c.Full = true
		add(c)
		return
	}
	c.Before.Props, c.After.Props = nil, nil
	for i := range all {
		if same(i) {
			continue
		}
		one := c
		one.Before.Props, one.After.Props = before[i:i+1], after[i:i+1]
		if g.rng.IntN(3) == 0 {
			one.After.Labels = one.Before.Labels
			add(one)
			continue
		}
		c.Before.Props, c.After.Props = append(c.Before.Props, before[i]), append(c.After.Props, after[i])
	}
	add(c)
}

// create adds a creation, and perhaps a change of it.
func (g *logged) create(c changelog.Change, add func(changelog.Change)) {
	c.Op = changelog.Created
	if n := len(c.After.Props); n > 0 && g.rng.IntN(2) == 0 {
		last := c
		last.Op, last.Before.Labels = changelog.Changed, c.After.Labels
		last.After.Props = c.After.Props[n-1:]
		last.Before.Props = []graph.Property{{ID: last.After.Props[0].ID}}
		c.After.Props = c.After.Props[:n-1]
		add(c)
		add(last)
		return
	}
	add(c)
}

// kept is a commit with the oracle's copy of the graph.
type kept struct {
	number uint64
	oracle shard.Tx
}

// Random commits, each of which is kept and read again as of any later one: vertices, edges, indexes and counts are those of the oracle's copy.
func TestDifferential(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(10)) {
		for _, shards := range []int{1, 3} {
			t.Run("seed="+strconv.FormatUint(seed, 10)+"/shards="+strconv.Itoa(shards), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(shards)))
				g := open(t, rng, shards)
				w := shardtest.NewModel(t, rng, g, shards)
				w.Schema()
				h := past.New(g, past.DefaultBytes)
				var all []kept
				var old shard.Tx // whose snapshot lags behind
				var of kept
				for range 20 {
					w.Transaction()
					g.note()
					o, err := w.Oracle.Begin(context.Background(), shard.Read)
					require.NoError(t, err)
					all = append(all, kept{uint64(len(g.commits)), o})
					if rng.IntN(5) == 0 {
						g.settle()
					}
					for range 3 {
						tx, err := g.Begin(context.Background(), shard.Read)
						require.NoError(t, err)
						compare(t, w, h, tx, all[rng.IntN(len(all))])
					}
					begin := func() shard.Tx {
						tx, err := g.Begin(context.Background(), shard.Read)
						require.NoError(t, err)
						return tx
					}
					switch {
					case old != nil && rng.IntN(2) == 0:
						later, err := h.At(context.Background(), begin(), of.number, 0) // the moment has more than the old transaction sees
						require.NoError(t, err)
						if rng.IntN(2) == 0 {
							w.Compare(later, of.oracle)
						}
						later.Rollback()
						w.Compare(old, of.oracle)
						old.Rollback()
						old = nil
					case old == nil && rng.IntN(2) == 0:
						of = all[rng.IntN(len(all))]
						old, err = h.At(context.Background(), begin(), of.number, 0)
						require.NoError(t, err)
						t.Cleanup(old.Rollback)
						w.Compare(old, of.oracle)
					}
				}
			})
		}
	}
}

func compare(t *testing.T, w *shardtest.Model, h *past.History, tx shard.Tx, k kept) {
	defer tx.Rollback()
	p, err := h.At(context.Background(), tx, k.number, 0)
	require.NoError(t, err)
	defer p.Rollback()
	f := p.Features()
	require.NoError(t, f.Check())
	n, _ := f.Commits.Position()
	require.Equal(t, k.number, n)
	w.Compare(p, k.oracle)
}

// The same with the log that a store keeps of what it does itself, in both modes.
func TestStoreLog(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(10)) {
		t.Run("seed="+strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 9))
			shards := 1 + rng.IntN(3)
			opts := localtest.Options(rng, shards)
			opts.FS, opts.LogBytes = vfs.NewMem(), 1<<30
			s, err := local.Open(opts)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			g, err := s.Local("default")
			require.NoError(t, err)
			if rng.IntN(2) == 0 {
				require.NoError(t, g.ChangeLog().SetLogMode(context.Background(), changelog.Full))
			}
			w := shardtest.NewModel(t, rng, g, shards)
			w.Schema()
			h := past.New(g, past.DefaultBytes)
			var all []kept
			for range 20 {
				w.Transaction()
				o, err := w.Oracle.Begin(context.Background(), shard.Read)
				require.NoError(t, err)
				tx, err := g.Begin(context.Background(), shard.Read)
				require.NoError(t, err)
				n, _ := tx.Features().Commits.Position()
				all = append(all, kept{n, o})
				compare(t, w, h, tx, all[rng.IntN(len(all))])
				if rng.IntN(5) == 0 {
					require.NoError(t, g.Settle(context.Background()))
				}
			}
			for _, k := range all {
				tx, err := g.Begin(context.Background(), shard.Read)
				require.NoError(t, err)
				compare(t, w, h, tx, k)
			}
		})
	}
}

// What only reads a graph as of a commit passes what is required of all that read.
func TestReads(t *testing.T) {
	shardtest.RunReads(t, localtest.EachSeed(t, localtest.Seeds(10)), func(t *testing.T, c *shardtest.Contents) shard.Graph {
		rng := rand.New(rand.NewPCG(uint64(len(c.Edges)), 6))
		g := open(t, rng, 1+rng.IntN(3))
		fill(t, g, c)
		g.note()
		for range 1 + rng.IntN(10) {
			change(t, g, rng)
			g.note()
		}
		h := past.New(g, past.DefaultBytes)
		return &readOnly{shard.ReadOnly(g, func(ctx context.Context) (shard.Tx, error) {
			tx, err := g.Begin(ctx, shard.Read)
			require.NoError(t, err)
			return h.At(ctx, tx, 1, 0)
		}), h.Features()}
	}, shard.Validation, shard.WireMetering, shard.DegreeBounds, shard.RuleScans, shard.Turns, shard.ChangeDates, shard.Versions)
}

type readOnly struct {
	shard.Graph
	set *shard.FeatureSet
}

func (g *readOnly) Features() *shard.FeatureSet { return g.set }

// fill writes the contents in one transaction.
func fill(t *testing.T, g shard.Graph, c *shardtest.Contents) {
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	names := []string{shardtest.Key}
	for _, col := range shardtest.Columns {
		names = append(names, col.Name)
	}
	ids := map[string]graph.PropID{}
	for _, name := range names {
		ids[name], err = tx.Prop(name)
		require.NoError(t, err)
	}
	for i := range 3 {
		_, err := tx.Label("L" + strconv.Itoa(i))
		require.NoError(t, err)
		_, err = tx.Type("T" + strconv.Itoa(i))
		require.NoError(t, err)
	}
	props := func(r *shardtest.Row) (ps []graph.Property) {
		for _, name := range names {
			if v, ok := r.Props[name]; ok {
				ps = append(ps, graph.Property{ID: ids[name], Value: v})
			}
		}
		return ps
	}
	var ms []shard.Mutation
	for i := range c.Vertices {
		var labels []graph.LabelID
		for _, name := range c.Vertices[i].Names {
			l, err := tx.Label(name)
			require.NoError(t, err)
			labels = append(labels, l)
		}
		set, err := tx.LabelSet(labels)
		require.NoError(t, err)
		ms = append(ms, shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: props(&c.Vertices[i])})
	}
	require.NoError(t, tx.Apply(ctx, ms))
	var es []shard.Mutation
	for i := range c.Edges {
		r := &c.Edges[i]
		typ, err := tx.Type(r.Names[0])
		require.NoError(t, err)
		es = append(es, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[r.Source].Vertex, Dst: ms[r.Target].Vertex, Type: typ}, Props: props(r)})
	}
	require.NoError(t, tx.Apply(ctx, es))
	require.NoError(t, tx.Commit(ctx))
}

// change makes a transaction of random changes.
func change(t *testing.T, g *logged, rng *rand.Rand) {
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	var vertices []graph.VertexID
	for id := range g.contents.vertices {
		vertices = append(vertices, id)
	}
	slices.Sort(vertices)
	var edges []graph.Edge
	for e := range g.contents.edges {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b graph.Edge) int { return cmp.Compare(a.ID, b.ID) })
	rng.Shuffle(len(vertices), func(i, j int) { vertices[i], vertices[j] = vertices[j], vertices[i] })
	rng.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
	name, err := tx.Prop("name")
	require.NoError(t, err)
	typ, err := tx.Type("T" + strconv.Itoa(rng.IntN(3)))
	require.NoError(t, err)
	l, err := tx.Label("L" + strconv.Itoa(rng.IntN(3)))
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{l})
	require.NoError(t, err)
	some := []graph.Property{{ID: name, Value: graph.IntValue(rng.Int64N(9))}}
	n := min(len(vertices)/4, 1+rng.IntN(20))
	ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: some}}
	for _, v := range vertices[:n] {
		ms = append(ms, shard.Mutation{Op: shard.SetLabels, Vertex: v, Labels: set}, shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: some})
	}
	for _, e := range edges[:min(n, len(edges))] {
		ms = append(ms, shard.Mutation{Op: shard.SetEdge, Edge: e, Props: some})
	}
	for i := range n {
		ms = append(ms, shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: vertices[i], Dst: vertices[rng.IntN(i+1)], Type: typ}})
	}
	gone := vertices[n : 2*n]
	for _, e := range edges {
		if rng.IntN(10) == 0 || slices.Contains(gone, e.Src) || slices.Contains(gone, e.Dst) {
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		}
	}
	for _, v := range gone {
		ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: v})
	}
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
}
