package gateway

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// commit commits the transaction under a new id. Without an answer, or if the leader itself does not know, it asks the leader, or the next one,
// for the outcome of that id until the time is up.
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
	if f := wire.Fault(err); f != nil && f.Kind != graph.KindUnknown || status.Code(err) == codes.Unimplemented {
		err, _ = wire.FromStatus(ctx, leaderName, err)
		return err
	}
	unknown := graph.UnknownError("no answer from the leader; the commit may or may not have been applied", err)
	limited, cancel := peers.Within(ctx)
	defer cancel()
	for tries := new(rpc.Retries); ; {
		r, err := tx.g.s.lead.Outcome(limited, &pb.OutcomeRequest{Graph: tx.g.name, Tx: tx.l.id, Id: id[:]})
		switch {
		case limited.Err() != nil || status.Code(err) == codes.Unimplemented:
			return unknown
		case err == nil && r.GetOutcome() == pb.OutcomeResponse_OUTCOME_COMMITTED:
			return nil
		case err == nil && r.GetOutcome() == pb.OutcomeResponse_OUTCOME_ABSENT:
			return wire.Unavailable(shard.TransactionLost, "the leader was lost before it committed the transaction; run it again", nil)
		case err == nil:
			return unknown
		}
		if e, retryable := wire.FromStatus(limited, leaderName, err); !retryable && graph.AsError(e).Kind != graph.KindUnavailable {
			return unknown
		}
		if !tries.Pause(limited) {
			return unknown
		}
	}
}
