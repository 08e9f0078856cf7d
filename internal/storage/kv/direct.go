package kv

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// CacheMode says where blocks are cached.
type CacheMode uint8

// The modes.
const (
	// CacheBlocks keeps blocks, uncompressed, in the block cache, above the page cache.
	CacheBlocks CacheMode = iota
	// CachePages uses only the operating system's page cache.
	CachePages
	// CacheDirect keeps blocks in the block cache and bypasses the page cache, with O_DIRECT.
	CacheDirect
)

// PagesCacheBytes is the size of the block cache in the mode CachePages: room for the blocks that are being read.
const PagesCacheBytes = 1 << 20

var cacheModes = [...]string{CacheBlocks: "block", CachePages: "page", CacheDirect: "direct"}

// String returns the mode's name.
func (m CacheMode) String() string { return cacheModes[m] }

// ParseCacheMode reads a mode's name.
func ParseCacheMode(s string) (CacheMode, error) {
	for m, name := range cacheModes {
		if s == name {
			return CacheMode(m), nil
		}
	}
	return 0, fmt.Errorf("%q is not a cache mode; use block, page or direct", s)
}

// directFS reads tables and blob files with O_DIRECT. All else it leaves to the file system below.
type directFS struct{ vfs.FS }

// NewDirectFS returns a file system that reads tables and blob files with O_DIRECT, if the directory allows that.
func NewDirectFS(fs vfs.FS, dir string) (vfs.FS, error) {
	name := fs.PathJoin(dir, "direct.tmp")
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	err = errors.Join(setDirect(f.Fd(), true), f.Close(), fs.Remove(name))
	if err != nil {
		return nil, fmt.Errorf("storage: the cache mode direct needs direct reads, which the file system of %s does not allow: %w", dir, err)
	}
	return directFS{fs}, nil
}

// Open implements vfs.FS.
func (fs directFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if ext := path.Ext(name); ext != ".sst" && ext != ".blob" {
		return fs.FS.Open(name, opts...)
	}
	f, err := fs.FS.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	if err := setDirect(f.Fd(), true); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s directly: %w", name, err), f.Close())
	}
	return &directFile{File: f}, nil
}

// Unwrap implements vfs.FS.
func (fs directFS) Unwrap() vfs.FS { return fs.FS }

// directAlign is what the offsets, sizes and addresses of direct reads are multiples of, in bytes.
const directAlign = 4 << 10

// directFile is a file that is read with O_DIRECT.
type directFile struct {
	vfs.File
	at int64 // of Read
}

// directBuffers are aligned buffers of directFile.ReadAt.
var directBuffers = sync.Pool{New: func() any { return new([]byte) }}

// ReadAt implements io.ReaderAt.
func (f *directFile) ReadAt(p []byte, off int64) (int, error) {
	start := off &^ (directAlign - 1)
	size := int(off-start) + len(p)
	size = (size + directAlign - 1) &^ (directAlign - 1)
	pooled := directBuffers.Get().(*[]byte)
	defer directBuffers.Put(pooled)
	if cap(*pooled) < size {
		*pooled = aligned(size)
	}
	buf := (*pooled)[:size]
	if len(p) == 0 {
		return 0, nil
	}
	n, err := f.File.ReadAt(buf, start)
	if n -= int(off - start); n <= 0 {
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	if n = copy(p, buf[off-start:][:n]); n == len(p) {
		return n, nil
	}
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// Read implements io.Reader.
func (f *directFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// Prefetch implements vfs.File. It does nothing, since there is no page cache to fill.
func (f *directFile) Prefetch(int64, int64) error { return nil }

// Fd implements vfs.File: the descriptor is private.
func (f *directFile) Fd() uintptr { return vfs.InvalidFd }
