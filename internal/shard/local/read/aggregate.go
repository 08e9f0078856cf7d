package read

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/groups"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

const (
	// partVertices is how many vertices a part of an aggregation has: a block of lists, or some of columns.
	partVertices = cache.ListBlock
	// chunkRows is how many values are added up at a time.
	chunkRows = 8192
)

// allPlaces are the places of the rows of a chunk.
var allPlaces = func() (all [chunkRows]uint32) {
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}()

// aggregation implements shard.Aggregation. It reads block by block what is decoded, and the vertices of a block that have
// changed since by the requests that others make.
type aggregation struct {
	tx     *Reader
	req    *shard.Aggregate
	props  []graph.PropID // those of the request, then those of its conditions alone, then, of vertices, the labels
	tests  []int          // by condition: its property in props
	values int            // props without the labels
	ends   []int          // by shard: its parts and those of the shards before
}

// Aggregate implements shard.Aggregator.
func (tx *Reader) Aggregate(ctx context.Context, req *shard.Aggregate) (shard.Aggregation, error) {
	if err := tx.Alive(ctx); err != nil || tx.plain {
		return nil, err
	}
	a := &aggregation{tx: tx, req: req, props: slices.Clone(req.Props)}
	for _, w := range req.Where {
		at := slices.Index(a.props, w.Prop)
		if at < 0 {
			at = len(a.props)
			a.props = append(a.props, w.Prop)
		}
		a.tests = append(a.tests, at)
	}
	if a.values = len(a.props); req.Type == 0 {
		a.props = append(a.props, cache.LabelProp)
	}
	n := 0
	for no := range tx.views {
		n += int((tx.next(no) + partVertices - 1) / partVertices)
		a.ends = append(a.ends, n)
	}
	return a, nil
}

// Parts implements shard.Aggregation.
func (a *aggregation) Parts() int { return a.ends[len(a.ends)-1] }

// Begin implements shard.Aggregation.
func (a *aggregation) Begin(ordered bool) shard.Partial {
	if p := a.req.Pairs; p != nil {
		return &pairCounter{aggregation: a, counts: make([]int64, p.Rows*p.Width)}
	}
	return &aggregator{aggregation: a, Grouper: groups.New(a.req, ordered), cells: make([]cache.Cells, len(a.req.Props))}
}

// each calls f with the vertices of each of some parts: n from a local id of a shard on.
func (a *aggregation) each(ctx context.Context, lo, hi int, f func(no int, first, n uint64) error) error {
	for part := lo; part < hi; part++ {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		no, _ := slices.BinarySearch(a.ends, part+1)
		before := 0
		if no > 0 {
			before = a.ends[no-1]
		}
		first := uint64(part-before) * partVertices
		if err := f(no, first, min(partVertices, a.tx.next(no)-first)); err != nil {
			return err
		}
	}
	return nil
}

// aggregator implements shard.Partial for groups.
type aggregator struct {
	*aggregation
	*groups.Grouper
	has []int8 // by label set: 1 if it has the label, -1 if not, 0 if not known

	visited int
	cols    []*cache.Column // beside props, of the block at hand
	pieces  []cache.Piece
	open    []int // the conditions that some cells of the block meet and others do not
	sums    []cache.Summary
	cells   []cache.Cells
	places  []uint32
	ids     []graph.VertexID
	sets    []graph.LabelSet
	vals    [][]graph.Value // beside props
	far     shard.Neighbours
}

// Add implements shard.Partial.
func (x *aggregator) Add(ctx context.Context, lo, hi int) (visited int, err error) {
	x.visited = 0
	if x.req.Type == 0 {
		views := x.tx.openColumns()
		return 0, x.each(ctx, lo, hi, func(no int, first, n uint64) error {
			for end := first + n; first < end; first += cache.ColumnBlock {
				if err := x.vertices(ctx, &views[no], no, first, min(cache.ColumnBlock, end-first)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	views := x.tx.openLists(len(x.props) > 0)
	defer views.Close()
	var cur cache.Cursor
	last := -1
	err = x.each(ctx, lo, hi, func(no int, first, n uint64) error {
		if no != last {
			views.Views[no].Cursor(&cur, x.req.Type, x.req.Dir, cache.Want{Props: x.props})
			last = no
		}
		return x.edges(ctx, &cur, graph.MakeVertexID(no, first), n)
	})
	return x.visited, err
}

// edges adds the edges in the lists of the n vertices of a block.
func (x *aggregator) edges(ctx context.Context, cur *cache.Cursor, first graph.VertexID, n uint64) error {
	ok, err := cur.Seek(first, int(n))
	if err != nil {
		return err
	}
	if !ok {
		return x.storedEdges(ctx, first, int(n))
	}
	x.cols = x.cols[:0]
	for k := range x.props {
		x.cols = append(x.cols, cur.Prop(k))
	}
	x.pieces = cur.Pieces(x.pieces[:0])
	return x.block(first, cur.Len(), nil, func(p cache.Piece) error {
		return x.storedEdges(ctx, graph.MakeVertexID(first.Shard(), p.First), int(p.N))
	})
}

// vertices adds the n vertices of a block.
func (x *aggregator) vertices(ctx context.Context, view *cache.ColumnView, no int, first, n uint64) (err error) {
	var ok bool
	if x.cols, x.pieces, ok, err = view.Block(x.props, first/cache.ColumnBlock, x.cols[:0], x.pieces[:0]); err != nil {
		return err
	}
	stored := func(p cache.Piece) error {
		return x.storedVertices(ctx, graph.MakeVertexID(no, p.First), int(min(p.N, n-(p.First-first))))
	}
	if !ok {
		return stored(cache.Piece{First: first, N: n})
	}
	return x.block(graph.MakeVertexID(no, first), int(n), x.cols[x.values], stored)
}

// block adds the pieces of a block from a vertex on. Its columns have n cells, and null in those that may follow. stored adds the vertices
// that are not decoded.
func (x *aggregator) block(first graph.VertexID, n int, labels *cache.Column, stored func(p cache.Piece) error) error {
	none := false
	x.open = x.open[:0]
	for k := range x.req.Where {
		in := &x.req.Where[k].In
		sum := x.cols[x.tests[k]].Summary()
		none = none || sum.Misses(in)
		if sum.Count < n || !sum.Within(in) {
			x.open = append(x.open, k)
		}
	}
	if labels != nil {
		if sum := labels.Summary(); sum.Count < n || sum.Min.Int() != sum.Max.Int() {
			none = none || sum.Count == 0
		} else {
			none, labels = none || !x.labelled(graph.LabelSet(sum.Min.Int())), nil // all have one label set
		}
	}
	for _, p := range x.pieces {
		var err error
		p.Hi = min(p.Hi, uint32(n))
		switch {
		case p.N > 0:
			err = stored(p)
		case none || p.Lo >= p.Hi:
		default:
			err = x.piece(first, p, n, labels)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// piece adds a decoded piece of a block of n cells. labels are those that tell which vertices have the label; nil: all have it.
func (x *aggregator) piece(first graph.VertexID, p cache.Piece, n int, labels *cache.Column) error {
	if len(x.req.Keys) == 0 && labels == nil && !x.req.Members {
		switch {
		case len(x.req.Props) == 0 && len(x.open) == 0:
			x.Count(int(p.Hi - p.Lo))
			return nil
		case len(x.req.Props) == 0 && len(x.open) == 1:
			k := x.open[0]
			some, err := x.cols[x.tests[k]].CountWithin(p.Lo, p.Hi, &x.req.Where[k].In, x.tx.decode)
			x.visited += some
			x.Count(some)
			return err
		case len(x.open) == 0 && int(p.Hi-p.Lo) == n:
			x.sums = x.sums[:0]
			for k := range x.req.Props {
				x.sums = append(x.sums, x.cols[k].Summary())
			}
			if done, err := x.Summarize(n, x.sums); done || err != nil {
				return err
			}
		}
	}
	for lo := p.Lo; lo < p.Hi; lo = min(lo+chunkRows, p.Hi) {
		if err := x.chunk(first, lo, min(lo+chunkRows, p.Hi), labels); err != nil {
			return err
		}
	}
	return nil
}

// chunk adds the cells lo … hi-1 of a block.
func (x *aggregator) chunk(first graph.VertexID, lo, hi uint32, labels *cache.Column) (err error) {
	places, open := allPlaces[:hi-lo], x.open
	switch {
	case labels != nil:
		if places, err = x.labelledPlaces(labels, lo, hi); err != nil {
			return err
		}
	case len(open) > 0:
		k := open[0]
		x.places, err = x.cols[x.tests[k]].AppendWithin(x.places[:0], lo, hi, &x.req.Where[k].In, x.tx.decode)
		places, open = x.places, open[1:]
	}
	for _, k := range open {
		if err == nil {
			places, err = x.cols[x.tests[k]].Within(places, lo, &x.req.Where[k].In, x.tx.decode)
		}
	}
	if err != nil || len(places) == 0 {
		return err
	}
	x.visited += len(places)
	for k := range x.cells {
		if err := x.cols[k].Cells(&x.cells[k], lo, hi, x.tx.decode); err != nil {
			return err
		}
	}
	return x.Rows(first+graph.VertexID(lo), places, x.cells)
}

// labelledPlaces returns the places, less lo, of those of the vertices lo … hi-1 of a block that have the label.
func (x *aggregator) labelledPlaces(labels *cache.Column, lo, hi uint32) ([]uint32, error) {
	var sets cache.Cells
	if err := labels.Cells(&sets, lo, hi, nil); err != nil {
		return nil, err
	}
	x.places = x.places[:0]
	last, has := int64(0), x.labelled(0) // neighbours often have the same set
	for i := range hi - lo {
		if !sets.Has(i) {
			continue
		}
		if set := sets.Int(i); set != last {
			last, has = set, x.labelled(graph.LabelSet(set))
		}
		if has {
			x.places = append(x.places, i)
		}
	}
	return x.places, nil
}

// labelled reports whether a set of labels has the label of the request.
func (x *aggregator) labelled(set graph.LabelSet) bool {
	if x.req.Label == 0 {
		return set != 0
	}
	for int(set) >= len(x.has) {
		x.has = append(x.has, 0)
	}
	if x.has[set] == 0 {
		x.has[set] = -1
		if whole := x.tx.whole; whole == nil && slices.Contains(x.req.Sets, set) || whole != nil && slices.Contains(whole.names.Labels(set), x.req.Label) {
			x.has[set] = 1
		}
	}
	return x.has[set] > 0
}

// idsFrom sets x.ids to n vertices.
func (x *aggregator) idsFrom(first graph.VertexID, n int) {
	x.ids = slices.Grow(x.ids[:0], n)[:n]
	for i := range x.ids {
		x.ids[i] = first + graph.VertexID(i)
	}
}

// storedEdges adds the edges of n vertices.
func (x *aggregator) storedEdges(ctx context.Context, first graph.VertexID, n int) error {
	x.idsFrom(first, n)
	req := shard.Expand{Types: []graph.TypeID{x.req.Type}, Dir: x.req.Dir, Props: x.req.Props, Where: x.req.Where, MaxEdges: chunkRows}
	for req.Sources = x.ids; len(req.Sources) > 0; req.Sources = req.Sources[x.far.Done:] {
		if err := x.tx.Expand(ctx, &req, &x.far); err != nil {
			return err
		}
		n := len(x.far.Targets)
		x.visited += n
		for lo := 0; lo < n; lo += chunkRows {
			hi := min(lo+chunkRows, n)
			for k := range x.cells {
				x.cells[k] = cache.Cells{Vals: x.far.Props[k][lo:hi]}
			}
			if err := x.Rows(first, allPlaces[:hi-lo], x.cells); err != nil {
				return err
			}
		}
	}
	return nil
}

// storedVertices adds n vertices.
func (x *aggregator) storedVertices(ctx context.Context, first graph.VertexID, n int) error {
	if x.vals == nil {
		x.vals = shard.Columns(x.values, cache.ColumnBlock)
	}
	x.idsFrom(first, n)
	x.sets = slices.Grow(x.sets[:0], n)[:n]
	if err := x.tx.LabelSets(ctx, x.ids, x.sets); err != nil {
		return err
	}
	if err := x.tx.properties(ctx, x.ids, x.props[:x.values], x.vals); err != nil {
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
	for k := range x.cells {
		x.cells[k] = cache.Cells{Vals: x.vals[k][:n]}
	}
	return x.Rows(first, x.places, x.cells)
}

// meets reports whether a stored vertex meets the conditions.
func (x *aggregator) meets(i int) bool {
	for k, p := range x.tests {
		if !x.req.Where[k].In.Holds(x.vals[p][i]) {
			return false
		}
	}
	return true
}

// pairCounter implements shard.Partial for numbers of edges. It counts in decoded lists, and reads the others.
type pairCounter struct {
	*aggregation
	counts []int64
	rest   []graph.VertexID // whose lists are not decoded
}

// Groups implements shard.Partial.
func (x *pairCounter) Groups() ([]*shard.Groups, error) {
	return []*shard.Groups{{Pairs: x.counts}}, nil
}

// Add implements shard.Partial.
func (x *pairCounter) Add(ctx context.Context, lo, hi int) (visited int, err error) {
	views := x.tx.openLists(false)
	defer views.Close()
	pairs := x.req.Pairs
	err = x.each(ctx, lo, hi, func(no int, first, n uint64) error {
		if no >= len(pairs.From) || first >= uint64(len(pairs.From[no])) {
			return nil
		}
		from := pairs.From[no][first:min(first+n, uint64(len(pairs.From[no])))]
		v := graph.MakeVertexID(no, first)
		var cur cache.Cursor
		views.Views[no].Cursor(&cur, x.req.Type, x.req.Dir, cache.Want{})
		ok, err := cur.Seek(v, len(from))
		if err != nil {
			return err
		}
		x.rest = x.rest[:0]
		for j, code := range from {
			if code < 0 {
				continue
			}
			v := v + graph.VertexID(j)
			found := false
			if ok {
				var edges int
				edges, found = cur.CountTargets(v, pairs.To, x.row(code))
				visited += edges
			}
			if !found {
				x.rest = append(x.rest, v)
			}
		}
		edges, err := x.stored(ctx)
		visited += edges
		return err
	})
	return visited, err
}

// row is the row of the matrix of a list's owner with a number.
func (x *pairCounter) row(code int32) []int64 {
	width := x.req.Pairs.Width
	return x.counts[int(code)*width:][:width]
}

// stored counts the edges of the vertices whose lists are not decoded.
func (x *pairCounter) stored(ctx context.Context) (visited int, err error) {
	req := shard.Expand{Types: []graph.TypeID{x.req.Type}, Dir: x.req.Dir, MaxEdges: chunkRows}
	pairs := x.req.Pairs
	var far shard.Neighbours
	for req.Sources = x.rest; len(req.Sources) > 0; req.Sources = req.Sources[far.Done:] {
		if err := kv.Alive(ctx); err != nil {
			return visited, err
		}
		if err := x.tx.Expand(ctx, &req, &far); err != nil {
			return visited, err
		}
		visited += len(far.Targets)
		for i, v := range req.Sources[:far.Done] {
			row := x.row(pairs.From[v.Shard()][v.Local()])
			for _, t := range far.Targets[far.Offsets[i]:far.Offsets[i+1]] {
				code := uint64(pairs.Width - 1)
				if no := t.Shard(); no < len(pairs.To) && t.Local() < uint64(len(pairs.To[no])) {
					code = min(code, uint64(uint32(pairs.To[no][t.Local()])))
				}
				row[code]++
			}
		}
	}
	return visited, nil
}
