package kv

import (
	"errors"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// faultFS sits between Pebble and the file system and hides the faults that Pebble does not survive.
//
// If it cannot write its log or manifest, Pebble exits, or panics while it holds locks that readers need. It also panics if it cannot
// finish a blob file (v2.1.7: blob.FileWriter.Close aborts what is closed). It holds none of these locks during the write itself. So a
// fault of such a file stops the instance's writes and never returns to Pebble: the writing goroutine blocks forever, and readers go on.
// A full disk is different: the write waits for space, and so do the commits in it, while new commits are refused.
//
// Pebble retries a failed flush without a pause, so faultFS delays the creation of tables after background work has failed.
type faultFS struct {
	vfs.FS
	in *Instance
}

// pause is how long to wait after a fault.
const pause = 200 * time.Millisecond

// Create implements vfs.FS.
func (fs faultFS) Create(name string, category vfs.DiskWriteCategory) (f vfs.File, err error) {
	base := path.Base(name)
	switch {
	case !fs.owns(name):
	case path.Ext(base) == ".log":
		_ = fs.in.await(func() error {
			f, err = fs.FS.Create(name, category)
			return err
		})
		return newLogFile(faultFile{f, fs.in, false}, 0), nil
	case path.Ext(base) == ".blob", strings.HasPrefix(base, "MANIFEST-"), strings.HasPrefix(base, "marker."):
		err = fs.in.await(func() error {
			f, err = fs.FS.Create(name, category)
			return err
		})
		return faultFile{f, fs.in, true}, err
	case fs.in.background.Load() != nil:
		fs.in.wait()
	}
	return fs.FS.Create(name, category)
}

// owns reports whether a file belongs to the store. Those of a checkpoint do not: its caller gets their faults.
func (fs faultFS) owns(name string) bool { return fs.PathDir(name) == fs.in.Name }

// ReuseForWrite implements vfs.FS. Pebble reuses only logs.
func (fs faultFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(old, name, category)
	if err = fs.in.stop(err); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err = fs.in.stop(err); err != nil {
		return nil, err
	}
	return newLogFile(faultFile{f, fs.in, false}, info.Size()), nil
}

// OpenDir implements vfs.FS.
func (fs faultFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if name != fs.in.Name {
		return f, err
	}
	return faultFile{f, fs.in, false}, err
}

// Unwrap implements vfs.FS.
func (fs faultFS) Unwrap() vfs.FS { return fs.FS }

// faultFile is a file whose faults are hidden from Pebble.
type faultFile struct {
	vfs.File
	in     *Instance
	awaits bool // space on a full disk
}

// Write implements vfs.File.
func (f faultFile) Write(b []byte) (n int, err error) {
	if !f.awaits {
		n, err = f.File.Write(b)
		return n, f.in.stop(err)
	}
	err = f.in.await(func() error {
		m, err := f.File.Write(b[n:])
		n += m
		return err
	})
	return n, err
}

// Sync implements vfs.File. It does not retry, since the kernel may have dropped what a failed sync did not write.
func (f faultFile) Sync() error { return f.in.stop(f.File.Sync()) }

// SyncData implements vfs.File.
func (f faultFile) SyncData() error { return f.in.stop(f.File.SyncData()) }

// SyncTo implements vfs.File.
func (f faultFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.in.stop(err)
}

// Close implements vfs.File.
func (f faultFile) Close() error { return f.in.stop(f.File.Close()) }

// stop returns nil if err is nil; otherwise it stops the instance's writes and blocks forever.
func (in *Instance) stop(err error) error {
	if err == nil {
		return nil
	}
	in.wedge(err)
	select {}
}

// wedge stops the instance's writes when Pebble may hold its locks forever.
func (in *Instance) wedge(err error) {
	in.Fail(err)
	in.wedgeOnce.Do(func() { close(in.wedged) })
}

// noRoom reports whether an error means that the disk or the quota is full.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// NoteFull makes the instance refuse writes until there is space if err, from writing a table outside of Pebble, says that the disk is full.
func (in *Instance) NoteFull(err error) {
	if noRoom(err) {
		in.backgroundError(err)
	}
}

// await runs op, and on a full disk retries it until there is space.
func (in *Instance) await(op func() error) error {
	err := op()
	if noRoom(err) {
		in.awaiting.Add(1)
		defer in.awaiting.Add(-1)
	}
	for noRoom(err) {
		in.backgroundError(err)
		if !in.wait() {
			break
		}
		if err = op(); err == nil {
			in.background.Store(nil)
		}
	}
	return in.stop(err)
}

// wait pauses, and returns false if the instance is closing.
func (in *Instance) wait() bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-in.closing:
		return false
	case <-in.interrupt:
		return false
	}
}

// ends reports whether the process is shutting down.
func (in *Instance) ends() bool {
	select {
	case <-in.interrupt:
		return true
	default:
		return false
	}
}

// roomBytes is how much space a full disk must regain before the store accepts writes again.
const roomBytes = 1 << 20

// awaitRoom waits until a full disk has space again. Waiting writes and flushes, which Pebble retries, find out by themselves; if a
// compaction failed, there may be neither, so awaitRoom checks. When the process shuts down, it stops writes that wait in Pebble for a
// flush.
func (in *Instance) awaitRoom() {
	for look := time.Tick(pause); in.full() && in.Health.Writable() == nil; {
		closing := false
		select {
		case <-look:
		case <-in.closing:
			closing = true
		}
		if (closing || in.ends()) && in.stalling.Load() {
			in.wedge(*in.background.Load())
		}
		if closing {
			return
		}
		flushes := false
		err := in.Guard(func() error {
			m := in.DB.Metrics()
			flushes = m.Flush.NumInProgress > 0 || m.MemTable.Count > 1
			return nil
		})
		if err == nil && !flushes && in.awaiting.Load() == 0 && in.hasRoom() == nil {
			in.background.Store(nil)
		}
	}
}

// hasRoom writes a file of roomBytes and removes it.
func (in *Instance) hasRoom() error {
	name := in.fs.PathJoin(in.Name, "room.tmp")
	f, err := in.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, roomBytes)) // which a file may overwrite, see vfs.File
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), in.fs.Remove(name))
}
