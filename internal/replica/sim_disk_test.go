package replica

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// simDisk is what is wrong with the disk of a node's log: it is full, or a sync takes long. Meanwhile the goroutine of the node's
// replicas waits, as that of a Host does: no time passes for them, and what arrives waits.
type simDisk struct {
	n      *simNode
	lacks  bool        // space, for the next write
	full   atomic.Bool // writes of the WAL fail
	hold   atomic.Bool // the next sync of the WAL takes long, or its next write if it is full
	held   chan struct{}
	resume chan struct{}
	done   chan struct{} // closed when the replicas have gone on; nil if they do not wait
	until  time.Duration
	tasks  []func()
}

// repair makes the disk whole.
func (d *simDisk) repair() {
	d.lacks = false
	d.full.Store(false)
	d.hold.Store(false)
	d.held, d.resume = make(chan struct{}), make(chan struct{})
	d.until, d.tasks = 0, nil
}

// inject is what the disk does to an operation of the log store.
func (d *simDisk) inject(op errorfs.Op) error {
	if !strings.HasSuffix(op.Path, ".log") {
		return nil
	}
	sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	switch {
	case d.full.Load() && (sync || op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpFileWriteAt):
		if d.hold.CompareAndSwap(true, false) {
			d.held <- struct{}{}
		}
		return syscall.ENOSPC
	case sync && d.hold.CompareAndSwap(true, false):
		d.held <- struct{}{}
		<-d.resume
	}
	return nil
}

// slow makes the next sync of the replicas take between 50 ms and 30 s.
func (d *simDisk) slow() {
	if !d.busy() {
		d.until = d.n.sim.now + 50*time.Millisecond + time.Duration(d.n.sim.rng.IntN(30_000)>>d.n.sim.rng.IntN(6))*time.Millisecond
	}
}

// busy reports whether the replicas wait for the disk.
func (d *simDisk) busy() bool { return d.done != nil }

// release ends a sync that takes long, or makes space.
func (d *simDisk) release() {
	if d.busy() {
		if !d.full.CompareAndSwap(true, false) {
			d.resume <- struct{}{}
		}
		<-d.done
		d.done = nil
	}
}

// do has the node's replicas do something, after the sync that they wait for.
func (n *simNode) do(f func()) {
	switch d := &n.disk; {
	case !d.busy():
		f()
	case len(d.tasks) < hostedTasks:
		d.tasks = append(d.tasks, f)
	}
}

// process has the node's replicas do all that there is to do, and reports whether they have.
func (n *simNode) process() bool {
	d := &n.disk
	if d.busy() {
		if n.sim.now < d.until && !n.sim.calm {
			return false
		}
		d.release()
		tasks := d.tasks
		d.tasks = nil
		if n.left == nil {
			for _, f := range tasks {
				f()
			}
		}
	}
	var errs []error
	all := func() {
		for _, g := range n.groups {
			errs = append(errs, g.Process())
		}
	}
	if n.sim.now >= d.until || n.sim.calm {
		all()
	} else {
		done := make(chan struct{})
		d.hold.Store(true)
		d.full.Store(d.lacks)
		go func() { defer close(done); all() }()
		select {
		case <-d.held:
			if d.lacks {
				n.sim.count["full disks"]++
			} else {
				n.sim.count["long syncs"]++
			}
			d.lacks, d.done = false, done
			return false
		case <-done:
			d.hold.Store(false)
			d.full.Store(false)
		}
	}
	for _, err := range errs {
		n.check(err)
	}
	return true
}

// check expects an error of a replica to follow from damage of the node's log.
func (n *simNode) check(err error) {
	if err == nil || n.left != nil {
		return
	}
	require.ErrorIs(n.sim.t, err, ErrStopped)
	require.ErrorIs(n.sim.t, n.store.Err(), ErrDamaged, "%v", err)
}

// openLog opens the log store in some files. It returns what the logs have, without the data of entries.
func (n *simNode) openLog(fs vfs.FS) (store *LogStore, logs []logModel, err error) {
	fs = errorfs.Wrap(fs, errorfs.InjectorFunc(n.disk.inject))
	if store, err = OpenLogStore(LogStoreOptions{Dir: "log", FS: fs, MemtableBytes: 256 << 10, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, nil, err
	}
	for g := range n.sim.groups {
		l, err := store.Log(g, n.replica())
		if err != nil {
			return nil, nil, errors.Join(err, store.Close())
		}
		m := logModel{hard: l.hard}
		for at := l.first - 1; at <= l.last; at++ {
			term, err := l.Term(at)
			require.NoError(n.sim.t, err)
			m.entries = append(m.entries, entry(at, term, ""))
		}
		logs = append(logs, m)
	}
	return store, logs, nil
}

// damage damages a file of the log while the node is down, and reports whether its replicas may go on: with damage they must be replaced.
// Damage that is not detected is of the kind that looks like a write that the crash has interrupted.
func (n *simNode) damage() (usable bool) {
	s := n.sim
	clone := func() *vfs.MemFS { return n.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: s.rng}) }
	names, err := n.fs.List("log")
	require.NoError(s.t, err)
	slices.Sort(names)
	_, err = n.fs.Stat("log/SEAL")
	closed := err == nil
	kinds := []string{".log", ".sst", "MANIFEST"}
	kind := kinds[s.rng.IntN(len(kinds))]
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, kind) })
	if len(names) == 0 {
		return true
	}
	path := "log/" + names[len(names)-1]
	size := int64(len(bytes.TrimRight(readFile(s.t, n.fs, path), "\x00"))) // a WAL has zeros ahead
	if size == 0 {
		return true
	}
	at, cut := s.rng.Int64N(size), s.rng.IntN(2) == 0
	store, was, err := n.openLog(clone())
	require.NoError(s.t, err)
	require.NoError(s.t, store.Close())
	damaged := clone()
	damageFile(s.t, damaged, path, at, cut)
	store, are, err := n.openLog(damaged)
	if err != nil {
		s.count["damaged logs"]++
		return false
	}
	require.NoError(s.t, store.Close())
	if reflect.DeepEqual(was, are) {
		s.count["harmless damage"]++
		n.fs = damaged
		return true
	}
	what := fmt.Sprintf("%s of %d bytes at %d, cut %v", path, size, at, cut)
	require.False(s.t, closed, what)
	require.NotEqual(s.t, ".sst", kind, what)
	const write = 96 << 10 // more than one of the simulation, with the block that it begins in
	require.True(s.t, cut || at >= size-write, what)
	s.count["damage taken for a torn write"]++
	return false
}

// TestForgottenEntries has a replica forget entries that it has acknowledged, as after a crash with a WAL that is cut short. The heartbeat
// of the leader that has the acknowledgement names one of them, and stops the replica.
func TestForgottenEntries(t *testing.T) {
	s := newSimulation(t, 1, 3)
	s.calm = true
	leader := s.leader(0)
	for range 20 {
		s.propose(leader, 0)
		s.step()
	}
	for range 50 {
		s.step()
	}
	n := s.nodes[(leader.id+1)%3]
	l := n.groups[0].log
	last := l.last
	require.Equal(t, last, leader.groups[0].node.Status().Progress[n.replica()].Match)
	n.stop(true)
	store, _, err := n.openLog(n.fs)
	require.NoError(t, err)
	l, err = store.Log(0, n.replica())
	require.NoError(t, err)
	b := store.db.NewBatch()
	hard := hardState(l.hard.GetTerm(), l.hard.GetVote(), last-3)
	require.NoError(t, errors.Join(l.append(b, hard, nil), b.DeleteRange(l.entryKey(last-2), l.key(endKind), nil), store.apply(b, true), store.Close()))
	n.start()
	require.Equal(t, last-3, n.groups[0].log.last)
	s.queue = nil
	for tick := 0; n.groups[0].fault == nil; tick++ {
		require.Less(t, tick, ElectionTicks)
		require.NoError(t, leader.groups[0].Tick())
		require.NoError(t, leader.groups[0].Process())
		s.now += TickInterval
		for _, m := range s.queue {
			pm := &pb.Message{}
			require.NoError(t, proto.Unmarshal(m.bytes, pm))
			if m.to == n.id && m.from == leader.id && m.group == 0 {
				_ = n.groups[0].Step(pm)
			}
		}
		s.queue = nil
	}
	require.ErrorContains(t, n.groups[0].fault, "Was the raft log corrupted, truncated, or lost?")
	s.end()
}
