package restricted

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// A memo knows what it was told of vertices that exist, within its room, which it gives back.
func TestMemo(t *testing.T) {
	const size = 1 << pageBits
	m := &memo{room: &atomic.Int64{}}
	const room = 2*pageBytes + 3*8
	m.room.Store(room)
	ids := []graph.VertexID{5, 3, graph.MakeVertexID(1, size+7), 4, graph.MakeVertexID(900, 1<<40), 2 * size}
	m.note(ids, []bool{true, false, true, true, true, true}, []bool{true, true, true, true, false, true})
	seen := make([]bool, 7)
	rest := m.recall(append(ids, 6), seen, nil)
	require.Equal(t, []int{4, 5, 6}, rest, "one does not exist, one has no room, one is new")
	require.Equal(t, []bool{true, false, true, true}, seen[:4])
	require.Len(t, m.pages, 2, "what does not exist takes no room")
	require.Less(t, m.room.Load(), int64(pageBytes))
	m.close()
	require.EqualValues(t, room, m.room.Load())
	m.note([]graph.VertexID{6, 3 * size}, []bool{true, true}, []bool{true, true})
	require.Equal(t, []int{1}, m.recall([]graph.VertexID{6, 3 * size, 3}, seen, nil), "it takes no more room")
	require.EqualValues(t, room, m.room.Load())
}

// pair is a transaction under rules and one without over the same state.
type pair struct{ ruled, whole shard.Tx }

func (p pair) end() {
	p.ruled.Rollback()
	p.whole.Rollback()
}

// lab changes a graph at random and compares what a caller sees with what it should see.
type lab struct {
	t      *testing.T
	rng    *rand.Rand
	store  *Store
	g      *Graph
	ctx    context.Context // of the caller
	labels []graph.LabelSet
	tenant graph.PropID
	other  graph.PropID
	typ    graph.TypeID
	ids    []graph.VertexID // of all vertices that there have been
	open   []pair
}

func newLab(t *testing.T, seed uint64) *lab {
	disk, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: 1 + int(seed%3)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, disk.Close()) })
	l := &lab{t: t, rng: rand.New(rand.NewPCG(seed, 1)), store: NewStore(disk)}
	t.Cleanup(func() { // a store waits for them when it closes
		for _, p := range l.open {
			p.end()
		}
	})
	g, err := l.store.Graph(local.DefaultGraph)
	require.NoError(t, err)
	l.g = g.(*Graph)
	l.ctx = access.WithIdentity(context.Background(), &access.Identity{Name: "ann", Roles: []string{"r"}, Claims: map[string]graph.Value{"tenant": graph.IntValue(1)}})
	tx, err := l.g.Begin(context.Background(), shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	l.tenant, err = tx.Prop("tenant")
	require.NoError(t, err)
	l.other, err = tx.Prop("other")
	require.NoError(t, err)
	l.typ, err = tx.Type("T")
	require.NoError(t, err)
	a, err := tx.Label("A")
	require.NoError(t, err)
	b, err := tx.Label("B")
	require.NoError(t, err)
	for _, labels := range [][]graph.LabelID{{a}, {b}, {a, b}} {
		set, err := tx.LabelSet(labels)
		require.NoError(t, err)
		l.labels = append(l.labels, set)
	}
	require.NoError(t, tx.Commit(context.Background()))
	own := &rules.Condition{Op: rules.Equal, Prop: "tenant", With: &rules.Operand{Claim: "tenant"}}
	require.NoError(t, shard.ChangeRules(context.Background(), l.g, []rules.Rule{
		all(rules.Grant, rules.Match, false, own, "A"), all(rules.Grant, rules.Match, false, nil, "B"), all(rules.Grant, rules.Match, true, nil),
		all(rules.Grant, rules.Write, false, nil), all(rules.Grant, rules.Write, true, nil),
	}, nil))
	return l
}

// change makes a random mutation.
func (l *lab) change() shard.Mutation {
	r := l.rng
	props := []graph.Property{{ID: l.tenant, Value: graph.IntValue(int64(r.IntN(3)))}}
	if r.IntN(3) == 0 {
		props[0].ID = l.other
	}
	if len(l.ids) < 5 || r.IntN(3) == 0 {
		return shard.Mutation{Op: shard.CreateVertex, Labels: l.labels[r.IntN(3)], Props: props}
	}
	v := l.ids[r.IntN(len(l.ids))]
	switch r.IntN(5) {
	case 0:
		return shard.Mutation{Op: shard.SetLabels, Vertex: v, Labels: l.labels[r.IntN(3)]}
	case 1:
		return shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: v, Dst: l.ids[r.IntN(len(l.ids))], Type: l.typ}}
	default:
		return shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: props}
	}
}

// commit commits some changes without rules.
func (l *lab) commit() {
	tx, err := l.g.Begin(context.Background(), shard.Write)
	require.NoError(l.t, err)
	defer tx.Rollback()
	for range 1 + l.rng.IntN(3) {
		ms := []shard.Mutation{l.change()}
		require.NoError(l.t, tx.Apply(context.Background(), ms))
		if ms[0].Op == shard.CreateVertex {
			l.ids = append(l.ids, ms[0].Vertex)
		}
	}
	require.NoError(l.t, tx.Commit(context.Background()))
}

func (l *lab) begin(ctx context.Context, mode shard.Mode) shard.Tx {
	tx, err := For(ctx, l.g).Begin(ctx, mode)
	require.NoError(l.t, err)
	return tx
}

// compare compares the vertices and far ends that a caller sees with those that have the right labels and tenant.
func (l *lab) compare(p pair) {
	ctx, n := context.Background(), len(l.ids)
	want, got, cols := make([]graph.LabelSet, n), make([]graph.LabelSet, n), shard.Columns(1, n)
	require.NoError(l.t, p.whole.LabelSets(ctx, l.ids, want))
	require.NoError(l.t, p.whole.Properties(ctx, l.ids, []graph.PropID{l.tenant}, cols))
	seen := map[graph.VertexID]bool{}
	for i, set := range want {
		if v := cols[0][i]; set == l.labels[0] && (v.Kind() != graph.Int || v.Int() != 1) {
			want[i] = 0
		}
		seen[l.ids[i]] = want[i] != 0
	}
	require.NoError(l.t, p.ruled.LabelSets(ctx, l.ids, got))
	require.Equal(l.t, want, got)
	for i, id := range l.ids {
		req := &shard.Expand{Sources: l.ids[i : i+1], Dir: graph.Out}
		var a, b shard.Neighbours
		require.NoError(l.t, p.whole.Expand(ctx, req, &a))
		require.NoError(l.t, p.ruled.Expand(ctx, req, &b))
		far := []graph.VertexID{}
		for _, v := range a.Targets {
			if seen[id] && seen[v] {
				far = append(far, v)
			}
		}
		require.Equal(l.t, far, append([]graph.VertexID{}, b.Targets...))
	}
}

// write changes a tenant in a transaction under rules, which sees that.
func (l *lab) write() {
	p := pair{ruled: l.begin(l.ctx, shard.Write)}
	p.whole = p.ruled.(*tx).r.tx
	defer p.ruled.Rollback()
	l.compare(p)
	require.NoError(l.t, p.whole.Apply(context.Background(), nil))
	for _, v := range l.ids {
		set := make([]graph.LabelSet, 1)
		require.NoError(l.t, p.ruled.LabelSets(context.Background(), []graph.VertexID{v}, set))
		if set[0] == l.labels[0] {
			err := p.ruled.Apply(context.Background(), []shard.Mutation{{Op: shard.SetVertex, Vertex: v, Props: []graph.Property{{ID: l.tenant, Value: graph.IntValue(2)}}}})
			require.NoError(l.t, err)
			break
		}
	}
	l.compare(p)
}

// Transactions of several states see in each what the rules permit there, while they share what they remember of vertices.
func TestStates(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			l := newLab(t, seed)
			for range 60 {
				switch l.rng.IntN(4) {
				case 0:
					l.commit()
				case 1:
					l.open = append(l.open, pair{l.begin(l.ctx, shard.Read), l.begin(context.Background(), shard.Read)})
				case 2:
					l.write()
				default:
					for _, p := range l.open {
						l.compare(p)
					}
				}
				if len(l.open) > 4 {
					l.open[0].end()
					l.open = l.open[1:]
				}
			}
			for _, p := range l.open {
				l.compare(p)
			}
		})
	}
}

// What is remembered lasts until a vertex changes its labels or a property of a condition, and is that of callers with the same claims.
func TestRemembered(t *testing.T) {
	l := newLab(t, 0)
	memoOf := func(ctx context.Context) *memo {
		tx := l.begin(ctx, shard.Read).(*tx)
		defer tx.Rollback()
		return tx.r.memo
	}
	for range 20 {
		l.commit()
	}
	apply := func(m shard.Mutation) {
		tx := l.begin(context.Background(), shard.Write)
		defer tx.Rollback()
		require.NoError(t, tx.Apply(context.Background(), []shard.Mutation{m}))
		require.NoError(t, tx.Commit(context.Background()))
	}
	v, set := l.ids[0], func(p graph.PropID) []graph.Property { return []graph.Property{{ID: p, Value: graph.IntValue(7)}} }
	first := memoOf(l.ctx)
	same := access.WithIdentity(context.Background(), &access.Identity{Name: "bob", Roles: []string{"r"}, Claims: map[string]graph.Value{"tenant": graph.IntValue(1)}})
	require.Same(t, first, memoOf(same))
	other := access.WithIdentity(context.Background(), &access.Identity{Name: "cid", Roles: []string{"r"}, Claims: map[string]graph.Value{"tenant": graph.StringValue("1")}})
	require.NotSame(t, first, memoOf(other))

	apply(shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: set(l.other)})
	apply(shard.Mutation{Op: shard.CreateVertex, Labels: l.labels[0], Props: set(l.tenant)})
	apply(shard.Mutation{Op: shard.CreateEdge, Edge: graph.Edge{Src: v, Dst: v, Type: l.typ}})
	require.Same(t, first, memoOf(l.ctx))
	apply(shard.Mutation{Op: shard.SetVertex, Vertex: v, Props: set(l.tenant)})
	second := memoOf(l.ctx)
	require.NotSame(t, first, second)
	for _, set := range l.labels[:2] { // one of them is another than before
		apply(shard.Mutation{Op: shard.SetLabels, Vertex: v, Labels: set})
	}
	require.NotSame(t, second, memoOf(l.ctx))
	third := memoOf(l.ctx)
	require.NoError(t, shard.ChangeRules(context.Background(), l.g, []rules.Rule{all(rules.Deny, rules.Traverse, false, nil, "B")}, nil))
	require.NotSame(t, third, memoOf(l.ctx), "a rule has changed")
}
