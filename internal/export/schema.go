package export

import (
	"fmt"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/graph"
)

// schema returns the statements that create the graph's indexes and constraints, and those that set its TTLs.
func (g *Graph) schema() (indexes, ttls []string, err error) {
	for _, ix := range g.Indexes {
		indexes = append(indexes, IndexStatement(ix))
	}
	for _, of := range []struct{ kind, show string }{
		{"LABEL", "SHOW LABELS YIELD label AS name, ttl, ttlProperty"},
		{"RELATIONSHIP TYPE", "SHOW RELATIONSHIP TYPES YIELD relationshipType AS name, ttl, ttlProperty"},
	} {
		err := g.Rows(of.show, func(cells []*pb.Value) error {
			if t := cells[1].GetTemporal(); t != nil {
				ttls = append(ttls, ttlStatement(of.kind, cells[0].GetString_(), t.GetText(), cells[2].GetString_()))
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return indexes, ttls, nil
}

// lines returns statements, one a line, each with a semicolon.
func lines(statements []string) string {
	var b strings.Builder
	for _, s := range statements {
		b.WriteString(s + ";\n")
	}
	return b.String()
}

// ttlStatement returns the statement that sets a TTL. The TTL counts from the last write if no property is named.
func ttlStatement(kind, name, ttl, property string) string {
	options := "ttl: " + quoteText(ttl)
	if property != "" {
		options += ", property: " + quoteText(property)
	}
	return "CREATE " + kind + " " + answer.QuoteName(name) + " IF NOT EXISTS OPTIONS {" + options + "}"
}

// IndexStatement returns the statement that creates an index or a constraint.
func IndexStatement(ix *pb.Index) string {
	pattern, key := "(x:"+answer.QuoteName(ix.GetLabel())+")", "NODE KEY"
	if ix.GetType() != "" {
		pattern, key = "()-[x:"+answer.QuoteName(ix.GetType())+"]-()", "RELATIONSHIP KEY"
	}
	var props []string
	for _, p := range ix.GetProperties() {
		props = append(props, "x."+answer.QuoteName(p))
	}
	list := "(" + strings.Join(props, ", ") + ")"
	name := answer.QuoteName(ix.GetName())
	switch {
	case ix.GetUnique() && ix.GetRequired():
		return "CREATE CONSTRAINT " + name + " IF NOT EXISTS FOR " + pattern + " REQUIRE " + list + " IS " + key
	case ix.GetUnique():
		return "CREATE CONSTRAINT " + name + " IF NOT EXISTS FOR " + pattern + " REQUIRE " + list + " IS UNIQUE"
	case ix.GetRequired():
		return "CREATE CONSTRAINT " + name + " IF NOT EXISTS FOR " + pattern + " REQUIRE " + strings.Join(props, ", ") + " IS NOT NULL"
	}
	kind, options := "", ""
	switch ix.GetKind() {
	case graph.PointIndex.String():
		kind = "POINT "
	case graph.VectorIndex.String():
		kind, options = "VECTOR ", vectorOptions(ix.GetVector())
	}
	if o := ix.GetFullText(); ix.GetKind() == graph.FullTextIndex.String() {
		for _, name := range o.GetMore() {
			more := "|" + answer.QuoteName(name)
			if ix.GetType() != "" {
				pattern = strings.TrimSuffix(pattern, "]-()") + more + "]-()"
			} else {
				pattern = strings.TrimSuffix(pattern, ")") + more + ")"
			}
		}
		kind, list = "FULLTEXT ", "EACH ["+strings.Join(props, ", ")+"]"
		options = fmt.Sprintf(" OPTIONS {indexConfig: {`fulltext.analyzer`: %s, `fulltext.eventually_consistent`: %t}}", quoteText(o.GetAnalyzer()), o.GetEventuallyConsistent())
	}
	return "CREATE " + kind + "INDEX " + name + " IF NOT EXISTS FOR " + pattern + " ON " + list + options
}

// vectorOptions returns the OPTIONS of a vector index.
func vectorOptions(v *pb.VectorOptions) string {
	dimensions := ""
	if n := v.GetDimensions(); n > 0 {
		dimensions = fmt.Sprintf("`vector.dimensions`: %d, ", n)
	}
	hnsw := ""
	if m := v.GetHnswM(); m > 0 {
		hnsw = fmt.Sprintf("`vector.hnsw.ef_construction`: %d, `vector.hnsw.m`: %d, ", v.GetHnswEfConstruction(), m)
	}
	return fmt.Sprintf(" OPTIONS {indexConfig: {%s%s`vector.quantization.enabled`: %t, `vector.similarity_function`: %s}}",
		dimensions, hnsw, v.GetQuantizationEnabled(), quoteText(v.GetSimilarityFunction()))
}
