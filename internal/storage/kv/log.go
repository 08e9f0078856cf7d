package kv

// logFile is a log. What is written to it is held until a sync and then put on the disk by one write, past the page cache
// where the file system allows that, which ends when the bytes are durable: a write and a sync of the page cache take the
// disk longer. As such writes are of whole blocks, the last one is written again with what follows it, and until then has
// zeros behind its end.
//
// A log is written over zeros: a sync of bytes that have their place in the file already is that of the bytes alone, where
// one of a file that grows is a commit of the file system's journal too. A reader takes the first
// zeros for the end of a log. There are as many of them ahead as the log is long, within bounds, so the log of a graph
// without writers stays small.
type logFile struct {
	faultFile
	held   []byte // aligned; what the file has from the offset start on
	start  int64  // a multiple of directAlign
	synced int    // how many of the bytes of held are on the disk
	size   int64  // where the file ends
	direct bool
}

// The zeros that are put ahead of a log at a time, in bytes.
const leastAhead, mostAhead = 16 << 10, 1 << 20

// mostHeld is how many bytes are held at most until a sync.
const mostHeld = 1 << 20

var zeros = aligned(mostAhead)

// newLogFile makes the log of a file of size bytes, whose content it takes for none.
func newLogFile(f faultFile, size int64) *logFile {
	l := &logFile{faultFile: f, held: aligned(leastAhead)[:0], size: size}
	if fd := f.Fd(); setDirect(fd, true) == nil {
		// A file system that does not write so says so now.
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
		// Without them, which a full disk has no room for, the log is slower, not worse.
		ahead := min(max(end, leastAhead), mostAhead) &^ (directAlign - 1)
		m, _ := f.WriteAt(zeros[:ahead], end)
		f.size = end + int64(m)
	}
	// All that is not durable is in blocks, so a second try writes all of it.
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

// Preallocate implements vfs.File: Sync sees to the room.
func (f *logFile) Preallocate(offset, length int64) error { return nil }
