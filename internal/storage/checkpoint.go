package storage

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Checkpoint copies the shard to a new directory, with hard links where possible. The caller ensures that no commit is half applied and
// that none starts meanwhile, so that the copy has all large values to which its records refer.
func (s *Shard) Checkpoint(dir string) error {
	fs := s.opts.FS
	return errors.Join(
		s.disk.graph.Checkpoint(fs.PathJoin(dir, graphDir)),
		s.disk.values.Checkpoint(fs.PathJoin(dir, valuesDir)),
	)
}

// CheckLogs verifies the synced parts of the logs and manifests, and calls bad for each damaged file.
func (s *Shard) CheckLogs(bad func(file string, err error)) error {
	of := func(store string) func(string, error) {
		return func(file string, err error) { bad(path.Join(store, file), err) }
	}
	return errors.Join(s.disk.graph.CheckLogs(of(graphDir)), s.disk.values.CheckLogs(of(valuesDir)))
}

// The names of a shard's stores in its directory.
const (
	graphDir  = "graph"
	valuesDir = "values"
)

// CheckFiles reads every block of the tables and blob files of a copy that Checkpoint has made, and calls bad for each file whose checksums
// are wrong.
func CheckFiles(ctx context.Context, o *Options, dir string, bad func(file string, err error)) (files, bytes uint64, err error) {
	fs := o.FS
	for _, store := range []string{graphDir, valuesDir} {
		at := fs.PathJoin(dir, store)
		names, err := fs.List(at)
		if err != nil {
			return files, bytes, err
		}
		slices.Sort(names)
		blobs, faults := false, false
		for _, name := range names {
			if err := kv.Alive(ctx); err != nil {
				return files, bytes, err
			}
			ext := path.Ext(name)
			if ext != ".sst" && ext != ".blob" {
				continue
			}
			info, err := fs.Stat(fs.PathJoin(at, name))
			if err != nil {
				return files, bytes, err
			}
			files, bytes = files+1, bytes+uint64(info.Size())
			if ext == ".blob" {
				blobs = true
				continue
			}
			if err := kv.CheckTable(ctx, fs, fs.PathJoin(at, name)); err != nil {
				faults = true
				bad(path.Join(store, name), err)
			}
		}
		// Blocks of blob files are found through the tables that refer to them.
		if blobs && !faults {
			if err := kv.ReadAll(ctx, o.instance(nil), at); err != nil {
				if !kv.IsDamage(err) {
					return files, bytes, err
				}
				bad(store, kv.Locate(err))
			}
		}
	}
	return files, bytes, nil
}
