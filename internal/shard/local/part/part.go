package part

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
)

// Parts is a directory, see Store, with one shard of each graph, which together are the state of a replica.
type Parts struct {
	datadir.Directory[*Part]
	no     int
	log    *replicated
	damage atomic.Pointer[error] // of a file, nil if none is known

	dropped sync.WaitGroup           // shards that wait for their last readers
	leaving map[string]chan struct{} // those by graph, under Mu; closed when the shard is removed
}

// Part is one shard of a graph in a replica: what it holds, and what is decoded of it.
type Part struct {
	*storage.Part
	m  datadir.Manifest
	no int
	*read.Readers
}

// openParts opens the shards of a replica with a log, whose caches it shares. damaged is called once when a file of the shards fails
// its checks; it must not block.
func openParts(opts storage.Options, no int, log *replicated, l *replica.Log, shared *storage.Shared, damaged func(s *Parts)) (_ *Parts, err error) {
	s := &Parts{no: no, log: log, leaving: map[string]chan struct{}{}}
	opts.Damaged = func(file string, err error) {
		err = fmt.Errorf("file %s is damaged: %w", file, err)
		if s.damage.CompareAndSwap(nil, &err) {
			damaged(s)
		}
	}
	opts.Replica = log.describe(l)
	if err := s.Acquire(opts, shared); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := checkReplica(&s.Options); err != nil {
		return nil, err
	}
	err = s.Each(func(name string, m datadir.Manifest) (err error) {
		if s.ByName[name], err = s.open(name, m, false); err != nil {
			delete(s.ByName, name)
			return fmt.Errorf("open shard %d of graph %s: %w", no, name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := writeReplica(&s.Options); err != nil {
		return nil, err
	}
	s.Options.Replica.New = false
	return s, nil
}

// Damage says which file of the shards has failed its checks, or nil.
func (s *Parts) Damage() error {
	if err := s.damage.Load(); err != nil {
		return *err
	}
	return nil
}

// start starts the replica.
func (s *Parts) start(member uint64, members []uint64) error {
	return s.log.host.Start(uint32(s.no), member, members, partsState{s})
}

// spread turns the graphs of a directory, copied from a single server or a cluster, into parts of graphs of a cluster. id names the state
// that was copied: only shards of one state belong together.
func spread(fs vfs.FS, dir, id string) error {
	names, err := fs.List(fs.PathJoin(dir, "graphs"))
	if err != nil {
		return fmt.Errorf("list graphs: %w", err)
	}
	for _, name := range names {
		at := fs.PathJoin(dir, "graphs", name)
		m, err := datadir.ReadManifest(fs, at)
		if err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(id + "/" + name))
		m.ID = binary.BigEndian.Uint64(sum[:]) | 1
		if err := datadir.WriteManifest(fs, at, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Parts) open(name string, m datadir.Manifest, create bool) (*Part, error) {
	p := &Part{m: m, no: s.no, Readers: read.NewReaders(name, &s.Options)}
	p.Topology = read.NewTopology(s.Shared.Topology(), m.Shards)
	changed := func(version uint64, c *storage.Touched) { p.Topology.NoteBatch(version, p.no, c) }
	var err error
	p.Part, err = storage.OpenPart(&s.Options, s.Shared, storage.Dir(s.Dir(name), s.no), s.no, m.Shards, create, changed)
	if err != nil {
		p.Topology.Close()
		return nil, err
	}
	return p, nil
}

// No is the number of the shards.
func (s *Parts) No() int { return s.no }

// Part returns a graph's shard.
func (s *Parts) Part(name string) (*Part, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	p := s.ByName[name]
	if p == nil || s.Closed {
		return nil, fail.NotFound("this process has no shard of graph %q", name)
	}
	return p, nil
}

// Epoch is the greatest epoch of a writer that any of the shards has been attached with.
func (s *Parts) Epoch() uint64 {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.epoch()
}

// epoch is Epoch while s.Mu is held.
func (s *Parts) epoch() uint64 {
	epoch := uint64(0)
	for _, p := range s.ByName {
		epoch = max(epoch, p.Epoch())
	}
	return epoch
}

// Attach makes a writer, whose epoch is at least Epoch, the only one of a graph's shard; see storage.Part. If create is set, it creates a
// missing shard, and replaces one of another graph that was never written to.
func (s *Parts) Attach(ctx context.Context, of storage.PartOf, no int, epoch uint64, create bool) (version uint64, err error) {
	if no != s.no {
		return 0, fail.Invalid("this process has the shards with number %d, not %d: the addresses are in the wrong order", s.no, no)
	}
	if err := s.change(ctx, &command{kind: attachCommand, graph: of, epoch: epoch, create: create}); err != nil {
		return 0, err
	}
	p, err := s.Part(of.Name)
	if err != nil {
		return 0, err
	}
	return p.Attached(epoch)
}

// attach is Attach by an entry of the log.
func (s *Parts) attach(entry uint64, of storage.PartOf, epoch uint64, create bool) (version uint64, err error) {
	if !datadir.ValidName.MatchString(of.Name) || of.ID == 0 || s.no >= of.Shards || of.Shards > storage.MaxShards {
		return 0, fail.Invalid("invalid shard %d of %d of graph %q", s.no, of.Shards, of.Name)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Closed {
		return 0, fail.Closed()
	}
	switch last := s.epoch(); {
	case epoch < last:
		return 0, storage.ErrFenced
	case epoch > last:
		if err := s.settle(); err != nil {
			return 0, err
		}
	}
	p := s.ByName[of.Name]
	if p != nil && p.m.PartOf(of.Name) != of {
		unused, err := p.Unused()
		if err != nil {
			return 0, err
		}
		if !create || !unused {
			return 0, fail.Exists("this process has a shard of another graph %q", of.Name)
		}
		if err := s.remove(of.Name, p); err != nil {
			return 0, err
		}
		p = nil
	}
	if p == nil {
		if !create {
			return 0, fail.NotFound("this process has no shard of graph %q", of.Name)
		}
		if p, err = s.create(entry, of); err != nil {
			return 0, fmt.Errorf("make a shard of graph %s: %w", of.Name, err)
		}
	}
	return p.Attach(entry, epoch)
}

func (s *Parts) create(entry uint64, of storage.PartOf) (*Part, error) {
	fs, dir := s.Options.FS, s.Dir(of.Name)
	if left := s.leaving[of.Name]; left != nil {
		<-left
	}
	if err := errors.Join(fs.RemoveAll(dir), storage.MakeDir(fs, dir)); err != nil {
		return nil, err
	}
	m := datadir.Manifest{Format: storage.FormatVersion, Shards: of.Shards, ID: of.ID}
	p, err := s.open(of.Name, m, true)
	if err != nil {
		return nil, err
	}
	if err := p.StartAt(context.Background(), entry-1); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if err := errors.Join(datadir.WriteManifest(fs, dir, m), storage.SyncDir(fs, fs.PathJoin(s.Options.Dir, "graphs"))); err != nil {
		return nil, errors.Join(err, p.close())
	}
	s.ByName[of.Name] = p
	return p, nil
}

// Drop drops a graph's shard, if it exists.
func (s *Parts) Drop(ctx context.Context, of storage.PartOf) error {
	return s.change(ctx, &command{kind: dropCommand, graph: of})
}

func (s *Parts) drop(of storage.PartOf) error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	p := s.ByName[of.Name]
	if p == nil || p.m.PartOf(of.Name) != of {
		return nil
	}
	return s.remove(of.Name, p)
}

// Discard marks a graph as being dropped, if it exists.
func (s *Parts) Discard(ctx context.Context, of storage.PartOf) error {
	return s.change(ctx, &command{kind: discardCommand, graph: of})
}

func (s *Parts) discard(of storage.PartOf) error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	p := s.ByName[of.Name]
	if p == nil || p.m.PartOf(of.Name) != of || p.m.Dropped {
		return nil
	}
	m := p.m
	m.Dropped = true
	if err := datadir.WriteManifest(s.Options.FS, s.Dir(of.Name), m); err != nil {
		return fmt.Errorf("drop graph %s: %w", of.Name, err)
	}
	p.m.Dropped = true
	return nil
}

// Held returns the graphs, in the order of their names.
func (s *Parts) Held() []datadir.Held {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	var out []datadir.Held
	for _, name := range slices.Sorted(maps.Keys(s.ByName)) {
		p := s.ByName[name]
		out = append(out, datadir.Held{PartOf: p.m.PartOf(name), Dropped: p.m.Dropped})
	}
	return out
}

// remove removes a shard without waiting for its readers: the files go after the last one.
func (s *Parts) remove(name string, p *Part) error {
	fs, dir := s.Options.FS, s.Dir(name)
	if err := errors.Join(fs.Remove(fs.PathJoin(dir, datadir.ManifestName)), storage.SyncDir(fs, dir)); err != nil {
		return fmt.Errorf("drop a shard of graph %s: %w", name, err)
	}
	delete(s.ByName, name)
	left := make(chan struct{})
	s.leaving[name] = left
	s.dropped.Go(func() {
		defer close(left)
		if err := errors.Join(p.close(), fs.RemoveAll(dir)); err != nil {
			s.Options.Logger.Error("remove a shard", slog.String("graph", name), slog.Any("error", err))
		}
	})
	return nil
}

// Apply makes a change of a graph's shard durable; see storage.Part.
func (s *Parts) Apply(ctx context.Context, name string, epoch uint64, c *storage.Changed) error {
	return s.change(ctx, &command{kind: applyCommand, graph: storage.PartOf{Name: name}, epoch: epoch, change: *c})
}

// Writable says why one of the shards cannot be written to, or nil.
func (s *Parts) Writable() error {
	if err := errors.Join(s.log.host.Err(), s.log.host.Writable()); err != nil {
		return err
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, p := range s.ByName {
		if err := p.Writable(); err != nil {
			return err
		}
	}
	return nil
}

// Stats returns the shapes of the shards, by the graphs' names.
func (s *Parts) Stats() map[string][]storage.Stats {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	out := map[string][]storage.Stats{}
	for name, p := range s.ByName {
		st := p.Stats()
		st.Topology = p.Topology.Counts(p.no)
		out[name] = []storage.Stats{st}
	}
	return out
}

// Close closes all shards, whose replica must no longer run, and frees the directory.
func (s *Parts) Close() error {
	err := s.Release((*Part).close)
	s.dropped.Wait()
	return err
}

// close waits for the part's readers, and closes it.
func (p *Part) close() error {
	p.Shut()
	<-p.Idle()
	p.Topology.Close()
	return p.Part.Close()
}

// behind is how long a reader waits for a version that the shard has not applied yet.
const behind = 50 * time.Millisecond

// Await waits for a short time until the shard has applied a version; see storage.Part.
func (p *Part) Await(ctx context.Context, epoch, version uint64) error {
	ctx, cancel := context.WithTimeout(ctx, behind)
	defer cancel()
	return p.Part.Await(ctx, epoch, version)
}

// Read returns the shard as of a version of a writer's epoch. Types must be named in all requests, and indexes be asked by
// Lookup and Range. The caller ends it by Rollback. A replica waits briefly for a version that it has not applied yet.
func (p *Part) Read(ctx context.Context, epoch, version uint64) (*read.Reader, error) {
	if err := p.Enter(); err != nil {
		return nil, err
	}
	v, next, done, err := p.View(epoch, version)
	if errors.Is(err, storage.ErrAhead) {
		if err = p.Await(ctx, epoch, version); err == nil {
			v, next, done, err = p.View(epoch, version)
		}
	}
	if err != nil {
		p.Leave()
		return nil, err
	}
	again := func() (*read.Reader, func(), error) {
		r, err := p.Read(context.Background(), epoch, version)
		if err != nil {
			return nil, nil, err
		}
		return r, r.Rollback, nil
	}
	return read.NewReader(p.Readers, read.PartOf(p.m.Shards, p.no, version, v, next), again, done), nil
}

// Get is storage.Part.Get, during which the part stays open.
func (p *Part) Get(epoch uint64, store storage.Store, version, least uint64, key []byte) (value []byte, ok bool, err error) {
	if err := p.Enter(); err != nil {
		return nil, false, err
	}
	defer p.Leave()
	return p.Part.Get(epoch, store, version, least, key)
}

// GetAll is storage.Part.GetAll, during which the part stays open.
func (p *Part) GetAll(epoch uint64, store storage.Store, version, least uint64, keys [][]byte) ([][]byte, error) {
	if err := p.Enter(); err != nil {
		return nil, err
	}
	defer p.Leave()
	return p.Part.GetAll(epoch, store, version, least, keys)
}

// Walk is storage.Part.Walk, during which the part stays open.
func (p *Part) Walk(epoch, least uint64, w *storage.Walk) (*storage.Records, error) {
	if err := p.Enter(); err != nil {
		return nil, err
	}
	defer p.Leave()
	return p.Part.Walk(epoch, least, w)
}
