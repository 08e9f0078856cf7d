package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
)

// Synced records how far the logs and manifests of a Pebble store are synced. Pebble (v2.1.7) takes the first damaged record of a
// manifest, or of the last log unless a later block proves that it was synced, for a write torn by a crash, and drops the rest. Synced
// reads each file before Pebble replays it, and refuses it if a synced part is damaged.
//
// The record is a file. It is written after each sync of a log or manifest and before the sync is reported, but never synced itself, so
// it costs a write to the page cache. It is exact after the process has died. After a power failure it may be out of date; what each chunk
// says of those before it then still proves all damage except in the last sync.
type Synced struct {
	fs  vfs.FS
	dir string
	log *slog.Logger

	mu      sync.Mutex
	ends    []fileEnd
	file    vfs.File // nil before the first write
	buf     []byte
	failed  bool // the last write
	replays bool // Pebble opens the store
}

// fileEnd is the offset up to which a file is synced.
type fileEnd struct {
	file uint64 // its number, doubled, and one for a manifest
	end  int64
}

func (e fileEnd) name() string {
	if e.file&1 == 1 {
		return fmt.Sprintf("MANIFEST-%06d", e.file>>1)
	}
	return fmt.Sprintf("%06d.log", e.file>>1)
}

// syncedName is the record: a CRC-32C of what follows, the number of files, and the two numbers of each, little-endian.
const syncedName = "SYNCED"

// OpenPebble opens a Pebble store and verifies its logs and manifests by the record of what was synced. The caller closes the record after
// the store. The first log of a new store gets no writes, since its format does not prove damage.
func OpenPebble(dir string, p *pebble.Options, log *slog.Logger) (*pebble.DB, *Synced, error) {
	s := &Synced{fs: p.FS, dir: p.FS.PathJoin(dir), log: log, replays: true}
	p.FS = syncedFS{p.FS, s}
	if !p.ReadOnly && !p.ErrorIfNotExists {
		if err := s.fs.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, err
		}
	}
	old, err := pebble.Peek(dir, s.fs)
	if err == nil {
		err = s.load()
	}
	if err != nil {
		return nil, nil, err
	}
	db, err := pebble.Open(dir, p)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	s.mu.Lock()
	s.replays = false
	s.mu.Unlock()
	if (!old.Exists || old.FormatMajorVersion < pebble.FormatWALSyncChunks) && !p.ReadOnly && !p.DisableWAL {
		if err := db.Flush(); err != nil {
			return nil, nil, errors.Join(err, db.Close(), s.Close())
		}
	}
	return db, s, nil
}

// load reads the record.
func (s *Synced) load() error {
	name := s.fs.PathJoin(s.dir, syncedName)
	b, err := readFile(s.fs, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		ok := false
		if s.ends, ok = readEnds(b); !ok {
			s.log.Warn("the record of what was synced is damaged; damage in the last write to a log or manifest cannot be told from a torn write",
				slog.String("path", name))
		}
	}
	names, err := s.fs.List(s.dir)
	if err != nil {
		return err
	}
	last := uint64(0) // the last log
	for _, name := range names {
		if file, ok := syncedFileOf(name); ok && file&1 == 0 {
			last = max(last, file)
		}
	}
	for _, e := range s.ends {
		if e.file&1 == 0 && e.file > last && e.end > 0 {
			return graph.CorruptError("storage: open "+s.dir, fmt.Errorf("file %s is missing; %d bytes of it were synced", e.name(), e.end))
		}
	}
	s.ends = slices.DeleteFunc(s.ends, func(e fileEnd) bool {
		return !slices.ContainsFunc(names, func(name string) bool { file, ok := syncedFileOf(name); return ok && file == e.file })
	})
	return nil
}

// readEnds decodes a record.
func readEnds(b []byte) (ends []fileEnd, ok bool) {
	if len(b) == 0 { // a crash just after its creation
		return nil, true
	}
	if len(b) < 8 {
		return nil, false
	}
	n := int64(binary.LittleEndian.Uint32(b[4:]))
	if int64(len(b)) < 8+16*n || crc32.Checksum(b[4:8+16*n], castagnoli) != binary.LittleEndian.Uint32(b) {
		return nil, false
	}
	for b = b[8 : 8+16*n]; len(b) > 0; b = b[16:] {
		ends = append(ends, fileEnd{binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:]))})
	}
	return ends, true
}

// write writes the record. A fault only leaves it out of date.
func (s *Synced) write() {
	name := s.fs.PathJoin(s.dir, syncedName)
	var err error
	if s.file == nil {
		s.file, err = s.fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	}
	s.buf = binary.LittleEndian.AppendUint32(append(s.buf[:0], 0, 0, 0, 0), uint32(len(s.ends)))
	for _, e := range s.ends {
		s.buf = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(s.buf, e.file), uint64(e.end))
	}
	binary.LittleEndian.PutUint32(s.buf, crc32.Checksum(s.buf[4:], castagnoli))
	if err == nil {
		_, err = s.file.WriteAt(s.buf, 0)
	}
	if err != nil && !s.failed {
		s.log.Warn("cannot record what is synced", slog.String("path", name), slog.Any("error", err))
	}
	s.failed = err != nil
}

// note records that a file is synced up to an offset.
func (s *Synced) note(file uint64, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.ends, func(e fileEnd) bool { return e.file == file }); i >= 0 {
		s.ends[i].end = end
	} else {
		s.ends = append(s.ends, fileEnd{file, end})
	}
	s.write()
}

// forget drops a file that is removed or overwritten.
func (s *Synced) forget(name string) {
	file, ok := s.owns(name)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = slices.DeleteFunc(s.ends, func(e fileEnd) bool { return e.file == file })
}

// endOf returns the offset up to which a file was synced, if known.
func (s *Synced) endOf(file uint64) (end int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.ends, func(e fileEnd) bool { return e.file == file })
	if i < 0 {
		return 0, false
	}
	return s.ends[i].end, true
}

// owns returns the number of a file if it is a log or manifest of the store.
func (s *Synced) owns(name string) (file uint64, ok bool) {
	if s.fs.PathDir(name) != s.dir {
		return 0, false
	}
	return syncedFileOf(path.Base(name))
}

// syncedFileOf returns the number of a file if its name is that of a log or manifest.
func syncedFileOf(name string) (file uint64, ok bool) {
	manifest := uint64(0)
	digits, ok := strings.CutSuffix(name, ".log")
	if !ok {
		if digits, ok = strings.CutPrefix(name, "MANIFEST-"); !ok {
			return 0, false
		}
		manifest = 1
	}
	n, err := strconv.ParseUint(digits, 10, 62)
	return n<<1 | manifest, err == nil
}

// Check verifies the logs and manifests of an open store, and calls bad for each damaged one.
func (s *Synced) Check(bad func(file string, err error)) error {
	s.mu.Lock()
	ends := slices.Clone(s.ends)
	s.mu.Unlock()
	for _, e := range ends {
		name := e.name()
		_, err := s.verify(s.fs.PathJoin(s.dir, name), e.file, e.end)
		if _, known := s.endOf(e.file); err == nil || !known {
			continue // or it was removed meanwhile
		}
		if !IsDamage(err) {
			return err
		}
		bad(name, err)
	}
	return nil
}

// verify reads a file that is synced at least up to an offset.
func (s *Synced) verify(name string, file uint64, end int64) (fileTail, error) {
	f, err := s.fs.Open(name)
	if err != nil {
		return fileTail{}, err
	}
	t, err := readTail(f, file, end)
	if err = errors.Join(err, f.Close()); err != nil {
		return t, err
	}
	if t.damaged {
		return t, graph.CorruptError("storage: read "+name, fmt.Errorf(
			"file %s is damaged at offset %d, although it was synced up to offset %d or further; commits may be missing", name, t.at, max(end, t.proof)))
	}
	return t, nil
}

// Close closes the record.
func (s *Synced) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// syncedFS notes the syncs of logs and manifests, and verifies those that Pebble replays.
type syncedFS struct {
	vfs.FS
	s *Synced
}

// Create implements vfs.FS.
func (fs syncedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs.s.forget(name)
	f, err := fs.FS.Create(name, category)
	return fs.follow(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (fs syncedFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs.s.forget(old)
	fs.s.forget(name)
	f, err := fs.FS.ReuseForWrite(old, name, category)
	return fs.follow(name, f, err)
}

func (fs syncedFS) follow(name string, f vfs.File, err error) (vfs.File, error) {
	if file, ok := fs.s.owns(name); ok && err == nil {
		return &syncedFile{File: f, s: fs.s, file: file}, nil
	}
	return f, err
}

// Remove implements vfs.FS.
func (fs syncedFS) Remove(name string) error {
	fs.s.forget(name)
	return fs.FS.Remove(name)
}

// Open implements vfs.FS.
func (fs syncedFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if file, ok := fs.s.owns(name); ok {
		fs.s.mu.Lock()
		replays := fs.s.replays
		fs.s.mu.Unlock()
		if replays {
			end, _ := fs.s.endOf(file)
			t, err := fs.s.verify(name, file, end)
			if err != nil {
				return nil, err
			}
			if t.torn > 0 {
				fs.s.log.Warn("a crash interrupted the last write to a file; dropping the partial write, which was never acknowledged",
					slog.String("path", name), slog.Int64("offset", t.at), slog.Int64("bytes", t.torn))
			}
		}
	}
	return fs.FS.Open(name, opts...)
}

// Unwrap implements vfs.FS.
func (fs syncedFS) Unwrap() vfs.FS { return fs.FS }

// syncedFile is a log or manifest that is being written. Pebble writes and syncs it from one goroutine at a time.
type syncedFile struct {
	vfs.File
	s              *Synced
	file           uint64
	written, noted int64
}

// Write implements vfs.File.
func (f *syncedFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.written += int64(n)
	return n, err
}

func (f *syncedFile) note(err error) error {
	if err == nil && f.noted < f.written {
		f.noted = f.written
		f.s.note(f.file, f.written)
	}
	return err
}

// Sync implements vfs.File.
func (f *syncedFile) Sync() error { return f.note(f.File.Sync()) }

// SyncData implements vfs.File.
func (f *syncedFile) SyncData() error { return f.note(f.File.SyncData()) }

// SyncTo implements vfs.File.
func (f *syncedFile) SyncTo(length int64) (full bool, err error) {
	if full, err = f.File.SyncTo(length); full {
		err = f.note(err)
	}
	return full, err
}

func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}
