package gateway

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// mostNumbers bounds the vertices whose numbers travel.
const mostNumbers = 1 << 24

// aggregation implements shard.Aggregation in one part: each shard adds up its own vertices or edges.
type aggregation struct {
	tx     *Tx
	req    *shard.Aggregate
	to     [][]byte // the numbers of Pairs
	groups []*shard.Groups
}

// Aggregate implements shard.Aggregator. The changes of a transaction are not added up.
func (tx *Tx) Aggregate(ctx context.Context, req *shard.Aggregate) (shard.Aggregation, error) {
	if err := tx.check(ctx); err != nil || !tx.clean() {
		return nil, err
	}
	own := *req
	a := &aggregation{tx: tx, req: &own}
	for set, labels := range tx.l.names.labels {
		if req.Label != 0 && slices.Contains(labels, req.Label) {
			own.Sets = append(own.Sets, graph.LabelSet(set))
		}
	}
	if p := req.Pairs; p != nil {
		n := 0
		for _, to := range p.To {
			if n += len(to); n > mostNumbers {
				return nil, nil
			}
			a.to = append(a.to, wire.EncodeNumbers(to))
		}
		a.groups = []*shard.Groups{{Pairs: make([]int64, p.Rows*p.Width)}}
	}
	return a, nil
}

// Parts implements shard.Aggregation.
func (*aggregation) Parts() int { return 1 }

// Begin implements shard.Aggregation.
func (a *aggregation) Begin(bool) shard.Partial { return a }

// Groups implements shard.Partial.
func (a *aggregation) Groups() ([]*shard.Groups, error) { return a.groups, nil }

// Add implements shard.Partial.
func (a *aggregation) Add(ctx context.Context, _, _ int) (visited int, err error) {
	requests := make([]*pb.AggregateRequest, a.tx.g.shards)
	for no := range requests {
		if requests[no], err = a.request(no); err != nil {
			return 0, err
		}
	}
	for targets := a.tx.everywhere(); len(targets) > 0 && err == nil; {
		var rest []target
		err = ask(ctx, a.tx, pb.ReadService_Aggregate_FullMethodName, targets, func(i int) proto.Message {
			r := requests[targets[i].no]
			r.Snapshot = targets[i].snap
			return r
		}, func(i int, r *pb.AggregateResponse) error {
			if r.GetDeclined() {
				return shard.ErrRows
			}
			visited += int(r.GetVisited())
			if r.GetNext() > 0 {
				requests[targets[i].no].Part = r.GetNext()
				rest = append(rest, targets[i])
			}
			if a.req.Pairs == nil {
				a.groups = append(a.groups, &shard.Groups{})
			}
			return wire.DecodeGroups(r, a.req, a.groups[len(a.groups)-1])
		})
		targets = rest
	}
	return visited, err
}

// request is what one shard is asked, but for the snapshot.
func (a *aggregation) request(no int) (*pb.AggregateRequest, error) {
	out, err := wire.EncodeAggregate(a.req)
	if p := a.req.Pairs; p != nil {
		out.Pairs = &pb.Pairs{Rows: uint32(p.Rows), Width: uint32(p.Width), To: a.to}
		if no < len(p.From) {
			out.Pairs.From = wire.EncodeNumbers(p.From[no])
		}
	}
	return out, err
}
