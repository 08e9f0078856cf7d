package grpcapi

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	// costKey is the metadata key of what a request took, as cost.Told writes it.
	costKey = "hopgate-cost"
	// ceilingKey is that by which a client bounds the units that its request may be expected to take.
	ceilingKey = "hopgate-max-cost"
	// snapshotKey is that of the token of the snapshot that an answer is of, and of one that it must have at least.
	snapshotKey = "hopgate-snapshot"
)

func costTrailer(t *cost.Told) metadata.MD { return metadata.MD{costKey: {t.String()}} }

func snapshotTrailer(token string) metadata.MD {
	if token == "" {
		return nil
	}
	return metadata.MD{snapshotKey: {token}}
}

// reached checks that a graph has the snapshots that a call brings.
func reached(ctx context.Context, e *query.Engine, graphName string) error {
	for _, token := range metadata.ValueFromIncomingContext(ctx, snapshotKey) {
		if err := e.Reached(ctx, graphName, token); err != nil {
			return err
		}
	}
	return nil
}

// end ends a result, and with it the call, whose trailer tells what it took.
func end(stream interface{ SetTrailer(metadata.MD) }, res *query.Result) {
	took := res.Cost()
	trailer := costTrailer(&took)
	if token := res.Snapshot(); token != "" {
		trailer[snapshotKey] = []string{token}
	}
	stream.SetTrailer(trailer) // once: each call copies those before
	res.Close()
}

// maxCost returns the ceiling of a call; 0: none.
func maxCost(ctx context.Context) (int64, error) {
	switch values := metadata.ValueFromIncomingContext(ctx, ceilingKey); len(values) {
	case 0:
		return 0, nil
	case 1:
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil || n < 1 {
			return 0, wire.RequestError(ceilingKey + ": must be a whole number from 1, was " + strconv.Quote(values[0]))
		}
		return n, nil
	}
	return 0, wire.RequestError(ceilingKey + ": must be sent once")
}

// limits returns the limits of a call that runs a statement, or nil.
func limits(ctx context.Context) (*query.Limits, error) {
	n, err := maxCost(ctx)
	if n == 0 || err != nil {
		return nil, err
	}
	return &query.Limits{Units: n}, nil
}
