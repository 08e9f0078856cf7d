package past

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// reader is shard.Reader and shard.Indexes of a moment, over a transaction that reads the graph at a later commit.
type reader struct {
	h     *History
	tx    shard.Tx
	names graph.Catalog
	m     *moment
	at    uint64 // the commit that tx reads
}

// changed reports whether a later commit has changed vertices with a label, which they had before or after.
func (r *reader) changed(label graph.LabelID) bool {
	r.m.mu.RLock()
	defer r.m.mu.RUnlock()
	return touches(r.names, r.m.sets, label)
}

// changedEdges reports whether a later commit has changed edges of a type; 0 is any.
func (r *reader) changedEdges(typ graph.TypeID) bool {
	r.m.mu.RLock()
	defer r.m.mu.RUnlock()
	return r.m.types[typ] || typ == 0 && len(r.m.types) > 0
}

// Scan implements shard.Reader.
func (r *reader) Scan(
	ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID,
) (ids []graph.VertexID, next graph.VertexID, done bool, err error) {
	r.m.mu.RLock()
	same := !touches(r.names, r.m.moved, label)
	r.m.mu.RUnlock()
	if same {
		return r.tx.Scan(ctx, label, from, dst)
	}
	o := r.m.ordered(r.at)
	next = from
	for len(dst) < cap(dst) && !done {
		start, first := len(dst), next
		if dst, next, done, err = r.tx.Scan(ctx, label, first, dst); err != nil {
			return dst, next, done, err
		}
		dst = dst[:start+r.unchanged(o, dst[start:])]
		lo, _ := slices.BinarySearch(o.ids, first)
		hi := len(o.ids)
		if !done {
			hi, _ = slices.BinarySearch(o.ids, next)
		}
		var cut bool
		if dst, next, cut = r.insert(o, lo, hi, label, start, dst, next); cut {
			done = false
		}
	}
	return dst, next, done, nil
}

// unchanged leaves, at the start of ids, those in whose place an order has none, and returns how many they are.
func (r *reader) unchanged(o *order, ids []graph.VertexID) (n int) {
	r.m.mu.RLock()
	defer r.m.mu.RUnlock()
	for _, id := range ids {
		if at := r.m.vertices.get(uint64(id)); at < 0 || at >= o.changed {
			ids[n] = id
			n++
		}
	}
	return n
}

// insert merges the vertices [lo, hi) of an order that have a label with dst[start:], until cap(dst) is reached; cut reports that others
// follow, from next on.
func (r *reader) insert(
	o *order, lo, hi int, label graph.LabelID, start int, dst []graph.VertexID, next graph.VertexID,
) (ids []graph.VertexID, from graph.VertexID, cut bool) {
	var rest []graph.VertexID // of dst, once it has moved
	for ; lo < hi; lo++ {
		if !hasLabel(r.names, o.sets[lo], label) {
			continue
		}
		id := o.ids[lo]
		if rest == nil {
			if n := len(dst); n < cap(dst) && (n == start || dst[n-1] < id) {
				dst = append(dst, id) // behind all that there is
				continue
			}
			at, _ := slices.BinarySearch(dst[start:], id)
			rest = slices.Clone(dst[start+at:])
			dst = dst[:start+at]
		}
		for len(rest) > 0 && rest[0] < id {
			if len(dst) == cap(dst) {
				return dst, rest[0], true
			}
			dst, rest = append(dst, rest[0]), rest[1:]
		}
		if len(dst) == cap(dst) {
			return dst, id, true
		}
		dst = append(dst, id)
	}
	for _, id := range rest {
		if len(dst) == cap(dst) {
			return dst, id, true
		}
		dst = append(dst, id)
	}
	return dst, next, false
}

// LabelSets implements shard.Reader.
func (r *reader) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	if err := r.tx.LabelSets(ctx, ids, out); err != nil {
		return err
	}
	m := r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.moved) == 0 {
		return nil
	}
	for i, id := range ids {
		if at := m.vertices.get(uint64(id)); at >= 0 {
			out[i] = m.vs[at].labels
		}
	}
	return nil
}

// Properties implements shard.Reader.
func (r *reader) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	if err := r.tx.Properties(ctx, ids, props, out); err != nil {
		return err
	}
	m := r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.present && !slices.ContainsFunc(props, func(p graph.PropID) bool { return m.props[p] }) {
		return nil
	}
	for i, id := range ids {
		at := m.vertices.get(uint64(id))
		if at < 0 {
			continue
		}
		v := &m.vs[at]
		for p, prop := range props {
			if val, ok := v.find(prop); ok {
				out[p][i] = val
			}
		}
	}
	return nil
}

// EdgeProperties implements shard.Reader.
func (r *reader) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	if err := r.tx.EdgeProperties(ctx, edges, props, out); err != nil {
		return err
	}
	m := r.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i := range edges {
		at := m.edges.get(uint64(edges[i].ID))
		if at < 0 || m.es[at].Edge != edges[i] {
			continue
		}
		for p, prop := range props {
			if val, ok := m.es[at].find(prop); ok {
				out[p][i] = val
			}
		}
	}
	return nil
}
