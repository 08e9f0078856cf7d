package propose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/size"
)

// bare matches text that needs no quotes in YAML.
var bare = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// quote writes text as a YAML scalar.
func quote(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf":
	default:
		if bare.MatchString(s) {
			return s
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // any string can be encoded as JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// yaml writes the mapping.
func (p *proposer) yaml() []byte {
	var b bytes.Buffer
	b.WriteString("# A mapping proposed from the beginnings of the files: check the labels, the keys and the types.\n" +
		"# The comment after a property is a sample value. Relative paths are relative to this file, or to --dir.\nversion: 1\n")
	head := true
	for _, s := range p.spaces {
		if !s.known {
			continue
		}
		if head {
			b.WriteString("# No file has the vertices of these spaces: load them before, with these labels and keys.\nidSpaces:\n")
			head = false
		}
		fmt.Fprintf(&b, "  %s: {label: %s, property: id, type: %s}\n", quote(s.name), quote(s.name), s.idType())
	}
	b.WriteString("inputs:\n")
	for _, edges := range []bool{false, true} {
		for _, x := range p.inputs {
			if x.edges == edges {
				p.input(&b, x)
			}
		}
	}
	return b.Bytes()
}

func (s *proposedSpace) idType() string {
	if s.integer {
		return "int"
	}
	return "string"
}

// input writes one input.
func (p *proposer) input(b *bytes.Buffer, x *proposal) {
	labels := x.labels
	if labels == nil {
		labels = []string{quote(x.label)}
	}
	if x.why != "" {
		fmt.Fprintf(b, "  # %s: %s.\n", oneLine(strings.Join(x.paths, ", ")), x.why)
		return
	}
	fmt.Fprintf(b, "  - path: %s", flowOf(x.paths))
	fmt.Fprintf(b, "  # %d rows sampled\n", x.rows)
	if x.encoding != "" {
		fmt.Fprintf(b, "    encoding: %s\n", x.encoding)
	}
	if !x.dialect.JSON {
		fmt.Fprintf(b, "    delimiter: %s\n", quote(string(x.dialect.Delimiter)))
		switch x.dialect.Quote {
		case 0:
			b.WriteString("    quote: \"\"\n")
		case '\'':
			b.WriteString("    quote: \"'\"\n")
		}
	}
	if x.noHeader {
		b.WriteString("    header: false\n")
	}
	if x.edges {
		p.edgesOf(b, x)
		return
	}
	s := p.spaceOf(x)
	b.WriteString("    vertices:\n")
	if len(labels) == 1 && !strings.HasPrefix(labels[0], "{") {
		fmt.Fprintf(b, "      - label: %s\n", labels[0])
	} else {
		fmt.Fprintf(b, "      - labels: [%s]\n", strings.Join(labels, ", "))
	}
	if x.repeats != "" {
		fmt.Fprintf(b, "        # Keys: %s.\n", x.repeats)
	}
	fmt.Fprintf(b, "        id: %s\n        idSpace: %s\n", x.column(x.id), quote(s.name))
	if s.integer || x.columns[x.id].name == "" {
		// If the key is a property, its type says the same.
		fmt.Fprintf(b, "        idType: %s\n", s.idType())
	}
	x.properties(b, func(i int) (string, bool) {
		if i == x.id {
			return s.idType(), true
		}
		if slices.ContainsFunc(x.refs, func(r reference) bool { return r.column == i && r.doubt == "" }) {
			return "", false // the edges say it
		}
		return x.typeOf(i)
	})
	p.references(b, x)
}

// references writes the edges of columns that refer to other vertices.
func (p *proposer) references(b *bytes.Buffer, x *proposal) {
	for i, r := range x.sure() {
		if i == 0 {
			b.WriteString("    edges:\n")
		}
		fmt.Fprintf(b, "      # %s.\n      - type: %s\n", r.counted(x), quote(r.typ))
		fmt.Fprintf(b, "        from: {column: %s, idSpace: %s}\n", x.column(x.id), quote(p.spaceOf(x).name))
		fmt.Fprintf(b, "        to: {column: %s, idSpace: %s}\n", x.column(r.column), quote(p.spaceOf(r.to).name))
		if name := x.columns[r.column].name; r.nulls && x.column(r.column) == quote(name) {
			fmt.Fprintf(b, "        where: %s\n", quote("`"+strings.ReplaceAll(name, "`", "``")+"` IS NOT NULL"))
		}
	}
	x.doubts(b)
}

// doubts writes what might refer to other vertices and makes no edges.
func (x *proposal) doubts(b *bytes.Buffer) {
	for i := range x.refs {
		if r := &x.refs[i]; r.doubt != "" {
			fmt.Fprintf(b, "    # %s, %s.\n", r.counted(x), r.doubt)
		}
	}
}

// spaceOf returns the id space that vertices define.
func (p *proposer) spaceOf(x *proposal) *proposedSpace {
	i := slices.IndexFunc(p.spaces, func(s *proposedSpace) bool { return slices.Contains(s.vertex, x) })
	return p.spaces[i]
}

func (p *proposer) edgesOf(b *bytes.Buffer, x *proposal) {
	typ, action := quote(x.typ), ""
	skip := []int{x.from.column, x.to.column}
	for i, c := range x.cells {
		action = "insert" // as neo4j-admin does
		if strings.EqualFold(c.Type, "TYPE") {
			typ = fmt.Sprintf("{column: %d}", i)
		}
	}
	b.WriteString("    edges:\n")
	for _, r := range x.sure() {
		fmt.Fprintf(b, "      # %s.\n", r.counted(x))
	}
	if x.parallel > 0 {
		action = "insert"
		fmt.Fprintf(b, "      # %s with the ends of an earlier row: each row makes an edge.\n", size.Count(x.parallel, "row"))
	}
	fmt.Fprintf(b, "      - type: %s\n", typ)
	if action != "" {
		fmt.Fprintf(b, "        action: %s\n", action)
	}
	for i, end := range []proposedEnd{x.from, x.to} {
		fmt.Fprintf(b, "        %s: {column: %s, idSpace: %s}\n", []string{"from", "to"}[i], x.column(end.column), quote(p.space(end.space).name))
	}
	x.properties(b, func(i int) (string, bool) {
		if slices.Contains(skip, i) {
			return "", false
		}
		return x.typeOf(i)
	})
	x.doubts(b)
}

// column names a column, or gives its position if the name is ambiguous.
func (x *proposal) column(i int) string {
	name := x.columns[i].name
	if x.dialect.JSON {
		return quote(name)
	}
	same := 0
	for _, c := range x.columns {
		if c.name == name {
			same++
		}
	}
	if x.cells != nil || x.noHeader || same > 1 || name == "" {
		return strconv.Itoa(i)
	}
	return quote(name)
}

// typeOf returns the type of a column; ok is false if the column is not a property.
func (x *proposal) typeOf(i int) (name string, ok bool) {
	if x.cells == nil {
		return x.columns[i].typ()
	}
	c := x.cells[i]
	switch strings.ToUpper(c.Type) {
	case "":
		return "string", true
	case "ID", "START_ID", "END_ID", "LABEL", "TYPE", "IGNORE":
		return "", false
	}
	if _, ok := mapping.ParseType(c.Type); !ok {
		return "string", true
	}
	return c.Type, true
}

// properties writes the columns that become properties.
func (x *proposal) properties(b *bytes.Buffer, typ func(i int) (name string, ok bool)) {
	written := map[string]bool{}
	for i, c := range x.columns {
		t, ok := typ(i)
		if !ok || c.name == "" || written[c.name] {
			continue
		}
		if len(written) == 0 {
			b.WriteString("        properties:\n")
		}
		written[c.name] = true
		var keys []string
		if at := x.column(i); at != quote(c.name) {
			keys = append(keys, "column: "+at)
		}
		if t != "" && t != "string" {
			keys = append(keys, "type: "+quote(t))
		}
		if x.cells != nil && x.cells[i].Options["timezone"] != "" {
			keys = append(keys, "timezone: "+quote(x.cells[i].Options["timezone"]))
		}
		fmt.Fprintf(b, "          %s: {%s}", quote(c.name), strings.Join(keys, ", "))
		if e := oneLine(c.example()); e != "" {
			b.WriteString("  # " + e)
		}
		if n := c.holes(); n > 0 {
			fmt.Fprintf(b, "; %s with null, which a load refuses", size.Count(n, "list"))
		}
		b.WriteString("\n")
	}
	for i, c := range x.columns {
		if _, ok := x.columns[i].typ(); !ok && c.name != "" {
			fmt.Fprintf(b, "        # %s holds objects: left out.\n", oneLine(c.name))
		}
	}
}

// flowOf writes a path, or several as a list.
func flowOf(paths []string) string {
	if len(paths) == 1 {
		return quote(paths[0])
	}
	var out []string
	for _, p := range paths {
		out = append(out, quote(p))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// oneLine makes text fit a comment: one line of printable characters, of bounded length.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return strings.TrimSpace(s)
}
