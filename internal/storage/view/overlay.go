package view

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Overlay holds the uncommitted writes of a transaction to a shard: the last change of each key, in the order of
// the keys, and the large values. It is a skip list whose nodes never move and are never removed, so a
// cursor stays valid while keys are added. It may be read from many goroutines, but not during a write.
type Overlay struct {
	nodes   []overlayNode // the first is the head, so node 0 means none
	links   []uint32      // of each node, its successors by level, from node.links on
	height  int
	bytes   int       // of keys and values
	changes uint64    // counts the writes
	spaces  [4]uint64 // a bit for each keyspace of the keys
	free    []byte    // memory for keys and values
	block   int       // size of the last block of memory

	// last is the node that was written last, and near has the last node up to it on each level. Most keys come in order, so searches start
	// here.
	last uint32
	near [overlayHeight]uint32

	// large are the large values that were written, whose ids count from firstLarge.
	large      [][]byte
	largeBytes int
	firstLarge uint64
	threshold  int // size in bytes from which a value is large
}

type overlayNode struct {
	key, value []byte
	links      uint32
	deleted    bool
}

const (
	overlayHeight            = 14 // one node of four is a level higher than the others
	firstBlock, largestBlock = 512, 64 << 10
)

// Init prepares an empty overlay: its large values, those of at least threshold bytes, get ids from first on.
func (o *Overlay) Init(first uint64, threshold int) { o.firstLarge, o.threshold = first, threshold }

// search finds the first node whose key is not less than key, 0 if there is none; prev, if not nil, gets the nodes
// before it on all levels.
func (o *Overlay) search(key []byte, prev *[overlayHeight]uint32) uint32 {
	at, next := uint32(0), uint32(0)
	near := o.last != 0 && bytes.Compare(o.nodes[o.last].key, key) < 0
	for level := o.height - 1; level >= 0; level-- {
		if near {
			at = o.near[level]
		}
		// known was compared one level above.
		for known := next; ; {
			next = o.links[o.nodes[at].links+uint32(level)]
			if next == 0 || next == known || bytes.Compare(o.nodes[next].key, key) >= 0 {
				break
			}
			at, near = next, false // beyond the near nodes
		}
		if prev != nil {
			prev[level] = at
		}
	}
	return next
}

// touches reports whether a key of the keyspace of key was written.
func (o *Overlay) touches(key []byte) bool {
	return len(key) == 0 || o.spaces[key[0]>>6]>>(key[0]&63)&1 != 0
}

// get finds a key's node; 0 if the key was not written.
func (o *Overlay) get(key []byte) uint32 {
	if !o.touches(key) {
		return 0
	}
	if n := o.search(key, nil); n != 0 && bytes.Equal(o.nodes[n].key, key) {
		return n
	}
	return 0
}

// before is the last node whose key is less than key, 0 if there is none.
func (o *Overlay) before(key []byte) uint32 {
	if o.height == 0 {
		return 0
	}
	var prev [overlayHeight]uint32
	o.search(key, &prev)
	return prev[0]
}

// Next is the node after another, 0 if there is none.
func (o *Overlay) Next(n uint32) uint32 { return o.links[o.nodes[n].links] }

// From is the first node whose key is not less than key, 0 if there is none.
func (o *Overlay) From(key []byte) uint32 { return o.search(key, nil) }

// At returns the change of a node.
func (o *Overlay) At(n uint32) (key, value []byte, deleted bool) {
	node := &o.nodes[n]
	return node.key, node.value, node.deleted
}

// Set sets a record. It copies key and value.
func (o *Overlay) Set(key, value []byte) { o.put(key, value, false) }

// Delete deletes a record. It copies the key.
func (o *Overlay) Delete(key []byte) { o.put(key, nil, true) }

func (o *Overlay) put(key, value []byte, deleted bool) {
	o.changes++
	if o.nodes == nil {
		o.nodes = make([]overlayNode, 1, 16)
		o.links = make([]uint32, overlayHeight, overlayHeight+24)
	}
	var prev [overlayHeight]uint32
	if n := o.search(key, &prev); n != 0 && bytes.Equal(o.nodes[n].key, key) {
		node := &o.nodes[n]
		o.bytes += len(value) - len(node.value)
		node.value, node.deleted = o.copy(value), deleted
		o.last, o.near = n, prev
		return
	}
	height := 1
	for r := rand.Uint32(); height < overlayHeight && r&3 == 0; r >>= 2 {
		height++
	}
	o.height = max(o.height, height)
	n := uint32(len(o.nodes))
	if len(key) > 0 {
		o.spaces[key[0]>>6] |= 1 << (key[0] & 63)
	}
	o.nodes = append(o.nodes, overlayNode{o.copy(key), o.copy(value), uint32(len(o.links)), deleted})
	for level := range uint32(height) {
		link := o.nodes[prev[level]].links + level
		o.links = append(o.links, o.links[link])
		o.links[link] = n
		prev[level] = n
	}
	o.last, o.near = n, prev
	o.bytes += len(key) + len(value)
}

// copy copies b to the overlay's memory.
func (o *Overlay) copy(b []byte) []byte {
	if len(b) > len(o.free) {
		if len(b) > largestBlock/8 {
			return bytes.Clone(b)
		}
		o.block = min(max(2*o.block, firstBlock), largestBlock)
		o.free = make([]byte, max(o.block, len(b)))
	}
	n := copy(o.free, b)
	out := o.free[:n:n]
	o.free = o.free[n:]
	return out
}

// Empty reports whether nothing was written.
func (o *Overlay) Empty() bool { return len(o.nodes) == 0 && len(o.large) == 0 }

// Bytes is the size of the keys and values that were written, without large values.
func (o *Overlay) Bytes() int { return o.bytes }

// LargeBytes is the size of the large values that were written.
func (o *Overlay) LargeBytes() int { return o.largeBytes }

// Large returns the large values that were written, in the order of their ids, and the first id.
func (o *Overlay) Large() (first uint64, cells [][]byte) { return o.firstLarge, o.large }

// AppendValue appends a value as it is stored in a record: as a cell, or, if it is large, as a reference to one.
func (o *Overlay) AppendValue(dst []byte, v graph.Value) ([]byte, error) {
	start := len(dst)
	dst, ok := keys.AppendCell(dst, v)
	if !ok {
		return dst, graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", v.Kind())
	}
	if len(dst)-start < o.threshold {
		return dst, nil
	}
	return o.storeLarge(dst[:start], dst[start:]), nil
}

// AppendCell appends a cell as it is stored in a record; see AppendValue.
func (o *Overlay) AppendCell(dst, cell []byte) []byte {
	if len(cell) < o.threshold {
		return append(dst, cell...)
	}
	return o.storeLarge(dst, cell)
}

// storeLarge adds a large value and appends a reference to it.
func (o *Overlay) storeLarge(dst, cell []byte) []byte {
	// Concurrent writers give out the same ids: only one of them is committed as it is.
	id := o.firstLarge + uint64(len(o.large))
	o.large = append(o.large, slices.Clone(cell))
	o.largeBytes += len(cell)
	return keys.AppendRef(dst, keys.Ref{ID: id, Size: uint64(len(cell))})
}

// AppendTo puts all changes into a batch, in the order of the keys.
func (o *Overlay) AppendTo(b *pebble.Batch) error {
	for n := o.From(nil); n != 0; n = o.Next(n) {
		node := &o.nodes[n]
		var err error
		if node.deleted {
			err = b.Delete(node.key, nil)
		} else {
			err = b.Set(node.key, node.value, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether a large value is among those that were written. The overlay may be nil.
func (o *Overlay) holds(id uint64) bool {
	return o != nil && id >= o.firstLarge && id-o.firstLarge < uint64(len(o.large))
}
