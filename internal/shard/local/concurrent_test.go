package local

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/shardtest"
)

// history is what transactions did that ran side by side: what each has changed, and what it has read. Afterwards the
// changes are made to a model in the order of the commits, which must have been what everybody read.
type history struct {
	t     *testing.T
	g     *Graph
	sets  []graph.LabelSet // none, and label N
	typ   graph.TypeID
	props []graph.PropID // the first is unique for N
	index graph.IndexID

	mu        sync.Mutex
	vertices  []graph.VertexID // ever made, committed or not
	commits   []commit
	sights    []sight
	conflicts []commit
}

// commit is a transaction that was committed, or, with the sequence 0, one that met a conflict.
type commit struct {
	base, seq uint64
	nth       int // of those with the same seq
	mode      shard.Mode
	ms        []shard.Mutation
}

// sight is what a transaction saw over a snapshot after changes of its own.
type sight struct {
	base     uint64
	ms       []shard.Mutation
	vertices []graph.VertexID
	text     string
}

const keysOfHistory = 12

func newHistory(t *testing.T, g *Graph) *history {
	h := &history{t: t, g: g}
	ctx := context.Background()
	require.NoError(t, g.CreateIndex(ctx, graph.Index{Name: "n", Label: "N", Props: []string{"p0"}, Unique: true, Indexed: true}))
	h.index = g.Indexes()[0].ID
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	label, err := tx.Label("N")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	h.sets = []graph.LabelSet{graph.NoLabels, set}
	h.typ, err = tx.Type("E")
	require.NoError(t, err)
	for i := range 3 {
		p, err := tx.Prop(fmt.Sprint("p", i))
		require.NoError(t, err)
		h.props = append(h.props, p)
	}
	return h
}

func (h *history) someProps(rng *rand.Rand) []graph.Property {
	var props []graph.Property
	for i, p := range h.props {
		switch v := graph.IntValue(int64(rng.IntN(keysOfHistory))); {
		case rng.IntN(3) == 0:
		case i == 0 && rng.IntN(3) > 0:
		case rng.IntN(6) == 0:
			props = append(props, graph.Property{ID: p})
		case i == 2:
			props = append(props, graph.Property{ID: p, Value: graph.StringValue(strings.Repeat("large ", rng.IntN(20)))})
		default:
			props = append(props, graph.Property{ID: p, Value: v})
		}
	}
	return props
}

// transaction makes one transaction of random changes and reads.
func (h *history) transaction(rng *rand.Rand) error {
	ctx := context.Background()
	mode := shard.Write
	if rng.IntN(6) == 0 {
		mode = shard.WriteExclusive
	}
	x, err := h.g.Begin(ctx, mode)
	if err != nil {
		return err
	}
	defer x.Rollback()
	tx := x.(*Tx)
	c := commit{mode: mode}
	if tx.snap != nil {
		c.base = tx.snap.Seq
	} else {
		c.base = h.g.log.Last().Number
	}
	for range 1 + rng.IntN(3) {
		ms, err := h.changes(rng, tx)
		if err == nil {
			err = tx.Apply(ctx, ms)
		}
		if err != nil {
			return err
		}
		c.ms = append(c.ms, ms...)
		h.mu.Lock()
		for _, m := range ms {
			if m.Op == shard.CreateVertex {
				h.vertices = append(h.vertices, m.Vertex)
			}
		}
		h.mu.Unlock()
		if rng.IntN(3) == 0 {
			if err := h.look(tx, c); err != nil {
				return err
			}
		}
	}
	if rng.IntN(8) == 0 {
		return nil
	}
	err = tx.Commit(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		if c.seq, c.nth = tx.seq, tx.nth; c.seq > 0 {
			h.commits = append(h.commits, c)
		}
	case graph.AsError(err).Kind == graph.KindConflict:
		h.conflicts = append(h.conflicts, c)
		return nil
	}
	return err
}

// changes makes up changes to what a transaction sees.
func (h *history) changes(rng *rand.Rand, tx *Tx) ([]shard.Mutation, error) {
	ctx := context.Background()
	h.mu.Lock()
	ids := slices.Clone(h.vertices)
	h.mu.Unlock()
	sets := make([]graph.LabelSet, len(ids))
	if err := tx.LabelSets(ctx, ids, sets); err != nil {
		return nil, err
	}
	var there []graph.VertexID
	other := map[graph.VertexID]graph.LabelSet{}
	for i, id := range ids {
		if sets[i] != 0 {
			there = append(there, id)
			other[id] = h.sets[0] + h.sets[1] - sets[i]
		}
	}
	if len(there) < 4 || rng.IntN(4) == 0 {
		return []shard.Mutation{{Op: shard.CreateVertex, Labels: h.sets[rng.IntN(2)], Props: h.someProps(rng)}}, nil
	}
	some := func() graph.VertexID { return there[rng.IntN(len(there))] }
	v := some()
	switch rng.IntN(8) {
	case 0, 1:
		return []shard.Mutation{
			{Op: shard.CreateEdge, Edge: graph.Edge{Src: v, Dst: some(), Type: h.typ}, Props: h.someProps(rng)[:0]},
			{Op: shard.CreateEdge, Edge: graph.Edge{Src: some(), Dst: v, Type: h.typ}, Props: h.someProps(rng)},
		}, nil
	case 2:
		props := append(h.someProps(rng), graph.Property{ID: h.props[1], Value: graph.IntValue(rng.Int64N(9))})
		return []shard.Mutation{{Op: shard.SetVertex, Vertex: v, Props: props}}, nil
	case 3:
		return []shard.Mutation{{Op: shard.SetLabels, Vertex: v, Labels: other[v]}}, nil
	}
	var res shard.Neighbours
	if err := tx.Expand(ctx, &shard.Expand{Sources: []graph.VertexID{v}, Dir: graph.Both, Edges: true}, &res); err != nil {
		return nil, err
	}
	var ms []shard.Mutation
	detach := rng.IntN(3) == 0
	for i, to := range res.Targets {
		e := graph.Edge{ID: res.Edges[i], Src: v, Dst: to, Type: h.typ}
		if res.Reverse[i] {
			e.Src, e.Dst = to, v
		}
		if detach || rng.IntN(4) == 0 {
			ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
		} else if rng.IntN(2) == 0 {
			ms = append(ms, shard.Mutation{Op: shard.SetEdge, Edge: e, Props: h.someProps(rng)})
		}
	}
	if detach {
		ms = append(ms, shard.Mutation{Op: shard.DeleteVertex, Vertex: v})
	}
	return ms, nil
}

// look notes all that a transaction sees.
func (h *history) look(tx *Tx, c commit) error {
	ctx := context.Background()
	h.mu.Lock()
	s := sight{base: c.base, ms: slices.Clone(c.ms), vertices: slices.Clone(h.vertices)}
	h.mu.Unlock()
	slices.Sort(s.vertices)
	n := len(s.vertices)
	recs := make([]shard.Record, n)
	if err := tx.Records(ctx, s.vertices, recs); err != nil {
		return err
	}
	var out, in shard.Neighbours
	if err := tx.Expand(ctx, &shard.Expand{Sources: s.vertices, Edges: true, Props: h.props}, &out); err != nil {
		return err
	}
	if err := tx.Expand(ctx, &shard.Expand{Sources: s.vertices, Dir: graph.In, Edges: true}, &in); err != nil {
		return err
	}
	var b strings.Builder
	alive := 0
	for i, id := range s.vertices {
		if recs[i].Labels != 0 {
			alive++
		}
		fmt.Fprintf(&b, "%x %s\n", uint64(id), shardtest.RecordText(recs[i]))
		for k := out.Offsets[i]; k < out.Offsets[i+1]; k++ {
			fmt.Fprintf(&b, "  %x %x", uint64(out.Targets[k]), uint64(out.Edges[k]))
			for p := range h.props {
				fmt.Fprint(&b, " ", shardtest.Text(out.Props[p][k]))
			}
			b.WriteString("\n")
		}
		for k := in.Offsets[i]; k < in.Offsets[i+1]; k++ {
			fmt.Fprintf(&b, "  <- %x %x\n", uint64(in.Targets[k]), uint64(in.Edges[k]))
		}
	}
	keys := make([]graph.Value, keysOfHistory)
	for i := range keys {
		keys[i] = graph.IntValue(int64(i))
	}
	var found shard.Found
	if err := tx.Seek(ctx, &shard.Seek{Index: h.index, Keys: keys}, &found); err != nil {
		return err
	}
	fmt.Fprintln(&b, found.Offsets, found.IDs)
	scanned := make([]graph.VertexID, 0, n+100)
	scanned, _, done, err := tx.Scan(ctx, 0, 0, scanned)
	if err != nil {
		return err
	}
	if !done || len(scanned) != alive {
		return fmt.Errorf("a scan finds %d vertices, there are %d", len(scanned), alive)
	}
	if c := tx.Counts(); c.Vertices != uint64(alive) || c.Edges != uint64(len(out.Targets)) || c.ByType["E"] != c.Edges {
		return fmt.Errorf("the counts are %d vertices and %d edges, there are %d and %d", c.Vertices, c.Edges, alive, len(out.Targets))
	}
	s.text = b.String()
	h.mu.Lock()
	h.sights = append(h.sights, s)
	h.mu.Unlock()
	return nil
}

// model is a graph in plain maps.
type model struct {
	vertices map[graph.VertexID]modelVertex
	edges    map[graph.EdgeID]modelEdge
}

type modelVertex struct {
	set   graph.LabelSet
	props map[graph.PropID]graph.Value
}

type modelEdge struct {
	graph.Edge
	props map[graph.PropID]graph.Value
}

func newModel() *model {
	return &model{map[graph.VertexID]modelVertex{}, map[graph.EdgeID]modelEdge{}}
}

func (m *model) clone() *model { return &model{maps.Clone(m.vertices), maps.Clone(m.edges)} }

func setAll(old map[graph.PropID]graph.Value, props []graph.Property) map[graph.PropID]graph.Value {
	now := map[graph.PropID]graph.Value{}
	maps.Copy(now, old)
	for _, p := range props {
		if now[p.ID] = p.Value; p.Value.IsNull() {
			delete(now, p.ID)
		}
	}
	return now
}

func (m *model) apply(ms []shard.Mutation) {
	for _, x := range ms {
		v, e := m.vertices[x.Vertex], m.edges[x.Edge.ID]
		switch x.Op {
		case shard.CreateVertex:
			m.vertices[x.Vertex] = modelVertex{x.Labels, setAll(nil, x.Props)}
		case shard.SetVertex:
			m.vertices[x.Vertex] = modelVertex{v.set, setAll(v.props, x.Props)}
		case shard.SetLabels:
			m.vertices[x.Vertex] = modelVertex{x.Labels, v.props}
		case shard.DeleteVertex:
			delete(m.vertices, x.Vertex)
		case shard.CreateEdge:
			m.edges[x.Edge.ID] = modelEdge{x.Edge, setAll(nil, x.Props)}
		case shard.SetEdge:
			m.edges[x.Edge.ID] = modelEdge{e.Edge, setAll(e.props, x.Props)}
		case shard.DeleteEdge:
			delete(m.edges, x.Edge.ID)
		}
	}
}

// text is what look writes of the model.
func (m *model) text(h *history, ids []graph.VertexID) string {
	var b strings.Builder
	out, in := map[graph.VertexID][]modelEdge{}, map[graph.VertexID][]modelEdge{}
	for _, e := range m.edges {
		out[e.Src], in[e.Dst] = append(out[e.Src], e), append(in[e.Dst], e)
	}
	for _, id := range ids {
		v := m.vertices[id]
		rec := shard.Record{Labels: v.set}
		for _, p := range slices.Sorted(maps.Keys(v.props)) {
			rec.Props = append(rec.Props, graph.Property{ID: p, Value: v.props[p]})
		}
		fmt.Fprintf(&b, "%x %s\n", uint64(id), shardtest.RecordText(rec))
		slices.SortFunc(out[id], func(x, y modelEdge) int { return cmp.Or(cmp.Compare(x.Dst, y.Dst), cmp.Compare(x.ID, y.ID)) })
		for _, e := range out[id] {
			fmt.Fprintf(&b, "  %x %x", uint64(e.Dst), uint64(e.ID))
			for _, p := range h.props {
				fmt.Fprint(&b, " ", shardtest.Text(e.props[p]))
			}
			b.WriteString("\n")
		}
		slices.SortFunc(in[id], func(x, y modelEdge) int { return cmp.Or(cmp.Compare(x.Src, y.Src), cmp.Compare(x.ID, y.ID)) })
		for _, e := range in[id] {
			fmt.Fprintf(&b, "  <- %x %x\n", uint64(e.Src), uint64(e.ID))
		}
	}
	offsets, found := []int{0}, []graph.VertexID{}
	for key := range int64(keysOfHistory) {
		for _, id := range slices.Sorted(maps.Keys(m.vertices)) {
			v := m.vertices[id]
			if p := v.props[h.props[0]]; v.set == h.sets[1] && !p.IsNull() && p.Int() == key {
				found = append(found, id)
			}
		}
		offsets = append(offsets, len(found))
	}
	fmt.Fprintln(&b, offsets, found)
	return b.String()
}

// writes are what mutations change of what others may know.
func writes(ms []shard.Mutation) map[uint64]bool {
	s, made := map[uint64]bool{}, map[uint64]bool{}
	for _, m := range ms {
		switch m.Op {
		case shard.CreateVertex:
			made[uint64(m.Vertex)<<1] = true
		case shard.CreateEdge:
			made[uint64(m.Edge.ID)<<1|1] = true
		case shard.SetEdge, shard.DeleteEdge:
			s[uint64(m.Edge.ID)<<1|1] = true
		default:
			s[uint64(m.Vertex)<<1] = true
		}
	}
	maps.DeleteFunc(s, func(k uint64, _ bool) bool { return made[k] })
	return s
}

// verify checks what was read, and that no two transactions that did not see each other have changed the same.
func (h *history) verify() {
	slices.SortFunc(h.commits, func(a, b commit) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.nth, b.nth)) })
	slices.SortFunc(h.sights, func(a, b sight) int { return cmp.Compare(a.base, b.base) })
	for i, c := range h.commits {
		mine := writes(c.ms)
		for _, o := range h.commits[:i] {
			if o.seq <= c.base {
				continue
			}
			require.NotEqual(h.t, shard.WriteExclusive, c.mode, "an exclusive transaction does not see commit %d", o.seq)
			for k := range writes(o.ms) {
				require.False(h.t, mine[k], "commits %d and %d have changed the same", o.seq, c.seq)
			}
		}
	}
	for _, c := range h.conflicts {
		require.NotEqual(h.t, shard.WriteExclusive, c.mode, "an exclusive transaction met a conflict")
		require.True(h.t, slices.ContainsFunc(h.commits, func(o commit) bool { return o.seq > c.base }))
	}
	m := newModel()
	next := 0
	for _, s := range h.sights {
		for ; next < len(h.commits) && h.commits[next].seq <= s.base; next++ {
			m.apply(h.commits[next].ms)
			if next+1 == len(h.commits) || h.commits[next+1].seq > h.commits[next].seq {
				m.whole(h) // which it need not be between two that were committed together
			}
		}
		seen := m.clone()
		seen.apply(s.ms)
		require.Equal(h.t, seen.text(h, s.vertices), s.text, "what is seen at %d", s.base)
	}
}

// whole checks the model itself: edges have ends, and the key is unique.
func (m *model) whole(h *history) {
	for _, e := range m.edges {
		require.Contains(h.t, m.vertices, e.Src)
		require.Contains(h.t, m.vertices, e.Dst)
	}
	owner := map[int64]graph.VertexID{}
	for id, v := range m.vertices {
		if p := v.props[h.props[0]]; v.set == h.sets[1] && !p.IsNull() {
			require.NotContains(h.t, owner, p.Int(), "two vertices have the key %d", p.Int())
			owner[p.Int()] = id
		}
	}
}

// TestConcurrentTransactions runs random transactions side by side, while records are compacted, and compares what each has
// read with a model to which the changes were made in the order of the commits.
func TestConcurrentTransactions(t *testing.T) {
	conflicts, commits, over := 0, 0, 0
	for seed := range eachSeed(t, seeds(16)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 9))
			opts := tiny(rng, 1+2*int(seed%2))
			opts.FS = vfs.NewMem()
			s, err := Open(opts)
			require.NoError(t, err)
			g, err := s.Local("default")
			require.NoError(t, err)
			h := newHistory(t, g)
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(w)))
					for range size(60, 35) {
						err := h.transaction(rng)
						if err != nil && graph.AsError(err).Kind != graph.KindExists && graph.AsError(err).Kind != graph.KindInvalid {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Go(func() {
				for range 5 {
					if err := g.Settle(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
			wg.Wait()
			if t.Failed() {
				return
			}
			// What all has come to is read once more, after another start.
			require.NoError(t, s.Close())
			s, err = Open(opts)
			require.NoError(t, err)
			h.g, err = s.Local("default")
			require.NoError(t, err)
			last := commit{base: ^uint64(0)}
			tx, err := h.g.Begin(context.Background(), shard.Read)
			require.NoError(t, err)
			require.NoError(t, h.look(tx.(*Tx), last))
			tx.Rollback()
			require.NoError(t, s.Close())
			h.verify()
			conflicts, commits = conflicts+len(h.conflicts), commits+len(h.commits)
			for _, c := range h.commits {
				if c.seq > c.base+1 {
					over++
				}
			}
		})
	}
	t.Logf("%d commits, %d of them over changes that they had not seen, and %d conflicts", commits, over, conflicts)
	require.NotZero(t, conflicts)
	require.NotZero(t, over)
}
