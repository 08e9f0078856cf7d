package remote

import (
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

func encodeCatalog(g *local.Graph, state *pb.State) *pb.Catalog {
	c := &pb.Catalog{State: state, Labels: g.AllLabels(), Types: g.AllTypes(), Props: g.AllProps(), Version: g.Version(), Shards: uint32(g.Shards()), Id: g.ID()}
	for s := graph.NoLabels; int(s) <= g.LabelSets(); s++ {
		if s > graph.NoLabels {
			c.LabelSets = append(c.LabelSets, &pb.LabelSet{Members: numbers[uint32](g.Labels(s))})
		}
		c.Present = append(c.Present, &pb.LabelSet{Members: numbers[uint32](g.PropsOf(nil, s))})
	}
	for _, ix := range g.Indexes() {
		c.Indexes = append(c.Indexes, encodeIndex(ix))
	}
	for _, t := range g.TTLs() {
		c.Ttls = append(c.Ttls, encodeTTL(t))
	}
	return c
}

func encodeTTL(t graph.TTL) *pb.TTL {
	return &pb.TTL{Label: t.Label, Type: t.Type, AfterNanos: int64(t.After), Property: t.Property}
}

func decodeTTL(t *pb.TTL) graph.TTL {
	return graph.TTL{Label: t.GetLabel(), Type: t.GetType(), After: time.Duration(t.GetAfterNanos()), Property: t.GetProperty()}
}

func encodeIndex(ix graph.Index) *pb.IndexDefinition {
	d := &pb.IndexDefinition{
		Id: uint32(ix.ID), Name: ix.Name, Label: ix.Label, Type: ix.Type, Props: ix.Props, Unique: ix.Unique, Required: ix.Required,
		Indexed: ix.Indexed, Online: ix.Online, Failure: ix.Failure, Kind: uint32(ix.Kind),
	}
	if o := &ix.Text; ix.Kind == graph.FullTextIndex {
		d.Text = &pb.TextOptions{More: o.More, Analyzer: o.Analyzer, Eventual: o.Eventual}
	}
	if v := &ix.Vector; ix.Kind == graph.VectorIndex {
		d.Vector = encodeVectorOptions(v)
	}
	return d
}

func decodeIndex(ix *pb.IndexDefinition) graph.Index {
	return graph.Index{
		ID: graph.IndexID(ix.GetId()), Name: ix.GetName(), Label: ix.GetLabel(), Type: ix.GetType(), Props: ix.GetProps(), Unique: ix.GetUnique(),
		Required: ix.GetRequired(), Indexed: ix.GetIndexed(), Online: ix.GetOnline(), Failure: ix.GetFailure(),
		Kind:   graph.IndexKind(ix.GetKind()),
		Vector: decodeVectorOptions(ix.GetVector()),
		Text:   graph.TextOptions{More: ix.GetText().GetMore(), Analyzer: ix.GetText().GetAnalyzer(), Eventual: ix.GetText().GetEventual()},
	}
}

func encodeVectorOptions(v *graph.VectorOptions) *pb.VectorOptions {
	return &pb.VectorOptions{
		Dimensions: uint32(v.Dimensions), Similarity: uint32(v.Similarity), Quantized: v.Quantized, M: uint32(v.M),
		EfConstruction: uint32(v.EfConstruction), Hnsw: v.HNSW,
	}
}

func decodeVectorOptions(v *pb.VectorOptions) graph.VectorOptions {
	return graph.VectorOptions{
		Dimensions: int(v.GetDimensions()), Similarity: graph.Similarity(v.GetSimilarity()), Quantized: v.GetQuantized(), M: int(v.GetM()),
		EfConstruction: int(v.GetEfConstruction()), HNSW: v.GetHnsw(),
	}
}

func encodeCounts(c *graph.Counts) *pb.Counts {
	out := &pb.Counts{Vertices: c.Vertices, Edges: c.Edges, ByLabel: c.ByLabel, ByType: c.ByType, Distinct: c.Distinct}
	for e, n := range c.Ends {
		out.Ends = append(out.Ends, &pb.Ends{Src: e.Src, Type: e.Type, Dst: e.Dst, Edges: n})
	}
	for p, n := range c.Props {
		out.Props = append(out.Props, &pb.PropCount{Label: p.Label, Type: p.Type, Prop: p.Prop, Count: n})
	}
	for d, bars := range c.Degrees {
		out.Degrees = append(out.Degrees, &pb.Degrees{Type: d.Type, Dir: uint32(d.Dir), Bars: bars})
	}
	return out
}

func decodeCounts(c *pb.Counts) *graph.Counts {
	out := &graph.Counts{
		Vertices: c.GetVertices(), Edges: c.GetEdges(), ByLabel: c.GetByLabel(), ByType: c.GetByType(), Distinct: c.GetDistinct(),
		Ends: map[graph.TypeEnds]uint64{}, Props: map[graph.PropOf]uint64{}, Degrees: map[graph.TypeDir][]uint64{},
	}
	for _, m := range []*map[string]uint64{&out.ByLabel, &out.ByType, &out.Distinct} {
		if *m == nil {
			*m = map[string]uint64{}
		}
	}
	for _, e := range c.GetEnds() {
		out.Ends[graph.TypeEnds{Src: e.GetSrc(), Type: e.GetType(), Dst: e.GetDst()}] = e.GetEdges()
	}
	for _, p := range c.GetProps() {
		out.Props[graph.PropOf{Label: p.GetLabel(), Type: p.GetType(), Prop: p.GetProp()}] = p.GetCount()
	}
	for _, d := range c.GetDegrees() {
		out.Degrees[graph.TypeDir{Type: d.GetType(), Dir: graph.Direction(d.GetDir())}] = d.GetBars()
	}
	return out
}

func encodeMutations(ms []shard.Mutation) (*pb.MutateRequest, error) {
	r := &pb.MutateRequest{Ops: make([]byte, len(ms)), Labels: make([]uint32, len(ms)), Sizes: make([]uint32, len(ms))}
	vertices, edges := make([]graph.VertexID, len(ms)), make([]graph.Edge, len(ms))
	var vals []graph.Value
	for i := range ms {
		m := &ms[i]
		r.Ops[i], r.Labels[i], r.Sizes[i] = byte(m.Op), uint32(m.Labels), uint32(len(m.Props))
		vertices[i], edges[i] = m.Vertex, m.Edge
		for _, p := range m.Props {
			if !keys.Storable(p.Value) {
				return nil, graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", p.Value.Kind())
			}
			r.Props = append(r.Props, uint32(p.ID))
			vals = append(vals, p.Value)
		}
	}
	r.Vertices, r.Edges = appendIDs(nil, vertices), appendEdges(nil, edges)
	var err error
	r.Values, err = appendValues(nil, vals)
	return r, err
}

func decodeMutations(r *pb.MutateRequest) ([]shard.Mutation, error) {
	n := len(r.GetOps())
	vertices, err := parseIDs([]graph.VertexID(nil), r.GetVertices())
	if err != nil {
		return nil, err
	}
	edges, err := parseEdges(r.GetEdges())
	if err != nil {
		return nil, err
	}
	vals, err := parseValues(nil, r.GetValues(), 0, nil)
	if err != nil || len(vals) != len(r.GetProps()) || len(vertices) != n || len(edges) != n || len(r.GetLabels()) != n || len(r.GetSizes()) != n {
		return nil, errCodec
	}
	props := make([]graph.Property, len(vals))
	for i := range props {
		props[i] = graph.Property{ID: graph.PropID(r.GetProps()[i]), Value: vals[i]}
	}
	ms := make([]shard.Mutation, n)
	for i := range ms {
		size := int(r.GetSizes()[i])
		if size > len(props) {
			return nil, errCodec
		}
		ms[i] = shard.Mutation{
			Op: shard.Op(r.GetOps()[i]), Labels: graph.LabelSet(r.GetLabels()[i]), Vertex: vertices[i], Edge: edges[i], Props: props[:size:size],
		}
		props = props[size:]
	}
	return ms, nil
}

func encodeLoad(name string, l *shard.Load) (r *pb.LoadRequest, err error) {
	r = &pb.LoadRequest{Graph: name, Stream: l.Stream, Seq: l.Seq, Restart: l.Restart, Mark: l.Mark}
	values := func(vals []graph.Value) []byte {
		b, verr := appendValues(nil, vals)
		if err == nil {
			err = verr
		}
		return b
	}
	cols := func(cols []shard.LoadColumn) (out []*pb.LoadColumn) {
		for _, c := range cols {
			out = append(out, &pb.LoadColumn{Prop: uint32(c.Prop), Values: values(c.Values), Strategy: uint32(c.Strategy)})
		}
		return out
	}
	for i := range l.Vertices {
		v := &l.Vertices[i]
		r.Vertices = append(r.Vertices, &pb.LoadVertices{Labels: uint32(v.Labels), Space: uint32(v.Space), Keys: values(v.Keys), Props: cols(v.Props), Action: uint32(v.Action)})
	}
	for i := range l.Edges {
		e := &l.Edges[i]
		r.Edges = append(r.Edges, &pb.LoadEdges{
			Type: uint32(e.Type), SrcSpace: uint32(e.SrcSpace), DstSpace: uint32(e.DstSpace), Src: values(e.Src), Dst: values(e.Dst),
			Props: cols(e.Props), Action: uint32(e.Action), Dangling: uint32(e.Dangling),
		})
	}
	return r, err
}

func decodeLoad(r *pb.LoadRequest) (l *shard.Load, err error) {
	l = &shard.Load{Stream: r.GetStream(), Seq: r.GetSeq(), Restart: r.GetRestart(), Mark: r.GetMark()}
	values := func(b []byte) []graph.Value {
		vals, verr := parseValues(nil, b, 0, nil)
		if err == nil {
			err = verr
		}
		return vals
	}
	cols := func(rows int, cols []*pb.LoadColumn) (out []shard.LoadColumn) {
		for _, c := range cols {
			out = append(out, shard.LoadColumn{Prop: graph.PropID(c.GetProp()), Values: values(c.GetValues()), Strategy: shard.Strategy(c.GetStrategy())})
			if err == nil && len(out[len(out)-1].Values) != rows {
				err = errCodec
			}
		}
		return out
	}
	for _, v := range r.GetVertices() {
		k := values(v.GetKeys())
		l.Vertices = append(l.Vertices, shard.LoadVertices{
			Labels: graph.LabelSet(v.GetLabels()), Space: graph.IndexID(v.GetSpace()), Keys: k, Props: cols(len(k), v.GetProps()), Action: shard.Action(v.GetAction()),
		})
	}
	for _, e := range r.GetEdges() {
		src, dst := values(e.GetSrc()), values(e.GetDst())
		if err == nil && len(src) != len(dst) {
			err = errCodec
		}
		l.Edges = append(l.Edges, shard.LoadEdges{
			Type: graph.TypeID(e.GetType()), SrcSpace: graph.IndexID(e.GetSrcSpace()), DstSpace: graph.IndexID(e.GetDstSpace()), Src: src, Dst: dst,
			Props: cols(len(src), e.GetProps()), Action: shard.Action(e.GetAction()), Dangling: shard.Dangling(e.GetDangling()),
		})
	}
	return l, err
}

func setLoaded(l *shard.Load, r *pb.LoadResponse) {
	l.Rejected = l.Rejected[:0]
	for _, x := range r.GetRejected() {
		l.Rejected = append(l.Rejected, shard.Rejected{Edge: x.GetEdge(), Group: int(x.GetGroup()), Row: int(x.GetRow()), Code: x.GetCode(), Msg: x.GetMsg()})
	}
	l.AppliedVertices, l.AppliedEdges, l.Skipped = int(r.GetVertices()), int(r.GetEdges()), r.GetSkipped()
	l.Resolve = time.Duration(r.GetResolveNanos())
}
