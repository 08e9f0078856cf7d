package grpcapi

import (
	"context"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

// members returns the store as one with replicas.
func (s *adminService) members() (shard.Members, error) {
	if m, ok := s.store.(shard.Members); ok {
		return m, nil
	}
	return nil, &graph.Error{
		Kind: graph.KindInvalid, Code: "Neo.ClientError.Statement.ArgumentError", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: "NoReplicas",
		Msg: "this server is a single process: its shards have no replicas",
	}
}

// Members implements the call.
func (s *adminService) Members(ctx context.Context, _ *pb.MembersRequest) (*pb.MembersResponse, error) {
	m, err := s.members()
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	all, err := m.Members(ctx)
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	out := &pb.MembersResponse{}
	for i := range all {
		r := &all[i]
		member := &pb.Member{
			Process: uint32(r.Process), Replica: r.Replica, Role: r.Role, Term: r.Term, Commit: r.Commit, Applied: r.Applied, LogBytes: r.LogBytes,
			SeedBytes: r.SeedBytes, SeededBytes: r.SeededBytes, Note: r.Note,
		}
		if r.Shard >= 0 {
			member.Shard = new(uint32(r.Shard))
		}
		out.Members = append(out.Members, member)
	}
	return out, nil
}

// ReplaceMember implements the call.
func (s *adminService) ReplaceMember(ctx context.Context, req *pb.ReplaceMemberRequest) (*pb.ReplaceMemberResponse, error) {
	m, err := s.members()
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	n, err := m.ReplaceMember(ctx, int(req.GetProcess()))
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.ReplaceMemberResponse{Replaced: uint32(n)}, nil
}

// TransferLead implements the call.
func (s *adminService) TransferLead(ctx context.Context, req *pb.TransferLeadRequest) (*pb.TransferLeadResponse, error) {
	m, err := s.members()
	if err == nil {
		err = m.TransferLead(ctx, int(req.GetShard()), int(req.GetProcess()))
	}
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.TransferLeadResponse{}, nil
}
