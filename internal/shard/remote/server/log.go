package server

import (
	"context"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// logWait is how long LogState waits for a commit: less than calls may take.
const logWait = 2 * time.Second

// mostLog is the most of a commit log that one answer has, unless a single commit is larger.
const mostLog = 1 << 20

func (s *leadService) LogState(ctx context.Context, r *pb.LogStateRequest) (*pb.LogStateResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(_ *Leader, g *local.Graph) (*pb.LogStateResponse, error) {
		log := g.ChangeLog()
		if r.GetWait() {
			limited, cancel := context.WithTimeout(ctx, logWait)
			defer cancel()
			if err := log.AwaitLog(limited, r.GetAfter()); err != nil && limited.Err() == nil {
				return nil, err
			}
		}
		st, err := log.LogState(ctx)
		if err != nil {
			return nil, err
		}
		return &pb.LogStateResponse{
			Kept: true, Key: st.Key[:], Mode: uint32(st.Mode), First: st.First, Last: st.Last, FirstTime: st.FirstTime, LastTime: st.LastTime,
			FirstBytes: st.FirstBytes, Bytes: st.Bytes,
		}, nil
	})
}

func (s *leadService) ReadLog(ctx context.Context, r *pb.ReadLogRequest) (*pb.ReadLogResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(_ *Leader, g *local.Graph) (*pb.ReadLogResponse, error) {
		b, err := g.ChangeLog().ReadLog(ctx, r.GetAfter(), min(int(r.GetBytes()), mostLog), nil)
		return &pb.ReadLogResponse{Commits: b}, err
	})
}

func (s *leadService) SetLogMode(ctx context.Context, r *pb.SetLogModeRequest) (*pb.SetLogModeResponse, error) {
	return withGraph(ctx, s, r.GetGraph(), false, func(_ *Leader, g *local.Graph) (*pb.SetLogModeResponse, error) {
		mode := min(changelog.Mode(r.GetMode()), changelog.Full)
		return &pb.SetLogModeResponse{}, g.ChangeLog().SetLogMode(ctx, mode)
	})
}

// originOf reads where a transaction comes from.
func originOf(o *pb.Origin) changelog.Origin {
	return changelog.Origin{
		Started: o.GetStarted(), User: o.GetUser(), Protocol: o.GetProtocol(), Client: o.GetClient(), Server: o.GetServer(), Metadata: o.GetMetadata(),
	}
}
