package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage"
)

// Process is a process of a cluster: it has replicas of some shards, and leads the cluster while it leads the replicas of shard 0.
type Process struct {
	no        int
	layout    shard.Layout
	log       *slog.Logger
	roster    *roster
	transport *transport
	replicas  *local.Replicas
	hints     []atomic.Int64 // by shard, the process that may lead its replicas, where no replica here knows it
	lead      atomic.Pointer[lead]
	placed    *placement
	differs   atomic.Pointer[error]    // see meet
	stores    sync.Map                 // the log store of a process, []byte by its number: this one's, and others' as they last answered
	waiting   []atomic.Pointer[string] // by shard, why the replica here takes no part, nil if it does
	servers   map[string]any           // by service, those whose calls also travel over streams

	ctx     context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	tending sync.Mutex
	tended  map[int]tenure // by shard, what tend does

	grown chan struct{}                      // has one once the roster has changed
	named atomic.Pointer[func(all []string)] // see OnAddresses
}

// NewProcess opens the data directory of a process, whose number is its place among addresses, and starts its replicas. Others reach
// it once it is registered at a server. The addresses are those of the processes of the layout, and of others that were added.
func NewProcess(opts local.Options, layout shard.Layout, no int, addresses []string, more ...grpc.DialOption) (_ *Process, err error) {
	opts.EnsureDefaults()
	p := &Process{
		no: no, layout: layout, log: opts.Logger, transport: newTransport(layout), hints: make([]atomic.Int64, layout.Shards),
		waiting: make([]atomic.Pointer[string], layout.Shards), tended: map[int]tenure{}, grown: make(chan struct{}, 1),
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.placed = newPlacement(layout, p.askMembers)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	p.roster = newRoster(no, replicaDial(more), p.reach, p.placed.renew)
	p.roster.agrees = p.agrees
	if err := p.roster.learn(addresses); err != nil {
		return nil, err
	}
	for i := range p.hints {
		p.hints[i].Store(int64(p.placed.keepers(i)[0]))
	}
	if p.replicas, err = local.OpenReplicas(opts, layout, no, local.Network{Send: p.transport.send, Seed: p.seed}); err != nil {
		return nil, err
	}
	own := p.replicas.StoreID()
	p.transport.store.Store(&own)
	p.stores.Store(no, own[:])
	if err := errors.Join(p.roster.learn(p.replicas.Addresses()), p.remember()); err != nil {
		return nil, err
	}
	p.serveCalls()
	p.placed.renew()
	for no := range layout.Shards {
		if p.replicas.Parts(no) != nil {
			p.tend(no, false)
		}
	}
	p.running.Go(p.meet)
	p.running.Go(p.watch)
	p.running.Go(p.grow)
	return p, nil
}

// replicaDial returns options of connections whose calls fail while the other process does not answer, as another one may: at once without
// a connection, and in pulseWithin after it has dropped packets.
func replicaDial(more []grpc.DialOption) []grpc.DialOption {
	return append([]grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.WaitForReady(false)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: heartbeatWithin, PermitWithoutStream: true}),
	}, more...)
}

// kept returns the shards with a number.
func (p *Process) kept(no int) (*local.Parts, error) {
	if parts := p.replicas.Parts(no); parts != nil {
		return parts, nil
	}
	return nil, unavailable(shard.SnapshotGone, fmt.Sprintf("process %d keeps no replica of shard %d", p.no, no), nil)
}

// serveCalls makes the services whose calls travel over streams.
func (p *Process) serveCalls() {
	r := &reader{open: func(ctx context.Context, snap *pb.Snapshot) (shard.PartTx, func(), error) {
		if snap.GetVersion() == 0 || snap.GetPresent() != 0 {
			l, err := p.leading()
			if err != nil {
				return nil, nil, err
			}
			if snap.GetVersion() == 0 {
				return l.open(snap)
			}
			if err := l.current(ctx, snap); err != nil {
				return nil, nil, err
			}
		}
		parts, err := p.kept(int(snap.GetShard()))
		if err != nil {
			return nil, nil, err
		}
		tx, done, err := openPart(ctx, parts, snap)
		if graph.AsError(err).Kind == graph.KindNotFound && err != nil {
			err = storage.ErrAhead // or the graph was dropped, which the leader says
		}
		return tx, done, err
	}}
	p.servers = map[string]any{
		pb.KeepService_ServiceDesc.ServiceName: &keeper{kept: p.kept, leader: p.knownLeader},
		pb.LeadService_ServiceDesc.ServiceName: &leads{p: p}, pb.ReadService_ServiceDesc.ServiceName: r,
	}
}

// Register makes a gRPC server answer for the process.
func (p *Process) Register(s grpc.ServiceRegistrar) {
	for _, d := range []*grpc.ServiceDesc{&pb.KeepService_ServiceDesc, &pb.LeadService_ServiceDesc, &pb.ReadService_ServiceDesc} {
		s.RegisterService(d, p.servers[d.ServiceName])
	}
	pb.RegisterPlaceServiceServer(s, &placed{p: p, stalled: p.replicas.Host().Stalled})
	pb.RegisterMaintainServiceServer(s, &maintains{p: p})
	pb.RegisterCopyServiceServer(s, &copier{p: p})
	pb.RegisterReplicaServiceServer(s, &receiver{p: p, host: p.replicas.Host(), log: p.log})
	pb.RegisterMemberServiceServer(s, &members{p: p})
	(&callServer{p.servers}).register(s)
}

// knownLeader returns the process that leads the replicas of a shard, as a replica here knows it, -1 if none does.
func (p *Process) knownLeader(no int) int {
	role, _, err := p.replicas.Host().Role(uint32(no))
	if err != nil || role.Leader == 0 {
		return -1
	}
	return p.layout.Process(role.Leader)
}

// leaderOf returns the process that is likely to lead the replicas of a shard.
func (p *Process) leaderOf(no int) int {
	if leader := p.knownLeader(no); leader >= 0 {
		return leader
	}
	return int(p.hints[no].Load())
}

// missed notes that a process does not lead the replicas of a shard.
func (p *Process) missed(no, process int) {
	p.hints[no].CompareAndSwap(int64(process), int64(p.nextKeeper(no, process)))
	p.placed.renew()
}

// untilOther calls f once a replica here learns that another process than one leads the replicas of a shard; stop ends that.
func (p *Process) untilOther(ctx context.Context, no, to int, f func()) (stop func()) {
	if p.knownLeader(no) < 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			role, changed, err := p.replicas.Host().Role(uint32(no))
			if err != nil || role.Leader == 0 || p.layout.Process(role.Leader) != to {
				f()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return cancel
}

// lead is what a process has while it leads the cluster.
type lead struct {
	*leader
	ctx    context.Context // ends with the lead
	store  *local.Store
	copies func(no int) int // see maintainer
}

// attemptBits are those of the number of an attempt to open the graphs: the epoch is the term and, below it, this number.
const attemptBits = 16

// run leads the cluster while this process leads the replicas of shard 0, until ctx ends.
func (p *Process) run(ctx context.Context) {
	for ctx.Err() == nil {
		role, changed, err := p.replicas.Host().Role(0)
		if err != nil {
			return
		}
		if role.Leads {
			p.serve(ctx, role.Term, changed)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// serve leads the cluster in a term, which ends with changed.
func (p *Process) serve(ctx context.Context, term uint64, changed <-chan struct{}) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-changed:
			end()
		case <-ctx.Done():
		}
	}()
	began := time.Now()
	for attempt := uint64(0); attempt < 1<<attemptBits && ctx.Err() == nil; attempt++ {
		l, err := p.open(ctx, term, term<<attemptBits|attempt)
		if err == nil {
			p.log.Info("this process leads the cluster", slog.Uint64("term", term), slog.Duration("after", time.Since(began)))
			p.lead.Store(l)
			<-ctx.Done()
			p.lead.Store(nil)
			p.log.Info("this process leads the cluster no more", slog.Uint64("term", term))
			l.shut()
			// Work under way ends, since nothing of this epoch reaches the shards any more. Only the end of the process waits for it.
			p.running.Go(func() {
				if err := l.store.Close(); err != nil {
					p.log.Warn("close the graphs that were led", slog.Any("error", err))
				}
			})
			return
		}
		if ctx.Err() == nil {
			p.log.Warn("the graphs are not open yet", slog.Uint64("term", term), slog.Any("error", err))
		}
		select {
		case <-time.After(longestPause):
		case <-ctx.Done():
		}
	}
}

// open opens the graphs.
func (p *Process) open(ctx context.Context, term, epoch uint64) (*lead, error) {
	if err := p.replicas.Host().Read(ctx, 0); err != nil {
		return nil, fmt.Errorf("read the graphs that there are: %w", err)
	}
	g := &groups{p: p, epoch: epoch, ctx: ctx}
	store, err := p.replicas.Lead(ctx, g)
	if err != nil {
		return nil, err
	}
	confirm := func(ctx context.Context) error { return p.confirm(ctx, term) }
	return &lead{leader: newLeader(store, epoch, p.layout, confirm), ctx: ctx, store: store, copies: g.copies}, nil
}

// confirm returns nil if this process leads the cluster in a term at some time after the call.
func (p *Process) confirm(ctx context.Context, term uint64) error {
	host := p.replicas.Host()
	if host.Leased(0, term) {
		return nil
	}
	if err := host.Confirm(ctx, 0, term); err != nil {
		return notLeading(-1, err)
	}
	return nil
}

// errNotLeading says that another process leads the cluster.
var errNotLeading = errors.New("this process does not lead the cluster")

// leading returns what this process has as the leader of the cluster.
func (p *Process) leading() (*lead, error) {
	if l := p.lead.Load(); l != nil && l.ctx.Err() == nil {
		return l, nil
	}
	return nil, p.notLeading(errNotLeading)
}

func (p *Process) notLeading(err error) error {
	leader := p.knownLeader(0)
	if leader == p.no {
		leader = -1
	}
	return notLeading(leader, err)
}

// Transfer hands over what this process leads, and returns once others lead it or ctx ends.
func (p *Process) Transfer(ctx context.Context) {
	var handing sync.WaitGroup
	for group, s := range p.replicas.Replicas() {
		if s.Leads {
			handing.Go(func() {
				err := p.replicas.Host().Transfer(ctx, group, 0)
				for errors.Is(err, replica.ErrNoTransfer) {
					select {
					case <-time.After(longestPause): // those that live answer a heartbeat
						err = p.replicas.Host().Transfer(ctx, group, 0)
					case <-ctx.Done():
						err = ctx.Err()
					}
				}
				if err != nil && !errors.Is(err, replica.ErrNotLeader) {
					p.log.Warn("the lead is not handed over", slog.Uint64("group", uint64(group)), slog.Any("error", err))
				}
			})
		}
	}
	handing.Wait()
}

// Ready says why the process cannot answer now, or nil: each of its replicas knows a leader and has caught up with it, so that another
// process may restart.
func (p *Process) Ready() error {
	if p.roster.removed(p.no) {
		return errRemoved
	}
	if err := p.differs.Load(); err != nil && *err != nil {
		return *err
	}
	if err := p.replicas.Writable(); err != nil {
		return err
	}
	if err := p.lacks(); err != nil {
		return err
	}
	if s := p.replicas.Host().Stalled(); s >= heartbeatWithin {
		return fmt.Errorf("the disk has completed no write for %v", s.Round(time.Second))
	}
	for group, s := range p.replicas.Replicas() {
		switch why := p.waiting[group].Load(); {
		case !p.replicas.Founds(int(group)) && !slices.Contains(s.Members.Voters(), s.Replica):
			// Another process answers until this replica has all that it has.
		case why != nil:
			return errors.New(*why)
		case s.Damage != nil:
			return fmt.Errorf("the replica of shard %d is damaged, and is seeded with the state of another one: %w", group, s.Damage)
		case s.Leader == 0:
			return fmt.Errorf("the replicas of shard %d have no leader", group)
		case !slices.Contains(s.Members.Voters(), s.Replica):
			return fmt.Errorf("the replica of shard %d is a learner, which has no vote yet", group)
		case !s.Current:
			return fmt.Errorf("the replica of shard %d lacks entries that the others have committed", group)
		case s.Applied+maxLag < s.Commit:
			return fmt.Errorf("the replica of shard %d has %d of %d log entries", group, s.Applied, s.Commit)
		}
	}
	return nil
}

// maxLag is how many log entries a replica that is ready lacks at most.
const maxLag = 1024

// Leading returns the store of the cluster while this process leads it, or nil.
func (p *Process) Leading() *local.Store {
	if l := p.lead.Load(); l != nil {
		return l.store
	}
	return nil
}

// Local returns what the process has on disk.
func (p *Process) Local() *local.Replicas { return p.replicas }

// Close ends the lead, stops the replicas and closes the data directory. Calls must no longer come.
func (p *Process) Close() error {
	p.tending.Lock() // behind a replica that begins or ends; no other one does from here on
	p.end()
	p.tending.Unlock()
	p.running.Wait()
	p.placed.close()
	p.transport.close()
	var errs []error
	if p.replicas != nil {
		errs = append(errs, p.replicas.Close())
	}
	return errors.Join(append(errs, p.roster.close())...)
}
