package remote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

var _ shard.Members = (*Store)(nil)

// noMembers is the error of a store whose shards have no replicas.
func noMembers() error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: "NoReplicas",
		Msg: "the shards have no replicas: start the cluster with --replication 3",
	}
}

// Members implements shard.Members.
func (s *Store) Members(ctx context.Context) ([]shard.Member, error) {
	if s.replicas == 0 {
		return nil, noMembers()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers, errs := make([]*pb.MembersResponse, len(s.members)), make([]error, len(s.members))
	var asking sync.WaitGroup
	for i, c := range s.members {
		asking.Go(func() { answers[i], errs[i] = c.Members(ctx, &pb.MembersRequest{}) })
	}
	asking.Wait()
	var out []shard.Member
	for process, a := range answers {
		if errs[process] != nil {
			err, _ := fromStatus(ctx, fmt.Sprintf("process %d", process), errs[process])
			out = append(out, shard.Member{Process: process, Shard: -1, Role: "unreachable", Note: err.Error()})
		}
		for _, m := range a.GetMembers() {
			role := "follower"
			switch {
			case m.GetWaiting() != "":
				role = "waiting"
			case m.GetLeads():
				role = "leader"
			case slices.Contains(m.GetLearners(), m.GetReplica()):
				role = "learner"
			}
			out = append(out, shard.Member{
				Process: process, Shard: int(m.GetGroup()), Replica: m.GetReplica(), Role: role, Term: m.GetTerm(), Commit: m.GetCommit(),
				Applied: m.GetApplied(), LogBytes: m.GetLogBytes(), SeedBytes: m.GetSeedBytes(), SeededBytes: m.GetSeededBytes(), Note: m.GetWaiting(),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b shard.Member) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Shard, b.Shard))
	})
	return out, nil
}

// ReplaceMember implements shard.Members.
func (s *Store) ReplaceMember(ctx context.Context, process int) (replaced int, err error) {
	if err := s.checkProcess(process); err != nil {
		return 0, err
	}
	a, err := membersAt(ctx, process, s.members[process])
	if err != nil {
		return 0, err
	}
	for _, m := range a.GetMembers() {
		err := s.atLeader(ctx, int(m.GetGroup()), func(c pb.MemberServiceClient) error {
			r, err := c.Replace(ctx, &pb.ReplaceRequest{Group: m.GetGroup(), Process: uint32(process)})
			if r.GetReplaced() {
				replaced++
			}
			return err
		})
		if err != nil {
			return replaced, err
		}
	}
	return replaced, nil
}

// membersAt asks a process, again until it answers: it has just started.
func membersAt(ctx context.Context, process int, c pb.MemberServiceClient) (a *pb.MembersResponse, err error) {
	err = again(ctx, fmt.Sprintf("process %d", process), func(ctx context.Context) error {
		a, err = c.Members(ctx, &pb.MembersRequest{})
		return err
	})
	return a, err
}

// TransferLead implements shard.Members.
func (s *Store) TransferLead(ctx context.Context, no, process int) error {
	if err := s.checkProcess(process); err != nil {
		return err
	}
	return s.atLeader(ctx, no, func(c pb.MemberServiceClient) error {
		_, err := c.Transfer(ctx, &pb.TransferRequest{Group: uint32(no), Process: uint32(process)})
		return err
	})
}

func (s *Store) checkProcess(process int) error {
	switch {
	case s.replicas == 0:
		return noMembers()
	case process < 0 || process >= len(s.members):
		return invalidMember("there is no process %d: they have the numbers 0 to %d", process, len(s.members)-1)
	}
	return nil
}

func invalidMember(format string, args ...any) error {
	return &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: "InvalidMember",
		Msg: fmt.Sprintf(format, args...),
	}
}

// atLeader makes a call to the process that leads the replicas of a shard, until one answers or ctx ends.
func (s *Store) atLeader(ctx context.Context, no int, f func(c pb.MemberServiceClient) error) error {
	layout := shard.Layout{Processes: len(s.members), Replicas: s.replicas}
	keepers := layout.Keepers(no)
	for at, pause := 0, firstPause; ; at, pause = at+1, min(2*pause, longestPause) {
		err := f(s.members[keepers[at%len(keepers)]])
		if err == nil {
			return nil
		}
		err, again := fromStatus(ctx, fmt.Sprintf("the leader of shard %d", no), err)
		if !again || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}
