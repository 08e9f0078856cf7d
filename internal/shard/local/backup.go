package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// checkpointsName is the directory of checkpoints in a data directory. What is there when the store is opened was left
// behind by a process that died.
const checkpointsName = "checkpoints"

// PartialName is the directory, within the data directory, in which a restore builds a store (backup.Partial): one that was
// interrupted is not taken for a store.
const PartialName = "restore.partial"

// checkpoints numbers the checkpoints of a store and remembers the checksums of files that do not change.
type checkpoints struct {
	mu   sync.Mutex
	last uint64
	sums map[string]fileSum // by path in the data directory
}

// fileSum is the checksum of a file that had this size and time.
type fileSum struct {
	size int64
	mod  time.Time
	sum  [sha256.Size]byte
}

// checkpoint implements shard.Checkpoint.
type checkpoint struct {
	fs     vfs.FS
	dir    string
	graphs []string
	taken  time.Time
	files  []shard.CheckpointFile
}

var _ shard.Keeper = (*Store)(nil)

// Checkpoint implements shard.Keeper. Each graph is held up while its files are linked, and no longer.
func (s *Store) Checkpoint(ctx context.Context, names []string) (_ shard.Checkpoint, err error) {
	if s.opts.ReadOnly {
		return nil, readOnly()
	}
	if len(names) == 0 {
		names = s.Graphs()
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	fs := s.opts.FS
	s.copies.mu.Lock()
	s.copies.last++
	number := s.copies.last
	s.copies.mu.Unlock()
	c := &checkpoint{fs: fs, dir: fs.PathJoin(s.opts.Dir, checkpointsName, strconv.FormatUint(number, 10)), graphs: names, taken: time.Now().UTC()}
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
		if err := g.checkpoint(ctx, fs.PathJoin(c.dir, "graphs", name)); err != nil {
			return nil, fmt.Errorf("copy graph %s: %w", name, err)
		}
	}
	if err := s.sum(ctx, c, ""); err != nil {
		return nil, err
	}
	s.forgetSums(c)
	return c, nil
}

// checkpoint copies the graph, with hard links, to a directory that is not there yet.
func (g *Graph) checkpoint(ctx context.Context, dir string) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	// What is in tables need not travel again the next time, and the logs are short.
	if err := g.Flush(ctx); err != nil {
		return err
	}
	fs := g.opts.FS
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := g.lock(ctx); err != nil {
		return err
	}
	for no, s := range g.shards {
		if err := s.Checkpoint(storage.Dir(dir, no)); err != nil {
			g.unlock()
			return err
		}
	}
	g.unlock()
	return writeManifest(fs, dir, manifest{Format: storage.FormatVersion, Shards: len(g.shards)})
}

// sum lists the files below rel with their checksums.
func (s *Store) sum(ctx context.Context, c *checkpoint, rel string) error {
	names, err := c.fs.List(c.fs.PathJoin(c.dir, rel))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := storage.Alive(ctx); err != nil {
			return err
		}
		at := path.Join(rel, name)
		info, err := c.fs.Stat(c.fs.PathJoin(c.dir, at))
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := s.sum(ctx, c, at); err != nil {
				return err
			}
			continue
		}
		sum, err := s.sumFile(ctx, c, at, info)
		if err != nil {
			return err
		}
		c.files = append(c.files, shard.CheckpointFile{Path: at, Size: info.Size(), SHA256: sum})
	}
	return nil
}

func (s *Store) sumFile(ctx context.Context, c *checkpoint, at string, info vfs.FileInfo) (sum [sha256.Size]byte, err error) {
	fixed := immutable(at)
	if fixed {
		s.copies.mu.Lock()
		old, ok := s.copies.sums[at]
		s.copies.mu.Unlock()
		if ok && old.size == info.Size() && old.mod.Equal(info.ModTime()) {
			return old.sum, nil
		}
	}
	f, err := c.fs.Open(c.fs.PathJoin(c.dir, at), vfs.SequentialReadsOption)
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
		// A backup of damage would be one that nobody can use, found out too late.
		if err := storage.CheckTable(ctx, c.fs, c.fs.PathJoin(c.dir, at)); err != nil {
			return sum, graph.CorruptError("backup: file "+at, err)
		}
	}
	if fixed {
		s.copies.mu.Lock()
		if s.copies.sums == nil {
			s.copies.sums = map[string]fileSum{}
		}
		s.copies.sums[at] = fileSum{info.Size(), info.ModTime(), sum}
		s.copies.mu.Unlock()
	}
	return sum, nil
}

// immutable reports whether a file is one that Pebble writes once.
func immutable(name string) bool { return path.Ext(name) == ".sst" || path.Ext(name) == ".blob" }

// forgetSums forgets the checksums of files of the checkpoint's graphs that it does not hold: they are gone.
func (s *Store) forgetSums(c *checkpoint) {
	held := map[string]bool{}
	for _, f := range c.files {
		held[f.Path] = true
	}
	s.copies.mu.Lock()
	defer s.copies.mu.Unlock()
	for at := range s.copies.sums {
		name, _, _ := strings.Cut(strings.TrimPrefix(at, "graphs/"), "/")
		if !held[at] && slices.Contains(c.graphs, name) {
			delete(s.copies.sums, at)
		}
	}
}

// dropCheckpoints removes what checkpoints of a process that died have left.
func dropCheckpoints(fs vfs.FS, dir string) error {
	return fs.RemoveAll(fs.PathJoin(dir, checkpointsName))
}

// Graphs implements shard.Checkpoint.
func (c *checkpoint) Graphs() []string { return c.graphs }

// Format implements shard.Checkpoint.
func (c *checkpoint) Format() int { return storage.FormatVersion }

// Taken implements shard.Checkpoint.
func (c *checkpoint) Taken() time.Time { return c.taken }

// Files implements shard.Checkpoint.
func (c *checkpoint) Files() []shard.CheckpointFile { return c.files }

// Open implements shard.Checkpoint.
func (c *checkpoint) Open(i int) (io.ReadCloser, error) {
	if i < 0 || i >= len(c.files) {
		return nil, invalid("the checkpoint has no file %d", i)
	}
	return c.fs.Open(c.fs.PathJoin(c.dir, c.files[i].Path), vfs.SequentialReadsOption)
}

// Close implements shard.Checkpoint.
func (c *checkpoint) Close() error { return c.fs.RemoveAll(c.dir) }
