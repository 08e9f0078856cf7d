package kv

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

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
	if err = r.ValidateBlockChecksums(); err == nil {
		err = checkValueBlocks(ctx, r)
	}
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return err
}

// checkValueBlocks verifies the checksums of a table's value blocks, which hold older versions of records for snapshots and which
// ValidateBlockChecksums skips.
func checkValueBlocks(ctx context.Context, r *sstable.Reader) error {
	l, err := r.Layout()
	if err != nil {
		return err
	}
	for _, h := range append(l.ValueBlock, l.ValueIndex) {
		if h.Length == 0 {
			continue
		}
		b, err := r.ReadValueBlockExternal(ctx, h)
		if err != nil {
			return err
		}
		b.Release()
	}
	return nil
}

// ReadAll reads all values of a copied store, without caches.
func ReadAll(ctx context.Context, o *Options, dir string) (err error) {
	only := *o
	only.ReadOnly = true
	p := pebbleOptions(&only, true)
	p.ErrorIfNotExists = true
	p.CacheSize = 1 << 20
	p.Logger = Quiet{}
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
	return ScanRange(db, nil, nil, func(_, _ []byte) error {
		if n++; n&0xfff == 0 {
			return Alive(ctx)
		}
		return nil
	})
}

// Quiet is a Pebble logger that drops everything, since errors are returned as well.
type Quiet struct{}

// Infof implements pebble.Logger.
func (Quiet) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (Quiet) Errorf(string, ...any) {}

// Fatalf implements pebble.Logger. It panics.
func (Quiet) Fatalf(format string, args ...any) {
	panic(fmt.Errorf(format, args...))
}
