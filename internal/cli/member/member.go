package member

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/size"
)

// Command returns the commands on the replicas of a cluster.
func Command(s *client.Server) *cobra.Command {
	cmd := &cobra.Command{
		Use: "member", Short: "Show and change the processes and replicas of a cluster", Args: client.OnlySubcommands,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("member: name a command: add, list, move, rebalance, remove, replace or transfer")
		},
	}
	cmd.AddCommand(
		client.Command(s, "add ADDRESS", "Add the process at an address, such as host3:9190, to the cluster", cobra.ExactArgs(1),
			func(ctx context.Context, c pb.AdminServiceClient, args []string) (*pb.AddMemberResponse, error) {
				return c.AddMember(ctx, &pb.AddMemberRequest{Address: args[0]})
			},
			func(w io.Writer, r *pb.AddMemberResponse) {
				if !r.GetAdded() {
					fmt.Fprintf(w, "nothing to add: it is process %d\n", r.GetProcess())
					return
				}
				fmt.Fprintf(w, "added process %d; graphctl member rebalance moves replicas to it\n", r.GetProcess())
			}),
		client.Command(s, "remove PROCESS|ADDRESS", "Permanently remove a process that keeps no replicas", cobra.ExactArgs(1),
			func(ctx context.Context, c pb.AdminServiceClient, args []string) (*pb.RemoveMemberResponse, error) {
				process, err := processOf(ctx, c, args[0])
				if err != nil {
					return nil, err
				}
				return c.RemoveMember(ctx, &pb.RemoveMemberRequest{Process: process})
			},
			func(io.Writer, *pb.RemoveMemberResponse) {}),
		client.Command(s, "list", "Show the processes, and the replicas of all shards", cobra.NoArgs,
			func(ctx context.Context, c pb.AdminServiceClient, _ []string) (*pb.MembersResponse, error) {
				return c.Members(ctx, &pb.MembersRequest{})
			}, printMembers),
		newMove(s), newRebalance(s),
		client.Command(s, "replace PROCESS", "Give a process that has lost its data directory new replicas", cobra.ExactArgs(1),
			func(ctx context.Context, c pb.AdminServiceClient, args []string) (*pb.ReplaceMemberResponse, error) {
				process, err := ordinal("PROCESS", args[0])
				if err != nil {
					return nil, err
				}
				return c.ReplaceMember(ctx, &pb.ReplaceMemberRequest{Process: process})
			},
			func(w io.Writer, r *pb.ReplaceMemberResponse) {
				if r.GetReplaced() == 0 {
					fmt.Fprintln(w, "nothing to replace: the process has its data directory")
					return
				}
				fmt.Fprintf(w, "replaced %s\n", size.Count(r.GetReplaced(), "replica"))
			}),
		client.Command(s, "transfer SHARD PROCESS", "Hand the lead of a shard's replicas to a process", cobra.ExactArgs(2),
			func(ctx context.Context, c pb.AdminServiceClient, args []string) (*pb.TransferLeadResponse, error) {
				no, err := ordinal("SHARD", args[0])
				if err != nil {
					return nil, err
				}
				process, err := ordinal("PROCESS", args[1])
				if err != nil {
					return nil, err
				}
				return c.TransferLead(ctx, &pb.TransferLeadRequest{Shard: no, Process: process})
			},
			func(io.Writer, *pb.TransferLeadResponse) {}),
	)
	return cmd
}

// newMove returns the command that moves a replica.
func newMove(s *client.Server) *cobra.Command {
	r := &pb.MoveReplicaRequest{}
	cmd := client.Command(s, "move --shard SHARD --from PROCESS --to PROCESS", "Move a shard's replica to another process, while the shard is in use", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, _ []string) (*pb.MoveReplicaResponse, error) {
			return c.MoveReplica(ctx, r)
		},
		func(w io.Writer, a *pb.MoveReplicaResponse) {
			fmt.Fprintf(w, "moved shard %d from process %d to process %d\n", r.GetShard(), r.GetFrom(), r.GetTo())
			if !a.GetDeleted() {
				fmt.Fprintf(w, "process %d does not answer; it deletes its former replica when it returns\n", r.GetFrom())
			}
		})
	cmd.Flags().Uint32Var(&r.Shard, "shard", 0, "number of the shard")
	cmd.Flags().Uint32Var(&r.From, "from", 0, "process that keeps a replica of it")
	cmd.Flags().Uint32Var(&r.To, "to", 0, "process that is to keep it instead")
	for _, f := range []string{"shard", "from", "to"} {
		if err := cmd.MarkFlagRequired(f); err != nil {
			panic(err)
		}
	}
	return cmd
}

func ordinal(what, text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, cli.Usagef("%s %s: must be a number, see graphctl member list", what, text)
	}
	return uint32(n), nil
}

// processOf returns the process with a number or an address.
func processOf(ctx context.Context, c pb.AdminServiceClient, text string) (uint32, error) {
	if !strings.Contains(text, ":") {
		return ordinal("PROCESS", text)
	}
	r, err := c.Members(ctx, &pb.MembersRequest{})
	if err != nil {
		return 0, err
	}
	for _, m := range r.GetMembers() {
		if m.GetAddress() == text {
			return m.GetProcess(), nil
		}
	}
	return 0, fmt.Errorf("there is no process at %s: see graphctl member list", text)
}

// committed returns the last committed entry of each shard's log that a member knows.
func committed(members []*pb.Member) map[uint32]uint64 {
	last := map[uint32]uint64{}
	for _, m := range members {
		if m.Shard != nil {
			last[m.GetShard()] = max(last[m.GetShard()], m.GetCommit())
		}
	}
	return last
}

// PrintReplicas prints a line for each shard: who leads it, and who is behind.
func PrintReplicas(w io.Writer, members []*pb.Member) {
	last, away := committed(members), ""
	for _, m := range members {
		if m.Shard == nil && m.GetRole() != "idle" {
			away += fmt.Sprintf(", process %d %s", m.GetProcess(), m.GetRole())
		}
	}
	for _, no := range slices.Sorted(maps.Keys(last)) {
		line, lead := "", "no leader"
		for _, m := range members {
			behind := last[no] - min(last[no], m.GetApplied())
			switch {
			case m.Shard == nil || m.GetShard() != no:
			case m.GetRole() == "leader":
				lead = fmt.Sprintf("led by process %d in term %d", m.GetProcess(), m.GetTerm())
			case m.GetRole() == "follower":
				line += fmt.Sprintf(", process %d %d entries behind", m.GetProcess(), behind)
			default:
				line += fmt.Sprintf(", process %d %s, %d entries behind", m.GetProcess(), m.GetRole(), behind)
			}
		}
		fmt.Fprintf(w, "replicas of shard %d\t%s%s%s\n", no, lead, line, away)
	}
}

func printMembers(w io.Writer, r *pb.MembersResponse) {
	last := committed(r.GetMembers())
	fmt.Fprintln(w, "process\taddress\tshard\trole\treplica\tterm\tapplied\tbehind\tlog bytes\tnote")
	for _, m := range r.GetMembers() {
		note := m.GetNote()
		if m.GetSeedBytes() > 0 {
			note = fmt.Sprintf("seeded with %d of %d bytes", m.GetSeededBytes(), m.GetSeedBytes())
		}
		if m.Shard == nil {
			fmt.Fprintf(w, "%d\t%s\t\t%s\t\t\t\t\t\t%s\n", m.GetProcess(), m.GetAddress(), m.GetRole(), note)
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", m.GetProcess(), m.GetAddress(), m.GetShard(), m.GetRole(), m.GetReplica(), m.GetTerm(), m.GetApplied(),
			last[m.GetShard()]-min(last[m.GetShard()], m.GetApplied()), m.GetLogBytes(), note)
	}
}
