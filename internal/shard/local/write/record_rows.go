package write

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A load tells a Recorder of many rows at once, which become columns of the log.

// columns returns the columns that are not hidden and not empty, in the order of their properties.
func columns(props []graph.PropID, cols [][]graph.Value) (ps []graph.Property, values [][]graph.Value) {
	at := make([]int, 0, len(props))
	for c, p := range props {
		if !index.Hidden(p) && slices.ContainsFunc(cols[c], func(v graph.Value) bool { return !v.IsNull() }) {
			at = append(at, c)
		}
	}
	slices.SortFunc(at, func(a, b int) int { return int(props[a]) - int(props[b]) })
	for _, c := range at {
		ps, values = append(ps, graph.Property{ID: props[c]}), append(values, cols[c])
	}
	return ps, values
}

// CreatedVertices records new vertices with consecutive ids and one label set. Each property has a value a vertex.
func (r *Recorder) CreatedVertices(first graph.VertexID, n int, set graph.LabelSet, props []graph.PropID, cols [][]graph.Value) error {
	if r.mode == changelog.Off {
		return nil
	}
	log := r.tx.ws[first.Shard()].Log
	rows := &changelog.Rows{Like: changelog.Change{Op: changelog.Created}}
	rows.Like.After.Labels = set
	rows.Like.After.Props, rows.Values = columns(props, cols)
	for _, p := range r.keyProps(set) {
		rows.Like.Keys = append(rows.Like.Keys, graph.Property{ID: p})
		if c := slices.Index(props, p); c >= 0 {
			rows.Values = append(rows.Values, cols[c])
		} else {
			rows.Values = append(rows.Values, make([]graph.Value, n))
		}
	}
	if n >= r.tx.opts.Tuning.RangeRows {
		log.AddRange(&rows.Like, changelog.Range{First: first, N: n})
		return nil
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(first) + uint64(i)
	}
	rows.IDs = [][]uint64{ids}
	return log.AddRows(rows)
}

// NewEdges are new edges of one type, row by row. The columns that they make belong to the recorder afterwards.
type NewEdges struct {
	Type graph.TypeID
	// IDs, Ends and Sets have the edges' ids, and of each direction the vertex at that end and its label set. Ends[0] has NoVertex for rows that
	// are no edges.
	IDs        []uint64
	Ends, Sets [2][]uint64
	// Props have a column of values each.
	Props []graph.PropID
	Cols  [][]graph.Value
	// Key returns the value of the key of an end that cannot be read yet; ok is false if it can.
	Key func(row, end int) (key graph.Value, ok bool)
}

// CreatedEdges records new edges. They have no indexes.
func (r *Recorder) CreatedEdges(ctx context.Context, e *NewEdges) error {
	if r.mode == changelog.Off {
		return nil
	}
	like := changelog.Change{Op: changelog.Created, IsEdge: true, Edge: graph.Edge{Type: e.Type}}
	var values [][]graph.Value
	like.After.Props, values = columns(e.Props, e.Cols)
	for _, rows := range r.alike(e) {
		c := like
		all := slices.Clone(values)
		var err error
		if c.Src.Keys, all, err = r.endKeys(ctx, all, e, rows, 0); err != nil {
			return err
		}
		if c.Dst.Keys, all, err = r.endKeys(ctx, all, e, rows, 1); err != nil {
			return err
		}
		out := &changelog.Rows{Like: c, IDs: [][]uint64{e.IDs, e.Ends[0], e.Ends[1], e.Sets[0], e.Sets[1]}, Values: all, Pick: rows}
		if len(rows) == len(e.IDs) {
			out.Pick = nil
		}
		if err := r.tx.ws[graph.VertexID(e.Ends[0][rows[0]]).Shard()].Log.AddRows(out); err != nil {
			return err
		}
	}
	return nil
}

// alike returns the rows of edges in groups that have the same shard and whose ends have the same keys.
func (r *Recorder) alike(e *NewEdges) (groups [][]int32) {
	type group struct {
		shard int
		sets  [2]graph.LabelSet
	}
	at, last, n := map[group]int{}, group{shard: -1}, 0
	keyed := len(r.tx.defs.Keyed) > 0
	for row, src := range e.Ends[0] {
		if src == uint64(graph.NoVertex) {
			continue
		}
		g := group{shard: graph.VertexID(src).Shard()}
		if keyed {
			for end := range g.sets {
				if set := graph.LabelSet(e.Sets[end][row]); len(r.keyProps(set)) > 0 {
					g.sets[end] = set
				}
			}
		}
		if g != last {
			var ok bool
			if n, ok = at[g]; !ok {
				n = len(groups)
				at[g], groups = n, append(groups, make([]int32, 0, len(e.IDs)))
			}
			last = g
		}
		groups[n] = append(groups[n], int32(row))
	}
	return groups
}

// endKeys returns the key properties of one end of edges whose ends at it have the same, and adds a column for each.
func (r *Recorder) endKeys(ctx context.Context, cols [][]graph.Value, e *NewEdges, rows []int32, end int) ([]graph.Property, [][]graph.Value, error) {
	props := r.keyProps(graph.LabelSet(e.Sets[end][rows[0]]))
	if len(props) == 0 {
		return nil, cols, nil
	}
	of := shard.Columns(len(props), len(e.IDs))
	var ids []graph.VertexID
	var read []int32
	for _, row := range rows {
		if key, ok := e.Key(int(row), end); ok {
			of[0][row] = key
			continue
		}
		ids, read = append(ids, graph.VertexID(e.Ends[end][row])), append(read, row)
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	found := shard.Columns(len(props), len(sorted))
	if len(sorted) > 0 {
		if err := r.tx.read.Properties(ctx, sorted, props, found); err != nil {
			return nil, nil, err
		}
	}
	for i, row := range read {
		at, _ := slices.BinarySearch(sorted, ids[i])
		for p := range props {
			of[p][row] = found[p][at]
		}
	}
	var ps []graph.Property
	for _, p := range props {
		ps = append(ps, graph.Property{ID: p})
	}
	return ps, append(cols, of...), nil
}

// Cells records changes of properties of existing vertices, cell by cell, in the order of their ids.
type Cells struct {
	r     *Recorder
	c     changelog.Change
	cells [][]byte
	// The values of the properties of keys of ids, of which the one at is next.
	keys []graph.PropID
	ids  []graph.VertexID
	cols [][]graph.Value
	at   int
}

// Cells begins to record changes of some properties, in ascending order, none of which belongs to a key, of vertices with label sets. Each of
// them is told of by Add or Skip. It returns nil if nothing is recorded.
func (r *Recorder) Cells(ctx context.Context, ids []graph.VertexID, sets []graph.LabelSet, props []graph.PropID) (*Cells, error) {
	if r.mode == changelog.Off {
		return nil, nil
	}
	x := &Cells{r: r, c: changelog.Change{Op: changelog.Changed}, ids: ids}
	for _, p := range props {
		x.c.After.Props = append(x.c.After.Props, graph.Property{ID: p})
	}
	x.c.Before.Props = x.c.After.Props
	for i, set := range sets {
		if i == 0 || set != sets[i-1] {
			x.keys = append(x.keys, r.keyProps(set)...)
		}
	}
	slices.Sort(x.keys)
	x.keys = slices.Compact(x.keys)
	if len(x.keys) == 0 {
		return x, nil
	}
	x.cols = shard.Columns(len(x.keys), len(ids))
	return x, r.tx.read.Properties(ctx, ids, x.keys, x.cols)
}

// Skip says that the next vertex does not change.
func (x *Cells) Skip() {
	if x != nil {
		x.at++
	}
}

// Add records that the next vertex, of a label set, changes from cells of its properties to others, empty ones for nulls.
func (x *Cells) Add(set graph.LabelSet, before, after [][]byte) {
	if x == nil {
		return
	}
	c := &x.c
	c.Vertex, c.Before.Labels, c.After.Labels, c.Keys = x.ids[x.at], set, set, c.Keys[:0]
	x.cells = append(append(x.cells[:0], before...), after...)
	for _, p := range x.r.keyProps(set) {
		at, _ := slices.BinarySearch(x.keys, p)
		cell, _ := keys.AppendCell(nil, x.cols[at][x.at])
		c.Keys, x.cells = append(c.Keys, graph.Property{ID: p}), append(x.cells, cell)
	}
	x.at++
	x.r.tx.ws[c.Vertex.Shard()].Log.AddCells(c, x.cells)
}
