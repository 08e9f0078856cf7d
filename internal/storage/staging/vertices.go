package staging

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// Vertices writes vertices, their labels and properties.
type Vertices struct {
	*draft
	chunks bool // column chunks were rewritten
	packed map[graph.PropID]*packedChunk
	cells  codec.Cells
}

// forget forgets what was read of column chunks, which have changed.
func (w *Vertices) forget() { clear(w.packed) }

// Put writes a new vertex.
func (w *Vertices) Put(id graph.VertexID, set graph.LabelSet, labels []graph.LabelID, props []graph.Property) error {
	if err := w.putRecord(id, set, props); err != nil {
		return err
	}
	for _, p := range SortedProps(props) {
		if !p.Value.IsNull() {
			w.CountProp(set, p.ID, 1)
		}
	}
	w.member(0, id, true)
	for _, l := range labels {
		w.member(l, id, true)
		w.Count(stats.Count{Kind: stats.CountLabel, Label: l}, 1)
	}
	w.Count(stats.Count{Kind: stats.CountVertices}, 1)
	return nil
}

// putRecord writes the delta record of a new vertex.
func (w *Vertices) putRecord(id graph.VertexID, set graph.LabelSet, props []graph.Property) error {
	w.buf = append(w.buf[:0], byte(codec.LabelSetProp))
	w.buf, _ = keys.AppendCell(w.buf, graph.IntValue(int64(set)))
	var err error
	w.changes.Props = append(w.changes.Props, PropChange{id, codec.LabelSetProp, graph.IntValue(int64(set)), false, true})
	for _, p := range SortedProps(props) {
		if p.Value.IsNull() {
			continue
		}
		w.buf = binary.AppendUvarint(w.buf, uint64(p.ID))
		at := len(w.buf)
		if w.buf, err = w.over.AppendValue(w.buf, p.Value); err != nil {
			return err
		}
		w.changes.Props = append(w.changes.Props, PropChange{id, p.ID, p.Value, w.buf[at] == keys.KindRef, true})
	}
	w.key = keys.AppendDeltaProps(w.key[:0], id.Local())
	w.set(w.key, w.buf)
	return nil
}

// SortedProps returns properties in ascending order; of several values for one the last counts.
func SortedProps(props []graph.Property) []graph.Property {
	for i := 1; i < len(props); i++ {
		if props[i-1].ID >= props[i].ID {
			s := slices.Clone(props)
			slices.SortStableFunc(s, func(a, b graph.Property) int { return int(a.ID) - int(b.ID) })
			out := s[:0]
			for j, p := range s {
				if j+1 < len(s) && s[j+1].ID == p.ID {
					continue
				}
				out = append(out, p)
			}
			return out
		}
	}
	return props
}

var memberOut, memberIn = []byte{0}, []byte{1}

func (w *Vertices) member(l graph.LabelID, id graph.VertexID, in bool) {
	v := memberOut
	if in {
		v = memberIn
	}
	w.key = keys.AppendDeltaMember(w.key[:0], l, id.Local())
	w.set(w.key, v)
}

// SetProps sets properties of a vertex with a label set; a null removes one. was are the present values of some of them, or null, in ascending
// order of their ids; what it has of the others is read.
func (w *Vertices) SetProps(id graph.VertexID, set graph.LabelSet, props, was []graph.Property) error {
	old, err := w.DeltaRecord(id)
	if err != nil {
		return err
	}
	return w.SetRecord(id, set, props, was, old)
}

// SetRecord is SetProps for a vertex with this delta record.
func (w *Vertices) SetRecord(id graph.VertexID, set graph.LabelSet, props, was []graph.Property, old []byte) (err error) {
	buf := w.buf[:0]
	rest := old
	for _, p := range SortedProps(props) {
		var delta int
		if buf, rest, delta, err = w.copyBefore(buf, rest, p.ID); err != nil {
			return err
		}
		for len(was) > 0 && was[0].ID < p.ID {
			was = was[1:]
		}
		var had bool
		if len(was) > 0 && was[0].ID == p.ID {
			had = !was[0].Value.IsNull()
		} else if had, err = w.had(id.Local(), p.ID, delta); err != nil {
			return err
		}
		switch has := !p.Value.IsNull(); {
		case has && !had:
			w.CountProp(set, p.ID, 1)
		case had && !has:
			w.CountProp(set, p.ID, -1)
		}
		buf = binary.AppendUvarint(buf, uint64(p.ID))
		at := len(buf)
		if buf, err = w.over.AppendValue(buf, p.Value); err != nil {
			return err
		}
		w.changes.Props = append(w.changes.Props, PropChange{id, p.ID, p.Value, buf[at] == keys.KindRef, false})
	}
	w.buf = append(buf, rest...)
	w.key = keys.AppendDeltaProps(w.key[:0], id.Local())
	w.set(w.key, w.buf)
	return nil
}

// DeltaRecord reads a vertex's delta properties; nil if there are none.
func (w *Vertices) DeltaRecord(id graph.VertexID) ([]byte, error) {
	w.key = keys.AppendDeltaProps(w.key[:0], id.Local())
	b, ok, err := w.Record(w.key, nil)
	if err != nil {
		return nil, kv.Fault("read properties", err)
	}
	if !ok {
		return nil, nil
	}
	return b, nil
}

// Records reads the delta records of vertices, in ascending order; they are empty for those without one.
func (w *Vertices) Records(ctx context.Context, ids []graph.VertexID, out *codec.Cells) (err error) {
	r := w.Acquire()
	defer w.Release(r, &err)
	if err := deltaCells(ctx, r, ids, out); err != nil {
		return kv.Fault("read properties", err)
	}
	return nil
}

// copyBefore copies the properties of a delta record before p to dst, drops p itself and gives what is left, and what
// the record said of p.
func (w *Vertices) copyBefore(dst, rest []byte, p graph.PropID) (_, _ []byte, delta int, err error) {
	for len(rest) > 0 {
		q, cell := codec.Uvarint(rest)
		if cell == nil {
			return dst, rest, 0, kv.Corrupt("delta properties", w.key, codec.ErrDelta)
		}
		if graph.PropID(q) > p {
			break
		}
		next, err := keys.SkipCell(cell)
		if err != nil {
			return dst, rest, 0, kv.Corrupt("delta properties", w.key, err)
		}
		if graph.PropID(q) == p {
			if err := w.drop(cell); err != nil {
				return dst, rest, 0, err
			}
			return dst, next, deltaOf(cell), nil
		}
		dst = append(dst, rest[:len(rest)-len(next)]...)
		rest = next
	}
	return dst, rest, deltaSilent, nil
}

// SetLabels changes the label set of a vertex; added and removed are the labels in which the sets differ, props all
// properties that it may have.
func (w *Vertices) SetLabels(id graph.VertexID, old, set graph.LabelSet, added, removed []graph.LabelID, props []graph.PropID) error {
	record, err := w.DeltaRecord(id)
	if err != nil {
		return err
	}
	if err := w.moveProps(id, old, set, props, record); err != nil {
		return err
	}
	if err := w.SetProps(id, set, []graph.Property{{ID: codec.LabelSetProp, Value: graph.IntValue(int64(set))}}, nil); err != nil {
		return err
	}
	for _, l := range added {
		w.member(l, id, true)
		w.Count(stats.Count{Kind: stats.CountLabel, Label: l}, 1)
	}
	for _, l := range removed {
		w.member(l, id, false)
		w.Count(stats.Count{Kind: stats.CountLabel, Label: l}, -1)
	}
	return nil
}

// Drop deletes a vertex with its labels, which make the set; props are all properties that it may have.
func (w *Vertices) Drop(id graph.VertexID, set graph.LabelSet, labels []graph.LabelID, props []graph.PropID) error {
	gone := make([]graph.Property, 0, len(props)+1)
	gone = append(gone, graph.Property{ID: codec.LabelSetProp})
	for _, p := range props {
		gone = append(gone, graph.Property{ID: p})
	}
	if err := w.SetProps(id, set, gone, nil); err != nil {
		return err
	}
	w.member(0, id, false)
	for _, l := range labels {
		w.member(l, id, false)
		w.Count(stats.Count{Kind: stats.CountLabel, Label: l}, -1)
	}
	w.Count(stats.Count{Kind: stats.CountVertices}, -1)
	return nil
}
