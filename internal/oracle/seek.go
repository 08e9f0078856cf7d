package oracle

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// index returns an index that may be read, over vertices or edges.
func (t *Tx) index(id graph.IndexID, edges bool) (*index, error) {
	for i := range t.state.indexes {
		if x := &t.state.indexes[i]; x.ID == id && x.Indexed && x.Kind != graph.FullTextIndex && edges == (x.Type != "") {
			return x, nil
		}
	}
	return nil, misuse("there is no such index")
}

// Seek looks keys up.
func (t *Tx) Seek(ctx context.Context, id graph.IndexID, keys []graph.Value, res *shard.Found) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	x, err := t.index(id, false)
	if err != nil {
		return err
	}
	width := len(x.props)
	if len(keys)%width != 0 {
		return misuse("the keys of a seek are no whole tuples")
	}
	res.Offsets = append(res.Offsets[:0], 0)
	res.IDs = res.IDs[:0]
	for ; len(keys) > 0; keys = keys[width:] {
		if key, ok := tupleKey(keys[:width]); ok {
			ids := slices.Clone(t.state.entries[x.ID][key])
			slices.Sort(ids)
			res.IDs = append(res.IDs, ids...)
		}
		res.Offsets = append(res.Offsets, len(res.IDs))
	}
	return nil
}

// SeekEdges looks keys up, by a look at all edges.
func (t *Tx) SeekEdges(ctx context.Context, id graph.IndexID, keys []graph.Value, res *shard.FoundEdges) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	x, err := t.index(id, true)
	if err != nil {
		return err
	}
	width := len(x.props)
	if len(keys)%width != 0 {
		return misuse("the keys of a seek are no whole tuples")
	}
	res.Offsets, res.Edges = append(res.Offsets[:0], 0), res.Edges[:0]
	for ; len(keys) > 0; keys = keys[width:] {
		if key, ok := tupleKey(keys[:width]); ok {
			from := len(res.Edges)
			t.state.edges(func(e *edge) {
				if k, ok := tupleKey(x.values(e.props)); e.Type == x.typ && ok && k == key {
					res.Edges = append(res.Edges, e.Edge)
				}
			})
			slices.SortFunc(res.Edges[from:], func(a, b graph.Edge) int { return cmp.Compare(a.ID, b.ID) })
		}
		res.Offsets = append(res.Offsets, len(res.Edges))
	}
	return nil
}

// SeekEdgeRange finds all edges of the range, as SeekRange does vertices.
func (t *Tx) SeekEdgeRange(
	ctx context.Context, id graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge,
) ([]graph.Edge, error) {
	if err := t.check(ctx); err != nil {
		return dst, err
	}
	x, err := t.index(id, true)
	if err != nil {
		return dst, err
	}
	var found []rangeEntry
	t.state.edges(func(e *edge) {
		if value, ok := x.within(e.props, r); ok && e.Type == x.typ {
			found = append(found, rangeEntry{value: value, id: uint64(e.ID), edge: e.Edge})
		}
	})
	for _, e := range t.page(found, r.Down, cursor, cap(dst)-len(dst)) {
		dst = append(dst, e.edge)
	}
	return dst, nil
}

// rangeEntry is a vertex or an edge in the order of a range.
type rangeEntry struct {
	value graph.Value
	id    uint64
	edge  graph.Edge
}

func (a rangeEntry) compare(b rangeEntry) int {
	return cmp.Or(orderValues(a.value, b.value), cmp.Compare(a.id, b.id))
}

// SeekRange finds all vertices of the range, sorts them and appends those after the cursor until cap(dst) is reached, or at least
// 1,024 if dst has no room.
func (t *Tx) SeekRange(
	ctx context.Context, id graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID,
) ([]graph.VertexID, error) {
	if err := t.check(ctx); err != nil {
		return dst, err
	}
	x, err := t.index(id, false)
	if err != nil {
		return dst, err
	}
	var found []rangeEntry
	t.state.vertices(func(id graph.VertexID, v *vertex) {
		if value, ok := x.within(v.props, r); ok && t.g.hasLabel(v.labels, x.label) {
			found = append(found, rangeEntry{value: value, id: uint64(id)})
		}
	})
	for _, e := range t.page(found, r.Down, cursor, cap(dst)-len(dst)) {
		dst = append(dst, graph.VertexID(e.id))
	}
	return dst, nil
}

// within reports whether properties are within a range, and returns the value of the range's last property.
func (x *index) within(props []graph.Property, r shard.Range) (graph.Value, bool) {
	n := len(r.Equal)
	if n > 0 {
		want, ok := tupleKey(r.Equal)
		have, ok2 := tupleKey(x.values(props)[:n])
		if !ok || !ok2 || want != have {
			return graph.Value{}, false
		}
	}
	value := x.values(props)[n]
	if r.Lo.IsNull() && r.Hi.IsNull() {
		return value, n > 0 || !value.IsNull()
	}
	if within(value, r) {
		return value, true
	}
	for _, b := range r.Further {
		r.Lo, r.Hi = b[0], b[1]
		if within(value, r) {
			return value, true
		}
	}
	return value, false
}

// page returns up to room entries after the cursor, and moves the cursor to the last of them.
func (t *Tx) page(found []rangeEntry, down bool, cursor *[]byte, room int) []rangeEntry {
	order := rangeEntry.compare
	if down {
		order = func(a, b rangeEntry) int { return b.compare(a) }
	}
	slices.SortFunc(found, order)
	t.mu.Lock()
	defer t.mu.Unlock()
	if *cursor != nil {
		last := t.cursors[binary.BigEndian.Uint64(*cursor)]
		found = slices.DeleteFunc(found, func(e rangeEntry) bool { return order(e, last) <= 0 })
	}
	if room == 0 {
		room = graph.BatchSize
	}
	*cursor = nil
	if len(found) > room {
		found = found[:room]
		*cursor = binary.BigEndian.AppendUint64(nil, uint64(len(t.cursors)))
		t.cursors = append(t.cursors, found[room-1])
	}
	return found
}

// within reports whether a value lies in a range.
func within(v graph.Value, r shard.Range) bool {
	if r.Prefix {
		return v.Kind() == graph.String && r.Lo.Kind() == graph.String && strings.HasPrefix(v.Str(), r.Lo.Str())
	}
	if !r.Lo.IsNull() {
		if c, ok := compare(v, r.Lo); !ok || c < 0 || c == 0 && r.LoOpen {
			return false
		}
	}
	if !r.Hi.IsNull() {
		if c, ok := compare(v, r.Hi); !ok || c > 0 || c == 0 && r.HiOpen {
			return false
		}
	}
	return true
}
