package algo

import (
	"context"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// Algorithm is an algorithm that a procedure runs.
type Algorithm struct {
	Name        string // of the procedure
	Results     string // its results, as in a signature
	Description string
	keys        []string // entries of the argument, besides those of all
	required    []string
	defaults    config
	compute     func(ctx context.Context, j *job) (*answer, error)
}

// All are the algorithms.
var All = []*Algorithm{&pageRank, &wcc, &cdlp, &lcc, &triangleCount, &bfs, &sssp, &scc, &kCore, &betweenness, &similarity, &louvain}

func init() {
	for _, a := range All {
		a.keys = append([]string{"labels", "types"}, a.keys...)
		if strings.HasPrefix(a.Results, "node :: ") {
			a.keys = append(a.keys, WriteKey)
		}
	}
}

// answer are the rows of an algorithm: a column for each result. Only one of the slices of a column is set.
type answer struct {
	n       int
	columns []column
}

type column struct {
	vertices []graph.VertexID
	numbers  []uint32 // of vertices, whose ids are in the column
	integers []int64
	floats   []float64
	ids      []graph.VertexID // of numbers
	missing  float64          // the float that represents null, if nullable
	nullable bool
}

// of converts the result of one row to a vertex.
func (j *job) of(c column) *answer {
	c.ids = j.ids
	return &answer{n: len(j.ids), columns: []column{{vertices: j.ids}, c}}
}

// append appends the cells of rows lo … hi-1.
func (c *column) append(lo, hi int, dst []graph.Value) []graph.Value {
	switch {
	case c.vertices != nil:
		for _, v := range c.vertices[lo:hi] {
			dst = append(dst, graph.VertexValue(v))
		}
	case c.numbers != nil:
		for _, n := range c.numbers[lo:hi] {
			dst = append(dst, graph.IntValue(int64(c.ids[n])))
		}
	case c.integers != nil:
		for _, n := range c.integers[lo:hi] {
			if c.nullable && float64(n) == c.missing {
				dst = append(dst, graph.Value{})
			} else {
				dst = append(dst, graph.IntValue(n))
			}
		}
	default:
		for _, f := range c.floats[lo:hi] {
			if c.nullable && f == c.missing {
				dst = append(dst, graph.Value{})
			} else {
				dst = append(dst, graph.FloatValue(f))
			}
		}
	}
	return dst
}

// Run runs the algorithm for a call.
func (a *Algorithm) Run(ctx context.Context, c *runtime.Call) (*runtime.Table, error) {
	j, err := newJob(a, c)
	if err != nil {
		return nil, err
	}
	ans, err := a.compute(ctx, j)
	if err == nil && j.writeProperty != "" {
		err = j.write(ctx, ans)
	}
	if err != nil {
		j.acct.Release()
		return nil, err
	}
	return &runtime.Table{
		N: ans.n,
		Append: func(result, lo, hi int, dst []graph.Value) []graph.Value {
			return ans.columns[result].append(lo, hi, dst)
		},
		Close: j.acct.Release,
	}, nil
}

// writeBatch is how many vertices a request to the shards changes.
const writeBatch = 10_000

// write sets the property of all vertices to the second result.
func (j *job) write(ctx context.Context, ans *answer) error {
	prop, err := j.call.Tx.Prop(j.writeProperty)
	if err != nil {
		return err
	}
	var vals []graph.Value
	ms, props := make([]shard.Mutation, 0, writeBatch), make([]graph.Property, writeBatch)
	for lo := 0; lo < ans.n; lo += writeBatch {
		if err := j.run.CheckCancel(ctx); err != nil {
			return err
		}
		hi := min(lo+writeBatch, ans.n)
		vals, ms = ans.columns[1].append(lo, hi, vals[:0]), ms[:0]
		for i, v := range vals {
			props[i] = graph.Property{ID: prop, Value: v}
			ms = append(ms, shard.Mutation{Op: shard.SetVertex, Vertex: ans.columns[0].vertices[lo+i], Props: props[i : i+1 : i+1]})
		}
		if err := j.call.Tx.Apply(ctx, ms); err != nil {
			return err
		}
		j.run.Counters.PropertiesSet += int64(len(ms))
	}
	return nil
}
