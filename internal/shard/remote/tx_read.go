package remote

import (
	"cmp"
	"context"
	"slices"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
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
		room := min(cap(dst)-len(dst), maxRoom)
		var a *pb.ScanResponse
		err := tx.again(ctx, p.who, func(ctx context.Context) (err error) {
			a, err = p.c.Scan(ctx, &pb.ScanRequest{Cut: p.cut, Label: uint32(label), From: uint64(at), Room: uint32(room)})
			return err
		})
		if err == nil {
			dst, err = parseIDs(dst, a.GetIds())
		}
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
	return tx.vertices(ctx, ids, func(ctx context.Context, p place, ids []byte, rows []int32) error {
		return tx.again(ctx, p.who, func(ctx context.Context) error {
			a, err := p.c.LabelSets(ctx, &pb.LabelSetsRequest{Cut: p.cut, Ids: ids})
			if err != nil {
				return err
			}
			if len(a.GetSets()) != len(rows) {
				return errCodec
			}
			for j, i := range rows {
				out[i] = graph.LabelSet(a.GetSets()[j])
			}
			return nil
		})
	})
}

// fill puts columns of an answer into the rows of out that they are for.
func (tx *Tx) fill(ctx context.Context, cols [][]byte, rows []int32, out [][]graph.Value) error {
	var large []missing
	vals := make([]graph.Value, 0, len(rows))
	for p, b := range cols {
		from := len(large)
		var err error
		if vals, err = parseValues(vals[:0], b, p, &large); err != nil {
			return err
		}
		if len(vals) != len(rows) {
			return errCodec
		}
		for j, i := range rows {
			out[p][i] = vals[j]
		}
		for k := range large[from:] {
			large[from+k].i = int(rows[large[from+k].i])
		}
	}
	return tx.large(ctx, large, func(m missing, v graph.Value) { out[m.p][m.i] = v })
}

// large asks for the large values that did not come along.
func (tx *Tx) large(ctx context.Context, all []missing, put func(m missing, v graph.Value)) error {
	return tx.spread(ctx, len(all), func(i int) int { return graph.EdgeID(all[i].ref.ID).Shard() }, func(ctx context.Context, p place, rows []int32) error {
		r := &pb.LargeRequest{Cut: p.cut}
		for _, i := range rows {
			r.Ids, r.Sizes = append(r.Ids, all[i].ref.ID), append(r.Sizes, all[i].ref.Size)
		}
		var vals []graph.Value
		err := tx.again(ctx, p.who, func(ctx context.Context) error {
			a, err := p.c.Large(ctx, r)
			if err == nil {
				vals, err = parseValues(vals[:0], a.GetValues(), 0, nil)
			}
			return err
		})
		if err == nil && len(vals) != len(rows) {
			err = errCodec
		}
		if err != nil {
			return err
		}
		tx.mu.Lock()
		defer tx.mu.Unlock()
		for j, i := range rows {
			put(all[i], vals[j])
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
	// Sorted, and each once, they take a byte or two each, and so does what is read of them.
	order := make([]int32, len(ids))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) })
	once, of := make([]graph.VertexID, 0, len(ids)), make([]int32, len(ids))
	for _, i := range order {
		if len(once) == 0 || once[len(once)-1] != ids[i] {
			once = append(once, ids[i])
		}
		of[i] = int32(len(once) - 1)
	}
	cols := columns(len(props), len(once))
	if err := tx.properties(ctx, once, props, cols); err != nil {
		return err
	}
	for p := range props {
		for i, k := range of {
			out[p][i] = cols[p][k]
		}
	}
	return nil
}

// fewRows are not worth being sorted.
const fewRows = 64

// properties is Properties into columns of nulls.
func (tx *Tx) properties(ctx context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	return tx.vertices(ctx, ids, func(ctx context.Context, p place, ids []byte, rows []int32) error {
		var cols [][]byte
		err := tx.again(ctx, p.who, func(ctx context.Context) error {
			a, err := p.c.Properties(ctx, &pb.PropertiesRequest{Cut: p.cut, Ids: ids, Props: numbers[uint32](props)})
			cols = a.GetColumns()
			return err
		})
		if err != nil {
			return err
		}
		return tx.fill(ctx, cols, rows, out)
	})
}

// Records implements shard.Tx.
func (tx *Tx) Records(ctx context.Context, ids []graph.VertexID, out []shard.Record) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	sets := make([]graph.LabelSet, len(ids))
	if err := tx.LabelSets(ctx, ids, sets); err != nil {
		return err
	}
	// What the transaction has made may be in newer names.
	known := tx.l.names
	if tx.wrote.Load() || known.state.GetEpoch() == tx.g.state.Load().state.GetEpoch() {
		known = tx.g.state.Load()
	}
	groups := map[graph.LabelSet][]int32{}
	for i, set := range sets {
		out[i] = shard.Record{Labels: set}
		if set != 0 {
			groups[set] = append(groups[set], int32(i))
		}
	}
	for set, at := range groups {
		props := known.propsOf(set)
		some := make([]graph.VertexID, len(at))
		for j, i := range at {
			some[j] = ids[i]
		}
		cols := columns(len(props), len(at))
		if err := tx.Properties(ctx, some, props, cols); err != nil {
			return err
		}
		for j, i := range at {
			n := 0
			for p := range props {
				if !cols[p][j].IsNull() {
					n++
				}
			}
			rec := make([]graph.Property, 0, n)
			for p, prop := range props {
				if v := cols[p][j]; !v.IsNull() {
					rec = append(rec, graph.Property{ID: prop, Value: v})
				}
			}
			out[i].Props = rec
		}
	}
	return nil
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
	return tx.edges(ctx, edges, func(ctx context.Context, p place, edges []byte, rows []int32) error {
		var cols [][]byte
		err := tx.again(ctx, p.who, func(ctx context.Context) error {
			a, err := p.c.EdgeProperties(ctx, &pb.EdgePropertiesRequest{Cut: p.cut, Edges: edges, Props: numbers[uint32](props)})
			cols = a.GetColumns()
			return err
		})
		if err != nil {
			return err
		}
		return tx.fill(ctx, cols, rows, out)
	})
}

// EdgeRecords implements shard.Tx.
func (tx *Tx) EdgeRecords(ctx context.Context, edges []graph.Edge, out []shard.Record) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	clear(out[:len(edges)])
	return tx.edges(ctx, edges, func(ctx context.Context, p place, edges []byte, rows []int32) error {
		var a *pb.EdgeRecordsResponse
		err := tx.again(ctx, p.who, func(ctx context.Context) (err error) {
			a, err = p.c.EdgeRecords(ctx, &pb.EdgeRecordsRequest{Cut: p.cut, Edges: edges})
			return err
		})
		if err != nil {
			return err
		}
		var large []missing
		vals, err := parseValues(nil, a.GetValues(), 0, &large)
		if err != nil {
			return err
		}
		if err := tx.large(ctx, large, func(m missing, v graph.Value) { vals[m.i] = v }); err != nil {
			return err
		}
		props := a.GetProps()
		if len(a.GetSizes()) != len(rows) || len(vals) != len(props) {
			return errCodec
		}
		for j, i := range rows {
			n := int(a.GetSizes()[j]) - 1
			if n < 0 {
				continue
			}
			if n > len(vals) {
				return errCodec
			}
			out[i].Labels = graph.NoLabels
			for k := range n {
				out[i].Props = append(out[i].Props, graph.Property{ID: graph.PropID(props[k]), Value: vals[k]})
			}
			props, vals = props[n:], vals[n:]
		}
		return nil
	})
}

// types gives the types of a request: those that are named, or, for the shards, all that have edges. none tells that
// there are none.
func (tx *Tx) types(types []graph.TypeID) (out []uint32, none bool) {
	if len(types) > 0 || !tx.clean() {
		return numbers[uint32](types), false
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
	return tx.vertices(ctx, ids, func(ctx context.Context, p place, ids []byte, rows []int32) error {
		return tx.again(ctx, p.who, func(ctx context.Context) error {
			a, err := p.c.Degrees(ctx, &pb.DegreesRequest{Cut: p.cut, Ids: ids, Types: ts, Dir: uint32(dir)})
			if err != nil {
				return err
			}
			if len(a.GetDegrees()) != len(rows) {
				return errCodec
			}
			for j, i := range rows {
				out[i] = int(a.GetDegrees()[j])
			}
			return nil
		})
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
	places := []place{tx.all()}
	if tx.clean() {
		places = nil
		for no := range min(from.Shards(), tx.g.shards) {
			for _, w := range from.Bitmap(no) {
				if w != 0 {
					places = append(places, tx.shard(no))
					break
				}
			}
		}
		if len(places) == 0 {
			return nil
		}
	}
	answers := make([][]byte, len(places))
	err := parallel(ctx, places, func(ctx context.Context, i int, p place) error {
		r := &pb.StepRequest{Cut: p.cut, From: appendSet(nil, from, p.no), Types: ts, Dir: uint32(dir)}
		return tx.again(ctx, p.who, func(ctx context.Context) error {
			a, err := p.c.Step(ctx, r)
			answers[i] = a.GetTo()
			return err
		})
	})
	for _, b := range answers {
		if err == nil {
			_, err = addSet(out, b, maxWords)
		}
	}
	return err
}

// pulls reports whether the shards should rather look which of their vertices a step from a set leads to.
func (tx *Tx) pulls(from *graph.VertexSet, types []uint32, dir graph.Direction, out *graph.VertexSet) bool {
	if !tx.clean() {
		return false
	}
	vertices := float64(tx.Counts().Vertices)
	return local.WorthPulling(float64(from.Len()), vertices, vertices-float64(out.Len()), float64(tx.degree(types, dir)))
}

// pull takes a step backwards: every shard is sent the whole of from, and gives those of its own vertices that are new. It
// is not done where a shard declines.
func (tx *Tx) pull(ctx context.Context, from *graph.VertexSet, types []uint32, dir graph.Direction, out *graph.VertexSet) (done bool, err error) {
	places := make([]place, tx.g.shards)
	for no := range places {
		places[no] = tx.shard(no)
	}
	whole := appendSet(nil, from, -1)
	answers := make([]*pb.StepResponse, len(places))
	err = parallel(ctx, places, func(ctx context.Context, i int, p place) error {
		r := &pb.StepRequest{Cut: p.cut, From: whole, Types: types, Dir: uint32(dir), Pull: true, Known: appendSet(nil, out, p.no)}
		return tx.again(ctx, p.who, func(ctx context.Context) (err error) {
			answers[i], err = p.c.Step(ctx, r)
			return err
		})
	})
	if err != nil || slices.ContainsFunc(answers, (*pb.StepResponse).GetDeclined) {
		return false, err
	}
	for _, a := range answers {
		if _, err := addSet(out, a.GetTo(), maxWords); err != nil {
			return false, err
		}
	}
	return true, nil
}

// The edges that one request asks for, if the caller wants all, and the fewest sources that it names.
const (
	manyEdges  = 1 << 20
	fewSources = 256
)

// Expand implements shard.Tx.
func (tx *Tx) Expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours) error {
	if err := tx.check(ctx); err != nil {
		return err
	}
	res.Done, res.Seen, res.Added, res.Offsets = 0, 0, 0, append(res.Offsets[:0], 0)
	res.Targets, res.Edges, res.Types, res.Reverse = res.Targets[:0], res.Edges[:0], res.Types[:0], res.Reverse[:0]
	for len(res.Props) < len(req.Props) {
		res.Props = append(res.Props, nil)
	}
	res.Props = res.Props[:len(req.Props)]
	for p := range res.Props {
		res.Props[p] = res.Props[p][:0]
	}
	ts, none := tx.types(req.Types)
	if none {
		for range req.Sources {
			res.Offsets = append(res.Offsets, 0)
		}
		res.Done = len(req.Sources)
		return nil
	}
	where, err := encodeRanges(req.Where)
	if err != nil {
		return err
	}
	x := &expanding{tx: tx, req: req, res: res, types: ts, where: where}
	if req.Into != nil {
		return x.into(ctx)
	}
	most := req.MaxEdges
	if most == 0 {
		most = manyEdges
	}
	near := most*2/tx.degree(ts, req.Dir) + fewSources
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

// degree is about how many edges a vertex has, at least 1.
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

// split gives the places that have some sources, and which; sources whose shard does not exist are left out.
func (x *expanding) split(sources []graph.VertexID) (places []place, parts [][]graph.VertexID) {
	tx := x.tx
	if !tx.clean() {
		return []place{tx.all()}, [][]graph.VertexID{sources}
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
		places, parts, rest = append(places, tx.shard(no)), append(parts, rest[:n]), rest[n:]
	}
	return places, parts
}

// ask asks a place for the edges of some sources.
func (x *expanding) ask(ctx context.Context, p place, sources []graph.VertexID, most int) (a *pb.ExpandResponse, err error) {
	r := &pb.ExpandRequest{
		Cut: p.cut, Sources: appendIDs(nil, sources), Types: x.types, Dir: uint32(x.req.Dir), Edges: x.req.Edges,
		Props: numbers[uint32](x.req.Props), MaxEdges: uint64(most), Where: x.where, Into: x.req.Into != nil,
	}
	err = x.tx.again(ctx, p.who, func(ctx context.Context) (err error) {
		a, err = p.c.Expand(ctx, r)
		return err
	})
	if err == nil && (a.GetDone() < 1 || int(a.GetDone()) > len(sources)) {
		err = errCodec
	}
	return a, err
}

// into puts the far ends of all edges in the request's set.
func (x *expanding) into(ctx context.Context) error {
	places, parts := x.split(x.req.Sources)
	x.res.Done = len(x.req.Sources)
	if len(places) == 0 {
		return nil
	}
	answers := make([][]*pb.ExpandResponse, len(places))
	err := parallel(ctx, places, func(ctx context.Context, i int, p place) error {
		for rest := parts[i]; len(rest) > 0; {
			a, err := x.ask(ctx, p, rest, manyEdges)
			if err != nil {
				return err
			}
			answers[i], rest = append(answers[i], a), rest[a.GetDone():]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, of := range answers {
		for _, a := range of {
			added, err := addSet(x.req.Into, a.GetInto(), maxWords)
			if err != nil {
				return err
			}
			x.res.Added += added
			x.res.Seen += int(a.GetSeen())
		}
	}
	return nil
}

// some adds the edges of the first of some sources to the answer.
func (x *expanding) some(ctx context.Context, sources []graph.VertexID, most int) error {
	places, parts := x.split(sources)
	if len(places) == 0 {
		for range sources {
			x.res.Offsets = append(x.res.Offsets, len(x.res.Targets))
		}
		x.res.Done += len(sources)
		return nil
	}
	answers := make([]*pb.ExpandResponse, len(places))
	err := parallel(ctx, places, func(ctx context.Context, i int, p place) (err error) {
		answers[i], err = x.ask(ctx, p, parts[i], most)
		return err
	})
	if err != nil {
		return err
	}
	for i, a := range answers {
		if err := x.tx.addNeighbours(ctx, x.req, a, x.res); err != nil {
			return err
		}
		// What further shards have answered comes after sources that are missing.
		if int(a.GetDone()) < len(parts[i]) || x.req.MaxEdges > 0 && x.res.Seen >= x.req.MaxEdges {
			break
		}
	}
	return nil
}

// addNeighbours adds an answer to res.
func (tx *Tx) addNeighbours(ctx context.Context, req *shard.Expand, a *pb.ExpandResponse, res *shard.Neighbours) (err error) {
	from := len(res.Targets)
	if res.Targets, err = parseIDs(res.Targets, a.GetTargets()); err != nil {
		return err
	}
	n := len(res.Targets)
	res.Seen += int(a.GetSeen())
	if len(a.GetDegrees()) != int(a.GetDone()) || len(a.GetProps()) != len(req.Props) {
		return errCodec
	}
	at := from
	for _, d := range a.GetDegrees() {
		at += int(d)
		res.Offsets = append(res.Offsets, at)
	}
	res.Done += len(a.GetDegrees())
	if at != n {
		return errCodec
	}
	if req.Edges {
		if res.Edges, err = parseIDs(res.Edges, a.GetEdges()); err != nil {
			return err
		}
		if res.Types, err = parseIDs(res.Types, a.GetTypes()); err != nil {
			return err
		}
		if req.Dir != graph.Out {
			if res.Reverse, err = parseBools(res.Reverse, a.GetReverse()); err != nil {
				return err
			}
		}
		if len(res.Edges) != n || len(res.Types) != n || req.Dir != graph.Out && len(res.Reverse) != n {
			return errCodec
		}
	}
	var large []missing
	for p, b := range a.GetProps() {
		if res.Props[p], err = parseValues(res.Props[p], b, p, &large); err != nil {
			return err
		}
		if len(res.Props[p]) != n {
			return errCodec
		}
	}
	return tx.large(ctx, large, func(m missing, v graph.Value) { res.Props[m.p][m.i] = v })
}
