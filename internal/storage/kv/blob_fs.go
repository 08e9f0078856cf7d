package kv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
)

// blobFS checks the footer of each blob file when it is opened. Pebble panics if that is damaged (v2.1.7:
// fileCacheHandle.findOrCreateBlob), also on its own goroutines, and calls Fatalf if the file is missing.
type blobFS struct{ vfs.FS }

// Open implements vfs.FS. It reports damage by an error that Pebble passes on unchanged.
func (b blobFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := b.FS.Open(name, opts...)
	if path.Ext(name) != ".blob" {
		return f, err
	}
	if err == nil {
		if err = checkFooter(f); err == nil {
			return f, nil
		}
		_ = f.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, graph.CorruptError("storage: open "+name, errors.New("the file is missing"))
	case pebble.IsCorruptionError(err):
		return nil, graph.CorruptError("storage: open "+name, errors.New(err.Error()))
	}
	return nil, err
}

// Unwrap implements vfs.FS.
func (b blobFS) Unwrap() vfs.FS { return b.FS }

// checkFooter reads the footer of a blob file, which stays open.
func checkFooter(f vfs.File) error {
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return err
	}
	_, err = blob.NewFileReader(context.Background(), readable, blob.FileReaderOptions{})
	return err
}

// checkBlobs reports blob files that are missing from a store: Pebble checks only for tables, and panics when it reads a missing blob
// file. Files that wait for removal may hide missing ones.
func checkBlobs(db *pebble.DB, fsys vfs.FS, dir string) error {
	live := db.Metrics().BlobFiles.LiveCount
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	there := uint64(0)
	for _, name := range names {
		if path.Ext(name) == ".blob" {
			there++
		}
	}
	// A compaction may have finished meanwhile.
	if live = min(live, db.Metrics().BlobFiles.LiveCount); there < live {
		return graph.CorruptError("storage: open "+dir, fmt.Errorf("%d of the %d blob files that the store refers to are missing", live-there, live))
	}
	return nil
}

// IsDamage tells damage, found by Pebble or beneath it, from other faults.
func IsDamage(err error) bool {
	var e *graph.Error
	return pebble.IsCorruptionError(err) || errors.As(err, &e) && e.Kind == graph.KindCorrupt
}
