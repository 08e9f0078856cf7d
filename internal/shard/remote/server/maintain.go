package server

import (
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// maintainService answers MaintainService.
type maintainService struct {
	pb.UnimplementedMaintainServiceServer
	*Host
}

// holder returns the process that has a file of a copy.
func (m *maintainService) holder(l *Leader, c *datadir.Checkpoint, i int) int {
	no, own := c.Shard(i)
	if own {
		return m.Process
	}
	return l.copies(no)
}

func (m *maintainService) Checkpoint(r *pb.CheckpointRequest, stream grpc.ServerStreamingServer[pb.CheckpointResponse]) (err error) {
	l, err := m.leading()
	if err != nil {
		return err
	}
	c, err := l.store.Copy(stream.Context(), r.GetGraphs())
	if err != nil {
		return Status(err)
	}
	defer func() { err = errors.Join(err, Status(c.Close())) }()
	files := c.Files()
	for i := 0; i < len(files); {
		process, from := m.holder(l, c, i), i
		for i < len(files) && i-from < listChunk && m.holder(l, c, i) == process {
			i++
		}
		if err := stream.Send(&pb.CheckpointResponse{Process: uint32(process), Files: wire.EncodeFiles(files[from:i])}); err != nil {
			return err
		}
	}
	last := &pb.CheckpointResponse{Copy: c.ID(), Last: true, Format: uint32(c.Format()), Taken: timestamppb.New(c.Taken()), Graphs: c.Graphs()}
	if err := stream.Send(last); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// progressEvery is how often a check reports its progress.
const progressEvery = 200 * time.Millisecond

func (m *maintainService) Check(r *pb.CheckRequest, stream grpc.ServerStreamingServer[pb.CheckResponse]) error {
	l, err := m.leading()
	if err != nil {
		return err
	}
	var last time.Time
	var failed error
	stage := ""
	rep, err := l.store.Check(stream.Context(), r.GetGraph(), shard.CheckOptions{
		Repair: r.GetRepair(),
		Progress: func(now string, records uint64) {
			if now != "" {
				stage = now
			}
			if failed == nil && time.Since(last) >= progressEvery {
				last = time.Now()
				failed = stream.Send(&pb.CheckResponse{Stage: stage, Records: records})
			}
		},
	})
	if err != nil {
		return Status(err)
	}
	if failed != nil {
		return failed
	}
	out := &pb.CheckReport{
		Vertices: rep.Vertices, Edges: rep.Edges, Entries: rep.Entries, LargeValues: rep.LargeValues, Files: rep.Files, FileBytes: rep.FileBytes,
	}
	for _, f := range rep.Findings {
		out.Findings = append(out.Findings, &pb.CheckFinding{Kind: f.Kind, Count: f.Count, Repaired: f.Repaired, Repairable: f.Repairable, Examples: f.Examples})
	}
	return stream.Send(&pb.CheckResponse{Report: out})
}
