package datadir

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

// Directory is a data directory that this process has open, with graphs, or with parts of graphs.
type Directory[G any] struct {
	Options storage.Options
	Shared  *storage.Shared
	Copies  Copies
	shares  bool      // Shared is another's
	lock    io.Closer // nil if another holds it

	Mu     sync.Mutex // guards the fields below
	ByName map[string]G
	Closed bool
}

// Acquire opens the directory, creating it if needed. It shares the caches of others, unless shared is nil.
func (d *Directory[G]) Acquire(opts storage.Options, shared *storage.Shared) (err error) {
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
	if d.lock, err = Lock(&opts); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.lock.Close())
		}
	}()
	if err := errors.Join(CheckRestored(&opts), checkSingle(&opts)); err != nil {
		return err
	}
	if !opts.ReadOnly {
		if err := DropCheckpoints(fs, opts.Dir); err != nil {
			return fmt.Errorf("remove an old checkpoint: %w", err)
		}
	}
	d.Use(opts, shared)
	return nil
}

// Use makes the directory ready for graphs.
func (d *Directory[G]) Use(opts storage.Options, shared *storage.Shared) {
	d.Options, d.ByName = opts, map[string]G{}
	d.Copies.opts = &d.Options
	d.Shared, d.shares = shared, shared != nil
	if !d.shares {
		d.Shared = storage.NewShared(&d.Options)
	}
}

// Each calls f with the name and the manifest of each graph, in the order of their names, and removes the remains of
// graphs that were not created, or were dropped.
func (d *Directory[G]) Each(f func(name string, m Manifest) error) error {
	fs := d.Options.FS
	names, err := fs.List(d.GraphsDir())
	if err != nil {
		return fmt.Errorf("list graphs: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		m, err := ReadManifest(fs, d.Dir(name))
		switch {
		case err == nil:
			err = f(name, m)
		case !errors.Is(err, ErrNoGraph):
		case d.Options.ReadOnly:
			err = nil
		default:
			if err = fs.RemoveAll(d.Dir(name)); err != nil {
				err = fmt.Errorf("remove the remains of graph %s: %w", name, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// GraphsDir is the directory of all graphs.
func (d *Directory[G]) GraphsDir() string { return d.Options.FS.PathJoin(d.Options.Dir, "graphs") }

// Dir is the directory of a graph.
func (d *Directory[G]) Dir(name string) string { return d.Options.FS.PathJoin(d.GraphsDir(), name) }

// TopologyStats returns what the cache of decoded lists and columns has done.
func (d *Directory[G]) TopologyStats() storage.TopologyStats { return d.Shared.Topology().Stats() }

// Release closes all graphs with end, once, and frees the directory.
func (d *Directory[G]) Release(end func(G) error) error {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Closed {
		return nil
	}
	d.Closed = true
	var errs []error
	for _, g := range d.ByName {
		errs = append(errs, end(g))
	}
	if !d.shares {
		d.Shared.Close()
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

// CheckRestored refuses a directory in which a restore was interrupted.
func CheckRestored(opts *storage.Options) error {
	if _, err := opts.FS.Stat(opts.FS.PathJoin(opts.Dir, PartialName)); err == nil {
		return fmt.Errorf("%s holds an interrupted restore; run it again", opts.Dir)
	}
	return nil
}

// checkSingle refuses a directory of Replicas.
func checkSingle(opts *storage.Options) error {
	if _, err := opts.FS.Stat(opts.FS.PathJoin(opts.Dir, LayoutName)); err == nil {
		return fmt.Errorf("%s belongs to a process of a cluster: start it with the --join, --replicas and --shards that it was made with", opts.Dir)
	}
	return nil
}

// ErrUnlogged refuses a directory with graphs of a cluster beside those of Replicas, as versions before all processes had a log made it.
func ErrUnlogged(dir, name string) error {
	return fmt.Errorf("%s holds one shard of graph %s without a log, as earlier versions wrote it: back the graph up with that version, and restore it", dir, name)
}

// Lock makes the process the only one that has the data directory open.
func Lock(opts *storage.Options) (io.Closer, error) {
	lock, err := opts.FS.Lock(opts.FS.PathJoin(opts.Dir, LockName))
	if err != nil {
		return nil, &graph.Error{
			Kind: graph.KindUnavailable, Code: "Neo.ClientError.General.StoreLockException", Type: "StorageError",
			Phase: graph.PhaseRuntime, Detail: "Locked",
			Msg: "the data directory " + opts.Dir + " is in use by another process", Err: err,
		}
	}
	return lock, nil
}

// WriteWhole makes a file of bytes, durably and at once.
func WriteWhole(fs vfs.FS, name string, b []byte) error {
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
