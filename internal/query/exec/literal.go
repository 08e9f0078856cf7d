package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

// tuple evaluates several expressions and gives their cells row by row.
type tuple struct {
	args []evaluator
	cols [][]graph.Value
}

func newTuple(args []evaluator) tuple {
	return tuple{args: args, cols: make([][]graph.Value, len(args))}
}

func (t *tuple) run(ctx context.Context, b *batch, s sel) error {
	for k, a := range t.args {
		var err error
		if t.cols[k], err = a.eval(ctx, b, s); err != nil {
			return err
		}
	}
	return nil
}

// listLit makes lists.
type listLit struct {
	tuple
	nesting nesting
	out     []graph.Value
}

func (l *listLit) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	if err := l.run(ctx, b, s); err != nil {
		return nil, err
	}
	l.out = grown(l.out, b.N)
	n := len(l.args)
	cells := make([]graph.Value, n*len(s))
	for _, i := range s {
		list := cells[:n:n]
		cells = cells[n:]
		l.nesting.begin()
		for k := range list {
			list[k] = l.cols[k][i]
			if err := l.nesting.add(list[k]); err != nil {
				return nil, err
			}
		}
		l.out[i] = graph.ListValue(list)
	}
	return l.out, nil
}

// mapLit makes maps.
type mapLit struct {
	tuple
	keys    []string
	nesting nesting
	out     []graph.Value
}

func (m *mapLit) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	if err := m.run(ctx, b, s); err != nil {
		return nil, err
	}
	m.out = grown(m.out, b.N)
	n := len(m.args)
	cells := make([]graph.MapEntry, n*len(s))
	for _, i := range s {
		entries := cells[:n:n]
		cells = cells[n:]
		m.nesting.begin()
		for k := range entries {
			entries[k] = graph.MapEntry{Key: m.keys[k], Value: m.cols[k][i]}
			if err := m.nesting.add(m.cols[k][i]); err != nil {
				return nil, err
			}
		}
		m.out[i] = graph.MapValue(entries)
	}
	return m.out, nil
}

// mapProject is x {.*, …}.
type mapProject struct {
	x    evaluator
	all  *entityMaps // nil: without .*
	keys []string
	tuple
	nesting nesting
	out     []graph.Value
}

func (m *mapProject) eval(ctx context.Context, b *batch, s sel) ([]graph.Value, error) {
	xs, err := m.x.eval(ctx, b, s)
	if err != nil {
		return nil, err
	}
	var alls []graph.Value
	if m.all != nil {
		if alls, err = m.all.maps(ctx, xs, b.N, s); err != nil {
			return nil, err
		}
	}
	if err := m.run(ctx, b, s); err != nil {
		return nil, err
	}
	m.out = grown(m.out, b.N)
	for _, i := range s {
		if xs[i].IsNull() {
			m.out[i] = graph.Value{}
			continue
		}
		var entries []graph.MapEntry
		if alls != nil {
			entries = append(entries, alls[i].Map()...)
		}
		m.nesting.begin()
		for k, key := range m.keys {
			entries = put(entries, key, m.cols[k][i])
			if err := m.nesting.add(m.cols[k][i]); err != nil {
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
