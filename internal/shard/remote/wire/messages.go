package wire

import (
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// EncodeTTL encodes when vertices or edges expire.
func EncodeTTL(t graph.TTL) *pb.TTL {
	return &pb.TTL{Label: t.Label, Type: t.Type, AfterNanos: int64(t.After), Property: t.Property}
}

// DecodeTTL decodes when vertices or edges expire.
func DecodeTTL(t *pb.TTL) graph.TTL {
	return graph.TTL{Label: t.GetLabel(), Type: t.GetType(), After: time.Duration(t.GetAfterNanos()), Property: t.GetProperty()}
}

// EncodeDefinitions encodes definitions.
func EncodeDefinitions(all []definition.Record) []*pb.Definition {
	out := make([]*pb.Definition, len(all))
	for i, r := range all {
		out[i] = &pb.Definition{Kind: r.Kind, Name: r.Name, Value: r.Value}
	}
	return out
}

// DecodeDefinitions decodes definitions.
func DecodeDefinitions(all []*pb.Definition) []definition.Record {
	out := make([]definition.Record, len(all))
	for i, r := range all {
		out[i] = definition.Record{Kind: r.GetKind(), Name: r.GetName(), Value: r.GetValue()}
	}
	return out
}

// EncodeIndex encodes the definition of an index.
func EncodeIndex(ix graph.Index) *pb.IndexDefinition {
	d := &pb.IndexDefinition{
		Id: uint32(ix.ID), Name: ix.Name, Label: ix.Label, Type: ix.Type, Props: ix.Props, Unique: ix.Unique, Required: ix.Required,
		Indexed: ix.Indexed, Online: ix.Online, Failure: ix.Failure, Kind: uint32(ix.Kind),
	}
	if o := &ix.Text; ix.Kind == graph.FullTextIndex {
		d.Text = &pb.TextOptions{More: o.More, Analyzer: o.Analyzer, Eventual: o.Eventual}
	}
	if v := &ix.Vector; ix.Kind == graph.VectorIndex {
		d.Vector = EncodeVectorOptions(v)
	}
	return d
}

// DecodeIndex decodes the definition of an index.
func DecodeIndex(ix *pb.IndexDefinition) graph.Index {
	return graph.Index{
		ID: graph.IndexID(ix.GetId()), Name: ix.GetName(), Label: ix.GetLabel(), Type: ix.GetType(), Props: ix.GetProps(), Unique: ix.GetUnique(),
		Required: ix.GetRequired(), Indexed: ix.GetIndexed(), Online: ix.GetOnline(), Failure: ix.GetFailure(),
		Kind:   graph.IndexKind(ix.GetKind()),
		Vector: DecodeVectorOptions(ix.GetVector()),
		Text:   graph.TextOptions{More: ix.GetText().GetMore(), Analyzer: ix.GetText().GetAnalyzer(), Eventual: ix.GetText().GetEventual()},
	}
}

// EncodeVectorOptions encodes the settings of a vector index.
func EncodeVectorOptions(v *graph.VectorOptions) *pb.VectorOptions {
	return &pb.VectorOptions{
		Dimensions: uint32(v.Dimensions), Similarity: uint32(v.Similarity), Quantized: v.Quantized, M: uint32(v.M),
		EfConstruction: uint32(v.EfConstruction), Hnsw: v.HNSW,
	}
}

// DecodeVectorOptions decodes the settings of a vector index.
func DecodeVectorOptions(v *pb.VectorOptions) graph.VectorOptions {
	return graph.VectorOptions{
		Dimensions: int(v.GetDimensions()), Similarity: graph.Similarity(v.GetSimilarity()), Quantized: v.GetQuantized(), M: int(v.GetM()),
		EfConstruction: int(v.GetEfConstruction()), HNSW: v.GetHnsw(),
	}
}

// EncodeCounts encodes the statistics of a graph.
func EncodeCounts(c *graph.Counts) *pb.Counts {
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

// DecodeCounts decodes the statistics of a graph.
func DecodeCounts(c *pb.Counts) *graph.Counts {
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

// EncodeMutations encodes changes, whose values must be storable.
func EncodeMutations(ms []shard.Mutation) (*pb.MutateRequest, error) {
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
	r.Vertices, r.Edges = EncodeIDs(vertices), EncodeEdges(edges)
	var err error
	r.Values, err = EncodeValues(vals)
	return r, err
}

// DecodeMutations decodes changes.
func DecodeMutations(r *pb.MutateRequest) ([]shard.Mutation, error) {
	n := len(r.GetOps())
	vertices, err := DecodeIDs([]graph.VertexID(nil), r.GetVertices())
	if err != nil {
		return nil, err
	}
	edges, err := DecodeEdges(r.GetEdges())
	if err != nil {
		return nil, err
	}
	vals, err := DecodeValues(nil, r.GetValues(), 0, nil)
	if err != nil || len(vals) != len(r.GetProps()) || len(vertices) != n || len(edges) != n || len(r.GetLabels()) != n || len(r.GetSizes()) != n {
		return nil, ErrMalformed
	}
	props := make([]graph.Property, len(vals))
	for i := range props {
		props[i] = graph.Property{ID: graph.PropID(r.GetProps()[i]), Value: vals[i]}
	}
	ms := make([]shard.Mutation, n)
	for i := range ms {
		size := int(r.GetSizes()[i])
		if size > len(props) {
			return nil, ErrMalformed
		}
		ms[i] = shard.Mutation{
			Op: shard.Op(r.GetOps()[i]), Labels: graph.LabelSet(r.GetLabels()[i]), Vertex: vertices[i], Edge: edges[i], Props: props[:size:size],
		}
		props = props[size:]
	}
	return ms, nil
}

// EncodeLoad encodes a batch of a load.
func EncodeLoad(name string, l *shard.Load) (r *pb.LoadRequest, err error) {
	r = &pb.LoadRequest{Graph: name, Stream: l.Stream, Seq: l.Seq, Restart: l.Restart, Mark: l.Mark, Run: l.Run, Remember: l.Remember, Unlogged: l.Unlogged}
	values := func(vals []graph.Value) []byte {
		b, verr := EncodeValues(vals)
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
		r.Vertices = append(r.Vertices, &pb.LoadVertices{
			Labels: uint32(v.Labels), Space: uint32(v.Space), Keys: values(v.Keys), Props: cols(v.Props), Action: uint32(v.Action),
			OnDuplicate: uint32(v.OnDuplicate),
		})
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

// DecodeLoad decodes a batch of a load.
func DecodeLoad(r *pb.LoadRequest) (l *shard.Load, err error) {
	l = &shard.Load{
		Stream: r.GetStream(), Seq: r.GetSeq(), Restart: r.GetRestart(), Mark: r.GetMark(), Run: r.GetRun(), Remember: r.GetRemember(),
		Unlogged: r.GetUnlogged(),
	}
	values := func(b []byte) []graph.Value {
		vals, verr := DecodeValues(nil, b, 0, nil)
		if err == nil {
			err = verr
		}
		return vals
	}
	cols := func(rows int, cols []*pb.LoadColumn) (out []shard.LoadColumn) {
		for _, c := range cols {
			out = append(out, shard.LoadColumn{Prop: graph.PropID(c.GetProp()), Values: values(c.GetValues()), Strategy: shard.Strategy(c.GetStrategy())})
			if err == nil && len(out[len(out)-1].Values) != rows {
				err = ErrMalformed
			}
		}
		return out
	}
	for _, v := range r.GetVertices() {
		k := values(v.GetKeys())
		l.Vertices = append(l.Vertices, shard.LoadVertices{
			Labels: graph.LabelSet(v.GetLabels()), Space: graph.IndexID(v.GetSpace()), Keys: k, Props: cols(len(k), v.GetProps()), Action: shard.Action(v.GetAction()),
			OnDuplicate: shard.OnDuplicate(v.GetOnDuplicate()),
		})
	}
	for _, e := range r.GetEdges() {
		src, dst := values(e.GetSrc()), values(e.GetDst())
		if err == nil && len(src) != len(dst) {
			err = ErrMalformed
		}
		l.Edges = append(l.Edges, shard.LoadEdges{
			Type: graph.TypeID(e.GetType()), SrcSpace: graph.IndexID(e.GetSrcSpace()), DstSpace: graph.IndexID(e.GetDstSpace()), Src: src, Dst: dst,
			Props: cols(len(src), e.GetProps()), Action: shard.Action(e.GetAction()), Dangling: shard.Dangling(e.GetDangling()),
		})
	}
	return l, err
}

// EncodeRanges encodes conditions on edges.
func EncodeRanges(where []shard.EdgeRange) ([]*pb.EdgeRange, error) {
	out := make([]*pb.EdgeRange, len(where))
	for i := range where {
		in := &where[i].In
		bounds, err := EncodeValues([]graph.Value{in.Lo, in.Hi})
		if err != nil {
			return nil, err
		}
		out[i] = &pb.EdgeRange{Prop: uint32(where[i].Prop), Bounds: bounds, LoOpen: in.LoOpen, HiOpen: in.HiOpen}
	}
	return out, nil
}

// DecodeRanges decodes conditions on edges.
func DecodeRanges(where []*pb.EdgeRange) ([]shard.EdgeRange, error) {
	out := make([]shard.EdgeRange, len(where))
	for i, w := range where {
		bounds, err := DecodeValues(nil, w.GetBounds(), 0, nil)
		if err != nil || len(bounds) != 2 || bounds[0].IsNull() && bounds[1].IsNull() {
			return nil, ErrMalformed
		}
		for _, v := range bounds {
			if !v.IsNull() && !graph.Bounds(v) {
				return nil, ErrMalformed
			}
		}
		out[i] = shard.EdgeRange{
			Prop: graph.PropID(w.GetProp()), In: graph.Interval{Lo: bounds[0], Hi: bounds[1], LoOpen: w.GetLoOpen(), HiOpen: w.GetHiOpen()},
		}
	}
	return out, nil
}

// DecodeRef decodes what a shard needs to know of an index.
func DecodeRef(i *pb.Index) shard.IndexRef {
	return shard.IndexRef{ID: graph.IndexID(i.GetId()), Unique: i.GetUnique(), Width: int(min(i.GetWidth(), 1<<10))}
}

// EncodeOwners encodes n owners.
func EncodeOwners(n int, at func(i int) graph.IndexOwner) *pb.Owners {
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
	return &pb.Owners{Vertices: EncodeIDs(vertices), Targets: EncodeIDs(targets), Edges: EncodeIDs(edges)}
}

// DecodeOwners decodes owners.
func DecodeOwners(o *pb.Owners) ([]graph.IndexOwner, error) {
	vertices, err := DecodeIDs([]graph.VertexID(nil), o.GetVertices())
	if err != nil {
		return nil, err
	}
	targets, err := DecodeIDs([]graph.VertexID(nil), o.GetTargets())
	if err != nil {
		return nil, err
	}
	edges, err := DecodeIDs([]graph.EdgeID(nil), o.GetEdges())
	if err != nil || len(edges) != len(targets) || len(edges) > 0 && len(edges) != len(vertices) {
		return nil, ErrMalformed
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

// EncodeRef encodes what a shard needs to know of an index.
func EncodeRef(r shard.IndexRef) *pb.Index {
	return &pb.Index{Id: uint32(r.ID), Unique: r.Unique, Width: uint32(r.Width)}
}

// EncodeFiles encodes the files of a copy.
func EncodeFiles(files []graph.CheckpointFile) []*pb.CopiedFile {
	out := make([]*pb.CopiedFile, len(files))
	for i := range files {
		out[i] = &pb.CopiedFile{Path: files[i].Path, Size: uint64(files[i].Size), Sha256: files[i].SHA256[:]}
	}
	return out
}

// DecodeFiles decodes the files of a copy and appends them to dst.
func DecodeFiles(dst []graph.CheckpointFile, files []*pb.CopiedFile) ([]graph.CheckpointFile, error) {
	for _, f := range files {
		file := graph.CheckpointFile{Path: f.GetPath(), Size: int64(f.GetSize())}
		if len(f.GetSha256()) != len(file.SHA256) {
			return nil, ErrMalformed
		}
		copy(file.SHA256[:], f.GetSha256())
		dst = append(dst, file)
	}
	return dst, nil
}

// EncodePart encodes the name of a graph.
func EncodePart(g storage.PartOf) *pb.PartOf {
	return &pb.PartOf{Name: g.Name, Id: g.ID, Shards: uint32(g.Shards)}
}

// DecodePart decodes the name of a graph.
func DecodePart(p *pb.PartOf) storage.PartOf {
	return storage.PartOf{Name: p.GetName(), ID: p.GetId(), Shards: int(p.GetShards())}
}

// DecodeLayout decodes the layout of a cluster.
func DecodeLayout(l *pb.Layout) shard.Layout {
	return shard.Layout{Processes: int(l.GetProcesses()), Shards: int(l.GetShards()), Replicas: int(l.GetReplicas())}
}
