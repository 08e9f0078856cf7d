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

// spareLinger is how long a process that may stop goes on: of processes that are all told to stop at about the same time, none finds that
// another one has left already.
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

// spare says which shard would lose its majority without this process, or returns nil. A shard that has none anyway loses nothing.
func (p *Process) spare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout)
	defer cancel()
	answers, _ := p.peers.Ask(ctx) // one that is away has no answer
	for group, s := range p.replicas.Replicas() {
		voters := s.Members.Voters()
		if !slices.Contains(voters, s.Replica) || len(voters) == 1 { // no wait helps the shard of an only replica
			continue
		}
		others, majority := 0, len(voters)/2+1
		for _, id := range voters {
			if no := p.layout.Process(id); id != s.Replica && no < len(answers) && inStep(answers[no], group, id, s.Commit) {
				others++
			}
		}
		if others < majority && others+1 >= majority {
			return fmt.Errorf("shard %d would lose its majority: %d of its %d other replicas are in step", group, others, len(voters)-1)
		}
	}
	return nil
}

// inStep reports whether a process has a replica of a group that takes part and has the log up to a commit, give or take maxLag.
func inStep(a *pb.MembersResponse, group uint32, id, commit uint64) bool {
	return slices.ContainsFunc(a.GetMembers(), func(m *pb.MemberState) bool {
		return m.GetGroup() == group && m.GetReplica() == id && m.GetWaiting() == "" && m.GetLeader() != 0 && m.GetApplied()+maxLag >= commit
	})
}
