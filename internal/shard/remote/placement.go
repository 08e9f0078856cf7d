package remote

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// placement is which processes keep the replicas of each shard, as a process or a gateway knows it: at first those of the layout, and
// later the voters that the members of the groups name. What it knows may be late. A process that keeps a shard no more says so, and
// the caller asks the next one, and the processes where the replicas are now.
type placement struct {
	layout atomic.Pointer[shard.Layout] // of a new cluster, as far as it is known; its shards are not used
	// ask returns what the other processes say, nil for those that do not answer.
	ask func(ctx context.Context) []*pb.MembersResponse

	known   atomic.Pointer[[]placedAt] // by shard; never changed, only replaced
	mu      sync.Mutex                 // held while known is replaced
	asking  sync.Mutex
	last    atomic.Int64 // when renew asked, in Unix nanoseconds
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
}

// placedAt is where the replicas of a shard are after an entry of its log.
type placedAt struct {
	entry     uint64
	processes []int
}

// placeEvery bounds how often renew asks.
const placeEvery = time.Second

func newPlacement(layout shard.Layout, ask func(ctx context.Context) []*pb.MembersResponse) *placement {
	p := &placement{ask: ask}
	p.layout.Store(&layout)
	p.known.Store(&[]placedAt{})
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// close ends renew.
func (p *placement) close() {
	p.end()
	p.running.Wait()
}

// keepers returns the processes that keep a shard, at least one. The caller does not change them.
func (p *placement) keepers(no int) []int {
	if known := *p.known.Load(); no < len(known) {
		return known[no].processes
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.grown(no)[no].processes
}

// grown returns what is known, with a shard. The caller holds mu.
func (p *placement) grown(no int) []placedAt {
	known := *p.known.Load()
	if no < len(known) {
		return known
	}
	known = slices.Clone(known)
	for len(known) <= no {
		known = append(known, placedAt{processes: p.layout.Load().Keepers(len(known))})
	}
	p.known.Store(&known)
	return known
}

// learn takes in where the replicas of a shard are after an entry of its log.
func (p *placement) learn(no int, entry uint64, voters []uint64) {
	if no >= storage.MaxShards || len(voters) == 0 {
		return
	}
	var processes []int
	for _, id := range voters {
		processes = append(processes, p.layout.Load().Process(id))
	}
	slices.Sort(processes)
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.grown(no)
	if was := known[no]; entry < was.entry || entry == was.entry && slices.Equal(processes, was.processes) {
		return
	}
	known = slices.Clone(known)
	known[no] = placedAt{entry, slices.Compact(processes)}
	p.known.Store(&known)
}

// place takes in where the replicas of a shard are, as the leader of its group says.
func (p *placement) place(no int, processes []uint32) {
	if no >= storage.MaxShards || len(processes) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known := slices.Clone(p.grown(no))
	next := placedAt{entry: known[no].entry}
	for _, to := range processes {
		next.processes = append(next.processes, int(to))
	}
	known[no] = next
	p.known.Store(&known)
}

// single reports whether each shard has one replica, so that the process that keeps the first one leads the cluster.
func (p *placement) single() bool { return p.layout.Load().Replicas == 1 }

// layOut takes in the layout of the cluster.
func (p *placement) layOut(l shard.Layout) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := *p.layout.Load(); was.Processes == l.Processes && was.Replicas == l.Replicas {
		return
	}
	p.layout.Store(&l)
	known := slices.Clone(*p.known.Load())
	for no := range known {
		if known[no].entry == 0 {
			known[no].processes = l.Keepers(no)
		}
	}
	p.known.Store(&known)
}

// refresh asks the processes.
func (p *placement) refresh(ctx context.Context) {
	p.asking.Lock()
	defer p.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, heartbeatWithin)
	defer cancel()
	for _, a := range p.ask(ctx) {
		if l := a.GetLayout(); l.GetProcesses() > 0 {
			p.layOut(layoutOf(l))
		}
		for _, m := range a.GetMembers() {
			if m.GetWaiting() == "" {
				p.learn(int(m.GetGroup()), m.GetApplied(), m.GetVoters())
			}
		}
	}
}

func layoutOf(l *pb.Layout) shard.Layout {
	return shard.Layout{Processes: int(l.GetProcesses()), Shards: int(l.GetShards()), Replicas: int(l.GetReplicas())}
}

// renew asks the processes, without waiting for them.
func (p *placement) renew() {
	last, now := p.last.Load(), time.Now().UnixNano()
	if now-last < int64(placeEvery) || p.ctx.Err() != nil || !p.last.CompareAndSwap(last, now) {
		return
	}
	p.running.Go(func() { p.refresh(p.ctx) })
}
