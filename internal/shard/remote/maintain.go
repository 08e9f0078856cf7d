package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

var _ shard.Maintainer = (*Store)(nil)

// maintainer answers MaintainService.
type maintainer struct {
	pb.UnimplementedMaintainServiceServer
	store   *local.Store
	process int              // this one
	copies  func(no int) int // the process that copies a shard
}

// holder returns the process that has a file of a copy.
func (m *maintainer) holder(c *local.Checkpoint, i int) int {
	no, own := c.Shard(i)
	if own {
		return m.process
	}
	return m.copies(no)
}

// Checkpoint implements the call.
func (m *maintainer) Checkpoint(r *pb.CheckpointRequest, stream grpc.ServerStreamingServer[pb.CheckpointResponse]) (err error) {
	c, err := m.store.Copy(stream.Context(), r.GetGraphs())
	if err != nil {
		return toStatus(err)
	}
	defer func() { err = errors.Join(err, toStatus(c.Close())) }()
	files := c.Files()
	for i := 0; i < len(files); {
		process, from := m.holder(c, i), i
		for i < len(files) && i-from < listChunk && m.holder(c, i) == process {
			i++
		}
		if err := stream.Send(&pb.CheckpointResponse{Process: uint32(process), Files: encodeFiles(files[from:i])}); err != nil {
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

// progressEvery is the pause between signs of progress.
const progressEvery = 200 * time.Millisecond

// Check implements the call.
func (m *maintainer) Check(r *pb.CheckRequest, stream grpc.ServerStreamingServer[pb.CheckResponse]) error {
	var last time.Time
	var failed error
	stage := ""
	rep, err := m.store.Check(stream.Context(), r.GetGraph(), shard.CheckOptions{
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
		return toStatus(err)
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

// Check implements shard.Maintainer: the leader checks, and reads the other shards through their processes.
func (s *Store) Check(ctx context.Context, name string, o shard.CheckOptions) (*shard.CheckReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.maintain.Check(ctx, &pb.CheckRequest{Graph: name, Repair: o.Repair})
	for err == nil {
		var a *pb.CheckResponse
		if a, err = stream.Recv(); err != nil {
			break
		}
		if r := a.GetReport(); r != nil {
			return decodeReport(r), nil
		}
		if o.Progress != nil {
			o.Progress(a.GetStage(), a.GetRecords())
		}
	}
	err, _ = fromStatus(ctx, leaderName, err)
	return nil, err
}

func decodeReport(r *pb.CheckReport) *shard.CheckReport {
	out := &shard.CheckReport{
		Vertices: r.GetVertices(), Edges: r.GetEdges(), Entries: r.GetEntries(), LargeValues: r.GetLargeValues(),
		Files: r.GetFiles(), FileBytes: r.GetFileBytes(),
	}
	for _, f := range r.GetFindings() {
		out.Findings = append(out.Findings, &shard.CheckFinding{
			Kind: f.GetKind(), Count: f.GetCount(), Repaired: f.GetRepaired(), Repairable: f.GetRepairable(), Examples: f.GetExamples(),
		})
	}
	return out
}

// checkpoint is a copy that the processes of a cluster hold. It implements shard.Checkpoint.
type checkpoint struct {
	roster *roster
	ctx    context.Context
	cancel context.CancelFunc
	last   *pb.CheckpointResponse
	files  []graph.CheckpointFile
	holder []int // processes of the files
}

// Checkpoint implements shard.Maintainer. The copy lasts until Close or the end of ctx.
func (s *Store) Checkpoint(ctx context.Context, names []string) (shard.Checkpoint, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &checkpoint{roster: s.roster, ctx: ctx, cancel: cancel}
	stream, err := s.maintain.Checkpoint(ctx, &pb.CheckpointRequest{Graphs: names})
	for err == nil && !c.last.GetLast() {
		if c.last, err = stream.Recv(); err == nil {
			c.files, err = decodeFiles(c.files, c.last.GetFiles())
		}
		for len(c.holder) < len(c.files) {
			c.holder = append(c.holder, int(c.last.GetProcess()))
		}
	}
	if err != nil {
		err, _ = fromStatus(ctx, leaderName, err)
		cancel()
		return nil, err
	}
	return c, nil
}

// Graphs implements shard.Checkpoint.
func (c *checkpoint) Graphs() []string { return c.last.GetGraphs() }

// Format implements shard.Checkpoint.
func (c *checkpoint) Format() int { return int(c.last.GetFormat()) }

// Taken implements shard.Checkpoint.
func (c *checkpoint) Taken() time.Time { return c.last.GetTaken().AsTime() }

// Files implements shard.Checkpoint.
func (c *checkpoint) Files() []graph.CheckpointFile { return c.files }

// Open implements shard.Checkpoint: the file comes from the process that has it.
func (c *checkpoint) Open(i int) (io.ReadCloser, error) {
	if i < 0 || i >= len(c.files) {
		return nil, misuse("the checkpoint has no file %d", i)
	}
	no := c.holder[i]
	return openFile(c.ctx, fmt.Sprintf("process %d", no), pb.NewCopyServiceClient(c.roster.at(no).conn), c.last.GetCopy(), c.files[i].Path)
}

// Close implements shard.Checkpoint.
func (c *checkpoint) Close() error {
	c.cancel()
	return nil
}
