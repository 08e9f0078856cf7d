package search

import "github.com/hopgate/hopgate/internal/graph"

// vertexTable maps vertices to numbers by open addressing. The zero table is empty. Clearing it takes constant time and keeps
// its memory.
type vertexTable struct {
	slots []tableSlot // the length is a power of two; at most half of the slots are in use
	n     int
	epoch uint32 // slots of another epoch are free
}

type tableSlot struct {
	id    graph.VertexID
	at    int32
	epoch uint32
}

func (t *vertexTable) clear() {
	t.n = 0
	if t.epoch++; t.epoch == 0 {
		clear(t.slots)
		t.epoch = 1
	}
}

func (t *vertexTable) hash(id graph.VertexID) int {
	h := uint64(id) * 0x9e3779b97f4a7c15
	return int(h>>32) & (len(t.slots) - 1)
}

// get returns the number of a vertex.
func (t *vertexTable) get(id graph.VertexID) (at int32, ok bool) {
	if t.n == 0 {
		return 0, false
	}
	for i := t.hash(id); ; i = (i + 1) & (len(t.slots) - 1) {
		s := &t.slots[i]
		if s.epoch != t.epoch {
			return 0, false
		}
		if s.id == id {
			return s.at, true
		}
	}
}

// put assigns the number at to a vertex unless it has one; it returns the vertex's number.
func (t *vertexTable) put(id graph.VertexID, at int32) (has int32, added bool) {
	if 2*t.n >= len(t.slots) {
		t.grow()
	}
	for i := t.hash(id); ; i = (i + 1) & (len(t.slots) - 1) {
		s := &t.slots[i]
		if s.epoch != t.epoch {
			*s = tableSlot{id: id, at: at, epoch: t.epoch}
			t.n++
			return at, true
		}
		if s.id == id {
			return s.at, false
		}
	}
}

func (t *vertexTable) grow() {
	old, epoch := t.slots, t.epoch
	t.slots = make([]tableSlot, max(64, 2*len(old)))
	t.epoch, t.n = 1, 0
	for i := range old {
		if old[i].epoch == epoch && epoch != 0 {
			t.put(old[i].id, old[i].at)
		}
	}
}
