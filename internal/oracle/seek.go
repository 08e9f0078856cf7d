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

// index gives an index over vertices that may be read.
func (t *Tx) index(id graph.IndexID) (*index, error) {
	for i := range t.state.indexes {
		if x := &t.state.indexes[i]; x.ID == id && x.Indexed && x.Label != "" {
			return x, nil
		}
	}
	return nil, misuse("there is no such index over vertices")
}

// Seek looks keys up.
func (t *Tx) Seek(ctx context.Context, id graph.IndexID, keys []graph.Value, res *shard.Found) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	x, err := t.index(id)
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

// rangeEntry is a vertex in the order of a range.
type rangeEntry struct {
	value graph.Value
	id    graph.VertexID
}

func (a rangeEntry) compare(b rangeEntry) int {
	if c := cmp.Compare(sortRank(a.value), sortRank(b.value)); c != 0 {
		return c
	}
	c, _ := compare(a.value, b.value)
	return cmp.Or(c, cmp.Compare(a.id, b.id))
}

// SeekRange finds all vertices of the range, sorts them and appends those that follow the cursor, until cap(dst) is
// reached, or at least 1,024 where dst has no room at all.
func (t *Tx) SeekRange(
	ctx context.Context, id graph.IndexID, r shard.Range, cursor *[]byte, dst []graph.VertexID,
) ([]graph.VertexID, error) {
	if err := t.check(ctx); err != nil {
		return dst, err
	}
	x, err := t.index(id)
	if err != nil {
		return dst, err
	}
	var found []rangeEntry
	t.state.vertices(func(id graph.VertexID, v *vertex) {
		value := property(v.props, x.props[0])
		if t.g.hasLabel(v.labels, x.label) && within(value, r) {
			found = append(found, rangeEntry{value, id})
		}
	})
	slices.SortFunc(found, rangeEntry.compare)

	t.mu.Lock()
	defer t.mu.Unlock()
	if *cursor != nil {
		last := t.cursors[binary.BigEndian.Uint64(*cursor)]
		found = slices.DeleteFunc(found, func(e rangeEntry) bool { return e.compare(last) <= 0 })
	}
	room := cap(dst) - len(dst)
	if room == 0 {
		room = graph.BatchSize
	}
	*cursor = nil
	if len(found) > room {
		found = found[:room]
		*cursor = binary.BigEndian.AppendUint64(nil, uint64(len(t.cursors)))
		t.cursors = append(t.cursors, found[room-1])
	}
	for _, e := range found {
		dst = append(dst, e.id)
	}
	return dst, nil
}

// within reports whether a value lies in a range.
func within(v graph.Value, r shard.Range) bool {
	if _, ok := compare(v, v); !ok {
		return false
	}
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
