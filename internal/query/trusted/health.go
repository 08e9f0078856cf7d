package trusted

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/shard"
)

// surveyEvery is how often metrics ask the store for its graphs, which in a cluster is a request to its leader.
const surveyEvery = time.Minute

// health is what metrics know of the operations of all graphs. Between two surveys a graph is as this process knows it from its requests, and
// its operations are planned again once what their problems depend on has changed.
type health struct {
	mu       sync.Mutex
	surveyed time.Time
	graphs   map[string]*graphHealth
}

type graphHealth struct {
	g           shard.Graph
	at          schema // of which broken is
	all, broken int
}

// schema tells states of a graph apart in which an operation may have another problem. It is not 0.
type schema struct {
	definitions, indexes      uint64
	labels, types, properties int
}

func schemaOf(g shard.Graph) schema {
	return schema{g.Definitions().Version(), g.Version(), len(g.AllLabels()), len(g.AllTypes()), len(g.AllProps())}
}

// survey asks the store for its graphs if it is time to. It reports whether it now knows all of them.
func (m *Manager) survey() bool {
	h := &m.health
	if !h.surveyed.IsZero() && time.Since(h.surveyed) < surveyEvery {
		return false
	}
	h.surveyed = time.Now()
	names := m.e.Graphs()
	graphs, whole := make(map[string]*graphHealth, len(names)), len(names) > 0
	for _, name := range names {
		g, err := m.e.Graph(context.Background(), name)
		switch old := h.graphs[name]; {
		case err != nil:
			whole = false
		case old != nil && old.g == g:
			graphs[name] = old
		default:
			graphs[name] = &graphHealth{g: g}
		}
	}
	if whole || h.graphs == nil {
		h.graphs = graphs
	}
	return whole
}

// Broken returns, by graph, how many enabled operations have a problem; graphs without operations have no entry. It plans them if the schema
// or the definitions of the graph have changed.
func (m *Manager) Broken() map[string]int {
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	m.survey()
	out := map[string]int{}
	for name, c := range h.graphs {
		if now := schemaOf(c.g); now != c.at {
			c.all, c.broken = 0, 0
			for _, o := range operation.All(c.g.Definitions()) {
				c.all++
				if o.Disabled {
					continue
				}
				if problem, _ := m.problem(context.Background(), c.g, o); problem != "" {
					c.broken++
				}
			}
			c.at = now
		}
		if c.all > 0 {
			out[name] = c.broken
		}
	}
	return out
}

// Called returns the metrics of the operations that have been called and are still there.
func (m *Manager) Called() []*Called {
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	whole := m.survey()
	return m.calls.Called(func(graphName, name string) bool {
		c := h.graphs[graphName]
		if c == nil {
			return whole // otherwise it may be newer than the survey
		}
		return operation.Get(c.g.Definitions(), name) == nil
	})
}

// problem plans an operation and returns what is wrong with it, and the columns of its result if it can be planned.
func (m *Manager) problem(ctx context.Context, g shard.Graph, o *operation.Operation) (problem string, columns []operation.Column) {
	p, err := m.e.Plan(ctx, g, o)
	if err != nil {
		return graph.AsError(err).Error(), nil
	}
	if p.Unknown != "" {
		return p.Unknown, p.Columns
	}
	indexes := g.Indexes()
	for _, name := range p.Named {
		if !slices.ContainsFunc(indexes, func(ix graph.Index) bool { return ix.Online && ix.Name == name }) {
			return "there is no online index " + name + ", which the operation searches", p.Columns
		}
	}
	for _, text := range o.Indexes {
		if !slices.ContainsFunc(indexes, func(ix graph.Index) bool { return ix.Indexed && ix.Online && textOf(&ix) == text }) {
			return "there is no online index " + text + ", in which the operation sought when it was put", p.Columns
		}
	}
	return "", p.Columns
}

// textOf describes what an index is over: another one of the same text serves as well.
func textOf(ix *graph.Index) string {
	over := "(:" + ix.Label + ")"
	if ix.Label == "" {
		over = "()-[:" + ix.Type + "]-()"
	}
	return ix.Kind.String() + " FOR " + over + " ON (" + strings.Join(ix.Props, ", ") + ")"
}
