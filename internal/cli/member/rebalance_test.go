package member

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// placed returns the members of shards that processes keep; the first one of each leads.
func placed(processes int, keepers [][]int) (members []*pb.Member) {
	idle := map[int]bool{}
	for p := range processes {
		idle[p] = true
	}
	for no, ps := range keepers {
		for i, p := range ps {
			role := "follower"
			if i == 0 {
				role = "leader"
			}
			members = append(members, &pb.Member{Process: uint32(p), Shard: new(uint32(no)), Role: role})
			delete(idle, p)
		}
	}
	for p := range idle {
		members = append(members, &pb.Member{Process: uint32(p), Role: "idle"})
	}
	return members
}

// TestPlanMoves makes the moves of random placements: each is possible, all processes that stay keep as many replicas as each other, give
// or take one, those that are drained keep none, and a second plan has no moves.
func TestPlanMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 500 {
		processes, replicas := 3+rng.IntN(8), 3
		keepers := make([][]int, 1+rng.IntN(20))
		founders := replicas + rng.IntN(processes-replicas+1)
		for no := range keepers {
			keepers[no] = rng.Perm(founders)[:replicas]
		}
		var drain []uint
		for _, p := range rng.Perm(processes)[:rng.IntN(processes-replicas+1)] {
			drain = append(drain, uint(p))
		}
		what := fmt.Sprintf("round %d: %v, drain %v", round, keepers, drain)
		moves, err := planMoves(placed(processes, keepers), drain)
		require.NoError(t, err, what)
		for _, m := range moves {
			at := slices.Index(keepers[m.GetShard()], int(m.GetFrom()))
			require.GreaterOrEqual(t, at, 0, what)
			require.NotContains(t, keepers[m.GetShard()], int(m.GetTo()), what)
			keepers[m.GetShard()][at] = int(m.GetTo())
		}
		load := make([]int, processes)
		for _, ps := range keepers {
			for _, p := range ps {
				load[p]++
			}
		}
		staying := len(load) - len(drain)
		for p, n := range load {
			if slices.Contains(drain, uint(p)) {
				require.Zero(t, n, what)
				continue
			}
			require.Contains(t, []int{replicas * len(keepers) / staying, (replicas*len(keepers) + staying - 1) / staying}, n, what)
		}
		moves, err = planMoves(placed(processes, keepers), drain)
		require.NoError(t, err, what)
		require.Empty(t, moves, what)
	}
}

// TestPlanMovesRefused refuses a plan where not all is known, or a change goes on.
func TestPlanMovesRefused(t *testing.T) {
	for _, c := range []struct {
		members []*pb.Member
		drain   []uint
		want    string
	}{
		{nil, nil, "no process keeps a replica"},
		{append(placed(4, [][]int{{0, 1, 2}}), &pb.Member{Process: 4, Role: "unreachable"}), nil, "process 4 is unreachable"},
		{append(placed(4, [][]int{{0, 1, 2}}), &pb.Member{Process: 3, Shard: new(uint32(0)), Role: "learner"}), nil, "the replica of shard 0 at process 3 is learner"},
		{append(placed(4, [][]int{{0, 1, 2}}), &pb.Member{Process: 3, Shard: new(uint32(0)), Role: "waiting"}), nil, "the replica of shard 0 at process 3 is waiting"},
		{placed(4, [][]int{{0, 1, 2}, {0, 1, 2, 3}}), nil, "shard 0 has 3 replicas and another one 4"},
		{placed(3, [][]int{{0, 1, 2}})[1:], nil, "shard 0 has 0 leaders"},
		{placed(3, [][]int{{0, 1, 2}}), []uint{1}, "process 1 cannot be drained"},
		{placed(3, [][]int{{0, 1, 2}}), []uint{3}, "there is no such process"},
		{placed(3, [][]int{{0, 1, 2}}), []uint{1 << 32}, "there is no such process"},
	} {
		_, err := planMoves(c.members, c.drain)
		require.ErrorContains(t, err, c.want)
	}
}
