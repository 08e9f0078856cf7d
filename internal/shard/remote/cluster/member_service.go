package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/server"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/version"
)

// memberService answers MemberService.
type memberService struct {
	pb.UnimplementedMemberServiceServer
	p *Process
}

func (m *memberService) Members(context.Context, *pb.MembersRequest) (*pb.MembersResponse, error) {
	own := m.p.replicas.StoreID()
	l := m.p.layout
	out := &pb.MembersResponse{
		Store: own[:], Process: uint32(m.p.no), Addresses: m.p.peers.Addresses(),
		Layout:  &pb.Layout{Processes: uint32(l.Processes), Shards: uint32(l.Shards), Replicas: uint32(l.Replicas)},
		Version: version.Cluster, Active: m.p.Version(),
	}
	for no := range m.p.layout.Processes {
		out.Stores = append(out.Stores, m.p.storeOf(no))
	}
	for group, s := range m.p.replicas.Replicas() {
		state := &pb.MemberState{
			Group: group, Replica: s.Replica, Leads: s.Leads, Term: s.Term, Commit: s.Commit, Applied: s.Applied, LogBytes: s.LogBytes,
			SeedBytes: s.SeedBytes, SeededBytes: s.SeededBytes, Voters: s.Members.Voters(), Learners: slices.Concat(s.Members.Learners(), s.Members.Joining()), Lost: s.Members.Lost(),
		}
		if s.Leader != 0 {
			state.Leader = uint32(m.p.layout.Process(s.Leader)) + 1
		}
		if why := m.p.waiting[group].Load(); why != nil {
			state.Waiting = *why
		}
		if s.Fault != nil {
			state.Stopped = s.Fault.Error()
		}
		if s.Damage != nil {
			state.Damaged = s.Damage.Error()
		}
		out.Members = append(out.Members, state)
	}
	slices.SortFunc(out.Members, func(a, b *pb.MemberState) int { return int(a.GetGroup()) - int(b.GetGroup()) })
	return out, nil
}

// leads returns the status of the replica of a group here, or NotLeading if it does not lead.
func (m *memberService) leads(group uint32) (replica.GroupStatus, error) {
	if int(group) >= m.p.layout.Shards {
		return replica.GroupStatus{}, wire.InvalidMember("there is no shard %d: shards are numbered 0 to %d", group, m.p.layout.Shards-1)
	}
	s, ok := m.p.replicas.Host().GroupStatus(group)
	if !ok {
		return s, server.NotLeading(-1, replica.ErrNotLeader)
	}
	if !s.Leads {
		return s, server.NotLeading(m.p.knownLeader(int(group)), replica.ErrNotLeader)
	}
	return s, nil
}

func (m *memberService) Transfer(ctx context.Context, r *pb.TransferRequest) (*pb.TransferResponse, error) {
	s, err := m.leads(r.GetGroup())
	if err != nil {
		return nil, server.Status(err)
	}
	to := replicaOf(m.p.layout, s.Members, int(r.GetProcess()))
	if to == 0 {
		return nil, server.Status(noReplica(int(r.GetProcess()), r.GetGroup()))
	}
	if err := m.p.replicas.Host().Transfer(ctx, r.GetGroup(), to); err != nil {
		return nil, server.Status(wire.Unavailable("NoTransfer", fmt.Sprintf("process %d has not taken the lead of shard %d", r.GetProcess(), r.GetGroup()), err))
	}
	return &pb.TransferResponse{}, nil
}

func noReplica(process int, group uint32) error {
	return wire.InvalidMember("process %d has no replica of shard %d", process, group)
}

func (m *memberService) Replace(ctx context.Context, r *pb.ReplaceRequest) (*pb.ReplaceResponse, error) {
	replaced, err := m.move(ctx, r.GetGroup(), int(r.GetProcess()), int(r.GetProcess()))
	if err != nil {
		return nil, server.Status(err)
	}
	return &pb.ReplaceResponse{Replaced: replaced}, nil
}

func (m *memberService) Move(ctx context.Context, r *pb.MoveRequest) (*pb.MoveResponse, error) {
	from, to := int(r.GetFrom()), int(r.GetTo())
	switch known := m.p.knows(ctx, from) && m.p.knows(ctx, to); {
	case !known, from == to:
		return nil, server.Status(wire.InvalidMember("a replica moves from one process to another, both of 0 to %d", len(m.p.peers.All())-1))
	case m.p.peers.Removed(to):
		return nil, server.Status(wire.NoProcess(to))
	}
	if _, err := m.move(ctx, r.GetGroup(), from, to); err != nil {
		return nil, server.Status(err)
	}
	if from == m.p.no { // cannot happen, since another process leads now
		return nil, server.NotLeading(-1, replica.ErrNotLeader)
	}
	ctx, cancel := context.WithTimeout(ctx, peers.Patience)
	defer cancel()
	a, err := pb.NewReplicaServiceClient(m.p.peers.At(from).Raw).Retire(ctx, &pb.RetireRequest{Group: r.GetGroup()})
	if err != nil {
		m.p.log.Warn("a replica that has moved is deleted when its process returns", slog.Int("process", from), slog.Uint64("group", uint64(r.GetGroup())), slog.Any("error", err))
	}
	return &pb.MoveResponse{Retired: a.GetRetired()}, nil
}

// move replaces the voting replica of one process by one of another process, or of the same one if it has lost its log store; moved is false if
// nothing was to do. Each step is an entry of the log, so the call can be repeated after a failure.
func (m *memberService) move(ctx context.Context, group uint32, from, to int) (moved bool, err error) {
	p, host := m.p, m.p.replicas.Host()
	var store *replica.StoreID // of the process to
	var holds *pb.MembersResponse
	var held time.Time
	for r := new(rpc.Retries); ; moved = true {
		s, err := m.leads(group)
		if err != nil {
			return moved, err
		}
		switch {
		case from == to && to == p.no:
			return moved, nil // the leader has its disk
		case p.peers.Removed(to):
			return moved, wire.NoProcess(to)
		}
		former := replicaOf(p.layout, s.Members, from)
		leaves, votes := p.among(s.Members.Voters(), from), p.among(s.Members.Voters(), to)
		if p.among(s.Members.Lost(), from) {
			leaves = leaves || len(s.Members.Voters()) < p.layout.Replicas // a recovery has removed it
			if !s.Members.Has(former) {
				former = 0
			}
		}
		switch {
		case s.Members.Joint(): // until Raft ends it
		case !leaves && from == to:
			return moved, nil
		case !leaves && !votes:
			return moved, noReplica(from, group)
		case !leaves && former == 0:
			return moved, nil
		case !leaves: // an earlier move in the other direction
			err = host.Change(ctx, group, replica.Change{Of: s.Members, Remove: []uint64{former}})
		case from != to && votes:
			return moved, wire.InvalidMember("process %d already has a replica of shard %d", to, group)
		default:
			if store == nil || time.Since(held) > rpc.LongestPause { // it may have started again
				held = time.Now()
				if store, holds, err = m.hold(ctx, group, to); err != nil {
					return moved, err
				}
			}
			var settled bool
			if settled, err = m.step(ctx, &s, group, from, to, *store, holds); settled {
				return moved, nil
			}
		}
		if err != nil && !errors.Is(err, replica.ErrChanging) && !errors.Is(err, replica.ErrNoTransfer) {
			return moved, err
		}
		if !r.Pause(ctx) {
			return moved, ctx.Err()
		}
	}
}

// running reports whether a process has the log of a replica.
func running(a *pb.MembersResponse, group uint32, id uint64) bool {
	return slices.ContainsFunc(a.GetMembers(), func(m *pb.MemberState) bool {
		return m.GetGroup() == group && m.GetReplica() == id && m.GetTerm() > 0
	})
}

// among reports whether a process has one of some replicas.
func (p *Process) among(ids []uint64, process int) bool {
	return slices.ContainsFunc(ids, func(id uint64) bool { return p.layout.Process(id) == process })
}

// step makes the next change towards a voting replica of the process to, with its log store; settled reports that none is left.
func (m *memberService) step(ctx context.Context, s *replica.GroupStatus, group uint32, from, to int, store replica.StoreID, holds *pb.MembersResponse) (settled bool, err error) {
	p, host := m.p, m.p.replicas.Host()
	id := replicaOf(p.layout, s.Members, to)
	known, ok, err := host.Known(group, id)
	switch {
	case err != nil:
		return false, err
	case ok && known == (replica.StoreID{}) && running(holds, group, id):
		return false, wire.InvalidMember("process %d runs with a directory from before hopgate recover: start it with an empty one", to)
	case id == 0, ok && known != store:
		return false, host.Change(ctx, group, replica.Change{Of: s.Members, Learner: p.layout.Added(to, s.LastIndex), Store: store})
	case slices.Contains(s.Members.Voters(), id):
		return true, nil
	}
	if lag, err := host.Lag(ctx, group, id); err != nil || lag > maxLag {
		return false, err
	}
	if from == p.no && len(s.Members.Voters()) > 1 {
		if err := host.Transfer(ctx, group, 0); err != nil {
			return false, err
		}
		return false, server.NotLeading(p.knownLeader(int(group)), replica.ErrNotLeader)
	}
	c := replica.Change{Of: s.Members, Promote: []uint64{id}, Remove: slices.DeleteFunc(s.Members.Learners(), func(other uint64) bool { return other == id })}
	for _, other := range s.Members.Voters() {
		if process := p.layout.Process(other); process == from || process == to {
			c.Remove = append(c.Remove, other)
		}
	}
	return false, host.Change(ctx, group, c)
}

// hold has a process create a replica of a group, and returns its log store and the replicas that it had before.
func (m *memberService) hold(ctx context.Context, group uint32, process int) (*replica.StoreID, *pb.MembersResponse, error) {
	p := m.p
	if process == p.no {
		return new(p.replicas.StoreID()), nil, nil
	}
	who := fmt.Sprintf("process %d", process)
	to := p.peers.At(process)
	// It may have just started.
	holds, err := peers.Call(ctx, who, pb.NewMemberServiceClient(to.Raw).Members, &pb.MembersRequest{})
	if err != nil {
		return nil, nil, err
	}
	if int(holds.GetProcess()) != process {
		return nil, nil, wire.InvalidMember("the process at %s has the number %d, not %d: start it with an empty data directory", to.Address, holds.GetProcess(), process)
	}
	q := &pb.HoldRequest{Group: group}
	for _, k := range p.assignedTo(int(group)) {
		q.Keepers = append(q.Keepers, uint32(k))
	}
	a, err := peers.Call(ctx, who, pb.NewReplicaServiceClient(to.Raw).Hold, q)
	if err != nil {
		return nil, nil, err
	}
	if len(a.GetStore()) != len(replica.StoreID{}) {
		return nil, nil, wire.ErrMalformed
	}
	return new(replica.StoreID(a.GetStore())), holds, nil
}

// maxProcesses is how many processes ids of replicas can name.
const maxProcesses = 1<<16 - 1

func (m *memberService) Add(ctx context.Context, r *pb.AddRequest) (*pb.AddResponse, error) {
	address := r.GetAddress()
	if err := checkAddress(address); err != nil {
		return nil, server.Status(err)
	}
	out := &pb.AddResponse{}
	for {
		if _, err := m.leads(0); err != nil {
			return nil, server.Status(err)
		}
		m.p.learnAddresses()
		all := m.p.peers.Addresses()
		if at := slices.Index(all, address); at >= 0 {
			out.Process = uint32(at)
			return out, nil
		}
		if len(all) == maxProcesses {
			return nil, server.Status(wire.InvalidMember("a cluster can add no more than %d processes in its lifetime", maxProcesses))
		}
		if err := m.set(ctx, len(all), address); err != nil {
			return nil, server.Status(err)
		}
		out.Added = true
	}
}

// checkAddress returns an error unless an address is a host and a port.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || len(host) > 253 || strings.ContainsAny(host, ", /") || perr != nil || n == 0 {
		return wire.InvalidMember("address %q: must be a host and a port, such as host3:9190", address)
	}
	return nil
}

// set sets the address of a process, "" to remove it, by an entry in the log of group 0.
func (m *memberService) set(ctx context.Context, process int, address string) error {
	for r := new(rpc.Retries); ; {
		err := m.p.replicas.Host().Change(ctx, 0, replica.Change{Addresses: map[uint32]string{uint32(process): address}})
		if err == nil {
			m.p.learnAddresses()
			return nil
		}
		switch {
		case errors.Is(err, replica.ErrNotLeader), errors.Is(err, replica.ErrAmbiguous), errors.Is(err, replica.ErrStopped):
			return server.NotLeading(-1, err) // the next try finds the outcome
		case !errors.Is(err, replica.ErrChanging):
			return err
		}
		if !r.Pause(ctx) {
			return ctx.Err()
		}
	}
}

func (m *memberService) Remove(ctx context.Context, r *pb.RemoveRequest) (*pb.RemoveResponse, error) {
	process := int(r.GetProcess())
	if _, err := m.leads(0); err != nil {
		return nil, server.Status(err)
	}
	m.p.learnAddresses()
	if process >= len(m.p.peers.All()) {
		return nil, server.Status(wire.NoProcess(process))
	}
	if !m.p.peers.Removed(process) {
		left := -1
		for _, a := range m.p.peers.Addresses() {
			if a != "" {
				left++
			}
		}
		if left < m.p.layout.Replicas {
			return nil, server.Status(wire.InvalidMember("without process %d there are %d processes, and shards have %d replicas: add one first", process, left, m.p.layout.Replicas))
		}
		if err := m.checkEmpty(ctx, process); err != nil {
			return nil, server.Status(err)
		}
		if err := m.set(ctx, process, ""); err != nil {
			return nil, server.Status(err)
		}
	}
	// Another process may have begun a move to it before it knew.
	if err := m.checkEmpty(ctx, process); err != nil {
		return nil, server.Status(err)
	}
	return &pb.RemoveResponse{}, nil
}

// checkEmpty asks the leaders of all groups, and returns an error if a process has a replica.
func (m *memberService) checkEmpty(ctx context.Context, process int) error {
	answers, _ := m.p.peers.Ask(ctx)
	own, err := m.Members(ctx, nil)
	if err != nil {
		return err
	}
	led := make([]*pb.MemberState, m.p.layout.Shards)
	for _, a := range append(answers, own) {
		for _, s := range a.GetMembers() {
			if no := int(s.GetGroup()); s.GetLeads() && no < len(led) && s.GetTerm() >= led[no].GetTerm() {
				led[no] = s
			}
		}
	}
	var keeps []string
	for no, s := range led {
		if s == nil {
			return wire.Unavailable("NoAnswer", fmt.Sprintf("the members of shard %d are not known: its leader does not answer", no), nil)
		}
		ids := slices.Concat(s.GetVoters(), s.GetLearners())
		if len(s.GetVoters()) < m.p.layout.Replicas { // a recovery has removed it
			ids = append(ids, s.GetLost()...)
			if len(s.GetLost()) == 0 && slices.Contains(m.p.layout.Keepers(no), process) { // grow will give it one
				ids = append(ids, m.p.layout.First(process))
			}
		}
		if m.p.among(ids, process) {
			keeps = append(keeps, strconv.Itoa(no))
		}
	}
	if len(keeps) > 0 {
		return wire.InvalidMember("process %d has replicas of shards %s: move them by graphctl member rebalance --drain %d", process, strings.Join(keeps, ", "), process)
	}
	return nil
}

// A group that has one member gets others when its processes start with more replicas; see part.Replicas. Its leader adds them as learners,
// one after another, and each is seeded. Then one joint change gives all of them a vote, since of two voters none may fail. Each step is an
// entry of the log, so the next leader continues where this one stopped.

// grow adds members to the groups that this process leads, until the process ends.
func (p *Process) grow() {
	m, said := &memberService{p: p}, map[uint32]string{}
	for {
		pause := watchEvery
		for group, s := range p.replicas.Host().Status() {
			missing := p.missing(int(group), s.Members)
			if !s.Leads || len(missing) == 0 {
				continue
			}
			pause = rpc.LongestPause
			err := m.grow(p.ctx, group, &s, missing)
			if err == nil || p.ctx.Err() != nil || errors.Is(err, replica.ErrChanging) || errors.Is(err, replica.ErrNotLeader) {
				continue
			}
			if why := err.Error(); why != said[group] {
				said[group] = why
				p.log.Warn("a shard does not have all replicas yet", slog.Uint64("group", uint64(group)), slog.Any("error", err))
			}
		}
		select {
		case <-time.After(pause):
		case <-p.ctx.Done():
			return
		}
	}
}

// missing returns the processes of the layout that a shard's group lacks. It returns none if a recovery has removed members: graphctl member
// replace replaces those.
func (p *Process) missing(no int, m *replica.Members) []int {
	if len(m.Voters()) >= p.layout.Replicas || len(m.Lost()) > 0 {
		return nil
	}
	return slices.DeleteFunc(p.layout.Keepers(no), func(process int) bool { return p.among(m.Voters(), process) || p.peers.Removed(process) })
}

// grow makes the next change by which the missing processes become members of a group.
func (m *memberService) grow(ctx context.Context, group uint32, s *replica.GroupStatus, missing []int) error {
	host := m.p.replicas.Host()
	ctx, cancel := context.WithTimeout(ctx, peers.Patience)
	defer cancel()
	c := replica.Change{Of: s.Members, Remove: s.Members.Learners()}
	for _, process := range missing {
		store, holds, err := m.hold(ctx, group, process)
		if err != nil {
			return err
		}
		for _, other := range holds.GetMembers() {
			if other.GetGroup() == group && other.GetTerm() > 0 && !s.Members.Has(other.GetReplica()) {
				return fmt.Errorf("process %d has other replicas of the shard: start it with an empty directory", process)
			}
		}
		id := replicaOf(m.p.layout, s.Members, process)
		known, ok, err := host.Known(group, id)
		switch {
		case err != nil:
			return err
		case id == 0, ok && known != *store:
			return host.Change(ctx, group, replica.Change{Of: s.Members, Learner: m.p.layout.Added(process, s.LastIndex), Store: *store})
		}
		if lag, err := host.Lag(ctx, group, id); err != nil || lag > maxLag {
			return err
		}
		c.Promote = append(c.Promote, id)
		c.Remove = slices.DeleteFunc(c.Remove, func(other uint64) bool { return other == id })
	}
	return host.Change(ctx, group, c)
}
