package oracle

import (
	"context"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/spatial"
)

// labelSets is the part of the catalog that a state needs; it is one table for the life of a graph.
type labelSets interface {
	hasLabel(set graph.LabelSet, label graph.LabelID) bool
}

// vertexKey returns the key of a vertex in an index, if it has one.
func (s *state) vertexKey(x *index, v *vertex) (string, bool) {
	if v == nil || !x.Indexed || x.Kind == graph.FullTextIndex || x.Label == "" || !x.sets.hasLabel(v.labels, x.label) {
		return "", false
	}
	return tupleKey(x.values(v.props))
}

// values returns the indexed values among props, null where one is missing. A point index holds places.
func (x *index) values(props []graph.Property) []graph.Value {
	vs := make([]graph.Value, len(x.props))
	for i, p := range x.props {
		vs[i] = property(props, p)
		if x.Kind == graph.PointIndex {
			vs[i] = placeOf(vs[i])
		}
	}
	return vs
}

func placeOf(v graph.Value) graph.Value {
	if v.Kind() != graph.PointKind {
		return graph.Value{}
	}
	return graph.IntValue(spatial.Place(v.Point()))
}

// missing returns the name of a missing indexed property, or "".
func (x *index) missing(props []graph.Property) string {
	for i, v := range x.values(props) {
		if v.IsNull() {
			return x.Props[i]
		}
	}
	return ""
}

// checkVertex reports how a vertex violates the constraints.
func (s *state) checkVertex(id graph.VertexID) error {
	v := s.vertex(id)
	if v == nil {
		return nil
	}
	for i := range s.indexes {
		x := &s.indexes[i]
		if x.Label == "" || !x.sets.hasLabel(v.labels, x.label) {
			continue
		}
		if x.Required {
			if name := x.missing(v.props); name != "" {
				return graph.RequiredError("a vertex with the label %s must have the property %s (%s)", x.Label, name, x.Name)
			}
		}
		if err := s.checkVertexKey(x, v); err != nil {
			return err
		}
	}
	return nil
}

// checkVertexKey reports whether other vertices have the key of a vertex in a unique index.
func (s *state) checkVertexKey(x *index, v *vertex) error {
	if key, ok := s.vertexKey(x, v); ok && x.Unique && len(s.entries[x.ID][key]) > 1 {
		return graph.ConstraintError("there is already a vertex with the label %s and the same %s (%s)",
			x.Label, strings.Join(x.Props, ", "), x.Name)
	}
	return nil
}

// checkEdge reports how an edge violates the constraints, by a comparison with all others.
func (s *state) checkEdge(id graph.EdgeID) error {
	e := s.edge(id)
	if e == nil {
		return nil
	}
	for i := range s.indexes {
		x := &s.indexes[i]
		if x.Type == "" || x.typ != e.Type {
			continue
		}
		if x.Required {
			if name := x.missing(e.props); name != "" {
				return graph.RequiredError("an edge of the type %s must have the property %s (%s)", x.Type, name, x.Name)
			}
		}
		if err := s.checkEdgeKey(x, e); err != nil {
			return err
		}
	}
	return nil
}

// checkEdgeKey reports whether other edges have the key of an edge in a unique index.
func (s *state) checkEdgeKey(x *index, e *edge) error {
	key, ok := tupleKey(x.values(e.props))
	if !ok || !x.Unique {
		return nil
	}
	same := 0
	s.edges(func(o *edge) {
		if k, ok := tupleKey(x.values(o.props)); o.Type == e.Type && ok && k == key {
			same++
		}
	})
	if same > 1 {
		return graph.ConstraintError("there is already an edge of the type %s with the same %s (%s)",
			x.Type, strings.Join(x.Props, ", "), x.Name)
	}
	return nil
}

// checkUnique reports how some of the vertices and edges break a unique constraint.
func (s *state) checkUnique(vertices []graph.VertexID, edges []graph.EdgeID) error {
	for i := range s.indexes {
		x := &s.indexes[i]
		for _, id := range vertices {
			if v := s.vertex(id); v != nil && x.Label != "" && x.sets.hasLabel(v.labels, x.label) {
				if err := s.checkVertexKey(x, v); err != nil {
					return err
				}
			}
		}
		for _, id := range edges {
			if e := s.edge(id); e != nil && x.Type != "" && x.typ == e.Type {
				if err := s.checkEdgeKey(x, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// CreateIndex creates an index or constraint, fills it and checks the existing vertices and edges.
func (g *Graph) CreateIndex(ctx context.Context, ix graph.Index) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	if old := ix.Clash(g.catalog.Indexes()); old != nil {
		return graph.IndexExists(old)
	}
	ix.Online = true
	ix.Props = slices.Clone(ix.Props)
	x := index{sets: &g.catalog}
	if ix.Label != "" {
		x.label = g.catalog.internLabel(ix.Label)
	}
	if ix.Type != "" {
		x.typ = g.catalog.internType(ix.Type)
	}
	for _, p := range ix.Props {
		x.props = append(x.props, g.catalog.internProp(p))
	}
	g.catalog.mu.Lock()
	g.catalog.nextIndex++
	ix.ID = g.catalog.nextIndex
	g.catalog.mu.Unlock()
	x.Index = ix

	s := g.state.Load().clone()
	s.indexes = append(s.indexes, x)
	s.entries[x.ID] = map[string][]graph.VertexID{}
	s.vertices(func(id graph.VertexID, v *vertex) {
		if key, ok := s.vertexKey(&x, v); ok {
			s.addEntry(x.ID, key, id)
		}
	})
	var err error
	s.vertices(func(id graph.VertexID, _ *vertex) {
		if err == nil {
			err = s.checkVertex(id)
		}
	})
	s.edges(func(e *edge) {
		if err == nil {
			err = s.checkEdge(e.ID)
		}
	})
	if err != nil {
		e := *graph.AsError(err)
		e.Code, e.Detail = "Neo.DatabaseError.Schema.ConstraintCreationFailed", "ConstraintCreationFailed"
		return &e
	}
	g.state.Store(s)
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	g.catalog.indexes = append(slices.Clone(g.catalog.indexes), ix)
	g.catalog.version++
	return nil
}

// IndexProgress returns 1: CreateIndex returns only when the index is complete.
func (g *Graph) IndexProgress(graph.IndexID) float64 { return 1 }

// SetTTL is refused: nothing expires here.
func (g *Graph) SetTTL(context.Context, graph.TTL) error { return errNoTTL }

// DropTTL is refused likewise.
func (g *Graph) DropTTL(context.Context, string, string) error { return errNoTTL }

// TTLs returns none.
func (g *Graph) TTLs() []graph.TTL { return nil }

var errNoTTL = graph.SchemaError(graph.KindInvalid, "DatabaseError.General.UnknownError", "NoTTL", "this store lets nothing expire")

// DropIndex removes an index or constraint by name.
func (g *Graph) DropIndex(ctx context.Context, name string) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	i := slices.IndexFunc(g.catalog.Indexes(), func(o graph.Index) bool { return o.Name == name })
	if i < 0 {
		return graph.SchemaError(graph.KindNotFound, "DatabaseError.Schema.ConstraintDropFailed", "IndexNotFound", "there is no index or constraint %s", name)
	}
	id := g.catalog.Indexes()[i].ID
	s := g.state.Load().clone()
	s.indexes = slices.DeleteFunc(s.indexes, func(x index) bool { return x.ID == id })
	delete(s.entries, id)
	g.state.Store(s)
	g.catalog.mu.Lock()
	defer g.catalog.mu.Unlock()
	g.catalog.indexes = slices.Delete(slices.Clone(g.catalog.indexes), i, i+1)
	g.catalog.version++
	return nil
}
