package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Part is a shard that this process keeps for a writer in another one, which knows it as a Peer. The writer numbers the
// states of the part: versions, which readers of any process may ask for as long as the writer holds them. The number is
// in the same batch as the changes that lead to it, with the epoch of the writer: the part accepts the last attached
// writer alone.
type Part struct {
	s *Shard
	// changed, if not nil, is called with what a batch changes, before its version can be read.
	changed func(version uint64, c *Touched)

	mu             sync.Mutex
	epoch, version uint64
	values         kv.ValuesNumber
	views          map[uint64]*partView
	orphans        []orphan      // in the order of their times
	moved          chan struct{} // closed by the next version; nil if nothing waits for it
}

// orphan is a held version of a writer that another one has followed.
type orphan struct {
	version uint64
	until   time.Time
}

// orphanAge is how long readers keep the states of a writer that another one has followed.
const orphanAge = 5 * time.Minute

// Touched names what a batch may have changed: edge lists, and properties of runs of vertices.
type Touched struct {
	Lists   []TouchedList
	Columns []TouchedColumn
}

// TouchedList is an edge list.
type TouchedList struct {
	Type  graph.TypeID
	Dir   graph.Direction
	Local uint64
}

// TouchedColumn is a property of the vertices First to Last; property 0 is the label set.
type TouchedColumn struct {
	Prop        graph.PropID
	First, Last uint64
}

// partView is a state that is held.
type partView struct {
	*view.View
	epoch uint64 // of the writer that made it
	next  uint64
	refs  int // the writer's and the readers'
}

// OpenPart opens the shard in dir, making it if create is set.
func OpenPart(o *Options, sh *Shared, dir string, no, shards int, create bool, changed func(version uint64, c *Touched)) (*Part, error) {
	s, err := openShard(o, sh, dir, no, shards, create)
	if err != nil {
		return nil, err
	}
	p := &Part{s: s, changed: changed, views: map[uint64]*partView{}}
	b, ok, err := kv.Get(s.graph.Live(), keys.MetaKey(keys.MetaVersion), nil)
	if err == nil && o.Replica != nil && o.Replica.New {
		err = p.StartAt(context.Background(), 0) // it comes from elsewhere, such as a backup
	}
	if err == nil && ok {
		if len(b) != 16 {
			err = kv.Corrupt("version", keys.MetaKey(keys.MetaVersion), codec.ErrRecord)
		} else {
			p.epoch, p.version = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
		}
	}
	if l := s.disk.values.Logged; err == nil && l != nil {
		p.values = l.Values
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.startReclaiming()
	return p, nil
}

// Writable says why the part cannot be written to, or nil.
func (p *Part) Writable() error { return p.s.Writable() }

// Stats returns the part's shape.
func (p *Part) Stats() Stats { return p.s.Stats() }

// Unused reports whether nothing was ever written to the part.
func (p *Part) Unused() (bool, error) {
	for st, lower := range map[kv.Store][]byte{p.s.graph: {byte(keys.Meta) + 1}, p.s.values: kv.AppliedEnd} {
		if some, err := kv.Any(st.Live(), lower, nil); err != nil || some {
			return false, err
		}
	}
	return true, nil
}

// Epoch is that of the writer that has attached itself last, 0 if none has.
func (p *Part) Epoch() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch
}

// Attach makes the writer with an epoch the only one from now on, and returns the part's version. It refuses a writer
// of an earlier epoch with ErrFenced. The states that were held for the writer before, and its last one, stay for their readers
// for orphanAge. entry is the index of the log entry that asks for it, 0 without replicas; an entry that the part has changes nothing.
func (p *Part) Attach(entry, epoch uint64) (version uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s.disk.graph.Has(entry) {
		return p.version, nil
	}
	switch {
	case epoch < p.epoch:
		return 0, ErrFenced
	case epoch == p.epoch:
		return p.version, nil
	}
	p.releaseOrphans()
	if p.epoch != 0 {
		if _, err := p.hold(); err != nil {
			return 0, err
		}
	}
	if p.s.opts.Replica != nil {
		if err := p.s.values.Flush(context.Background()); err != nil {
			return 0, err
		}
	}
	err = p.s.put(func(b *pebble.Batch) error { return setVersion(b, epoch, p.version+1) })
	if err != nil {
		return 0, err
	}
	until := p.s.opts.Clock().Add(orphanAge)
	for version, v := range p.views {
		if v.epoch == p.epoch {
			p.orphans = append(p.orphans, orphan{version, until})
		}
	}
	p.move(epoch, p.version+1)
	return p.version, nil
}

// move gives the part another version. The caller holds p.mu.
func (p *Part) move(epoch, version uint64) {
	p.epoch, p.version = epoch, version
	if p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
}

// Await waits until the part has the state with a version of a writer, or a later one. It fails with ErrAhead if ctx ends before.
func (p *Part) Await(ctx context.Context, epoch, version uint64) error {
	for {
		p.mu.Lock()
		if p.epoch > epoch || p.epoch == epoch && p.version >= version {
			p.mu.Unlock()
			return nil
		}
		if p.moved == nil {
			p.moved = make(chan struct{})
		}
		moved := p.moved
		p.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ErrAhead
		}
	}
}

// Attached returns the version of the part if a writer with an epoch is the last that has attached itself, or ErrFenced.
func (p *Part) Attached(epoch uint64) (version uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if epoch != p.epoch {
		return 0, ErrFenced
	}
	return p.version, nil
}

// releaseOrphans releases orphans whose time has passed. The caller holds p.mu.
func (p *Part) releaseOrphans() {
	if len(p.orphans) == 0 {
		return
	}
	now := p.s.opts.Clock()
	for len(p.orphans) > 0 && !now.Before(p.orphans[0].until) {
		p.letGo(p.orphans[0].version)
		p.orphans = p.orphans[1:]
	}
}

func setVersion(b *pebble.Batch, epoch, version uint64) error {
	n := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, epoch), version)
	return b.Set(keys.MetaKey(keys.MetaVersion), n, nil)
}

// ErrFenced says that another writer has attached itself.
var ErrFenced = errors.New("storage: another process writes to the shard now")

// ErrGone says that a version cannot be read any more.
var ErrGone = errors.New("storage: the state that was asked for is gone")

// ErrAhead says that a version cannot be read yet: the part has not seen the batches, or the writer, that lead to it.
var ErrAhead = errors.New("storage: requested version not yet applied")

// ErrOrder says that a batch does not follow the one before it.
var ErrOrder = errors.New("storage: a batch does not follow the version of the shard")

// Apply makes a batch of the writer durable, in a replica by its log entry, and gives the part its version. It skips a batch, or an
// entry, that the part has. After an error other than ErrFenced and ErrOrder the part takes no more batches.
func (p *Part) Apply(entry, epoch uint64, c *Changed) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := p.s.disk.graph
	if c.Store == ValuesStore {
		in = p.s.disk.values
	}
	if in.Has(entry) {
		return nil
	}
	if epoch != p.epoch {
		return ErrFenced
	}
	p.releaseOrphans()
	for _, v := range c.Gone {
		if v != p.version {
			p.letGo(v)
		}
	}
	if c.Store == GraphStore && c.Version == p.version || c.Store == ValuesStore && p.values.Has(epoch, c.Version) {
		return nil
	}
	if c.Store == GraphStore && c.Version != p.version+1 {
		return fmt.Errorf("%w: version %d, after version %d", ErrOrder, c.Version, p.version)
	}
	switch {
	case c.Store == ValuesStore: // the version stays
	case c.Keep:
		if _, err := p.hold(); err != nil {
			return err
		}
	default:
		p.letGo(p.version)
	}
	b := in.NewBatch()
	if err := b.SetRepr(append([]byte(nil), c.Batch...)); err != nil {
		return err
	}
	var touched Touched
	if c.Store == GraphStore {
		if !c.Same && p.changed != nil {
			if err := touched.read(b); err != nil {
				return errors.Join(err, b.Close())
			}
		}
		if err := setVersion(b, epoch, c.Version); err != nil {
			return errors.Join(err, b.Close())
		}
	} else {
		p.values = kv.ValuesNumber{Epoch: epoch, Number: c.Version}
		in.Number(p.values)
	}
	wait, err := in.Apply(b, true, false)
	if err == nil {
		err = wait()
	}
	if err != nil {
		return err
	}
	if c.Store == ValuesStore {
		p.s.reclaimer.Kick()
		return nil
	}
	if p.changed != nil {
		p.changed(c.Version, &touched)
	}
	p.move(epoch, c.Version)
	return nil
}

// read lists the changes of a batch.
func (c *Touched) read(b *pebble.Batch) error {
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		if len(key) == 0 {
			continue
		}
		switch space := keys.Space(key[0]); {
		case (space == keys.Adjacency || space == keys.DeltaEdge) && len(key) >= keys.ListSize:
			t, dir, local := keys.List(key)
			if n := len(c.Lists); n == 0 || c.Lists[n-1] != (TouchedList{t, dir, local}) {
				c.Lists = append(c.Lists, TouchedList{t, dir, local})
			}
		case space == keys.DeltaGroup && len(key) == keys.GroupSize && kind == pebble.InternalKeyKindSet:
			t, dir, first := keys.List(key)
			var g codec.Group
			if err := g.Parse(value); err != nil {
				return kv.Corrupt("delta edges", key, err)
			}
			for i := range g.N {
				c.Lists = append(c.Lists, TouchedList{t, dir, first + g.Vertex(i)})
			}
		case space == keys.Column && len(key) == keys.ChunkSize:
			p, last := keys.Chunk(key)
			if n, _ := binary.Uvarint(value); n > 0 {
				c.Columns = append(c.Columns, TouchedColumn{p, last - min(last, n-1), last})
			}
		case space == keys.DeltaProp && len(key) == keys.DeltaVSize:
			local := keys.Local(key[1:])
			err := codec.EachProp(value, func(p graph.PropID, _ []byte) error {
				c.Columns = append(c.Columns, TouchedColumn{p, local, local})
				return nil
			})
			if err != nil {
				return kv.Corrupt("delta properties", key, err)
			}
		}
	}
}

// hold returns the present state. The caller holds p.mu.
func (p *Part) hold() (*partView, error) {
	if v := p.views[p.version]; v != nil {
		return v, nil
	}
	v, err := p.s.Snapshot()
	if err != nil {
		return nil, err
	}
	next, err := kv.ReadNumber(v.Graph(), keys.MetaKey(keys.MetaNextVertex))
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	p.views[p.version] = &partView{View: v, epoch: p.epoch, next: next, refs: 1}
	return p.views[p.version], nil
}

// letGo releases the writer's hold of a version. The caller holds p.mu.
func (p *Part) letGo(version uint64) {
	if v := p.views[version]; v != nil {
		delete(p.views, version)
		p.unref(v)
	}
}

func (p *Part) unref(v *partView) {
	if v.refs--; v.refs > 0 {
		return
	}
	if err := v.Close(); err != nil {
		p.s.opts.Logger.Error("close a snapshot", slog.Int("shard", p.s.no), slog.Any("error", err))
	}
}

// View returns the state with a version of a writer and the number of its local ids; done releases it. It fails with ErrGone
// or ErrAhead if the state is not held any more, or not there yet.
func (p *Part) View(epoch, version uint64) (v *view.View, next uint64, done func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseOrphans()
	pv := p.views[version]
	switch {
	case epoch > p.epoch || epoch == p.epoch && version > p.version:
		return nil, 0, nil, ErrAhead
	case epoch == p.epoch && version == p.version && pv == nil:
		if pv, err = p.hold(); err != nil {
			return nil, 0, nil, err
		}
	case pv == nil || pv.epoch != epoch:
		return nil, 0, nil, ErrGone
	}
	pv.refs++
	return pv.View, pv.next, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unref(pv)
	}, nil
}

// reader returns a store as of a version; with version 0 as it is now, with the versions up to least.
func (p *Part) reader(epoch uint64, store Store, version, least uint64) (r pebble.Reader, done func(), err error) {
	if version == 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case epoch < p.epoch:
			return nil, nil, ErrFenced
		case epoch > p.epoch || least > p.version:
			return nil, nil, ErrAhead
		}
		if store == ValuesStore {
			return p.s.values.Live(), func() {}, nil
		}
		return p.s.graph.Live(), func() {}, nil
	}
	v, _, done, err := p.View(epoch, version)
	if err != nil {
		return nil, nil, err
	}
	if store == ValuesStore {
		return v.Values(), done, nil
	}
	return v.Graph(), done, nil
}

// Get returns the value of a key; see Peer. The present state, version 0, must have at least version least.
func (p *Part) Get(epoch uint64, store Store, version, least uint64, key []byte) (value []byte, ok bool, err error) {
	r, done, err := p.reader(epoch, store, version, least)
	if err != nil {
		return nil, false, err
	}
	defer done()
	return kv.Get(r, key, nil)
}

// GetAll returns the values of keys, nil for missing ones; see Get.
func (p *Part) GetAll(epoch uint64, store Store, version, least uint64, keys [][]byte) ([][]byte, error) {
	r, done, err := p.reader(epoch, store, version, least)
	if err != nil {
		return nil, err
	}
	defer done()
	values := make([][]byte, len(keys))
	for i, key := range keys {
		v, ok, err := kv.Get(r, key, nil)
		if err != nil {
			return nil, err
		}
		if ok {
			values[i] = append([]byte{}, v...)
		}
	}
	return values, nil
}

// Walk returns records, at least one if there is one; see Get.
func (p *Part) Walk(epoch, least uint64, w *Walk) (out *Records, err error) {
	r, done, err := p.reader(epoch, w.Store, w.Version, least)
	if err != nil {
		return nil, err
	}
	defer done()
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: w.Lower, UpperBound: w.Upper})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	out = &Records{}
	seek, step := it.SeekGE, it.Next
	if w.Down {
		seek, step = it.SeekLT, it.Prev
	}
	size := 0
	for ok := seek(w.From); ok; ok = step() {
		if size >= w.Bytes && len(out.Keys) > 0 {
			return out, nil
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		out.Keys, out.Values = append(out.Keys, append([]byte(nil), it.Key()...)), append(out.Values, append([]byte(nil), v...))
		size += len(it.Key()) + len(v)
	}
	out.Done = true
	return out, it.Error()
}

// Flush writes the memtables of both stores to tables.
func (p *Part) Flush(ctx context.Context) error { return p.s.Flush(ctx) }

// Checkpoint makes a copy of what the writer with an epoch has written; see Shard.Checkpoint.
func (p *Part) Checkpoint(epoch uint64, dir string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if epoch != p.epoch {
		return ErrFenced
	}
	return p.checkpoint(dir)
}

// checkpoint copies the part. The copy of a store without a write-ahead log has only what was flushed. The caller holds p.mu.
func (p *Part) checkpoint(dir string) error {
	if p.s.opts.Replica != nil {
		if err := p.s.Flush(context.Background()); err != nil {
			return err
		}
	}
	return p.s.Checkpoint(dir)
}

// CheckFiles verifies what is on disk by a copy in a directory that does not exist yet; see CheckFiles.
func (p *Part) CheckFiles(ctx context.Context, dir string, bad func(file string, err error)) (files, bytes uint64, err error) {
	p.mu.Lock()
	err = p.checkpoint(dir)
	p.mu.Unlock()
	if err != nil {
		return 0, 0, err
	}
	if err := p.s.CheckLogs(bad); err != nil {
		return 0, 0, err
	}
	return CheckFiles(ctx, p.s.opts, dir, bad)
}

// Close closes the part. No view may be in use.
func (p *Part) Close() error {
	p.mu.Lock()
	for v := range p.views {
		p.letGo(v)
	}
	p.mu.Unlock()
	return p.s.Close()
}
