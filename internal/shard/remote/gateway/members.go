package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

var _ shard.Members = (*Store)(nil)

// Members implements shard.Members.
func (s *Store) Members(ctx context.Context) ([]shard.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, peers.Patience)
	defer cancel()
	answers, errs := s.peers.Ask(ctx)
	for len(answers) < len(s.peers.All()) { // answers have named further ones
		answers, errs = s.peers.Ask(ctx)
	}
	var out []shard.Member
	for process, a := range answers {
		if s.peers.Removed(process) {
			continue
		}
		address := s.peers.At(process).Address
		if own := a.GetAddresses(); process < len(own) {
			address = own[process] // which differs with SRV records
		}
		if errs[process] != nil {
			err, _ := wire.FromStatus(ctx, fmt.Sprintf("process %d", process), errs[process])
			out = append(out, shard.Member{Process: process, Address: address, Shard: -1, Role: "unreachable", Note: err.Error()})
		}
		if errs[process] == nil && len(a.GetMembers()) == 0 {
			out = append(out, shard.Member{Process: process, Address: address, Shard: -1, Role: "idle"})
		}
		for _, m := range a.GetMembers() {
			out = append(out, shard.Member{
				Process: process, Address: address, Shard: int(m.GetGroup()), Replica: m.GetReplica(), Role: roleOf(m), Term: m.GetTerm(), Commit: m.GetCommit(),
				Applied: m.GetApplied(), LogBytes: m.GetLogBytes(), SeedBytes: m.GetSeedBytes(), SeededBytes: m.GetSeededBytes(), Note: cmp.Or(m.GetWaiting(), m.GetStopped(), m.GetDamaged()),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b shard.Member) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Shard, b.Shard))
	})
	return out, nil
}

// roleOf returns the role of a replica.
func roleOf(m *pb.MemberState) string {
	switch {
	case m.GetWaiting() != "":
		return "waiting"
	case m.GetStopped() != "":
		return "stopped"
	case m.GetLeads():
		return "leader"
	case slices.Contains(m.GetLearners(), m.GetReplica()):
		return "learner"
	}
	return "follower"
}

// ReplaceMember implements shard.Members.
func (s *Store) ReplaceMember(ctx context.Context, process int) (replaced int, err error) {
	if err := s.checkProcess(ctx, process); err != nil {
		return 0, err
	}
	// The processes that share its shards know which it has.
	groups := map[uint32]bool{} // in which it has a replica, or had one before a recovery
	all, errs := s.peers.Ask(ctx)
	known := false
	for _, a := range all {
		for _, m := range a.GetMembers() {
			s.assigned.Learn(int(m.GetGroup()), m.GetApplied(), m.GetVoters())
			for _, id := range slices.Concat(m.GetVoters(), m.GetLost()) {
				if s.assigned.Layout().Process(id) == process {
					groups[m.GetGroup()], known = true, true
				}
			}
		}
	}
	for other, err := range errs {
		if err != nil && !known && other != process {
			err, _ = wire.FromStatus(ctx, fmt.Sprintf("process %d", other), err)
			return 0, wire.Unavailable("NoAnswer", fmt.Sprintf("the replicas of process %d are not known while process %d does not answer", process, other), err)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		r, err := atLeader(ctx, s, int(group), pb.MemberServiceClient.Replace, &pb.ReplaceRequest{Group: group, Process: uint32(process)})
		if err != nil {
			return replaced, err
		}
		if r.GetReplaced() {
			replaced++
		}
	}
	return replaced, nil
}

// MoveReplica implements shard.Members.
func (s *Store) MoveReplica(ctx context.Context, no, from, to int) (deleted bool, err error) {
	if err := s.checkProcess(ctx, to); err != nil {
		return false, err
	}
	if !s.peers.Removed(from) { // else it may have left after a move from it began
		if err := s.checkProcess(ctx, from); err != nil {
			return false, err
		}
	}
	if err := checkShard(no); err != nil {
		return false, err
	}
	s.assigned.Refresh(ctx)
	r, err := atLeader(ctx, s, no, pb.MemberServiceClient.Move, &pb.MoveRequest{Group: uint32(no), From: uint32(from), To: uint32(to)})
	s.assigned.Refresh(ctx)
	return r.GetRetired(), err
}

// TransferLead implements shard.Members.
func (s *Store) TransferLead(ctx context.Context, no, process int) error {
	if err := s.checkProcess(ctx, process); err != nil {
		return err
	}
	if err := checkShard(no); err != nil {
		return err
	}
	_, err := atLeader(ctx, s, no, pb.MemberServiceClient.Transfer, &pb.TransferRequest{Group: uint32(no), Process: uint32(process)})
	return err
}

// AddMember implements shard.Members.
func (s *Store) AddMember(ctx context.Context, address string) (process int, added bool, err error) {
	r, err := atLeader(ctx, s, 0, pb.MemberServiceClient.Add, &pb.AddRequest{Address: address})
	if err == nil {
		s.assigned.Refresh(ctx)
	}
	return int(r.GetProcess()), r.GetAdded(), err
}

// RemoveMember implements shard.Members.
func (s *Store) RemoveMember(ctx context.Context, process int) error {
	if !s.peers.Removed(process) {
		if err := s.checkProcess(ctx, process); err != nil {
			return err
		}
	}
	_, err := atLeader(ctx, s, 0, pb.MemberServiceClient.Remove, &pb.RemoveRequest{Process: uint32(process)})
	if err == nil {
		s.assigned.Refresh(ctx)
	}
	return err
}

// checkProcess returns an error unless the process exists.
func (s *Store) checkProcess(ctx context.Context, process int) error {
	if process >= len(s.peers.All()) {
		s.assigned.Refresh(ctx)
	}
	if s.peers.At(process).Address == "" {
		return wire.NoProcess(process)
	}
	return nil
}

func checkShard(no int) error {
	if no < 0 || no >= storage.MaxShards {
		return wire.InvalidMember("there is no shard %d", no)
	}
	return nil
}

// atLeader makes a call to the process that leads the replicas of a shard, until one answers or ctx ends.
func atLeader[Q, A any](
	ctx context.Context, s *Store, no int, call func(c pb.MemberServiceClient, ctx context.Context, q *Q, opts ...grpc.CallOption) (*A, error), q *Q,
) (*A, error) {
	to := s.assigned.Processes(no)[0]
	for r := new(rpc.Retries); ; {
		a, err := call(pb.NewMemberServiceClient(s.peers.At(to).Raw), ctx, q)
		if err == nil {
			return a, nil
		}
		if leader := wire.LeaderOf(err); leader >= 0 && leader != to && s.peers.At(leader).Address != "" {
			to = leader
		} else {
			to = s.assigned.Next(no, to)
			s.assigned.Renew()
		}
		err, retryable := wire.FromStatus(ctx, fmt.Sprintf("the leader of shard %d", no), err)
		if !retryable || ctx.Err() != nil {
			return nil, err
		}
		if !r.Pause(ctx) {
			return nil, err
		}
	}
}
