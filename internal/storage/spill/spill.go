package spill

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// spillPart is how many bytes of one bucket are written at once, if memory allows.
const spillPart = 32 << 10

// File keeps records on disk in buckets, each in the order of its rounds and, within one, in that in which it came from a
// Buffer.
type File struct {
	fs   vfs.FS
	path string
	f    vfs.File

	mu      sync.Mutex
	end     int64
	buckets []bucket
}

type bucket struct {
	extents []extent
	bytes   int64
	records int
}

// extent is a run of whole records in the file.
type extent struct {
	at    int64
	n     int
	round int
}

// New makes a file for records in n buckets.
func New(fs vfs.FS, path string, n int) (*File, error) {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, kv.Unavailable("storage: make a file to sort in", err)
	}
	return &File{fs: fs, path: path, f: f, buckets: make([]bucket, n)}, nil
}

// Close removes the file.
func (s *File) Close() error { return errors.Join(s.f.Close(), s.fs.Remove(s.path)) }

// Buckets is the number of buckets.
func (s *File) Buckets() int { return len(s.buckets) }

// Bytes and Records are how much is in a bucket, once all buffers are flushed.
func (s *File) Bytes(bucket int) int64 { return s.buckets[bucket].bytes }

// Records is the number of records in a bucket.
func (s *File) Records(bucket int) int { return s.buckets[bucket].records }

// Each calls f with the runs of whole records of a bucket, in order; buf is memory to read into, and what it has become
// is returned. The bytes are valid during the call.
func (s *File) Each(bucket int, buf []byte, f func(b []byte) error) ([]byte, error) {
	for _, x := range s.inOrder(bucket) {
		if cap(buf) < x.n {
			buf = make([]byte, x.n)
		}
		if err := s.read(x, buf[:x.n]); err != nil {
			return buf, err
		}
		if err := f(buf[:x.n]); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// ReadAll returns all records of a bucket, in buf if it is large enough.
func (s *File) ReadAll(bucket int, buf []byte) ([]byte, error) {
	b := &s.buckets[bucket]
	if int64(cap(buf)) < b.bytes {
		buf = make([]byte, b.bytes)
	}
	buf = buf[:b.bytes]
	at := 0
	for _, x := range s.inOrder(bucket) {
		if err := s.read(x, buf[at:at+x.n]); err != nil {
			return buf, err
		}
		at += x.n
	}
	return buf, nil
}

// inOrder returns the runs of a bucket in the order of their rounds.
func (s *File) inOrder(bucket int) []extent {
	xs := s.buckets[bucket].extents
	slices.SortStableFunc(xs, func(x, y extent) int { return cmp.Compare(x.round, y.round) })
	return xs
}

func (s *File) read(x extent, into []byte) error {
	if _, err := s.f.ReadAt(into, x.at); err != nil {
		return kv.Unavailable("storage: read a file to sort in", err)
	}
	return nil
}

// Buffer collects records for a File. One goroutine uses it.
type Buffer struct {
	s       *File
	parts   [][]byte
	records []int
	held    int
	budget  int
	round   int
}

// Buffer makes a buffer that holds up to about budget bytes.
func (s *File) Buffer(budget int) *Buffer {
	return &Buffer{s: s, parts: make([][]byte, len(s.buckets)), records: make([]int, len(s.buckets)), budget: budget}
}

// Round ends a round, whose records are all in one buffer, and begins round n.
func (b *Buffer) Round(n int) error {
	err := b.Flush()
	b.round = n
	return err
}

// Begin returns what is held of a bucket, for a record to be appended; End takes it.
func (b *Buffer) Begin(bucket int) []byte { return b.parts[bucket] }

// End ends a record that was begun by Begin.
func (b *Buffer) End(bucket int, part []byte) error {
	b.held += len(part) - len(b.parts[bucket])
	b.parts[bucket] = part
	b.records[bucket]++
	if len(part) >= spillPart {
		return b.flush(bucket)
	}
	if b.held > b.budget {
		return b.Flush()
	}
	return nil
}

// Flush writes all that is held.
func (b *Buffer) Flush() error {
	for i := range b.parts {
		if err := b.flush(i); err != nil {
			return err
		}
	}
	return nil
}

func (b *Buffer) flush(bucket int) error {
	part := b.parts[bucket]
	if len(part) == 0 {
		return nil
	}
	s := b.s
	s.mu.Lock()
	x := extent{s.end, len(part), b.round}
	s.end += int64(len(part))
	k := &s.buckets[bucket]
	k.extents = append(k.extents, x)
	k.bytes += int64(len(part))
	k.records += b.records[bucket]
	s.mu.Unlock()
	b.records[bucket] = 0
	b.held -= len(part)
	b.parts[bucket] = part[:0]
	if _, err := s.f.WriteAt(part, x.at); err != nil {
		return kv.Unavailable("storage: write a file to sort in", err)
	}
	return nil
}
