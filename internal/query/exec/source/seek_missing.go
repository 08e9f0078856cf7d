package source

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// missing iterates over the vertices of an index's label that lack its first property.
type missing struct {
	r     *runtime.Run
	index *graph.Index
	label graph.LabelID
	prop  graph.PropID
	from  graph.VertexID
	done  bool
	buf   []graph.VertexID
	vals  []graph.Value
}

func (m *missing) begin() {
	label, ok := m.r.Graph.Label(m.index.Label)
	prop, known := m.r.Graph.Prop(m.index.Props[0])
	m.label, m.prop, m.from = label, prop, 0
	// If exact counters are equal, no vertex lacks the property.
	m.done = !ok || !known
	if m.done || m.r.Tx.Features().Exact == nil {
		return
	}
	c := m.r.Tx.Statistics()
	m.done = c.Props[graph.PropOf{Label: m.index.Label, Prop: m.index.Props[0]}] == c.ByLabel[m.index.Label]
}

// more returns the next vertices, none at the end.
func (m *missing) more(ctx context.Context) ([]graph.VertexID, error) {
	if m.buf == nil && !m.done {
		m.buf = make([]graph.VertexID, 0, graph.BatchSize)
		m.vals = make([]graph.Value, graph.BatchSize)
	}
	for !m.done {
		ids, next, done, err := m.r.Tx.Scan(ctx, m.label, m.from, m.buf[:0])
		if err != nil {
			return nil, err
		}
		m.from, m.done = next, done
		vals := m.vals[:len(ids)]
		if err := m.r.Tx.Properties(ctx, ids, []graph.PropID{m.prop}, [][]graph.Value{vals}); err != nil {
			return nil, err
		}
		lack := ids[:0]
		for i, v := range vals {
			if v.IsNull() {
				lack = append(lack, ids[i])
			}
		}
		if len(lack) > 0 {
			return lack, nil
		}
	}
	return nil, nil
}
