package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

var _ shard.Maintainer = (*Store)(nil)

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
	err, _ = wire.FromStatus(ctx, leaderName, err)
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
	peers  *peers.List
	ctx    context.Context
	cancel context.CancelFunc
	last   *pb.CheckpointResponse
	files  []graph.CheckpointFile
	holder []int // by file, the process that has it
}

// Checkpoint implements shard.Maintainer. The copy lasts until Close or the end of ctx.
func (s *Store) Checkpoint(ctx context.Context, names []string) (shard.Checkpoint, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &checkpoint{peers: s.peers, ctx: ctx, cancel: cancel}
	stream, err := s.maintain.Checkpoint(ctx, &pb.CheckpointRequest{Graphs: names})
	for err == nil && !c.last.GetLast() {
		if c.last, err = stream.Recv(); err == nil {
			c.files, err = wire.DecodeFiles(c.files, c.last.GetFiles())
		}
		for len(c.holder) < len(c.files) {
			c.holder = append(c.holder, int(c.last.GetProcess()))
		}
	}
	if err != nil {
		err, _ = wire.FromStatus(ctx, leaderName, err)
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
	return peers.OpenFile(c.ctx, fmt.Sprintf("process %d", no), pb.NewCopyServiceClient(c.peers.At(no).Raw), c.last.GetCopy(), c.files[i].Path)
}

// Close implements shard.Checkpoint.
func (c *checkpoint) Close() error {
	c.cancel()
	return nil
}

// Shapes returns the shapes of a graph's shards, asked from the processes that have them.
func (s *Store) Shapes(ctx context.Context, name string) ([]storage.Shape, error) {
	g, err := s.Graph(name)
	if err != nil {
		return nil, err
	}
	var out []storage.Shape
	for no := range g.(*Graph).shards {
		who, try := fmt.Sprintf("shard %d", no), 0
		r, err := peers.Call(ctx, who, func(ctx context.Context, q *pb.ShapeRequest, _ ...grpc.CallOption) (*pb.ShapeResponse, error) {
			ctx, cancel := context.WithTimeout(ctx, rpc.HeartbeatTimeout) // another process can answer
			defer cancel()
			processes := s.assigned.Processes(no)
			to := processes[try%len(processes)]
			try++
			return pb.NewPlaceServiceClient(s.peers.At(to).Raw).Shape(ctx, q)
		}, &pb.ShapeRequest{Graph: name, Shard: uint32(no)})
		if err != nil {
			return nil, err
		}
		var shape storage.Shape
		if b := r.GetShape(); len(b) > 0 {
			if err := json.Unmarshal(b, &shape); err != nil {
				return nil, graph.InternalError(who, err)
			}
			out = append(out, shape)
		}
	}
	return out, nil
}
