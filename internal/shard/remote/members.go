package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/shard"
)

// A process that comes with an empty data directory may be new, or have lost its disk. In the second case it has forgotten its votes,
// and what it has acknowledged: as the same replica, it could make a majority with one that lacks an acknowledged entry. So it asks the
// others. Each member of a group has noted, before it took the first message of another one, which log store that has.
//
//   - If all of them have heard nothing of the process, it is new, and takes part.
//   - If one knows it with another store, the replica waits until it is replaced: the leader of the group adds a replica of the process
//     with another id, and its present store, as a learner. The learner follows, and takes the place of the lost one by a joint change.
//
// The id of the new replica names the store that may use it, so any member's answer suffices then.

// join lets the replica of a shard take part once it may.
func (p *Process) join(ctx context.Context, no int) {
	host := p.replicas.Host()
	if in, err := host.Admitted(ctx, uint32(no)); err != nil || in {
		return
	}
	said := ""
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		id, err := p.identify(ctx, no)
		if err == nil {
			err = host.Admit(ctx, uint32(no), id)
		}
		if err == nil {
			p.waiting[no].Store(nil)
			p.log.Info("the replica takes part", slog.Int("group", no), slog.Uint64("replica", id))
			return
		}
		why := fmt.Sprintf("the replica of shard %d takes no part: %v", no, err)
		p.waiting[no].Store(&why)
		if why != said && errors.Is(err, errLost) {
			said = why
			p.log.Error("a replica takes no part", slog.Int("group", no), slog.Any("error", err))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

var errLost = errors.New("the log of this process is not the one that its replica had: graphctl member replace makes it a new one")

// identify returns the id under which the replica of a shard, whose log is empty, takes part.
func (p *Process) identify(ctx context.Context, no int) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var asking sync.WaitGroup
	others := slices.DeleteFunc(p.layout.Keepers(no), func(to int) bool { return to == p.no })
	answers, errs := make([]*pb.IdentifyResponse, len(others)), make([]error, len(others))
	for i, to := range others {
		asking.Go(func() {
			answers[i], errs[i] = pb.NewReplicaServiceClient(p.conns[to]).Identify(ctx, &pb.IdentifyRequest{Group: uint32(no), Process: uint32(p.no)})
			if errs[i] != nil {
				errs[i] = fmt.Errorf("process %d: %w", to, errs[i])
			}
		})
	}
	asking.Wait()
	first := p.layout.Replica(p.no, 0)
	id, own := first, p.replicas.StoreID()
	for _, a := range answers {
		id = max(id, a.GetReplica())
	}
	known := false
	for _, a := range answers {
		if a.GetReplica() != id || len(a.GetStore()) == 0 {
			continue
		}
		if replica.StoreID(a.GetStore()) != own {
			return 0, errLost
		}
		known = true
	}
	if id == first && !known {
		if err := errors.Join(errs...); err != nil {
			return 0, fmt.Errorf("whether it is new is known once all others answer: %w", err)
		}
	}
	return id, nil
}

// Identify implements the call.
func (r *receiver) Identify(_ context.Context, q *pb.IdentifyRequest) (*pb.IdentifyResponse, error) {
	s, ok := r.host.Status()[q.GetGroup()]
	if !ok {
		return nil, toStatus(replica.ErrStopped)
	}
	if s.Applied < s.Commit { // the members are not known before that
		return nil, toStatus(unavailable("Opening", fmt.Sprintf("the replica of shard %d has applied %d of %d log entries", q.GetGroup(), s.Applied, s.Commit), nil))
	}
	out := &pb.IdentifyResponse{Replica: replicaOf(r.layout, s.Members, int(q.GetProcess()))}
	store, ok, err := r.host.Known(q.GetGroup(), out.GetReplica())
	if ok {
		out.Store = store[:]
	}
	return out, toStatus(err)
}

// replicaOf returns the last id of a process's replicas among members, and those that a recovery has removed, 0 if there is none.
func replicaOf(l shard.Layout, m *replica.Members, process int) (id uint64) {
	for _, member := range slices.Concat(m.Voters(), m.Learners(), m.Lost()) {
		if l.Process(member) == process {
			id = max(id, member)
		}
	}
	return id
}

// members answers MemberService.
type members struct {
	pb.UnimplementedMemberServiceServer
	p *Process
}

// Members implements the call.
func (m *members) Members(context.Context, *pb.MembersRequest) (*pb.MembersResponse, error) {
	own := m.p.replicas.StoreID()
	out := &pb.MembersResponse{Store: own[:]}
	for group, s := range m.p.replicas.Replicas() {
		state := &pb.MemberState{
			Group: group, Replica: s.Replica, Leads: s.Leads, Term: s.Term, Commit: s.Commit, Applied: s.Applied, LogBytes: s.LogBytes,
			SeedBytes: s.SeedBytes, SeededBytes: s.SeededBytes, Voters: s.Members.Voters(), Learners: s.Members.Learners(),
		}
		if s.Leader != 0 {
			state.Leader = uint32(m.p.layout.Process(s.Leader)) + 1
		}
		if why := m.p.waiting[group].Load(); why != nil {
			state.Waiting = *why
		}
		out.Members = append(out.Members, state)
	}
	slices.SortFunc(out.Members, func(a, b *pb.MemberState) int { return int(a.GetGroup()) - int(b.GetGroup()) })
	return out, nil
}

// leads returns the status of the replica of a group that a call is for, which has to lead it.
func (m *members) leads(group, process uint32) (replica.GroupStatus, error) {
	s, ok := m.p.replicas.Host().Status()[group]
	switch {
	case int(group) >= m.p.layout.Shards:
		return s, toStatus(invalidMember("there is no shard %d: they have the numbers 0 to %d", group, m.p.layout.Shards-1))
	case !ok || !s.Leads:
		return s, notLeading(m.p.leaderOf(int(group)), replica.ErrNotLeader)
	case !slices.Contains(m.p.layout.Keepers(int(group)), int(process)):
		return s, toStatus(invalidMember("process %d keeps no replica of shard %d", process, group))
	}
	return s, nil
}

// Transfer implements the call.
func (m *members) Transfer(ctx context.Context, r *pb.TransferRequest) (*pb.TransferResponse, error) {
	s, err := m.leads(r.GetGroup(), r.GetProcess())
	if err != nil {
		return nil, err
	}
	to := replicaOf(m.p.layout, s.Members, int(r.GetProcess()))
	if err := m.p.replicas.Host().Transfer(ctx, r.GetGroup(), to); err != nil {
		return nil, toStatus(unavailable("NoTransfer", fmt.Sprintf("process %d has not taken the lead of shard %d", r.GetProcess(), r.GetGroup()), err))
	}
	return &pb.TransferResponse{}, nil
}

// Replace implements the call. Each of its steps is an entry of the log, so that it can be called again if it fails in between.
func (m *members) Replace(ctx context.Context, r *pb.ReplaceRequest) (*pb.ReplaceResponse, error) {
	process := int(r.GetProcess())
	if _, err := m.leads(r.GetGroup(), r.GetProcess()); err != nil {
		return nil, err
	}
	if process == m.p.no {
		return &pb.ReplaceResponse{}, nil // what leads has its disk
	}
	a, err := membersAt(ctx, process, pb.NewMemberServiceClient(m.p.conns[process]))
	if err != nil {
		return nil, toStatus(err)
	}
	if len(a.GetStore()) != len(replica.StoreID{}) {
		return nil, toStatus(errCodec)
	}
	host, store := m.p.replicas.Host(), replica.StoreID(a.GetStore())
	for replaced := false; ; replaced = true {
		s, err := m.leads(r.GetGroup(), r.GetProcess())
		if err != nil {
			return nil, err
		}
		id := replicaOf(m.p.layout, s.Members, process)
		known, ok, err := host.Known(r.GetGroup(), id)
		if err != nil {
			return nil, toStatus(err)
		}
		switch {
		case ok && known == (replica.StoreID{}) && running(a, r.GetGroup(), id):
			return nil, toStatus(invalidMember("process %d runs with a directory from before hopgate recover: start it with an empty one", process))
		case id == 0, ok && known != store:
			err = host.Change(ctx, r.GetGroup(), replica.Change{Learner: max(id+uint64(m.p.layout.Processes), uint64(process)+1), Store: store})
		case slices.Contains(s.Members.Learners(), id):
			err = m.promote(ctx, r.GetGroup(), id, s.Members)
		case !s.Members.Joint():
			return &pb.ReplaceResponse{Replaced: replaced}, nil
		}
		if err != nil && !errors.Is(err, replica.ErrChanging) {
			return nil, toStatus(err)
		}
		select {
		case <-time.After(firstPause):
		case <-ctx.Done():
			return nil, toStatus(ctx.Err())
		}
	}
}

// running reports whether a process has a log of a replica.
func running(a *pb.MembersResponse, group uint32, id uint64) bool {
	return slices.ContainsFunc(a.GetMembers(), func(m *pb.MemberState) bool { return m.GetGroup() == group && m.GetReplica() == id && m.GetTerm() > 0 })
}

// promote makes a learner vote once it follows, in place of the other replicas of its process.
func (m *members) promote(ctx context.Context, group uint32, id uint64, now *replica.Members) error {
	lag, err := m.p.replicas.Host().Lag(ctx, group, id)
	if err != nil || lag > maxLag {
		return err
	}
	c := replica.Change{Promote: id}
	for _, other := range append(now.Voters(), now.Learners()...) {
		if other != id && m.p.layout.Process(other) == m.p.layout.Process(id) {
			c.Remove = append(c.Remove, other)
		}
	}
	return m.p.replicas.Host().Change(ctx, group, c)
}
