package local

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
)

// directory is a data directory that this process has open, with graphs, or with parts of graphs.
type directory[G any] struct {
	opts   Options
	shared *storage.Shared
	shares bool      // shared is another's
	lock   io.Closer // nil if another holds it
	copies copies

	mu     sync.Mutex
	graphs map[string]G
	closed bool
}

// take opens the directory, making it if it is not there. Its caches are those of others unless shared is nil.
func (d *directory[G]) take(opts Options, shared *storage.Shared) (err error) {
	opts.EnsureDefaults()
	if err := opts.Validate(); err != nil {
		return err
	}
	fs := opts.FS
	if !opts.ReadOnly {
		if err := storage.MakeDir(fs, fs.PathJoin(opts.Dir, "graphs")); err != nil {
			return fmt.Errorf("make the data directory: %w", err)
		}
	}
	if d.lock, err = lockDir(&opts); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.lock.Close())
		}
	}()
	if err := errors.Join(checkRestored(&opts), checkSingle(&opts)); err != nil {
		return err
	}
	if !opts.ReadOnly {
		if err := dropCheckpoints(fs, opts.Dir); err != nil {
			return fmt.Errorf("remove an old checkpoint: %w", err)
		}
	}
	d.use(opts, shared)
	return nil
}

// use makes the directory ready for graphs.
func (d *directory[G]) use(opts Options, shared *storage.Shared) {
	d.opts, d.graphs = opts, map[string]G{}
	d.copies.opts = &d.opts
	d.shared, d.shares = shared, shared != nil
	if !d.shares {
		d.shared = storage.NewShared(&d.opts)
	}
}

// each calls f with the name and the manifest of each graph, in the order of their names, and removes what is left of
// graphs that were not made, or were dropped.
func (d *directory[G]) each(f func(name string, m manifest) error) error {
	fs := d.opts.FS
	names, err := fs.List(d.graphsDir())
	if err != nil {
		return fmt.Errorf("list graphs: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		m, err := readManifest(fs, d.dir(name))
		switch {
		case err == nil:
			err = f(name, m)
		case !errors.Is(err, errNoGraph):
		case d.opts.ReadOnly:
			err = nil
		default:
			if err = fs.RemoveAll(d.dir(name)); err != nil {
				err = fmt.Errorf("remove what is left of graph %s: %w", name, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *directory[G]) graphsDir() string      { return d.opts.FS.PathJoin(d.opts.Dir, "graphs") }
func (d *directory[G]) dir(name string) string { return d.opts.FS.PathJoin(d.graphsDir(), name) }

// TopologyStats returns what the cache of decoded lists and columns has done.
func (d *directory[G]) TopologyStats() storage.TopologyStats { return d.shared.Topology().Stats() }

// release closes all graphs with end, once, and frees the directory.
func (d *directory[G]) release(end func(G) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var errs []error
	for _, g := range d.graphs {
		errs = append(errs, end(g))
	}
	if !d.shares {
		d.shared.Close()
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

// checkRestored refuses a directory in which a restore was interrupted.
func checkRestored(opts *Options) error {
	if _, err := opts.FS.Stat(opts.FS.PathJoin(opts.Dir, partialName)); err == nil {
		return fmt.Errorf("%s holds a restore that was interrupted; run it again", opts.Dir)
	}
	return nil
}

// checkSingle refuses a directory of Replicas.
func checkSingle(opts *Options) error {
	if _, err := opts.FS.Stat(opts.FS.PathJoin(opts.Dir, replicasDir, layoutName)); err == nil {
		return fmt.Errorf("%s belongs to a process of a cluster: start it with the --join, --replicas and --shards that it was made with", opts.Dir)
	}
	return nil
}

// errUnlogged refuses a directory with graphs of a cluster beside those of Replicas, as versions before all processes had a log made it.
func errUnlogged(dir, name string) error {
	return fmt.Errorf("%s holds one shard of graph %s without a log, as an earlier version kept it: back the graph up with that version, and restore it", dir, name)
}

// lockDir makes the process the only one that has the data directory open.
func lockDir(opts *Options) (io.Closer, error) {
	lock, err := opts.FS.Lock(opts.FS.PathJoin(opts.Dir, "LOCK"))
	if err != nil {
		return nil, &graph.Error{
			Kind: graph.KindUnavailable, Code: "Neo.ClientError.General.StoreLockException", Type: "StorageError",
			Phase: graph.PhaseRuntime, Detail: "Locked",
			Msg: "the data directory " + opts.Dir + " is in use by another process", Err: err,
		}
	}
	return lock, nil
}

// writeWhole makes a file of bytes, durably and at once.
func writeWhole(fs vfs.FS, name string, b []byte) error {
	f, err := fs.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(name+".tmp", name); err != nil {
		return err
	}
	return storage.SyncDir(fs, fs.PathDir(name))
}
