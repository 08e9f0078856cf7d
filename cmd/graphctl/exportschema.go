package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/graph"
)

// The parts of a mapping file that an export writes.
type (
	mappingFile struct {
		Version int            `yaml:"version"`
		Inputs  []mappingInput `yaml:"inputs"`
	}
	mappingInput struct {
		Path     string            `yaml:"path"`
		Format   string            `yaml:"format"`
		Vertices []mappingVertices `yaml:"vertices,omitempty"`
		Edges    []mappingEdges    `yaml:"edges,omitempty"`
	}
	mappingVertices struct {
		Labels     []string                `yaml:"labels,flow"`
		ID         string                  `yaml:"id"`
		IDSpace    string                  `yaml:"idSpace"`
		IDType     string                  `yaml:"idType"`
		Where      map[string][]string     `yaml:"where,omitempty"`
		Properties map[string]mappingValue `yaml:"properties"`
	}
	mappingEdges struct {
		Type       string                  `yaml:"type"`
		Action     string                  `yaml:"action"`
		From       mappingEnd              `yaml:"from,flow"`
		To         mappingEnd              `yaml:"to,flow"`
		Where      map[string][]string     `yaml:"where,omitempty"`
		Properties map[string]mappingValue `yaml:"properties"`
	}
	mappingEnd struct {
		Column  string `yaml:"column"`
		IDSpace string `yaml:"idSpace"`
	}
	mappingValue struct {
		Type string `yaml:"type"`
	}
)

// writeMapping writes a mapping for all files.
func (e *exporter) writeMapping() error {
	m := mappingFile{Version: 1}
	for _, f := range e.files {
		m.Inputs = append(m.Inputs, f.input(e.format.ext, func(c exportColumn) string { return c.typ.String() }))
	}
	if e.format.file != "" {
		m.Inputs = e.graphInputs()
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.dir, cli.MappingName), text, 0o666)
}

// input is the mapping of a file.
func (f *exportFile) input(format string, typeOf func(c exportColumn) string) mappingInput {
	in := mappingInput{Path: f.name, Format: format}
	props := map[string]mappingValue{}
	for _, c := range f.columns {
		props[c.name] = mappingValue{typeOf(c)}
	}
	if f.isEdges() {
		in.Edges = []mappingEdges{{
			Type: f.shape.typ, Action: "insert", From: mappingEnd{exportSource, exportSpace}, To: mappingEnd{exportTarget, exportSpace}, Properties: props,
		}}
	} else {
		in.Vertices = []mappingVertices{{Labels: append([]string{}, f.shape.labels...), ID: exportID, IDSpace: exportSpace, IDType: "long", Properties: props}}
	}
	return in
}

// writeSchema writes the statements that create the graph's indexes, constraints and TTLs, one per line, each ending with a semicolon.
func (a *app) writeSchema(ctx context.Context, name string) error {
	conn, ctx, cancel, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	s, err := pb.NewAdminServiceClient(conn).Schema(ctx, &pb.SchemaRequest{Graph: a.graph})
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, ix := range s.GetIndexes() {
		text.WriteString(indexStatement(ix) + ";\n")
	}
	for _, ttls := range []struct{ kind, show string }{
		{"LABEL", "SHOW LABELS YIELD label AS name, ttl, ttlProperty"},
		{"RELATIONSHIP TYPE", "SHOW RELATIONSHIP TYPES YIELD relationshipType AS name, ttl, ttlProperty"},
	} {
		err := a.eachRow(ttls.show, func(cells []*pb.Value) error {
			if t := cells[1].GetTemporal(); t != nil {
				text.WriteString(ttlStatement(ttls.kind, cells[0].GetString_(), t.GetText(), cells[2].GetString_()) + ";\n")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(name, []byte(text.String()), 0o666)
}

// ttlStatement returns the statement that sets a TTL. The TTL counts from the last write if no property is named.
func ttlStatement(kind, name, ttl, property string) string {
	options := "ttl: " + quoteText(ttl)
	if property != "" {
		options += ", property: " + quoteText(property)
	}
	return "CREATE " + kind + " " + quoteName(name) + " IF NOT EXISTS OPTIONS {" + options + "}"
}

var textQuoter = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`)

// quoteText returns a string as an openCypher literal on one line.
func quoteText(s string) string { return "'" + textQuoter.Replace(s) + "'" }

// indexStatement returns the statement that creates an index or a constraint.
func indexStatement(ix *pb.Index) string {
	pattern, key := "(x:"+quoteName(ix.GetLabel())+")", "NODE KEY"
	if ix.GetType() != "" {
		pattern, key = "()-[x:"+quoteName(ix.GetType())+"]-()", "RELATIONSHIP KEY"
	}
	var props []string
	for _, p := range ix.GetProperties() {
		props = append(props, "x."+quoteName(p))
	}
	list := "(" + strings.Join(props, ", ") + ")"
	name := quoteName(ix.GetName())
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
			more := "|" + quoteName(name)
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
