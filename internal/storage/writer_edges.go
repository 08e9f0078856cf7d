package storage

import (
	"encoding/binary"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

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

// AddEdges puts new edges, sorted by SortEdges, into the lists of one type and direction; bodies are the properties of
// their rows, from EdgeBody.
func (w *Writer) AddEdges(t graph.TypeID, dir graph.Direction, edges []codec.ListEdge, bodies [][]byte) error {
	for len(edges) > 0 {
		chunk := edges[0].Vertex >> keys.GroupBits
		n := 1
		for n < len(edges) && edges[n].Vertex>>keys.GroupBits == chunk {
			n++
		}
		if n < w.shard.opts.Tuning.PackEdges {
			for i := range n {
				e := &edges[i]
				w.putDelta(listEdge(w.shard.no, t, dir, e), dir, codec.DeltaInserted, bodies[e.Row], EdgeAdded)
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
func (w *Writer) addGroup(t graph.TypeID, dir graph.Direction, edges []codec.ListEdge, bodies [][]byte) (err error) {
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
		w.changes.Edges = append(w.changes.Edges, EdgeChange{graph.MakeVertexID(w.shard.no, e.Vertex), e.Neighbour, e.Edge, t, dir, EdgeAdded})
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
	w.over.put(w.key, w.buf, false)
	w.deltaCount += len(edges)
	return nil
}
