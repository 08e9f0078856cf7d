package staging

import (
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Edges writes edges: each has an entry in the list of its source, and one in that of its target.
type Edges struct {
	*draft
	packer *listPacker // or nil
}

// Body encodes the properties of a new edge of a type for its two list entries, and counts them; large values go to
// this shard, which must be the source's.
func (w *Edges) Body(dst []byte, t graph.TypeID, props []graph.Property) ([]byte, error) {
	var err error
	for _, p := range SortedProps(props) {
		if p.Value.IsNull() {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(p.ID))
		if dst, err = w.over.AppendValue(dst, p.Value); err != nil {
			return dst, err
		}
		w.CountEdgeProp(t, p.ID, 1)
	}
	return dst, nil
}

// end returns the vertex that has an edge in its list of a direction, and the neighbour.
func end(e graph.Edge, dir graph.Direction) (vertex, neighbour graph.VertexID) {
	if dir == graph.Out {
		return e.Src, e.Dst
	}
	return e.Dst, e.Src
}

// Add puts a new edge into the list of its source (Out) or target (In).
func (w *Edges) Add(e graph.Edge, dir graph.Direction, body []byte) {
	w.putDelta(e, dir, codec.DeltaInserted, body, EdgeAdded)
}

func (w *Edges) putDelta(e graph.Edge, dir graph.Direction, state byte, body []byte, what EdgeEvent) {
	v, n := end(e, dir)
	w.changes.Edges = append(w.changes.Edges, EdgeChange{v, n, e.ID, e.Type, dir, what})
	w.noteOne(keys.ChunkOf(e.Type, dir, v.Local()))
	w.key = keys.AppendDeltaOne(w.key[:0], e.Type, dir, v.Local(), n, e.ID)
	w.buf = append(append(w.buf[:0], state), body...)
	w.set(w.key, w.buf)
}

func (w *Edges) noteOne(c keys.GroupChunk) {
	if n := len(w.ones); n == 0 || w.ones[n-1] != c {
		w.ones = append(w.ones, c)
	}
}

// SetProps merges properties into an edge's entry in the list of its source, which is one of ls, and returns the new
// body for its entry at the target. ok is false if there is no such edge. had, which may be nil, is called with the cells of the properties
// that it had, in ascending order. Like Remove and Mirror, it is fastest for edges in the order of their lists, with the same ls.
func (w *Edges) SetProps(ls *view.Lists, e graph.Edge, props []graph.Property, had func(p graph.PropID, cell []byte) error) (body []byte, ok bool, err error) {
	sorted := SortedProps(props)
	take := func(limit graph.PropID) error {
		for len(sorted) > 0 && sorted[0].ID < limit {
			p := sorted[0]
			sorted = sorted[1:]
			if p.Value.IsNull() {
				continue
			}
			body = binary.AppendUvarint(body, uint64(p.ID))
			if body, err = w.over.AppendValue(body, p.Value); err != nil {
				return err
			}
			w.CountEdgeProp(e.Type, p.ID, 1)
		}
		return nil
	}
	var replaced [][]byte
	ok, state, err := ls.Find("change an edge", e.Src.Local(), e.Dst, e.ID, func(p graph.PropID, cell []byte) error {
		if had != nil {
			if err := had(p, cell); err != nil {
				return err
			}
		}
		if err := take(p); err != nil {
			return err
		}
		if len(sorted) > 0 && sorted[0].ID == p {
			replaced = append(replaced, slices.Clone(cell))
			w.CountEdgeProp(e.Type, p, -1)
			return take(p + 1)
		}
		body = append(binary.AppendUvarint(body, uint64(p)), cell...)
		return nil
	})
	if err != nil || !ok {
		return nil, false, err
	}
	if err := take(^graph.PropID(0)); err != nil {
		return nil, false, err
	}
	if state == 0 {
		// The compaction of the list drops the packed values.
		w.putDelta(e, graph.Out, codec.DeltaUpdated, body, EdgeChanged)
		return body, true, nil
	}
	for _, cell := range replaced {
		if err := w.drop(cell); err != nil {
			return nil, false, err
		}
	}
	w.putDelta(e, graph.Out, state, body, EdgeChanged)
	return body, true, nil
}

// Mirror gives an edge's entry in the list of its target, which is one of ls, the body that SetProps returned.
func (w *Edges) Mirror(ls *view.Lists, e graph.Edge, body []byte) error {
	ok, state, err := ls.Find("find an edge", e.Dst.Local(), e.Src, e.ID, nil)
	if err != nil || !ok {
		return err
	}
	if state == 0 {
		state = codec.DeltaUpdated
	}
	w.putDelta(e, graph.In, state, body, EdgeChanged)
	return nil
}

// Remove removes an edge from the list of its source or target, which is one of ls. ok is false if it was not there. had is as in SetProps.
func (w *Edges) Remove(ls *view.Lists, e graph.Edge, had func(p graph.PropID, cell []byte) error) (ok bool, err error) {
	dir := ls.Direction()
	v, n := end(e, dir)
	var large [][]byte
	ok, state, err := ls.Find("delete an edge", v.Local(), n, e.ID, func(p graph.PropID, cell []byte) error {
		if dir == graph.Out {
			w.CountEdgeProp(e.Type, p, -1)
		}
		if cell[0] == keys.KindRef {
			large = append(large, slices.Clone(cell))
		}
		if had != nil {
			return had(p, cell)
		}
		return nil
	})
	if err != nil || !ok {
		return false, err
	}
	if state != 0 && dir == graph.Out {
		for _, cell := range large {
			if err := w.drop(cell); err != nil {
				return false, err
			}
		}
	}
	if state != codec.DeltaInserted {
		w.putDelta(e, dir, codec.DeltaDeleted, nil, EdgeRemoved)
		return true, nil
	}
	w.changes.Edges = append(w.changes.Edges, EdgeChange{v, n, e.ID, e.Type, dir, EdgeRemoved})
	w.noteOne(keys.ChunkOf(e.Type, dir, v.Local()))
	w.key = keys.AppendDeltaOne(w.key[:0], e.Type, dir, v.Local(), n, e.ID)
	w.over.Delete(w.key)
	return true, nil
}

// listPacker packs new edges of lists.
type listPacker struct {
	packer         codec.Packer
	m              codec.Merged
	vertices, ends []byte
	to             []int
	runs, buf      []byte
}

// append appends edges of one list, sorted, as a segment.
func (p *listPacker) append(dst []byte, edges []codec.ListEdge, bodies [][]byte) ([]byte, error) {
	some := false
	for i := range edges {
		some = some || len(bodies[edges[i].Row]) > 0
	}
	if !some {
		p.packer.Edges.Set(edges)
		return append(codec.AppendTopology(dst, &p.packer.Edges, 0), 0), nil
	}
	m := &p.m
	m.Reset()
	for i := range edges {
		e := &edges[i]
		p.buf = append(append(p.buf[:0], codec.DeltaInserted), bodies[e.Row]...)
		if err := m.AddOne(e.Neighbour, e.Edge, p.buf); err != nil {
			return dst, err
		}
	}
	props, err := m.Props()
	if err != nil {
		return dst, err
	}
	return p.packer.AppendSegment(dst, m, m.Rows, props, 0)
}

// AddRun puts new edges, sorted by SortEdges, into the lists of one type and direction; bodies are the properties of
// their rows, from Body.
func (w *Edges) AddRun(t graph.TypeID, dir graph.Direction, edges []codec.ListEdge, bodies [][]byte) error {
	for len(edges) > 0 {
		chunk := edges[0].Vertex >> keys.GroupBits
		n := 1
		for n < len(edges) && edges[n].Vertex>>keys.GroupBits == chunk {
			n++
		}
		if n < w.shard.PackEdges {
			for i := range n {
				e := &edges[i]
				w.putDelta(listEdge(w.shard.No, t, dir, e), dir, codec.DeltaInserted, bodies[e.Row], EdgeAdded)
			}
		} else if err := w.addGroup(t, dir, edges[:n], bodies); err != nil {
			return err
		}
		edges = edges[n:]
	}
	return nil
}

func listEdge(no int, t graph.TypeID, dir graph.Direction, e *codec.ListEdge) graph.Edge {
	edge := graph.Edge{ID: e.Edge, Type: t, Src: graph.MakeVertexID(no, e.Vertex), Dst: e.Neighbour}
	if dir == graph.In {
		edge.Src, edge.Dst = edge.Dst, edge.Src
	}
	return edge
}

// addGroup writes edges of lists of one chunk as a group.
func (w *Edges) addGroup(t graph.TypeID, dir graph.Direction, edges []codec.ListEdge, bodies [][]byte) (err error) {
	if w.packer == nil {
		w.packer = new(listPacker)
	}
	p := w.packer
	p.vertices, p.ends, p.to, p.runs = p.vertices[:0], p.ends[:0], p.to[:0], p.runs[:0]
	first := edges[0].Edge
	w.changes.Edges = slices.Grow(w.changes.Edges, len(edges))
	for i := range edges {
		e := &edges[i]
		first = min(first, e.Edge)
		w.changes.Edges = append(w.changes.Edges, EdgeChange{graph.MakeVertexID(w.shard.No, e.Vertex), e.Neighbour, e.Edge, t, dir, EdgeAdded})
	}
	for rest := edges; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Vertex == rest[0].Vertex {
			n++
		}
		if p.runs, err = p.append(p.runs, rest[:n], bodies); err != nil {
			return kv.Corrupt("delta edges", nil, err)
		}
		p.vertices = binary.LittleEndian.AppendUint16(p.vertices, uint16(rest[0].Vertex))
		p.to = append(p.to, len(p.runs))
		rest = rest[n:]
	}
	width := codec.WidthOf(uint64(len(p.runs)))
	for _, to := range p.to {
		p.ends = codec.AppendFixed(p.ends, uint64(to), width)
	}
	w.key = keys.AppendGroup(w.key[:0], t, dir, edges[0].Vertex, first)
	w.buf = binary.AppendUvarint(w.buf[:0], uint64(len(p.to)))
	w.buf = append(append(append(append(w.buf, byte(width)), p.vertices...), p.ends...), p.runs...)
	w.over.Set(w.key, w.buf)
	w.records += len(edges)
	return nil
}
