package gateway

import (
	"context"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
)

// changeLog is the commit log of a graph, which its leader reads.
type changeLog Graph

// ChangeLog implements shard.Graph.
func (g *Graph) ChangeLog() shard.ChangeLog { return (*changeLog)(g) }

func (l *changeLog) ask(ctx context.Context, r *pb.LogStateRequest) (*pb.LogStateResponse, error) {
	r.Graph = l.name
	return peers.Call(ctx, leaderName, l.s.lead.LogState, r)
}

// LogState implements shard.ChangeLog.
func (l *changeLog) LogState(ctx context.Context) (st shard.LogState, err error) {
	a, err := l.ask(ctx, &pb.LogStateRequest{})
	if err != nil {
		return st, err
	}
	st = shard.LogState{
		Mode: changelog.Mode(a.GetMode()), First: a.GetFirst(), FirstTime: a.GetFirstTime(), Last: a.GetLast(), LastTime: a.GetLastTime(),
		FirstBytes: a.GetFirstBytes(), Bytes: a.GetBytes(),
	}
	copy(st.Key[:], a.GetKey())
	return st, nil
}

// ReadLog implements shard.ChangeLog.
func (l *changeLog) ReadLog(ctx context.Context, after uint64, most int, dst []byte) ([]byte, error) {
	a, err := peers.Call(ctx, leaderName, l.s.lead.ReadLog, &pb.ReadLogRequest{Graph: l.name, After: after, Bytes: uint32(most)})
	return append(dst, a.GetCommits()...), err
}

// AwaitLog implements shard.ChangeLog.
func (l *changeLog) AwaitLog(ctx context.Context, after uint64) error {
	for {
		a, err := l.ask(ctx, &pb.LogStateRequest{After: after, Wait: true})
		switch {
		case ctx.Err() != nil:
			return graph.DeadlineError(ctx.Err())
		case err != nil:
			return err
		case a.GetLast() > after:
			return nil
		}
	}
}

// SetLogMode implements shard.ChangeLog.
func (l *changeLog) SetLogMode(ctx context.Context, mode changelog.Mode) error {
	_, err := peers.Call(ctx, leaderName, l.s.lead.SetLogMode, &pb.SetLogModeRequest{Graph: l.name, Mode: uint32(mode)})
	return err
}

// committed is the shard.Committed of a transaction.
type committed Tx

// Position implements shard.Committed.
func (tx *committed) Position() (number uint64, time int64) { return tx.l.commit, tx.l.time }

// CommittedAt implements shard.Committed.
func (tx *committed) CommittedAt() (number uint64, time int64) { return tx.number, tx.time }

// From implements shard.Committed.
func (tx *committed) From(o changelog.Origin) {
	tx.origin = &pb.Origin{Started: o.Started, User: o.User, Protocol: o.Protocol, Client: o.Client, Server: o.Server, Metadata: o.Metadata}
}
