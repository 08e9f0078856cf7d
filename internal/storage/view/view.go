package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// View reads one state of a shard: a snapshot, or a snapshot under the changes of a transaction. Its methods are safe for concurrent use, in
// a writer's view except during writes. The owner closes it once, after all calls.
type View struct {
	set    *Set
	graph  pebble.Reader
	values pebble.Reader
	over   *Overlay // of a writer; else nil
	state  State

	mu     sync.Mutex
	free   []*Reader
	closed bool
}

// Reader is what one request needs: cursors, scratch memory and the memory of its results.
type Reader struct {
	v       *View
	cursors map[slot]*Cursor
	groups  map[slot]*GroupCursor // valid for the life of a snapshot
	finders map[slot]*finder
	arena   codec.Arena
	key     []byte
	Chunk   codec.Column
	seg     codec.Segment
	Merged  codec.Merged
	bitmap  [codec.MemberWords]uint64
	held    held // what bitmap has
	tick    uint
	epoch   uint64 // of the set when the reader began
}

// slot names one of a reader's cursors: a keyspace, and in the keyspaces of edges a type and direction.
type slot struct {
	space keys.Space
	dir   graph.Direction
	typ   graph.TypeID
}

// maxFree is the maximum number of idle readers of a view.
const maxFree = 16

// Acquire returns a reader, which one goroutine uses until it calls Release.
func (v *View) Acquire() *Reader {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.free); n > 0 {
		r := v.free[n-1]
		v.free = v.free[:n-1]
		return r
	}
	r := readers.Get().(*Reader)
	r.v, r.epoch = v, v.set.epoch.Load()
	return r
}

// readers pools the readers of closed views, since each commit makes new views and the memory of a reader is large.
var readers = sync.Pool{New: func() any { return &Reader{cursors: map[slot]*Cursor{}} }}

// release ends a reader's work for its view.
func (r *Reader) release() {
	r.closeCursors()
	r.v, r.held = nil, held{}
	readers.Put(r)
}

// Release returns a reader to its view. If *err is not nil, it closes the reader's cursors.
func (v *View) Release(r *Reader, err *error) {
	if *err != nil {
		r.closeCursors()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || len(v.free) == maxFree || r.epoch != v.set.epoch.Load() {
		r.release()
		return
	}
	v.free = append(v.free, r)
}

func (r *Reader) closeCursors() {
	for s, c := range r.cursors {
		// An error was seen when the cursor stopped.
		_ = c.it.Close()
		delete(r.cursors, s)
	}
	clear(r.groups)
	r.forgetFound()
}

// Close frees the view's readers and, unless it is a writer's view, its snapshots.
func (v *View) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.closed = true
	v.releaseFree()
	if v.over != nil {
		return nil
	}
	v.set.retire(v)
	return nil
}

// releaseFree ends idle readers.
func (v *View) releaseFree() {
	for _, r := range v.free {
		r.release()
	}
	v.free = nil
}

// Cursor returns the reader's cursor over a keyspace.
func (r *Reader) Cursor(s keys.Space) (*Cursor, error) {
	if c, ok := r.cursors[slot{space: s}]; ok {
		return c, nil
	}
	lower, upper := keys.Bounds(s)
	return r.open(slot{space: s}, lower, upper)
}

// ListRecords returns the reader's cursor over the edge lists of a type and direction, packed or delta.
func (r *Reader) ListRecords(s keys.Space, t graph.TypeID, dir graph.Direction) (*Cursor, error) {
	at := slot{s, dir, t}
	if c, ok := r.cursors[at]; ok {
		return c, nil
	}
	lower := keys.AppendNumbered(nil, s, uint32(t), byte(dir))
	return r.open(at, lower, keys.AppendSuccessor(nil, lower))
}

// groupCursor returns the reader's cursor over the groups of a type and direction.
func (r *Reader) groupCursor(t graph.TypeID, dir graph.Direction) (*GroupCursor, error) {
	at := slot{keys.DeltaGroup, dir, t}
	if g, ok := r.groups[at]; ok {
		return g, nil
	}
	c, err := r.ListRecords(keys.DeltaGroup, t, dir)
	if err != nil {
		return nil, err
	}
	g := &GroupCursor{c: c}
	if r.v.over == nil {
		if r.groups == nil {
			r.groups = map[slot]*GroupCursor{}
		}
		r.groups[at] = g
	}
	return g, nil
}

func (r *Reader) open(s slot, lower, upper []byte) (*Cursor, error) {
	it, err := kv.NewIter(r.v.graph, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	c := &Cursor{it: it, over: r.v.over, lower: lower, upper: upper, one: true}
	r.cursors[s] = c
	return c, nil
}

// Bitmap returns memory for a bitmap, for use until the next scan.
func (r *Reader) Bitmap() *codec.Members {
	r.held.ok = false
	return &r.bitmap
}

// Alive checks the context once in 4,096 calls.
func (r *Reader) Alive(ctx context.Context) error {
	if r.tick++; r.tick&0xfff != 0 {
		return nil
	}
	return kv.Alive(ctx)
}

// Record reads one record; ok is false if there is none. It may use the memory of buf.
func (v *View) Record(key, buf []byte) (value []byte, ok bool, err error) {
	if v.over != nil {
		if n := v.over.get(key); n != 0 {
			node := &v.over.nodes[n]
			return node.value, !node.deleted, nil
		}
	}
	return kv.Get(v.graph, key, buf[:0])
}

// Pending is a large value that a read has left null: property P of row I of the result.
type Pending struct {
	P, I int
	Ref  keys.Ref
}

// Large reads a large value. Refs are to this shard.
func (v *View) Large(ref keys.Ref) (graph.Value, error) {
	cell, err := v.largeCell(ref, nil)
	if err != nil {
		return graph.Value{}, err
	}
	return largeValue(ref, cell)
}

func largeValue(ref keys.Ref, cell []byte) (graph.Value, error) {
	val, _, isRef, rest, err := keys.Cell(cell)
	if err != nil || isRef || len(rest) > 0 {
		return graph.Value{}, kv.Corrupt("large value", keys.AppendValueKey(nil, ref.ID), codec.ErrRecord)
	}
	return val, nil
}

// walkFrom is the number of large values from which an iterator is faster than look-ups.
const walkFrom = 8

// LargeValues reads pending large values, sorted by their refs, into out[P][I]. One iterator reads many.
func (v *View) LargeValues(pending []Pending, out [][]graph.Value) (err error) {
	var it kv.Iterator
	var mem codec.Arena
	var key [8]byte
	defer func() {
		if it == nil {
			return
		}
		if e := it.Close(); err == nil && e != nil {
			err = kv.Fault("read large values", e)
		}
	}()
	for i, p := range pending {
		var cell []byte
		switch {
		case len(pending)-i < walkFrom && it == nil || v.over.holds(p.Ref.ID):
			cell, err = v.largeCell(p.Ref, nil)
		default:
			k := keys.AppendValueKey(key[:0], p.Ref.ID)
			if it == nil {
				if it, err = kv.NewIter(v.values, nil); err != nil {
					return v.largeFault(k, err)
				}
			}
			cell, err = v.walk(it, k, p.Ref, i > 0 && pending[i-1].Ref.ID+1 == p.Ref.ID, &mem)
		}
		if err != nil {
			return err
		}
		if out[p.P][p.I], err = largeValue(p.Ref, cell); err != nil {
			return err
		}
	}
	return nil
}

func (v *View) largeFault(k []byte, err error) error {
	return kv.LargeFault(v.set.Values, k, kv.Damaged(fmt.Sprintf("read the record at key %x", k), err))
}

// walk moves an iterator over large values to a key, which is probably the next one, and copies the cell.
func (v *View) walk(it kv.Iterator, k []byte, ref keys.Ref, next bool, mem *codec.Arena) ([]byte, error) {
	if !next || !it.Valid() || !it.Next() || !bytes.Equal(it.Key(), k) {
		if !it.SeekGE(k) || !bytes.Equal(it.Key(), k) {
			if err := it.Error(); err != nil {
				return nil, v.largeFault(k, err)
			}
			return nil, kv.Corrupt("large value", k, errNoValue)
		}
	}
	b, err := it.ValueAndErr()
	if err != nil {
		return nil, v.largeFault(k, err)
	}
	if uint64(len(b)) != ref.Size {
		return nil, kv.Corrupt("large value", k, codec.ErrRecord)
	}
	return mem.Bytes(b), nil
}

// largeCell reads the cell of a large value. It may use the memory of buf.
func (v *View) largeCell(ref keys.Ref, buf []byte) ([]byte, error) {
	var cell []byte
	if o := v.over; o.holds(ref.ID) {
		cell = o.large[ref.ID-o.firstLarge]
	} else {
		var key [8]byte
		k := keys.AppendValueKey(key[:0], ref.ID)
		var ok bool
		var err error
		if cell, ok, err = kv.Get(v.values, k, buf[:0]); err != nil {
			return nil, kv.LargeFault(v.set.Values, k, err)
		}
		if !ok {
			return nil, kv.Corrupt("large value", k, errNoValue)
		}
	}
	if uint64(len(cell)) != ref.Size {
		return nil, kv.Corrupt("large value", keys.AppendValueKey(nil, ref.ID), codec.ErrRecord)
	}
	return cell, nil
}

// Vector puts a large value, if it is a list or vector, into row i of a block of vectors.
func (v *View) Vector(ref keys.Ref, i int, b *cache.VectorBuilder) error {
	buf := cellMemory.Get().(*[]byte)
	defer cellMemory.Put(buf)
	cell, err := v.largeCell(ref, *buf)
	if err != nil {
		return err
	}
	if v.over == nil {
		*buf = cell
	}
	if len(cell) > 0 && (cell[0] == byte(graph.List) || cell[0] == byte(graph.VectorKind)) {
		b.Put(i, func(dst []float32) ([]float32, int, bool) { return keys.AppendVector(dst, cell) })
	}
	return nil
}

// cellMemory pools memory for cells that are decoded immediately.
var cellMemory = sync.Pool{New: func() any { return new([]byte) }}

// errNoValue says that the large value that a record refers to is missing.
var errNoValue = errors.New("a large value is missing")

// Graph reads the graph store in the state of the view, without the overlay.
func (v *View) Graph() pebble.Reader { return v.graph }

// Values reads the values store in the state of the view, without the overlay.
func (v *View) Values() pebble.Reader { return v.values }

// LargeFault wraps an error of reading the large value at a key.
func (v *View) LargeFault(key []byte, err error) error {
	return kv.LargeFault(v.set.Values, key, err)
}

// No is the number of the view's shard.
func (v *View) No() int { return v.set.No }

// State returns what the view remembers of its shard.
func (v *View) State() State { return v.state }

// Written calls f with each committed record that SetWritten stored for a stream, by the numbers of its batches.
func (v *View) Written(stream string, f func(key, vertices []byte) error) error {
	lower := keys.AppendWritten(nil, stream)
	return kv.ScanRange(v.graph, lower, keys.AppendSuccessor(nil, lower), f)
}

// Mark reads what SetMark stored, or 0 and nil.
func (v *View) Mark(stream string) (seq uint64, mark []byte, err error) {
	key := keys.MarkKey(stream)
	b, ok, err := v.Record(key, nil)
	if err != nil {
		return 0, nil, kv.Fault("read a load mark", err)
	}
	if !ok {
		return 0, nil, nil
	}
	seq, rest := codec.Uvarint(b)
	if rest == nil {
		return 0, nil, kv.Corrupt("load mark", key, codec.ErrRecord)
	}
	return seq, rest, nil
}
