package mcpapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// The levels of a schema.
const (
	levelSummary = "summary" // labels and types with their counts
	levelTypes   = "types"   // and properties with their types
	levelFull    = "full"    // and how many have each property, and indexes
)

// schemaArgs are the arguments of get-schema.
type schemaArgs struct {
	Level  string   `json:"level"`
	Labels []string `json:"labels"`
}

// property is a property of a label or a type.
type property struct {
	name, typ       string
	count           int64
	unique, indexed bool
}

// kind is a label or a type with its properties.
type kind struct {
	name  string
	count int64
	props []property
}

// pattern is a type of relationships between two labels.
type pattern struct {
	from, typ string
	count     int64
	to        []string
}

// description is what get-schema tells.
type description struct {
	nodes, rels   int64
	labels, types []kind
	patterns      []pattern
	indexes       []string
}

// schema describes the graph as its caller sees it.
func (s *session) schema(in schemaArgs) (string, error) {
	level := cmp.Or(in.Level, levelTypes)
	if !slices.Contains([]string{levelSummary, levelTypes, levelFull}, level) {
		return "", wire.RequestError(fmt.Sprintf("level: must be summary, types or full, was %q", in.Level))
	}
	d, err := s.describe()
	if err != nil {
		return "", err
	}
	if err := d.keep(in.Labels); err != nil {
		return "", err
	}
	return d.text(s.graph, level), nil
}

// describe reads the counters of the graph and a sample of its values.
func (s *session) describe() (*description, error) {
	d := &description{}
	if err := s.rows("CALL apoc.meta.stats() YIELD nodeCount, relCount, labels, relTypesCount", func(v []graph.Value) {
		d.nodes, d.rels = v[0].Int(), v[1].Int()
		for _, e := range v[2].Map() {
			d.labels = append(d.labels, kind{name: e.Key, count: e.Value.Int()})
		}
		for _, e := range v[3].Map() {
			d.types = append(d.types, kind{name: e.Key, count: e.Value.Int()})
		}
	}); err != nil {
		return nil, err
	}
	if err := s.rows("CALL apoc.meta.data() YIELD label, property, count, unique, type, other, elementType", d.add); err != nil {
		return nil, err
	}
	err := s.rows("SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties", func(v []graph.Value) {
		typ, names, props := v[1].Str(), texts(v[3]), texts(v[4])
		if len(props) == 0 {
			return // a look-up index
		}
		d.indexes = append(d.indexes, fmt.Sprintf("%s %s on %s(%s)", typ, v[0].Str(), strings.Join(names, "|"), strings.Join(props, ", ")))
		if typ == "RANGE" {
			d.index(v[2].Str() == "NODE", names[0], props[0])
		}
	})
	return d, err
}

// add adds a row of apoc.meta.data.
func (d *description) add(v []graph.Value) {
	name, prop, count, typ := v[0].Str(), v[1].Str(), v[2].Int(), v[4].Str()
	if typ == "RELATIONSHIP" {
		d.patterns = append(d.patterns, pattern{name, prop, count, texts(v[5])})
		return
	}
	of := d.labels
	if v[6].Str() == "relationship" {
		of = d.types
	}
	for i := range of {
		if of[i].name == name {
			of[i].props = append(of[i].props, property{name: prop, typ: typ, count: count, unique: v[3].Bool()})
		}
	}
}

// index notes that an index serves look-ups by a property.
func (d *description) index(node bool, name, prop string) {
	of := d.types
	if node {
		of = d.labels
	}
	for i := range of {
		for j := range of[i].props {
			if p := &of[i].props[j]; of[i].name == name && p.name == prop {
				p.indexed = true
			}
		}
	}
}

// keep leaves out all but some labels, with their relationships; none keep all.
func (d *description) keep(labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	for _, l := range labels {
		if !slices.ContainsFunc(d.labels, func(k kind) bool { return k.name == l }) {
			return wire.RequestError(fmt.Sprintf("labels: the graph has no label %q", l))
		}
	}
	d.labels = slices.DeleteFunc(d.labels, func(k kind) bool { return !slices.Contains(labels, k.name) })
	d.patterns = slices.DeleteFunc(d.patterns, func(p pattern) bool {
		return !slices.Contains(labels, p.from) && !slices.ContainsFunc(p.to, func(to string) bool { return slices.Contains(labels, to) })
	})
	d.types = slices.DeleteFunc(d.types, func(k kind) bool {
		return !slices.ContainsFunc(d.patterns, func(p pattern) bool { return p.typ == k.name })
	})
	return nil
}

// text writes a schema in the notation of patterns, which takes fewer tokens than JSON.
func (d *description) text(name, level string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %s: %d nodes, %d relationships\n\nNodes (count):\n", name, d.nodes, d.rels)
	for _, k := range d.labels {
		fmt.Fprintf(&b, "(:%s%s) %d\n", ast.Quote(k.name), k.properties(level), k.count)
	}
	if len(d.patterns) > 0 {
		b.WriteString("\nRelationships (count):\n")
	}
	for _, p := range d.patterns {
		to := make([]string, len(p.to))
		for i, l := range p.to {
			to[i] = ast.Quote(l)
		}
		far := ""
		if len(to) > 0 {
			far = ":" + strings.Join(to, "|")
		}
		fmt.Fprintf(&b, "(:%s)-[:%s]->(%s) %d\n", ast.Quote(p.from), ast.Quote(p.typ), far, p.count)
	}
	if level == levelSummary {
		return b.String()
	}
	first := true
	for _, k := range d.types {
		if len(k.props) == 0 {
			continue
		}
		if first {
			b.WriteString("\nProperties of relationships:\n")
			first = false
		}
		fmt.Fprintf(&b, "[:%s%s] %d\n", ast.Quote(k.name), k.properties(level), k.count)
	}
	if level == levelFull && len(d.indexes) > 0 {
		b.WriteString("\nIndexes:\n" + strings.Join(d.indexes, "\n") + "\n")
	}
	b.WriteString("\nkey: unique and indexed; indexed: a look-up by it is fast.\n")
	return b.String()
}

// properties writes the properties of a label or type as a map of their types.
func (k *kind) properties(level string) string {
	if level == levelSummary || len(k.props) == 0 {
		return ""
	}
	parts := make([]string, len(k.props))
	for i, p := range k.props {
		parts[i] = ast.Quote(p.name) + ": " + p.typ
		switch {
		case p.unique:
			parts[i] += " key"
		case p.indexed:
			parts[i] += " indexed"
		}
		if level == levelFull && p.count != k.count {
			parts[i] += " in " + strconv.FormatInt(p.count, 10)
		}
	}
	return " {" + strings.Join(parts, ", ") + "}"
}

// sampleArgs are the arguments of sample.
type sampleArgs struct {
	Label string `json:"label"`
	Type  string `json:"type"`
	Limit int    `json:"limit"`
}

// sample returns some nodes of a label, or relationships of a type with their ends.
func (s *session) sample(in sampleArgs) (string, error) {
	limit := cmp.Or(in.Limit, 5)
	if limit < 1 || limit > 100 {
		return "", wire.RequestError(fmt.Sprintf("limit: must be from 1 to 100, was %d", in.Limit))
	}
	statement := fmt.Sprintf("MATCH (n:%s) RETURN n LIMIT %d", ast.Quote(in.Label), limit)
	switch {
	case (in.Label == "") == (in.Type == ""):
		return "", wire.RequestError("label, type: give one of them")
	case in.Type != "":
		statement = fmt.Sprintf("MATCH (a)-[r:%s]->(b) RETURN a, r, b LIMIT %d", ast.Quote(in.Type), limit)
	}
	return s.readCypher(statementArgs{Query: statement})
}

// rows runs a statement of the server's own as the caller, and passes its rows on.
func (s *session) rows(statement string, f func([]graph.Value)) error {
	res, err := s.h.e.Query(s.ctx, query.Request{Statement: statement, Graph: s.graph, ReadOnly: true})
	if err != nil {
		return err
	}
	defer res.Close()
	row := make([]graph.Value, len(res.Columns))
	for {
		b, err := res.Next()
		if err != nil || b == nil {
			return err
		}
		for i := range b.N {
			for c := range row {
				row[c] = b.Cols[c].Value(i)
			}
			f(row)
		}
	}
}

// texts returns the strings of a list.
func texts(v graph.Value) (out []string) {
	if v.Kind() != graph.List {
		return nil
	}
	for _, e := range v.List() {
		if e.Kind() == graph.String {
			out = append(out, e.Str())
		}
	}
	return out
}
