package mapping

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/shard"
)

// Headers builds a mapping for files with neo4j-admin import headers.
type Headers struct {
	p       parser
	integer bool
}

// NewHeaders returns an empty mapping. integer makes ids integers unless a header says otherwise.
func NewHeaders(integer bool) *Headers {
	return &Headers{p: parser{m: &Mapping{}, opts: defaultOptions()}, integer: integer}
}

// File is one input of Headers.
type File struct {
	Paths     []string // parts of one text; the first begins with the header
	Delimiter byte
	Cells     []string // of the header
	Labels    []string // of all vertices, from the command line
	Type      string   // of all edges
	IsNodes   bool     // the command line says that the file holds vertices
	IsEdges   bool     // or edges
}

// headerCell is a cell of a header, name:type(group){options}.
type headerCell struct {
	name, typ, group string
	options          map[string]string
}

func parseHeaderCell(cell string) headerCell {
	c := headerCell{options: map[string]string{}}
	cell = strings.TrimSpace(cell)
	if body, ok := strings.CutSuffix(cell, "}"); ok {
		if i := strings.LastIndexByte(body, '{'); i >= 0 {
			for o := range strings.SplitSeq(body[i+1:], ",") {
				k, v, _ := strings.Cut(o, ":")
				c.options[strings.ToLower(strings.TrimSpace(k))] = strings.TrimSpace(v)
			}
			cell = strings.TrimSpace(body[:i])
		}
	}
	if body, ok := strings.CutSuffix(cell, ")"); ok {
		if i := strings.LastIndexByte(body, '('); i >= 0 {
			c.group, cell = strings.TrimSpace(body[i+1:]), body[:i]
		}
	}
	c.name = cell
	if i := strings.LastIndexByte(cell, ':'); i >= 0 {
		c.name, c.typ = cell[:i], strings.TrimSpace(cell[i+1:])
	}
	return c
}

// HeaderNames returns the names of columns without their types. A cell without a name stands for itself.
func HeaderNames(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		if out[i] = parseHeaderCell(c).name; out[i] == "" {
			out[i] = c
		}
	}
	return out
}

// Add adds a file.
func (h *Headers) Add(f File) error {
	at := place{file: f.Paths[0], line: 1}
	in := &Input{Paths: f.Paths, Format: CSV, Options: h.p.opts, place: at, Joined: true}
	in.Options.Delimiter = f.Delimiter
	cells := make([]headerCell, len(f.Cells))
	ids, ends := 0, 0
	for i, c := range f.Cells {
		cells[i] = parseHeaderCell(c)
		switch strings.ToUpper(cells[i].typ) {
		case "ID":
			ids++
		case "START_ID", "END_ID":
			ends++
		}
	}
	at.path = "header"
	switch {
	case ends > 0 && (ids > 0 || f.IsNodes):
		return at.errorf("vertices have an :ID column and no :START_ID or :END_ID")
	case ends > 0:
		return h.edges(f, in, cells)
	case f.IsEdges:
		return at.errorf("edges need a :START_ID and an :END_ID column")
	case ids > 0:
		return h.vertices(f, in, cells)
	}
	return at.errorf("the header has neither an :ID column, for vertices, nor :START_ID and :END_ID columns, for edges")
}

// property parses the cell of a property; ok is false for an ignored column.
func (h *Headers) property(at place, i int, c headerCell, r *rule) error {
	at.path = "header column " + Column{Name: c.name}.String()
	if c.name == "" {
		if c.typ == "" || strings.EqualFold(c.typ, "IGNORE") {
			return nil
		}
		return at.errorf("the column has a type but no name")
	}
	t := Type{Kind: graph.String}
	if c.typ != "" {
		var ok bool
		if t, ok = ParseType(c.typ); !ok {
			return at.errorf("unknown type %q", c.typ)
		}
	}
	for name := range c.options {
		if !slices.Contains(optionsOf(t), name) {
			return at.errorf("a column of type %s has no option %q", t, name)
		}
	}
	o := r.opts
	if z, ok := c.options["timezone"]; ok {
		zone, err := temporal.ParseZone(z)
		if err != nil {
			return at.errorf("%v", err)
		}
		o.Zone = zone
	}
	conv := o.conv(t)
	if name, ok := c.options["crs"]; ok {
		if conv.crs, ok = graph.ParseCRS(name); !ok {
			return at.errorf("unknown coordinate reference system %q; known are wgs-84, wgs-84-3d, cartesian and cartesian-3d", name)
		}
	}
	if form, ok := c.options["array"]; ok {
		// A delimiter cannot express empty lists, elements that contain it, or elements of different types.
		if conv.json = t.List && strings.EqualFold(form, "json"); !conv.json {
			return at.errorf("the option array must be json, and the type a list")
		}
	}
	for _, p := range r.properties {
		if p.name == c.name {
			return at.errorf("the property occurs twice")
		}
	}
	r.properties = append(r.properties, property{name: c.name, column: &Column{Index: i, place: at}, conv: conv})
	return nil
}

// optionsOf returns the options that a column of a type may have.
func optionsOf(t Type) []string {
	var out []string
	switch t.Kind {
	case graph.Time, graph.DateTime:
		out = []string{"timezone"}
	case graph.PointKind:
		out = []string{"crs"}
	}
	if t.List {
		out = append(out, "array")
	}
	return out
}

// integerID reports whether the ids of a cell are integers; given reports whether the header says so itself.
func (h *Headers) integerID(at place, c headerCell) (integer, given bool, err error) {
	name, ok := c.options["id-type"]
	if !ok {
		return h.integer, false, nil
	}
	t, ok := ParseType(name)
	if !ok || t.List || t.Kind != graph.Int && t.Kind != graph.String {
		return false, false, at.errorf("unknown id-type %q; known are string, int and long", name)
	}
	return t.Kind == graph.Int, true, nil
}

func (h *Headers) vertices(f File, in *Input, cells []headerCell) error {
	v := &Vertices{rule: rule{opts: in.Options, place: in.place}}
	for _, l := range f.Labels {
		v.labels = append(v.labels, label{name: l})
	}
	for i, c := range cells {
		at := in.place
		at.path = "header column " + Column{Index: i}.String()
		switch strings.ToUpper(c.typ) {
		case "IGNORE":
		case "LABEL":
			v.labels = append(v.labels, label{column: &Column{Index: i, place: at}, split: in.Options.ListDelimiter})
		case "TYPE":
			return at.errorf("a :TYPE column belongs to edges")
		case "ID":
			integer, _, err := h.integerID(at, c)
			if err != nil {
				return err
			}
			space := h.p.space(c.group)
			v.id.columns = append(v.id.columns, Column{Index: i, place: at})
			if len(v.id.columns) > 1 && space != v.id.space {
				return at.errorf("the :ID columns belong to several id spaces")
			}
			named := ""
			if c.name != "" {
				t := Type{Kind: graph.String}
				if integer {
					t.Kind = graph.Int
				}
				v.properties = append(v.properties, property{
					name: c.name, column: &Column{Index: i, place: at}, conv: in.Options.conv(t),
				})
				named = c.name
			}
			if len(v.id.columns) > 1 {
				integer, named = false, ""
				space.Integer = false
			}
			if space.typed && space.Integer != integer {
				return at.errorf("the ids of the id space %q are integers in one file and strings in another", c.group)
			}
			if space.typed && space.Property != named {
				named = ""
			}
			space.typed, space.Integer, space.Property = true, integer, named
			v.id.space = space
			if l := c.options["label"]; l != "" {
				v.labels = append(v.labels, label{name: l})
			}
		default:
			if err := h.property(in.place, i, c, &v.rule); err != nil {
				return err
			}
		}
	}
	in.Vertices = append(in.Vertices, v)
	h.p.m.Inputs = append(h.p.m.Inputs, in)
	return nil
}

func (h *Headers) edges(f File, in *Input, cells []headerCell) error {
	e := &Edges{rule: rule{opts: in.Options, place: in.place}}
	// Like neo4j-admin, make an edge of every row, even if its ends already have one.
	e.action.fixed = shard.Insert
	e.typ.name = f.Type
	for i, c := range cells {
		at := in.place
		at.path = "header column " + Column{Index: i}.String()
		switch typ := strings.ToUpper(c.typ); typ {
		case "IGNORE":
		case "LABEL":
			return at.errorf("a :LABEL column belongs to vertices")
		case "TYPE":
			if f.Type == "" {
				e.typ = label{column: &Column{Index: i, place: at}}
			}
		case "START_ID", "END_ID":
			integer, given, err := h.integerID(at, c)
			if err != nil {
				return err
			}
			end := &e.from
			if typ == "END_ID" {
				end = &e.to
			}
			end.columns = append(end.columns, Column{Index: i, place: at})
			end.space = h.p.space(c.group)
			if given && !end.space.typed {
				end.space.Integer = integer
			}
		default:
			if err := h.property(in.place, i, c, &e.rule); err != nil {
				return err
			}
		}
	}
	at := in.place
	at.path = "header"
	switch {
	case len(e.from.columns) == 0 || len(e.to.columns) == 0:
		return at.errorf("edges need a :START_ID and an :END_ID column")
	case e.typ.name == "" && e.typ.column == nil:
		return at.errorf("the header has no :TYPE column; give the type with --relationships TYPE=%s", f.Paths[0])
	}
	in.Edges = append(in.Edges, e)
	h.p.m.Inputs = append(h.p.m.Inputs, in)
	return nil
}

// Mapping returns the mapping of the added files. Id spaces without vertices among them belong to earlier loads.
func (h *Headers) Mapping() *Mapping {
	for _, s := range h.p.m.Spaces {
		if !s.typed {
			s.Known, s.typed = true, true
			s.Integer = s.Integer || h.integer
		}
	}
	return h.p.m
}

// HeaderCell is a cell of a neo4j-admin header, name:type(group){options}.
type HeaderCell struct {
	Name, Type, Group string
	Options           map[string]string
}

// ParseHeaderCell parses a cell of a header. The type may be missing.
func ParseHeaderCell(cell string) HeaderCell {
	c := parseHeaderCell(cell)
	return HeaderCell{Name: c.name, Type: c.typ, Group: c.group, Options: c.options}
}
