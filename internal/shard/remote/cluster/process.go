package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/server"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// Process is a process of a cluster: it has replicas of some shards, and leads the cluster while it leads the replicas of shard 0.
type Process struct {
	no        int
	layout    shard.Layout
	log       *slog.Logger
	peers     *peers.List
	transport *transport
	replicas  *part.Replicas
	hints     []atomic.Int64                // by shard, the process that probably leads its group, if no replica here knows
	lead      atomic.Pointer[server.Leader] // nil while another process leads the cluster
	assigned  *peers.Assignment
	differs   atomic.Pointer[error]    // see checkAgreement
	active    atomic.Uint32            // the highest cluster version that another process has said to be in force
	stores    sync.Map                 // by number, the log store of a process as []byte: this one's, and others' by their last answers
	waiting   []atomic.Pointer[string] // by shard, why the replica here has not joined its group, nil if it has

	ctx     context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	hostingMu sync.Mutex
	hosting   map[int]hosting // by shard

	peersChanged chan struct{}                      // has a value after the list of processes has changed
	onAddresses  atomic.Pointer[func(all []string)] // see OnAddresses
}

// NewProcess opens the data directory of the process with the number no, an index of addresses, and starts its replicas. Others reach it after
// Register. addresses has the processes of the layout, and then those that were added.
func NewProcess(opts local.Options, layout shard.Layout, no int, addresses []string, more ...grpc.DialOption) (_ *Process, err error) {
	opts.EnsureDefaults()
	p := &Process{
		no: no, layout: layout, log: opts.Logger, transport: newTransport(layout), hints: make([]atomic.Int64, layout.Shards),
		waiting: make([]atomic.Pointer[string], layout.Shards), hosting: map[int]hosting{}, peersChanged: make(chan struct{}, 1),
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.peers = peers.NewList(peers.Options{Self: no, Dial: rpc.FailFast(more), Changed: p.reach, Behind: func() { p.assigned.Renew() }, Agrees: p.agrees})
	p.assigned = peers.NewAssignment(layout, p.peers)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := p.peers.Learn(addresses); err != nil {
		return nil, err
	}
	for i := range p.hints {
		p.hints[i].Store(int64(p.assigned.Processes(i)[0]))
	}
	if p.replicas, err = part.OpenReplicas(opts, layout, no, part.Network{Send: p.transport.send, Seed: p.seed}); err != nil {
		return nil, err
	}
	own := p.replicas.StoreID()
	p.transport.store.Store(&own)
	p.stores.Store(no, own[:])
	if err := errors.Join(p.peers.Learn(p.replicas.Addresses()), p.saveAddresses()); err != nil {
		return nil, err
	}
	p.assigned.Renew()
	for no := range layout.Shards {
		if p.replicas.Parts(no) != nil {
			p.host(no, false)
		}
	}
	p.running.Go(p.checkAgreement)
	p.running.Go(p.watch)
	p.running.Go(p.grow)
	return p, nil
}

// hosted returns the replica of a shard here.
func (p *Process) hosted(no int) (*part.Parts, error) {
	if parts := p.replicas.Parts(no); parts != nil {
		return parts, nil
	}
	return nil, wire.Unavailable(shard.SnapshotGone, fmt.Sprintf("process %d has no replica of shard %d", p.no, no), nil)
}

// Register registers the services of the process.
func (p *Process) Register(s grpc.ServiceRegistrar) {
	host := p.replicas.Host()
	server.Register(s, &server.Host{Process: p.no, Replicas: p.replicas, Parts: p.hosted, LeaderOf: p.knownLeader, Leading: p.lead.Load})
	pb.RegisterPlaceServiceServer(s, &placeService{p: p, stalled: host.Stalled})
	pb.RegisterReplicaServiceServer(s, &replicaService{p: p, host: host, log: p.log})
	pb.RegisterMemberServiceServer(s, &memberService{p: p})
}

// OpenGateway returns a gateway to the processes of the cluster, which prefers to read from this one.
func (p *Process) OpenGateway(more ...grpc.DialOption) (*gateway.Store, error) {
	return gateway.OpenNear(p.layout, p.peers.Addresses(), p.no, more...)
}

// knownLeader returns the process that leads the group of a shard, as far as a replica here knows, else -1.
func (p *Process) knownLeader(no int) int {
	role, _, err := p.replicas.Host().Role(uint32(no))
	if err != nil || role.Leader == 0 {
		return -1
	}
	return p.layout.Process(role.Leader)
}

// likelyLeader returns the process that is likely to lead the group of a shard.
func (p *Process) likelyLeader(no int) int {
	if leader := p.knownLeader(no); leader >= 0 {
		return leader
	}
	return int(p.hints[no].Load())
}

// missed notes that a process does not lead the group of a shard.
func (p *Process) missed(no, process int) {
	p.hints[no].CompareAndSwap(int64(process), int64(p.next(no, process)))
	p.assigned.Renew()
}

// untilOther calls f once a replica here learns that another process than to leads the group of a shard, until stop.
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

// Ready returns nil if each replica knows its leader and has caught up with it, so that another process may restart; else it returns why
// not.
func (p *Process) Ready() error {
	if p.peers.Removed(p.no) {
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
	if s := p.replicas.Host().Stalled(); s >= rpc.HeartbeatTimeout {
		return fmt.Errorf("the disk has completed no write for %v", s.Round(time.Second))
	}
	for group, s := range p.replicas.Replicas() {
		switch why := p.waiting[group].Load(); {
		case !p.replicas.Founds(int(group)) && !slices.Contains(s.Members.Voters(), s.Replica):
			// The replica that this one replaces answers until it has caught up.
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

// maxLag is how many log entries a ready replica may lack.
const maxLag = 1024

// Leading returns the store of the cluster while this process leads it, or nil.
func (p *Process) Leading() *local.Store {
	if l := p.lead.Load(); l != nil {
		return l.Store()
	}
	return nil
}

// Local returns the replicas of the process.
func (p *Process) Local() *part.Replicas { return p.replicas }

// Close ends the lead, stops the replicas and closes the data directory. The gRPC server must have stopped.
func (p *Process) Close() error {
	p.hostingMu.Lock() // after a host or release in progress; later ones see that ctx has ended
	p.end()
	p.hostingMu.Unlock()
	p.running.Wait()
	p.assigned.Close()
	p.transport.close()
	var errs []error
	if p.replicas != nil {
		errs = append(errs, p.replicas.Close())
	}
	return errors.Join(append(errs, p.peers.Close())...)
}

// placeService answers PlaceService.
type placeService struct {
	pb.UnimplementedPlaceServiceServer
	p       *Process
	stalled func() time.Duration // for how long the disk has completed no write
}

// Place implements the call. A process whose disk hangs answers as one that hangs itself, so that heartbeats fail the calls to it: the groups that
// it leads wait for the disk, and other replicas can answer.
func (s *placeService) Place(context.Context, *pb.PlaceRequest) (*pb.PlaceResponse, error) {
	if s.stalled() >= rpc.HeartbeatTimeout {
		return nil, status.Error(codes.DeadlineExceeded, "the disk of the process has completed no write for "+rpc.HeartbeatTimeout.String())
	}
	return &pb.PlaceResponse{Process: uint32(s.p.no), Changes: s.p.peers.Changes()}, nil
}

func (s *placeService) Shape(_ context.Context, r *pb.ShapeRequest) (*pb.ShapeResponse, error) {
	parts, err := s.p.hosted(int(r.GetShard()))
	if err != nil {
		return nil, server.Status(err)
	}
	for _, st := range parts.Stats()[r.GetGraph()] {
		b, err := json.Marshal(storage.Shape{Stats: st, Cache: s.p.replicas.TopologyStats()})
		return &pb.ShapeResponse{Shape: b}, server.Status(err)
	}
	return &pb.ShapeResponse{}, nil
}

// spareLinger is how long a process that may stop still runs. So of processes that stop at about the same time, each still sees
// the others.
const spareLinger = 3 * time.Second

// AwaitSpare returns once this process may stop without costing a shard its majority, or ctx ends.
func (p *Process) AwaitSpare(ctx context.Context) {
	for said := ""; ; {
		err := p.spare(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := spareLinger
		if err != nil {
			pause = rpc.LongestPause
			if err.Error() != said {
				p.log.Warn("this process waits before it stops", slog.Any("error", err))
				said = err.Error()
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		if err == nil {
			return
		}
	}
}

// spare returns an error that names a shard that would lose its majority without this process. A shard without a majority has none to lose.
func (p *Process) spare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout)
	defer cancel()
	answers, _ := p.peers.Ask(ctx) // nil for a process that does not answer
	for group, s := range p.replicas.Replicas() {
		voters := s.Members.Voters()
		if !slices.Contains(voters, s.Replica) || len(voters) == 1 { // waiting does not help a shard with one replica
			continue
		}
		others, majority := 0, len(voters)/2+1
		for _, id := range voters {
			if no := p.layout.Process(id); id != s.Replica && no < len(answers) && inStep(answers[no], group, id, s.Commit) {
				others++
			}
		}
		if others < majority && others+1 >= majority {
			return fmt.Errorf("shard %d would lose its majority: %d of its %d other replicas are up to date", group, others, len(voters)-1)
		}
	}
	return nil
}

// inStep reports whether a process has a replica of a group that follows a leader and lacks at most maxLag entries up to a commit.
func inStep(a *pb.MembersResponse, group uint32, id, commit uint64) bool {
	return slices.ContainsFunc(a.GetMembers(), func(m *pb.MemberState) bool {
		return m.GetGroup() == group && m.GetReplica() == id && m.GetWaiting() == "" && m.GetLeader() != 0 && m.GetApplied()+maxLag >= commit
	})
}
