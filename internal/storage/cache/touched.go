package cache

import "github.com/hopgate/hopgate/internal/graph"

// Touched is the set of lists, or of values, that a write transaction has changed: its views leave them to the caller,
// who reads them through the transaction's batch. The zero value is empty. It is not changed while a view reads.
type Touched struct {
	blocks map[touchedBlock]*[listWords]uint64
}

// valueSpace keeps properties apart from lists.
func valueSpace(prop graph.PropID) uint32 { return uint32(columnIndex(prop)) | 1<<31 }

type touchedBlock struct {
	space uint32
	block uint64
}

// AddList adds a vertex's list.
func (t *Touched) AddList(typ graph.TypeID, dir graph.Direction, local uint64) {
	t.add(uint32(tableIndex(typ, dir)), local)
}

// AddValue adds a vertex's value of a property.
func (t *Touched) AddValue(prop graph.PropID, local uint64) { t.add(valueSpace(prop), local) }

func (t *Touched) add(space uint32, local uint64) {
	k := touchedBlock{space, local / ListBlock}
	b := t.blocks[k]
	if b == nil {
		if t.blocks == nil {
			t.blocks = map[touchedBlock]*[listWords]uint64{}
		}
		b = new([listWords]uint64)
		t.blocks[k] = b
	}
	i := local % ListBlock
	b[i>>6] |= 1 << (i & 63)
}

// block returns the bitmap of a block, nil if it is empty.
func (t *Touched) block(space uint32, block uint64) *[listWords]uint64 {
	if t == nil {
		return nil
	}
	return t.blocks[touchedBlock{space, block}]
}
