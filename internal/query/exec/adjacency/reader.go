package adjacency

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Reader reads the edges of frontiers, one request for each frontier, and drops the edges that fail the tests. So a test runs
// once for each edge, not for each row.
type Reader struct {
	Run    *runtime.Run
	Types  EdgeTypes
	Dir    graph.Direction
	Labels *expr.LabelTest // of the far ends; nil: none
	Known  int8            // 1: by the counters, all far ends have the labels; -1: not all; 0: unknown; see sure
	Filter *EdgeTest       // nil: none
	Back   bool            // edges are read against the pattern: the condition's far end is the source
	Edges  bool            // ids and types of edges are requested
	Props  []string        // requested properties of edges
	Late   *runtime.Late   // holds the error of an edge back, if not nil
	Cut    bool            // the answer lacks an edge whose error is held back, and the edges behind it

	PropCols []int // by property: its column in Answer.Props, or -1 if no edge has it

	Next runtime.Prefetch // the hop that follows from all far ends, or none

	Request shard.Expand
	Answer  shard.Neighbours // of the last frontier; valid until the next
	Sets    []graph.LabelSet
	Keep    runtime.Sel
	ends    []graph.VertexID // of a step of sets

	LabelReader expr.LabelReader
}

// NewReader creates a reader along edges of the named types.
func NewReader(r *runtime.Run, types []string, dir graph.Direction, labels *plan.LabelExpr) *Reader {
	h := &Reader{Run: r, Types: NewEdgeTypes(r, types), Dir: dir}
	if labels != nil {
		h.Labels = expr.NewLabelTest(r, labels)
	}
	return h
}

// Read fills Answer with the edges of the first Answer.Done of sources, which are sorted and without repeats. limit is about
// how many edges to request at once (0: all).
func (h *Reader) Read(ctx context.Context, sources []graph.VertexID, limit int) error {
	h.Cut = false
	if h.Run.Exhausted() || !h.requestEdges(sources, limit) {
		h.none(len(sources))
		return nil
	}
	h.requestColumns()
	if err := h.Run.Tx.Expand(ctx, &h.Request, &h.Answer); err != nil {
		return err
	}
	if err := h.Run.Visit(h.Answer.Seen); err != nil {
		if !h.Run.Truncate(err) {
			return err
		}
		h.shorten(len(h.Answer.Targets) - int(h.Run.Edges-h.Run.Env.Budget.Edges))
	}
	if err := h.filterLabels(ctx); err != nil {
		return err
	}
	if h.Filter != nil && len(h.Filter.w.Preds) > 0 && !h.PerRow() {
		return h.filterEdges(ctx)
	}
	return nil
}

// requestEdges builds the request for some sources, without columns; ok is false if no edge can exist.
func (h *Reader) requestEdges(sources []graph.VertexID, limit int) (ok bool) {
	h.Request.Sources = sources
	return len(sources) > 0 && h.requestFor(limit)
}

// requestFor builds the request except for its sources.
func (h *Reader) requestFor(limit int) (ok bool) {
	types, ok := h.Types.Resolve()
	if !ok {
		return false
	}
	h.Request.Types, h.Request.Dir, h.Request.MaxEdges = types, h.Dir, h.Run.Affordable(limit)
	h.Request.Edges, h.Request.Props, h.Request.Where = false, h.Request.Props[:0], h.Request.Where[:0]
	if h.Filter != nil {
		h.Request.Where, ok = h.Filter.bounds.Where(h.Run, h.Request.Where)
	}
	return ok
}

// requestColumns adds the columns that Read fills to the request.
func (h *Reader) requestColumns() {
	h.Request.Edges = h.Edges || h.Filter != nil && h.Filter.needsEdge
	if h.Filter != nil {
		h.Request.Props = h.Filter.resolve(h.Request.Props)
	}
	h.PropCols = h.PropCols[:0]
	for _, key := range h.Props {
		at := -1
		if id, ok := h.Run.Graph.Prop(key); ok {
			at = len(h.Request.Props)
			h.Request.Props = append(h.Request.Props, id)
		}
		h.PropCols = append(h.PropCols, at)
	}
}

// PrefetchNext returns the request of the next Read without its sources, or nil if there will be none.
func (h *Reader) PrefetchNext(limit int) *shard.Expand {
	if h.Run.Exhausted() || !h.requestFor(limit) {
		return nil
	}
	h.requestColumns()
	return &h.Request
}

// PrefetchBeyond returns the request of the following hop without its sources, or nil. It is stored in x; set represents the set
// that the hop fills, if any.
func (h *Reader) PrefetchBeyond(x *shard.Expand, set *graph.VertexSet) *shard.Expand {
	if h.Next.Hop == nil || !h.impliesLabels() {
		return nil
	}
	req := h.Next.Hop.PrefetchNext(h.Next.Limit)
	if req == nil {
		return nil
	}
	if *x = *req; h.Next.Set {
		x.Into, x.Edges, x.Props = set, false, x.Props[:0]
	}
	return x
}

// Puts reports whether Put applies: the shards' answer is exactly the set that the hop leads to.
func (h *Reader) Puts() bool {
	return h.impliesLabels() && (h.Filter == nil || len(h.Filter.w.Preds) == 0) && !h.Run.Env.Partial
}

// Put adds the far ends of sources, which are sorted and without repeats, to a set, and returns how many of them are new.
func (h *Reader) Put(ctx context.Context, sources []graph.VertexID, into *graph.VertexSet) (added int, err error) {
	for len(sources) > 0 {
		if err := h.Run.CheckCancel(ctx); err != nil {
			return 0, err
		}
		if !h.requestEdges(sources, MaxEdges) {
			return added, nil
		}
		h.Request.Into = into
		err := h.Run.Tx.Expand(ctx, &h.Request, &h.Answer)
		h.Request.Into = nil
		if err != nil {
			return 0, err
		}
		if err := h.Run.Visit(h.Answer.Seen); err != nil {
			return 0, err
		}
		added += h.Answer.Added
		sources = sources[h.Answer.Done:]
	}
	return added, nil
}

// PerRow reports whether the condition on edges depends on the input row, so Read does not test it.
func (h *Reader) PerRow() bool { return h.Filter != nil && h.Filter.PerRow() }

// none sets Answer to n vertices without edges.
func (h *Reader) none(n int) {
	res := &h.Answer
	res.Done = n
	res.Offsets = res.Offsets[:0]
	for range n + 1 {
		res.Offsets = append(res.Offsets, 0)
	}
	res.Targets, res.Edges, res.Types, res.Reverse = res.Targets[:0], res.Edges[:0], res.Types[:0], res.Reverse[:0]
}

// Edge returns edge i of the answer, which belongs to the vertex source.
func (h *Reader) Edge(i int, source graph.VertexID) graph.Edge {
	e := graph.Edge{ID: h.Answer.Edges[i], Type: h.Answer.Types[i], Src: source, Dst: h.Answer.Targets[i]}
	if h.reversed(i) {
		e.Src, e.Dst = e.Dst, e.Src
	}
	return e
}

// reversed reports whether edge i leads from its target to its source.
func (h *Reader) reversed(i int) bool {
	return h.Dir == graph.In || h.Dir == graph.Both && h.Answer.Reverse[i]
}

func (h *Reader) filterLabels(ctx context.Context) error {
	if len(h.Answer.Targets) == 0 || h.impliesLabels() {
		return nil
	}
	if err := h.ReadSets(ctx); err != nil {
		return err
	}
	h.Keep = h.Keep[:0]
	for i, ls := range h.Sets {
		if h.Labels.Holds(ls) {
			h.Keep = append(h.Keep, int32(i))
		}
	}
	h.Compact()
	return nil
}

// ReadSets fills Sets with the label sets of the targets.
func (h *Reader) ReadSets(ctx context.Context) error {
	n := len(h.Answer.Targets)
	if cap(h.Sets) < n {
		h.Sets = make([]graph.LabelSet, n, n+n/2)
	}
	h.Sets = h.Sets[:n]
	return h.LabelReader.Read(ctx, h.Run.Tx, h.Answer.Targets, h.Sets)
}

// filterEdges drops the edges that fail the test, part by part.
func (h *Reader) filterEdges(ctx context.Context) error {
	h.Keep = h.Keep[:0]
	const part = 4 * graph.BatchSize
	u := 0
	for lo := 0; lo < len(h.Answer.Targets); lo += part {
		hi := min(lo+part, len(h.Answer.Targets))
		first, kept := u, h.Keep
		filter := func(n int) (err error) {
			u, h.Keep, err = h.Filter.filterPart(ctx, h, lo, lo+n, first, kept)
			return err
		}
		if err := filter(hi - lo); err != nil {
			if err = h.before(hi-lo, err, filter); err != nil {
				return err
			}
			break
		}
	}
	h.Compact()
	return nil
}

// before filters the edges that precede one that fails among n edges, and holds its error back.
func (h *Reader) before(n int, err error, filter func(n int) error) error {
	if h.Late == nil {
		return err
	}
	kept := len(h.Keep)
	good, err := h.Late.Before(h.Run, n, err, filter)
	if good == 0 {
		if h.Keep = h.Keep[:kept]; kept == 0 || !h.Late.Hold(h.Run, err) {
			return err
		}
	}
	h.Cut = true
	return nil
}

// Compact drops all edges of the answer except those listed in Keep.
func (h *Reader) Compact() {
	res := &h.Answer
	if len(h.Keep) == len(res.Targets) {
		return
	}
	n := len(res.Targets)
	next, out := 0, 0 // the next entry of Keep, and its destination
	for u := range res.Done {
		end := int32(res.Offsets[u+1])
		res.Offsets[u] = out
		for ; next < len(h.Keep) && h.Keep[next] < end; next++ {
			out++
		}
	}
	res.Offsets[res.Done] = out
	res.Targets = gathered(res.Targets, h.Keep, n)
	res.Edges = gathered(res.Edges, h.Keep, n)
	res.Types = gathered(res.Types, h.Keep, n)
	res.Reverse = gathered(res.Reverse, h.Keep, n)
	for p := range res.Props {
		res.Props[p] = gathered(res.Props[p], h.Keep, n)
	}
}

// shorten truncates the answer to n edges.
func (h *Reader) shorten(n int) {
	h.Keep = append(h.Keep[:0], runtime.AllRows(max(n, 0))...)
	h.Compact()
}

// gathered moves the cells of a column that are listed in keep to its front. A column without n cells is not filled and stays
// as it is.
func gathered[T any](col []T, keep runtime.Sel, n int) []T {
	if len(col) != n {
		return col
	}
	for k, i := range keep {
		col[k] = col[i]
	}
	return col[:len(keep)]
}

// RowEdges drops the edges of an answer that one row excludes.
type RowEdges struct {
	sources []graph.VertexID
	rows    runtime.Sel
}

// Keep drops the edges that fail a condition on the row, and the excluded ones.
func (k *RowEdges) Keep(ctx context.Context, h *Reader, b *runtime.Batch, row int32, excluded []graph.EdgeID) error {
	res := &h.Answer
	if h.PerRow() && len(res.Targets) > 0 {
		k.sources, k.rows = k.sources[:0], runtime.AppendRepeated(k.rows[:0], row, len(res.Targets))
		for u := range res.Done {
			for range res.Offsets[u+1] - res.Offsets[u] {
				k.sources = append(k.sources, h.Request.Sources[u])
			}
		}
		passed, err := h.Filter.FilterRows(ctx, h, runtime.AllRows(len(res.Targets)), k.sources, b, k.rows)
		if err != nil {
			return err
		}
		h.Keep = append(h.Keep[:0], passed...)
		h.Compact()
	}
	if len(excluded) > 0 && ContainsAny(res.Edges, excluded) {
		h.Keep = h.Keep[:0]
		for i, id := range res.Edges {
			if !slices.Contains(excluded, id) {
				h.Keep = append(h.Keep, int32(i))
			}
		}
		h.Compact()
	}
	return nil
}
