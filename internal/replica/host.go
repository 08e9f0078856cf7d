package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
)

// Host runs the replicas of a process, each in a goroutine of its own, over one log store.
type Host struct {
	o       HostOptions
	running sync.WaitGroup

	mu     sync.Mutex
	groups map[uint32]*hosted
	closed bool

	met sync.Map // StoreID by member, see LogStore.Meet
}

// HostOptions configure a host.
type HostOptions struct {
	Store *LogStore
	// Send passes messages of a group on to other processes, see GroupOptions. It may be nil if all groups have one member.
	Send func(group uint32, messages []*pb.Message)
	// Behind is called when a replica has to be seeded, by Install; see GroupOptions.
	Behind   func(group uint32, leader, index uint64)
	CutBytes int          // see GroupOptions
	Logger   *slog.Logger // default slog.Default()
}

// hosted is a replica that runs.
type hosted struct {
	tasks chan func(g *Group)
	stop  chan struct{}
	done  chan struct{} // closed when the replica has stopped

	// Only its goroutine uses g, but for Leased. It changes when the replica is seeded.
	g    atomic.Pointer[Group]
	open func(l *Log) (*Group, error)
	log  func() (*Log, error)
	// Only the goroutine uses the rest.
	replica  uint64
	state    State
	admitted bool // takes part; else no time passes and no message arrives

	mu      sync.Mutex
	status  GroupStatus
	role    Role
	changed chan struct{} // closed when role changes
	fault   error
}

// Role is who leads a group, as one of its replicas knows it.
type Role struct {
	Term   uint64
	Leader uint64 // 0 if the replica knows none
	Leads  bool   // this replica is the leader
}

// hostedTasks is how many proposals, reads and messages wait for a replica before their callers do.
const hostedTasks = 256

// NewHost returns a host without replicas. The caller closes the store after the host.
func NewHost(o HostOptions) *Host {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Host{o: o, groups: map[uint32]*hosted{}}
}

// Start opens a replica of a group and runs it until the host closes. See GroupOptions. A replica that is the only member leads when
// Start returns, and its state has all of the log. A replica with an empty log, which it may have lost, takes part from Admit or Begin on.
func (h *Host) Start(group uint32, replica uint64, members []uint64, state State) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrStopped
	case h.groups[group] != nil:
		return fmt.Errorf("replica: group %d runs already", group)
	}
	start := time.Now()
	r := &hosted{tasks: make(chan func(g *Group), hostedTasks), stop: make(chan struct{}), done: make(chan struct{}), changed: make(chan struct{}), replica: replica, state: state}
	r.log = func() (*Log, error) { return h.o.Store.Log(group, r.replica) }
	r.open = func(l *Log) (*Group, error) {
		return OpenGroup(GroupOptions{
			Group: group, Replica: r.replica, Members: slices.Clone(members), Log: l, State: r.state, CutBytes: h.o.CutBytes, Logger: h.o.Logger,
			Send: func(messages []*pb.Message) {
				if h.o.Send != nil {
					h.o.Send(group, messages)
				}
			},
			Behind: func(leader, index uint64) {
				if h.o.Behind != nil {
					h.o.Behind(group, leader, index)
				}
			},
			Clock: func() time.Duration { return time.Since(start) },
		})
	}
	l, err := r.log()
	if err != nil {
		return err
	}
	r.admitted = l.hard != nil
	g, err := r.open(l)
	if err != nil {
		return err
	}
	if g.alone() { // it leads, with all of its log applied, once it has written that it does
		r.admitted = true
		if err := g.Process(); err != nil {
			return err
		}
	}
	r.g.Store(g)
	r.publish(nil)
	h.groups[group] = r
	h.running.Go(func() { r.run(h.o.Logger.With(slog.Uint64("group", uint64(group)))) })
	return nil
}

// run passes time and tasks on to a replica until it is stopped.
func (r *hosted) run(log *slog.Logger) {
	ticker := time.NewTicker(TickInterval)
	defer ticker.Stop()
	defer close(r.done)
	defer func() {
		r.g.Load().Close()
		r.publish(nil)
		close(r.changed)
	}()
	for {
		g := r.g.Load()
		err := g.Process()
		if r.publish(err) {
			log.Error("replica failed", slog.Any("error", err))
		}
		select {
		case f := <-r.tasks:
			f(g)
			// Proposals that wait share a write of the log.
			for range len(r.tasks) {
				(<-r.tasks)(r.g.Load())
			}
		case <-ticker.C:
			// A fault has been stored by Process, or will be.
			if r.admitted {
				_ = g.Tick()
			}
		case <-r.stop:
			return
		}
	}
}

// publish makes the replica's status and its fault, if any, known, and reports whether the fault is new.
func (r *hosted) publish(fault error) (failed bool) {
	s := r.g.Load().Status()
	role := Role{Term: s.Term, Leader: s.Leader, Leads: s.Leads}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = s
	if failed = fault != nil && r.fault == nil; failed {
		r.fault = fault
	}
	if role != r.role {
		r.role = role
		close(r.changed)
		r.changed = make(chan struct{})
	}
	return failed
}

// do hands a task to a replica and waits for the error that the task passes to done.
func (h *Host) do(ctx context.Context, group uint32, task func(g *Group, done func(error))) error {
	r, err := h.find(group)
	if err != nil {
		return err
	}
	result := make(chan error, 1)
	select {
	case r.tasks <- func(g *Group) { task(g, func(err error) { result <- err }) }:
	case <-r.stop:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-r.stop:
		return ErrAmbiguous
	}
}

func (h *Host) find(group uint32) (*hosted, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.groups[group]
	switch {
	case h.closed:
		return nil, ErrStopped
	case r == nil:
		return nil, fmt.Errorf("%w: this process has no replica of group %d", ErrNotLeader, group)
	}
	return r, nil
}

// Stop ends the replica of a group. Its state and its log are no longer in use when it returns.
func (h *Host) Stop(group uint32) {
	h.mu.Lock()
	r := h.groups[group]
	if r != nil && !h.closed {
		close(r.stop)
	}
	if !h.closed {
		delete(h.groups, group)
	}
	h.mu.Unlock()
	if r != nil {
		<-r.done
	}
}

// Propose has a group apply a command and returns its result; see Group.Propose. If ctx ends first, the command may still be applied.
func (h *Host) Propose(ctx context.Context, group uint32, command []byte) error {
	return h.do(ctx, group, func(g *Group, done func(error)) { g.Propose(command, done) })
}

// Read returns once the replica's state has all that was applied anywhere before the call; see Group.Read.
func (h *Host) Read(ctx context.Context, group uint32) error {
	return h.do(ctx, group, func(g *Group, done func(error)) { g.Read(done) })
}

// Leased reports whether the process's replica of a group leads in a term and holds the lease of it now, so that no other replica
// leads the group. A leader may be without a lease for a while: Confirm asks a quorum.
func (h *Host) Leased(group uint32, term uint64) bool {
	r, err := h.find(group)
	return err == nil && term != 0 && r.g.Load().Leased() == term
}

// Confirm returns once a quorum has confirmed that the process's replica of a group leads in a term; see Group.Confirm.
func (h *Host) Confirm(ctx context.Context, group uint32, term uint64) error {
	return h.do(ctx, group, func(g *Group, done func(error)) { g.Confirm(term, done) })
}

// Transfer hands the lead of a group over to another member, 0 for the one whose log ends last, and returns once another one leads;
// see Group.Transfer.
func (h *Host) Transfer(ctx context.Context, group uint32, to uint64) error {
	return h.do(ctx, group, func(g *Group, done func(error)) { g.Transfer(to, done) })
}

// Snapshot has the state of a group's replica copied, which stays as it is meanwhile, and names what the copy has. It fails if the
// replica has not applied the entry with an index yet.
func (h *Host) Snapshot(ctx context.Context, group uint32, index uint64, copy func() error) (Snapshot, error) {
	taken := make(chan Snapshot, 1)
	err := h.within(ctx, group, func(_ *hosted, g *Group) error {
		at, err := g.Snapshot()
		switch {
		case err != nil:
			return err
		case at.Index < index:
			return fmt.Errorf("replica: this replica has entry %d of group %d, and entry %d is asked for", at.Index, group, index)
		}
		taken <- at
		return copy()
	})
	if err != nil {
		return Snapshot{}, err
	}
	return <-taken, nil
}

// ErrNotBehind says that a replica has no need of a snapshot.
var ErrNotBehind = errors.New("replica: the replica has what the snapshot has")

// Install seeds a group's replica, or fails with ErrNotBehind. While the replica is closed, install replaces its state and has its
// log continue behind the snapshot, see InstallSeed, and returns the new state. After an error of install the replica stays closed.
func (h *Host) Install(ctx context.Context, group uint32, s Snapshot, install func(l *Log) (State, error)) error {
	return h.within(ctx, group, func(r *hosted, g *Group) error {
		if !g.Lacks(s) {
			return ErrNotBehind
		}
		g.Close()
		err := r.reopen(install)
		r.publish(err)
		return err
	})
}

// ErrDiffers says that a snapshot does not fit the log of a replica.
var ErrDiffers = errors.New("replica: the log has neither the last entry of the snapshot nor a place behind it")

// Restore replaces the state of a group's replica, which its disk has damaged, by that of a snapshot, as Install does. A log that has the
// last entry of the snapshot stays as it is, with what the replica has acknowledged after it. A replica whose fault the damage caused
// runs again.
func (h *Host) Restore(ctx context.Context, group uint32, s Snapshot, damage func(fault error) bool, install func(l *Log) (State, error)) error {
	return h.withFault(ctx, group, damage, func(r *hosted, g *Group) error {
		if !g.log.has(s) && !g.Lacks(s) {
			return ErrDiffers
		}
		g.Close()
		err := r.reopen(install)
		if err == nil {
			r.mu.Lock()
			r.fault = nil
			r.mu.Unlock()
		}
		r.publish(err)
		return err
	})
}

// KeepLog has a group's replica keep its log, or cut it as usual, and returns the index of the entry before the first: Restore can take a
// snapshot from there on. damage is as in Restore.
func (h *Host) KeepLog(ctx context.Context, group uint32, keep bool, damage func(fault error) bool) (index uint64, err error) {
	answer := make(chan uint64, 1)
	err = h.withFault(ctx, group, damage, func(_ *hosted, g *Group) error {
		g.keepLog = keep
		answer <- g.log.first - 1
		return nil
	})
	if err != nil {
		return 0, err
	}
	return <-answer, nil
}

// within runs f on the goroutine of a group's replica, unless the replica has failed, or ctx ends before f begins.
func (h *Host) within(ctx context.Context, group uint32, f func(r *hosted, g *Group) error) error {
	return h.withFault(ctx, group, func(error) bool { return false }, f)
}

// withFault is within that also runs f if the replica has failed with some faults.
func (h *Host) withFault(ctx context.Context, group uint32, some func(fault error) bool, f func(r *hosted, g *Group) error) error {
	r, err := h.find(group)
	if err != nil {
		return err
	}
	return h.do(context.WithoutCancel(ctx), group, func(g *Group, done func(error)) {
		err := ctx.Err()
		if err == nil && g.fault != nil && !some(g.fault) {
			err = g.fault
		}
		if err == nil {
			err = f(r, g)
		}
		done(err)
	})
}

// reopen opens the replica with another state.
func (r *hosted) reopen(install func(l *Log) (State, error)) error {
	l, err := r.log()
	if err != nil {
		return err
	}
	if r.state, err = install(l); err != nil {
		return err
	}
	g, err := r.open(l)
	if err == nil {
		r.g.Store(g)
	}
	return err
}

// Role returns who leads a group, and a channel that is closed when that changes. A replica that has failed no longer leads, and knows
// no leader.
func (h *Host) Role(group uint32) (Role, <-chan struct{}, error) {
	r, err := h.find(group)
	if err != nil {
		return Role{}, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.role, r.changed, nil
}

// Step passes a message of a member whose log is in a store on to a replica, or drops it if too many wait, or if the member has had
// another store before.
func (h *Host) Step(group uint32, from StoreID, m *pb.Message) error {
	r, err := h.find(group)
	if err != nil {
		return err
	}
	if known, err := h.meet(group, m.GetFrom(), from); err != nil || known != from {
		return err
	}
	select {
	case r.tasks <- func(g *Group) {
		if r.admitted {
			_ = g.Step(m) // Process returns its fault
		}
	}:
	default:
	}
	return nil
}

// member is a replica of a group.
type member struct {
	group   uint32
	replica uint64
}

// meet is LogStore.Meet, which it asks once for each replica.
func (h *Host) meet(group uint32, replica uint64, from StoreID) (StoreID, error) {
	if known, ok := h.met.Load(member{group, replica}); ok {
		return known.(StoreID), nil
	}
	known, err := h.o.Store.Meet(group, replica, from)
	if err == nil {
		h.met.Store(member{group, replica}, known)
		if known != from {
			h.o.Logger.Error("a replica has lost its log, and must be replaced", slog.Uint64("group", uint64(group)), slog.Uint64("replica", replica))
		}
	}
	return known, err
}

// Known returns the log store of a replica as far as this process knows it.
func (h *Host) Known(group uint32, replica uint64) (store StoreID, ok bool, err error) {
	r, err := h.find(group)
	if err != nil {
		return store, false, err
	}
	r.mu.Lock()
	store, ok = r.status.Members.Store(replica)
	r.mu.Unlock()
	if ok {
		return store, true, nil
	}
	return h.o.Store.Met(group, replica)
}

// ErrRemoved says that the log of a replica was removed, so that the replica must not take part again; see LogStore.Removed.
var ErrRemoved = errors.New("replica: this replica has left its group")

// Admit lets a group's replica, whose log is empty, take part, under an id. It fails with ErrRemoved if that is the id of an earlier one.
func (h *Host) Admit(ctx context.Context, group uint32, replica uint64) error {
	return h.within(ctx, group, func(r *hosted, g *Group) error {
		if r.admitted {
			return nil
		}
		switch gone, err := h.o.Store.Removed(group, replica); {
		case err != nil:
			return err
		case gone:
			return fmt.Errorf("%w: replica %d of group %d", ErrRemoved, replica, group)
		}
		if r.replica != replica {
			g.Close()
			r.replica = replica
			if err := r.reopen(func(*Log) (State, error) { return r.state, nil }); err != nil {
				r.publish(err)
				return err
			}
		}
		r.admitted = true
		return nil
	})
}

// Begin makes a group's replica, whose log is empty, the only member of the group. It leads when Begin returns.
func (h *Host) Begin(ctx context.Context, group uint32) error {
	return h.within(ctx, group, func(r *hosted, g *Group) error {
		if r.admitted {
			return nil
		}
		g.Close()
		err := r.reopen(func(l *Log) (State, error) { return r.state, l.BeginAlone() })
		if err == nil {
			r.admitted = true
			err = r.g.Load().Process()
		}
		r.publish(err)
		return err
	})
}

// Admitted returns the id under which a group's replica takes part; ok is false while it takes none. The status of a group may have the id of
// before its admission.
func (h *Host) Admitted(ctx context.Context, group uint32) (replica uint64, ok bool, err error) {
	type answer struct {
		replica  uint64
		admitted bool
	}
	answered := make(chan answer, 1)
	err = h.within(ctx, group, func(r *hosted, _ *Group) error {
		answered <- answer{r.replica, r.admitted}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	a := <-answered
	return a.replica, a.admitted, nil
}

// Knows reports whether a replica is a member of a group, or one that a recovery has removed, by all that was committed anywhere before
// the call.
func (h *Host) Knows(ctx context.Context, group uint32, replica uint64) (has bool, err error) {
	if err := h.Read(ctx, group); err != nil {
		return false, err
	}
	answer := make(chan bool, 1)
	err = h.within(ctx, group, func(_ *hosted, g *Group) error {
		answer <- g.members.Has(replica) || slices.Contains(g.members.Lost(), replica)
		return nil
	})
	if err != nil {
		return false, err
	}
	return <-answer, nil
}

// Change changes the members of a group that this process's replica leads; see Group.Change.
func (h *Host) Change(ctx context.Context, group uint32, c Change) error {
	return h.do(ctx, group, func(g *Group, done func(error)) { g.Change(c, done) })
}

// Lag returns how many entries that are committed a member has not acknowledged, math.MaxUint64 if it has not answered this leader yet, or
// has to be seeded. This process's replica leads the group.
func (h *Host) Lag(ctx context.Context, group uint32, replica uint64) (entries uint64, err error) {
	answer := make(chan uint64, 1)
	err = h.within(ctx, group, func(_ *hosted, g *Group) error {
		p, ok := g.node.Status().Progress[replica]
		switch {
		case !g.leads || !ok:
			return ErrNotLeader
		case p.Match == 0, p.Match+1 < g.log.first:
			answer <- math.MaxUint64
			return nil
		}
		answer <- g.node.BasicStatus().GetCommit() - min(g.node.BasicStatus().GetCommit(), p.Match)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return <-answer, nil
}

// Err returns the fault of the log store, or of a replica, that keeps the process from taking changes, or nil.
func (h *Host) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	errs := []error{h.o.Store.Err()}
	for _, r := range h.groups {
		r.mu.Lock()
		errs = append(errs, r.fault)
		r.mu.Unlock()
	}
	return errors.Join(errs...)
}

// Writable says why the log store cannot be written to now, or nil; see LogStore.Writable.
func (h *Host) Writable() error { return h.o.Store.Writable() }

// Stalled is for how long the disk of the log store has completed none of the writes that wait for it, 0 if none waits.
func (h *Host) Stalled() time.Duration { return h.o.Store.Stalled() }

// GroupStatus returns the status of the replica of a group; ok is false without one.
func (h *Host) GroupStatus(group uint32) (s GroupStatus, ok bool) {
	h.mu.Lock()
	r := h.groups[group]
	h.mu.Unlock()
	if r == nil {
		return s, false
	}
	return h.standing(r), true
}

// standing returns a replica's status with what keeps it from going on.
func (h *Host) standing(r *hosted) GroupStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Fault, s.Blocked = r.fault, h.Writable()
	return s
}

// Status returns the status of each replica, by its group.
func (h *Host) Status() map[uint32]GroupStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[uint32]GroupStatus, len(h.groups))
	for group, r := range h.groups {
		out[group] = h.standing(r)
	}
	return out
}

// Close stops all replicas. Their states and the log store are no longer in use when it returns.
func (h *Host) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		for _, r := range h.groups {
			close(r.stop)
		}
	}
	h.mu.Unlock()
	h.running.Wait()
}
