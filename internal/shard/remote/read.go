package remote

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// reader answers what is asked of a snapshot.
type reader struct {
	pb.UnimplementedReadServiceServer
	// open returns the transaction that reads a snapshot; done releases it.
	open func(ctx context.Context, snap *pb.Snapshot) (tx shard.PartTx, done func(), err error)
}

// on calls f with the transaction that reads a snapshot.
func on[R any](ctx context.Context, r *reader, snap *pb.Snapshot, f func(tx shard.PartTx) (*R, error)) (*R, error) {
	tx, done, err := r.open(ctx, snap)
	if err != nil {
		return nil, toStatus(err)
	}
	defer done()
	res, err := f(tx)
	if err != nil {
		return nil, toStatus(err)
	}
	return res, nil
}

// maxRoom bounds what one request may ask for.
const maxRoom = 1 << 16

// Scan implements the call.
func (r *reader) Scan(ctx context.Context, req *pb.ScanRequest) (*pb.ScanResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.ScanResponse, error) {
		ids, next, done, err := tx.Scan(ctx, graph.LabelID(req.GetLabel()), graph.VertexID(req.GetFrom()), make([]graph.VertexID, 0, min(req.GetRoom(), maxRoom)))
		return &pb.ScanResponse{Ids: appendIDs(nil, ids), Next: uint64(next), Done: done}, err
	})
}

// LabelSets implements the call.
func (r *reader) LabelSets(ctx context.Context, req *pb.LabelSetsRequest) (*pb.LabelSetsResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.LabelSetsResponse, error) {
		ids, err := parseIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		sets := make([]graph.LabelSet, len(ids))
		err = tx.LabelSets(ctx, ids, sets)
		return &pb.LabelSetsResponse{Sets: numbers[uint32](sets)}, err
	})
}

func encodeColumns(cols [][]graph.Value) (out [][]byte, err error) {
	out = make([][]byte, len(cols))
	for p := range cols {
		if out[p], err = appendRead(nil, cols[p]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Properties implements the call.
func (r *reader) Properties(ctx context.Context, req *pb.PropertiesRequest) (*pb.PropertiesResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.PropertiesResponse, error) {
		ids, err := parseIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		cols := shard.Columns(len(req.GetProps()), len(ids))
		if err := tx.Properties(ctx, ids, numbers[graph.PropID](req.GetProps()), cols); err != nil {
			return nil, err
		}
		out, err := encodeColumns(cols)
		return &pb.PropertiesResponse{Columns: out}, err
	})
}

// Expand implements the call.
func (r *reader) Expand(ctx context.Context, req *pb.ExpandRequest) (*pb.ExpandResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.ExpandResponse, error) {
		sources, err := parseIDs([]graph.VertexID(nil), req.GetSources())
		if err != nil {
			return nil, err
		}
		return expand(ctx, tx, req, sources, nil)
	})
}

// expand answers a request for the edges of some sources. ends, if not nil, is shown the far ends.
func expand(ctx context.Context, tx shard.PartTx, req *pb.ExpandRequest, sources []graph.VertexID, ends func(targets []graph.VertexID)) (*pb.ExpandResponse, error) {
	x := &shard.Expand{
		Sources: sources, Types: numbers[graph.TypeID](req.GetTypes()), Dir: graph.Direction(req.GetDir()), Edges: req.GetEdges(),
		Props: numbers[graph.PropID](req.GetProps()), MaxEdges: int(req.GetMaxEdges()),
	}
	var err error
	if x.Where, err = decodeRanges(req.GetWhere()); err != nil {
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
	out := &pb.ExpandResponse{Done: uint32(n.Done), Seen: uint64(n.Seen), Degrees: make([]uint32, n.Done), Targets: appendIDs(nil, n.Targets)}
	for i := range out.Degrees {
		out.Degrees[i] = uint32(n.Offsets[i+1] - n.Offsets[i])
	}
	if x.Edges {
		out.Edges, out.Types = appendIDs(nil, n.Edges), appendIDs(nil, n.Types)
		if x.Dir != graph.Out {
			out.Reverse = appendBools(nil, n.Reverse)
		}
	}
	out.Props, err = encodeColumns(n.Props)
	return out, err
}

// Step implements the call.
func (r *reader) Step(ctx context.Context, req *pb.StepRequest) (*pb.StepResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.StepResponse, error) {
		var from, to graph.VertexSet
		if _, err := addSet(&from, req.GetFrom(), maxWords); err != nil {
			return nil, err
		}
		if req.GetPull() {
			var known graph.VertexSet
			if _, err := addSet(&known, req.GetKnown(), maxWords); err != nil {
				return nil, err
			}
			to.Union(&known)
			done, err := tx.Pull(ctx, &from, numbers[graph.TypeID](req.GetTypes()), graph.Direction(req.GetDir()), &to)
			if !done || err != nil {
				return &pb.StepResponse{Declined: true}, err
			}
			to.Subtract(&known)
			return &pb.StepResponse{To: appendSet(nil, &to, -1)}, nil
		}
		err := tx.Step(ctx, &from, numbers[graph.TypeID](req.GetTypes()), graph.Direction(req.GetDir()), &to)
		return &pb.StepResponse{To: appendSet(nil, &to, -1)}, err
	})
}

// Degrees implements the call.
func (r *reader) Degrees(ctx context.Context, req *pb.DegreesRequest) (*pb.DegreesResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.DegreesResponse, error) {
		ids, err := parseIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		out := make([]int, len(ids))
		err = tx.Degrees(ctx, ids, numbers[graph.TypeID](req.GetTypes()), graph.Direction(req.GetDir()), out)
		return &pb.DegreesResponse{Degrees: numbers[uint32](out)}, err
	})
}

// EdgeProperties implements the call.
func (r *reader) EdgeProperties(ctx context.Context, req *pb.EdgePropertiesRequest) (*pb.EdgePropertiesResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.EdgePropertiesResponse, error) {
		edges, err := parseEdges(req.GetEdges())
		if err != nil {
			return nil, err
		}
		cols := shard.Columns(len(req.GetProps()), len(edges))
		if err := tx.EdgeProperties(ctx, edges, numbers[graph.PropID](req.GetProps()), cols); err != nil {
			return nil, err
		}
		out, err := encodeColumns(cols)
		return &pb.EdgePropertiesResponse{Columns: out}, err
	})
}

// EdgeRecords implements the call.
func (r *reader) EdgeRecords(ctx context.Context, req *pb.EdgeRecordsRequest) (*pb.EdgeRecordsResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.EdgeRecordsResponse, error) {
		edges, err := parseEdges(req.GetEdges())
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
		out.Values, err = appendRead(nil, vals)
		return out, err
	})
}

func indexRef(i *pb.Index) shard.IndexRef {
	return shard.IndexRef{ID: graph.IndexID(i.GetId()), Unique: i.GetUnique(), Width: int(min(i.GetWidth(), 1<<10))}
}

// ownersOf makes columns of owners.
func ownersOf(n int, at func(i int) graph.IndexOwner) *pb.Owners {
	vertices := make([]graph.VertexID, n)
	var targets []graph.VertexID
	var edges []graph.EdgeID
	for i := range n {
		o := at(i)
		vertices[i] = o.Vertex
		if o.IsEdge {
			targets, edges = append(targets, o.Dst), append(edges, o.Edge)
		}
	}
	return &pb.Owners{Vertices: appendIDs(nil, vertices), Targets: appendIDs(nil, targets), Edges: appendIDs(nil, edges)}
}

// owners reads columns of owners.
func owners(o *pb.Owners) ([]graph.IndexOwner, error) {
	vertices, err := parseIDs([]graph.VertexID(nil), o.GetVertices())
	if err != nil {
		return nil, err
	}
	targets, err := parseIDs([]graph.VertexID(nil), o.GetTargets())
	if err != nil {
		return nil, err
	}
	edges, err := parseIDs([]graph.EdgeID(nil), o.GetEdges())
	if err != nil || len(edges) != len(targets) || len(edges) > 0 && len(edges) != len(vertices) {
		return nil, errCodec
	}
	out := make([]graph.IndexOwner, len(vertices))
	for i, v := range vertices {
		out[i].Vertex = v
		if len(edges) > 0 {
			out[i].Dst, out[i].Edge, out[i].IsEdge = targets[i], edges[i], true
		}
	}
	return out, nil
}

// Seek implements the call.
func (r *reader) Seek(ctx context.Context, req *pb.SeekRequest) (*pb.SeekResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.SeekResponse, error) {
		vals, err := parseValues(nil, req.GetValues(), 0, nil)
		if err != nil {
			return nil, err
		}
		offsets, found, err := tx.Lookup(ctx, indexRef(req.GetIndex()), vals)
		if err != nil {
			return nil, err
		}
		out := &pb.SeekResponse{Owners: ownersOf(len(found), func(i int) graph.IndexOwner { return found[i] })}
		for i := 1; i < len(offsets); i++ {
			out.Counts = append(out.Counts, uint32(offsets[i]-offsets[i-1]))
		}
		if req.GetNext() != nil && len(found) == 1 && !found[0].IsEdge {
			err = expandFound(ctx, tx, req, found[0].Vertex, out)
		}
		return out, err
	})
}

// What a request beyond that for the next hop may take before its sender had better ask all shards side by side.
const fewBeyond, fewBeyondEdges = 256, 1 << 14

// expandFound answers what is asked along with a look-up about the vertex that was found.
func expandFound(ctx context.Context, tx shard.PartTx, req *pb.SeekRequest, v graph.VertexID, out *pb.SeekResponse) (err error) {
	var own []graph.VertexID
	out.Next, err = expand(ctx, tx, req.GetNext(), []graph.VertexID{v}, func(targets []graph.VertexID) {
		if req.GetBeyond() != nil {
			own = appendOwn(nil, targets, v.Shard())
		}
	})
	if err != nil || len(own) == 0 || len(own) > fewBeyond {
		return err
	}
	few := proto.CloneOf(req.GetBeyond()) // the request may be another's too
	few.MaxEdges = min(few.GetMaxEdges(), fewBeyondEdges)
	beyond, err := expand(ctx, tx, few, own, nil)
	if err == nil && int(beyond.GetDone()) == len(own) {
		out.Beyond = beyond
	}
	return err
}

// appendOwn appends those vertices that are in a shard, sorted and each once.
func appendOwn(dst, vs []graph.VertexID, shard int) []graph.VertexID {
	for _, v := range vs {
		if v.Shard() == shard {
			dst = append(dst, v)
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}

// SeekRange implements the call.
func (r *reader) SeekRange(ctx context.Context, req *pb.SeekRangeRequest) (*pb.SeekRangeResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.SeekRangeResponse, error) {
		equal, err := parseValues(nil, req.GetEqual(), 0, nil)
		if err != nil {
			return nil, err
		}
		bounds, err := parseValues(nil, req.GetBounds(), 0, nil)
		if err != nil || len(bounds) < 2 || len(bounds)%2 != 0 {
			return nil, errCodec
		}
		g := shard.Range{Equal: equal, Lo: bounds[0], Hi: bounds[1], LoOpen: req.GetLoOpen(), HiOpen: req.GetHiOpen(), Prefix: req.GetPrefix(), Down: req.GetDown()}
		for b := range slices.Chunk(bounds[2:], 2) {
			g.Further = append(g.Further, [2]graph.Value(b))
		}
		cursor := req.GetCursor()
		if len(cursor) == 0 {
			cursor = nil
		}
		some, more, err := tx.Range(ctx, indexRef(req.GetIndex()), g, cursor, int(min(req.GetRoom(), maxRoom)))
		if err != nil {
			return nil, err
		}
		out := &pb.SeekRangeResponse{More: more, Owners: ownersOf(len(some), func(i int) graph.IndexOwner { return some[i].Owner })}
		for _, e := range some {
			out.Tuples = append(out.Tuples, e.Tuple)
		}
		return out, nil
	})
}

// Large implements the call.
func (r *reader) Large(ctx context.Context, req *pb.LargeRequest) (*pb.LargeResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.LargeResponse, error) {
		if len(req.GetIds()) != len(req.GetSizes()) {
			return nil, errCodec
		}
		refs := make([]shard.LargeRef, len(req.GetIds()))
		for i := range refs {
			refs[i] = shard.LargeRef{ID: req.GetIds()[i], Size: req.GetSizes()[i]}
		}
		vals, err := tx.Large(ctx, refs)
		if err != nil {
			return nil, err
		}
		b, err := appendRead(nil, vals)
		return &pb.LargeResponse{Values: b}, err
	})
}
