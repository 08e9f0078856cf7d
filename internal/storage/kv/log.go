package kv

// logFile is a log. It buffers writes until a sync and then writes them at once, with O_DIRECT where the file system allows that, and
// durably: a write to the page cache and a sync take longer. Direct writes consist of whole blocks, so the last block is padded with zeros
// and written again together with what follows.
//
// A log is preallocated with zeros, since syncing a file that grows also commits the file system's journal. Readers take the first zeros
// for the end of the log. The preallocation grows with the log, within bounds, so that the log of a graph without writers stays small.
type logFile struct {
	faultFile
	held   []byte // aligned: the bytes of the file from offset start on
	start  int64  // a multiple of directAlign
	synced int    // how many of the bytes of held are on the disk
	size   int64  // of the file
	direct bool
}

// The bounds of one preallocation, in bytes.
const leastAhead, mostAhead = 16 << 10, 1 << 20

// mostHeld is the maximum size of the buffer.
const mostHeld = 1 << 20

var zeros = aligned(mostAhead)

// newLogFile makes an empty log of a file of size bytes, which it overwrites.
func newLogFile(f faultFile, size int64) *logFile {
	l := &logFile{faultFile: f, held: aligned(leastAhead)[:0], size: size}
	if fd := f.Fd(); setDirect(fd, true) == nil {
		// A file system without direct writes fails here.
		if l.direct = writeDirect(fd, zeros[:directAlign], 0) == nil; l.direct {
			l.size = max(size, directAlign)
		} else {
			_ = setDirect(fd, false)
		}
	}
	return l
}

// Write implements vfs.File.
func (f *logFile) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		if len(f.held) == mostHeld {
			if err := f.Sync(); err != nil {
				return 0, err
			}
		}
		n := min(len(b), mostHeld-len(f.held))
		if need := len(f.held) + n; need > cap(f.held) {
			grown := aligned(min(max(2*cap(f.held), (need+directAlign-1)&^(directAlign-1)), mostHeld))
			f.held = grown[:copy(grown, f.held)]
		}
		f.held, b = append(f.held, b[:n]...), b[n:]
	}
	return written, nil
}

// Sync implements vfs.File.
func (f *logFile) Sync() error {
	n := len(f.held)
	if n == f.synced {
		return nil
	}
	blocks := f.held[:(n+directAlign-1)&^(directAlign-1)]
	clear(blocks[n:])
	if end := f.start + int64(len(blocks)); end > f.size {
		// On a full disk this fails, which only makes the log slower.
		ahead := min(max(end, leastAhead), mostAhead) &^ (directAlign - 1)
		m, _ := f.WriteAt(zeros[:ahead], end)
		f.size = end + int64(m)
	}
	// The blocks hold everything that is not durable, so a retry writes all of it.
	err := f.in.await(func() error {
		if f.direct {
			return writeDirect(f.Fd(), blocks, f.start)
		}
		if _, err := f.WriteAt(blocks, f.start); err != nil {
			return err
		}
		return f.File.SyncData()
	})
	if err != nil {
		return err
	}
	whole := n &^ (directAlign - 1)
	f.synced = copy(f.held, f.held[whole:n])
	f.held = f.held[:f.synced]
	f.start += int64(whole)
	return nil
}

// SyncData implements vfs.File.
func (f *logFile) SyncData() error { return f.Sync() }

// SyncTo implements vfs.File.
func (f *logFile) SyncTo(int64) (bool, error) { return true, f.Sync() }

// Close implements vfs.File.
func (f *logFile) Close() error {
	if err := f.Sync(); err != nil {
		return err
	}
	return f.faultFile.Close()
}

// Preallocate implements vfs.File. Sync does the work.
func (f *logFile) Preallocate(offset, length int64) error { return nil }
