package peers

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// Assignment tells which processes have the replicas of each shard: at first those of the layout, then the voters that members of the groups
// name. It may be out of date. A process that no longer has a replica of a shard says so; then the caller asks the next one, and renews the
// Assignment.
type Assignment struct {
	layout atomic.Pointer[shard.Layout] // of a new cluster, as far as it is known; its shards are not used
	list   *List

	known   atomic.Pointer[[]assigned] // by shard; never changed, only replaced
	mu      sync.Mutex                 // held while known is replaced
	asking  sync.Mutex
	last    atomic.Int64 // when Renew asked, in Unix nanoseconds
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
}

// assigned is the processes of a shard as of an entry of its group's log.
type assigned struct {
	entry     uint64
	processes []int
}

// renewEvery bounds how often Renew asks.
const renewEvery = time.Second

// NewAssignment returns the assignment of a layout, which asks the processes of a list.
func NewAssignment(layout shard.Layout, list *List) *Assignment {
	a := &Assignment{list: list}
	a.layout.Store(&layout)
	a.known.Store(&[]assigned{})
	a.ctx, a.end = context.WithCancel(context.Background())
	return a
}

// Close ends Renew.
func (a *Assignment) Close() {
	a.end()
	a.running.Wait()
}

// Processes returns the processes that have replicas of a shard, at least one. The caller does not change them.
func (a *Assignment) Processes(no int) []int {
	if known := *a.known.Load(); no < len(known) {
		return known[no].processes
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.grown(no)[no].processes
}

// grown returns known, extended to a shard. The caller holds mu.
func (a *Assignment) grown(no int) []assigned {
	known := *a.known.Load()
	if no < len(known) {
		return known
	}
	known = slices.Clone(known)
	for len(known) <= no {
		known = append(known, assigned{processes: a.layout.Load().Keepers(len(known))})
	}
	a.known.Store(&known)
	return known
}

// Learn sets the voters of a shard as of an entry of its group's log, unless a later entry is known.
func (a *Assignment) Learn(no int, entry uint64, voters []uint64) {
	if no >= storage.MaxShards || len(voters) == 0 {
		return
	}
	var processes []int
	for _, id := range voters {
		processes = append(processes, a.layout.Load().Process(id))
	}
	slices.Sort(processes)
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.grown(no)
	if was := known[no]; entry < was.entry || entry == was.entry && slices.Equal(processes, was.processes) {
		return
	}
	known = slices.Clone(known)
	known[no] = assigned{entry, slices.Compact(processes)}
	a.known.Store(&known)
}

// Assign sets the processes of a shard, as the leader of its group says.
func (a *Assignment) Assign(no int, processes []uint32) {
	if no >= storage.MaxShards || len(processes) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known := slices.Clone(a.grown(no))
	next := assigned{entry: known[no].entry}
	for _, to := range processes {
		next.processes = append(next.processes, int(to))
	}
	known[no] = next
	a.known.Store(&known)
}

// Layout returns the layout of the cluster, as far as it is known.
func (a *Assignment) Layout() shard.Layout { return *a.layout.Load() }

// Next returns the process after another one among those that have replicas of a shard.
func (a *Assignment) Next(no, after int) int {
	processes := a.Processes(no)
	return processes[(slices.Index(processes, after)+1)%len(processes)]
}

// Single reports whether each shard has one replica, so that the process that has shard 0 leads the cluster.
func (a *Assignment) Single() bool { return a.layout.Load().Replicas == 1 }

// SetLayout sets the layout of the cluster.
func (a *Assignment) SetLayout(l shard.Layout) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if was := *a.layout.Load(); was.Processes == l.Processes && was.Replicas == l.Replicas {
		return
	}
	a.layout.Store(&l)
	known := slices.Clone(*a.known.Load())
	for no := range known {
		if known[no].entry == 0 {
			known[no].processes = l.Keepers(no)
		}
	}
	a.known.Store(&known)
}

// Refresh asks the processes now.
func (a *Assignment) Refresh(ctx context.Context) {
	a.asking.Lock()
	defer a.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout)
	defer cancel()
	answers, _ := a.list.Ask(ctx)
	for _, r := range answers {
		if l := r.GetLayout(); l.GetProcesses() > 0 {
			a.SetLayout(wire.DecodeLayout(l))
		}
		for _, m := range r.GetMembers() {
			if m.GetWaiting() == "" {
				a.Learn(int(m.GetGroup()), m.GetApplied(), m.GetVoters())
			}
		}
	}
}

// Renew asks the processes, without waiting for them.
func (a *Assignment) Renew() {
	last, now := a.last.Load(), time.Now().UnixNano()
	if now-last < int64(renewEvery) || a.ctx.Err() != nil || !a.last.CompareAndSwap(last, now) {
		return
	}
	a.running.Go(func() { a.Refresh(a.ctx) })
}
