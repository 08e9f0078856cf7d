package exec

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// csrTx is a graph of one edge type in compressed rows: the least that a store can do, without allocations. It serves
// the requests of expansions; the others panic.
type csrTx struct {
	shard.Tx
	out, in  csr
	counts   graph.Counts
	requests int
}

// Features implements shard.Tx.
func (*csrTx) Features() shard.Features { return shard.Features{} }

// csr holds concatenated neighbour lists, with the edges' ids in parallel.
type csr struct {
	offsets []int
	targets []graph.VertexID
	edges   []graph.EdgeID
}

// newCSR builds a graph of n vertices and m edges whose degrees have a heavy tail.
func newCSR(rng *rand.Rand, n, m int) (*csrTx, shard.Graph) {
	type pair struct{ src, dst int }
	pairs := make([]pair, m)
	skewed := func() int {
		f := rng.Float64()
		return int(f * f * float64(n))
	}
	for i := range pairs {
		pairs[i] = pair{skewed(), rng.IntN(n)}
	}
	t := &csrTx{}
	for _, c := range []*csr{&t.out, &t.in} {
		slices.SortFunc(pairs, func(a, b pair) int {
			if a.src != b.src {
				return a.src - b.src
			}
			return a.dst - b.dst
		})
		c.offsets = make([]int, n+1)
		for i, p := range pairs {
			c.offsets[p.src+1]++
			c.targets = append(c.targets, graph.VertexID(p.dst))
			c.edges = append(c.edges, graph.EdgeID(i))
		}
		for v := range n {
			c.offsets[v+1] += c.offsets[v]
		}
		for i, p := range pairs {
			pairs[i] = pair{p.dst, p.src}
		}
	}
	// An edge has its id from the lists of its source.
	next := slices.Clone(t.out.offsets)
	for dst := range n {
		for i := t.in.offsets[dst]; i < t.in.offsets[dst+1]; i++ {
			src := t.in.targets[i]
			for int(t.out.targets[next[src]]) != dst {
				next[src]++
			}
			t.in.edges[i] = t.out.edges[next[src]]
			next[src]++
		}
	}
	t.counts.Vertices = uint64(n)

	g := oracle.NewGraph(1)
	w, _ := g.Begin(ctx, shard.Write)
	_, _ = w.Type("R")
	_, _ = w.Prop("n")
	_, _ = w.Prop("w")
	w.Rollback()
	return t, g
}

func (t *csrTx) side(dir graph.Direction) *csr {
	if dir == graph.In {
		return &t.in
	}
	return &t.out
}

// Properties returns each vertex a number below 100.
func (t *csrTx) Properties(_ context.Context, ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error {
	t.requests++
	for p := range props {
		for i, v := range ids {
			out[p][i] = graph.IntValue(int64(v) * 7919 % 100)
		}
	}
	return nil
}

func (t *csrTx) Counts() *graph.Counts { return &t.counts }

func (t *csrTx) LabelSets(_ context.Context, ids []graph.VertexID, out []graph.LabelSet) error {
	t.requests++
	for i := range ids {
		out[i] = graph.NoLabels
	}
	return nil
}

func (t *csrTx) Expand(_ context.Context, req *shard.Expand, res *shard.Neighbours) error {
	t.requests++
	res.Done, res.Seen, res.Offsets = 0, 0, append(res.Offsets[:0], 0)
	res.Targets, res.Edges, res.Types, res.Reverse = res.Targets[:0], res.Edges[:0], res.Types[:0], res.Reverse[:0]
	c := t.side(req.Dir)
	for len(res.Props) < len(req.Props) {
		res.Props = append(res.Props, nil)
	}
	res.Props = res.Props[:len(req.Props)]
	for p := range res.Props {
		res.Props[p] = res.Props[p][:0]
	}
	for _, v := range req.Sources {
		for i := c.offsets[v]; i < c.offsets[v+1]; i++ {
			value := graph.IntValue(int64(c.edges[i]) * 7919 % 100) // of all properties
			res.Seen++
			passes := true
			for k := range req.Where {
				passes = passes && req.Where[k].In.Holds(value)
			}
			if !passes {
				continue
			}
			res.Targets = append(res.Targets, c.targets[i])
			for p := range res.Props {
				res.Props[p] = append(res.Props[p], value)
			}
			if req.Edges {
				res.Edges, res.Types = append(res.Edges, c.edges[i]), append(res.Types, 1)
				if req.Dir != graph.Out {
					res.Reverse = append(res.Reverse, true)
				}
			}
		}
		res.Offsets = append(res.Offsets, len(res.Targets))
		if res.Done++; req.MaxEdges > 0 && res.Seen >= req.MaxEdges {
			break
		}
	}
	return nil
}

func (t *csrTx) Step(_ context.Context, from *graph.VertexSet, _ []graph.TypeID, dir graph.Direction, out *graph.VertexSet) error {
	t.requests++
	c := t.side(dir)
	bits := out.Grow(0, uint64(len(c.offsets)))
	for _, v := range from.AppendTo(nil) {
		for _, to := range c.targets[c.offsets[v]:c.offsets[v+1]] {
			bits[to>>6] |= 1 << (to & 63)
		}
	}
	return nil
}

func (t *csrTx) Degrees(_ context.Context, ids []graph.VertexID, _ []graph.TypeID, dir graph.Direction, out []int) error {
	t.requests++
	c := t.side(dir)
	for i, v := range ids {
		out[i] = c.offsets[v+1] - c.offsets[v]
	}
	return nil
}

// starts gives rows of vertices, again and again.
type starts struct {
	ids  []graph.VertexID
	out  runtime.Batch
	done bool
}

func (s *starts) Open(context.Context) error {
	s.done = false
	return nil
}

func (s *starts) Next(context.Context) (*runtime.Batch, error) {
	if s.done {
		return nil, nil
	}
	s.done = true
	s.out.N = len(s.ids)
	s.out.Cols = append(s.out.Cols[:0], graph.Column{IDs: s.ids})
	return &s.out, nil
}

func (s *starts) Close() {}

// overStarts compiles a plan and replaces its scans by rows of the given vertices.
func overStarts(t testing.TB, q *plan.Query, g shard.Graph, tx shard.Tx, ids []graph.VertexID) (runtime.Operator, *runtime.Run) {
	t.Helper()
	p, err := Compile(q, Options{})
	require.NoError(t, err)
	for _, s := range p.program.Stages {
		if _, ok := s.Node.(*plan.Scan); ok {
			s.Build = func(*runtime.Run, []runtime.Operator) runtime.Operator { return &starts{ids: ids} }
		}
	}
	r := &runtime.Run{Tx: tx}
	r.Init(&p.program, g)
	op := r.Build(p.program.Root)
	require.NoError(t, r.Err)
	return op, r
}

// pullAll pulls all rows and counts them.
func pullAll(t testing.TB, op runtime.Operator) int {
	n := 0
	if err := op.Open(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		b, err := op.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return n
		}
		n += b.N
	}
}
