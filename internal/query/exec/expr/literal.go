package expr

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// Tuple evaluates several expressions and returns their cells row by row.
type Tuple struct {
	args []runtime.Evaluator
	Cols [][]graph.Value
}

// NewTuple returns a tuple of evaluators.
func NewTuple(args []runtime.Evaluator) Tuple {
	return Tuple{args: args, Cols: make([][]graph.Value, len(args))}
}

// Run sets Cols for the rows of s.
func (t *Tuple) Run(ctx context.Context, b *runtime.Batch, s runtime.Sel) error {
	for k, a := range t.args {
		var err error
		if t.Cols[k], err = a.Eval(ctx, b, s); err != nil {
			return err
		}
	}
	return nil
}

// listLit creates lists.
type listLit struct {
	Tuple
	nesting runtime.Nesting
	out     []graph.Value
}

func (l *listLit) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	if err := l.Run(ctx, b, s); err != nil {
		return nil, err
	}
	l.out = Grown(l.out, b.N)
	n := len(l.args)
	cells := make([]graph.Value, n*len(s))
	for _, i := range s {
		list := cells[:n:n]
		cells = cells[n:]
		l.nesting.Begin()
		for k := range list {
			list[k] = l.Cols[k][i]
			if err := l.nesting.Add(list[k]); err != nil {
				return nil, err
			}
		}
		l.out[i] = graph.ListValue(list)
	}
	return l.out, nil
}

// mapLit creates maps.
type mapLit struct {
	Tuple
	keys    []string
	nesting runtime.Nesting
	out     []graph.Value
}

func (m *mapLit) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	if err := m.Run(ctx, b, s); err != nil {
		return nil, err
	}
	m.out = Grown(m.out, b.N)
	n := len(m.args)
	cells := make([]graph.MapEntry, n*len(s))
	for _, i := range s {
		entries := cells[:n:n]
		cells = cells[n:]
		m.nesting.Begin()
		for k := range entries {
			entries[k] = graph.MapEntry{Key: m.keys[k], Value: m.Cols[k][i]}
			if err := m.nesting.Add(m.Cols[k][i]); err != nil {
				return nil, err
			}
		}
		m.out[i] = graph.MapValue(entries)
	}
	return m.out, nil
}

// mapProject is x {.*, …}.
type mapProject struct {
	x    runtime.Evaluator
	all  *EntityMaps // nil: without .*
	keys []string
	Tuple
	nesting runtime.Nesting
	out     []graph.Value
}

func (m *mapProject) Eval(ctx context.Context, b *runtime.Batch, s runtime.Sel) ([]graph.Value, error) {
	xs, err := m.x.Eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	var alls []graph.Value
	if m.all != nil {
		if alls, err = m.all.Maps(ctx, xs, b.N, s); err != nil {
			return nil, err
		}
	}
	if err := m.Run(ctx, b, s); err != nil {
		return nil, err
	}
	m.out = Grown(m.out, b.N)
	for _, i := range s {
		if xs[i].IsNull() {
			m.out[i] = graph.Value{}
			continue
		}
		var entries []graph.MapEntry
		if alls != nil {
			entries = append(entries, alls[i].Map()...)
		}
		m.nesting.Begin()
		for k, key := range m.keys {
			entries = put(entries, key, m.Cols[k][i])
			if err := m.nesting.Add(m.Cols[k][i]); err != nil {
				return nil, err
			}
		}
		m.out[i] = graph.MapValue(entries)
	}
	return m.out, nil
}

// put sets a key of a map.
func put(entries []graph.MapEntry, key string, v graph.Value) []graph.MapEntry {
	for i := range entries {
		if entries[i].Key == key {
			entries[i].Value = v
			return entries
		}
	}
	return append(entries, graph.MapEntry{Key: key, Value: v})
}
