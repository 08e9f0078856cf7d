package graphdb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Schema is what a database has of indexes and constraints.
type Schema struct {
	// Indexes are those that Hopgate has too.
	Indexes []graph.Index
	// Left are descriptions of the others, each with the reason.
	Left []string
}

// Schema reads the indexes and constraints.
func (s *Source) Schema(ctx context.Context) (*Schema, error) {
	out := &Schema{}
	indexes, err := s.all(ctx, "SHOW INDEXES YIELD *")
	if refused(err) {
		return out, s.memgraph(ctx, out)
	}
	if err != nil {
		return nil, err
	}
	constraints, err := s.all(ctx, "SHOW CONSTRAINTS YIELD *")
	if err != nil {
		return nil, err
	}
	for _, row := range indexes {
		out.neo4jIndex(row)
	}
	for _, row := range constraints {
		out.neo4jConstraint(row)
	}
	return out, nil
}

// memgraph reads Memgraph's lists.
func (s *Source) memgraph(ctx context.Context, out *Schema) error {
	indexes, err := s.all(ctx, "SHOW INDEX INFO")
	if err != nil {
		return err
	}
	constraints, err := s.all(ctx, "SHOW CONSTRAINT INFO")
	if err != nil {
		return err
	}
	for _, row := range indexes {
		out.memgraphIndex(row)
	}
	for _, row := range constraints {
		out.memgraphConstraint(row)
	}
	return nil
}

func (s *Schema) leave(format string, args ...any) {
	s.Left = append(s.Left, fmt.Sprintf(format, args...))
}

// text returns a cell that is a string, or "".
func text(row map[string]any, column string) string {
	s, _ := row[column].(string)
	return s
}

// over makes an index over the labels or types, and the properties, of a row of Neo4j. Without labels it is none: a look-up index, or an id
// space of Hopgate.
func over(row map[string]any) (ix graph.Index, ok bool) {
	names := texts(row["labelsOrTypes"])
	ix = graph.Index{Name: text(row, "name"), Props: texts(row["properties"])}
	if len(names) == 0 || len(ix.Props) == 0 {
		return ix, false
	}
	if text(row, "entityType") == "RELATIONSHIP" {
		ix.Type = names[0]
	} else {
		ix.Label = names[0]
	}
	ix.Text.More = names[1:]
	return ix, true
}

func (s *Schema) neo4jIndex(row map[string]any) {
	ix, ok := over(row)
	if owner := text(row, "owningConstraint"); !ok || owner != "" || text(row, "uniqueness") == "UNIQUE" {
		return // the constraint makes it
	}
	options, _ := row["options"].(map[string]any)
	config, _ := options["indexConfig"].(map[string]any)
	switch kind := text(row, "type"); kind {
	case "RANGE", "BTREE":
	case "POINT":
		ix.Kind = graph.PointIndex
	case "FULLTEXT":
		ix.Kind = graph.FullTextIndex
		ix.Text.Analyzer, _ = config["fulltext.analyzer"].(string)
		ix.Text.Eventual, _ = config["fulltext.eventually_consistent"].(bool)
	case "VECTOR":
		if len(ix.Text.More) > 0 || len(ix.Props) > 1 {
			s.leave("index %s: a vector index of Hopgate is over one label or type and one property", ix.Name)
			return
		}
		ix.Kind, ix.Vector = graph.VectorIndex, vectorOptions(config)
	default:
		s.leave("index %s: Hopgate has no indexes of type %s", ix.Name, kind)
		return
	}
	s.Indexes = append(s.Indexes, ix)
}

func vectorOptions(config map[string]any) graph.VectorOptions {
	o := graph.DefaultVectorOptions
	number := func(key string, to *int) bool {
		n, ok := config[key].(int64)
		if ok {
			*to = int(n)
		}
		return ok
	}
	number("vector.dimensions", &o.Dimensions)
	m, ef := number("vector.hnsw.m", &o.M), number("vector.hnsw.ef_construction", &o.EfConstruction)
	o.HNSW = m || ef
	if similarity, ok := graph.ParseSimilarity(text(config, "vector.similarity_function")); ok {
		o.Similarity = similarity
	}
	if q, ok := config["vector.quantization.enabled"].(bool); ok {
		o.Quantized = q
	}
	return o
}

func (s *Schema) neo4jConstraint(row map[string]any) {
	ix, ok := over(row)
	kind := text(row, "type")
	switch kind {
	case "UNIQUENESS", "RELATIONSHIP_UNIQUENESS", "NODE_PROPERTY_UNIQUENESS", "RELATIONSHIP_PROPERTY_UNIQUENESS":
		ix.Unique = true
	case "NODE_KEY", "RELATIONSHIP_KEY":
		ix.Unique, ix.Required = true, true
	case "NODE_PROPERTY_EXISTENCE", "RELATIONSHIP_PROPERTY_EXISTENCE":
		ix.Required = true
	default:
		ok = false
	}
	if !ok {
		s.leave("constraint %s: Hopgate has no constraints of type %s", text(row, "name"), kind)
		return
	}
	s.Indexes = append(s.Indexes, ix)
}

// properties returns those of a row of Memgraph: a name, or a list.
func properties(row map[string]any, column string) []string {
	if name := text(row, column); name != "" {
		return []string{name}
	}
	return texts(row[column])
}

// memgraphIndex converts an index. Those over labels or types alone need no counterpart.
func (s *Schema) memgraphIndex(row map[string]any) {
	kind := text(row, "index type")
	ix := graph.Index{Props: properties(row, "property")}
	switch kind {
	case "label", "edge-type":
		return
	case "label+property":
		ix.Label = text(row, "label")
	case "edge-type+property":
		ix.Type = text(row, "label")
	case "point":
		ix.Label, ix.Kind = text(row, "label"), graph.PointIndex
	}
	if ix.Label+ix.Type == "" || len(ix.Props) == 0 {
		s.leave("index of type %s on %s %s: Hopgate has none like it", kind, text(row, "label"), strings.Join(ix.Props, ", "))
		return
	}
	ix.Name = named(strings.ToLower(ix.Kind.String())+"_index", &ix)
	s.Indexes = append(s.Indexes, ix)
}

func (s *Schema) memgraphConstraint(row map[string]any) {
	kind := text(row, "constraint type")
	ix := graph.Index{Label: text(row, "label"), Props: properties(row, "properties"), Unique: kind == "unique", Required: kind == "exists"}
	if !ix.IsConstraint() || len(ix.Props) == 0 {
		s.leave("constraint of type %s on %s %s: Hopgate has none like it", kind, ix.Label, strings.Join(ix.Props, ", "))
		return
	}
	ix.Name = named("constraint_"+kind, &ix)
	s.Indexes = append(s.Indexes, ix)
}

// named makes a name for an index that has none.
func named(kind string, ix *graph.Index) string {
	return strings.Join(slices.Concat([]string{kind, ix.Label + ix.Type}, ix.Props), "_")
}
