package server

import (
	"context"
	"math"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
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

func (r *readService) Scan(ctx context.Context, req *pb.ScanRequest) (*pb.ScanResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.ScanResponse, error) {
		ids, next, done, err := tx.Scan(ctx, graph.LabelID(req.GetLabel()), graph.VertexID(req.GetFrom()), make([]graph.VertexID, 0, min(req.GetRoom(), wire.MaxRoom)))
		return &pb.ScanResponse{Ids: wire.EncodeIDs(ids), Next: uint64(next), Done: done}, err
	})
}

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

func (r *readService) Batch(ctx context.Context, req *pb.BatchRequest) (*pb.BatchResponse, error) {
	method := wire.ReadPrefix + req.GetMethod()
	if method == pb.ReadService_Batch_FullMethodName {
		return nil, status.Error(codes.Unimplemented, "a batch cannot contain a batch")
	}
	answers, err := wire.Services.AnswerEach(ctx, r, method, req.GetRequests())
	if err != nil {
		return nil, err
	}
	out := &pb.BatchResponse{Answers: make([]*pb.BatchAnswer, len(answers))}
	for i, a := range answers {
		out.Answers[i] = &pb.BatchAnswer{Message: a.Body, Failed: a.Failed}
	}
	return out, nil
}

// expansion is the memory for the answer to one Expand.
type expansion struct {
	n    shard.Neighbours
	seen graph.VertexSet // empty between requests
	ends []graph.VertexID
}

var expansions = sync.Pool{New: func() any { return new(expansion) }}

// reusedEdges bounds the answers whose memory is reused.
const reusedEdges = 1 << 17

func (m *expansion) release() {
	if cap(m.n.Targets) > reusedEdges {
		return
	}
	for _, col := range m.n.Props {
		clear(col)
	}
	expansions.Put(m)
}

// set encodes the far ends of the answer as a set.
func (m *expansion) set() []byte {
	m.ends = m.seen.AppendNew(m.ends[:0], m.n.Targets)
	words := 0
	for no := range m.seen.Shards() {
		words += len(m.seen.Bitmap(no))
	}
	var b []byte
	if len(m.ends) >= words/8 {
		b = wire.EncodeSet(&m.seen, -1)
	} else {
		slices.Sort(m.ends)
		b = wire.EncodeSorted(m.ends)
	}
	m.seen.RemoveAll(m.ends)
	return b
}

func (r *readService) Compare(ctx context.Context, req *pb.CompareRequest) (*pb.CompareResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(tx shard.PartTx) (*pb.CompareResponse, error) {
		var probe vector.Probe
		if by := graph.Similarity(req.GetSimilarity()); by > graph.Euclidean || !probe.SetCoordinates(by, req.GetVector()) {
			return nil, wire.ErrMalformed
		}
		prop := graph.PropID(req.GetProp())
		if req.GetBest() > 0 {
			var best shard.Top
			near := shard.Nearest{Label: graph.LabelID(req.GetLabel()), Type: graph.TypeID(req.GetType()), Prop: prop, Probe: &probe, K: int(min(req.GetBest(), wire.MaxRoom))}
			if req.GetHnsw() != nil {
				o := wire.DecodeVectorOptions(req.GetHnsw())
				near.HNSW = &o
			}
			found, err := shard.FindNearest(ctx, tx, &near, &best)
			if err != nil {
				return nil, err
			}
			out := &pb.CompareResponse{Compared: uint64(found.Compared), Bytes: uint64(found.Bytes), Candidates: uint64(found.Candidates)}
			for _, h := range best.Hits {
				out.Scores, out.Ids = append(out.Scores, float32(h.Score)), append(out.Ids, h.ID)
				if near.Type != 0 {
					out.Sources, out.Targets = append(out.Sources, uint64(h.Edge.Src)), append(out.Targets, uint64(h.Edge.Dst))
				}
			}
			return out, nil
		}
		ids, err := wire.DecodeIDs([]graph.VertexID(nil), req.GetIds())
		if err != nil {
			return nil, err
		}
		scores := make([]float64, len(ids))
		bytes, err := tx.Compare(ctx, prop, &probe, ids, scores)
		out := &pb.CompareResponse{Scores: make([]float32, len(ids)), Compared: uint64(len(ids)), Bytes: uint64(bytes)}
		for i, s := range scores {
			out.Scores[i] = float32(s)
		}
		return out, err
	})
}

// maxSearchBytes bounds the memory that a gateway's full-text search takes at the leader.
const maxSearchBytes = 256 << 20

func (r *readService) SearchText(ctx context.Context, req *pb.SearchTextRequest) (*pb.SearchTextResponse, error) {
	return on(ctx, r, req.GetSnapshot(), func(part shard.PartTx) (*pb.SearchTextResponse, error) {
		tx := part.Features().Text
		if tx == nil {
			return nil, graph.InternalError("the process is not the leader, which has the full-text indexes", nil)
		}
		var res shard.TextHits
		room := maxSearchBytes
		err := tx.SearchText(ctx, &shard.TextSearch{
			Index: graph.IndexID(req.GetIndex()), Query: req.GetQuery(), Analyzer: req.GetAnalyzer(), Most: int(min(req.GetMost(), math.MaxInt32)),
			Await: req.GetAwait(), Room: func(bytes int) error {
				if room -= bytes; room < 0 {
					return graph.BudgetError("the full-text search takes more than %d MiB of the leader: give it a limit", maxSearchBytes>>20)
				}
				return nil
			},
		}, &res)
		if err != nil {
			return nil, err
		}
		out := &pb.SearchTextResponse{Scores: res.Scores}
		out.Vertices = slices.Grow(out.Vertices, len(res.Vertices))
		for _, v := range res.Vertices {
			out.Vertices = append(out.Vertices, uint64(v))
		}
		for _, e := range res.Edges {
			out.Edges, out.Sources = append(out.Edges, uint64(e.ID)), append(out.Sources, uint64(e.Src))
			out.Targets, out.Types = append(out.Targets, uint64(e.Dst)), append(out.Types, uint32(e.Type))
		}
		return out, nil
	})
}
