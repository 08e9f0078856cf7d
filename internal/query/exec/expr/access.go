package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// index is x[key]: an element of a list, or a property of a map, a vertex or an edge by a computed name.
type index struct {
	x, key runtime.Evaluator
	r      *runtime.Run
	// readers read properties of vertices and edges, one for each name so far.
	readers map[string]*propReader
	byName  map[string]runtime.Sel
	out     []graph.Value
}

func (x *index) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	xs, err := x.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	keys, err := x.key.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	x.out = Grown(x.out, b.N)
	for name, rows := range x.byName {
		x.byName[name] = rows[:0] // an error may have left some
	}
	entities := false
	for _, i := range s {
		v, key := xs[i], keys[i]
		switch v.Kind() {
		case graph.VertexKind, graph.EdgeKind:
			if key.IsNull() {
				x.out[i] = graph.Value{}
				continue
			}
			if key.Kind() != graph.String {
				return nil, graph.TypeError("InvalidArgumentType", "the name of a property must be a String, not %s", notation.Describe(key))
			}
			if x.byName == nil {
				x.byName, x.readers = map[string]runtime.Sel{}, map[string]*propReader{}
			}
			x.byName[key.Str()] = append(x.byName[key.Str()], i)
			entities = true
		default:
			if x.out[i], err = fn.Index(v, key); err != nil {
				return nil, err
			}
		}
	}
	if entities {
		return x.out, x.properties(ctx, xs, b.N)
	}
	return x.out, nil
}

// properties reads the rows of byName, name by name.
func (x *index) properties(ctx context.Context, xs []graph.Value, n int) error {
	for name, rows := range x.byName {
		if len(rows) == 0 {
			continue
		}
		p := x.readers[name]
		if p == nil {
			p = &propReader{r: x.r, keys: []string{name}}
			x.readers[name] = p
		}
		if err := p.read(ctx, &graph.Column{Vals: xs}, n, rows); err != nil {
			return err
		}
		for _, i := range rows {
			x.out[i] = p.out[0][i]
		}
	}
	return nil
}

// slice is x[lo..hi]; a nil bound is open.
type slice struct {
	x, lo, hi runtime.Evaluator
	out       []graph.Value
}

func (l *slice) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	xs, err := l.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	var los, his []graph.Value
	if l.lo != nil {
		if los, err = l.lo.Eval(ctx, b, s); err != nil {
			return nil, err
		}
	}
	if l.hi != nil {
		if his, err = l.hi.Eval(ctx, b, s); err != nil {
			return nil, err
		}
	}
	l.out = Grown(l.out, b.N)
	for _, i := range s {
		var lo, hi graph.Value
		if los != nil {
			lo = los[i]
		}
		if his != nil {
			hi = his[i]
		}
		if l.out[i], err = fn.Slice(xs[i], lo, hi, los != nil, his != nil); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}
