package bulk

import (
	"runtime"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/pack"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// edgeRows are the rows of all groups of one edge type, in order, whose ends are known.
type edgeRows struct {
	t    graph.TypeID
	rows []edgeRow
	cols []edgeColumn
	// plainInsert: all rows insert. simple: all rows insert or upsert.
	plainInsert, simple bool
}

type edgeRow struct {
	src, dst   graph.VertexID
	group, row int32
}

// edgeColumn is a property of the rows.
type edgeColumn struct {
	prop     graph.PropID
	strategy []shard.Strategy // by group of the batch
	values   []graph.Value
	own      bool // values are a copy
}

// edges carries out the batch's edges: first all ends are found, or made, then the edges of each type are written.
func (b *Batch) edges() error {
	var types []*edgeRows
	sizes := map[graph.TypeID]int{}
	for i := range b.l.Edges {
		sizes[b.l.Edges[i].Type] += len(b.l.Edges[i].Src)
	}
	for i := range b.l.Edges {
		group := &b.l.Edges[i]
		if group.Type == 0 || len(group.Dst) != len(group.Src) {
			return fail.Misuse("a group of edges has no type, or its ends do not pair")
		}
		for _, c := range group.Props {
			if len(c.Values) != len(group.Src) {
				return fail.Misuse("a column of a load has %d values for %d rows", len(c.Values), len(group.Src))
			}
		}
		at := slices.IndexFunc(types, func(e *edgeRows) bool { return e.t == group.Type })
		if at < 0 {
			at = len(types)
			types = append(types, &edgeRows{t: group.Type, rows: make([]edgeRow, 0, sizes[group.Type]), plainInsert: true, simple: true})
		}
		e := types[at]
		e.plainInsert = e.plainInsert && group.Action == shard.Insert
		e.simple = e.simple && (group.Action == shard.Insert || group.Action == shard.Upsert)
		if err := b.ends(i, e); err != nil {
			return err
		}
	}
	if err := b.makePending(); err != nil {
		return err
	}
	for _, e := range types {
		b.fixPending(e)
		if err := b.edgesOfType(e); err != nil {
			return err
		}
	}
	return nil
}

// ends finds the ends of a group's rows.
func (b *Batch) ends(i int, e *edgeRows) error {
	group := &b.l.Edges[i]
	srcDef, err := b.space(group.SrcSpace)
	if err != nil {
		return err
	}
	dstDef, err := b.space(group.DstSpace)
	if err != nil {
		return err
	}
	srcs, err := b.table(srcDef, len(group.Src))
	if err != nil {
		return err
	}
	dsts, err := b.table(dstDef, len(group.Dst))
	if err != nil {
		return err
	}
	if err := b.fetch(srcDef, srcs, group.Src); err != nil {
		return err
	}
	if err := b.fetch(dstDef, dsts, group.Dst); err != nil {
		return err
	}
	all := e.rows[len(e.rows) : len(e.rows)+len(group.Src)]
	parts(len(all), func(from, to int) {
		var key []byte
		for row := from; row < to; row++ {
			src, dst := group.Src[row], group.Dst[row]
			r := edgeRow{group: int32(i), row: int32(row)}
			if isKey(src) {
				r.src = srcs.get(src, &key)
			}
			if isKey(dst) {
				r.dst = dsts.get(dst, &key)
			}
			all[row] = r
		}
	})
	for row := range all {
		if err := b.alive(); err != nil {
			return err
		}
		r := all[row]
		src, dst := group.Src[row], group.Dst[row]
		if r.src == graph.NoVertex || r.dst == graph.NoVertex || !isKey(src) || !isKey(dst) {
			ok, err := b.dangling(i, row, srcDef, dstDef, &r)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		e.rows = append(e.rows, r)
	}
	return nil
}

// minPart is the least number of rows that a goroutine is worth.
const minPart = 1 << 12

// parts calls f for parts of n rows at the same time.
func parts(n int, f func(from, to int)) {
	k := min(runtime.GOMAXPROCS(0), n/minPart)
	var others sync.WaitGroup
	for i := 1; i < k; i++ {
		others.Go(func() { f(i*n/k, (i+1)*n/k) })
	}
	f(0, n/max(1, k))
	others.Wait()
}

// dangling treats a row with a missing end; ok reports whether both ends exist afterwards.
func (b *Batch) dangling(i, row int, srcDef, dstDef *index.Def, e *edgeRow) (ok bool, err error) {
	group := &b.l.Edges[i]
	for _, end := range []struct {
		d   *index.Def
		key graph.Value
		id  *graph.VertexID
	}{{srcDef, group.Src[row], &e.src}, {dstDef, group.Dst[row], &e.dst}} {
		if !isKey(end.key) {
			b.refuse(true, i, row, rejectKey)
			return false, nil
		}
		// The source may have been made a moment ago, under the same key.
		if *end.id, err = b.find(end.d, end.key); err != nil {
			return false, err
		}
		if *end.id != graph.NoVertex {
			continue
		}
		switch group.Dangling {
		case shard.DanglingReject:
			b.refuse(true, i, row, rejectDangling)
			return false, nil
		case shard.DanglingSkip:
			return false, nil
		}
		r, err := b.makeEnd(end.d, end.key, end.id)
		if err != nil {
			return false, err
		}
		if r != nil {
			b.refuse(true, i, row, r)
			return false, nil
		}
	}
	return true, nil
}

// makeEnd makes the vertex that a dangling edge lacks, with its key alone.
func (b *Batch) makeEnd(d *index.Def, key graph.Value, id *graph.VertexID) (*reject, error) {
	set, err := b.newSet(d, graph.NoLabels)
	if err != nil {
		return nil, err
	}
	if b.constrained(d, set) || b.tables.byIndex[d.ID] == nil {
		if err := b.settle(); err != nil {
			return nil, err
		}
		var r *reject
		*id, r, err = b.create(d, key, graph.NoLabels, nil)
		return r, err
	}
	at := b.pendingOf(d, set)
	p := b.pending[at]
	p.ends = true
	n, r := p.add(&shard.LoadVertices{}, 0, nil)
	if r != nil {
		return r, nil
	}
	p.setKey(n, key)
	*id = makePendingID(at, n)
	b.l.Counts.Vertices.Created++
	b.put(d, key, *id)
	tuple, _ := keys.AppendOrdered(nil, key)
	p.keys.AddKey(tuple)
	return nil, nil
}

// fixPending puts the ids of vertices that have been made meanwhile into the rows.
func (b *Batch) fixPending(e *edgeRows) {
	if len(b.pending) == 0 {
		return
	}
	for i := range e.rows {
		for _, id := range []*graph.VertexID{&e.rows[i].src, &e.rows[i].dst} {
			if isPending(*id) {
				group, row := splitPending(*id)
				*id = b.pending[group].ids[row]
			}
		}
	}
}

func (b *Batch) edgesOfType(e *edgeRows) error {
	if len(e.rows) == 0 {
		return nil
	}
	if !e.simple || len(b.defs.ByType[e.t]) > 0 {
		return b.edgesByRow(e.rows)
	}
	b.edgeColumns(e)
	b.dropBad(e)
	if e.plainInsert {
		return b.insertEdges(e)
	}
	old, err := b.splitOld(e)
	if err != nil {
		return err
	}
	if err := b.insertEdges(e); err != nil {
		return err
	}
	if len(old) == 0 {
		return nil
	}
	return b.edgesByRow(old)
}

// edgesByRow carries out rows one by one.
func (b *Batch) edgesByRow(rows []edgeRow) error {
	if err := b.settle(); err != nil {
		return err
	}
	for _, e := range rows {
		r, err := b.edgeRow(&b.l.Edges[e.group], int(e.row), e.src, e.dst)
		if err != nil {
			return err
		}
		if r != nil {
			b.refuse(true, int(e.group), int(e.row), r)
		}
	}
	return nil
}

// edgeColumns lays the columns of the groups end to end, as far as there are several.
func (b *Batch) edgeColumns(e *edgeRows) {
	one := true
	for i := range e.rows {
		one = one && e.rows[i].group == e.rows[0].group && int(e.rows[i].row) == i
	}
	if group := &b.l.Edges[e.rows[0].group]; one && len(e.rows) == len(group.Src) && !repeats(group.Props) {
		for _, c := range group.Props {
			e.cols = append(e.cols, edgeColumn{prop: c.Prop, strategy: b.strategies(c.Prop), values: c.Values})
		}
		return
	}
	at := map[graph.PropID]int{}
	for from, to := 0, 0; from < len(e.rows); from = to {
		for to < len(e.rows) && e.rows[to].group == e.rows[from].group {
			to++
		}
		group := &b.l.Edges[e.rows[from].group]
		for k := range group.Props {
			c := &group.Props[k]
			n, ok := at[c.Prop]
			if !ok {
				n = len(e.cols)
				at[c.Prop] = n
				e.cols = append(e.cols, edgeColumn{prop: c.Prop, strategy: b.strategies(c.Prop), values: make([]graph.Value, len(e.rows)), own: true})
			}
			values := e.cols[n].values
			for i := from; i < to; i++ {
				values[i] = c.Values[e.rows[i].row]
			}
		}
	}
}

func repeats(cols []shard.LoadColumn) bool {
	for i := range cols {
		for j := range i {
			if cols[i].Prop == cols[j].Prop {
				return true
			}
		}
	}
	return false
}

// strategies returns the update strategy of a property by group.
func (b *Batch) strategies(p graph.PropID) []shard.Strategy {
	out := make([]shard.Strategy, len(b.l.Edges))
	for i := range b.l.Edges {
		for _, c := range b.l.Edges[i].Props {
			if c.Prop == p {
				out[i] = c.Strategy
			}
		}
	}
	return out
}

// dropBad refuses rows with values that cannot be stored.
func (b *Batch) dropBad(e *edgeRows) {
	bad := map[int]bool{}
	for c := range e.cols {
		for i, v := range e.cols[c].values {
			if !storable(v) {
				bad[i] = true
			}
		}
	}
	for i := range bad {
		b.refuse(true, int(e.rows[i].group), int(e.rows[i].row), rejectValue)
		e.rows[i].src = graph.NoVertex
	}
}

// compactRun treats rows with the same ends, between which there is no edge yet, in their order: the first makes an edge,
// and so does every insert; an upsert changes all that there are by then.
func (b *Batch) compactRun(e *edgeRows, run []int32) {
	made := []int32{}
	for _, i := range run {
		row := &e.rows[i]
		if len(made) == 0 || b.l.Edges[row.group].Action == shard.Insert {
			made = append(made, i)
			continue
		}
		for _, to := range made {
			changed, r := e.combine(i, to)
			if r != nil {
				b.refuse(true, int(row.group), int(row.row), r)
				break
			}
			b.l.Counts.Edges.Existing(changed)
		}
		row.src = graph.NoVertex
	}
}

// combine changes edge to by row i, and reports whether any of its properties changes.
func (e *edgeRows) combine(i, to int32) (changed bool, _ *reject) {
	next := make([]graph.Value, len(e.cols))
	for c := range e.cols {
		col := &e.cols[c]
		v := col.values[i]
		if v.IsNull() {
			continue
		}
		var r *reject
		if next[c], r = combine(col.strategy[e.rows[i].group], col.values[to], v); r != nil {
			return false, r
		}
	}
	for c, v := range next {
		if v.IsNull() {
			continue
		}
		col := &e.cols[c]
		if !col.own {
			col.values, col.own = slices.Clone(col.values), true
		}
		changed = changed || !keys.Identical(col.values[to], v)
		col.values[to] = v
	}
	return changed, nil
}

// bulkColumns encodes the properties of the rows that have a source.
func (b *Batch) bulkColumns(e *edgeRows) ([]pack.Column, error) {
	ws := b.tx.Writers()
	cols := make([]pack.Column, len(e.cols))
	for c := range cols {
		if ints := intsOf(e.cols[c].values); ints != nil {
			cols[c] = pack.NewIntColumn(e.cols[c].prop, ints)
			continue
		}
		cols[c] = pack.NewColumn(e.cols[c].prop, len(e.rows))
		for i, v := range e.cols[c].values {
			src := e.rows[i].src
			if src == graph.NoVertex {
				cols[c].Skip()
				continue
			}
			if err := cols[c].Add(ws[src.Shard()].Overlay(), v); err != nil {
				return nil, err
			}
		}
	}
	return cols, nil
}

// intsOf returns the integers of values, nil if there are others.
func intsOf(values []graph.Value) []int64 {
	if values[0].Kind() != graph.Int {
		return nil
	}
	ints := make([]int64, len(values))
	for i, v := range values {
		if v.Kind() != graph.Int {
			return nil
		}
		ints[i] = v.Int()
	}
	return ints
}

// insertEdges puts the rows that have a source into the bulks.
func (b *Batch) insertEdges(e *edgeRows) error {
	ws := b.tx.Writers()
	var columns sync.WaitGroup
	var cols []pack.Column
	var err error
	columns.Go(func() { cols, err = b.bulkColumns(e) })
	var lists [2][][]codec.ListEdge
	for dir := range lists {
		lists[dir] = make([][]codec.ListEdge, len(ws))
		if len(ws) == 1 {
			lists[dir][0] = make([]codec.ListEdge, 0, len(e.rows))
		}
	}
	n := 0
	filter := b.g.pairs[e.t]
	log := b.newEdges(e)
	for i := range e.rows {
		r := &e.rows[i]
		if r.src == graph.NoVertex {
			if log != nil {
				log.Ends[0][i] = uint64(graph.NoVertex)
			}
			continue
		}
		n++
		if filter != nil {
			filter.add(hashPair(r.src, r.dst))
		}
		from, to := r.src.Shard(), r.dst.Shard()
		id := ws[from].NewEdge()
		if log != nil {
			log.IDs[i], log.Ends[0][i], log.Ends[1][i] = uint64(id), uint64(r.src), uint64(r.dst)
		}
		lists[0][from] = append(lists[0][from], codec.ListEdge{Vertex: r.src.Local(), Neighbour: r.dst, Edge: id, Row: int32(i)})
		lists[1][to] = append(lists[1][to], codec.ListEdge{Vertex: r.dst.Local(), Neighbour: r.src, Edge: id, Row: int32(i)})
	}
	b.l.Counts.Edges.Created += n
	sorted := func(shards [][]codec.ListEdge) {
		for no := range shards {
			shards[no] = pack.SortEdges(shards[no])
		}
	}
	var other sync.WaitGroup
	other.Go(func() { sorted(lists[graph.In]) })
	sorted(lists[graph.Out])
	other.Wait()
	columns.Wait()
	if err != nil {
		return err
	}
	for dir, shards := range lists {
		for no, edges := range shards {
			if len(edges) == 0 {
				continue
			}
			if err := b.countEdges(e.t, graph.Direction(dir), no, edges, log); err != nil {
				return err
			}
			b.bulk(no).Edges(e.t, graph.Direction(dir), edges, cols)
		}
	}
	if log == nil {
		return nil
	}
	return b.log.CreatedEdges(b.ctx, log)
}

// newEdges returns what the commit log is to know of new edges, without their ids, ends and label sets; nil if it keeps none.
func (b *Batch) newEdges(e *edgeRows) *write.NewEdges {
	if b.log.Mode() == changelog.Off {
		return nil
	}
	n := len(e.rows)
	log := &write.NewEdges{Type: e.t, IDs: make([]uint64, n)}
	for end := range log.Ends {
		log.Ends[end], log.Sets[end] = make([]uint64, n), make([]uint64, n)
	}
	for c := range e.cols {
		log.Props, log.Cols = append(log.Props, e.cols[c].prop), append(log.Cols, e.cols[c].values)
	}
	// The label set of a vertex in a bulk has no other key than that of its id space.
	log.Key = func(row, end int) (key graph.Value, ok bool) {
		if b.made(graph.VertexID(log.Ends[end][row])) == 0 {
			return key, false
		}
		r := &e.rows[row]
		if end == 0 {
			return b.l.Edges[r.group].Src[r.row], true
		}
		return b.l.Edges[r.group].Dst[r.row], true
	}
	return log
}

// countEdges counts new edges by the labels of the vertices whose lists they are in, which log, if it is not nil, gets.
func (b *Batch) countEdges(t graph.TypeID, dir graph.Direction, no int, edges []codec.ListEdge, log *write.NewEdges) error {
	var ids []graph.VertexID
	for i := range edges {
		if i == 0 || edges[i].Vertex != edges[i-1].Vertex {
			ids = append(ids, graph.MakeVertexID(no, edges[i].Vertex))
		}
	}
	sets := make([]graph.LabelSet, len(ids))
	if err := b.tx.LabelSets(b.ctx, ids, sets); err != nil {
		return err
	}
	bySet := map[graph.LabelSet]int64{}
	last, n, at := graph.LabelSet(0), int64(0), -1
	for i := range edges {
		if i == 0 || edges[i].Vertex != edges[i-1].Vertex {
			at++
			set := sets[at]
			if set == 0 {
				set = b.made(ids[at])
			}
			if set != last {
				bySet[last] += n
				last, n = set, 0
			}
		}
		if log != nil {
			log.Sets[dir][edges[i].Row] = uint64(last)
		}
		n++
	}
	bySet[last] += n
	w := b.tx.Writers()[no]
	kind := stats.CountDst
	if dir == graph.Out {
		kind = stats.CountSrc
		w.Count(stats.Count{Kind: stats.CountEdges}, int64(len(edges)))
		w.Count(stats.Count{Kind: stats.CountType, Type: t}, int64(len(edges)))
	}
	for set, n := range bySet {
		for _, l := range b.g.Labels(set) {
			w.Count(stats.Count{Kind: kind, Label: l, Type: t}, n)
		}
	}
	return nil
}
