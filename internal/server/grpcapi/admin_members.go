package grpcapi

import (
	"context"
	"errors"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
)

// Members implements the call.
func (s *adminService) Members(ctx context.Context, _ *pb.MembersRequest) (*pb.MembersResponse, error) {
	m, err := s.e.StoreFeatures().Replicas()
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	all, err := m.Members(ctx)
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.MembersResponse{Members: membersProto(all)}, nil
}

// replicas returns the members of a cluster with replicas, and none of another server.
func (s *adminService) replicas(ctx context.Context) ([]*pb.Member, error) {
	m := s.e.StoreFeatures().Members
	if m == nil {
		return nil, nil
	}
	all, err := m.Members(ctx)
	if failure := (*graph.Error)(nil); errors.As(err, &failure) && failure.Detail == "NoReplicas" {
		return nil, nil
	}
	return membersProto(all), err
}

func membersProto(all []shard.Member) []*pb.Member {
	var out []*pb.Member
	for i := range all {
		r := &all[i]
		member := &pb.Member{
			Process: uint32(r.Process), Address: r.Address, Replica: r.Replica, Role: r.Role, Term: r.Term, Commit: r.Commit, Applied: r.Applied, LogBytes: r.LogBytes,
			SeedBytes: r.SeedBytes, SeededBytes: r.SeededBytes, Note: r.Note,
		}
		if r.Shard >= 0 {
			member.Shard = new(uint32(r.Shard))
		}
		out = append(out, member)
	}
	return out
}

// ReplaceMember implements the call.
func (s *adminService) ReplaceMember(ctx context.Context, req *pb.ReplaceMemberRequest) (*pb.ReplaceMemberResponse, error) {
	m, err := s.e.StoreFeatures().Replicas()
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	n, err := m.ReplaceMember(ctx, int(req.GetProcess()))
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.ReplaceMemberResponse{Replaced: uint32(n)}, nil
}

// MoveReplica implements the call.
func (s *adminService) MoveReplica(ctx context.Context, req *pb.MoveReplicaRequest) (*pb.MoveReplicaResponse, error) {
	m, err := s.e.StoreFeatures().Replicas()
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	deleted, err := m.MoveReplica(ctx, int(req.GetShard()), int(req.GetFrom()), int(req.GetTo()))
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.MoveReplicaResponse{Deleted: deleted}, nil
}

// TransferLead implements the call.
func (s *adminService) TransferLead(ctx context.Context, req *pb.TransferLeadRequest) (*pb.TransferLeadResponse, error) {
	m, err := s.e.StoreFeatures().Replicas()
	if err == nil {
		err = m.TransferLead(ctx, int(req.GetShard()), int(req.GetProcess()))
	}
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.TransferLeadResponse{}, nil
}

// AddMember implements the call.
func (s *adminService) AddMember(ctx context.Context, req *pb.AddMemberRequest) (*pb.AddMemberResponse, error) {
	m, err := s.e.StoreFeatures().Replicas()
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	process, added, err := m.AddMember(ctx, req.GetAddress())
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.AddMemberResponse{Process: uint32(process), Added: added}, nil
}

// RemoveMember implements the call.
func (s *adminService) RemoveMember(ctx context.Context, req *pb.RemoveMemberRequest) (*pb.RemoveMemberResponse, error) {
	m, err := s.e.StoreFeatures().Replicas()
	if err == nil {
		err = m.RemoveMember(ctx, int(req.GetProcess()))
	}
	if err != nil {
		return nil, wire.GRPCError(err)
	}
	return &pb.RemoveMemberResponse{}, nil
}
