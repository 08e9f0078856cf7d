package source

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Seek compiles a Seek.
func Seek(c *compile.Compiler, n *plan.Seek, need plan.ColSet) (s *runtime.Stage) {
	s = compileFind(c, n, n.Input, n.Out, need, n.Keys, func(r *runtime.Run, in *runtime.Stage) finder {
		es := expr.New(r, in.Cols)
		x := &seeker{r: r, index: n.Index.ID, each: n.Each, es: es, xs: es.AddAll(n.Keys)}
		r.AcceptPrefetch(s, &x.prefetch)
		return x
	})
	return s
}

// SeekEdges compiles a SeekEdges.
func SeekEdges(c *compile.Compiler, n *plan.SeekEdges, need plan.ColSet) *runtime.Stage {
	return compileFind(c, n, n.Input, n.Out, need, n.Keys, func(r *runtime.Run, in *runtime.Stage) finder {
		es := expr.New(r, in.Cols)
		return &seeker{r: r, index: n.Index.ID, each: n.Each, edges: true, es: es, xs: es.AddAll(n.Keys)}
	})
}

// seekKeys is how many keys one request looks up, if more than one row requests them.
const seekKeys = 64 << 10

// seeker looks up the keys of the rows of a batch, in one request unless their lists are long.
type seeker struct {
	r     *runtime.Run
	index graph.IndexID
	each  bool      // xs[0] returns lists of keys
	edges bool      // the index is one over edges
	byID  *idLookup // instead of an index, or nil
	es    *expr.Evaluators
	xs    []runtime.Evaluator

	prefetch runtime.Prefetch
	then     [2]*shard.Expand
	beyond   shard.Expand // the hop after the prefetched one
	set      graph.VertexSet

	req     shard.Seek
	keys    []graph.Value
	first   []int // with each, by row: its first key
	found   shard.Found
	arcs    shard.FoundEdges // the same of edges
	offsets []int
	cols    [][]graph.Value
	rows    runtime.Sel
	at      int  // rows before it have been looked up
	shared  bool // all rows have the same keys
}

func (s *seeker) begin(ctx context.Context, b *runtime.Batch, rows runtime.Sel) error {
	s.rows, s.at = rows, 0
	if len(rows) == 0 {
		return nil
	}
	s.es.Begin(rows)
	s.shared = true
	s.cols = s.cols[:0]
	for _, x := range s.xs {
		vs, err := x.Eval(ctx, b, rows)
		if err != nil {
			return err
		}
		s.cols = append(s.cols, vs)
		if _, ok := expr.IsConst(x); !ok {
			s.shared = false
		}
	}
	if s.each && !s.shared {
		lists := s.cols[0]
		s.shared = !slices.ContainsFunc(rows, func(row int32) bool { return !expr.SameList(lists[row], lists[rows[0]]) })
	}
	return nil
}

// ask looks up the keys of the next rows and returns the number of the following row.
func (s *seeker) ask(ctx context.Context) (int, error) {
	end := len(s.rows)
	s.keys, s.first = s.keys[:0], s.first[:0]
	for k, row := range s.rows[s.at:] {
		if s.shared && k > 0 {
			break
		}
		if len(s.keys) >= seekKeys {
			end = s.at + k
			break
		}
		if !s.each {
			for _, col := range s.cols {
				s.keys = append(s.keys, col[row])
			}
			continue
		}
		s.first = append(s.first, len(s.keys))
		switch v := s.cols[0][row]; v.Kind() {
		case graph.Null:
		case graph.List:
			s.keys = append(s.keys, v.List()...)
		default:
			return 0, graph.TypeError("InvalidArgumentType", "IN needs a List on its right, not %s", notation.Describe(v))
		}
	}
	if s.each {
		s.first = append(s.first, len(s.keys))
	}
	s.req.Index, s.req.Keys = s.index, s.keys
	switch {
	case s.byID != nil && s.edges:
		return end, s.byID.find(ctx, s.keys, &s.arcs)
	case s.byID != nil:
		return end, s.byID.vertices(ctx, s.keys, &s.found)
	case s.edges:
		return end, s.r.Tx.SeekEdges(ctx, &s.req, &s.arcs)
	}
	s.req.Then = s.hops()
	return end, s.r.Tx.Seek(ctx, &s.req, &s.found)
}

// hops returns the requests for the next hops, as shard.Seek.Then says.
func (s *seeker) hops() []*shard.Expand {
	p := &s.prefetch
	if p.Hop == nil {
		return nil
	}
	beyond := p.Hop.PrefetchBeyond(&s.beyond, &s.set)
	next := p.Hop.PrefetchNext(p.Limit)
	switch s.then = [2]*shard.Expand{next, beyond}; {
	case next == nil:
		return nil
	case beyond == nil:
		return s.then[:1]
	}
	return s.then[:]
}

func (s *seeker) more(ctx context.Context) (part, bool, error) {
	if s.at == len(s.rows) {
		return part{}, false, nil
	}
	end, err := s.ask(ctx)
	if err != nil {
		return part{}, false, err
	}
	p := part{lo: s.at, hi: end}
	s.at = end
	switch {
	case s.edges && s.each:
		p.edges, p.offsets = distinctFound(s.arcs.Edges, s.arcs.Offsets, s.first, s.offsets[:0], func(a, b graph.Edge) int { return cmp.Compare(a.ID, b.ID) })
	case s.edges:
		p.edges, p.offsets = s.arcs.Edges, s.arcs.Offsets
	case s.each:
		p.ids, p.offsets = distinctFound(s.found.IDs, s.found.Offsets, s.first, s.offsets[:0], cmp.Compare[graph.VertexID])
	default:
		p.ids, p.offsets = s.found.IDs, s.found.Offsets
	}
	if s.each {
		s.offsets = p.offsets
	}
	if s.shared {
		p.offsets = nil
	}
	return p, true, nil
}

// distinctFound returns the union of what was found for all keys of each row, sorted: a list may hold a key twice.
// found[offsets[k]:offsets[k+1]] belongs to key k; the keys of row i are first[i] … first[i+1]-1.
func distinctFound[T comparable](found []T, offsets, first, ends []int, order func(a, b T) int) ([]T, []int) {
	ends = append(ends, 0)
	out := found[:0]
	for i := range len(first) - 1 {
		some := found[offsets[first[i]]:offsets[first[i+1]]]
		slices.SortFunc(some, order)
		out = append(out, slices.Compact(some)...)
		ends = append(ends, len(out))
	}
	return out, ends
}
