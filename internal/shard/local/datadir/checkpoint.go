package datadir

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
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// checkpointsName is the directory of checkpoints in a data directory. Whatever is there when the store opens was left by a process
// that died.
const checkpointsName = "checkpoints"

// LoadingName is the file that a data directory has while an offline load is at work. A directory with it is not opened except by the next
// offline load, which recreates the graph.
const LoadingName = "LOADING"

// LockName is the name of the file by which a process has a data directory.
const LockName = "LOCK"

// TextsName is the name of a directory of full-text indexes.
const TextsName = "search"

// ReplicasName is the directory of the replicas of a process of a cluster.
const ReplicasName = "replicas"

// LayoutName is the file that says which replicas these are.
const LayoutName = ReplicasName + "/LAYOUT"

// PartialName is the directory, within the data directory, in which a restore builds a store (internal/backup): one that was
// interrupted is not taken for a store.
const PartialName = "restore.partial"

// Copies makes the checkpoints of a data directory, and remembers the open ones and the checksums of files that do not change.
type Copies struct {
	opts *storage.Options
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

// Checkpoint is a copy of graphs, or of one shard of each. It implements shard.Checkpoint.
type Checkpoint struct {
	of     *Copies
	id     uint64
	dir    string
	graphs []string
	taken  time.Time
	files  []graph.CheckpointFile
	own    int                // of files: the others are of peers
	peers  []storage.PeerCopy // by shard, nil for those of this process
	shards []int              // of the files after own
}

// Begin begins a checkpoint, with an id of its own if it is 0.
func (o *Copies) Begin(id uint64) (*Checkpoint, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if id == 0 {
		id = rand.Uint64()
	}
	if o.open[id] != nil {
		return nil, fail.Exists("copy %x already exists", id)
	}
	if o.open == nil {
		o.open = map[uint64]*Checkpoint{}
	}
	c := &Checkpoint{of: o, id: id, dir: o.opts.FS.PathJoin(o.opts.Dir, checkpointsName, strconv.FormatUint(id, 16)), taken: time.Now().UTC()}
	o.open[id] = c
	return c, nil
}

// Scratch makes a directory for files that f looks at, and removes it.
func (o *Copies) Scratch(f func(dir string) error) (err error) {
	c, err := o.Begin(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := o.opts.FS.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	return f(c.dir)
}

// File opens a file of an open checkpoint.
func (o *Copies) File(id uint64, path string) (io.ReadCloser, error) {
	o.mu.Lock()
	c := o.open[id]
	known := c != nil && slices.ContainsFunc(c.files, func(f graph.CheckpointFile) bool { return f.Path == path })
	o.mu.Unlock()
	if !known {
		return nil, fail.NotFound("no open copy has the file %s", path)
	}
	return c.read(path)
}

// Peer returns the copy at the process that keeps shard no.
func (c *Checkpoint) Peer(ctx context.Context, no int) (storage.PeerCopy, error) {
	for len(c.peers) <= no {
		c.peers = append(c.peers, nil)
	}
	var err error
	if c.peers[no] == nil {
		c.peers[no], err = c.of.opts.Peers.Copy(ctx, no, c.id)
	}
	return c.peers[no], err
}

// GraphDir is the directory of the copy of a graph.
func (c *Checkpoint) GraphDir(name string) string {
	return c.of.opts.FS.PathJoin(c.dir, "graphs", name)
}

// List lists the files that were copied, with their checksums.
func (c *Checkpoint) List(ctx context.Context) error {
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
	fixed := Immutable(at)
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
		return sum, fmt.Errorf("%s changed while it was read", at)
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

// Immutable reports whether a file is one that Pebble writes once.
func Immutable(name string) bool { return path.Ext(name) == ".sst" || path.Ext(name) == ".blob" }

// forgetSums forgets the checksums of files of the checkpoint's graphs that it no longer holds. The caller holds
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

// DropCheckpoints removes the checkpoints of a process that died.
func DropCheckpoints(fs vfs.FS, dir string) error {
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

// Add notes that the checkpoint has a graph.
func (c *Checkpoint) Add(graphs ...string) { c.graphs = append(c.graphs, graphs...) }

// Dir is the directory of the copies.
func (c *Checkpoint) Dir() string { return c.dir }

// Append adds the files that processes have copied, by shard.
func (c *Checkpoint) Append(theirs [][]graph.CheckpointFile) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	for no, files := range theirs {
		for _, f := range files {
			c.files, c.shards = append(c.files, f), append(c.shards, no)
		}
	}
}

// Peers are the copies at other processes, by shard; nil for one of this process.
func (c *Checkpoint) Peers() []storage.PeerCopy { return c.peers }
