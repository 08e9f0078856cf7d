package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
)

// spareLinger is how long a process that may stop still runs. So of processes that are told to stop at about the same time, each still sees
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
