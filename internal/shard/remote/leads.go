package remote

import (
	"context"
	"io"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// leads answers LeadService at a process that leads the cluster at times. Otherwise, and if the lead ends before the answer, it names
// the process that leads.
type leads struct {
	pb.UnimplementedLeadServiceServer
	p *Process
}

// asLeader makes a call to what the process has as the leader. confirmed says that the answer must be that of the only leader: one that
// changes something proves this by the change.
func asLeader[Q, A any](ctx context.Context, p *Process, q *Q, confirmed bool, f func(l *leader, ctx context.Context, q *Q) (*A, error)) (*A, error) {
	l, err := p.leading()
	if err != nil {
		return nil, err
	}
	a, err := f(l.leader, ctx, q)
	switch {
	case l.ctx.Err() != nil && err != nil:
		return nil, p.notLeading(errNotLeading)
	case err == nil && confirmed:
		err = l.confirm(ctx)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Begin implements the call.
func (s *leads) Begin(r *pb.BeginRequest, stream grpc.ServerStreamingServer[pb.BeginResponse]) error {
	l, err := s.p.leading()
	if err != nil {
		return err
	}
	err = l.Begin(r, stream)
	if l.ctx.Err() != nil {
		return s.p.notLeading(errNotLeading)
	}
	return err
}

// Graphs implements the call.
func (s *leads) Graphs(ctx context.Context, r *pb.GraphsRequest) (*pb.GraphsResponse, error) {
	return asLeader(ctx, s.p, r, true, (*leader).Graphs)
}

// CreateGraph implements the call.
func (s *leads) CreateGraph(ctx context.Context, r *pb.CreateGraphRequest) (*pb.CreateGraphResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).CreateGraph)
}

// DropGraph implements the call.
func (s *leads) DropGraph(ctx context.Context, r *pb.DropGraphRequest) (*pb.DropGraphResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).DropGraph)
}

// Describe implements the call.
func (s *leads) Describe(ctx context.Context, r *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return asLeader(ctx, s.p, r, true, (*leader).Describe)
}

// Renew implements the call.
func (s *leads) Renew(ctx context.Context, r *pb.RenewRequest) (*pb.RenewResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).Renew)
}

// Intern implements the call.
func (s *leads) Intern(ctx context.Context, r *pb.InternRequest) (*pb.InternResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).Intern)
}

// Mutate implements the call.
func (s *leads) Mutate(ctx context.Context, r *pb.MutateRequest) (*pb.MutateResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).Mutate)
}

// Count implements the call.
func (s *leads) Count(ctx context.Context, r *pb.CountRequest) (*pb.CountResponse, error) {
	return asLeader(ctx, s.p, r, true, (*leader).Count)
}

// Commit implements the call.
func (s *leads) Commit(ctx context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).Commit)
}

// Outcome implements the call.
func (s *leads) Outcome(ctx context.Context, r *pb.OutcomeRequest) (*pb.OutcomeResponse, error) {
	return asLeader(ctx, s.p, r, true, (*leader).Outcome)
}

// Load implements the call.
func (s *leads) Load(ctx context.Context, r *pb.LoadRequest) (*pb.LoadResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).Load)
}

// LoadState implements the call.
func (s *leads) LoadState(ctx context.Context, r *pb.LoadStateRequest) (*pb.LoadStateResponse, error) {
	return asLeader(ctx, s.p, r, true, (*leader).LoadState)
}

// CreateIndex implements the call.
func (s *leads) CreateIndex(ctx context.Context, r *pb.CreateIndexRequest) (*pb.CreateIndexResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).CreateIndex)
}

// DropIndex implements the call.
func (s *leads) DropIndex(ctx context.Context, r *pb.DropIndexRequest) (*pb.DropIndexResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).DropIndex)
}

// IndexProgress implements the call.
func (s *leads) IndexProgress(ctx context.Context, r *pb.IndexProgressRequest) (*pb.IndexProgressResponse, error) {
	return asLeader(ctx, s.p, r, true, (*leader).IndexProgress)
}

// SetTTL implements the call.
func (s *leads) SetTTL(ctx context.Context, r *pb.SetTTLRequest) (*pb.SetTTLResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).SetTTL)
}

// DropTTL implements the call.
func (s *leads) DropTTL(ctx context.Context, r *pb.DropTTLRequest) (*pb.DropTTLResponse, error) {
	return asLeader(ctx, s.p, r, false, (*leader).DropTTL)
}

// maintains answers MaintainService at such a process.
type maintains struct {
	pb.UnimplementedMaintainServiceServer
	p *Process
}

// Checkpoint implements the call.
func (s *maintains) Checkpoint(r *pb.CheckpointRequest, stream grpc.ServerStreamingServer[pb.CheckpointResponse]) error {
	l, err := s.p.leading()
	if err != nil {
		return err
	}
	return (&maintainer{store: l.store, process: s.p.no, copies: l.copies}).Checkpoint(r, stream)
}

// Check implements the call.
func (s *maintains) Check(r *pb.CheckRequest, stream grpc.ServerStreamingServer[pb.CheckResponse]) error {
	l, err := s.p.leading()
	if err != nil {
		return err
	}
	return (&maintainer{store: l.store}).Check(r, stream)
}

// copiedFile opens a file of a copy of this process.
func (p *Process) copiedFile(id uint64, path string) (io.ReadCloser, error) {
	if l := p.lead.Load(); l != nil {
		if f, err := l.store.CopiedFile(id, path); err == nil {
			return f, nil
		}
	}
	return p.replicas.CopiedFile(id, path)
}
