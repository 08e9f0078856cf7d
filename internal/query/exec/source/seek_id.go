package source

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// SeekID compiles a SeekID.
func SeekID(c *compile.Compiler, n *plan.SeekID, need plan.ColSet) *runtime.Stage {
	return compileFind(c, n, n.Input, n.Out, need, []plan.Expr{n.Key}, func(r *runtime.Run, in *runtime.Stage) finder {
		es := expr.New(r, in.Cols)
		return &seeker{
			r: r, each: n.Each, edges: n.Edge, es: es, xs: es.AddAll([]plan.Expr{n.Key}),
			byID: &idLookup{r: r, element: n.Element, types: adjacency.NewEdgeTypes(r, n.Types)},
		}
	})
}

// idLookup finds the vertices or edges that values of id() or elementId() name, if they exist.
type idLookup struct {
	r       *runtime.Run
	element bool
	types   adjacency.EdgeTypes // of edges

	text []byte
	sets []graph.LabelSet
	recs []shard.Record
	// of a search by numbers
	ids  []graph.VertexID
	want map[graph.EdgeID]graph.Edge
	req  shard.Expand
	res  shard.Neighbours
}

// vertices finds the vertices of keys, in one request.
func (l *idLookup) vertices(ctx context.Context, keys []graph.Value, found *shard.Found) error {
	found.IDs, found.Offsets = found.IDs[:0], append(found.Offsets[:0], 0)
	l.r.See(int64(len(keys)))
	for _, v := range keys {
		if id, ok := l.vertexID(v); ok {
			found.IDs = append(found.IDs, id)
		}
		found.Offsets = append(found.Offsets, len(found.IDs))
	}
	if len(found.IDs) == 0 {
		return nil
	}
	l.sets = slices.Grow(l.sets[:0], len(found.IDs))[:len(found.IDs)]
	if err := l.r.Tx.LabelSets(ctx, found.IDs, l.sets); err != nil {
		return err
	}
	n := keep(found.IDs, found.Offsets, func(i int) bool { return l.sets[i] != 0 })
	found.IDs = found.IDs[:n]
	return nil
}

// keep moves the entries that exist to the front and adjusts the offsets of their keys. It returns their number.
func keep[T any](entries []T, offsets []int, there func(i int) bool) int {
	n := 0
	for k := range len(offsets) - 1 {
		lo, hi := offsets[k], offsets[k+1]
		offsets[k] = n
		for ; lo < hi; lo++ {
			if there(lo) {
				entries[n] = entries[lo]
				n++
			}
		}
	}
	offsets[len(offsets)-1] = n
	return n
}

// vertexID returns the vertex that a value of id() or elementId() may name.
func (l *idLookup) vertexID(v graph.Value) (graph.VertexID, bool) {
	if !l.element {
		n, ok := wholeID(v)
		return graph.VertexID(n), ok
	}
	if v.Kind() != graph.String {
		return 0, false
	}
	id, ok := graph.ParseVertexElementID(v.Str())
	l.text = graph.AppendVertexElementID(l.text[:0], id)
	return id, ok && v.Str() == string(l.text)
}

// wholeID returns the number of an id that a value equals.
func wholeID(v graph.Value) (uint64, bool) {
	switch v.Kind() {
	case graph.Int:
		return uint64(v.Int()), v.Int() >= 0
	case graph.Float:
		f := v.Float()
		if f < 0 || f >= 1<<63 || float64(int64(f)) != f {
			return 0, false
		}
		return uint64(f), true
	}
	return 0, false
}

// find finds the edges of keys.
func (l *idLookup) find(ctx context.Context, keys []graph.Value, found *shard.FoundEdges) error {
	found.Edges, found.Offsets = found.Edges[:0], append(found.Offsets[:0], 0)
	types, ok := l.types.Resolve()
	if !ok {
		found.Offsets = slices.Grow(found.Offsets, len(keys))[:len(keys)+1]
		clear(found.Offsets)
		return nil
	}
	if !l.element {
		return l.search(ctx, keys, types, found)
	}
	l.r.See(int64(len(keys)))
	for _, v := range keys {
		if e, ok := l.edge(v); ok && (len(types) == 0 || slices.Contains(types, e.Type)) {
			found.Edges = append(found.Edges, e)
		}
		found.Offsets = append(found.Offsets, len(found.Edges))
	}
	if len(found.Edges) == 0 {
		return nil
	}
	l.recs = slices.Grow(l.recs[:0], len(found.Edges))[:len(found.Edges)]
	if err := l.r.Tx.EdgeRecords(ctx, found.Edges, l.recs); err != nil {
		return err
	}
	n := keep(found.Edges, found.Offsets, func(i int) bool { return l.recs[i].Labels != 0 })
	found.Edges = found.Edges[:n]
	return nil
}

// edge returns the edge that a value of elementId() may name.
func (l *idLookup) edge(v graph.Value) (graph.Edge, bool) {
	if v.Kind() != graph.String {
		return graph.Edge{}, false
	}
	e, ok := graph.ParseEdgeElementID(v.Str())
	l.text = graph.AppendEdgeElementID(l.text[:0], e)
	return e, ok && v.Str() == string(l.text)
}

// search finds edges by their numbers. A number names the shard of the edge's source, not the vertex, so the search reads the
// shard's lists until it has found all requested edges, once for all keys.
func (l *idLookup) search(ctx context.Context, keys []graph.Value, types []graph.TypeID, found *shard.FoundEdges) error {
	if l.want == nil {
		l.want = make(map[graph.EdgeID]graph.Edge)
	}
	clear(l.want)
	left := make(map[int]int) // by shard: edges not found yet
	for _, v := range keys {
		if id, ok := wholeID(v); ok {
			if _, have := l.want[graph.EdgeID(id)]; !have {
				l.want[graph.EdgeID(id)] = graph.Edge{Src: graph.NoVertex}
				left[graph.EdgeID(id).Shard()]++
			}
		}
	}
	for at, n := range left {
		if err := l.searchShard(ctx, at, n, types); err != nil {
			return err
		}
	}
	for _, v := range keys {
		if id, ok := wholeID(v); ok {
			if e := l.want[graph.EdgeID(id)]; e.Src != graph.NoVertex {
				found.Edges = append(found.Edges, e)
			}
		}
		found.Offsets = append(found.Offsets, len(found.Edges))
	}
	return nil
}

// searchBatch is the number of vertices that a search requests at once.
const searchBatch = 16 << 10

// searchShard reads the lists of a shard until left edges are found.
func (l *idLookup) searchShard(ctx context.Context, at, left int, types []graph.TypeID) error {
	lo, hi := ^graph.EdgeID(0), graph.EdgeID(0)
	for id := range l.want {
		if id.Shard() == at {
			lo, hi = min(lo, id), max(hi, id)
		}
	}
	if l.ids == nil {
		l.ids = make([]graph.VertexID, 0, searchBatch)
	}
	l.req = shard.Expand{Types: types, Dir: graph.Out, Edges: true, MaxEdges: searchBatch}
	from, done := graph.MakeVertexID(at, 0), false
	for !done && left > 0 {
		var err error
		l.ids, from, done, err = l.r.Tx.Scan(ctx, 0, from, l.ids[:0])
		if err != nil {
			return err
		}
		if n := len(l.ids); n > 0 && l.ids[n-1].Shard() != at {
			l.ids = l.ids[:slices.IndexFunc(l.ids, func(v graph.VertexID) bool { return v.Shard() != at })]
			done = true
		}
		for l.req.Sources = l.ids; len(l.req.Sources) > 0 && left > 0; l.req.Sources = l.req.Sources[l.res.Done:] {
			if err := l.r.Tx.Expand(ctx, &l.req, &l.res); err != nil {
				return err
			}
			if err := l.r.Visit(l.res.Seen); err != nil {
				return err
			}
			for i, id := range l.res.Edges {
				if id < lo || id > hi {
					continue
				}
				if _, ok := l.want[id]; ok {
					src, _ := slices.BinarySearch(l.res.Offsets, i+1)
					l.want[id] = graph.Edge{ID: id, Src: l.req.Sources[src-1], Dst: l.res.Targets[i], Type: l.res.Types[i]}
					left--
				}
			}
		}
	}
	return nil
}
