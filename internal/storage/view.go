package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// View reads one state of a shard: a snapshot, or what a transaction sees that has written. Its methods may run side
// by side, but for a writer's view not beside writes. It is closed once, after all calls.
type View struct {
	shard  *Shard
	graph  pebble.Reader
	values pebble.Reader
	over   *overlay // of a writer: what it has changed; else nil
	known  state

	mu     sync.Mutex
	free   []*reader
	closed bool
}

// state is what a snapshot remembers of what its shard keeps in memory.
type state struct {
	version   uint64
	nextValue uint64
	nextText  uint64
	sketches  map[graph.IndexID]*Sketch
}

func (s *Shard) state() state { return state{s.version, s.next.value, s.next.Text, s.sketches} }

// reader is what one request needs: iterators, scratch memory and the memory of what it hands out.
type reader struct {
	v       *View
	cursors map[slot]*cursor
	groups  map[slot]*groupCursor // what they have found stays so, as nothing is written to a snapshot
	finders map[slot]*finder
	arena   codec.Arena
	key     []byte
	col     codec.Column
	seg     codec.Segment
	merged  codec.Merged
	bitmap  [codec.MemberWords]uint64
	held    held // what bitmap is
	tick    uint
	epoch   uint64 // the shard's readerEpoch when the reader began
}

// slot names one of a reader's cursors: a keyspace, and in the keyspaces of edges a type and direction.
type slot struct {
	space keys.Space
	dir   graph.Direction
	typ   graph.TypeID
}

// maxFree bounds the readers that a view keeps for reuse.
const maxFree = 16

func (v *View) get() *reader {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.free); n > 0 {
		r := v.free[n-1]
		v.free = v.free[:n-1]
		return r
	}
	r := readers.Get().(*reader)
	r.v, r.epoch = v, v.shard.readerEpoch.Load()
	return r
}

// readers are those whose views were closed. Views come and go with commits; the memory of a reader is large.
var readers = sync.Pool{New: func() any { return &reader{cursors: map[slot]*cursor{}} }}

// release ends a reader's work for its view.
func (r *reader) release() {
	r.closeCursors()
	r.v, r.held = nil, held{}
	readers.Put(r)
}

// put returns a reader. A fault resets it.
func (v *View) put(r *reader, err *error) {
	if *err != nil {
		r.closeCursors()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || len(v.free) == maxFree || r.epoch != v.shard.readerEpoch.Load() {
		r.release()
		return
	}
	v.free = append(v.free, r)
}

func (r *reader) closeCursors() {
	for s, c := range r.cursors {
		// The fault, if any, was seen when the cursor stopped.
		_ = c.it.Close()
		delete(r.cursors, s)
	}
	clear(r.groups)
	r.forgetFound()
}

// Current reports whether the shard is still as the snapshot shows it. Only the writer may call it.
func (v *View) Current() bool { return v.known.version == v.shard.version }

// Close frees the view's iterators, and its snapshots unless they are another's.
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
	v.shard.retire(v)
	return nil
}

// releaseFree ends idle readers.
func (v *View) releaseFree() {
	for _, r := range v.free {
		r.release()
	}
	v.free = nil
}

// releaseReaders ends the readers of all views, those in use when their request is done: their iterators keep tables that a
// compaction has replaced.
func (s *Shard) releaseReaders() {
	s.readerEpoch.Add(1)
	s.retireMu.Lock()
	views := slices.Collect(maps.Keys(s.views))
	s.retireMu.Unlock()
	for _, v := range views {
		v.mu.Lock()
		v.releaseFree()
		v.mu.Unlock()
	}
}

// retirePause is how long snapshots that are not wanted any more wait for others, to be closed together.
const retirePause = 5 * time.Millisecond

// retire closes a view's snapshots soon, but not at once: their end may have to wait for the manifest, and that of the
// oldest makes Pebble look for compactions.
func (s *Shard) retire(v *View) {
	s.retireMu.Lock()
	defer s.retireMu.Unlock()
	delete(s.views, v)
	if s.retired = append(s.retired, v); len(s.retired) == 1 {
		s.closers.Go(func() {
			select {
			case <-time.After(retirePause):
			case <-s.closing:
			}
			s.closeRetired()
		})
	}
}

// closeRetired closes the snapshots of the views that are retired.
func (s *Shard) closeRetired() {
	s.retireMu.Lock()
	views := s.retired
	s.retired = nil
	s.retireMu.Unlock()
	if len(views) == 0 {
		return
	}
	slices.Reverse(views) // so that but one is the oldest when it ends
	err := s.graph.Guard(func() (err error) {
		for _, v := range views {
			err = errors.Join(err, v.graph.Close())
		}
		return err
	})
	for _, v := range views {
		err = errors.Join(err, v.values.Close())
	}
	if err != nil && s.Writable() == nil {
		s.opts.Logger.Error("close a snapshot", slog.String("store", s.graph.Label()), slog.Any("error", err))
	}
}

// cursor returns the reader's cursor over a keyspace.
func (r *reader) cursor(s keys.Space) (*cursor, error) {
	if c, ok := r.cursors[slot{space: s}]; ok {
		return c, nil
	}
	lower, upper := keys.Bounds(s)
	return r.open(slot{space: s}, lower, upper)
}

// lists returns the reader's cursor over the edge lists of a type and direction, packed or delta.
func (r *reader) lists(s keys.Space, t graph.TypeID, dir graph.Direction) (*cursor, error) {
	at := slot{s, dir, t}
	if c, ok := r.cursors[at]; ok {
		return c, nil
	}
	lower := keys.AppendNumbered(nil, s, uint32(t), byte(dir))
	return r.open(at, lower, keys.AppendSuccessor(nil, lower))
}

// groupCursor returns the reader's cursor over the groups of a type and direction.
func (r *reader) groupCursor(t graph.TypeID, dir graph.Direction) (*groupCursor, error) {
	at := slot{keys.DeltaGroup, dir, t}
	if g, ok := r.groups[at]; ok {
		return g, nil
	}
	c, err := r.lists(keys.DeltaGroup, t, dir)
	if err != nil {
		return nil, err
	}
	g := &groupCursor{c: c}
	if r.v.over == nil {
		if r.groups == nil {
			r.groups = map[slot]*groupCursor{}
		}
		r.groups[at] = g
	}
	return g, nil
}

func (r *reader) open(s slot, lower, upper []byte) (*cursor, error) {
	it, err := kv.NewIter(r.v.graph, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	c := &cursor{it: it, over: r.v.over, lower: lower, upper: upper}
	r.cursors[s] = c
	return c, nil
}

// alive checks the context once in 4,096 calls.
func (r *reader) alive(ctx context.Context) error {
	if r.tick++; r.tick&0xfff != 0 {
		return nil
	}
	return kv.Alive(ctx)
}

// record reads one record; ok is false if there is none. It may use the memory of buf.
func (v *View) record(key, buf []byte) (value []byte, ok bool, err error) {
	if v.over != nil {
		if n := v.over.get(key); n != 0 {
			node := &v.over.nodes[n]
			return node.value, !node.deleted, nil
		}
	}
	return kv.Get(v.graph, key, buf[:0])
}

// Pending is a value that a read has left null because it is large: property P of row I of the answer.
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

// walkFrom is how many large values an iterator reads faster than as many look-ups do.
const walkFrom = 8

// LargeValues puts large values, in the order of their refs, where they belong. One iterator reads many.
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
	return kv.LargeFault(v.shard.values, k, kv.Damaged(fmt.Sprintf("read the record at key %x", k), err))
}

// walk moves an iterator over large values to a key, which is likely to be the next one, and copies the cell there.
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
			return nil, kv.LargeFault(v.shard.values, k, err)
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

// Vector puts a large value into a block of vectors at place i, if it is a list.
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

// cellMemory has memory for cells that are decoded at once.
var cellMemory = sync.Pool{New: func() any { return new([]byte) }}

// errNoValue says that a large value is missing to which a record refers.
var errNoValue = errors.New("a large value is missing")

// Graph reads the records of the graph store as the view sees them, without what its writer has changed.
func (v *View) Graph() pebble.Reader { return v.graph }

// Values reads the records of the values store as the view sees them.
func (v *View) Values() pebble.Reader { return v.values }

// LargeFault is the fault of reading the large value at a key.
func (v *View) LargeFault(key []byte, err error) error {
	return kv.LargeFault(v.shard.values, key, err)
}
