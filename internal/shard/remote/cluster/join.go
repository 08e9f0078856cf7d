package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/server"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// A process that starts with an empty data directory may be new, or have lost its disk. In the second case it has forgotten its votes and the
// entries that it has acknowledged: as the same replica, it could form a majority with one that lacks an acknowledged entry. So it asks the
// other members of the group. Each of them has noted the log store of every other member before the first message from it.
//
//   - If none of them knows the process, it is new, and joins the group.
//   - If one knows it with another store, the replica waits until it is replaced: the leader of the group adds a replica of the process
//     with another id, and its present store, as a learner. The learner catches up, and replaces the lost one by a joint change.
//   - If the process has no replica in the group, since another process has replaced it, it gets none.
//   - Where the layout gives a shard to one process alone, that begins the group once all other processes say that they have no replica.
//
// The id of the new replica names the store that may use it, so the answer of any member suffices then. That member may lag and name a
// replica that the process has had before and whose log it has deleted; the host refuses that id, and the process asks again. A move to another process works the
// same way: that process gets an empty replica, which waits until it is added, and replaces the one that moves. The former one is deleted once
// another member has confirmed, by a linearizable read, that it is no longer a member.

// hosting is the period in which the process has a replica of a shard. The next replica of the shard has another one.
type hosting struct {
	ctx context.Context
	end context.CancelFunc
}

// host has the replica of a shard here join its group, and that of shard 0 lead the cluster. requested says that another process has asked for
// the replica. The caller holds hostingMu, or the process has not started yet.
func (p *Process) host(no int, requested bool) {
	ctx, end := context.WithCancel(p.ctx) //nolint:gosec // release calls it.
	p.hosting[no] = hosting{ctx, end}
	p.running.Go(func() {
		p.join(ctx, no, requested)
		if no == 0 {
			p.run(ctx)
		}
	})
}

// assignedTo returns the processes whose replicas of a shard vote.
func (p *Process) assignedTo(no int) []int {
	if s, ok := p.replicas.Host().GroupStatus(uint32(no)); ok && s.Leader != 0 {
		p.assigned.Learn(no, s.Applied, s.Members.Voters())
	}
	return p.assigned.Processes(no)
}

// next returns the process after another one among them.
func (p *Process) next(no, after int) int {
	p.assignedTo(no)
	return p.assigned.Next(no, after)
}

// others returns the other processes whose replicas of a shard vote.
func (p *Process) others(no int) []int {
	return slices.DeleteFunc(slices.Clone(p.assignedTo(no)), func(to int) bool { return to == p.no })
}

// join has the replica of a shard join its group as soon as it may.
func (p *Process) join(ctx context.Context, no int, requested bool) {
	host := p.replicas.Host()
	if _, in, err := host.Admitted(ctx, uint32(no)); err != nil || in {
		return
	}
	said := ""
	for r := new(rpc.Retries); ctx.Err() == nil; r.Pause(ctx) {
		id, err := p.admit(ctx, no)
		if err == nil {
			p.waiting[no].Store(nil)
			p.log.Info("the replica has joined its group", slog.Int("group", no), slog.Uint64("replica", id))
			return
		}
		if !requested && errors.Is(err, errElsewhere) && p.replicas.Founds(no) && p.removed(ctx, no, p.layout.First(p.no)) {
			p.release(ctx, no)
			return
		}
		why := fmt.Sprintf("the replica of shard %d has not joined its group: %v", no, err)
		p.waiting[no].Store(&why)
		if why != said && errors.Is(err, errLost) {
			said = why
			p.log.Error("a replica has not joined its group", slog.Int("group", no), slog.Any("error", err))
		}
		p.assigned.Renew()
	}
}

// admit has the replica of a shard, whose log is empty, join its group, and returns its id.
func (p *Process) admit(ctx context.Context, no int) (uint64, error) {
	host := p.replicas.Host()
	if p.layout.Replicas == 1 && p.replicas.Founds(no) && len(p.others(no)) == 0 {
		if err := p.askAlone(ctx, no); err != nil {
			return 0, err
		}
		return p.layout.First(p.no), host.Begin(ctx, uint32(no))
	}
	id, err := p.identify(ctx, no)
	if err == nil {
		err = host.Admit(ctx, uint32(no), id)
	}
	return id, err
}

// askAlone returns an error unless all other processes say that they have no replica of a shard.
func (p *Process) askAlone(ctx context.Context, no int) error {
	ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout)
	defer cancel()
	answers, errs := p.peers.Ask(ctx)
	for to, a := range answers {
		if a == nil {
			continue
		}
		if err := p.agrees(to, a); err != nil {
			return err
		}
		for _, m := range a.GetMembers() {
			if int(m.GetGroup()) == no && m.GetWaiting() == "" {
				p.assigned.Learn(no, m.GetApplied(), m.GetVoters())
				return errElsewhere
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("all other processes must say whether the shard is new: %w", err)
	}
	return nil
}

var (
	errLost      = errors.New("the log of this process is not the one that its replica had: graphctl member replace makes it a new one")
	errElsewhere = errors.New("this process is not a member of the shard's group yet")
)

// identify returns the id under which the replica of a shard, whose log is empty, joins its group.
func (p *Process) identify(ctx context.Context, no int) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, peers.Patience)
	defer cancel()
	var asking sync.WaitGroup
	others := p.others(no)
	answers, errs := make([]*pb.IdentifyResponse, len(others)), make([]error, len(others))
	for i, to := range others {
		asking.Go(func() {
			a, err := pb.NewMemberServiceClient(p.peers.At(to).Raw).Members(ctx, &pb.MembersRequest{})
			if err == nil {
				err = p.agrees(to, a)
			}
			if err != nil {
				errs[i] = fmt.Errorf("process %d: %w", to, err)
				return
			}
			answers[i], errs[i] = pb.NewReplicaServiceClient(p.peers.At(to).Raw).Identify(ctx, &pb.IdentifyRequest{Group: uint32(no), Process: uint32(p.no)})
			if errs[i] != nil {
				errs[i] = fmt.Errorf("process %d: %w", to, errs[i])
			}
		})
	}
	asking.Wait()
	if err := errors.Join(errs...); errors.Is(err, errDiffers) || errors.Is(err, errVersion) {
		return 0, err
	}
	own := p.replicas.StoreID()
	id, known, elsewhere := uint64(0), false, false
	for i, a := range answers {
		id = max(id, a.GetReplica())
		elsewhere = elsewhere || errs[i] == nil && a.GetReplica() == 0
	}
	for _, a := range answers {
		if a.GetReplica() != id || len(a.GetStore()) == 0 {
			continue
		}
		if replica.StoreID(a.GetStore()) != own {
			return 0, errLost
		}
		known = true
	}
	switch {
	case known:
		return id, nil
	case elsewhere, !p.replicas.Founds(no):
		return 0, errElsewhere
	}
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("all other processes of the shard must say whether the replica is new: %w", err)
	}
	return p.layout.First(p.no), nil
}

func (r *replicaService) Identify(ctx context.Context, q *pb.IdentifyRequest) (*pb.IdentifyResponse, error) {
	s, ok := r.host.GroupStatus(q.GetGroup())
	if !ok {
		return nil, server.Status(replica.ErrStopped)
	}
	out := &pb.IdentifyResponse{}
	if former := q.GetFormer(); former != 0 {
		has, err := r.host.Knows(ctx, q.GetGroup(), former)
		out.Removed = err == nil && !has
		return out, server.Status(err)
	}
	if s.Applied < s.Commit { // the members are not known before that
		return nil, server.Status(wire.Unavailable("Opening", fmt.Sprintf("the replica of shard %d has applied %d of %d log entries", q.GetGroup(), s.Applied, s.Commit), nil))
	}
	out.Replica = replicaOf(r.p.layout, s.Members, int(q.GetProcess()))
	store, ok, err := r.host.Known(q.GetGroup(), out.GetReplica())
	if ok {
		out.Store = store[:]
	}
	return out, server.Status(err)
}

// replicaOf returns the latest id of a process's replicas among the members, and those that a recovery has removed, 0 without any.
func replicaOf(l shard.Layout, m *replica.Members, process int) (id uint64) {
	for _, member := range slices.Concat(m.Voters(), m.Learners(), m.Lost()) {
		if l.Process(member) == process {
			id = max(id, member)
		}
	}
	return id
}

// removed reports whether another member confirms that a replica is no longer a member.
func (p *Process) removed(ctx context.Context, no int, id uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout)
	defer cancel()
	for _, to := range p.others(no) {
		a, err := pb.NewReplicaServiceClient(p.peers.At(to).Raw).Identify(ctx, &pb.IdentifyRequest{Group: uint32(no), Process: uint32(p.no), Former: id})
		if err == nil {
			return a.GetRemoved()
		}
	}
	p.assigned.Renew()
	return false
}

// retire deletes the replica of a shard if it is no longer a member, and reports whether the process has none now.
func (p *Process) retire(ctx context.Context, no int) bool {
	p.hostingMu.Lock()
	hosted := p.hosting[no].ctx
	p.hostingMu.Unlock()
	if _, ok := p.replicas.Host().GroupStatus(uint32(no)); !ok {
		return true
	}
	if id, in, err := p.replicas.Host().Admitted(ctx, uint32(no)); err != nil || !in || !p.removed(ctx, no, id) {
		return false
	}
	p.release(hosted, no)
	return true
}

// release deletes the replica of a shard, unless its hosting has ended, and the replica is another one.
func (p *Process) release(hosted context.Context, no int) {
	p.hostingMu.Lock()
	defer p.hostingMu.Unlock()
	if hosted == nil || hosted.Err() != nil {
		return
	}
	p.hosting[no].end()
	delete(p.hosting, no)
	p.log.Info("the replica is deleted: another one has replaced it", slog.Int("group", no))
	if err := p.replicas.Release(no); err != nil {
		p.log.Error("a replica that was removed is not deleted; another start deletes it", slog.Int("group", no), slog.Any("error", err))
	}
	p.waiting[no].Store(nil)
	p.hints[no].Store(int64(p.next(no, p.no)))
}

// watchEvery is how often a process looks for replicas that were removed while it was away.
const watchEvery = 2 * time.Second

// watch deletes replicas that are no longer members, and stores addresses of processes, until the process ends.
func (p *Process) watch() {
	for {
		select {
		case <-time.After(watchEvery):
			p.learnAddresses()
		case <-p.peersChanged:
			if err := p.saveAddresses(); err != nil {
				p.log.Error("cannot store the addresses of the processes", slog.Any("error", err))
			}
			continue
		case <-p.ctx.Done():
			return
		}
		for group, s := range p.replicas.Host().Status() {
			if s.Leader == 0 || !s.Members.Has(s.Replica) {
				p.retire(p.ctx, int(group))
			}
		}
	}
}

func (r *replicaService) Hold(ctx context.Context, q *pb.HoldRequest) (*pb.HoldResponse, error) {
	p, no := r.p, int(q.GetGroup())
	for _, k := range q.GetKeepers() {
		if !p.knows(ctx, int(k)) {
			return nil, server.Status(wire.InvalidMember("process %d does not know process %d", p.no, k))
		}
	}
	p.assigned.Assign(no, q.GetKeepers())
	p.retire(ctx, no)
	p.hostingMu.Lock()
	defer p.hostingMu.Unlock()
	if p.ctx.Err() != nil {
		return nil, server.Status(replica.ErrStopped)
	}
	if p.replicas.Parts(no) == nil {
		if err := p.replicas.Hold(no); err != nil {
			return nil, server.Status(err)
		}
		p.host(no, true)
	}
	own := p.replicas.StoreID()
	return &pb.HoldResponse{Store: own[:]}, nil
}

func (r *replicaService) Retire(ctx context.Context, q *pb.RetireRequest) (*pb.RetireResponse, error) {
	return &pb.RetireResponse{Retired: r.p.retire(ctx, int(q.GetGroup()))}, nil
}

// JoinProcess is NewProcess for a process at the address own that graphctl member add adds to a cluster. Until it is added, or ctx ends, it asks
// the processes at the addresses any for the others. Later starts read them from the data directory.
func JoinProcess(ctx context.Context, opts local.Options, own string, any []string, more ...grpc.DialOption) (*Process, error) {
	opts.EnsureDefaults()
	layout, no, addresses, err := part.ReadLayout(opts)
	if err != nil {
		return nil, err
	}
	switch {
	case len(addresses) == 0 && layout.Processes > 0:
		return nil, fmt.Errorf("%s belongs to process %d of the first %d of a cluster, and %s is not one of their addresses, %s: all processes must be started with the address that it has now",
			opts.Dir, no, layout.Processes, own, strings.Join(any, ","))
	case no < len(addresses) && addresses[no] != "" && addresses[no] != own:
		return nil, fmt.Errorf("%s belongs to process %d, which the cluster knows at %s, and this process is at %s", opts.Dir, no, addresses[no], own)
	case len(addresses) == 0:
		if layout, no, addresses, err = askAddresses(ctx, opts.Logger, own, any, rpc.FailFast(more)); err != nil {
			return nil, err
		}
	}
	return NewProcess(opts, layout, no, addresses, more...)
}

// askAddresses asks processes of a cluster for its layout, the number of the process at own, and the addresses of all.
func askAddresses(ctx context.Context, log *slog.Logger, own string, any []string, more []grpc.DialOption) (_ shard.Layout, no int, addresses []string, err error) {
	l := peers.NewList(peers.Options{Self: -1, Dial: more})
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Learn(any); err != nil {
		return shard.Layout{}, 0, nil, err
	}
	said := ""
	for {
		var errs []error
		for _, p := range l.All() {
			limited, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout)
			a, err := pb.NewMemberServiceClient(p.Raw).Members(limited, &pb.MembersRequest{})
			cancel()
			switch at := slices.Index(a.GetAddresses(), own); {
			case err != nil:
				errs = append(errs, fmt.Errorf("%s: %w", p.Address, err))
			case at < 0:
				errs = append(errs, fmt.Errorf("%s knows no process at %s: graphctl member add %s adds it", p.Address, own, own))
			default:
				return wire.DecodeLayout(a.GetLayout()), at, a.GetAddresses(), nil
			}
		}
		if why := errors.Join(errs...).Error(); why != said {
			said = why
			log.Warn("this process is not in the cluster yet", slog.String("address", own), slog.String("error", why))
		}
		select {
		case <-time.After(rpc.LongestPause):
		case <-ctx.Done():
			return shard.Layout{}, 0, nil, errors.Join(append(errs, ctx.Err())...)
		}
	}
}

var errRemoved = errors.New("this process was removed from the cluster: graphctl member add makes it a new one, with an empty data directory")

// reach has the process use a new list of processes.
func (p *Process) reach(all []*peers.Peer) {
	p.transport.reach(all)
	select {
	case p.peersChanged <- struct{}{}:
	default:
	}
}

// saveAddresses writes the addresses to the data directory, for the next start, once they differ from those of the layout.
func (p *Process) saveAddresses() error {
	all := p.peers.Addresses()
	if f := p.onAddresses.Load(); f != nil {
		(*f)(all)
	}
	if p.peers.Changes() == uint32(p.layout.Processes) {
		return nil
	}
	if p.peers.Removed(p.no) {
		p.log.Error("this process has left the cluster", slog.Any("error", errRemoved))
	}
	return p.replicas.SetAddresses(all)
}

// OnAddresses calls f with the addresses of all processes, "" for removed ones: now, and whenever they change.
func (p *Process) OnAddresses(f func(all []string)) {
	p.onAddresses.Store(&f)
	f(p.peers.Addresses())
}

// knows reports whether a process exists, or existed; it asks the others if it does not know.
func (p *Process) knows(ctx context.Context, no int) bool {
	if no >= len(p.peers.All()) {
		p.assigned.Refresh(ctx)
	}
	return no < len(p.peers.All())
}

// learnAddresses adds the addresses in the replica of shard 0 here.
func (p *Process) learnAddresses() {
	s, ok := p.replicas.Host().GroupStatus(0)
	if !ok {
		return
	}
	all, set := p.peers.Addresses(), s.Members.Addresses()
	for a, ok := set[uint32(len(all))]; ok; a, ok = set[uint32(len(all))] {
		all = append(all, a)
	}
	for no := range all {
		if a, ok := set[uint32(no)]; ok && a == "" {
			all[no] = ""
		}
	}
	if err := p.peers.Learn(all); err != nil {
		p.log.Error("cannot connect to a process that was added", slog.Any("error", err))
	}
}
