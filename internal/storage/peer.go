package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Peer is a shard that replicas hold as a Part. Its methods try again until the other process has answered, or
// the peer is closed; an error is final.
type Peer interface {
	// Apply makes changes durable; see Part.Apply.
	Apply(c *Changed) error
	// Get returns the value of a key as of a version, 0 for the present state; ok is false if there is none.
	Get(store Store, version uint64, key []byte) (value []byte, ok bool, err error)
	// GetAll returns the values of keys, nil for missing ones; see Get.
	GetAll(store Store, version uint64, keys [][]byte) (values [][]byte, err error)
	// Walk returns records in a range of keys; see Part.Walk.
	Walk(w *Walk) (*Records, error)
	// Close ends all calls.
	Close() error
}

// Peers are the processes that keep shards for this one.
type Peers interface {
	// Open attaches this process to shard no of a graph, making it if create is set, and gives the version of what is
	// there.
	Open(ctx context.Context, g PartOf, no int, create bool) (p Peer, version uint64, err error)
	// Drop drops shard no of a graph; it is no error if it is gone already.
	Drop(ctx context.Context, g PartOf, no int) error
	// Discard notes in shard 0 of a graph, if Peers keep it, that the graph is being dropped.
	Discard(ctx context.Context, g PartOf) error
	// Copy begins a copy of shards no, which lasts until Close or the end of ctx. id names it at their process.
	Copy(ctx context.Context, no int, id uint64) (PeerCopy, error)
	// CheckFiles verifies the files of shard no of a graph; see CheckFiles.
	CheckFiles(ctx context.Context, g PartOf, no int, bad func(file string, err error)) (files, bytes uint64, err error)
	// Compare compares the replicas of shard no in a version, and calls differ for each that is unlike most others.
	Compare(ctx context.Context, g PartOf, no int, version uint64, differ func(replica string)) error
}

// PeerCopy is a copy of shards, one of a graph, that a replica has made. An error ends it.
type PeerCopy interface {
	// Flush makes ready what Take will copy.
	Flush(g PartOf) error
	// Take copies a graph's shard as it is now, with the changes up to a version.
	Take(g PartOf, version uint64) error
	// Files lists the files of all shards that were taken.
	Files() ([]graph.CheckpointFile, error)
	// Open reads one of Files.
	Open(path string) (io.ReadCloser, error)
	Close() error
}

// PartOf names a graph that parts belong to: a graph that is made again under a name has another id.
type PartOf struct {
	Name   string
	ID     uint64
	Shards int
}

// Store is one of a shard's two stores.
type Store uint8

// The stores of a shard.
const (
	GraphStore  Store = iota // topology, small properties and the rest
	ValuesStore              // large values
)

// Changed is a batch of changes to a store of a Part.
type Changed struct {
	Store Store
	// Version is what the part's version becomes. Batches of large values, which can be read only once something
	// refers to them, leave it as it is: of these it is the number, from 1 on in each epoch.
	Version uint64
	// Batch is the representation of a Pebble batch.
	Batch []byte
	// Same says that what can be read stays the same.
	Same bool
	// Keep says that the state before can be read still, under its version; Gone are versions without readers.
	Keep bool
	Gone []uint64
}

// Walk asks for the records with keys in [Lower, Upper) as of Version, upwards from the first one at or after From,
// or downwards from the last one before it. Bytes is about how much is wanted.
type Walk struct {
	Store        Store
	Version      uint64 // 0 for the present state
	Lower, Upper []byte // nil: no bound
	From         []byte
	Down         bool
	Bytes        int
}

// Records are some records, in the order of the walk. Done says that none follow.
type Records struct {
	Keys, Values [][]byte
	Done         bool
}

// peerVersions is the writer's side of a Part: the versions of it that are being read.
type peerVersions struct {
	peer Peer
	// applying is held while a batch is under way: names of the catalog and the ends of intents come beside commits.
	applying sync.Mutex
	values   uint64 // the batches of large values; under applying

	mu      sync.Mutex
	version uint64
	refs    map[uint64]int
	gone    []uint64
}

// OpenPeer makes a shard of one that another process keeps at a version. It is not ready before Recover. The writer of
// all others is the only one that may write to it.
func OpenPeer(o *Options, p Peer, name string, no int, version uint64) (*Shard, error) {
	db, err := scratch()
	if err != nil {
		return nil, err
	}
	s := newShard(o, no)
	versions := &peerVersions{peer: p, version: version, refs: map[uint64]int{}}
	open := func(which Store) *peerStore {
		st := &peerStore{versions: versions, which: which, batches: db}
		st.Init(name, o.Logger)
		return st
	}
	s.useStores(open(GraphStore), open(ValuesStore))
	return s, nil
}

// peerStore implements kv.Store for one store of a shard that another process keeps as a Part.
type peerStore struct {
	kv.Health
	versions *peerVersions
	which    Store
	batches  *pebble.DB // which makes batches, and holds nothing
}

func (p *peerStore) NewBatch() *pebble.Batch { return p.batches.NewBatch() }

func (p *peerStore) Live() pebble.Reader { return &peerReader{p: p.versions, store: p.which} }

func (p *peerStore) Snapshot() (pebble.Reader, error) {
	return &peerReader{p: p.versions, store: p.which, version: p.versions.acquire()}, nil
}

func (p *peerStore) Apply(b *pebble.Batch, sync, _ bool) (wait func() error, err error) {
	if err := p.Writable(); err != nil {
		return nil, err
	}
	// A compaction alone asks for no sync: what can be read stays the same.
	if err := p.versions.apply(p.which, b, !sync); err != nil {
		if graph.AsError(err).Kind == graph.KindUnknown { // another writer carries out what is begun
			p.Leave(err)
		} else {
			p.Fail(err)
		}
		return nil, p.Fault
	}
	return func() error { return nil }, nil
}

func (*peerStore) Durable() bool { return true }

// Guard implements store: calls to another process end with it.
func (*peerStore) Guard(f func() error) error { return f() }

func (*peerStore) Flush(context.Context) error { return nil }

// Stats implements kv.Store. The process that keeps the shard has the numbers.
func (*peerStore) Stats() kv.Stats { return kv.Stats{} }

// Close implements kv.Store. Both stores have one way to the other process.
func (p *peerStore) Close() error {
	if p.which != GraphStore {
		return nil
	}
	if err := p.versions.peer.Close(); err != nil {
		p.Log.Error("leave a shard", slog.String("store", p.Name), slog.Any("error", err))
	}
	return nil
}

// scratch is a store without anything, for making batches.
var scratch = sync.OnceValues(func() (*pebble.DB, error) {
	return pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: kv.Quiet{}})
})

// acquire holds the version that is there now, after a batch that is under way.
func (p *peerVersions) acquire() uint64 {
	p.applying.Lock()
	defer p.applying.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refs[p.version]++
	return p.version
}

func (p *peerVersions) release(version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refs[version]--; p.refs[version] == 0 {
		delete(p.refs, version)
		p.gone = append(p.gone, version)
	}
}

// apply has a batch applied, durably.
func (p *peerVersions) apply(store Store, b *pebble.Batch, same bool) error {
	p.applying.Lock()
	defer p.applying.Unlock()
	p.mu.Lock()
	c := &Changed{Store: store, Version: p.version, Batch: b.Repr(), Same: same, Keep: p.refs[p.version] > 0}
	for _, v := range p.gone {
		if p.refs[v] == 0 {
			c.Gone = append(c.Gone, v)
		}
	}
	p.gone = nil
	if store == GraphStore {
		c.Version++
	} else {
		p.values++
		c.Version = p.values
	}
	p.mu.Unlock()
	if err := p.peer.Apply(c); err != nil {
		return err
	}
	if store == GraphStore {
		p.mu.Lock()
		p.version = c.Version
		p.mu.Unlock()
	}
	return b.Close()
}

// Applied is the version of a shard that another process keeps, after its last change. Only the writer may call it.
func (s *Shard) Applied() uint64 {
	if p, ok := s.graph.(*peerStore); ok {
		p.versions.mu.Lock()
		defer p.versions.mu.Unlock()
		return p.versions.version
	}
	return 0
}

// VersionOf is the version of a view of another process's shard, 0 for one of this process.
func VersionOf(v *view.View) uint64 {
	if r, ok := v.Graph().(*peerReader); ok {
		return r.version
	}
	return 0
}

// peerReader reads one store of a Part as of a version, 0 for the present state. It stands for a Pebble store, but for
// iterators, which are of its own: see kv.NewIter.
type peerReader struct {
	p       *peerVersions
	store   Store
	version uint64
	// keys, in their order, are those whose values, nil where there is none, have been fetched ahead.
	keys, values [][]byte
}

var (
	_ pebble.Reader = (*peerReader)(nil)
	_ kv.Iterable   = (*peerReader)(nil)
)

// Get implements pebble.Reader.
func (r *peerReader) Get(key []byte) ([]byte, io.Closer, error) {
	if at, ok := slices.BinarySearchFunc(r.keys, key, bytes.Compare); ok {
		if r.values[at] == nil {
			return nil, nil, pebble.ErrNotFound
		}
		return r.values[at], io.NopCloser(nil), nil
	}
	v, ok, err := r.p.peer.Get(r.store, r.version, key)
	if err == nil && !ok {
		err = pebble.ErrNotFound
	}
	return v, io.NopCloser(nil), err
}

// prefetchBytes is how much of keys is asked for at once.
const prefetchBytes = 1 << 20

// Remote reports whether another process keeps the shard of a view.
func Remote(v *view.View) bool {
	_, ok := v.Graph().(*peerReader)
	return ok
}

// Prefetch fetches what Lookup will be asked for, in few requests, if another process keeps the shard: keys, in their order, are made
// by EntryKey. It is known until the next call; the view must be a writer's. What is there must not change until then.
func Prefetch(v *view.View, entries [][]byte) error {
	r, ok := v.Graph().(*peerReader)
	if !ok {
		return nil
	}
	r.keys, r.values = nil, nil
	values := make([][]byte, 0, len(entries))
	for rest := entries; len(rest) > 0; {
		n, size := 0, 0
		for ; n < len(rest) && size < prefetchBytes; n++ {
			size += len(rest[n])
		}
		some, err := r.p.peer.GetAll(r.store, r.version, rest[:n])
		if err != nil {
			return kv.Fault("look up in an index", err)
		}
		values, rest = append(values, some...), rest[n:]
	}
	r.keys, r.values = entries, values
	return nil
}

// errElsewhere says what cannot be done with a shard of another process.
var errElsewhere = errors.New("storage: the shard is kept by another process")

// NewIter implements pebble.Reader. It always fails: see Iterate.
func (r *peerReader) NewIter(*pebble.IterOptions) (*pebble.Iterator, error) { return nil, errElsewhere }

// NewIterWithContext implements pebble.Reader. It always fails: see Iterate.
func (r *peerReader) NewIterWithContext(context.Context, *pebble.IterOptions) (*pebble.Iterator, error) {
	return nil, errElsewhere
}

// Close implements pebble.Reader.
func (r *peerReader) Close() error {
	if r.version != 0 {
		r.p.release(r.version)
	}
	return nil
}

// Iterate implements kv.Iterable.
func (r *peerReader) Iterate(o *pebble.IterOptions) kv.Iterator {
	it := &peerIterator{r: r}
	if o != nil {
		it.lower, it.upper = o.LowerBound, o.UpperBound
	}
	return it
}

// The sizes of what a peerIterator asks for: from a seek on twice as much each time.
const (
	firstWalk, largestWalk = 4 << 10, 1 << 20
)

// peerIterator walks over the records of a Part and holds one run of them at a time.
type peerIterator struct {
	r            *peerReader
	lower, upper []byte
	run          *Records // nil before the first seek
	from         []byte   // the run has all keys from here on
	at           int
	down         bool // the run goes downwards
	want         int
	err          error
}

func (i *peerIterator) load(from []byte, down bool) bool {
	w := &Walk{Store: i.r.store, Version: i.r.version, Lower: i.lower, Upper: i.upper, From: from, Down: down, Bytes: i.want}
	i.run, i.err = i.r.p.peer.Walk(w)
	i.at, i.down, i.from = 0, down, bytes.Clone(from)
	if i.err != nil {
		i.run = nil
		return false
	}
	i.want = min(2*i.want, largestWalk)
	return len(i.run.Keys) > 0
}

// Valid implements kv.Iterator.
func (i *peerIterator) Valid() bool { return i.run != nil && i.at < len(i.run.Keys) }

// First implements kv.Iterator.
func (i *peerIterator) First() bool { return i.SeekGE(i.lower) }

// SeekGE implements kv.Iterator.
func (i *peerIterator) SeekGE(key []byte) bool {
	if i.run != nil && i.err == nil && !i.down && bytes.Compare(key, i.from) >= 0 {
		n := len(i.run.Keys)
		if i.run.Done || n > 0 && bytes.Compare(key, i.run.Keys[n-1]) <= 0 {
			lo, hi := 0, n
			if i.at < n && bytes.Compare(i.run.Keys[i.at], key) <= 0 {
				lo = i.at
			}
			for lo < hi {
				if m := (lo + hi) / 2; bytes.Compare(i.run.Keys[m], key) < 0 {
					lo = m + 1
				} else {
					hi = m
				}
			}
			i.at = lo
			return lo < n
		}
	}
	i.want = firstWalk
	return i.load(key, false)
}

// SeekLT implements kv.Iterator.
func (i *peerIterator) SeekLT(key []byte) bool {
	i.want = firstWalk
	return i.load(key, true)
}

// Next implements kv.Iterator.
func (i *peerIterator) Next() bool {
	if !i.Valid() {
		return false
	}
	if i.down {
		return i.SeekGE(append(bytes.Clone(i.Key()), 0))
	}
	if i.at++; i.at < len(i.run.Keys) {
		return true
	}
	if i.run.Done {
		return false
	}
	return i.load(append(bytes.Clone(i.run.Keys[i.at-1]), 0), false)
}

// Prev implements kv.Iterator.
func (i *peerIterator) Prev() bool {
	if !i.Valid() {
		return false
	}
	if !i.down {
		return i.SeekLT(i.Key())
	}
	if i.at++; i.at < len(i.run.Keys) {
		return true
	}
	if i.run.Done {
		return false
	}
	return i.load(i.run.Keys[i.at-1], true)
}

// Key implements kv.Iterator.
func (i *peerIterator) Key() []byte { return i.run.Keys[i.at] }

// ValueAndErr implements kv.Iterator.
func (i *peerIterator) ValueAndErr() ([]byte, error) { return i.run.Values[i.at], nil }

// Error implements kv.Iterator.
func (i *peerIterator) Error() error { return i.err }

// Close implements kv.Iterator.
func (i *peerIterator) Close() error { return i.err }
