package exec

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// hop reads the edges of frontiers, one request a frontier, and drops those that fail the tests, which so run once an
// edge and not once a row.
type hop struct {
	r      *run
	types  edgeTypes
	dir    graph.Direction
	labels *labelTest // of the far ends; nil: none
	known  int8       // of the labels: 1 the counters say that all far ends have them, -1 they do not, 0 not asked; see sure
	where  *edgeTest  // nil: none
	back   bool       // edges are walked against the pattern: what the condition calls the far end is the source
	edges  bool       // ids and types of edges are wanted
	bring  []string   // properties of edges that are wanted

	brought []int // by property: its column in res.Props, or -1 if no edge has it

	then    *hop // which goes on from all that this one leads to, or nil
	thenSet bool // what then leads to is wanted as a set
	thenMax int  // about how many edges then wants at once, if not as a set

	req  shard.Expand
	res  shard.Neighbours // of the last frontier; valid until the next
	sets []graph.LabelSet
	keep sel
	ends []graph.VertexID // of a step of sets

	reader setReader
}

// newHop makes a hop along edges of the named types.
func (r *run) newHop(types []string, dir graph.Direction, labels *plan.LabelExpr) *hop {
	h := &hop{r: r, types: r.edgeTypes(types), dir: dir}
	if labels != nil {
		h.labels = r.labelTest(labels)
	}
	return h
}

// read fills res with the edges of the first res.Done of sources, which are sorted and without repeats; limit is about
// how many edges are wanted at once (0: all).
func (h *hop) read(ctx context.Context, sources []graph.VertexID, limit int) error {
	if h.r.spent() || !h.ask(sources, limit) {
		h.none(len(sources))
		return nil
	}
	h.askColumns()
	if err := h.r.tx.Expand(ctx, &h.req, &h.res); err != nil {
		return err
	}
	if err := h.r.visit(h.res.Seen); err != nil {
		if !h.r.truncate(err) {
			return err
		}
		h.shorten(len(h.res.Targets) - int(h.r.edges-h.r.env.Budget.Edges))
	}
	if err := h.filterLabels(ctx); err != nil {
		return err
	}
	if h.where != nil && len(h.where.w.preds) > 0 && !h.perRow() {
		return h.filterEdges(ctx)
	}
	return nil
}

// ask makes the request for some sources, without columns; it is not ok if no edge can be found.
func (h *hop) ask(sources []graph.VertexID, limit int) (ok bool) {
	h.req.Sources = sources
	return len(sources) > 0 && h.askOf(limit)
}

// askOf makes the request but for its sources.
func (h *hop) askOf(limit int) (ok bool) {
	types, ok := h.types.resolve()
	if !ok {
		return false
	}
	h.req.Types, h.req.Dir, h.req.MaxEdges = types, h.dir, h.r.affordable(limit)
	h.req.Edges, h.req.Props, h.req.Where = false, h.req.Props[:0], h.req.Where[:0]
	if h.where != nil {
		h.req.Where, ok = h.where.where(h.req.Where)
	}
	return ok
}

// askColumns adds the columns that read fills to the request.
func (h *hop) askColumns() {
	h.req.Edges = h.edges || h.where != nil && h.where.needsEdge
	if h.where != nil {
		h.req.Props = h.where.resolve(h.req.Props)
	}
	h.brought = h.brought[:0]
	for _, key := range h.bring {
		at := -1
		if id, ok := h.r.g.Prop(key); ok {
			at = len(h.req.Props)
			h.req.Props = append(h.req.Props, id)
		}
		h.brought = append(h.brought, at)
	}
}

// prefetchNext gives the request that read will make, but for the sources, or nil if it will make none.
func (h *hop) prefetchNext(limit int) *shard.Expand {
	if h.r.spent() || !h.askOf(limit) {
		return nil
	}
	h.askColumns()
	return &h.req
}

// prefetchBeyond gives the request of the hop that goes on from the far ends, but for the sources, or nil. It is kept in x; set stands for
// the set that the hop fills, if it fills one.
func (h *hop) prefetchBeyond(x *shard.Expand, set *graph.VertexSet) *shard.Expand {
	switch {
	case h.then == nil || !h.sure():
		return nil
	case h.thenSet:
		if h.r.spent() || !h.then.askOf(mostEdges) {
			return nil
		}
		*x = h.then.req
		x.Into = set
	case h.then.prefetchNext(h.thenMax) == nil:
		return nil
	default:
		*x = h.then.req
	}
	return x
}

// puts reports whether put serves: what the shards find is what the hop leads to.
func (h *hop) puts() bool {
	return h.sure() && (h.where == nil || len(h.where.w.preds) == 0) && !h.r.env.Partial
}

// put adds what the hop leads to from sources, which are sorted and without repeats, to a set, and gives the number of those that
// the set had not held.
func (h *hop) put(ctx context.Context, sources []graph.VertexID, into *graph.VertexSet) (added int, err error) {
	for len(sources) > 0 {
		if err := h.r.alive(ctx); err != nil {
			return 0, err
		}
		if !h.ask(sources, mostEdges) {
			return added, nil
		}
		h.req.Into = into
		err := h.r.tx.Expand(ctx, &h.req, &h.res)
		h.req.Into = nil
		if err != nil {
			return 0, err
		}
		if err := h.r.visit(h.res.Seen); err != nil {
			return 0, err
		}
		added += h.res.Added
		sources = sources[h.res.Done:]
	}
	return added, nil
}

// perRow reports whether the condition on edges depends on the input's row, so that read does not test it.
func (h *hop) perRow() bool { return h.where != nil && h.where.perRow() }

// none makes res the answer to n vertices without edges.
func (h *hop) none(n int) {
	res := &h.res
	res.Done = n
	res.Offsets = res.Offsets[:0]
	for range n + 1 {
		res.Offsets = append(res.Offsets, 0)
	}
	res.Targets, res.Edges, res.Types, res.Reverse = res.Targets[:0], res.Edges[:0], res.Types[:0], res.Reverse[:0]
}

// edge gives edge i of the answer, which belongs to the vertex source.
func (h *hop) edge(i int, source graph.VertexID) graph.Edge {
	e := graph.Edge{ID: h.res.Edges[i], Type: h.res.Types[i], Src: source, Dst: h.res.Targets[i]}
	if h.reversed(i) {
		e.Src, e.Dst = e.Dst, e.Src
	}
	return e
}

// reversed reports whether edge i leads from its target to its source.
func (h *hop) reversed(i int) bool {
	return h.dir == graph.In || h.dir == graph.Both && h.res.Reverse[i]
}

func (h *hop) filterLabels(ctx context.Context) error {
	if len(h.res.Targets) == 0 || h.sure() {
		return nil
	}
	if err := h.readSets(ctx); err != nil {
		return err
	}
	h.keep = h.keep[:0]
	for i, ls := range h.sets {
		if h.labels.holds(ls) {
			h.keep = append(h.keep, int32(i))
		}
	}
	h.compact()
	return nil
}

// readSets fills sets with the label sets of the targets.
func (h *hop) readSets(ctx context.Context) error {
	n := len(h.res.Targets)
	if cap(h.sets) < n {
		h.sets = make([]graph.LabelSet, n, n+n/2)
	}
	h.sets = h.sets[:n]
	return h.reader.read(ctx, h.r.tx, h.res.Targets, h.sets)
}

// filterEdges drops the edges that fail the test, a part of the answer at a time.
func (h *hop) filterEdges(ctx context.Context) error {
	h.keep = h.keep[:0]
	const part = 4 * graph.BatchSize
	u := 0
	for lo := 0; lo < len(h.res.Targets); lo += part {
		hi := min(lo+part, len(h.res.Targets))
		var err error
		if u, h.keep, err = h.where.filterPart(ctx, h, lo, hi, u, h.keep); err != nil {
			return err
		}
	}
	h.compact()
	return nil
}

// compact drops all edges of the answer but those listed in keep.
func (h *hop) compact() {
	res := &h.res
	if len(h.keep) == len(res.Targets) {
		return
	}
	n := len(res.Targets)
	next, out := 0, 0 // the next of keep, and where it goes
	for u := range res.Done {
		end := int32(res.Offsets[u+1])
		res.Offsets[u] = out
		for ; next < len(h.keep) && h.keep[next] < end; next++ {
			out++
		}
	}
	res.Offsets[res.Done] = out
	res.Targets = gathered(res.Targets, h.keep, n)
	res.Edges = gathered(res.Edges, h.keep, n)
	res.Types = gathered(res.Types, h.keep, n)
	res.Reverse = gathered(res.Reverse, h.keep, n)
	for p := range res.Props {
		res.Props[p] = gathered(res.Props[p], h.keep, n)
	}
}

// shorten drops all edges of the answer from the n-th on.
func (h *hop) shorten(n int) {
	h.keep = append(h.keep[:0], allRows(max(n, 0))...)
	h.compact()
}

// gathered moves the cells of a column that are listed in keep to its front. A column that is not filled, which has
// other than n cells, stays.
func gathered[T any](col []T, keep sel, n int) []T {
	if len(col) != n {
		return col
	}
	for k, i := range keep {
		col[k] = col[i]
	}
	return col[:len(keep)]
}

// rowEdges drops the edges of an answer that one row does not allow.
type rowEdges struct {
	sources []graph.VertexID
	rows    sel
}

// keep drops the edges that fail a condition on the row, and those that are excluded.
func (k *rowEdges) keep(ctx context.Context, h *hop, b *batch, row int32, excluded []graph.EdgeID) error {
	res := &h.res
	if h.perRow() && len(res.Targets) > 0 {
		k.sources, k.rows = k.sources[:0], appendRepeated(k.rows[:0], row, len(res.Targets))
		for u := range res.Done {
			for range res.Offsets[u+1] - res.Offsets[u] {
				k.sources = append(k.sources, h.req.Sources[u])
			}
		}
		passed, err := h.where.filterRows(ctx, h, allRows(len(res.Targets)), k.sources, b, k.rows)
		if err != nil {
			return err
		}
		h.keep = append(h.keep[:0], passed...)
		h.compact()
	}
	if len(excluded) > 0 && containsAny(res.Edges, excluded) {
		h.keep = h.keep[:0]
		for i, id := range res.Edges {
			if !slices.Contains(excluded, id) {
				h.keep = append(h.keep, int32(i))
			}
		}
		h.compact()
	}
	return nil
}
