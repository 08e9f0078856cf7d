package storage

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// CheckFiles reads every block of the tables and blob files of a shard's copy, see Shard.Checkpoint, from disk, and calls
// bad for each file whose checksums are wrong.
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
			if err := Alive(ctx); err != nil {
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
			if err := CheckTable(ctx, fs, fs.PathJoin(at, name)); err != nil {
				faults = true
				bad(path.Join(store, name), err)
			}
		}
		// Blocks of blob files are found through the tables that refer to them.
		if blobs && !faults {
			if err := readAll(ctx, o, at); err != nil {
				if !isDamage(err) {
					return files, bytes, err
				}
				bad(store, locate(err))
			}
		}
	}
	return files, bytes, nil
}

// CheckTable verifies the checksums of all blocks of a table.
func CheckTable(ctx context.Context, fs vfs.FS, name string) error {
	f, err := fs.Open(name)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return err
	}
	r, err := sstable.NewReader(ctx, readable, sstable.ReaderOptions{})
	if err != nil {
		_ = readable.Close()
		return err
	}
	err = r.ValidateBlockChecksums()
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return err
}

// readAll reads all values of a copied store past all caches.
func readAll(ctx context.Context, o *Options, dir string) (err error) {
	only := *o
	only.ReadOnly = true
	p := pebbleOptions(&only, nil, true)
	p.ErrorIfNotExists = true
	p.CacheSize = 1 << 20
	p.Logger = quiet{}
	p.FS = blobFS{p.FS}
	db, err := pebble.Open(dir, p)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := db.Close(); err == nil {
			err = cerr
		}
	}()
	n := 0
	return scanRange(db, nil, nil, func(_, _ []byte) error {
		if n++; n&0xfff == 0 {
			return Alive(ctx)
		}
		return nil
	})
}

// quiet is a Pebble logger that says nothing: what goes wrong is returned.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Errorf(format, args...))
}
