package part

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// SeedCopy is the state of another replica: a copy of its files, which lasts until Close.
type SeedCopy interface {
	// Snapshot names the state.
	Snapshot() replica.Snapshot
	Files() ([]graph.CheckpointFile, error)
	Open(path string) (io.ReadCloser, error)
	Close() error
}

// Seed copies all shards for another replica. It fails if the log entry with an index was not applied here yet.
func (s *Parts) Seed(ctx context.Context, c *datadir.Checkpoint, index uint64) (replica.Snapshot, error) {
	// Most of the data is written before the replica waits for the rest.
	for _, p := range s.all() {
		if p.Enter() != nil {
			continue // it is being dropped
		}
		err := p.Flush(ctx)
		p.Leave()
		if err != nil {
			return replica.Snapshot{}, err
		}
	}
	return s.log.host.Snapshot(ctx, uint32(s.no), index, func() error {
		fs := s.Options.FS
		if err := fs.MkdirAll(fs.PathJoin(c.Dir(), "graphs"), 0o755); err != nil {
			return err
		}
		for _, p := range s.all() {
			dir := c.GraphDir(p.Name)
			if err := fs.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := p.Checkpoint(p.Epoch(), storage.Dir(dir, s.no)); err != nil {
				return fmt.Errorf("copy graph %s: %w", p.Name, err)
			}
			if err := datadir.WriteManifest(fs, dir, p.m); err != nil {
				return err
			}
			c.Add(p.Name)
		}
		return nil
	})
}

// seedings are the replicas of a process that are being seeded.
type seedings struct {
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	shards  []seeding
}

// seeding is the progress of seeding a replica.
type seeding struct {
	ctx         context.Context // ends when the process releases the replica
	end         context.CancelFunc
	running     sync.WaitGroup
	on          atomic.Bool
	size, there atomic.Uint64 // bytes of the seed
	done        atomic.Uint64 // seeds that were installed
}

func (s *seedings) init(layout shard.Layout) {
	s.ctx, s.end = context.WithCancel(context.Background())
	s.shards = make([]seeding, layout.Shards)
}

// begin lets the replica of a shard be seeded.
func (s *seedings) begin(no int) {
	sh := &s.shards[no]
	sh.ctx, sh.end = context.WithCancel(s.ctx)
}

// run runs f beside the replica of a shard.
func (s *seedings) run(no int, f func()) {
	s.running.Add(1)
	s.shards[no].running.Go(func() {
		defer s.running.Done()
		f()
	})
}

// behind seeds a replica, unless it is being seeded; see replica.GroupOptions.
func (r *Replicas) behind(group uint32, leader, index uint64) {
	s := &r.seeds.shards[group]
	if !s.on.CompareAndSwap(false, true) {
		return
	}
	r.seeds.run(int(group), func() {
		defer s.on.Store(false)
		log := r.opts.Logger.With(slog.Uint64("shard", uint64(group)))
		log.Info("replica too far behind the log: fetching the state of another replica", slog.Uint64("entry", index))
		err := r.seed(s.ctx, int(group), r.layout.Process(leader), index, r.log.host.Install)
		switch {
		case err == nil:
			s.done.Add(1)
			log.Info("replica caught up from a seed", slog.Uint64("bytes", s.size.Load()))
		case s.ctx.Err() != nil:
		case errors.Is(err, replica.ErrNotBehind):
			if err := r.opts.FS.RemoveAll(replica.SeedDir(r.dir(int(group)))); err != nil {
				log.Warn("cannot remove a seed that is not needed", slog.Any("error", err))
			}
		default:
			log.Warn("cannot seed the replica yet", slog.Any("error", err))
		}
	})
}

// dropSeed removes the remains of an interrupted seed, once the replica has caught up without it.
func (r *Replicas) dropSeed(no int) {
	dir, s := replica.SeedDir(r.dir(no)), &r.seeds.shards[no]
	for pause := time.NewTimer(0); ; pause.Reset(time.Second) {
		select {
		case <-pause.C:
		case <-s.ctx.Done():
			return
		}
		if _, err := r.opts.FS.Stat(dir); fail.IsNotExist(err) {
			return
		}
		if r.log.host.Read(s.ctx, uint32(no)) != nil || !s.on.CompareAndSwap(false, true) {
			continue
		}
		if err := r.opts.FS.RemoveAll(dir); err != nil {
			r.opts.Logger.Warn("cannot remove a seed that is not needed", slog.Int("shard", no), slog.Any("error", err))
		}
		s.on.Store(false)
		return
	}
}

// seed replaces a replica's state by that of another one, of the leader last, which is the busiest. install is Host.Install, or like it.
func (r *Replicas) seed(
	ctx context.Context, no, leader int, index uint64,
	install func(ctx context.Context, group uint32, at replica.Snapshot, install func(l *replica.Log) (replica.State, error)) error,
) error {
	var errs []error
	var sources []int
	if st, ok := r.log.host.GroupStatus(uint32(no)); ok {
		for _, id := range st.Members.Voters() {
			if p := r.layout.Process(id); p != r.process && p != leader {
				sources = append(sources, p)
			}
		}
	}
	if leader != r.process {
		sources = append(sources, leader)
	}
	for _, from := range sources {
		at, err := r.fetch(ctx, from, no, index)
		if err != nil {
			errs = append(errs, fmt.Errorf("process %d: %w", from, err))
			continue
		}
		return install(ctx, uint32(no), at, func(l *replica.Log) (replica.State, error) {
			fs, dir := r.opts.FS, r.dir(no)
			if err := replica.PrepareSeed(fs, dir, at); err != nil {
				return nil, err
			}
			old := r.Parts(no)
			if err := old.Close(); err != nil && old.Damage() == nil {
				return nil, err
			}
			p, err := r.open(no, l)
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			r.parts[no] = p
			r.mu.Unlock()
			return partsState{p}, nil
		})
	}
	return errors.Join(errs...)
}

// fetch puts the state of another process's replica together in the seed's directory. It reuses the files of an
// earlier attempt that failed.
func (r *Replicas) fetch(ctx context.Context, from, no int, index uint64) (at replica.Snapshot, err error) {
	c, err := r.network.Seed(ctx, from, no, index)
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	files, err := c.Files()
	if err != nil {
		return at, err
	}
	fs, dir := r.opts.FS, replica.SeedDir(r.dir(no))
	wanted := map[string]bool{}
	s := &r.seeds.shards[no]
	size := uint64(0)
	for i := range files {
		f := &files[i]
		if f.Size < 0 || !filepath.IsLocal(f.Path) || !strings.HasPrefix(f.Path, "graphs/") {
			return at, fmt.Errorf("invalid file %q in a seed", f.Path)
		}
		wanted[f.Path] = true
		size += uint64(f.Size)
	}
	s.there.Store(0)
	s.size.Store(size)
	if err := errors.Join(storage.MakeDir(fs, fs.PathJoin(dir, "graphs")), keepOnly(fs, dir, "", wanted)); err != nil {
		return at, err
	}
	for i := range files {
		if err := fetchFile(ctx, fs, dir, c, &files[i]); err != nil {
			return at, fmt.Errorf("file %s: %w", files[i].Path, err)
		}
		s.there.Add(uint64(files[i].Size))
	}
	o := r.opts
	o.Dir, o.Replica = dir, &storage.Replica{ID: r.log.id()}
	return c.Snapshot(), errors.Join(syncDirs(fs, dir), writeReplica(&o))
}

// keepOnly removes the files below rel that are not wanted.
func keepOnly(fs vfs.FS, dir, rel string, wanted map[string]bool) error {
	return eachFile(fs, dir, rel, func(path string) error {
		if wanted[path] {
			return nil
		}
		return fs.Remove(fs.PathJoin(dir, path))
	}, nil)
}

// syncDirs makes the names of files durable.
func syncDirs(fs vfs.FS, dir string) error {
	return eachFile(fs, dir, "", nil, func(path string) error { return storage.SyncDir(fs, fs.PathJoin(dir, path)) })
}

// eachFile calls file with each file below rel and after it dir with each directory; both may be nil.
func eachFile(fs vfs.FS, root, rel string, file, dir func(path string) error) error {
	names, err := fs.List(fs.PathJoin(root, rel))
	if err != nil {
		return err
	}
	for _, name := range names {
		path := name
		if rel != "" {
			path = rel + "/" + name
		}
		info, err := fs.Stat(fs.PathJoin(root, path))
		switch {
		case err != nil:
		case info.IsDir():
			err = eachFile(fs, root, path, file, dir)
		case file != nil:
			err = file(path)
		}
		if err != nil {
			return err
		}
	}
	if dir == nil {
		return nil
	}
	return dir(rel)
}

// fetchFile reads a file of a copy, unless it is present.
func fetchFile(ctx context.Context, fs vfs.FS, dir string, c SeedCopy, f *graph.CheckpointFile) error {
	name := fs.PathJoin(dir, f.Path)
	if there, err := fs.Open(name, vfs.SequentialReadsOption); err == nil {
		err := readSum(ctx, there, io.Discard, f)
		if err == nil {
			err = there.Sync()
		}
		if errors.Join(err, there.Close()) == nil {
			return nil
		}
	}
	if err := fs.MkdirAll(fs.PathDir(name), 0o755); err != nil {
		return err
	}
	from, err := c.Open(f.Path)
	if err != nil {
		return err
	}
	to, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	err = readSum(ctx, from, to, f)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close(), from.Close())
}

// readSum copies what a file is to have, and compares its size and checksum.
func readSum(ctx context.Context, from io.Reader, to io.Writer, f *graph.CheckpointFile) error {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, to), &aliveReader{ctx, io.LimitReader(from, f.Size+1)})
	if err != nil {
		return err
	}
	if n != f.Size || [sha256.Size]byte(h.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("checksum mismatch: %d bytes here, %d bytes copied", n, f.Size)
	}
	return nil
}

// aliveReader reads until its context ends.
type aliveReader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (r *aliveReader) Read(p []byte) (int, error) {
	if err := kv.Alive(r.ctx); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// SeedReplicas makes the replicas of a process of the shards of a backup, which lie in a directory as replicas/0002/graphs. The id of
// the backup also gives each process's log store its id: a process that does not begin with this backup is another one to the others,
// and waits to be replaced.
func SeedReplicas(opts storage.Options, layout shard.Layout, process int, id string) (err error) {
	opts.EnsureDefaults()
	opts.Shards = layout.Shards
	r := &Replicas{layout: layout, process: process, opts: opts, log: &replicated{}}
	store := func(process int) (id16 replica.StoreID) {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/process %d of %d", id, process, layout.Processes))
		return replica.StoreID(sum[:len(id16)])
	}
	dir := opts.FS.PathJoin(opts.Dir, logName)
	if err := storage.MakeDir(opts.FS, dir); err != nil {
		return err
	}
	logs, err := replica.OpenLogStore(replica.LogStoreOptions{Dir: dir, FS: opts.FS, Logger: opts.Logger, ID: store(process)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.Close()) }()
	r.log.logs = logs
	for no := range layout.Shards {
		keepers := layout.Keepers(no)
		if !slices.Contains(keepers, process) {
			continue
		}
		if err := r.seedParts(no, id); err != nil {
			return err
		}
		l, err := r.openLog(no)
		switch {
		case err != nil:
		case layout.Replicas == 1:
			err = l.BeginAlone()
		default:
			err = l.Begin()
		}
		if err != nil {
			return err
		}
		for _, other := range keepers {
			if _, err := logs.Meet(uint32(no), layout.First(other), store(other)); err != nil {
				return err
			}
		}
	}
	return r.checkLayout()
}

// seedParts makes the shards with a number, which lie in their directory, the state after the entry before the first of a log.
func (r *Replicas) seedParts(no int, id string) error {
	o := r.opts
	o.Dir, o.Replica = r.dir(no), &storage.Replica{ID: r.log.id(), New: true}
	graphs := o.FS.PathJoin(o.Dir, "graphs")
	if err := storage.MakeDir(o.FS, graphs); err != nil {
		return err
	}
	if err := spread(o.FS, o.Dir, id); err != nil {
		return err
	}
	names, err := o.FS.List(graphs)
	if err != nil {
		return err
	}
	shared := storage.NewShared(&o)
	defer shared.Close()
	for _, name := range names {
		if err := seedPart(&o, shared, o.FS.PathJoin(graphs, name), no, replica.BeginIndex); err != nil {
			return fmt.Errorf("shard %d of graph %s: %w", no, name, err)
		}
	}
	return writeReplica(&o)
}

func seedPart(o *storage.Options, shared *storage.Shared, dir string, no int, index uint64) (err error) {
	m, err := datadir.ReadManifest(o.FS, dir)
	if err != nil {
		return err
	}
	if m.Shards > o.Shards {
		return fail.Invalid("the graph has %d shards, more than the cluster, which has %d", m.Shards, o.Shards)
	}
	p, err := storage.OpenPart(o, shared, storage.Dir(dir, no), no, m.Shards, false, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.Restart(context.Background(), index)
}

// The process of the first shard adopts the directory of a single server: its graphs become the state of a group whose only member
// is this process, and the leader of the group adds the others. Once LAYOUT is written, each start completes the adoption; before,
// the directory also starts as it was. No file of a graph is copied; their directory is renamed.

// adoptable reports whether the directory is to be adopted, or an adoption to be completed. It changes nothing.
func (r *Replicas) adoptable() (bool, error) {
	o := &r.opts
	graphs := o.FS.PathJoin(o.Dir, "graphs")
	names, err := o.FS.List(graphs)
	if fail.IsNotExist(err) {
		return false, nil
	}
	_, _, known, lerr := readLayout(o)
	switch err = errors.Join(err, lerr); {
	case err != nil:
		return false, fmt.Errorf("list the graphs of a single server: %w", err)
	case len(names) == 0:
		return known && r.adopting(), nil
	case known && !r.adopting():
		return false, fmt.Errorf("%s belongs to a process of a cluster, and holds graphs of a single server, such as %s", o.Dir, names[0])
	case known:
		return true, nil
	}
	if _, err := o.FS.Stat(o.FS.PathJoin(o.Dir, datadir.LoadingName)); !fail.IsNotExist(err) {
		return false, errors.Join(fmt.Errorf("%s holds an interrupted offline load; run it again", o.Dir), err)
	}
	for _, name := range names {
		m, err := datadir.ReadManifest(o.FS, o.FS.PathJoin(graphs, name))
		switch {
		case errors.Is(err, datadir.ErrNoGraph): // it was not created, or dropped
		case err != nil:
			return false, err
		case m.ID != 0:
			return false, datadir.ErrUnlogged(o.Dir, name)
		case r.process != 0 || r.layout.Shards != 1:
			return false, fail.Invalid("%s holds graphs of a single server: it can become the first process of a cluster with one shard, and this is process %d of one with %d",
				o.Dir, r.process, r.layout.Shards)
		case m.Shards != 1:
			return false, fail.Invalid("%s holds the graph %s with %d shards, and the cluster has one: load the graph, or restore a backup", o.Dir, name, m.Shards)
		}
	}
	return true, nil
}

// adopting reports whether an adoption is not complete: the replica has its log and no graphs.
func (r *Replicas) adopting() bool {
	o := &r.opts
	_, rerr := o.FS.Stat(o.FS.PathJoin(r.dir(0), replicaName))
	_, gerr := o.FS.Stat(o.FS.PathJoin(r.dir(0), "graphs"))
	return rerr == nil && fail.IsNotExist(gerr)
}

// adopt adopts the directory, or completes that.
func (r *Replicas) adopt() error {
	o := r.opts
	graphs := o.FS.PathJoin(o.Dir, "graphs")
	names, err := o.FS.List(graphs)
	names = slices.DeleteFunc(names, func(name string) bool {
		_, merr := datadir.ReadManifest(o.FS, o.FS.PathJoin(graphs, name))
		return errors.Is(merr, datadir.ErrNoGraph)
	})
	var known bool
	if err == nil {
		_, _, known, err = readLayout(&o)
	}
	if err == nil && !known {
		err = r.beginAlone(graphs, names)
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		dir := o.FS.PathJoin(graphs, name)
		m, err := datadir.ReadManifest(o.FS, dir)
		if err == nil && m.ID == 0 {
			m.ID = rand.Uint64() | 1
			err = datadir.WriteManifest(o.FS, dir, m)
		}
		if err = errors.Join(err, o.FS.RemoveAll(o.FS.PathJoin(dir, datadir.TextsName))); err != nil {
			return err
		}
	}
	err = o.FS.Rename(graphs, o.FS.PathJoin(r.dir(0), "graphs"))
	if err := errors.Join(err, storage.SyncDir(o.FS, r.dir(0)), storage.SyncDir(o.FS, o.Dir)); err != nil {
		return err
	}
	return r.checkLayout()
}

// beginAlone makes graphs, which lie in a directory, the state of the only member of the group of shard 0, and notes that.
func (r *Replicas) beginAlone(graphs string, names []string) error {
	o := r.opts
	o.Dir, o.Replica = r.dir(0), &storage.Replica{ID: r.log.id()}
	for _, name := range names {
		if err := seedPart(&o, r.shared, o.FS.PathJoin(graphs, name), 0, replica.BeginIndex); err != nil {
			return fmt.Errorf("graph %s: %w", name, err)
		}
	}
	l, err := r.log.logs.Log(0, r.layout.First(0))
	if err == nil {
		err = errors.Join(l.BeginAlone(), storage.MakeDir(o.FS, o.Dir), writeReplica(&o))
	}
	if err != nil {
		return err
	}
	return r.note([]int{0}, nil)
}

// lags names the processes of replicas that lack entries, without replicas that were replaced.
func (r *Replicas) lags(lags []replica.Lag) (out []replica.Lag) {
	for _, l := range lags {
		l.Process = r.layout.Process(l.Replica)
		newer := func(o replica.Lag) bool { return o.Replica > l.Replica && r.layout.Process(o.Replica) == l.Process }
		if !slices.ContainsFunc(lags, newer) {
			out = append(out, l)
		}
	}
	return out
}

// Replicas returns the status of the replicas, by their groups.
func (r *Replicas) Replicas() map[uint32]replica.GroupStatus {
	out := r.log.host.Status()
	for group, st := range out {
		st.Lags = r.lags(st.Lags)
		s := &r.seeds.shards[group]
		st.Seeds = s.done.Load()
		if p := r.Parts(int(group)); p != nil {
			st.Damage = p.Damage()
		}
		if s.on.Load() {
			st.SeedBytes, st.SeededBytes = s.size.Load(), s.there.Load()
		}
		out[group] = st
	}
	return out
}
