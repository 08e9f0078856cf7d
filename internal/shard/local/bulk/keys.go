package bulk

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// keyTable maps the ordered keys of one unique index to vertices, in memory, with open addressing: 16 bytes a slot for
// integers, 24 for all others, for which it keeps a hash of 128 bits under seeds of its own. Nothing is ever taken out;
// a key without a vertex maps to graph.NoVertex. A table of an offline load may be on disk in part; what
// is in memory is newer than that.
type keyTable struct {
	ints   []intSlot
	others []otherSlot
	nInts  int
	nOther int
	seeds  [2]maphash.Seed
	// dense, if it is not nil, has the vertices of the integers from least on in place of ints; see seal.
	dense []graph.VertexID
	least int64
	// complete reports whether a key absent from the table is absent from the index too.
	complete bool
	runs     [2][]*keyRun // by kind
}

type intSlot struct {
	key uint64 // 0: empty
	id  graph.VertexID
}

type otherSlot struct {
	hash [2]uint64 // 0, 0: empty
	id   graph.VertexID
}

func newKeyTable(complete bool) *keyTable {
	return &keyTable{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, complete: complete}
}

// minSlots is the least number of slots of a table that is not empty.
const minSlots = 1024

// intKeySize is the size of the ordered key of a number that needs no rest, and restAt where that would be.
const (
	intKeySize = 10
	restAt     = 9
)

// intKey returns the part of an ordered key that tells integers apart, or 0 for any other key. That of no integer is 0.
func intKey(key []byte) uint64 {
	if len(key) != intKeySize || key[restAt] != 0 {
		return 0
	}
	return binary.BigEndian.Uint64(key[1:])
}

// bytes is the size of the table.
func (t *keyTable) bytes() int { return 16*len(t.ints) + 24*len(t.others) + 8*len(t.dense) }

// slotOf spreads keys over a table of a power of two slots.
func slotOf(key uint64, slots int) int {
	return int(key * mix >> (64 - uint(bits.Len(uint(slots-1)))))
}

func (t *keyTable) hash(key []byte) [2]uint64 {
	return [2]uint64{maphash.Bytes(t.seeds[0], key) | 1, maphash.Bytes(t.seeds[1], key)}
}

// find looks an ordered key up; ok is false if the table knows nothing of it.
func (t *keyTable) find(key []byte) (id graph.VertexID, ok bool) {
	if k := intKey(key); k != 0 {
		if t.dense != nil {
			id = t.inDense(k)
			return id, id != graph.NoVertex
		}
		if len(t.ints) == 0 {
			return 0, false
		}
		for i := slotOf(k, len(t.ints)); ; i = (i + 1) & (len(t.ints) - 1) {
			switch s := &t.ints[i]; s.key {
			case k:
				return s.id, true
			case 0:
				return 0, false
			}
		}
	}
	if len(t.others) == 0 {
		return 0, false
	}
	h := t.hash(key)
	for i := int(h[0]>>1) & (len(t.others) - 1); ; i = (i + 1) & (len(t.others) - 1) {
		switch s := &t.others[i]; s.hash {
		case h:
			return s.id, true
		case [2]uint64{}:
			return 0, false
		}
	}
}

// put sets the vertex of an ordered key.
func (t *keyTable) put(key []byte, id graph.VertexID) {
	if k := intKey(key); k != 0 {
		t.addInt(k, id)
		return
	}
	t.addOther(t.hash(key), id)
}

func (t *keyTable) addInt(k uint64, id graph.VertexID) {
	if t.nInts*3 >= len(t.ints)*2 {
		t.growInts()
	}
	if t.putInt(k, id) {
		t.nInts++
	}
}

func (t *keyTable) addOther(h [2]uint64, id graph.VertexID) {
	if t.nOther*3 >= len(t.others)*2 {
		t.growOthers()
	}
	if t.putOther(h, id) {
		t.nOther++
	}
}

func (t *keyTable) putInt(k uint64, id graph.VertexID) (isNew bool) {
	for i := slotOf(k, len(t.ints)); ; i = (i + 1) & (len(t.ints) - 1) {
		if s := &t.ints[i]; s.key == k || s.key == 0 {
			isNew = s.key == 0
			*s = intSlot{k, id}
			return isNew
		}
	}
}

func (t *keyTable) putOther(h [2]uint64, id graph.VertexID) (isNew bool) {
	for i := int(h[0]>>1) & (len(t.others) - 1); ; i = (i + 1) & (len(t.others) - 1) {
		if s := &t.others[i]; s.hash == h || s.hash == [2]uint64{} {
			isNew = s.hash != h
			*s = otherSlot{h, id}
			return isNew
		}
	}
}

func (t *keyTable) growInts() {
	old := t.ints
	t.ints = make([]intSlot, max(minSlots, 2*len(old)))
	for _, s := range old {
		if s.key != 0 {
			t.putInt(s.key, s.id)
		}
	}
}

func (t *keyTable) growOthers() {
	old := t.others
	t.others = make([]otherSlot, max(minSlots, 2*len(old)))
	for _, s := range old {
		if s.hash != [2]uint64{} {
			t.putOther(s.hash, s.id)
		}
	}
}

// seal shrinks the table and speeds up look-ups of integers that are close together. No key may be added afterwards.
func (t *keyTable) seal() {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range t.ints {
		if k := t.ints[i].key; k != 0 {
			n, ok := intOf(k)
			if !ok {
				return
			}
			least, most = min(least, n), max(most, n)
		}
	}
	if t.nInts == 0 || most-least >= int64(2*t.nInts) {
		return
	}
	t.dense, t.least = make([]graph.VertexID, most-least+1), least
	for i := range t.dense {
		t.dense[i] = graph.NoVertex
	}
	for i := range t.ints {
		if s := &t.ints[i]; s.key != 0 {
			n, _ := intOf(s.key)
			t.dense[n-least] = s.id
		}
	}
	t.ints = nil
}

// intOf returns the integer that a key of ints represents; ok is false if it represents none.
func intOf(k uint64) (n int64, ok bool) {
	if k>>63 != 0 {
		k &^= 1 << 63
	} else {
		k = ^k
	}
	f := math.Float64frombits(k)
	if !(f > -exact && f < exact) {
		return 0, false
	}
	n = int64(f)
	return n, float64(n) == f
}

func (t *keyTable) inDense(k uint64) graph.VertexID {
	if n, ok := intOf(k); ok && uint64(n-t.least) < uint64(len(t.dense)) {
		return t.dense[n-t.least]
	}
	return graph.NoVertex
}

// Keys are the tables of a graph's unique indexes, as far as loads have used them. They are right as long as
// nothing but loads has changed the indexes.
type Keys struct {
	byIndex map[graph.IndexID]*keyTable
	spill   *keySpill // nil but for offline loads
}

// maxKeyTables is the size in bytes above which tables are thrown away.
const maxKeyTables = 256 << 20

// makeRoom makes room for as many more keys as there are rows, if the tables can go to disk; those that are not complete are
// thrown away instead. No vertex may be pending.
func (t *Keys) makeRoom(rows map[graph.IndexID]int) error {
	for {
		size := 0
		var largest graph.IndexID
		for id, x := range t.byIndex {
			size += x.grown(rows[id])
			if t.byIndex[largest] == nil || x.bytes() > t.byIndex[largest].bytes() {
				largest = id
			}
		}
		if size <= t.spill.limit || t.byIndex[largest].bytes() == 0 {
			return nil
		}
		x := t.byIndex[largest]
		if !x.complete {
			delete(t.byIndex, largest)
		} else if err := x.spillTo(t.spill); err != nil {
			return err
		}
	}
}

// drop throws a table away.
func (t *Keys) drop(id graph.IndexID) error {
	x := t.byIndex[id]
	if x == nil {
		return nil
	}
	delete(t.byIndex, id)
	return x.drop(t.spill)
}

// trim throws the tables away if they have become too large, and cannot go to disk.
func (t *Keys) trim() {
	if t.spill != nil {
		return
	}
	n := 0
	for _, x := range t.byIndex {
		n += x.bytes()
	}
	if n > maxKeyTables {
		clear(t.byIndex)
	}
}

// pendingID marks a vertex that is being made and has no id yet: group and row of Batch.pending follow.
const pendingID graph.VertexID = 1 << 63

func makePendingID(group, row int) graph.VertexID {
	return pendingID | graph.VertexID(group)<<32 | graph.VertexID(row)
}

func isPending(id graph.VertexID) bool { return id&pendingID != 0 && id != graph.NoVertex }

func splitPending(id graph.VertexID) (group, row int) {
	return int(id &^ pendingID >> 32), int(uint32(id))
}

// table returns the table of a space, making it if need be: complete if the index is small beside the n keys that are
// about to be looked up.
func (b *Batch) table(d *index.Def, n int) (*keyTable, error) {
	if t := b.tables.byIndex[d.ID]; t != nil {
		return t, nil
	}
	entries := uint64(0)
	for _, s := range b.g.Shards {
		if sk := s.Sketches()[d.ID]; sk != nil {
			entries += sk.Estimate()
		}
	}
	t := newKeyTable(entries < uint64(4*n+1<<16))
	b.tables.byIndex[d.ID] = t
	if !t.complete {
		return t, nil
	}
	for _, v := range b.tx.Views() {
		err := v.Walk(b.ctx, d.ID, nil, nil, false, func(rest []byte, o graph.IndexOwner) bool {
			t.put(rest, o.Vertex)
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// fetch loads all keys into the table: unknown ones are looked up together, in order.
func (b *Batch) fetch(d *index.Def, t *keyTable, vals []graph.Value) error {
	if t.complete && !t.onDisk() {
		return nil
	}
	began := time.Now()
	defer func() { b.l.Resolve += time.Since(began) }()
	if t.onDisk() {
		s := &b.tables.spill.seek
		s.reset()
		for _, v := range vals {
			s.add(t, v)
		}
		if err := s.seek(t); err != nil {
			return err
		}
		s.keep(t)
		return nil
	}
	var tuples [][]byte
	var buf, key []byte
	for _, v := range vals {
		if !isKey(v) {
			continue
		}
		key, _ = keys.AppendOrdered(key[:0], v)
		if _, ok := t.find(key); ok {
			continue
		}
		if cap(buf)-len(buf) < len(key) {
			buf = make([]byte, 0, max(64<<10, len(key)))
		}
		start := len(buf)
		buf = append(buf, key...)
		tuples = append(tuples, buf[start:len(buf):len(buf)])
		t.put(key, graph.NoVertex)
	}
	slices.SortFunc(tuples, bytes.Compare)
	for _, v := range b.tx.Views() {
		if err := v.Seek(b.ctx, d.ID, tuples, func(k int, o graph.IndexOwner) { t.put(tuples[k], o.Vertex) }); err != nil {
			return err
		}
	}
	return nil
}

// isKey reports whether a value can be an external key.
func isKey(v graph.Value) bool {
	switch v.Kind() {
	case graph.Int:
		return true
	case graph.String:
		return len(v.Str()) <= maxKeyText
	}
	return false
}

// maxKeyText is the size in bytes of the longest text that surely fits an index.
const maxKeyText = keys.MaxOrdered/2 - 2

// exact is the range of the integers that are float64s.
const exact = 1 << 53

// get looks up a key that fetch has loaded; it returns NoVertex if there is no vertex. buf is scratch.
func (t *keyTable) get(v graph.Value, buf *[]byte) graph.VertexID {
	if v.Kind() == graph.Int {
		if i := v.Int(); i > -exact && i < exact {
			return t.getInt(i)
		}
	}
	*buf, _ = keys.AppendOrdered((*buf)[:0], v)
	if id, ok := t.find(*buf); ok {
		return id
	}
	return graph.NoVertex
}

func (t *keyTable) getInt(i int64) graph.VertexID {
	if t.dense != nil {
		if at := uint64(i - t.least); at < uint64(len(t.dense)) {
			return t.dense[at]
		}
		return graph.NoVertex
	}
	if len(t.ints) == 0 {
		return graph.NoVertex
	}
	k := math.Float64bits(float64(i))
	if k>>63 != 0 {
		k = ^k
	} else {
		k |= 1 << 63
	}
	for at := slotOf(k, len(t.ints)); ; at = (at + 1) & (len(t.ints) - 1) {
		switch s := &t.ints[at]; s.key {
		case k:
			return s.id
		case 0:
			return graph.NoVertex
		}
	}
}
