package local

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// summarizer is what one Summarize needs. It reads block by block what is decoded, and the vertices of a block that have
// changed since through the requests that others make.
type summarizer struct {
	tx    *Tx
	req   *shard.Summarize
	sink  shard.Sink
	props []graph.PropID // those of the request, then those of its conditions alone
	tests []int          // by condition: its property in props

	cols   []*cache.Column // beside props, of the block at hand
	pieces []cache.Piece
	open   []int // the conditions that some cells of the block meet and others do not
	sums   []graph.Summary
	places []uint32
	vals   [][]graph.Value // beside props
	part   [][]graph.Value
	ids    []graph.VertexID
	far    shard.Neighbours
}

// summaryRows is how many values are passed on at a time.
const summaryRows = 1024

// Summarize implements shard.Summarizer.
func (tx *Tx) Summarize(ctx context.Context, req *shard.Summarize, sink shard.Sink) (bool, error) {
	if err := tx.Alive(ctx); err != nil {
		return false, err
	}
	x := &summarizer{tx: tx, req: req, sink: sink, props: slices.Clone(req.Props)}
	for _, w := range req.Where {
		at := slices.Index(x.props, w.Prop)
		if at < 0 {
			at = len(x.props)
			x.props = append(x.props, w.Prop)
		}
		x.tests = append(x.tests, at)
	}
	x.vals = make([][]graph.Value, len(x.props))
	if req.Type == 0 {
		return x.vertices(ctx)
	}
	return x.edges(ctx)
}

// few is how many values are read although they are not decoded, so that what is small need not wait until it is.
const few = 4096

// pays reports whether so many of all edges, or of all values of a property, are decoded that the rest may be read as well.
// Blocks without any are decoded at once, by the first who asks for them.
func pays(held int, all uint64) bool { return all <= few || uint64(held) >= all-all/4 }

func (x *summarizer) edges(ctx context.Context) (bool, error) {
	tx := x.tx
	views := tx.OpenLists(len(x.req.Props) > 0)
	defer views.Close()
	want := cache.Want{Props: x.props}
	held, all, exact := 0, uint64(tx.Count(stats.Count{Kind: stats.CountType, Type: x.req.Type})), tx.Mutator == nil
	some := make([][]bool, len(views.Views)) // by shard: the blocks that are decoded
	for no := range views.Views {
		blocks, n, unchanged := views.Views[no].Held(nil, x.req.Type, x.req.Dir, &want)
		some[no] = blocks
		held, exact = held+n, exact && unchanged
	}
	exact = exact && uint64(held) == all // the other blocks have no edges
	if !pays(held, all) {
		return false, nil
	}
	for no := range views.Views {
		var cur cache.Cursor
		views.Views[no].Cursor(&cur, x.req.Type, x.req.Dir, want)
		for first, next := uint64(0), tx.Next(no); first < next; first += cache.ListBlock {
			if err := kv.Alive(ctx); err != nil {
				return false, err
			}
			if exact && !some[no][first/cache.ListBlock] {
				continue
			}
			n := min(cache.ListBlock, next-first)
			ok, err := cur.Seek(graph.MakeVertexID(no, first), int(n))
			if err != nil {
				return false, err
			}
			x.cols, x.pieces = x.cols[:0], x.pieces[:0]
			cells := 0
			if ok {
				for k := range x.props {
					x.cols = append(x.cols, cur.Prop(k))
				}
				x.pieces, cells = cur.Pieces(x.pieces), cur.Len()
			} else {
				x.pieces = append(x.pieces, cache.Piece{First: first, N: n})
			}
			if err := x.block(ctx, no, cells, x.storedEdges); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func (x *summarizer) vertices(ctx context.Context) (bool, error) {
	tx := x.tx
	views := tx.OpenColumns()
	all := tx.Statistics().Props
	for _, p := range x.props {
		held := 0
		for no := range views {
			held += views[no].Held(p)
		}
		if !pays(held, all[graph.PropOf{Prop: tx.g.PropName(p)}]) {
			return false, nil
		}
	}
	for no := range views {
		for first, next := uint64(0), tx.Next(no); first < next; first += cache.ColumnBlock {
			if err := kv.Alive(ctx); err != nil {
				return false, err
			}
			var ok bool
			var err error
			x.cols, x.pieces, ok, err = views[no].Block(x.props, first/cache.ColumnBlock, x.cols[:0], x.pieces[:0])
			if err != nil {
				return false, err
			}
			if !ok {
				x.pieces = append(x.pieces[:0], cache.Piece{First: first, N: min(cache.ColumnBlock, next-first)})
			}
			if err := x.block(ctx, no, cache.ColumnBlock, x.storedVertices); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// block passes on the pieces of a block of a shard whose columns have n cells: of these none, all by summaries, or those that
// meet the conditions. stored passes on the vertices that are not decoded.
func (x *summarizer) block(ctx context.Context, no, n int, stored func(ctx context.Context, ids []graph.VertexID) error) error {
	none := false
	x.open = x.open[:0]
	if len(x.cols) == len(x.props) {
		for k := range x.req.Where {
			in := &x.req.Where[k].In
			sum := x.cols[x.tests[k]].Summary()
			none = none || sum.Misses(in)
			if sum.Count < n || !sum.Within(in) {
				x.open = append(x.open, k)
			}
		}
	}
	brief := len(x.open) == 0 && len(x.req.Props) > 0 // the sink may take summaries
	for _, p := range x.pieces {
		var err error
		switch {
		case p.N > 0:
			x.ids = x.ids[:0]
			for i := range p.N {
				x.ids = append(x.ids, graph.MakeVertexID(no, p.First+i))
			}
			err = stored(ctx, x.ids)
		case none:
		default:
			if brief {
				brief, err = x.summary(p, n)
			}
			if err == nil && !brief {
				err = x.span(ctx, p.Lo, p.Hi)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// summary passes on summaries of a piece of a block of n cells, and reports whether the sink takes them.
func (x *summarizer) summary(p cache.Piece, n int) (bool, error) {
	x.sums = x.sums[:0]
	for k := range x.req.Props {
		if int(p.Hi-p.Lo) == n {
			x.sums = append(x.sums, x.cols[k].Summary())
		} else {
			x.sums = append(x.sums, x.cols[k].SummaryOf(p.Lo, p.Hi))
		}
	}
	return x.sink.Block(int(p.Hi-p.Lo), x.sums)
}

// span passes on the cells lo … hi-1 that meet the open conditions.
func (x *summarizer) span(ctx context.Context, lo, hi uint32) error {
	decode := x.tx.Decode
	if len(x.req.Props) == 0 && len(x.open) < 2 {
		n := int(hi - lo)
		if len(x.open) > 0 {
			var err error
			k := x.open[0]
			if n, err = x.cols[x.tests[k]].CountWithin(lo, hi, &x.req.Where[k].In, decode); err != nil {
				return err
			}
		}
		return x.sink.Values(ctx, n, nil)
	}
	for ; lo < hi; lo = min(lo+summaryRows, hi) {
		end := min(lo+summaryRows, hi)
		n := int(end - lo)
		var err error
		for i, k := range x.open {
			col, in := x.cols[x.tests[k]], &x.req.Where[k].In
			if i == 0 {
				x.places, err = col.AppendWithin(x.places[:0], lo, end, in, decode)
			} else {
				x.places, err = col.Within(x.places, lo, in, decode)
			}
			if err != nil {
				return err
			}
			n = len(x.places)
		}
		if n == 0 {
			continue
		}
		for p := range x.req.Props {
			if err = x.column(p, lo, end); err != nil {
				return err
			}
		}
		if err = x.sink.Values(ctx, n, x.vals[:len(x.req.Props)]); err != nil {
			return err
		}
	}
	return nil
}

// column sets the values of a property: those of the cells at x.places, or without open conditions all of lo … hi-1.
func (x *summarizer) column(p int, lo, hi uint32) (err error) {
	col, vals := x.cols[p], x.vals[p][:0]
	if len(x.open) == 0 {
		vals, err = col.AppendTo(vals, lo, hi, x.tx.Decode)
	} else {
		for _, at := range x.places {
			v, e := col.Value(lo+at, x.tx.Decode)
			if e != nil {
				return e
			}
			vals = append(vals, v)
		}
	}
	x.vals[p] = vals
	return err
}

// storedEdges passes on the edges of vertices.
func (x *summarizer) storedEdges(ctx context.Context, ids []graph.VertexID) error {
	req := shard.Expand{
		Types: []graph.TypeID{x.req.Type}, Dir: x.req.Dir, Props: x.req.Props, Where: x.req.Where, MaxEdges: 4 * summaryRows,
	}
	for len(ids) > 0 {
		req.Sources = ids
		if err := x.tx.Expand(ctx, &req, &x.far); err != nil {
			return err
		}
		if err := x.pass(ctx, len(x.far.Targets), x.far.Props); err != nil {
			return err
		}
		ids = ids[x.far.Done:]
	}
	return nil
}

// storedVertices passes on vertices.
func (x *summarizer) storedVertices(ctx context.Context, ids []graph.VertexID) error {
	vals := shard.Columns(len(x.props), len(ids))
	if err := x.tx.Properties(ctx, ids, x.props, vals); err != nil {
		return err
	}
	n := 0
	for i := range ids {
		if !x.holds(vals, i) {
			continue
		}
		for p := range x.req.Props {
			vals[p][n] = vals[p][i]
		}
		n++
	}
	return x.pass(ctx, n, vals[:len(x.req.Props)])
}

// holds reports whether a row meets the conditions.
func (x *summarizer) holds(vals [][]graph.Value, row int) bool {
	for k, p := range x.tests {
		if !x.req.Where[k].In.Holds(vals[p][row]) {
			return false
		}
	}
	return true
}

// pass passes on n rows, some at a time.
func (x *summarizer) pass(ctx context.Context, n int, vals [][]graph.Value) error {
	for lo := 0; lo < n; lo += summaryRows {
		hi := min(lo+summaryRows, n)
		x.part = x.part[:0]
		for p := range vals {
			x.part = append(x.part, vals[p][lo:hi])
		}
		if err := x.sink.Values(ctx, hi-lo, x.part); err != nil {
			return err
		}
	}
	return nil
}

// labelsPerVertex is how many vertices there may be for each one with the label of a request; else a scan of the label is faster.
const labelsPerVertex = 64

// Blocks implements shard.BlockReader. It decodes the labels of all vertices where they are not.
func (tx *Tx) Blocks(ctx context.Context, req *shard.ReadBlocks) (n int, ok bool, err error) {
	if err := tx.Alive(ctx); err != nil {
		return 0, false, err
	}
	counts := tx.Counts()
	if req.Label != 0 && counts.ByLabel[tx.g.LabelName(req.Label)] < counts.Vertices/labelsPerVertex {
		return 0, false, nil
	}
	views, all := tx.OpenColumns(), tx.Statistics().Props
	holds := func(p graph.PropID, all uint64) bool {
		held := 0
		for no := range views {
			held += views[no].Held(p)
		}
		return pays(held, all)
	}
	for _, p := range req.Props {
		if !holds(p, all[graph.PropOf{Prop: tx.g.PropName(p)}]) {
			return 0, false, nil
		}
	}
	for _, w := range req.Where {
		if !holds(w.Prop, all[graph.PropOf{Prop: tx.g.PropName(w.Prop)}]) {
			return 0, false, nil
		}
	}
	decoded := holds(cache.LabelProp, counts.Vertices)
	for no := range views {
		blocks := (tx.Next(no) + cache.ColumnBlock - 1) / cache.ColumnBlock
		n += int(blocks)
		for b := uint64(0); b < blocks && !decoded; b++ {
			if err := kv.Alive(ctx); err != nil {
				return 0, false, err
			}
			if _, _, _, err := views[no].Block([]graph.PropID{cache.LabelProp}, b, nil, nil); err != nil {
				return 0, false, err
			}
		}
	}
	return n, decoded || holds(cache.LabelProp, counts.Vertices), nil
}

// blockReader is what one ReadBlocks needs.
type blockReader struct {
	tx     *Tx
	req    *shard.ReadBlocks
	sink   shard.CellSink
	props  []graph.PropID // those of the request, of its conditions, and the labels
	has    []int8         // by label set: 1 if it has the label, -1 if not, 0 if not known
	cols   []*cache.Column
	pieces []cache.Piece
	places []uint32
	cells  []graph.Cells
	ids    []graph.VertexID
	sets   []graph.LabelSet
	vals   [][]graph.Value
}

// ReadBlocks implements shard.BlockReader. It reads the vertices that have changed since a block was decoded by the requests
// that others make.
func (tx *Tx) ReadBlocks(ctx context.Context, req *shard.ReadBlocks, lo, hi int, sink shard.CellSink) error {
	if err := tx.Alive(ctx); err != nil {
		return err
	}
	x := &blockReader{tx: tx, req: req, sink: sink, props: slices.Clone(req.Props), cells: make([]graph.Cells, len(req.Props))}
	for _, w := range req.Where {
		x.props = append(x.props, w.Prop)
	}
	x.vals = shard.Columns(len(x.props), cache.ColumnBlock)
	x.props = append(x.props, cache.LabelProp)
	views := tx.OpenColumns()
	first := 0 // block of the shard
	for no := range views {
		blocks := int((tx.Next(no) + cache.ColumnBlock - 1) / cache.ColumnBlock)
		for b := max(lo, first); b < min(hi, first+blocks); b++ {
			if err := kv.Alive(ctx); err != nil {
				return err
			}
			if err := x.block(ctx, &views[no], no, uint64(b-first), b); err != nil {
				return err
			}
		}
		first += blocks
	}
	return nil
}

// block passes on a block of a shard, which is number at among all.
func (x *blockReader) block(ctx context.Context, view *cache.ColumnView, no int, block uint64, at int) (err error) {
	ok := false
	x.cols, x.pieces, ok, err = view.Block(x.props, block, x.cols[:0], x.pieces[:0])
	if err != nil {
		return err
	}
	first := block * cache.ColumnBlock
	if !ok {
		x.pieces = append(x.pieces[:0], cache.Piece{First: first, N: min(cache.ColumnBlock, x.tx.Next(no)-first)})
	}
	for _, p := range x.pieces {
		switch {
		case p.N > 0:
			err = x.stored(ctx, no, p.First, int(p.N), at)
		default:
			err = x.decoded(ctx, p.Lo, p.Hi, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decoded passes on those of the vertices lo … hi-1 of a block that have the label and meet the conditions.
func (x *blockReader) decoded(ctx context.Context, lo, hi uint32, at int) error {
	last := len(x.props) - 1
	for i := range x.req.Where {
		if sum := x.cols[len(x.req.Props)+i].Summary(); sum.Misses(&x.req.Where[i].In) {
			return nil
		}
	}
	x.places = x.places[:0]
	switch sum := x.cols[last].Summary(); {
	case sum.Count == 0:
		return nil
	case sum.Count == cache.ColumnBlock && sum.Min.Int() == sum.Max.Int():
		if !x.labelled(graph.LabelSet(sum.Min.Int())) {
			return nil
		}
		for i := range hi - lo {
			x.places = append(x.places, i)
		}
	default:
		sets := &graph.Cells{}
		if err := x.cols[last].Cells(sets, lo, hi, nil); err != nil {
			return err
		}
		for i := range hi - lo {
			if sets.Has(i) && x.labelled(graph.LabelSet(sets.Int(i))) {
				x.places = append(x.places, i)
			}
		}
	}
	for i := range x.req.Where {
		var err error
		if x.places, err = x.cols[len(x.req.Props)+i].Within(x.places, lo, &x.req.Where[i].In, x.tx.Decode); err != nil {
			return err
		}
	}
	if len(x.places) == 0 {
		return nil
	}
	for p := range x.req.Props {
		if err := x.cols[p].Cells(&x.cells[p], lo, hi, x.tx.Decode); err != nil {
			return err
		}
	}
	return x.sink.Cells(ctx, at, x.places, x.cells)
}

// labelled reports whether a set of labels has the label of the request.
func (x *blockReader) labelled(set graph.LabelSet) bool {
	if x.req.Label == 0 {
		return set != 0
	}
	for int(set) >= len(x.has) {
		x.has = append(x.has, 0)
	}
	if x.has[set] == 0 {
		x.has[set] = -1
		if slices.Contains(x.tx.g.Labels(set), x.req.Label) {
			x.has[set] = 1
		}
	}
	return x.has[set] > 0
}

// stored passes on those of n vertices from a local id on that have the label and meet the conditions.
func (x *blockReader) stored(ctx context.Context, no int, first uint64, n, at int) error {
	x.ids = x.ids[:0]
	for i := range n {
		x.ids = append(x.ids, graph.MakeVertexID(no, first+uint64(i)))
	}
	x.sets = slices.Grow(x.sets[:0], n)[:n]
	if err := x.tx.LabelSets(ctx, x.ids, x.sets); err != nil {
		return err
	}
	if err := x.tx.Properties(ctx, x.ids, x.props[:len(x.props)-1], x.vals); err != nil {
		return err
	}
	x.places = x.places[:0]
	for i := range n {
		if x.labelled(x.sets[i]) && x.meets(i) {
			x.places = append(x.places, uint32(i))
		}
	}
	if len(x.places) == 0 {
		return nil
	}
	for p := range x.cells {
		x.cells[p] = graph.Cells{Vals: x.vals[p][:n]}
	}
	return x.sink.Cells(ctx, at, x.places, x.cells)
}

// meets reports whether a stored vertex meets the conditions.
func (x *blockReader) meets(i int) bool {
	for k := range x.req.Where {
		if !x.req.Where[k].In.Holds(x.vals[len(x.req.Props)+k][i]) {
			return false
		}
	}
	return true
}
