package loader

import (
	"context"
	"hash/maphash"
	"io"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// Resolver reports which keys of an id space the graph has already; found[i] belongs to keys[i].
type Resolver func(ctx context.Context, sp *Space, keys []graph.Value) (found []bool, err error)

// DryRun parses all inputs and resolves their keys among themselves and, if resolve is not nil, in the graph. It writes only the rejects
// directory.
func (p *Plan) DryRun(ctx context.Context, o Options, resolve Resolver) (*Report, error) {
	s := &dry{plan: p, resolve: resolve, acks: make(chan Ack, 64), done: ctx.Done(), seed: maphash.MakeSeed()}
	for range p.spaces {
		s.keys = append(s.keys, map[uint64]dryKey{})
	}
	rep, err := p.Run(ctx, s, o)
	if rep != nil {
		rep.DryRun, rep.Dangling, rep.DiskBytes, rep.Resumed = true, s.dangling, s.disk, false
		rep.VertexCounts, rep.EdgeCounts = shard.RowCounts{}, shard.RowCounts{}
	}
	return rep, err
}

// dry is a sink that checks batches and drops them.
type dry struct {
	plan    *Plan
	resolve Resolver
	ctx     context.Context // of the load
	done    <-chan struct{}
	acks    chan Ack
	seed    maphash.Seed
	// keys holds the known hashes of each space.
	keys           []map[uint64]dryKey
	dangling, disk int64
}

// dryKey says what is known of a key.
type dryKey uint8

const (
	dryMissing dryKey = iota
	dryExists
	dryWritten // by a row of the load
)

func (s *dry) Begin(ctx context.Context, _ Open) (Opened, error) {
	s.ctx, s.done = ctx, ctx.Done()
	return Opened{}, nil
}

func (s *dry) Pack(b *Batch) (any, bool) { return b, false }

func (s *dry) Finish() error {
	close(s.acks)
	return nil
}

func (s *dry) Recv() (Ack, error) {
	select {
	case a, ok := <-s.acks:
		if !ok {
			return a, io.EOF
		}
		return a, nil
	case <-s.done:
		return Ack{}, context.Cause(s.ctx)
	}
}

func (s *dry) Send(msg any) error {
	b := msg.(*Batch)
	a := Ack{Seq: b.Seq}
	began := time.Now()
	for i := range b.Vertices {
		if err := s.vertices(b, i, &a); err != nil {
			return err
		}
	}
	for i := range b.Edges {
		if err := s.edges(b, i, &a); err != nil {
			return err
		}
	}
	a.Resolve = time.Since(began)
	select {
	case s.acks <- a:
		return nil
	case <-s.done:
		return context.Cause(s.ctx)
	}
}

func (s *dry) hash(v graph.Value) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	writeKey(&h, v)
	return h.Sum64()
}

// look looks up keys of a space.
func (s *dry) look(space int, keys []graph.Value) error {
	known := s.keys[space]
	var ask []graph.Value
	for _, k := range keys {
		if _, ok := known[s.hash(k)]; !ok {
			ask = append(ask, k)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	found := make([]bool, len(ask))
	switch sp := &s.plan.spaces[space]; {
	case sp.Label == "":
		// Such keys cannot be looked up. Those of an earlier load count as existing.
		for i := range found {
			found[i] = s.plan.known[space].Known
		}
	case s.resolve != nil:
		var err error
		if found, err = s.resolve(s.ctx, sp, ask); err != nil {
			return err
		}
	}
	for i, k := range ask {
		known[s.hash(k)] = dryMissing
		if found[i] {
			known[s.hash(k)] = dryExists
		}
	}
	return nil
}

func (s *dry) vertices(b *Batch, group int, a *Ack) error {
	v := &b.Vertices[group]
	known := s.keys[v.Space]
	if v.Action != shard.Upsert {
		if err := s.look(v.Space, v.Keys); err != nil {
			return err
		}
	}
	for row, k := range v.Keys {
		h := s.hash(k)
		code := ""
		switch key := known[h]; {
		case key == dryWritten && v.OnDuplicate == shard.DuplicateError:
			code = "RepeatedKey"
		case key == dryWritten && v.OnDuplicate == shard.DuplicateKeepFirst:
			a.Counts.Vertices.Created++
			continue
		case key != dryMissing && v.Action == shard.Insert:
			code = "DuplicateKey"
		case key == dryMissing && v.Action == shard.Update:
			code = "MissingVertex"
		}
		if code != "" {
			a.Rejected = append(a.Rejected, shard.Rejected{Group: group, Row: row, Code: code, Msg: dryMessages[code]})
			continue
		}
		known[h] = dryWritten
		if v.Action == shard.Delete {
			known[h] = dryMissing
		}
		a.Counts.Vertices.Created++ // or overwritten: the report of a dry run does not say
		s.disk += vertexBytes + keyBytes(k) + rowBytes(v.Props, row)
	}
	return nil
}

var dryMessages = map[string]string{
	"RepeatedKey":   "an earlier row of the load has this key",
	"DuplicateKey":  "there is a vertex with this key already",
	"MissingVertex": "there is no vertex with this key",
	"DanglingEdge":  "an end of the edge does not exist",
}

func (s *dry) edges(b *Batch, group int, a *Ack) error {
	e := &b.Edges[group]
	if err := s.look(e.SrcSpace, e.Src); err != nil {
		return err
	}
	if err := s.look(e.DstSpace, e.Dst); err != nil {
		return err
	}
	srcs, dsts := s.keys[e.SrcSpace], s.keys[e.DstSpace]
	for row := range e.Src {
		src, dst := s.hash(e.Src[row]), s.hash(e.Dst[row])
		if srcs[src] == dryMissing || dsts[dst] == dryMissing {
			s.dangling++
			switch e.Dangling {
			case shard.DanglingReject:
				a.Rejected = append(a.Rejected, shard.Rejected{
					Edge: true, Group: group, Row: row, Code: "DanglingEdge", Msg: dryMessages["DanglingEdge"],
				})
				continue
			case shard.DanglingSkip:
				continue
			}
			srcs[src], dsts[dst] = max(srcs[src], dryExists), max(dsts[dst], dryExists)
		}
		a.Counts.Edges.Created++
		s.disk += edgeBytes + 2*rowBytes(e.Props, row)
	}
	return nil
}

// Approximate size on disk of a vertex and an edge without their properties. A vertex has its id, labels and index entries; an edge has its
// neighbour and its id in both directions.
const (
	vertexBytes = 10
	edgeBytes   = 8
)

// rowBytes estimates the size of a row's properties.
func rowBytes(ps []PropertyColumn, row int) int64 {
	var n int64
	for i := range ps {
		n += keyBytes(ps[i].Values[row])
	}
	return n
}

func keyBytes(v graph.Value) int64 {
	switch v.Kind() {
	case graph.Null:
		return 0
	case graph.String:
		return 1 + int64(len(v.Str()))
	case graph.List:
		n := int64(1)
		for _, e := range v.List() {
			n += keyBytes(e)
		}
		return n
	case graph.Bool:
		return 1
	}
	return 4
}
