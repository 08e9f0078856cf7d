package procedure

import (
	"cmp"
	"context"
	"slices"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// branch is a path of a search: the one to its parent, and an edge from there.
type branch struct {
	at     graph.VertexID
	edge   graph.EdgeID
	parent int // in the tree; -1 at the start
	typ    graph.TypeID
	labels graph.LabelSet // known if there are filters of labels
	depth  int32
	back   bool // the edge leads from at to the parent
	opened bool // depth first: its continuations are behind it in the tree
}

const (
	branchBytes = int(unsafe.Sizeof(branch{}))
	// portion is how many paths a search judges at once, and how many it expands at once.
	portion = 1 << 10
	// askEdges is about how many edges it asks for at once.
	askEdges = 1 << 14
)

// expansion is a search for paths. Breadth first, the tree has the levels one behind the other, each in the order of its vertices, and
// all paths from which the search goes on. Depth first, it is a stack of the branches on the present path and of those still to visit.
type expansion struct {
	*pathConfig
	row      func(x *expansion, b *branch) graph.Value
	bare     bool // rows are nodes that are met once, so it does not matter which edges lead to them
	treeAcct runtime.Account
	seenAcct runtime.Account
	tree     []branch
	next     int // breadth first: the first branch that is not yet expanded, and the end of its level
	levelEnd int
	seen     []graph.VertexSet // met so far, by the depth if that matters; ids of edges are like those of vertices
	counted  []int             // bytes of these in the account
	found    int
	rows     [][]graph.Value
	cells    []graph.Value // of the rows

	// The branches that are being expanded: of[i] is the first with the vertex sources[i].
	sources  []graph.VertexID
	of       []int
	ways     []way
	answered int // sources in the answers before res
	res      shard.Neighbours
	at       struct{ source, branch, edge int } // in res
	fresh    []branch                           // continuations that are not yet judged
	ids      []graph.VertexID
	sets     []graph.LabelSet
	reader   expr.LabelReader
}

// way is a request for edges.
type way struct {
	dir   graph.Direction
	types []graph.TypeID
	loops *edgeTypes // loops of these types come by another way
}

// ways returns the requests for the edges of a step, each edge once.
func (f *follow) ways() []way {
	switch {
	case !f.in.none() && f.out.all == f.in.all && slices.Equal(f.out.ids, f.in.ids):
		return []way{{dir: graph.Both, types: f.out.ids, loops: &edgeTypes{}}}
	case f.in.none() && f.out.none():
		return nil
	case f.in.none():
		return []way{{dir: graph.Out, types: f.out.ids, loops: &edgeTypes{}}}
	case f.out.none():
		return []way{{dir: graph.In, types: f.in.ids, loops: &edgeTypes{}}}
	}
	return []way{{dir: graph.Out, types: f.out.ids, loops: &edgeTypes{}}, {dir: graph.In, types: f.in.ids, loops: &f.out}}
}

// newExpansion begins the search of a call. Its rows are those of row, or nodes.
func newExpansion(
	ctx context.Context, c *exec.Call, name string, config graph.Value, row func(x *expansion, b *branch) graph.Value,
) (*expansion, error) {
	starts, err := vertexIDs(name, "startNode", c.Args[0])
	if err != nil {
		return nil, err
	}
	if err := c.Run.CheckVertices(starts); err != nil {
		return nil, err
	}
	x := &expansion{row: row, treeAcct: runtime.Account{Run: c.Run, Name: "PathExpansion"}, seenAcct: runtime.Account{Run: c.Run, Name: "PathExpansion"}}
	if x.pathConfig, err = newPathConfig(c, name, config); err != nil {
		return nil, err
	}
	if row == nil {
		x.row, x.bare = (*expansion).nodeRow, true
	}
	x.sets = make([]graph.LabelSet, len(starts))
	if err := x.reader.Read(ctx, c.Tx, starts, x.sets); err != nil {
		return nil, err
	}
	for i, v := range starts {
		if b := (branch{at: v, parent: -1, labels: x.sets[i]}); x.sets[i] != 0 && (x.depthFirst || x.isNew(&b)) {
			x.fresh = append(x.fresh, b)
		}
	}
	if err := x.settle(ctx); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close implements exec.Stream.
func (x *expansion) Close() {
	x.treeAcct.Release()
	x.seenAcct.Release()
}

// Next implements exec.Stream.
func (x *expansion) Next(ctx context.Context) ([][]graph.Value, error) {
	for len(x.rows) < portion && x.found < x.limit {
		advance := x.widen
		if x.depthFirst {
			advance = x.deepen
		}
		if more, err := advance(ctx); !more || err != nil {
			if err == nil && x.found == 0 && x.optional {
				x.found, x.rows = 1, [][]graph.Value{{{}}}
			}
			x.limit = x.found
			return x.take(), err
		}
	}
	return x.take(), nil
}

func (x *expansion) take() [][]graph.Value {
	rows := x.rows
	x.rows, x.cells = nil, nil
	return rows
}

// widen judges the next continuations of a level, or begins the next level. There are none at the end.
func (x *expansion) widen(ctx context.Context) (bool, error) {
	more, err := x.grow(ctx, portion)
	if err != nil {
		return false, err
	}
	if err := x.settle(ctx); err != nil || more {
		return true, err
	}
	if x.next == x.levelEnd {
		if x.levelEnd = len(x.tree); x.next == x.levelEnd {
			return false, nil
		}
		sort := slices.SortStableFunc[[]branch]
		if x.unique.of == 'n' && x.unique.scope != 'p' { // no vertex is twice in a level
			sort = slices.SortFunc[[]branch]
		}
		sort(x.tree[x.next:], func(a, b branch) int { return cmp.Compare(a.at, b.at) })
	}
	from := x.next
	x.next = min(from+portion, x.levelEnd)
	x.open(from, x.next)
	return true, nil
}

// deepen visits the branch on top of the stack. There is none at the end.
func (x *expansion) deepen(ctx context.Context) (bool, error) {
	top := len(x.tree) - 1
	if top < 0 {
		return false, nil
	}
	b := &x.tree[top]
	if b.opened || !x.isNew(b) || !x.visit(b) {
		x.tree = x.tree[:top]
		return true, nil
	}
	b.opened = true
	x.open(top, top+1)
	for more := true; more; {
		var err error
		if more, err = x.grow(ctx, len(x.fresh)+portion); err != nil {
			return false, err
		}
		if err := x.treeAcct.GrowTo((len(x.tree) + len(x.fresh)) * branchBytes); err != nil {
			return false, err
		}
	}
	return true, x.settle(ctx)
}

// open begins to expand the branches from lo to hi, which have one depth and the order of their vertices.
func (x *expansion) open(lo, hi int) {
	x.sources, x.of = x.sources[:0], x.of[:0]
	for i := lo; i < hi; i++ {
		if n := len(x.sources); n == 0 || x.sources[n-1] != x.tree[i].at {
			x.sources, x.of = append(x.sources, x.tree[i].at), append(x.of, i)
		}
	}
	x.of = append(x.of, hi)
	x.ways, x.answered = x.step(int(x.tree[lo].depth)).ways(), 0
	x.res.Reset(0)
	x.at.source = 0
}

// grow adds continuations of the open branches to the fresh ones until there are so many. It reports whether there may be more.
func (x *expansion) grow(ctx context.Context, most int) (bool, error) {
	for len(x.fresh) < most {
		if x.at.source == x.res.Done {
			if more, err := x.ask(ctx); !more || err != nil {
				return false, err
			}
			continue
		}
		if x.at.edge < x.res.Offsets[x.at.source+1] {
			x.follow(x.at.edge)
			x.at.edge++
			continue
		}
		if x.at.branch++; x.at.branch == x.of[x.answered+x.at.source+1] {
			x.at.source++
		}
		if x.at.source < x.res.Done {
			x.at.edge = x.res.Offsets[x.at.source]
		}
	}
	return true, nil
}

// ask asks for the edges of the next sources. It reports false if all have been asked for.
func (x *expansion) ask(ctx context.Context) (bool, error) {
	x.answered += x.res.Done
	x.res.Done, x.at.source = 0, 0
	if x.answered == len(x.sources) && len(x.ways) > 0 {
		x.answered, x.ways = 0, x.ways[1:]
	}
	if len(x.ways) == 0 {
		return false, nil
	}
	if err := x.c.Run.CheckCancel(ctx); err != nil {
		return false, err
	}
	req := shard.Expand{Sources: x.sources[x.answered:], Types: x.ways[0].types, Dir: x.ways[0].dir, Edges: !x.bare, MaxEdges: askEdges}
	if err := x.c.Tx.Expand(ctx, &req, &x.res); err != nil {
		return false, err
	}
	x.at.branch, x.at.edge = x.of[x.answered], x.res.Offsets[0]
	return true, x.c.Run.Visit(x.res.Seen)
}

// follow adds the continuation by an edge of the answer to the fresh ones, unless the path has just come by that edge.
func (x *expansion) follow(k int) {
	from, w := &x.tree[x.at.branch], &x.ways[0]
	b := branch{at: x.res.Targets[k], parent: x.at.branch, depth: from.depth + 1}
	if !x.bare {
		b.edge, b.typ, b.back = x.res.Edges[k], x.res.Types[k], w.dir != graph.Out && x.res.Reverse[k]
		if from.parent >= 0 && from.edge == b.edge || b.at == from.at && w.loops.has(b.typ) {
			return
		}
	}
	if x.depthFirst || x.isNew(&b) {
		x.fresh = append(x.fresh, b)
	}
}

// isNew reports whether the uniqueness of the search lets a branch pass, and remembers that it was met.
func (x *expansion) isNew(b *branch) bool {
	of := func(b *branch) (graph.VertexID, bool) {
		if x.unique.of == 'n' {
			return b.at, true
		}
		return graph.VertexID(b.edge), b.parent >= 0
	}
	key, some := of(b)
	if x.unique.of == 0 || !some {
		return true
	}
	if x.unique.scope == 'p' {
		for p := b.parent; p >= 0; p = x.tree[p].parent {
			if k, some := of(&x.tree[p]); some && k == key {
				return false
			}
		}
		return true
	}
	level := 0
	if x.unique.scope == 'l' {
		level = int(b.depth)
	}
	for len(x.seen) <= level {
		x.seen, x.counted = append(x.seen, graph.VertexSet{}), append(x.counted, 0)
	}
	return x.seen[level].Add(key)
}

// settle moves the fresh branches into the tree. Breadth first, it judges them before, and leaves out those where the search ends.
func (x *expansion) settle(ctx context.Context) error {
	if len(x.labels) > 0 && len(x.fresh) > 0 && x.fresh[0].parent >= 0 {
		x.ids, x.sets = x.ids[:0], slices.Grow(x.sets[:0], len(x.fresh))[:len(x.fresh)]
		for i := range x.fresh {
			x.ids = append(x.ids, x.fresh[i].at)
		}
		if err := x.reader.Read(ctx, x.c.Tx, x.ids, x.sets); err != nil {
			return err
		}
		for i := range x.fresh {
			x.fresh[i].labels = x.sets[i]
		}
	}
	if x.depthFirst {
		slices.Reverse(x.fresh)
	}
	for i := range x.fresh {
		if b := &x.fresh[i]; x.depthFirst || x.visit(b) {
			x.tree = append(x.tree, *b)
		}
	}
	x.fresh = x.fresh[:0]
	for i := range x.seen {
		if err := runtime.GrowSet(&x.seenAcct, &x.seen[i], &x.counted[i]); err != nil {
			return err
		}
	}
	return x.treeAcct.GrowTo(len(x.tree) * branchBytes)
}

// visit returns the path to a branch if it is wanted, and reports whether the search goes on from it.
func (x *expansion) visit(b *branch) bool {
	include, on := x.judge(b)
	if include && x.found < x.limit {
		x.found++
		x.cells = append(x.cells, x.row(x, b))
		x.rows = append(x.rows, x.cells[len(x.cells)-1:])
	}
	return on
}

func (x *expansion) nodeRow(b *branch) graph.Value { return graph.VertexValue(b.at) }

func (x *expansion) pathRow(b *branch) graph.Value {
	n := int(b.depth)
	p := &graph.Path{Vertices: make([]graph.Value, n+1), Edges: make([]graph.Value, n)}
	for ; n > 0; n-- {
		from := &x.tree[b.parent]
		e := graph.Edge{ID: b.edge, Type: b.typ, Src: from.at, Dst: b.at}
		if b.back {
			e.Src, e.Dst = e.Dst, e.Src
		}
		p.Vertices[n], p.Edges[n-1] = graph.VertexValue(b.at), graph.EdgeRefValue(&graph.EdgeValue{Edge: e})
		b = from
	}
	p.Vertices[0] = graph.VertexValue(b.at)
	return graph.PathValue(p)
}

// subgraphAll returns the nodes that a search reaches, with all relationships between them.
func subgraphAll(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	x, err := newExpansion(ctx, c, "apoc.path.subgraphAll", c.Args[1], nil)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	x.optional = false
	list := runtime.Account{Run: c.Run, Name: "PathExpansion"}
	defer list.Release()
	nodes := []graph.Value{}
	for {
		rows, err := x.Next(ctx)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			nodes = append(nodes, row[0])
		}
		if err := list.GrowTo(listedBytes * len(nodes)); err != nil {
			return nil, err
		}
	}
	rels, err := relationshipsBetween(ctx, c, nodes, &list)
	return [][]graph.Value{{graph.ListValue(nodes), graph.ListValue(rels)}}, err
}

// listedBytes is about what a node or half a relationship takes in a list and in the sets for it.
const listedBytes = 64

// relationshipsBetween returns all edges between vertices.
func relationshipsBetween(ctx context.Context, c *exec.Call, nodes []graph.Value, acct *runtime.Account) ([]graph.Value, error) {
	sources := make([]graph.VertexID, len(nodes))
	for i, n := range nodes {
		sources[i] = n.Vertex()
	}
	var in graph.VertexSet
	in.AddAll(sources)
	slices.Sort(sources)
	var res shard.Neighbours
	rels := []graph.Value{}
	for len(sources) > 0 {
		if err := c.Run.CheckCancel(ctx); err != nil {
			return nil, err
		}
		if err := c.Tx.Expand(ctx, &shard.Expand{Sources: sources, Dir: graph.Out, Edges: true, MaxEdges: askEdges}, &res); err != nil {
			return nil, err
		}
		before := len(rels)
		for u := range res.Done {
			for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
				if in.Has(res.Targets[i]) {
					e := graph.Edge{ID: res.Edges[i], Type: res.Types[i], Src: sources[u], Dst: res.Targets[i]}
					rels = append(rels, graph.EdgeRefValue(&graph.EdgeValue{Edge: e}))
				}
			}
		}
		if err := cmp.Or(c.Run.Visit(res.Seen), acct.Grow(2*listedBytes*(len(rels)-before))); err != nil {
			return nil, err
		}
		sources = sources[res.Done:]
	}
	return rels, nil
}
