package server

import (
	"context"
	"errors"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// aggregateTime is how long a shard adds up for one request. The gateway asks again for the rest.
const aggregateTime = time.Second

// Aggregate implements the call.
func (r *readService) Aggregate(ctx context.Context, req *pb.AggregateRequest) (*pb.AggregateResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.AggregateResponse, error) {
		x, err := wire.DecodeAggregate(req)
		if err != nil {
			return nil, err
		}
		var agg shard.Aggregation
		if f := tx.Features().Aggregates; f != nil {
			agg, err = f.Aggregate(ctx, x)
		}
		out := &pb.AggregateResponse{Declined: true}
		if agg == nil || err != nil {
			return out, err
		}
		p, part, n, end := agg.Begin(true), req.GetPart(), uint64(agg.Parts()), time.Now().Add(aggregateTime)
		for first := true; part < n && err == nil && (first || time.Now().Before(end)); first = false {
			var visited int
			visited, err = p.Add(ctx, int(part), int(part+1))
			out.Visited += uint64(visited)
			part++
		}
		if part < n {
			out.Next = part
		}
		var groups []*shard.Groups
		if err == nil {
			groups, err = p.Groups()
		}
		if errors.Is(err, shard.ErrRows) || err == nil && len(groups) != 1 {
			return out, nil
		}
		if out.Declined = false; err == nil {
			err = wire.EncodeGroups(groups[0], out)
		}
		return out, err
	})
}
