package relational

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// edgeGroups counts the edges of a type by the keys of both ends. The shards group the vertices of both ends, whose
// groups are numbered, and then count the pairs of numbers in a matrix, list by list, without rows. The planner uses it
// only where transactions have shard.Aggregates. It runs its input instead if the matrix is large, which shows when the keys are numbered.
// BenchmarkRewrites/EdgeGroups in bench/traversal compares the two.
type edgeGroups struct {
	runtime.Input
	r     *runtime.Run
	node  *plan.EdgeGroups
	ends  [2]*endKeys // of sources and of far ends, which may be the same
	cols  []plan.Col
	acct  runtime.Account
	alone bool // the operator is not in a subplan

	begun, direct bool
	width         int // of the matrix; the last column has the edges to vertices without a number
	counts        []int64
	at            int // the next cell of the matrix
	out           runtime.Batch
}

// fallback returns the rows of its first input, or of its second one if that needs rows.
type fallback struct {
	ins  [2]runtime.Operator
	from [2][]int // the positions of the columns
	at   int
	out  runtime.Batch
	any  bool // an input has answered
}

// Fallback compiles a Fallback.
func Fallback(c *compile.Compiler, n *plan.Fallback, need plan.ColSet) *runtime.Stage {
	s := &runtime.Stage{Node: n}
	for _, col := range n.Cols {
		if need.Has(col) {
			s.Cols = append(s.Cols, col)
		}
	}
	s.Inputs = []*runtime.Stage{c.Compile(n.Groups, need), c.Compile(n.Rows, need)}
	s.Build = func(_ *runtime.Run, kids []runtime.Operator) runtime.Operator {
		return &fallback{ins: [2]runtime.Operator(kids), from: [2][]int{s.Inputs[0].Positions(s.Cols), s.Inputs[1].Positions(s.Cols)}}
	}
	return s
}

// Open implements runtime.Operator.
func (x *fallback) Open(ctx context.Context) error {
	x.at, x.any = 0, false
	return x.ins[0].Open(ctx)
}

// Next implements runtime.Operator.
func (x *fallback) Next(ctx context.Context) (*runtime.Batch, error) {
	b, err := x.ins[x.at].Next(ctx)
	if !x.any && x.at == 0 && errors.Is(err, shard.ErrRows) {
		x.ins[0].Close()
		x.at = 1
		if err := x.ins[1].Open(ctx); err != nil {
			return nil, err
		}
		b, err = x.ins[1].Next(ctx)
	}
	x.any = true
	if b == nil || err != nil {
		return nil, err
	}
	x.out.View(b, x.from[x.at])
	return &x.out, nil
}

// Close implements runtime.Operator.
func (x *fallback) Close() {
	x.ins[0].Close()
	x.ins[1].Close()
}

// endKeys numbers the combinations of keys of vertices.
type endKeys struct {
	end   *plan.GroupEnd
	table *GroupTable
	codes [][]int32 // by shard and local id: the number; negative: none
}

const (
	// maxEndKeys bounds the combinations of keys at one end, maxEdgeGroups the cells of the matrix: 32 MiB.
	maxEndKeys, maxEdgeGroups = 1 << 18, 1 << 22
)

// EdgeGroups compiles an EdgeGroups.
func EdgeGroups(c *compile.Compiler, n *plan.EdgeGroups, need plan.ColSet) *runtime.Stage {
	s := &runtime.Stage{Node: n}
	if n.Input != nil {
		in := c.Compile(n.Input, need)
		s.Inputs, s.Cols = []*runtime.Stage{in}, in.Cols
	} else {
		s.Cols = need.Sorted()
	}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		x := &edgeGroups{r: r, node: n, cols: s.Cols, alone: r.Frame == nil, acct: runtime.Account{Run: r, Name: "EdgeGroups"}}
		if len(kids) > 0 {
			x.In = kids[0]
		}
		for i := range n.Ends {
			e := &n.Ends[i]
			x.ends[i] = &endKeys{end: e, table: NewGroupTable(r, "EdgeGroups", len(e.Keys))}
			x.ends[i].table.identical = n.Input == nil
		}
		if n.Same {
			x.ends[1] = x.ends[0]
		}
		return x
	}
	return s
}

// Open implements runtime.Operator.
func (x *edgeGroups) Open(context.Context) error {
	x.begun, x.direct, x.at = false, false, 0
	return nil
}

// Close implements runtime.Operator.
func (x *edgeGroups) Close() {
	if x.In != nil {
		x.In.Close()
	}
	for _, k := range x.ends {
		k.table.Reset()
		k.codes = nil
	}
	x.counts = nil
	x.acct.Release()
}

// Next implements runtime.Operator.
func (x *edgeGroups) Next(ctx context.Context) (*runtime.Batch, error) {
	if !x.begun {
		x.begun = true
		var err error
		if x.direct, err = x.count(ctx); err != nil {
			return nil, err
		}
		switch {
		case x.direct:
		case x.In == nil:
			return nil, shard.ErrRows
		default:
			if err := x.In.Open(ctx); err != nil {
				return nil, err
			}
		}
	}
	if !x.direct {
		return x.In.Next(ctx)
	}
	x.out.Reset(len(x.cols))
	for ; x.at < len(x.counts) && x.out.N < x.r.BatchSize(); x.at++ {
		if n := x.counts[x.at]; n > 0 && x.at%x.width < x.width-1 {
			x.write(int32(x.at/x.width), int32(x.at%x.width), n)
		}
	}
	if x.out.N == 0 {
		return nil, nil
	}
	return &x.out, nil
}

// write adds the row of a group.
func (x *edgeGroups) write(from, to int32, n int64) {
	groups := [2]int32{from, to}
	for i, col := range x.cols {
		v := graph.IntValue(n)
		if k := x.node.Key(col); k != nil {
			v = x.ends[k.End].table.keys[k.At].at(groups[k.End])
		}
		x.out.Cols[i].Vals = append(x.out.Cols[i].Vals, v)
	}
	x.out.N++
}

// count fills the matrix, and reports whether it could.
func (x *edgeGroups) count(ctx context.Context) (bool, error) {
	r := x.r
	typ, ok := r.Graph.Type(x.node.Type)
	if !ok || !x.alone || r.Env.Partial || r.Env.Budget.Edges > 0 {
		return false, nil
	}
	for i, k := range x.ends {
		if i > 0 && k == x.ends[0] {
			break
		}
		if ok, err := k.fill(ctx, r, &x.acct); !ok || err != nil {
			return false, err
		}
	}
	from, to := x.ends[0], x.ends[1]
	x.width = to.table.len() + 1
	cells := from.table.len() * x.width
	if cells > maxEdgeGroups {
		return false, nil
	}
	if err := x.acct.Grow(8 * cells * (1 + goruntime.GOMAXPROCS(0))); err != nil { // one for each worker
		return false, err
	}
	parts, err := addUp(ctx, r, &shard.Aggregate{
		Type: typ, Dir: x.node.Dir, Pairs: &shard.Pairs{From: from.codes, To: to.codes, Rows: from.table.len(), Width: x.width},
	})
	if parts == nil || err != nil {
		return false, err
	}
	x.counts = parts[0].Pairs
	for _, of := range parts[1:] {
		for i, n := range of.Pairs {
			x.counts[i] += n
		}
	}
	return true, nil
}

// fill numbers the keys of all vertices, and reports whether it could, and there are few enough.
func (k *endKeys) fill(ctx context.Context, r *runtime.Run, acct *runtime.Account) (bool, error) {
	k.table.Reset()
	k.codes = k.codes[:0]
	req := shard.Aggregate{Members: true}
	var ok bool
	if k.end.Label != "" {
		if req.Label, ok = r.Graph.Label(k.end.Label); !ok {
			return false, nil
		}
	}
	for i, key := range k.end.Keys {
		id, ok := r.Graph.Prop(key)
		if !ok {
			return false, nil
		}
		req.Props, req.Keys = append(req.Props, id), append(req.Keys, i)
	}
	parts, err := addUp(ctx, r, &req)
	if parts == nil || err != nil {
		return false, err
	}
	var b runtime.Batch
	var found []int32
	for _, of := range parts {
		b.N = len(of.Rows)
		found = slices.Grow(found[:0], b.N)[:b.N]
		if err := k.table.Numbers(&b, of.Keys, runtime.AllRows(b.N), found); err != nil {
			return false, err
		}
		if k.table.len() > maxEndKeys {
			return false, nil
		}
		if err := acct.Grow(12 * len(of.Members)); err != nil {
			return false, err
		}
		for i, v := range of.Members {
			if err := k.set(v, found[of.MemberOf[i]], acct); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// set sets the number of a vertex.
func (k *endKeys) set(v graph.VertexID, code int32, acct *runtime.Account) error {
	for len(k.codes) <= v.Shard() {
		k.codes = append(k.codes, nil)
	}
	codes := &k.codes[v.Shard()]
	for uint64(len(*codes)) <= v.Local() {
		if len(*codes) == cap(*codes) {
			grown := make([]int32, len(*codes), max(1024, 2*cap(*codes)))
			if err := acct.Grow(4 * (cap(grown) - cap(*codes))); err != nil {
				return err
			}
			copy(grown, *codes)
			*codes = grown
		}
		*codes = append(*codes, -1)
	}
	(*codes)[v.Local()] = code
	return nil
}
