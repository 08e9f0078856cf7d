package server

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage"
)

// readService answers reads of a snapshot.
type readService struct {
	pb.UnimplementedReadServiceServer
	*Host
}

// open returns a transaction that reads a snapshot: that of a gateway at the leader, or one of the replica here; done releases it. It fails if
// the request asks whether the snapshot is the present one, and it is not.
func (r *readService) open(ctx context.Context, snap *pb.Snapshot) (tx shard.PartTx, done func(), err error) {
	if snap.GetVersion() == 0 || snap.GetPresent() != 0 {
		l, err := r.leading()
		if err != nil {
			return nil, nil, err
		}
		if snap.GetVersion() == 0 {
			t, done, err := l.use(snap.GetTx())
			if err != nil {
				return nil, nil, err
			}
			return t.tx, done, nil
		}
		if err := l.current(ctx, snap); err != nil {
			return nil, nil, err
		}
	}
	parts, err := r.Parts(int(snap.GetShard()))
	if err != nil {
		return nil, nil, err
	}
	p, err := parts.Part(snap.GetGraph())
	if err == nil {
		part, rerr := p.Read(ctx, snap.GetEpoch(), snap.GetVersion())
		if rerr == nil {
			return part, part.Rollback, nil
		}
		err = rerr
	}
	if graph.AsError(err).Kind == graph.KindNotFound {
		err = storage.ErrAhead // if the graph was dropped, the leader says so
	}
	return nil, nil, err
}

// on calls f with the transaction that reads a snapshot.
func on[R any](ctx context.Context, r *readService, snap *pb.Snapshot, f func(tx shard.PartTx) (*R, error)) (*R, error) {
	tx, done, err := r.open(ctx, snap)
	if err != nil {
		return nil, Status(err)
	}
	defer done()
	res, err := f(tx)
	if err != nil {
		return nil, Status(err)
	}
	return res, nil
}

// Scan implements the call.
func (r *readService) Scan(ctx context.Context, req *pb.ScanRequest) (*pb.ScanResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.ScanResponse, error) {
		ids, next, done, err := tx.Scan(ctx, graph.LabelID(req.GetLabel()), graph.VertexID(req.GetFrom()), make([]graph.VertexID, 0, min(req.GetRoom(), wire.MaxRoom)))
		return &pb.ScanResponse{Ids: wire.EncodeIDs(ids), Next: uint64(next), Done: done}, err
	})
}

// LabelSets implements the call.
func (r *readService) LabelSets(ctx context.Context, req *pb.LabelSetsRequest) (*pb.LabelSetsResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.LabelSetsResponse, error) {
		ids, err := wire.DecodeIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		sets := make([]graph.LabelSet, len(ids))
		err = tx.LabelSets(ctx, ids, sets)
		return &pb.LabelSetsResponse{Sets: wire.Numbers[uint32](sets)}, err
	})
}

func encodeColumns(cols [][]graph.Value) (out [][]byte, err error) {
	out = make([][]byte, len(cols))
	for p := range cols {
		if out[p], err = wire.EncodeRead(cols[p]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Properties implements the call.
func (r *readService) Properties(ctx context.Context, req *pb.PropertiesRequest) (*pb.PropertiesResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.PropertiesResponse, error) {
		ids, err := wire.DecodeIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		cols := shard.Columns(len(req.GetProps()), len(ids))
		if err := tx.Properties(ctx, ids, wire.Numbers[graph.PropID](req.GetProps()), cols); err != nil {
			return nil, err
		}
		out, err := encodeColumns(cols)
		return &pb.PropertiesResponse{Columns: out}, err
	})
}

// Expand implements the call.
func (r *readService) Expand(ctx context.Context, req *pb.ExpandRequest) (*pb.ExpandResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.ExpandResponse, error) {
		sources, err := wire.DecodeIDs([]graph.VertexID(nil), req.GetSources())
		if err != nil {
			return nil, err
		}
		return expand(ctx, tx, req, sources, nil)
	})
}

// expand answers a request for the edges of some sources. It calls ends, if not nil, with the far ends.
func expand(ctx context.Context, tx shard.PartTx, req *pb.ExpandRequest, sources []graph.VertexID, ends func(targets []graph.VertexID)) (*pb.ExpandResponse, error) {
	x := &shard.Expand{
		Sources: sources, Types: wire.Numbers[graph.TypeID](req.GetTypes()), Dir: graph.Direction(req.GetDir()), Edges: req.GetEdges(),
		Props: wire.Numbers[graph.PropID](req.GetProps()), MaxEdges: int(req.GetMaxEdges()),
	}
	var err error
	if x.Where, err = wire.DecodeRanges(req.GetWhere()); err != nil {
		return nil, err
	}
	m := expansions.Get().(*expansion)
	defer m.release()
	n := &m.n
	if err := tx.Expand(ctx, x, n); err != nil {
		return nil, err
	}
	if ends != nil {
		ends(n.Targets)
	}
	if req.GetInto() {
		return &pb.ExpandResponse{Done: uint32(n.Done), Seen: uint64(n.Seen), Into: m.set()}, nil
	}
	out := &pb.ExpandResponse{Done: uint32(n.Done), Seen: uint64(n.Seen), Degrees: make([]uint32, n.Done), Targets: wire.EncodeIDs(n.Targets)}
	for i := range out.Degrees {
		out.Degrees[i] = uint32(n.Offsets[i+1] - n.Offsets[i])
	}
	if x.Edges {
		out.Edges, out.Types = wire.EncodeIDs(n.Edges), wire.EncodeIDs(n.Types)
		if x.Dir != graph.Out {
			out.Reverse = wire.EncodeBools(n.Reverse)
		}
	}
	out.Props, err = encodeColumns(n.Props)
	return out, err
}

// Step implements the call.
func (r *readService) Step(ctx context.Context, req *pb.StepRequest) (*pb.StepResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.StepResponse, error) {
		var from, to graph.VertexSet
		if _, err := wire.AddSet(&from, req.GetFrom(), wire.MaxWords); err != nil {
			return nil, err
		}
		if req.GetPull() {
			var known graph.VertexSet
			if _, err := wire.AddSet(&known, req.GetKnown(), wire.MaxWords); err != nil {
				return nil, err
			}
			to.Union(&known)
			done, err := tx.Pull(ctx, &from, wire.Numbers[graph.TypeID](req.GetTypes()), graph.Direction(req.GetDir()), &to)
			if !done || err != nil {
				return &pb.StepResponse{Declined: true}, err
			}
			to.Subtract(&known)
			return &pb.StepResponse{To: wire.EncodeSet(&to, -1)}, nil
		}
		err := tx.Step(ctx, &from, wire.Numbers[graph.TypeID](req.GetTypes()), graph.Direction(req.GetDir()), &to)
		return &pb.StepResponse{To: wire.EncodeSet(&to, -1)}, err
	})
}

// Degrees implements the call.
func (r *readService) Degrees(ctx context.Context, req *pb.DegreesRequest) (*pb.DegreesResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.DegreesResponse, error) {
		ids, err := wire.DecodeIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		out := make([]int, len(ids))
		err = tx.Degrees(ctx, ids, wire.Numbers[graph.TypeID](req.GetTypes()), graph.Direction(req.GetDir()), out)
		return &pb.DegreesResponse{Degrees: wire.Numbers[uint32](out)}, err
	})
}

// EdgeProperties implements the call.
func (r *readService) EdgeProperties(ctx context.Context, req *pb.EdgePropertiesRequest) (*pb.EdgePropertiesResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.EdgePropertiesResponse, error) {
		edges, err := wire.DecodeEdges(req.GetEdges())
		if err != nil {
			return nil, err
		}
		cols := shard.Columns(len(req.GetProps()), len(edges))
		if err := tx.EdgeProperties(ctx, edges, wire.Numbers[graph.PropID](req.GetProps()), cols); err != nil {
			return nil, err
		}
		out, err := encodeColumns(cols)
		return &pb.EdgePropertiesResponse{Columns: out}, err
	})
}

// EdgeRecords implements the call.
func (r *readService) EdgeRecords(ctx context.Context, req *pb.EdgeRecordsRequest) (*pb.EdgeRecordsResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.EdgeRecordsResponse, error) {
		edges, err := wire.DecodeEdges(req.GetEdges())
		if err != nil {
			return nil, err
		}
		recs := make([]shard.Record, len(edges))
		if err := tx.EdgeRecords(ctx, edges, recs); err != nil {
			return nil, err
		}
		out := &pb.EdgeRecordsResponse{Sizes: make([]uint32, len(recs))}
		var vals []graph.Value
		for i := range recs {
			if recs[i].Labels == 0 {
				continue
			}
			out.Sizes[i] = uint32(len(recs[i].Props)) + 1
			for _, p := range recs[i].Props {
				out.Props = append(out.Props, uint32(p.ID))
				vals = append(vals, p.Value)
			}
		}
		out.Values, err = wire.EncodeRead(vals)
		return out, err
	})
}

// Seek implements the call.
func (r *readService) Seek(ctx context.Context, req *pb.SeekRequest) (*pb.SeekResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.SeekResponse, error) {
		vals, err := wire.DecodeValues(nil, req.GetValues(), 0, nil)
		if err != nil {
			return nil, err
		}
		offsets, found, err := tx.Lookup(ctx, wire.DecodeRef(req.GetIndex()), vals)
		if err != nil {
			return nil, err
		}
		out := &pb.SeekResponse{Owners: wire.EncodeOwners(len(found), func(i int) graph.IndexOwner { return found[i] })}
		for i := 1; i < len(offsets); i++ {
			out.Counts = append(out.Counts, uint32(offsets[i]-offsets[i-1]))
		}
		if req.GetNext() != nil && len(found) == 1 && !found[0].IsEdge {
			err = expandFound(ctx, tx, req, found[0].Vertex, out)
		}
		return out, err
	})
}

// How many sources and edges the second prefetched hop may have. Beyond that, its sender does better to ask all shards in parallel.
const fewBeyond, fewBeyondEdges = 256, 1 << 14

// expandFound answers the prefetches of a look-up that has found one vertex.
func expandFound(ctx context.Context, tx shard.PartTx, req *pb.SeekRequest, v graph.VertexID, out *pb.SeekResponse) (err error) {
	var own []graph.VertexID
	out.Next, err = expand(ctx, tx, req.GetNext(), []graph.VertexID{v}, func(targets []graph.VertexID) {
		if req.GetBeyond() != nil {
			own = wire.InShard(targets, v.Shard())
		}
	})
	if err != nil || len(own) == 0 || len(own) > fewBeyond {
		return err
	}
	few := proto.CloneOf(req.GetBeyond()) // requests to other shards may share it
	few.MaxEdges = min(few.GetMaxEdges(), fewBeyondEdges)
	beyond, err := expand(ctx, tx, few, own, nil)
	if err == nil && int(beyond.GetDone()) == len(own) {
		out.Beyond = beyond
	}
	return err
}

// SeekRange implements the call.
func (r *readService) SeekRange(ctx context.Context, req *pb.SeekRangeRequest) (*pb.SeekRangeResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.SeekRangeResponse, error) {
		equal, err := wire.DecodeValues(nil, req.GetEqual(), 0, nil)
		if err != nil {
			return nil, err
		}
		bounds, err := wire.DecodeValues(nil, req.GetBounds(), 0, nil)
		if err != nil || len(bounds) < 2 || len(bounds)%2 != 0 {
			return nil, wire.ErrMalformed
		}
		g := shard.Range{Equal: equal, Lo: bounds[0], Hi: bounds[1], LoOpen: req.GetLoOpen(), HiOpen: req.GetHiOpen(), Prefix: req.GetPrefix(), Down: req.GetDown()}
		for b := range slices.Chunk(bounds[2:], 2) {
			g.Further = append(g.Further, [2]graph.Value(b))
		}
		cursor := req.GetCursor()
		if len(cursor) == 0 {
			cursor = nil
		}
		some, more, err := tx.Range(ctx, wire.DecodeRef(req.GetIndex()), g, cursor, int(min(req.GetRoom(), wire.MaxRoom)))
		if err != nil {
			return nil, err
		}
		out := &pb.SeekRangeResponse{More: more, Owners: wire.EncodeOwners(len(some), func(i int) graph.IndexOwner { return some[i].Owner })}
		for _, e := range some {
			out.Tuples = append(out.Tuples, e.Tuple)
		}
		return out, nil
	})
}

// Large implements the call.
func (r *readService) Large(ctx context.Context, req *pb.LargeRequest) (*pb.LargeResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.LargeResponse, error) {
		if len(req.GetIds()) != len(req.GetSizes()) {
			return nil, wire.ErrMalformed
		}
		refs := make([]shard.LargeRef, len(req.GetIds()))
		for i := range refs {
			refs[i] = shard.LargeRef{ID: req.GetIds()[i], Size: req.GetSizes()[i]}
		}
		vals, err := tx.Large(ctx, refs)
		if err != nil {
			return nil, err
		}
		b, err := wire.EncodeRead(vals)
		return &pb.LargeResponse{Values: b}, err
	})
}
