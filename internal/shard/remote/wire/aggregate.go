package wire

import (
	"slices"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// mostCells bounds the matrix of shard.Pairs.
const mostCells = 1 << 22

// EncodeAggregate makes a request, but for its snapshot and the numbers of shard.Pairs.
func EncodeAggregate(x *shard.Aggregate) (*pb.AggregateRequest, error) {
	where, err := EncodeRanges(x.Where)
	out := &pb.AggregateRequest{
		Label: uint32(x.Label), Sets: Numbers[uint32](x.Sets), Type: uint32(x.Type), Dir: uint32(x.Dir), Where: where,
		Props: Numbers[uint32](x.Props), Keys: Numbers[uint32](x.Keys), Members: x.Members,
	}
	for _, g := range x.Aggs {
		out.Functions, out.Arguments = append(out.Functions, uint32(g.Func)), append(out.Arguments, uint32(g.Prop))
	}
	return out, err
}

// DecodeAggregate reads a request.
func DecodeAggregate(req *pb.AggregateRequest) (*shard.Aggregate, error) {
	x := &shard.Aggregate{
		Label: graph.LabelID(req.GetLabel()), Sets: Numbers[graph.LabelSet](req.GetSets()), Type: graph.TypeID(req.GetType()), Dir: graph.Direction(req.GetDir()),
		Props: Numbers[graph.PropID](req.GetProps()), Keys: Numbers[int](req.GetKeys()), Members: req.GetMembers(),
	}
	var err error
	if x.Where, err = DecodeRanges(req.GetWhere()); err != nil {
		return nil, err
	}
	places := slices.Concat(req.GetKeys(), req.GetArguments())
	if len(places) > 0 && int(slices.Max(places)) >= len(x.Props) || len(req.GetFunctions()) != len(req.GetArguments()) || x.Dir > graph.In {
		return nil, ErrMalformed
	}
	for i, f := range req.GetFunctions() {
		if f >= uint32(shard.NumAggFuncs) {
			return nil, ErrMalformed
		}
		x.Aggs = append(x.Aggs, shard.PartialAgg{Func: shard.AggFunc(f), Prop: int(req.GetArguments()[i])})
	}
	p := req.GetPairs()
	if p == nil {
		return x, nil
	}
	rows, width := int(p.GetRows()), int(p.GetWidth())
	if rows > mostCells || width < 1 || width > mostCells+1 || rows*width > mostCells {
		return nil, ErrMalformed
	}
	from, err := decodeNumbers(p.GetFrom(), rows)
	no := int(req.GetSnapshot().GetShard())
	if err != nil || no >= storage.MaxShards {
		return nil, ErrMalformed
	}
	x.Pairs = &shard.Pairs{From: make([][]int32, no+1), Rows: rows, Width: width}
	x.Pairs.From[no] = from
	for _, b := range p.GetTo() {
		to, err := decodeNumbers(b, width-1)
		if err != nil {
			return nil, err
		}
		x.Pairs.To = append(x.Pairs.To, to)
	}
	return x, nil
}

// EncodeNumbers makes a column of the numbers of vertices in shard.Pairs.
func EncodeNumbers(of []int32) []byte {
	col := make([]uint32, len(of))
	for i, n := range of {
		col[i] = uint32(n + 1)
	}
	return EncodeIDs(col)
}

// decodeNumbers reads a column of numbers that are less than most.
func decodeNumbers(b []byte, most int) ([]int32, error) {
	col, err := DecodeIDs([]uint32(nil), b)
	if err != nil {
		return nil, err
	}
	of := make([]int32, len(col))
	for i, n := range col {
		if of[i] = int32(n) - 1; of[i] >= int32(most) || of[i] < -1 {
			return nil, ErrMalformed
		}
	}
	return of, nil
}

// EncodeGroups puts groups, or a matrix, into an answer.
func EncodeGroups(g *shard.Groups, out *pb.AggregateResponse) (err error) {
	var cells, edges []uint64
	for i, n := range g.Pairs {
		if n != 0 {
			cells, edges = append(cells, uint64(i)), append(edges, uint64(n))
		}
	}
	out.Cells, out.Edges = EncodeIDs(cells), EncodeIDs(edges)
	out.First, out.Rows = EncodeIDs(g.First), EncodeIDs(Numbers[uint64](g.Rows))
	out.Members, out.MemberOf = EncodeIDs(g.Members), EncodeIDs(g.MemberOf)
	for _, c := range g.Counts {
		out.Counts = append(out.Counts, EncodeIDs(Numbers[uint64](c)))
	}
	for _, cols := range []struct {
		from [][]graph.Value
		to   *[][]byte
	}{{g.Keys, &out.Keys}, {g.Values, &out.Values}} {
		for _, col := range cols.from {
			b, err := EncodeRead(col)
			if err != nil {
				return err
			}
			*cols.to = append(*cols.to, b)
		}
	}
	return nil
}

// DecodeGroups reads the groups of an answer to a request, which are the only ones in it, or adds its matrix to g.
func DecodeGroups(r *pb.AggregateResponse, req *shard.Aggregate, g *shard.Groups) error {
	if req.Pairs != nil {
		cells, err := DecodeIDs([]uint64(nil), r.GetCells())
		edges, eerr := DecodeIDs([]uint64(nil), r.GetEdges())
		if err != nil || eerr != nil || len(cells) != len(edges) || len(cells) > 0 && slices.Max(cells) >= uint64(len(g.Pairs)) {
			return ErrMalformed
		}
		for i, c := range cells {
			g.Pairs[c] += int64(edges[i])
		}
		return nil
	}
	if len(r.GetKeys()) != len(req.Keys) || len(r.GetCounts()) != len(req.Aggs) || len(r.GetValues()) != len(req.Aggs) {
		return ErrMalformed
	}
	var err error
	if g.First, err = DecodeIDs([]graph.VertexID(nil), r.GetFirst()); err != nil {
		return err
	}
	n := len(g.First)
	counts := func(b []byte) []int64 {
		col, cerr := DecodeIDs([]uint64(nil), b)
		if cerr != nil || len(col) != n {
			err = ErrMalformed
		}
		return Numbers[int64](col)
	}
	values := func(cols [][]byte) (out [][]graph.Value) {
		for _, b := range cols {
			vals, verr := DecodeValues(make([]graph.Value, 0, n), b, 0, nil)
			if verr != nil || len(vals) != n {
				err = ErrMalformed
			}
			out = append(out, vals)
		}
		return out
	}
	g.Rows, g.Keys, g.Values = counts(r.GetRows()), values(r.GetKeys()), values(r.GetValues())
	for _, b := range r.GetCounts() {
		g.Counts = append(g.Counts, counts(b))
	}
	if err != nil {
		return err
	}
	if g.Members, err = DecodeIDs([]graph.VertexID(nil), r.GetMembers()); err == nil {
		g.MemberOf, err = DecodeIDs([]uint32(nil), r.GetMemberOf())
	}
	if err != nil || len(g.Members) != len(g.MemberOf) || len(g.Members) > 0 && slices.Max(g.MemberOf) >= uint32(n) {
		return ErrMalformed
	}
	return nil
}
