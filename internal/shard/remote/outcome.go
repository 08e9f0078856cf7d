package remote

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// commit commits the transaction under a new id. If the answer is lost, or the leader itself does not know, it asks the leader,
// or the one after it, for the outcome. What is still unknown then is so because the time is up.
func (tx *Tx) commit(ctx context.Context) error {
	if ctx.Err() != nil {
		return graph.DeadlineError(ctx.Err())
	}
	id, err := uuid.NewV7()
	if err != nil {
		return graph.InternalError("name a commit", err)
	}
	_, err = tx.g.s.lead.Commit(ctx, &pb.CommitRequest{Graph: tx.g.name, Tx: tx.l.id, Id: id[:]})
	if err == nil {
		return nil
	}
	if st, ok := status.FromError(err); ok {
		if f := faultOf(st); f != nil && f.Kind != graph.KindUnknown || st.Code() == codes.Unimplemented {
			err, _ = fromStatus(ctx, leaderName, err)
			return err
		}
	}
	unknown := graph.UnknownError("the leader was lost, or the time was up, before it answered; the changes may have been committed", err)
	limited, cancel := within(ctx)
	defer cancel()
	for again := new(retries); ; {
		r, err := tx.g.s.lead.Outcome(limited, &pb.OutcomeRequest{Graph: tx.g.name, Tx: tx.l.id, Id: id[:]})
		switch {
		case limited.Err() != nil || status.Code(err) == codes.Unimplemented:
			return unknown
		case err == nil && r.GetOutcome() == pb.OutcomeResponse_OUTCOME_COMMITTED:
			return nil
		case err == nil && r.GetOutcome() == pb.OutcomeResponse_OUTCOME_ABSENT:
			return unavailable(shard.TransactionLost, "the leader was lost before it committed the transaction; run it again", nil)
		case err == nil:
			return unknown
		}
		if e, lost := fromStatus(limited, leaderName, err); !lost && graph.AsError(e).Kind != graph.KindUnavailable {
			return unknown
		}
		if !again.pause(limited) {
			return unknown
		}
	}
}

// Outcome implements the call. It ends the transaction first, so that no commit of it can follow.
func (l *leader) Outcome(_ context.Context, r *pb.OutcomeRequest) (*pb.OutcomeResponse, error) {
	id, err := commitID(r.GetId())
	if err != nil {
		return nil, toStatus(err)
	}
	l.mu.Lock()
	t := l.txs[r.GetTx()]
	l.mu.Unlock()
	if t != nil {
		t.end()
	}
	g, err := l.store.Local(r.GetGraph())
	if err != nil {
		return nil, toStatus(err)
	}
	o, err := g.Outcome(id)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.OutcomeResponse{Outcome: map[storage.Outcome]pb.OutcomeResponse_Outcome{
		storage.OutcomeCommitted: pb.OutcomeResponse_OUTCOME_COMMITTED, storage.OutcomeAbsent: pb.OutcomeResponse_OUTCOME_ABSENT,
	}[o]}, nil
}

// commitID reads the id of a commit.
func commitID(b []byte) (id storage.CommitID, err error) {
	if copy(id[:], b) != len(id) || len(b) != len(id) {
		return id, errCodec
	}
	return id, nil
}
