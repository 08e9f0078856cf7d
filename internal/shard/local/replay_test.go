package local_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// moments is a graph that changes at random, what it was after each change, and copies of its store on the way.
type moments struct {
	*testing.T
	rng   *rand.Rand
	fs    *vfs.MemFS
	store *local.Store
	g     *local.Graph
	now   atomic.Int64 // nanoseconds since 1970
	all   []replayed
	bases []base
	ids   []graph.VertexID
	edges []graph.Edge
	loads int
}

// replayed is what a graph was at a commit.
type replayed struct {
	commit uint64
	time   int64
	state  string
}

// base is a copy of a store.
type base struct {
	commit uint64
	fs     *vfs.MemFS
}

// describe writes all that a graph has: vertices and edges with their ids, counts, indexes, TTLs, rules and the next ids.
func describe(t *testing.T, g *local.Graph) string {
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	f := shardtest.Follower{T: t, Graph: g}
	f.Check(tx)
	var out []string
	for id, v := range f.Vertices {
		out = append(out, fmt.Sprint("vertex ", id, " ", v.Labels, " ", shardtest.RecordText(recordOf(v))))
	}
	for _, e := range f.Edges {
		out = append(out, fmt.Sprint("edge ", e.Edge, " ", shardtest.RecordText(recordOf(e))))
	}
	for _, ix := range g.Indexes() {
		ix.ID = 0
		out = append(out, fmt.Sprintf("index %+v", ix))
	}
	ttls := g.TTLs()
	slices.SortFunc(ttls, func(a, b graph.TTL) int { return strings.Compare(a.Label+a.Type, b.Label+b.Type) })
	c := tx.Statistics()
	out = append(out, fmt.Sprint("ttls ", ttls), fmt.Sprint("rules ", rules.Of(g.Definitions())),
		fmt.Sprint("counts ", c.Vertices, c.Edges, c.ByLabel, c.ByType))
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func recordOf(e shardtest.Element) shard.Record {
	r := shard.Record{Labels: e.Labels}
	for id, v := range e.Props {
		r.Props = append(r.Props, graph.Property{ID: id, Value: v})
	}
	slices.SortFunc(r.Props, func(a, b graph.Property) int { return int(a.ID) - int(b.ID) })
	return r
}

// note notes the present moment, and copies the store at times.
func (m *moments) note() {
	state := describe(m.T, m.g) // which deletes what has expired
	st, err := m.g.ChangeLog().LogState(m.Context())
	require.NoError(m, err)
	m.all = append(m.all, replayed{st.Last, st.LastTime, state})
	if len(m.bases) == 0 || m.rng.IntN(8) == 0 {
		m.bases = append(m.bases, base{st.Last, m.fs.CrashClone(vfs.CrashCloneCfg{})})
	}
}

// step changes the graph in one of many ways.
func (m *moments) step() {
	ctx, r := m.Context(), m.rng
	m.now.Add(int64(time.Duration(r.IntN(400)) * time.Millisecond))
	switch r.IntN(12) {
	case 0:
		ttl := graph.TTL{Label: "L" + strconv.Itoa(r.IntN(2)), After: time.Duration(1+r.IntN(5)) * time.Second}
		if r.IntN(2) == 0 {
			ttl = graph.TTL{Type: "T", After: time.Second}
		}
		if r.IntN(2) == 0 {
			require.NoError(m, m.g.SetTTL(ctx, ttl))
		} else if err := m.g.DropTTL(ctx, ttl.Label, ttl.Type); err != nil {
			require.Equal(m, graph.KindNotFound, graph.AsError(err).Kind)
		}
	case 1:
		ix := graph.Index{Name: "n" + strconv.Itoa(r.IntN(3)), Label: "L" + strconv.Itoa(r.IntN(3)), Props: []string{"p0"}, Indexed: true, Unique: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			_ = m.g.DropIndex(ctx, ix.Name)
		} else if err := m.g.CreateIndex(ctx, ix); err != nil {
			require.NotEqual(m, graph.KindInternal, graph.AsError(err).Kind)
		}
	case 2:
		rule := rules.Rule{Effect: rules.Grant, Action: rules.Match, Names: []string{"L" + strconv.Itoa(r.IntN(3))}, Role: "r"}
		var err error
		if r.IntN(2) == 0 {
			err = shard.ChangeRules(ctx, m.g, []rules.Rule{rule}, nil)
		} else {
			err = shard.ChangeRules(ctx, m.g, nil, []rules.Rule{rule})
		}
		if err != nil {
			require.NotEqual(m, graph.KindInternal, graph.AsError(err).Kind)
		}
	case 3:
		require.NoError(m, m.g.ChangeLog().SetLogMode(ctx, changelog.Diff+changelog.Mode(r.IntN(2))))
	case 4, 5:
		m.load()
	default:
		m.commit()
	}
}

// load loads vertices and edges, some of which there are.
func (m *moments) load() {
	r := m.rng
	ix := slices.IndexFunc(m.g.Indexes(), func(ix graph.Index) bool { return ix.Name == "space" })
	if ix < 0 {
		require.NoError(m, m.g.CreateIndex(m.Context(), graph.Index{Name: "space", Unique: true, Indexed: true}))
		return
	}
	space := m.g.Indexes()[ix].ID
	var set graph.LabelSet
	var typ graph.TypeID
	var prop graph.PropID
	m.write(func(tx shard.Tx) bool {
		l, err := tx.Label("L" + strconv.Itoa(r.IntN(3)))
		require.NoError(m, err)
		set, err = tx.LabelSet([]graph.LabelID{l})
		require.NoError(m, err)
		typ, err = tx.Type("T")
		require.NoError(m, err)
		prop, err = tx.Prop("p1")
		require.NoError(m, err)
		return true
	})
	n := 1 + r.IntN(60)
	v := shard.LoadVertices{Labels: set, Space: space, Props: []shard.LoadColumn{{Prop: prop}}, Action: shard.Upsert}
	e := shard.LoadEdges{Type: typ, SrcSpace: space, DstSpace: space, Props: []shard.LoadColumn{{Prop: prop}}, Action: shard.Upsert, Dangling: shard.DanglingReject}
	for range n {
		v.Keys = append(v.Keys, graph.IntValue(int64(r.IntN(200))))
		v.Props[0].Values = append(v.Props[0].Values, graph.StringValue(strings.Repeat("v", r.IntN(60))))
		e.Src, e.Dst = append(e.Src, graph.IntValue(int64(r.IntN(200)))), append(e.Dst, graph.IntValue(int64(r.IntN(200))))
		e.Props[0].Values = append(e.Props[0].Values, graph.IntValue(r.Int64N(5)))
	}
	m.loads++
	require.NoError(m, m.g.Load(m.Context(), &shard.Load{Stream: fmt.Sprint("s", m.loads), Seq: 1, Vertices: []shard.LoadVertices{v}, Edges: []shard.LoadEdges{e}}))
}

func (m *moments) write(f func(tx shard.Tx) bool) bool {
	tx, err := m.g.Begin(m.Context(), shard.Write)
	require.NoError(m, err)
	defer tx.Rollback()
	return f(tx) && tx.Commit(m.Context()) == nil
}

// commit commits a few random changes.
func (m *moments) commit() {
	r := m.rng
	var made []graph.VertexID
	var edges []graph.Edge
	if !m.write(func(tx shard.Tx) bool {
		var ps []graph.Property
		for i := range 3 {
			p, err := tx.Prop("p" + strconv.Itoa(i))
			require.NoError(m, err)
			if r.IntN(2) == 0 {
				v := graph.IntValue(r.Int64N(300))
				if r.IntN(3) == 0 {
					v = graph.StringValue(strings.Repeat("x", r.IntN(80)))
				}
				ps = append(ps, graph.Property{ID: p, Value: v})
			} else if r.IntN(3) == 0 {
				ps = append(ps, graph.Property{ID: p})
			}
		}
		typ, err := tx.Type("T")
		require.NoError(m, err)
		var ls []graph.LabelID
		for i := range 3 {
			l, err := tx.Label("L" + strconv.Itoa(i))
			require.NoError(m, err)
			if r.IntN(2) == 0 {
				ls = append(ls, l)
			}
		}
		set, err := tx.LabelSet(ls)
		require.NoError(m, err)
		apply := func(ms ...shard.Mutation) bool {
			if err := tx.Apply(m.Context(), ms); err != nil {
				return false
			}
			for i := range ms {
				switch ms[i].Op {
				case shard.CreateVertex:
					made = append(made, ms[i].Vertex)
				case shard.CreateEdge:
					edges = append(edges, ms[i].Edge)
				}
			}
			return true
		}
		some := func() graph.VertexID {
			all := append(slices.Clone(m.ids), made...)
			return all[r.IntN(len(all))]
		}
		for range 1 + r.IntN(8) {
			var ok bool
			switch {
			case len(m.ids)+len(made) == 0 || r.IntN(4) == 0:
				ok = apply(shard.Mutation{Op: shard.CreateVertex, Labels: set, Props: ps}, shard.Mutation{Op: shard.CreateVertex, Labels: set})
			case r.IntN(4) == 0:
				a, b := some(), some()
				ok = apply(shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: a, Dst: b, Type: typ}, Props: ps},
					shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: a, Dst: b, Type: typ}})
			case r.IntN(3) == 0:
				ok = apply(shard.Mutation{Op: shard.SetVertex, Vertex: some(), Props: ps})
			case r.IntN(2) == 0 && len(ls) > 0:
				ok = apply(shard.Mutation{Op: shard.SetLabels, Vertex: some(), Labels: set})
			case len(m.edges) > 0 && r.IntN(2) == 0:
				op := []shard.Op{shard.SetEdge, shard.DeleteEdge}[r.IntN(2)]
				ok = apply(shard.Mutation{Op: op, Edge: m.edges[r.IntN(len(m.edges))], Props: ps})
			default:
				v := some()
				var res shard.Neighbours
				require.NoError(m, tx.Expand(m.Context(), &shard.Expand{Sources: []graph.VertexID{v}, Dir: graph.Both, Edges: true}, &res))
				var ms []shard.Mutation
				for k, n := range res.Targets {
					e := graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: v, Dst: n}
					if res.Reverse[k] {
						e.Src, e.Dst = n, v
					}
					ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
				}
				ok = apply(append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: v})...)
			}
			if !ok {
				return false
			}
		}
		return true
	}) {
		return
	}
	m.ids, m.edges = append(m.ids, made...), append(m.edges, edges...)
}

// newMoments makes a graph with a history of so many changes; half of them are those of the model, which compares each with the oracle's.
func newMoments(t *testing.T, rng *rand.Rand, steps int) *moments {
	m := &moments{T: t, rng: rng, fs: vfs.NewCrashableMem()}
	m.now.Store(1e18)
	opts := localtest.Options(rng, 1+rng.IntN(3))
	opts.FS, opts.LogBytes, opts.Clock = m.fs, 1<<30, func() time.Time { return time.Unix(0, m.now.Load()) }
	opts.Logger = slog.New(slog.DiscardHandler)
	var err error
	m.store, err = local.Open(opts)
	require.NoError(t, err)
	m.g, err = m.store.Local("default")
	require.NoError(t, err)
	var w *shardtest.Model
	if rng.IntN(2) == 0 {
		w = shardtest.NewModel(t, rng, m.g, opts.Shards)
		w.Schema()
	}
	m.note()
	for range steps {
		if w == nil {
			m.step()
		} else {
			m.now.Add(int64(time.Duration(rng.IntN(400)) * time.Millisecond))
			w.StepLogged()
		}
		m.note()
	}
	return m
}

// replay makes the store of a base what it was at a moment.
func (m *moments) replay(from base, to replayed) {
	ctx := context.Background()
	var clock local.ReplayClock
	opts := local.ReplayOptions("data", &clock)
	opts.FS, opts.Logger, opts.Shards = from.fs.CrashClone(vfs.CrashCloneCfg{}), slog.New(slog.DiscardHandler), m.g.Shards()
	s, err := local.Open(opts)
	require.NoError(m, err)
	closed := false
	defer func() {
		if !closed {
			require.NoError(m, s.Close())
		}
	}()
	g, err := s.Local("default")
	require.NoError(m, err)
	r := local.NewReplay(g, &clock)
	names := changelog.NamesOf(m.g)
	require.NoError(m, r.Names(&names))
	log, err := m.g.ChangeLog().ReadLog(ctx, from.commit, 1<<30, nil)
	require.NoError(m, err)
	for len(log) > 0 {
		c, rest, err := changelog.ReadCommit(log)
		require.NoError(m, err)
		if c.Number > to.commit {
			break
		}
		require.NoError(m, r.Add(ctx, c))
		log = rest
	}
	require.NoError(m, r.End(ctx))
	require.Equal(m, to.state, describe(m.T, g), "from commit %d to %d", from.commit, to.commit)
	require.NoError(m, s.Close())
	closed = true

	// The store is as good as any: nothing is wrong, its log is the same, and it goes on.
	opts.Clock = nil
	opts.Tuning = local.Tuning{}
	s, err = local.Open(opts)
	require.NoError(m, err)
	closed = false
	localtest.CheckClean(m, s, "default")
	g, err = s.Local("default")
	require.NoError(m, err)
	if to.commit > 0 {
		was, err := m.g.ChangeLog().ReadLog(ctx, 0, 1<<30, nil)
		require.NoError(m, err)
		is, err := g.ChangeLog().ReadLog(ctx, 0, 1<<30, nil)
		require.NoError(m, err)
		require.True(m, bytes.Equal(until(m.T, was, to.commit), until(m.T, is, to.commit)))
	}
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(m, err)
	defer tx.Rollback()
	ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: graph.NoLabels}}
	require.NoError(m, tx.Apply(ctx, ms))
	require.NoError(m, tx.Commit(ctx))
	require.NotContains(m, to.state, fmt.Sprint("vertex ", ms[0].Vertex, " "))
}

// until returns the commits of a log up to a number.
func until(t *testing.T, log []byte, commit uint64) []byte {
	for rest := log; ; {
		if len(rest) == 0 {
			return log
		}
		c, next, err := changelog.ReadCommit(rest)
		require.NoError(t, err)
		if c.Number > commit {
			return log[:len(log)-len(rest)]
		}
		rest = next
	}
}

// A copy of a store becomes, by the commits that follow in the log, what the graph was at any later moment, with all ids.
func TestReplay(t *testing.T) {
	for seed := range localtest.EachSeed(t, localtest.Seeds(8)) {
		t.Run("seed="+strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 40))
			m := newMoments(t, rng, 40)
			defer func() { require.NoError(t, m.store.Close()) }()
			for range 5 {
				to := m.all[rng.IntN(len(m.all))]
				from := m.bases[rng.IntN(len(m.bases))]
				for from.commit > to.commit {
					from = m.bases[rng.IntN(len(m.bases))]
				}
				m.replay(from, to)
			}
		})
	}
}
