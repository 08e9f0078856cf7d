package gateway

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
	"github.com/hopgate/hopgate/internal/storage/cache"
)

// Scan implements shard.Tx.
func (tx *Tx) Scan(ctx context.Context, label graph.LabelID, from graph.VertexID, dst []graph.VertexID) (ids []graph.VertexID, next graph.VertexID, done bool, err error) {
	if err := tx.check(ctx); err != nil {
		return dst, from, false, err
	}
	if len(dst) == cap(dst) {
		return dst, from, false, misuse("no room for a scan")
	}
	at := from
	for at.Shard() < tx.g.shards {
		p := tx.all()
		if tx.clean() {
			p = tx.shard(at.Shard())
		}
		room := min(cap(dst)-len(dst), wire.MaxRoom)
		var a *pb.ScanResponse
		err := ask(ctx, tx, pb.ReadService_Scan_FullMethodName, []target{p}, func(int) proto.Message {
			return &pb.ScanRequest{Snapshot: p.snap, Label: uint32(label), From: uint64(at), Room: uint32(room)}
		}, func(_ int, got *pb.ScanResponse) (err error) {
			a = got
			dst, err = wire.DecodeIDs(dst, a.GetIds())
			return err
		})
		if err != nil {
			return dst, from, false, err
		}
		switch {
		case !a.GetDone():
			at = graph.VertexID(a.GetNext())
		case p.no < 0:
			return dst, graph.NoVertex, true, nil
		default:
			at = graph.MakeVertexID(at.Shard()+1, 0)
		}
		if len(dst) == cap(dst) && at.Shard() < tx.g.shards {
			return dst, at, false, nil
		}
	}
	return dst, graph.NoVertex, true, nil
}

// LabelSets implements shard.Tx.
func (tx *Tx) LabelSets(ctx context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	clear(out[:len(ids)])
	targets, rows := tx.vertexTargets(ids)
	return ask(ctx, tx, pb.ReadService_LabelSets_FullMethodName, targets, func(i int) proto.Message {
		return &pb.LabelSetsRequest{Snapshot: targets[i].snap, Ids: wire.EncodeIDs(pick(ids, rows[i]))}
	}, func(i int, a *pb.LabelSetsResponse) error {
		if len(a.GetSets()) != len(rows[i]) {
			return wire.ErrMalformed
		}
		for j, row := range rows[i] {
			out[row] = graph.LabelSet(a.GetSets()[j])
		}
		return nil
	})
}

// fill copies the columns of an answer to some rows of out.
func (tx *Tx) fill(ctx context.Context, cols [][]byte, rows []int32, out [][]graph.Value) error {
	var large []wire.Large
	vals := make([]graph.Value, 0, len(rows))
	for p, b := range cols {
		from := len(large)
		var err error
		if vals, err = wire.DecodeValues(vals[:0], b, p, &large); err != nil {
			return err
		}
		if len(vals) != len(rows) {
			return wire.ErrMalformed
		}
		for j, i := range rows {
			out[p][i] = vals[j]
		}
		for k := range large[from:] {
			large[from+k].Row = int(rows[large[from+k].Row])
		}
	}
	return tx.large(ctx, large, func(m wire.Large, v graph.Value) { out[m.Col][m.Row] = v })
}

// large asks for the large values that an answer has as references.
func (tx *Tx) large(ctx context.Context, all []wire.Large, put func(m wire.Large, v graph.Value)) error {
	targets, rows := tx.targets(len(all), func(i int) int { return graph.EdgeID(all[i].Ref.ID).Shard() })
	return ask(ctx, tx, pb.ReadService_Large_FullMethodName, targets, func(i int) proto.Message {
		r := &pb.LargeRequest{Snapshot: targets[i].snap}
		for _, row := range rows[i] {
			r.Ids, r.Sizes = append(r.Ids, all[row].Ref.ID), append(r.Sizes, all[row].Ref.Size)
		}
		return r
	}, func(i int, a *pb.LargeResponse) error {
		vals, err := wire.DecodeValues(nil, a.GetValues(), 0, nil)
		if err != nil {
			return err
		}
		if len(vals) != len(rows[i]) {
			return wire.ErrMalformed
		}
		for j, row := range rows[i] {
			put(all[row], vals[j])
		}
		return nil
	})
}

// Properties implements shard.Tx.
func (tx *Tx) Properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	for p := range props {
		clear(out[p][:len(ids)])
	}
	if len(props) == 0 {
		return nil
	}
	if slices.IsSorted(ids) || len(ids) < fewRows {
		return tx.properties(ctx, ids, props, out)
	}
	// Sorted and distinct ids take a byte or two each, and so do the values of many properties.
	for lo := 0; lo < len(ids); lo += manyRows {
		some := ids[lo:min(lo+manyRows, len(ids))]
		once, of := eachOnce(some, tx.g.shards)
		cols := shard.Columns(len(props), len(once))
		if err := tx.properties(ctx, once, props, cols); err != nil {
			return err
		}
		for p := range props {
			for i, k := range of {
				if k >= 0 {
					out[p][lo+i] = cols[p][k]
				}
			}
		}
	}
	return nil
}

// manyRows is how many rows a number of rowBits can tell apart, next to the local part of an id.
const (
	rowBits  = 64 - graph.LocalBits
	manyRows = 1 << rowBits
)

// eachOnce returns the distinct vertices of at most manyRows rows, sorted, and for each row the position of its vertex, -1 if its shard does
// not exist.
func eachOnce(ids []graph.VertexID, shards int) (once []graph.VertexID, of []int32) {
	once, of = make([]graph.VertexID, 0, len(ids)), make([]int32, len(ids))
	// Sorting integers is faster than sorting rows by their vertices.
	byShard := make([][]uint64, shards)
	for i, v := range ids {
		of[i] = -1
		if no := v.Shard(); no < shards {
			byShard[no] = append(byShard[no], v.Local()<<rowBits|uint64(i))
		}
	}
	for no, rows := range byShard {
		slices.Sort(rows)
		for _, r := range rows {
			v := graph.MakeVertexID(no, r>>rowBits)
			if len(once) == 0 || once[len(once)-1] != v {
				once = append(once, v)
			}
			of[r%manyRows] = int32(len(once) - 1)
		}
	}
	return once, of
}

// fewRows is how many rows are not worth sorting.
const fewRows = 64

// properties is Properties for columns that are null.
func (tx *Tx) properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	targets, rows := tx.vertexTargets(ids)
	return ask(ctx, tx, pb.ReadService_Properties_FullMethodName, targets, func(i int) proto.Message {
		return &pb.PropertiesRequest{Snapshot: targets[i].snap, Ids: wire.EncodeIDs(pick(ids, rows[i])), Props: wire.Numbers[uint32](props)}
	}, func(i int, a *pb.PropertiesResponse) error { return tx.fill(ctx, a.GetColumns(), rows[i], out) })
}

// Records implements shard.Tx.
func (tx *Tx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	// Elements of the transaction itself may have newer names.
	known := tx.l.names
	if tx.wrote.Load() || known.state.GetEpoch() == tx.g.state.Load().state.GetEpoch() {
		known = tx.g.state.Load()
	}
	return shard.ReadRecords(ctx, tx, known.propsOf, ids, out)
}

// EdgeProperties implements shard.Tx.
func (tx *Tx) EdgeProperties(ctx context.Context, edges []graph.Edge, props []graph.PropID, out [][]graph.Value) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	for p := range props {
		clear(out[p][:len(edges)])
	}
	if len(props) == 0 {
		return nil
	}
	targets, rows := tx.edgeTargets(edges)
	return ask(ctx, tx, pb.ReadService_EdgeProperties_FullMethodName, targets, func(i int) proto.Message {
		return &pb.EdgePropertiesRequest{Snapshot: targets[i].snap, Edges: wire.EncodeEdges(pick(edges, rows[i])), Props: wire.Numbers[uint32](props)}
	}, func(i int, a *pb.EdgePropertiesResponse) error { return tx.fill(ctx, a.GetColumns(), rows[i], out) })
}

// EdgeRecords implements shard.Tx.
func (tx *Tx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	clear(out[:len(edges)])
	targets, rows := tx.edgeTargets(edges)
	return ask(ctx, tx, pb.ReadService_EdgeRecords_FullMethodName, targets, func(i int) proto.Message {
		return &pb.EdgeRecordsRequest{Snapshot: targets[i].snap, Edges: wire.EncodeEdges(pick(edges, rows[i]))}
	}, func(i int, a *pb.EdgeRecordsResponse) error {
		var large []wire.Large
		vals, err := wire.DecodeValues(nil, a.GetValues(), 0, &large)
		if err != nil {
			return err
		}
		if err := tx.large(ctx, large, func(m wire.Large, v graph.Value) { vals[m.Row] = v }); err != nil {
			return err
		}
		props := a.GetProps()
		if len(a.GetSizes()) != len(rows[i]) || len(vals) != len(props) {
			return wire.ErrMalformed
		}
		for j, row := range rows[i] {
			n := int(a.GetSizes()[j]) - 1
			if n < 0 {
				continue
			}
			if n > len(vals) {
				return wire.ErrMalformed
			}
			out[row].Labels = graph.NoLabels
			for k := range n {
				out[row].Props = append(out[row].Props, graph.Property{ID: graph.PropID(props[k]), Value: vals[k]})
			}
			props, vals = props[n:], vals[n:]
		}
		return nil
	})
}

// types returns the types of a request: the named ones or, since shards need names, all that have edges. none says that no type has any.
func (tx *Tx) types(types []graph.TypeID) (out []uint32, none bool) {
	if len(types) > 0 || !tx.clean() {
		return wire.Numbers[uint32](types), false
	}
	for name := range tx.Counts().ByType {
		if t, ok := tx.g.Type(name); ok {
			out = append(out, uint32(t))
		}
	}
	slices.Sort(out)
	return out, len(out) == 0
}

// Degrees implements shard.Tx.
func (tx *Tx) Degrees(ctx context.Context, ids []graph.VertexID, types []graph.TypeID, dir graph.Direction, out []int) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	clear(out[:len(ids)])
	ts, none := tx.types(types)
	if none {
		return nil
	}
	targets, rows := tx.vertexTargets(ids)
	return ask(ctx, tx, pb.ReadService_Degrees_FullMethodName, targets, func(i int) proto.Message {
		return &pb.DegreesRequest{Snapshot: targets[i].snap, Ids: wire.EncodeIDs(pick(ids, rows[i])), Types: ts, Dir: uint32(dir)}
	}, func(i int, a *pb.DegreesResponse) error {
		if len(a.GetDegrees()) != len(rows[i]) {
			return wire.ErrMalformed
		}
		for j, row := range rows[i] {
			out[row] = int(a.GetDegrees()[j])
		}
		return nil
	})
}

// Step implements shard.Tx.
func (tx *Tx) Step(ctx context.Context, from *graph.VertexSet, types []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	ts, none := tx.types(types)
	if none {
		return nil
	}
	if tx.pulls(from, ts, dir, out) {
		if done, err := tx.pull(ctx, from, ts, dir, out); done || err != nil {
			return err
		}
	}
	targets := []target{tx.all()}
	if tx.clean() {
		targets = nil
		for no := range min(from.Shards(), tx.g.shards) {
			for _, w := range from.Bitmap(no) {
				if w != 0 {
					targets = append(targets, tx.shard(no))
					break
				}
			}
		}
	}
	if f := tx.beyond.Swap(nil); f != nil && tx.clean() {
		set := &pb.ExpandRequest{Types: ts, Dir: uint32(dir), MaxEdges: manyEdges, Into: true}
		for i := range targets {
			if no := targets[i].no; no == f.sources[0].Shard() && holdsJust(from, f.sources) {
				if a := f.answers(set, f.sources); a != nil {
					targets[i].answer = &pb.StepResponse{To: a.GetInto()}
				}
			}
		}
	}
	return ask(ctx, tx, pb.ReadService_Step_FullMethodName, targets, func(i int) proto.Message {
		return &pb.StepRequest{Snapshot: targets[i].snap, From: wire.EncodeSet(from, targets[i].no), Types: ts, Dir: uint32(dir)}
	}, func(_ int, a *pb.StepResponse) error {
		_, err := wire.AddSet(out, a.GetTo(), wire.MaxWords)
		return err
	})
}

// holdsJust reports whether vs, of one shard, are all vertices of that shard in a set.
func holdsJust(s *graph.VertexSet, vs []graph.VertexID) bool {
	n := 0
	for _, w := range s.Bitmap(vs[0].Shard()) {
		n += bits.OnesCount64(w)
	}
	return n == len(vs) && !slices.ContainsFunc(vs, func(v graph.VertexID) bool { return !s.Has(v) })
}

// pulls reports whether a step touches fewer edges if each shard looks which of its own vertices the set leads to.
func (tx *Tx) pulls(from *graph.VertexSet, types []uint32, dir graph.Direction, out *graph.VertexSet) bool {
	if !tx.clean() {
		return false
	}
	vertices := float64(tx.Counts().Vertices)
	return cache.WorthPulling(float64(from.Len()), vertices, vertices-float64(out.Len()), float64(tx.degree(types, dir)))
}

// pull takes a step backwards: every shard gets the whole set, and returns those of its own vertices that are new. done is false if a shard
// declines.
func (tx *Tx) pull(ctx context.Context, from *graph.VertexSet, types []uint32, dir graph.Direction, out *graph.VertexSet) (done bool, err error) {
	targets := make([]target, tx.g.shards)
	for no := range targets {
		targets[no] = tx.shard(no)
	}
	whole := wire.EncodeSet(from, -1)
	answers := make([]*pb.StepResponse, len(targets))
	err = ask(ctx, tx, pb.ReadService_Step_FullMethodName, targets, func(i int) proto.Message {
		return &pb.StepRequest{Snapshot: targets[i].snap, From: whole, Types: types, Dir: uint32(dir), Pull: true, Known: wire.EncodeSet(out, targets[i].no)}
	}, func(i int, a *pb.StepResponse) error {
		answers[i] = a
		return nil
	})
	if err != nil || slices.ContainsFunc(answers, (*pb.StepResponse).GetDeclined) {
		return false, err
	}
	for _, a := range answers {
		if _, err := wire.AddSet(out, a.GetTo(), wire.MaxWords); err != nil {
			return false, err
		}
	}
	return true, nil
}

// How many edges one request asks for if the caller wants all, and how many sources it names at least.
const (
	manyEdges  = 1 << 20
	fewSources = 256
)

// Expand implements shard.Tx.
func (tx *Tx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	res.Reset(len(req.Props))
	x, err := tx.expanding(req, res)
	if err != nil {
		return err
	}
	if x == nil {
		for range req.Sources {
			res.Offsets = append(res.Offsets, 0)
		}
		res.Done = len(req.Sources)
		return nil
	}
	if req.Into != nil {
		return x.into(ctx)
	}
	most := x.most()
	if f := tx.next.Swap(nil); f != nil && tx.clean() {
		if a := f.answers(x.request(most), req.Sources); a != nil {
			err := tx.addNeighbours(ctx, req, a, res)
			if b := f.beyond; b != nil && b.a != nil {
				if b.sources = wire.InShard(res.Targets, req.Sources[0].Shard()); len(b.sources) > 0 {
					tx.beyond.Store(b)
				}
			}
			return err
		}
	}
	near := most*2/tx.degree(x.types, req.Dir) + fewSources
	for res.Done < len(req.Sources) {
		rest := req.Sources[res.Done:]
		if err := x.some(ctx, rest[:min(near, len(rest))], most); err != nil {
			return err
		}
		if req.MaxEdges > 0 {
			break
		}
	}
	return nil
}

// degree estimates how many edges a vertex has, at least 1.
func (tx *Tx) degree(types []uint32, dir graph.Direction) int {
	if !tx.clean() {
		return 1
	}
	c := tx.Counts()
	edges := uint64(0)
	for _, t := range types {
		edges += c.ByType[tx.g.TypeName(graph.TypeID(t))]
	}
	if dir == graph.Both {
		edges *= 2
	}
	return int(max(1, edges/max(1, c.Vertices)))
}

// expanding is one Expand.
type expanding struct {
	tx    *Tx
	req   *shard.Expand
	res   *shard.Neighbours
	types []uint32
	where []*pb.EdgeRange
}

// expanding begins an Expand. It returns nil if no type has edges.
func (tx *Tx) expanding(req *shard.Expand, res *shard.Neighbours) (*expanding, error) {
	ts, none := tx.types(req.Types)
	if none {
		return nil, nil
	}
	where, err := wire.EncodeRanges(req.Where)
	if err != nil {
		return nil, err
	}
	return &expanding{tx: tx, req: req, res: res, types: ts, where: where}, nil
}

// most returns how many edges one request asks for.
func (x *expanding) most() int {
	if x.req.Into != nil {
		return manyEdges
	}
	return cmp.Or(x.req.MaxEdges, manyEdges)
}

// request returns a request without its snapshot and sources.
func (x *expanding) request(most int) *pb.ExpandRequest {
	return &pb.ExpandRequest{
		Types: x.types, Dir: uint32(x.req.Dir), Edges: x.req.Edges, Props: wire.Numbers[uint32](x.req.Props), MaxEdges: uint64(most), Where: x.where,
		Into: x.req.Into != nil,
	}
}

// prefetch is an Expand that travels with another request, whose answer gives its sources.
type prefetch struct {
	r       *pb.ExpandRequest
	sources []graph.VertexID
	a       *pb.ExpandResponse // nil without one
	beyond  *prefetch          // from the far ends in the shard of the sources; or nil
}

// prefetch returns the requests for the next hops, at most two, that a look-up carries; nil without any.
func (tx *Tx) prefetch(then []*shard.Expand) (*prefetch, error) {
	if len(then) == 0 || !tx.clean() {
		return nil, nil
	}
	x, err := tx.expanding(then[0], nil)
	if x == nil || err != nil {
		return nil, err
	}
	f := &prefetch{r: x.request(x.most())}
	f.beyond, err = tx.prefetch(then[1:min(len(then), 2)])
	return f, err
}

func (f *prefetch) requests() (next, beyond *pb.ExpandRequest) {
	if f == nil {
		return nil, nil
	}
	if f.beyond != nil {
		beyond = f.beyond.r
	}
	return f.r, beyond
}

// take stores the answer.
func (f *prefetch) take(found []graph.IndexOwner, a *pb.SeekResponse) error {
	if f == nil || len(found) != 1 || a.GetNext().GetDone() != 1 || a.GetBeyond() != nil && f.beyond == nil {
		return wire.ErrMalformed
	}
	f.sources, f.a = []graph.VertexID{found[0].Vertex}, a.GetNext()
	if f.beyond != nil {
		f.beyond.a = a.GetBeyond()
	}
	return nil
}

// answers returns the answer if it is for the same request and sources, else nil.
func (f *prefetch) answers(r *pb.ExpandRequest, sources []graph.VertexID) *pb.ExpandResponse {
	if f == nil || f.a == nil || !slices.Equal(sources, f.sources) || !proto.Equal(f.r, r) {
		return nil
	}
	return f.a
}

// known sets the answer of a target that was prefetched.
func (x *expanding) known(targets []target, parts [][]graph.VertexID, r *pb.ExpandRequest) {
	f := x.tx.beyond.Swap(nil)
	if f == nil || !x.tx.clean() {
		return
	}
	for i := range targets {
		if targets[i].no == f.sources[0].Shard() {
			if a := f.answers(r, parts[i]); a != nil {
				targets[i].answer = a
			}
		}
	}
}

// split returns the targets of sorted sources, and the sources of each; sources whose shard does not exist are left out.
func (x *expanding) split(sources []graph.VertexID) (targets []target, parts [][]graph.VertexID) {
	tx := x.tx
	if !tx.clean() {
		return []target{tx.all()}, [][]graph.VertexID{sources}
	}
	for rest := sources; len(rest) > 0; {
		no := rest[0].Shard()
		if no >= tx.g.shards {
			break
		}
		n := len(rest)
		if rest[n-1].Shard() != no {
			n, _ = slices.BinarySearch(rest, graph.MakeVertexID(no+1, 0))
		}
		targets, parts, rest = append(targets, tx.shard(no)), append(parts, rest[:n]), rest[n:]
	}
	return targets, parts
}

// ask asks targets for the edges of some sources each.
func (x *expanding) ask(ctx context.Context, targets []target, parts [][]graph.VertexID, most int, take func(i int, a *pb.ExpandResponse) error) error {
	x.known(targets, parts, x.request(most))
	return ask(ctx, x.tx, pb.ReadService_Expand_FullMethodName, targets, func(i int) proto.Message {
		r := x.request(most)
		r.Snapshot, r.Sources = targets[i].snap, wire.EncodeIDs(parts[i])
		return r
	}, func(i int, a *pb.ExpandResponse) error {
		if a.GetDone() < 1 || int(a.GetDone()) > len(parts[i]) {
			return wire.ErrMalformed
		}
		return take(i, a)
	})
}

// into adds the far ends of all edges to the request's set.
func (x *expanding) into(ctx context.Context) error {
	targets, parts := x.split(x.req.Sources)
	x.res.Done = len(x.req.Sources)
	for len(targets) > 0 {
		err := x.ask(ctx, targets, parts, manyEdges, func(i int, a *pb.ExpandResponse) error {
			added, err := wire.AddSet(x.req.Into, a.GetInto(), wire.MaxWords)
			x.res.Added += added
			x.res.Seen += int(a.GetSeen())
			parts[i] = parts[i][a.GetDone():]
			return err
		})
		if err != nil {
			return err
		}
		left := 0
		for i, p := range targets {
			if len(parts[i]) > 0 {
				p.answer = nil
				targets[left], parts[left] = p, parts[i]
				left++
			}
		}
		targets, parts = targets[:left], parts[:left]
	}
	return nil
}

// some adds the edges of the first of some sources to the answer.
func (x *expanding) some(ctx context.Context, sources []graph.VertexID, most int) error {
	targets, parts := x.split(sources)
	if len(targets) == 0 {
		for range sources {
			x.res.Offsets = append(x.res.Offsets, len(x.res.Targets))
		}
		x.res.Done += len(sources)
		return nil
	}
	full := false
	return x.ask(ctx, targets, parts, most, func(i int, a *pb.ExpandResponse) error {
		if full {
			return nil
		}
		// Answers of later shards come after missing sources, and do not count.
		full = int(a.GetDone()) < len(parts[i])
		err := x.tx.addNeighbours(ctx, x.req, a, x.res)
		full = full || x.req.MaxEdges > 0 && x.res.Seen >= x.req.MaxEdges
		return err
	})
}

// addNeighbours adds an answer to res.
func (tx *Tx) addNeighbours(ctx context.Context, req *shard.Expand, a *pb.ExpandResponse, res *shard.Neighbours) (err error) {
	from := len(res.Targets)
	if res.Targets, err = wire.DecodeIDs(res.Targets, a.GetTargets()); err != nil {
		return err
	}
	n := len(res.Targets)
	res.Seen += int(a.GetSeen())
	if len(a.GetDegrees()) != int(a.GetDone()) || len(a.GetProps()) != len(req.Props) {
		return wire.ErrMalformed
	}
	at := from
	for _, d := range a.GetDegrees() {
		at += int(d)
		res.Offsets = append(res.Offsets, at)
	}
	res.Done += len(a.GetDegrees())
	if at != n {
		return wire.ErrMalformed
	}
	if req.Edges {
		if res.Edges, err = wire.DecodeIDs(res.Edges, a.GetEdges()); err != nil {
			return err
		}
		if res.Types, err = wire.DecodeIDs(res.Types, a.GetTypes()); err != nil {
			return err
		}
		if req.Dir != graph.Out {
			if res.Reverse, err = wire.DecodeBools(res.Reverse, a.GetReverse()); err != nil {
				return err
			}
		}
		if len(res.Edges) != n || len(res.Types) != n || req.Dir != graph.Out && len(res.Reverse) != n {
			return wire.ErrMalformed
		}
	}
	var large []wire.Large
	for p, b := range a.GetProps() {
		if res.Props[p], err = wire.DecodeValues(res.Props[p], b, p, &large); err != nil {
			return err
		}
		if len(res.Props[p]) != n {
			return wire.ErrMalformed
		}
	}
	return tx.large(ctx, large, func(m wire.Large, v graph.Value) { res.Props[m.Col][m.Row] = v })
}
