package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// checkpointsName is the directory of checkpoints in a data directory. What is there when the store is opened was left
// behind by a process that died.
const checkpointsName = "checkpoints"

// partialName is the directory, within the data directory, in which a restore builds a store (internal/backup): one that was
// interrupted is not taken for a store.
const partialName = "restore.partial"

// copies makes the checkpoints of a data directory, and knows those that are there and the checksums of files that do not
// change.
type copies struct {
	opts *Options
	mu   sync.Mutex
	open map[uint64]*Checkpoint
	sums map[string]fileSum // by path in the data directory
}

// fileSum is the checksum of a file that had this size and time.
type fileSum struct {
	size int64
	mod  time.Time
	sum  [sha256.Size]byte
}

// Checkpoint is a copy of graphs, or of a shard of graphs. It implements shard.Checkpoint.
type Checkpoint struct {
	of     *copies
	id     uint64
	dir    string
	graphs []string
	taken  time.Time
	files  []graph.CheckpointFile
	own    int                // of files: the others are of peers
	peers  []storage.PeerCopy // by shard, nil for those of this process
	shards []int              // of the files after own
}

// begin begins a checkpoint, with an id of its own if it is 0.
func (o *copies) begin(id uint64) (*Checkpoint, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if id == 0 {
		id = rand.Uint64()
	}
	if o.open[id] != nil {
		return nil, fail.Exists("there is a copy %x already", id)
	}
	if o.open == nil {
		o.open = map[uint64]*Checkpoint{}
	}
	c := &Checkpoint{of: o, id: id, dir: o.opts.FS.PathJoin(o.opts.Dir, checkpointsName, strconv.FormatUint(id, 16)), taken: time.Now().UTC()}
	o.open[id] = c
	return c, nil
}

// scratch makes a directory for files that f looks at, and removes it.
func (o *copies) scratch(f func(dir string) error) (err error) {
	c, err := o.begin(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := o.opts.FS.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	return f(c.dir)
}

// file opens a file of a checkpoint that is there.
func (o *copies) file(id uint64, path string) (io.ReadCloser, error) {
	o.mu.Lock()
	c := o.open[id]
	known := c != nil && slices.ContainsFunc(c.files, func(f graph.CheckpointFile) bool { return f.Path == path })
	o.mu.Unlock()
	if !known {
		return nil, fail.NotFound("there is no copy with the file %s any more", path)
	}
	return c.read(path)
}

var _ shard.Maintainer = (*Store)(nil)

// Checkpoint implements shard.Maintainer. Each graph is held up while its files are linked, and no longer.
func (s *Store) Checkpoint(ctx context.Context, names []string) (shard.Checkpoint, error) {
	c, err := s.Copy(ctx, names)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Copy is Checkpoint for callers that read the files of other processes there.
func (s *Store) Copy(ctx context.Context, names []string) (_ *Checkpoint, err error) {
	if s.opts.ReadOnly {
		return nil, fail.ReadOnly()
	}
	if len(names) == 0 {
		names = s.Graphs()
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	c, err := s.copies.begin(0)
	if err != nil {
		return nil, err
	}
	c.graphs = names
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	for _, name := range names {
		g, err := s.Local(name)
		if err != nil {
			return nil, err
		}
		if err := g.checkpoint(ctx, c); err != nil {
			return nil, fmt.Errorf("copy graph %s: %w", name, err)
		}
	}
	// Each process reads its own files.
	theirs := make([][]graph.CheckpointFile, len(c.peers))
	errs := make([]error, len(c.peers))
	var listing sync.WaitGroup
	for no, p := range c.peers {
		if p != nil {
			listing.Go(func() { theirs[no], errs[no] = p.Files() })
		}
	}
	err = c.list(ctx)
	listing.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	for no, files := range theirs {
		for _, f := range files {
			c.files, c.shards = append(c.files, f), append(c.shards, no)
		}
	}
	return c, nil
}

// peer returns the copy at the process that keeps shard no.
func (c *Checkpoint) peer(ctx context.Context, no int) (storage.PeerCopy, error) {
	for len(c.peers) <= no {
		c.peers = append(c.peers, nil)
	}
	var err error
	if c.peers[no] == nil {
		c.peers[no], err = c.of.opts.Peers.Copy(ctx, no, c.id)
	}
	return c.peers[no], err
}

// checkpoint copies the graph, with hard links.
func (g *Graph) checkpoint(ctx context.Context, c *Checkpoint) (err error) {
	if err := g.Enter(); err != nil {
		return err
	}
	defer g.Leave()
	// What is in tables need not travel again the next time, and the logs are short.
	if err := g.Flush(ctx); err != nil {
		return err
	}
	of := storage.PartOf{Name: g.Name, ID: g.id, Shards: len(g.shards)}
	peers := make([]storage.PeerCopy, len(g.shards))
	for no := range peers {
		if g.Options.Peers != nil {
			if peers[no], err = c.peer(ctx, no); err == nil {
				err = peers[no].Flush(of)
			}
			if err != nil {
				return err
			}
		}
	}
	fs, dir := g.Options.FS, c.graphDir(g.Name)
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := g.lock(ctx); err != nil {
		return err
	}
	for no, s := range g.shards {
		if peers[no] != nil {
			err = peers[no].Take(of, s.Applied())
		} else {
			err = s.Checkpoint(storage.Dir(dir, no))
		}
		if err != nil {
			g.unlock()
			return err
		}
	}
	g.unlock()
	return writeManifest(fs, dir, manifest{Format: storage.FormatVersion, Shards: len(g.shards)})
}

func (c *Checkpoint) graphDir(name string) string {
	return c.of.opts.FS.PathJoin(c.dir, "graphs", name)
}

// list lists the files that were copied, with their checksums.
func (c *Checkpoint) list(ctx context.Context) error {
	var files []graph.CheckpointFile
	if err := c.sum(ctx, "", &files); err != nil {
		return err
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.files, c.own = files, len(files)
	c.forgetSums()
	return nil
}

// sum lists the files below rel with their checksums.
func (c *Checkpoint) sum(ctx context.Context, rel string, files *[]graph.CheckpointFile) error {
	fs := c.of.opts.FS
	names, err := fs.List(fs.PathJoin(c.dir, rel))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := kv.Alive(ctx); err != nil {
			return err
		}
		at := path.Join(rel, name)
		info, err := fs.Stat(fs.PathJoin(c.dir, at))
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := c.sum(ctx, at, files); err != nil {
				return err
			}
			continue
		}
		sum, err := c.sumFile(ctx, at, info)
		if err != nil {
			return err
		}
		*files = append(*files, graph.CheckpointFile{Path: at, Size: info.Size(), SHA256: sum})
	}
	return nil
}

func (c *Checkpoint) sumFile(ctx context.Context, at string, info vfs.FileInfo) (sum [sha256.Size]byte, err error) {
	fs, known := c.of.opts.FS, c.of
	fixed := immutable(at)
	if fixed {
		known.mu.Lock()
		old, ok := known.sums[at]
		known.mu.Unlock()
		if ok && old.size == info.Size() && old.mod.Equal(info.ModTime()) {
			return old.sum, nil
		}
	}
	f, err := fs.Open(fs.PathJoin(c.dir, at), vfs.SequentialReadsOption)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return sum, err
	}
	if n != info.Size() {
		return sum, fmt.Errorf("%s has changed while it was read", at)
	}
	h.Sum(sum[:0])
	if path.Ext(at) == ".sst" {
		// A backup of damage would prove useless only when it is needed.
		if err := kv.CheckTable(ctx, fs, fs.PathJoin(c.dir, at)); err != nil {
			return sum, graph.CorruptError("backup: file "+at, err)
		}
	}
	if fixed {
		known.mu.Lock()
		if known.sums == nil {
			known.sums = map[string]fileSum{}
		}
		known.sums[at] = fileSum{info.Size(), info.ModTime(), sum}
		known.mu.Unlock()
	}
	return sum, nil
}

// immutable reports whether a file is one that Pebble writes once.
func immutable(name string) bool { return path.Ext(name) == ".sst" || path.Ext(name) == ".blob" }

// forgetSums forgets the checksums of files of the checkpoint's graphs that it does not hold: they are gone. The caller holds
// the mutex.
func (c *Checkpoint) forgetSums() {
	known := c.of
	held := map[string]bool{}
	for _, f := range c.files {
		held[f.Path] = true
	}
	for at := range known.sums {
		name, _, _ := strings.Cut(strings.TrimPrefix(at, "graphs/"), "/")
		if !held[at] && slices.Contains(c.graphs, name) {
			delete(known.sums, at)
		}
	}
}

// dropCheckpoints removes what checkpoints of a process that died have left.
func dropCheckpoints(fs vfs.FS, dir string) error {
	return fs.RemoveAll(fs.PathJoin(dir, checkpointsName))
}

// ID names the checkpoint at this process, and at those of peers.
func (c *Checkpoint) ID() uint64 { return c.id }

// Shard returns the shard of the i-th of Files; own says that this process has the file.
func (c *Checkpoint) Shard(i int) (no int, own bool) {
	if i < c.own {
		return 0, true
	}
	return c.shards[i-c.own], false
}

// Graphs implements shard.Checkpoint.
func (c *Checkpoint) Graphs() []string { return c.graphs }

// Format implements shard.Checkpoint.
func (c *Checkpoint) Format() int { return storage.FormatVersion }

// Taken implements shard.Checkpoint.
func (c *Checkpoint) Taken() time.Time { return c.taken }

// Files implements shard.Checkpoint.
func (c *Checkpoint) Files() []graph.CheckpointFile { return c.files }

// Open implements shard.Checkpoint.
func (c *Checkpoint) Open(i int) (io.ReadCloser, error) {
	if i < 0 || i >= len(c.files) {
		return nil, fail.Invalid("the checkpoint has no file %d", i)
	}
	if i >= c.own {
		no, _ := c.Shard(i)
		return c.peers[no].Open(c.files[i].Path)
	}
	return c.read(c.files[i].Path)
}

// read opens a file of this process.
func (c *Checkpoint) read(path string) (io.ReadCloser, error) {
	fs := c.of.opts.FS
	return fs.Open(fs.PathJoin(c.dir, path), vfs.SequentialReadsOption)
}

// Close implements shard.Checkpoint.
func (c *Checkpoint) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c.id)
	c.of.mu.Unlock()
	errs := []error{c.of.opts.FS.RemoveAll(c.dir)}
	for _, p := range c.peers {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// CopiedFile opens a file of a checkpoint that Copy has made.
func (s *Store) CopiedFile(id uint64, path string) (io.ReadCloser, error) {
	return s.copies.file(id, path)
}

// Copy begins a copy of shards, which Flush, Take and List make.
func (s *Parts) Copy(id uint64) (*Checkpoint, error) {
	if err := s.Damage(); err != nil {
		return nil, graph.CorruptError(fmt.Sprintf("copy shard %d", s.no), err)
	}
	return s.copies.begin(id)
}

// CopiedFile opens a file of a copy.
func (s *Parts) CopiedFile(id uint64, path string) (io.ReadCloser, error) {
	return s.copies.file(id, path)
}

// use calls f with the shard of a graph, which stays open meanwhile.
func (s *Parts) use(of storage.PartOf, f func(p *Part) error) error {
	p, err := s.Part(of.Name)
	if err != nil {
		return err
	}
	if err := p.Enter(); err != nil {
		return err
	}
	defer p.Leave()
	if p.m.partOf(of.Name) != of {
		return fail.NotFound("this process keeps a shard of another graph %q", of.Name)
	}
	return f(p)
}

// Flush makes ready what Take will copy of a graph.
func (s *Parts) Flush(ctx context.Context, of storage.PartOf) error {
	return s.use(of, func(p *Part) error { return p.Flush(ctx) })
}

// Take copies the shard of a graph as its writer with an epoch has left it, at a version of that writer or a later one.
func (s *Parts) Take(ctx context.Context, c *Checkpoint, of storage.PartOf, epoch, version uint64) error {
	return s.use(of, func(p *Part) error {
		if err := p.Part.Await(ctx, epoch, version); err != nil {
			return err
		}
		dir := c.graphDir(of.Name)
		if err := s.opts.FS.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		c.graphs = append(c.graphs, of.Name)
		return p.Checkpoint(epoch, storage.Dir(dir, s.no))
	})
}

// List lists what a copy has taken.
func (s *Parts) List(ctx context.Context, c *Checkpoint) ([]graph.CheckpointFile, error) {
	err := c.list(ctx)
	return c.files, err
}

// CheckFiles verifies the files of a graph's shard; see storage.CheckFiles.
func (s *Parts) CheckFiles(ctx context.Context, of storage.PartOf, bad func(file string, err error)) (files, bytes uint64, err error) {
	err = s.use(of, func(p *Part) error {
		return s.copies.scratch(func(dir string) error {
			files, bytes, err = p.CheckFiles(ctx, storage.Dir(dir, s.no), func(file string, err error) {
				s.opts.Damaged(file, err)
				bad(file, err)
			})
			return err
		})
	})
	return files, bytes, err
}

// compareWithin is how long a replica may take until it has the version in which it is compared with others.
const compareWithin = 10 * time.Second

// Digest returns the digest of a graph's shard in a version of a writer's epoch; see storage.Digest.
func (s *Parts) Digest(ctx context.Context, of storage.PartOf, epoch, version uint64) (d storage.Digest, err error) {
	err = s.use(of, func(p *Part) error {
		limited, cancel := context.WithTimeout(ctx, compareWithin)
		defer cancel()
		if err := p.Part.Await(limited, epoch, version); err != nil {
			return err
		}
		d, err = p.Part.Digest(ctx, epoch, version)
		return err
	})
	return d, err
}
