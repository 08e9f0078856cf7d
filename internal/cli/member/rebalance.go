package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
)

// newRebalance returns the command that spreads the replicas over the processes.
func newRebalance(s *client.Server) *cobra.Command {
	var dryRun bool
	var drain []uint
	cmd := &cobra.Command{
		Use: "rebalance", Short: "Move replicas until all processes keep equally many, or some keep none", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, ctx, cancel, err := s.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			return rebalance(ctx, pb.NewAdminServiceClient(conn), drain, dryRun, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only print the moves")
	cmd.Flags().UintSliceVar(&drain, "drain", nil, "processes that are to keep no replica")
	return cmd
}

// rebalance plans moves, prints them, and unless dryRun makes them one after another, until the first that fails.
func rebalance(ctx context.Context, c pb.AdminServiceClient, drain []uint, dryRun bool, w io.Writer) error {
	r, err := c.Members(ctx, &pb.MembersRequest{})
	if err != nil {
		return err
	}
	moves, err := planMoves(r.GetMembers(), drain)
	if err != nil {
		return err
	}
	if len(moves) == 0 {
		fmt.Fprintln(w, "nothing to move")
	}
	for i, m := range moves {
		fmt.Fprintf(w, "shard %d from process %d to process %d\n", m.GetShard(), m.GetFrom(), m.GetTo())
		if dryRun {
			continue
		}
		if _, err := c.MoveReplica(ctx, m); err != nil {
			fmt.Fprintf(w, "%d of %d moves are complete; complete this one: graphctl member move --shard %d --from %d --to %d\n",
				i, len(moves), m.GetShard(), m.GetFrom(), m.GetTo())
			return err
		}
	}
	return nil
}

// spread is how many replicas each process keeps, and which of each shard.
type spread struct {
	load    map[uint32]int             // by process
	keepers map[uint32]map[uint32]bool // by shard, the processes that keep it, and whether they lead it
	drained map[uint32]bool            // the processes that are to keep none
}

// planMoves returns moves after which the processes that are not drained keep as many replicas as each other, give or take one, and the
// drained ones none. It fails unless all replicas of all shards are known and vote.
func planMoves(members []*pb.Member, drain []uint) (moves []*pb.MoveReplicaRequest, err error) {
	s := spread{load: map[uint32]int{}, keepers: map[uint32]map[uint32]bool{}, drained: map[uint32]bool{}}
	for _, m := range members {
		if err := s.add(m); err != nil {
			return nil, err
		}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	for _, p := range drain {
		if _, ok := s.load[uint32(p)]; !ok || uint64(p) > 1<<16 {
			return nil, cli.Usagef("--drain %d: there is no such process, see graphctl member list", p)
		}
		s.drained[uint32(p)] = true
	}
	for _, from := range slices.Sorted(maps.Keys(s.drained)) {
		for s.load[from] > 0 {
			m := s.move(from)
			if m == nil {
				return nil, fmt.Errorf("process %d cannot be drained: all others that are not drained keep its shards already", from)
			}
			moves = append(moves, m)
		}
	}
	for {
		var staying []uint32
		for p := range s.load {
			if !s.drained[p] {
				staying = append(staying, p)
			}
		}
		slices.SortFunc(staying, func(a, b uint32) int { return cmp.Or(cmp.Compare(s.load[a], s.load[b]), cmp.Compare(a, b)) })
		// A process with more replicas than another one has a shard that the other lacks.
		if len(staying) == 0 || s.load[staying[len(staying)-1]]-s.load[staying[0]] < 2 {
			return moves, nil
		}
		moves = append(moves, s.move(staying[len(staying)-1]))
	}
}

// add takes in a replica, or a process that keeps none.
func (s *spread) add(m *pb.Member) error {
	switch {
	case m.GetRole() == "idle":
		s.load[m.GetProcess()] += 0
		return nil
	case m.Shard == nil:
		return fmt.Errorf("process %d is %s, so what it keeps is not known: start it, or move its replicas one by one by graphctl member move", m.GetProcess(), m.GetRole())
	case m.GetRole() != "leader" && m.GetRole() != "follower":
		return fmt.Errorf("the replica of shard %d at process %d is %s: complete its move or replacement first", m.GetShard(), m.GetProcess(), m.GetRole())
	}
	if s.keepers[m.GetShard()] == nil {
		s.keepers[m.GetShard()] = map[uint32]bool{}
	}
	s.keepers[m.GetShard()][m.GetProcess()] = m.GetRole() == "leader"
	s.load[m.GetProcess()]++
	return nil
}

// check returns an error unless all shards have as many replicas, and a leader.
func (s *spread) check() error {
	if len(s.keepers) == 0 {
		return errors.New("no process keeps a replica")
	}
	most := 0
	for _, keepers := range s.keepers {
		most = max(most, len(keepers))
	}
	for _, no := range slices.Sorted(maps.Keys(s.keepers)) {
		keepers, leaders := s.keepers[no], 0
		for _, leads := range keepers {
			if leads {
				leaders++
			}
		}
		switch {
		case len(keepers) != most:
			return fmt.Errorf("shard %d has %d replicas and another one %d: complete the move or replacement that goes on", no, len(keepers), most)
		case leaders != 1:
			return fmt.Errorf("shard %d has %d leaders: try again once it has one", no, leaders)
		}
	}
	return nil
}

// move moves a replica of a process to one with as few as possible, and rather one that does not lead; nil if there is none to move.
func (s *spread) move(from uint32) *pb.MoveReplicaRequest {
	var best *pb.MoveReplicaRequest
	leads := func(m *pb.MoveReplicaRequest) int {
		if s.keepers[m.GetShard()][from] {
			return 1
		}
		return 0
	}
	for no, keepers := range s.keepers {
		if _, ok := keepers[from]; !ok {
			continue
		}
		for to := range s.load {
			if _, ok := keepers[to]; ok || s.drained[to] {
				continue
			}
			m := &pb.MoveReplicaRequest{Shard: no, From: from, To: to}
			if best == nil || cmp.Or(cmp.Compare(s.load[to], s.load[best.GetTo()]), cmp.Compare(leads(m), leads(best)),
				cmp.Compare(no, best.GetShard()), cmp.Compare(to, best.GetTo())) < 0 {
				best = m
			}
		}
	}
	if best != nil {
		delete(s.keepers[best.GetShard()], from)
		s.keepers[best.GetShard()][best.GetTo()] = false
		s.load[from]--
		s.load[best.GetTo()]++
	}
	return best
}
