package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// naive is a Pebble store with a key for every vertex record and for every edge record in each direction, like the layout of NebulaGraph
// and others. Vertex ids are scattered like hashes, so people and comments are interleaved.
//
//	'v' id (8)                           all properties: sizes and bytes
//	'e' id (8) type direction other (8)  all properties of the edge
type naive struct {
	db   *pebble.DB
	d    *data
	nums map[uint64]int // people by id
}

const (
	naiveKnows  = 1
	naiveAuthor = 2
)

// scatter returns vertex ids: 2n scattered for person n, 2n+1 for comment n.
func scatter(n uint64) uint64 { return (n + 1) * 0x9e3779b97f4a7c15 }

func personID(n int) uint64  { return scatter(uint64(2 * n)) }
func commentID(n int) uint64 { return scatter(uint64(2*n + 1)) }

func openNaive(s setup, d *data, fill bool) (store, error) {
	p := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest, MemTableSize: 16 << 20, LBaseMaxBytes: 64 << 20, L0CompactionThreshold: 2,
		FS: vfs.Default, Logger: silent{},
	}
	if s.mode == kv.CacheDirect {
		fs, err := kv.NewDirectFS(p.FS, s.dir)
		if err != nil {
			return nil, err
		}
		p.FS = fs
	}
	size := s.cache
	if s.mode == kv.CachePages {
		size = 1 << 20
	}
	cache := pebble.NewCache(size)
	defer cache.Unref()
	p.Cache = cache
	p.Experimental.EnableColumnarBlocks = func() bool { return true }
	p.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: s.threshold < off, MinimumSize: s.threshold, MaxBlobReferenceDepth: 10, RewriteMinimumAge: time.Minute, TargetGarbageRatio: 0.25,
		}
	}
	for i := range p.Levels {
		p.Levels[i].BlockSize = 16 << 10
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(s.dir, p)
	if err != nil {
		return nil, err
	}
	n := &naive{db: db, d: d, nums: map[uint64]int{}}
	for i := range d.people {
		n.nums[personID(i)] = i
	}
	if fill {
		return n, n.fill()
	}
	return n, nil
}

type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func vertexKey(id uint64) []byte { return binary.BigEndian.AppendUint64([]byte{'v'}, id) }

func edgeKey(id uint64, typ, dir byte, other uint64) []byte {
	return binary.BigEndian.AppendUint64(append(binary.BigEndian.AppendUint64([]byte{'e'}, id), typ, dir), other)
}

func personRecord(p person) []byte {
	b := binary.AppendUvarint(nil, uint64(len(p.name)))
	b = binary.AppendVarint(append(b, p.name...), p.age)
	return append(binary.AppendUvarint(b, uint64(len(p.city))), p.city...)
}

func commentRecord(c comment) []byte {
	return append(binary.AppendVarint(nil, c.length), c.text...)
}

func edgePair(b *pebble.Batch, src uint64, typ byte, dst uint64, value []byte) error {
	return errors.Join(b.Set(edgeKey(src, typ, 0, dst), value, nil), b.Set(edgeKey(dst, typ, 1, src), value, nil))
}

func (n *naive) fill() error {
	b := n.db.NewBatch()
	flush := func(limit int) error {
		if b.Len() < limit {
			return nil
		}
		err := n.db.Apply(b, pebble.NoSync)
		b = n.db.NewBatch()
		return err
	}
	for i, p := range n.d.people {
		if err := errors.Join(b.Set(vertexKey(personID(i)), personRecord(p), nil), flush(1<<20)); err != nil {
			return err
		}
	}
	for i, c := range n.d.comments {
		err := b.Set(vertexKey(commentID(i)), commentRecord(c), nil)
		if err = errors.Join(err, edgePair(b, commentID(i), naiveAuthor, personID(c.author), nil), flush(1<<20)); err != nil {
			return err
		}
	}
	for _, k := range n.d.knows {
		err := edgePair(b, personID(k.src), naiveKnows, personID(k.dst), binary.AppendVarint(nil, k.since))
		if err = errors.Join(err, flush(1<<20)); err != nil {
			return err
		}
	}
	return flush(0)
}

// edges calls f with the far end and the record of each KNOWS edge of a person.
func (n *naive) edges(it *pebble.Iterator, p int, f func(dst uint64, value []byte) error) error {
	prefix := edgeKey(personID(p), naiveKnows, 0, 0)[:11]
	for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
		v, err := it.ValueAndErr()
		if err == nil {
			err = f(binary.BigEndian.Uint64(it.Key()[11:]), v)
		}
		if err != nil {
			return err
		}
	}
	return it.Error()
}

func (n *naive) iter() (*pebble.Iterator, error) {
	return n.db.NewIter(&pebble.IterOptions{LowerBound: []byte{'e'}, UpperBound: []byte{'f'}})
}

func (n *naive) step(from []int) (out []int, err error) {
	it, err := n.iter()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for _, p := range from {
		err := n.edges(it, p, func(dst uint64, _ []byte) error { out = append(out, n.nums[dst]); return nil })
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (n *naive) names(p int) (sum int, err error) {
	friends, err := n.step([]int{p})
	if err != nil {
		return 0, err
	}
	for _, f := range friends {
		v, closer, err := n.db.Get(vertexKey(personID(f)))
		if err != nil {
			return 0, err
		}
		size, w := binary.Uvarint(v)
		age, _ := binary.Varint(v[w+int(size):])
		sum += int(size) + int(age&1)
		if err := closer.Close(); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func (n *naive) texts(cs []int) (sum int, err error) {
	for _, c := range cs {
		v, closer, err := n.db.Get(vertexKey(commentID(c)))
		if err != nil {
			return 0, err
		}
		_, w := binary.Varint(v)
		sum += len(bytes.Clone(v[w:]))
		if err := closer.Close(); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func (n *naive) since(p int) (sum int64, err error) {
	it, err := n.iter()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	err = n.edges(it, p, func(_ uint64, v []byte) error {
		t, _ := binary.Varint(v)
		sum += t
		return nil
	})
	return sum, err
}

func (n *naive) insert(friend int, c comment) error {
	now := uint64(time.Now().UnixNano())
	p, t := scatter(now), scatter(now+1<<62)
	b := n.db.NewBatch()
	return errors.Join(
		b.Set(vertexKey(p), personRecord(person{"a new person", 30, "Oslo"}), nil), b.Set(vertexKey(t), commentRecord(c), nil),
		edgePair(b, p, naiveKnows, personID(friend), binary.AppendVarint(nil, 1)), edgePair(b, t, naiveAuthor, personID(friend), nil),
		n.db.Apply(b, pebble.Sync))
}

func (n *naive) settle() error { return n.db.Flush() }
func (n *naive) close() error  { return n.db.Close() }

// size includes the blob files that existed when the store was opened, which Pebble (v2.1.7) omits.
func (n *naive) size() uint64 {
	m := n.db.Metrics()
	return m.DiskSpaceUsage() - m.BlobFiles.Local.LiveSize + m.BlobFiles.LiveSize
}
