package main

import (
	"bytes"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/shard"
)

var (
	actionProtos = map[shard.Action]pb.LoadAction{
		shard.Upsert: pb.LoadAction_LOAD_ACTION_UPSERT, shard.Insert: pb.LoadAction_LOAD_ACTION_INSERT,
		shard.Update: pb.LoadAction_LOAD_ACTION_UPDATE, shard.Delete: pb.LoadAction_LOAD_ACTION_DELETE,
	}
	duplicateProtos = map[shard.OnDuplicate]pb.OnDuplicate{
		shard.DuplicateOverwrite: pb.OnDuplicate_ON_DUPLICATE_OVERWRITE, shard.DuplicateKeepFirst: pb.OnDuplicate_ON_DUPLICATE_KEEP_FIRST,
		shard.DuplicateError: pb.OnDuplicate_ON_DUPLICATE_ERROR,
	}
	danglingProtos = map[shard.Dangling]pb.Dangling{
		shard.DanglingReject: pb.Dangling_DANGLING_REJECT, shard.DanglingCreate: pb.Dangling_DANGLING_CREATE,
		shard.DanglingSkip: pb.Dangling_DANGLING_SKIP,
	}
	strategyProtos = map[shard.Strategy]pb.UpdateStrategy{
		shard.Override: pb.UpdateStrategy_UPDATE_STRATEGY_OVERRIDE, shard.Sum: pb.UpdateStrategy_UPDATE_STRATEGY_SUM,
		shard.Bigger: pb.UpdateStrategy_UPDATE_STRATEGY_BIGGER, shard.Smaller: pb.UpdateStrategy_UPDATE_STRATEGY_SMALLER,
		shard.Union: pb.UpdateStrategy_UPDATE_STRATEGY_UNION, shard.Intersection: pb.UpdateStrategy_UPDATE_STRATEGY_INTERSECTION,
		shard.Append: pb.UpdateStrategy_UPDATE_STRATEGY_APPEND, shard.Eliminate: pb.UpdateStrategy_UPDATE_STRATEGY_ELIMINATE,
	}
)

// batchProto encodes a batch as a message that shares no memory with it.
func batchProto(b *loader.Batch) *pb.LoadRequest {
	out := &pb.LoadBatch{Seq: b.Seq, Mark: b.Mark, Confirmed: b.Confirmed}
	for i := range b.Vertices {
		v := &b.Vertices[i]
		out.Vertices = append(out.Vertices, &pb.VertexRows{
			Labels: v.Labels, Space: uint32(v.Space), Keys: columnProto(v.Keys), Properties: propertiesProto(v.Props), Action: actionProtos[v.Action],
			OnDuplicate: duplicateProtos[v.OnDuplicate],
		})
	}
	for i := range b.Edges {
		e := &b.Edges[i]
		out.Edges = append(out.Edges, &pb.EdgeRows{
			Type: e.Type, SourceSpace: uint32(e.SrcSpace), TargetSpace: uint32(e.DstSpace), Sources: columnProto(e.Src), Targets: columnProto(e.Dst),
			Properties: propertiesProto(e.Props), Action: actionProtos[e.Action], Dangling: danglingProtos[e.Dangling],
		})
	}
	return &pb.LoadRequest{Part: &pb.LoadRequest_Batch{Batch: out}}
}

func propertiesProto(ps []loader.PropertyColumn) []*pb.PropertyColumn {
	out := make([]*pb.PropertyColumn, len(ps))
	for i := range ps {
		out[i] = &pb.PropertyColumn{Name: ps[i].Name, Values: columnProto(ps[i].Values), Strategy: strategyProtos[ps[i].Strategy]}
	}
	return out
}

// columnProto encodes a column in its narrowest form.
func columnProto(vs []graph.Value) *pb.LoadColumn {
	kind, mixed, size := graph.Null, false, 0
	var nulls []byte
	for i := range vs {
		k := vs[i].Kind()
		switch {
		case k == graph.Null:
			if nulls == nil {
				nulls = make([]byte, (len(vs)+7)/8)
			}
			nulls[i/8] |= 1 << (i % 8)
			continue
		case kind == graph.Null:
			kind = k
		case kind != k:
			mixed = true
		}
		if k == graph.String {
			size += len(vs[i].Str())
		}
	}
	c := &pb.LoadColumn{Nulls: nulls}
	switch {
	case !mixed && (kind == graph.Int || kind == graph.Null):
		ints := make([]int64, len(vs))
		if kind == graph.Int {
			for i := range vs {
				if !vs[i].IsNull() {
					ints[i] = vs[i].Int()
				}
			}
		}
		c.Data = &pb.LoadColumn_Integers{Integers: &pb.IntColumn{Values: ints}}
	case !mixed && kind == graph.Float:
		floats := make([]float64, len(vs))
		for i := range vs {
			if !vs[i].IsNull() {
				floats[i] = vs[i].Float()
			}
		}
		c.Data = &pb.LoadColumn_Floats{Floats: &pb.DoubleColumn{Values: floats}}
	case !mixed && kind == graph.String:
		text, ends := make([]byte, 0, size), make([]uint32, len(vs))
		for i := range vs {
			if !vs[i].IsNull() {
				text = append(text, vs[i].Str()...)
			}
			ends[i] = uint32(len(text))
		}
		c.Data = &pb.LoadColumn_Texts{Texts: &pb.TextColumn{Text: text, Ends: ends}}
	case !mixed && kind == graph.List:
		n := 0
		for i := range vs {
			if !vs[i].IsNull() {
				n += len(vs[i].List())
			}
		}
		elements, ends := make([]graph.Value, 0, n), make([]uint32, len(vs))
		for i := range vs {
			if !vs[i].IsNull() {
				elements = append(elements, vs[i].List()...)
			}
			ends[i] = uint32(len(elements))
		}
		c.Data = &pb.LoadColumn_Lists{Lists: &pb.ListColumn{Elements: columnProto(elements), Ends: ends}}
	default:
		values := make([]*pb.Value, len(vs))
		for i := range vs {
			values[i] = valueProto(vs[i])
		}
		c.Data = &pb.LoadColumn_Values{Values: &pb.ListValue{Values: values}}
	}
	return c
}

var temporalProtos = map[graph.ValueKind]pb.TemporalType{
	graph.Date: pb.TemporalType_TEMPORAL_TYPE_DATE, graph.LocalTime: pb.TemporalType_TEMPORAL_TYPE_LOCAL_TIME,
	graph.Time: pb.TemporalType_TEMPORAL_TYPE_TIME, graph.LocalDateTime: pb.TemporalType_TEMPORAL_TYPE_LOCAL_DATE_TIME,
	graph.DateTime: pb.TemporalType_TEMPORAL_TYPE_DATE_TIME, graph.Duration: pb.TemporalType_TEMPORAL_TYPE_DURATION,
}

func valueProto(v graph.Value) *pb.Value {
	switch v.Kind() {
	case graph.Null:
		return &pb.Value{}
	case graph.Bool:
		return &pb.Value{Kind: &pb.Value_Boolean{Boolean: v.Bool()}}
	case graph.Int:
		return &pb.Value{Kind: &pb.Value_Integer{Integer: v.Int()}}
	case graph.Float:
		return &pb.Value{Kind: &pb.Value_Float{Float: v.Float()}}
	case graph.String:
		return &pb.Value{Kind: &pb.Value_String_{String_: string(append([]byte(nil), v.Str()...))}}
	case graph.PointKind:
		p := v.Point()
		return &pb.Value{Kind: &pb.Value_Point{Point: &pb.Point{Srid: uint32(p.CRS), X: p.X, Y: p.Y, Z: p.Z}}}
	case graph.VectorKind:
		x := v.Vector()
		return &pb.Value{Kind: &pb.Value_Vector{Vector: &pb.Vector{Type: pb.CoordinateType(x.Type), Coordinates: bytes.Clone(x.Data)}}}
	case graph.Bytes:
		return &pb.Value{Kind: &pb.Value_Bytes{Bytes: bytes.Clone(v.Bytes())}}
	case graph.List:
		l := make([]*pb.Value, len(v.List()))
		for i, e := range v.List() {
			l[i] = valueProto(e)
		}
		return &pb.Value{Kind: &pb.Value_List{List: &pb.ListValue{Values: l}}}
	}
	return &pb.Value{Kind: &pb.Value_Temporal{Temporal: &pb.TemporalValue{
		Type: temporalProtos[v.Kind()], Text: string(graph.AppendTemporal(nil, v)),
	}}}
}
