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
func (t *Tx) Seek(ctx context.Context, req *shard.Seek, res *shard.Found) error {
	x, err := t.index(req.Index, false)
	if err != nil {
		return err
	}
	return shard.LookupVertices(ctx, t, shard.RefOf(&x.Index), req.Keys, res)
}

// SeekEdges looks keys up.
func (t *Tx) SeekEdges(ctx context.Context, req *shard.Seek, res *shard.FoundEdges) error {
	x, err := t.index(req.Index, true)
	if err != nil {
		return err
	}
	return shard.LookupEdges(ctx, t, shard.RefOf(&x.Index), x.typ, req.Keys, res)
}

// SeekRange finds vertices of a range.
func (t *Tx) SeekRange(ctx context.Context, id graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID) ([]graph.VertexID, error) {
	x, err := t.index(id, false)
	if err != nil {
		return dst, err
	}
	return shard.RangeVertices(ctx, t, shard.RefOf(&x.Index), r, cursor, dst)
}

// SeekEdgeRange finds edges of a range.
func (t *Tx) SeekEdgeRange(ctx context.Context, id graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.Edge) ([]graph.Edge, error) {
	x, err := t.index(id, true)
	if err != nil {
		return dst, err
	}
	return shard.RangeEdges(ctx, t, shard.RefOf(&x.Index), x.typ, r, cursor, dst)
}

// at returns an index by its number.
func (t *Tx) at(ref shard.IndexRef) (*index, error) {
	x, err := t.index(ref.ID, false)
	if err != nil {
		x, err = t.index(ref.ID, true)
	}
	return x, err
}

// Lookup finds the owners of tuples: edges by a look at all of them.
func (t *Tx) Lookup(ctx context.Context, ref shard.IndexRef, keys []graph.Value) (offsets []int, owners []graph.IndexOwner, err error) {
	if err := t.check(ctx); err != nil {
		return nil, nil, err
	}
	x, err := t.at(ref)
	if err != nil {
		return nil, nil, err
	}
	width := len(x.props)
	if len(keys)%width != 0 {
		return nil, nil, misuse("the keys of a seek are no whole tuples")
	}
	offsets = []int{0}
	for ; len(keys) > 0; keys = keys[width:] {
		from := len(owners)
		key, ok := tupleKey(keys[:width])
		switch {
		case !ok:
		case x.Type == "":
			for _, id := range t.state.entries[x.ID][key] {
				owners = append(owners, graph.IndexOwner{Vertex: id})
			}
		default:
			t.state.edges(func(e *edge) {
				if k, ok := tupleKey(x.values(e.props)); e.Type == x.typ && ok && k == key {
					owners = append(owners, ownerOf(e))
				}
			})
		}
		slices.SortFunc(owners[from:], func(a, b graph.IndexOwner) int { return cmp.Compare(a.ID(), b.ID()) })
		offsets = append(offsets, len(owners))
	}
	return offsets, owners, nil
}

func ownerOf(e *edge) graph.IndexOwner {
	return graph.IndexOwner{Vertex: e.Src, Dst: e.Dst, Edge: e.ID, IsEdge: true}
}

// rangeEntry is a vertex or an edge in the order of a range.
type rangeEntry struct {
	value graph.Value
	owner graph.IndexOwner
}

func (a rangeEntry) compare(b rangeEntry) int {
	return cmp.Or(orderValues(a.value, b.value), cmp.Compare(a.owner.ID(), b.owner.ID()))
}

// Range finds all owners of the range, sorts them and returns those after the cursor. The tuple of the last entry is a number in t.cursors.
func (t *Tx) Range(ctx context.Context, ref shard.IndexRef, r shard.Range, cursor []byte, room int) (entries []shard.Entry, more bool, err error) {
	if err := t.check(ctx); err != nil {
		return nil, false, err
	}
	x, err := t.at(ref)
	if err != nil {
		return nil, false, err
	}
	var found []rangeEntry
	if x.Type == "" {
		t.state.vertices(func(id graph.VertexID, v *vertex) {
			if value, ok := x.within(v.props, r); ok && t.g.hasLabel(v.labels, x.label) {
				found = append(found, rangeEntry{value, graph.IndexOwner{Vertex: id}})
			}
		})
	} else {
		t.state.edges(func(e *edge) {
			if value, ok := x.within(e.props, r); ok && e.Type == x.typ {
				found = append(found, rangeEntry{value, ownerOf(e)})
			}
		})
	}
	order := rangeEntry.compare
	if r.Down {
		order = func(a, b rangeEntry) int { return b.compare(a) }
	}
	slices.SortFunc(found, order)
	t.mu.Lock()
	defer t.mu.Unlock()
	if cursor != nil {
		last := t.cursors[binary.BigEndian.Uint64(cursor)]
		found = slices.DeleteFunc(found, func(e rangeEntry) bool { return order(e, last) <= 0 })
	}
	room = cmp.Or(room, graph.BatchSize)
	if more = len(found) > room; more {
		found = found[:room]
	}
	for _, e := range found {
		entries = append(entries, shard.Entry{Owner: e.owner})
	}
	if more {
		entries[room-1].Tuple = binary.BigEndian.AppendUint64(nil, uint64(len(t.cursors)))
		t.cursors = append(t.cursors, found[room-1])
	}
	return entries, more, nil
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
