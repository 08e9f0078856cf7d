package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Instance is one Pebble store whose faults are errors. Pebble itself exits or panics when it cannot write its log or manifest. An
// instance then refuses writes with the fault and keeps serving reads until the process ends. Reopening the directory finds everything
// that was acknowledged.
type Instance struct {
	Health
	DB     *pebble.DB
	shares bool      // views share snapshots; see share
	Logged *entryLog // of a replica; else nil
	synced *Synced

	opts *pebble.Options
	fs   vfs.FS // nil if the store is not sealed when it is closed
	// closing is closed when the shard starts to close.
	closing <-chan struct{}
	// interrupt, if not nil, is closed when the process starts to shut down.
	interrupt <-chan struct{}
	// wedged is closed when Pebble's locks may be held forever, so that the store cannot be closed.
	wedged    chan struct{}
	wedgeOnce sync.Once
	guards    guards
	// splits says that ingesting a table may split tables of the lowest level.
	splits atomic.Bool
	// background is the error of the last flush or compaction, nil after a success.
	background atomic.Pointer[error]
	opened     atomic.Bool
	awaiting   atomic.Int32  // how many writes wait for disk space
	recovering chan struct{} // holds a token while awaitRoom runs, and after Close
	damaged    sync.Map      // the paths of files whose damage has been logged
	// Deleted is the size of the values whose deletion is only in memtables, and flushing the part of it that a flush is writing.
	Deleted, flushing atomic.Uint64

	// applied counts the batches; shared is the last snapshot that share has taken.
	applied atomic.Uint64
	shareMu sync.Mutex
	shared  *sharedSnapshot
	// ahead, if not nil, is an unused snapshot that was taken with batch number aheadOf.
	aheadMu sync.Mutex
	ahead   *pebble.Snapshot
	aheadOf uint64

	// Pebble reports the end of a stall before the next begins. Times are in nanoseconds.
	stalls, stalled, stalledSince atomic.Int64
	stalling                      atomic.Bool

	measuring atomic.Bool
	measured  atomic.Pointer[Stats] // of the last time
}

// Open opens the store in dir, or creates it if create is set.
func Open(o *Options, dir string, values, create bool, closing <-chan struct{}) (*Instance, error) {
	in := &Instance{shares: values, closing: closing, interrupt: o.Interrupt, wedged: make(chan struct{}), recovering: make(chan struct{}, 1)}
	in.Init(dir, o.Logger)
	p := pebbleOptions(o, values)
	in.opts = p
	if o.Logged {
		p.DisableWAL = true
		in.Logged = &entryLog{}
	}
	p.ErrorIfNotExists = !create
	p.ErrorIfExists = create
	p.Logger = in
	if o.CacheMode == CacheDirect {
		var err error
		if p.FS, err = NewDirectFS(p.FS, dir); err != nil {
			return nil, err
		}
	}
	p.FS = faultFS{blobFS{p.FS}, in}
	p.Experimental.IngestSplit = in.splits.Load
	p.EventListener = &pebble.EventListener{
		BackgroundError: in.backgroundError,
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			if _, known := in.damaged.LoadOrStore(i.Path, nil); known {
				return // every read of the file finds it
			}
			if o.Damaged != nil {
				o.Damaged(i.Path, i.Details)
			}
			if o.OnDamage != nil {
				in.Fail(fmt.Errorf("%w: file %s: %w", o.OnDamage, i.Path, i.Details))
			}
			in.Log.Error("stored data fails its checks", slog.String("store", in.Name), slog.String("path", i.Path), slog.Any("error", i.Details))
		},
		WriteStallBegin: func(pebble.WriteStallBeginInfo) {
			in.stalls.Add(1)
			in.stalling.Store(true)
			in.stalledSince.Store(time.Now().UnixNano())
		},
		WriteStallEnd: func() {
			in.stalling.Store(false)
			in.stalled.Add(time.Now().UnixNano() - in.stalledSince.Load())
		},
		FlushBegin: func(pebble.FlushInfo) { in.flushing.Store(in.Deleted.Load()) },
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err == nil {
				in.background.Store(nil)
				in.Deleted.Add(-in.flushing.Swap(0))
			}
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			if i.Err == nil && in.full() {
				in.background.Store(nil)
			}
		},
	}
	p.EventListener.EnsureDefaults(nil)
	if !create {
		if err := VerifySeal(o.FS, dir); err != nil {
			return nil, err
		}
	}
	if !o.ReadOnly {
		if err := BreakSeal(o.FS, dir); err != nil {
			return nil, err
		}
		in.fs = o.FS
	}
	db, err := in.open(dir, p)
	if err != nil {
		return nil, Damaged("open "+dir, fmt.Errorf("open %s: %w", dir, err))
	}
	in.DB = db
	in.opened.Store(true)
	if err := in.background.Load(); err != nil {
		in.backgroundError(*err)
	}
	if v := db.FormatMajorVersion(); v < pebble.FormatValueSeparation {
		return nil, errors.Join(fmt.Errorf("open %s: format version %d separates no values", dir, v), in.closeDB())
	}
	if in.Logged != nil {
		if in.Logged.Applied, in.Logged.Values, err = ReadEntryIndex(db, nil); err != nil {
			return nil, errors.Join(err, in.closeDB())
		}
	}
	if values {
		if err := checkBlobs(db, p.FS, dir); err != nil {
			return nil, errors.Join(err, in.closeDB())
		}
	}
	return in, nil
}

// NewBatch implements Store.
func (in *Instance) NewBatch() *pebble.Batch { return in.DB.NewBatch() }

// Live implements Store.
func (in *Instance) Live() pebble.Reader { return in.DB }

// Durable implements Store.
func (*Instance) Durable() bool { return false }

// open turns Pebble's panics and fatal errors into errors.
func (in *Instance) open(dir string, p *pebble.Options) (*pebble.DB, error) {
	type result struct {
		db     *pebble.DB
		synced *Synced
		err    error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- result{err: fmt.Errorf("%v", r)}
			}
		}()
		db, synced, err := OpenPebble(dir, p, in.Log)
		done <- result{db, synced, err}
	}()
	look := time.NewTicker(pause)
	defer look.Stop()
	for {
		select {
		case r := <-done:
			in.synced = r.synced
			return r.db, r.err
		case <-in.failed:
			return nil, in.Fault
		case <-look.C:
			if fault := in.background.Load(); fault != nil && in.full() && in.ends() {
				return nil, *fault
			}
		}
	}
}

func (in *Instance) backgroundError(err error) {
	if errors.Is(err, pebble.ErrCancelledCompaction) {
		return
	}
	if in.background.Swap(&err) == nil {
		log := in.Log.With(slog.String("store", in.Name), slog.Any("error", err))
		if in.full() {
			log.Error("the disk is full: the store refuses writes until there is space")
		} else {
			log.Error("background work failed")
		}
	}
	if !in.full() || !in.opened.Load() {
		return
	}
	select {
	case in.recovering <- struct{}{}:
		go func() {
			in.awaitRoom()
			<-in.recovering
		}()
	default:
	}
}

// full reports whether the last background work failed because the disk is full.
func (in *Instance) full() bool {
	err := in.background.Load()
	return err != nil && noRoom(*err)
}

// Writable implements Store.
func (in *Instance) Writable() error {
	if err := in.Health.Writable(); err != nil {
		return err
	}
	if err := in.background.Load(); err != nil {
		return Fault(in.Name+" cannot be written to now", *err)
	}
	return nil
}

// takes returns why the store refuses a write, or nil. A replica must apply the entries of its log, so on a full disk its writes wait,
// once the memtables are full, until the process shuts down.
func (in *Instance) takes() error {
	if in.Logged != nil && in.full() && !in.ends() {
		return in.Health.Writable()
	}
	return in.Writable()
}

// Apply implements Store.
func (in *Instance) Apply(b *pebble.Batch, sync, snap bool) (wait func() error, err error) {
	if err := in.takes(); err != nil {
		return nil, err
	}
	if in.Logged != nil {
		if err := in.Logged.mark(b); err != nil {
			return nil, err
		}
		sync = false
	}
	var ahead *pebble.Snapshot
	err = in.Guard(func() (err error) {
		if sync {
			err = in.DB.ApplyNoSyncWait(b, pebble.Sync)
		} else {
			err = in.DB.Apply(b, pebble.NoSync)
		}
		if snap && err == nil {
			ahead = in.DB.NewSnapshot()
		}
		return err
	})
	n := in.applied.Add(1)
	if err != nil {
		in.Fail(err)
		return nil, in.Fault
	}
	if snap {
		if err := in.keepAhead(ahead, n); err != nil {
			return nil, err
		}
	}
	if !sync {
		return func() error { return b.Close() }, nil
	}
	return func() error {
		if err := in.Guard(b.SyncWait); err != nil {
			in.Fail(err)
			return in.Fault
		}
		return b.Close()
	}, nil
}

// Close implements Store. A wedged store stays open.
func (in *Instance) Close() error {
	defer in.guards.end()
	select {
	case <-in.wedged:
		return in.Fault
	default:
	}
	if err := in.keepAhead(nil, 0); err != nil {
		return err
	}
	in.recovering <- struct{}{}
	if in.Logged != nil && in.Writable() == nil {
		// Otherwise the next start applies the entries again.
		if err := in.Guard(in.DB.Flush); err != nil {
			in.Log.Warn("flush a store before it closes", slog.String("store", in.Name), slog.Any("error", err))
		}
	}
	if err := in.closeGuarded(); err != nil || in.fs == nil || in.Writable() != nil {
		return err
	}
	// Without a seal the store reopens as after a crash.
	if err := Seal(in.fs, in.Name); err != nil {
		in.Log.Warn("cannot seal a closed store", slog.String("store", in.Name), slog.Any("error", err))
	}
	return nil
}

// closeGuarded closes a store that may have failed, unless it is wedged.
func (in *Instance) closeGuarded() error {
	done := make(chan error, 1)
	go func() { done <- in.try(in.closeDB) }()
	select {
	case err := <-done:
		return err
	case <-in.wedged:
		return in.Fault
	}
}

func (in *Instance) closeDB() error { return errors.Join(in.DB.Close(), in.synced.Close()) }

// CheckLogs verifies the logs and manifests; see Synced.Check.
func (in *Instance) CheckLogs(bad func(file string, err error)) error { return in.synced.Check(bad) }

// Infof implements pebble.Logger. It drops messages that only help to debug Pebble.
func (in *Instance) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (in *Instance) Errorf(format string, args ...any) {
	in.Log.Error("pebble", slog.String("store", in.Name), slog.String("error", fmt.Sprintf(format, args...)))
}

// Fatalf implements pebble.Logger. It blocks its caller, whose state is broken and who may hold locks; the process continues.
func (in *Instance) Fatalf(format string, args ...any) {
	in.wedge(fmt.Errorf(format, args...))
	select {}
}

// probeSeparation checks that these options separate large values.
func probeSeparation(o *Options) error {
	probe := *o
	probe.FS, probe.ReadOnly, probe.CacheMode = vfs.NewMem(), false, CacheBlocks
	in, err := Open(&probe, "probe", true, true, nil)
	if err != nil {
		return err
	}
	err = in.DB.Set([]byte("probe"), make([]byte, o.ValueThreshold+8), pebble.NoSync)
	if err == nil {
		err = in.DB.Flush()
	}
	if err == nil && in.DB.Metrics().BlobFiles.LiveCount == 0 {
		err = fmt.Errorf("storage: a value of %d bytes was not separated", o.ValueThreshold)
	}
	return errors.Join(err, in.Close())
}

var probed sync.Map // of value thresholds

// AssertSeparation checks, once for each threshold, that large values are separated.
func AssertSeparation(o *Options) error {
	if _, ok := probed.Load(o.ValueThreshold); ok {
		return nil
	}
	if err := probeSeparation(o); err != nil {
		return err
	}
	probed.Store(o.ValueThreshold, true)
	return nil
}

// keepAhead stores a snapshot that was taken with batch n, and closes an earlier one that nothing has used.
func (in *Instance) keepAhead(s *pebble.Snapshot, n uint64) error {
	in.aheadMu.Lock()
	old := in.ahead
	in.ahead, in.aheadOf = s, n
	in.aheadMu.Unlock()
	if old == nil {
		return nil
	}
	return in.Guard(old.Close)
}

// Snapshot implements Store.
func (in *Instance) Snapshot() (pebble.Reader, error) {
	if in.shares {
		return in.share()
	}
	return in.newSnapshot()
}

// newSnapshot returns the snapshot that was taken with the last batch, or takes one.
func (in *Instance) newSnapshot() (snap *pebble.Snapshot, err error) {
	in.aheadMu.Lock()
	if in.ahead != nil && in.aheadOf == in.applied.Load() {
		snap, in.ahead = in.ahead, nil
	}
	in.aheadMu.Unlock()
	if snap != nil {
		return snap, nil
	}
	var taken *pebble.Snapshot
	err = in.Guard(func() error {
		taken = in.DB.NewSnapshot()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// sharedSnapshot is a snapshot that several views share because nothing was applied between them.
type sharedSnapshot struct {
	*pebble.Snapshot
	in      *Instance
	applied uint64 // when it was taken
	refs    int    // under in.shareMu
}

// share takes a snapshot, or returns the last one if it is still open and nothing was applied since. Only Apply may write to the store,
// and the caller ensures that no batch is being applied.
func (in *Instance) share() (*sharedSnapshot, error) {
	in.shareMu.Lock()
	defer in.shareMu.Unlock()
	applied := in.applied.Load()
	if s := in.shared; s != nil && s.refs > 0 && s.applied == applied {
		s.refs++
		return s, nil
	}
	snap, err := in.newSnapshot()
	if err != nil {
		return nil, err
	}
	in.shared = &sharedSnapshot{snap, in, applied, 1}
	return in.shared, nil
}

// Close implements pebble.Reader.
func (s *sharedSnapshot) Close() error {
	s.in.shareMu.Lock()
	s.refs--
	last := s.refs == 0
	s.in.shareMu.Unlock()
	if !last {
		return nil
	}
	return s.in.Guard(s.Snapshot.Close)
}

// Flush implements Store. It returns when a flush fails, while Pebble keeps retrying.
func (in *Instance) Flush(ctx context.Context) error {
	if err := in.takes(); err != nil {
		return err
	}
	var done <-chan struct{}
	err := in.Guard(func() (err error) {
		done, err = in.DB.AsyncFlush()
		return err
	})
	if err != nil {
		return err
	}
	look := time.NewTicker(pause)
	defer look.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return Alive(ctx)
		case <-look.C:
			if err := in.takes(); err != nil {
				return err
			}
		}
	}
}
