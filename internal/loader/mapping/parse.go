package mapping

import (
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/shard"
)

var (
	actionNames = map[string]shard.Action{
		"upsert": shard.Upsert, "insert": shard.Insert, "update": shard.Update, "delete": shard.Delete,
		"UPSERT": shard.Upsert, "INSERT": shard.Insert, "UPDATE": shard.Update, "DELETE": shard.Delete,
	}
	danglingNames = map[string]shard.Dangling{
		"reject": shard.DanglingReject, "create": shard.DanglingCreate, "skip": shard.DanglingSkip,
	}
	strategyNames = map[string]shard.Strategy{
		"OVERRIDE": shard.Override, "SUM": shard.Sum, "BIGGER": shard.Bigger, "SMALLER": shard.Smaller, "UNION": shard.Union,
		"INTERSECTION": shard.Intersection, "APPEND": shard.Append, "ELIMINATE": shard.Eliminate,
	}
	formatNames = formatNamed()
)

func defaultOptions() Options {
	return Options{ListDelimiter: ";", Nulls: []string{""}, Quote: '"', strategies: map[string]shard.Strategy{}}
}

// Parse reads a mapping file. It returns all errors joined, each an *Error.
func Parse(file string, text []byte) (*Mapping, error) {
	root, err := decodeDocument(file, text)
	if err != nil {
		return nil, err
	}
	p := &parser{m: &Mapping{Text: text}, opts: defaultOptions()}
	p.mapping(root)
	if len(root.d.errs) == 0 {
		p.spaces(root.d)
	}
	if err := root.d.err(); err != nil {
		return nil, err
	}
	return p.m, nil
}

// parser reads a mapping; opts are the options in effect.
type parser struct {
	m    *Mapping
	opts Options
	in   *Input // or nil
}

func (p *parser) mapping(n node) {
	version, inputs := false, false
	var later []node // inputs need the defaults, which may follow them
	n.fields(map[string]func(node){
		"version": func(n node) {
			version = true
			if n.y.Value != "1" {
				n.errorf("must be 1, is %s", n.what())
			}
		},
		"defaults": func(n node) {
			known := p.optionFields()
			known["onDangling"] = func(n node) { p.opts.Dangling = word(n, danglingNames) }
			known["onDuplicate"] = func(n node) { p.opts.onDuplicate = new(word(n, shard.OnDuplicateNames)) }
			n.fields(known)
		},
		"update":   p.update,
		"idSpaces": p.knownSpaces,
		"inputs": func(n node) {
			inputs = true
			if later = n.list(); len(later) == 0 {
				n.errorf("the mapping has no inputs")
			}
		},
	})
	if n.y.Kind != yaml.MappingNode {
		return
	}
	if !version {
		n.errorf("the key version is missing; write version: 1")
	}
	if !inputs {
		n.errorf("the key inputs is missing")
	}
	for _, in := range later {
		q := *p
		q.input(in)
	}
}

// optionFields returns the keys of options, which defaults and inputs share.
func (p *parser) optionFields() map[string]func(node) {
	o := &p.opts
	return map[string]func(node){
		"delimiter": func(n node) {
			s := n.text()
			if s == `\t` || strings.EqualFold(s, "tab") {
				s = "\t"
			}
			if len(s) != 1 || s == "\n" || s == "\r" {
				n.errorf("must be one ASCII character, is %s", n.what())
				return
			}
			o.Delimiter = s[0]
		},
		"quote": func(n node) {
			if n.isNull() {
				o.Quote = 0
				return
			}
			switch s := n.text(); {
			case s == "", s == "none":
				o.Quote = 0
			case len(s) == 1 && s != "\n" && s != "\r":
				o.Quote = s[0]
			default:
				n.errorf("must be one ASCII character, or empty for none, is %s", n.what())
			}
		},
		"listDelimiter": func(n node) { o.ListDelimiter = p.listDelimiter(n) },
		"nulls":         func(n node) { o.Nulls = texts(n) },
		"encoding":      func(n node) { o.Encoding = n.str() },
		"skipLines":     func(n node) { o.SkipLines = n.count() },
		"dateFormat":    func(n node) { o.format = dateFormatOf(n) },
		"timezone":      func(n node) { o.Zone = zoneOf(n) },
		"action":        func(n node) { o.action = p.action(n) },
		"update":        p.update,
	}
}

func (p *parser) listDelimiter(n node) string {
	s := n.text()
	if s == `\t` {
		s = "\t"
	}
	if s == "" {
		n.errorf("must not be empty")
	}
	return s
}

func texts(n node) []string {
	out := []string{}
	for _, i := range n.items() {
		out = append(out, i.text())
	}
	return out
}

func dateFormatOf(n node) *dateFormat {
	s := n.str()
	f, err := parseDateFormat(s)
	if err != nil && s != "" {
		n.errorf("%v", err)
	}
	return f
}

func zoneOf(n node) temporal.Zone {
	z, err := temporal.ParseZone(n.str())
	if err != nil {
		n.errorf("%v", err)
	}
	return z
}

// update reads {strategies: {property: STRATEGY}}.
func (p *parser) update(n node) {
	n.fields(map[string]func(node){"strategies": func(n node) {
		if n.isNull() {
			return
		}
		if n.y.Kind != yaml.MappingNode {
			n.errorf("must be a mapping of properties, is %s", n.what())
			return
		}
		all := map[string]shard.Strategy{}
		maps.Copy(all, p.opts.strategies)
		n.entries(func(key string, at, v node) {
			all[key] = word(v, strategyNames)
			if p.in != nil {
				p.in.strategies = append(p.in.strategies, Column{Name: key, place: at.place()})
			}
		})
		p.opts.strategies = all
	}})
}

func (p *parser) action(n node) action {
	if n.y.Kind == yaml.ScalarNode {
		return action{fixed: word(n, actionNames)}
	}
	var a action
	n.fields(map[string]func(node){
		"column": func(n node) { a.column = p.column(n) },
		"values": func(n node) {
			a.values = n.dict("actions", func(v node) { a.mapped = append(a.mapped, word(v, actionNames)) })
		},
	})
	if a.column == nil {
		n.errorf("the key column is missing")
		return a
	}
	if a.values == nil {
		a.values = &Dict{}
		for name, x := range actionNames {
			for _, s := range []string{name, strings.ToUpper(name[:1]) + strings.ToLower(name[1:])} {
				if i := a.values.Add([]byte(s)); i == len(a.mapped) {
					a.mapped = append(a.mapped, x)
				}
			}
		}
	}
	return a
}

// column reads the name or position of a column.
func (p *parser) column(n node) *Column {
	c := &Column{place: n.place()}
	if n.y.Kind == yaml.ScalarNode && n.y.Tag == "!!int" {
		c.Index = n.count()
		return c
	}
	if n.y.Kind != yaml.ScalarNode || n.isNull() || n.y.Value == "" {
		n.errorf("must be the name or the position of a column, is %s", n.what())
	}
	c.Name = n.y.Value
	return c
}

func (p *parser) columns(n node) []Column {
	var out []Column
	for _, i := range n.items() {
		out = append(out, *p.column(i))
	}
	return out
}

// where reads a condition, or a mapping from columns to their permitted texts.
func (p *parser) where(n node) *Filter {
	if n.y.Kind != yaml.MappingNode {
		s := n.str()
		if s == "" {
			return nil
		}
		f, err := parseFilter(s, n.place())
		if err != nil {
			n.d.errs = append(n.d.errs, err)
		}
		return f
	}
	var all ast.Expr
	n.entries(func(key string, _, v node) {
		list := &ast.ListLit{}
		for _, s := range texts(v) {
			list.Items = append(list.Items, &ast.StringLit{Value: s})
		}
		var e ast.Expr = &ast.Binary{Op: ast.OpIn, Left: &ast.Variable{Name: key}, Right: list}
		if all != nil {
			e = &ast.Binary{Op: ast.OpAnd, Left: all, Right: e}
		}
		all = e
	})
	if all == nil {
		return nil
	}
	return &Filter{all, n.place()}
}

func (p *parser) input(n node) {
	in := &Input{place: n.place()}
	p.in = in
	known := p.optionFields()
	var vertices, edges []node
	var rows rule
	known["path"] = func(n node) {
		for _, i := range n.items() {
			in.Paths = append(in.Paths, i.str())
		}
	}
	known["format"] = func(n node) { in.Format = word(n, formatNames) }
	known["header"] = func(n node) {
		if n.y.Kind == yaml.SequenceNode {
			in.Header = texts(n)
			return
		}
		in.NoHeader = !n.truth()
	}
	known["selected"] = func(n node) { in.Selected = p.columns(n) }
	known["ignored"] = func(n node) { in.Ignored = p.columns(n) }
	known["where"] = func(n node) { in.Where = p.where(n) }
	known["unfold"] = func(n node) { rows.unfold = p.columns(n) }
	known["vertices"] = func(n node) { vertices = n.list() }
	known["edges"] = func(n node) { edges = n.list() }
	n.fields(known)
	if n.y.Kind != yaml.MappingNode {
		return
	}
	if len(in.Paths) == 0 {
		n.errorf("the key path is missing")
	}
	if len(vertices)+len(edges) == 0 {
		n.errorf("the input has neither vertices nor edges")
	}
	if in.Selected != nil && in.Ignored != nil {
		n.errorf("selected and ignored exclude each other")
	}
	in.Options = p.opts
	if in.Options.Quote != 0 && in.Options.Quote == in.Options.Delimiter {
		n.errorf("quote and delimiter are the same character")
	}
	rows.opts, rows.action = p.opts, p.opts.action
	if in.Selected != nil || in.Ignored != nil {
		rows.rest = &rest{in.Selected, in.Ignored}
	}
	for _, v := range vertices {
		q := *p
		q.vertices(in, v, rows)
	}
	for _, e := range edges {
		q := *p
		q.edges(in, e, rows)
	}
	p.m.Inputs = append(p.m.Inputs, in)
}

// ruleFields returns the keys that vertices and edges share.
func (p *parser) ruleFields(r *rule, properties *[]node) map[string]func(node) {
	return map[string]func(node){
		"properties": func(n node) {
			if n.isNull() {
				return
			}
			if n.y.Kind != yaml.MappingNode {
				n.errorf("must be a mapping of properties, is %s", n.what())
				return
			}
			n.entries(func(key string, at, v node) {
				if key == "" {
					at.errorf("a property has no name")
				}
				*properties = append(*properties, v)
			})
		},
		"selected": func(n node) { r.rest = &rest{selected: p.columns(n)} },
		"ignored":  func(n node) { r.rest = &rest{ignored: p.columns(n)} },
		"where":    func(n node) { r.where = p.where(n) },
		"action":   func(n node) { r.action = p.action(n) },
		"update":   p.update,
	}
}

// finish reads the properties, once the strategies are known.
func (p *parser) finish(r *rule, properties []node) {
	r.opts = p.opts
	for _, n := range properties {
		r.properties = append(r.properties, p.property(n))
	}
}

func (p *parser) property(n node) property {
	name := n.path[strings.LastIndex(n.path, ".properties.")+len(".properties."):]
	q := property{name: name, strategy: p.opts.strategies[name]}
	o := p.opts
	typ := Type{}
	var values, def, con, format *node
	n.fields(map[string]func(node){
		"column": func(n node) { q.column = p.column(n) },
		"type": func(n node) {
			var ok bool
			if typ, ok = ParseType(n.str()); !ok {
				n.errorf("unknown type %s; known are boolean, int, long, float, double, string, date, time, localtime, datetime, "+
					"localdatetime, duration, point, bytes, [] after each of these, and vectors such as vector<float32>", n.what())
			}
		},
		"values":        func(n node) { values = &n },
		"default":       func(n node) { def = &n },
		"constant":      func(n node) { con = &n },
		"dateFormat":    func(n node) { format, o.format = &n, dateFormatOf(n) },
		"timezone":      func(n node) { o.Zone = zoneOf(n) },
		"listDelimiter": func(n node) { o.ListDelimiter = p.listDelimiter(n) },
		"nulls":         func(n node) { o.Nulls = texts(n) },
	})
	if format != nil && !typ.dated() {
		format.errorf("requires a date or time type, or int")
	}
	q.conv = o.conv(typ)
	if def != nil {
		q.conv.Default = p.constant(*def, typ, o)
	}
	if values != nil {
		if values.y.Kind != yaml.MappingNode {
			values.errorf("must be a mapping of texts to values, is %s", values.what())
		} else {
			q.conv.values = &Dict{}
			values.entries(func(key string, _, v node) {
				q.conv.values.Add([]byte(key))
				q.conv.mapped = append(q.conv.mapped, p.constant(v, typ, o))
			})
		}
	}
	if con != nil {
		if q.column != nil {
			con.errorf("constant and column exclude each other")
		}
		q.constant = p.constant(*con, typ, o)
		return q
	}
	if q.column == nil {
		q.column = &Column{Name: name, place: n.place()}
	}
	return q
}

// constant reads a value from the mapping file itself.
func (p *parser) constant(n node, typ Type, o Options) graph.Value {
	if n.isNull() {
		return graph.Value{}
	}
	c := o.conv(typ)
	if typ == (Type{}) && n.y.Kind == yaml.ScalarNode {
		switch n.y.Tag {
		case "!!int":
			c.Type.Kind = graph.Int
		case "!!float":
			c.Type.Kind = graph.Float
		case "!!bool":
			c.Type.Kind = graph.Bool
		}
	}
	var s Scratch
	if n.y.Kind == yaml.SequenceNode {
		var l []graph.Value
		for _, i := range n.items() {
			v, ok := c.scalar(record.Cell{Text: []byte(i.text()), Kind: record.Quoted})
			if !ok {
				i.errorf("%s is no %s", i.what(), Type{Kind: typ.Kind})
			}
			l = append(l, v)
		}
		if !typ.List {
			n.errorf("must be a single value, is a list")
		}
		return graph.ListValue(l)
	}
	if n.y.Kind != yaml.ScalarNode {
		n.errorf("must be a value, is %s", n.what())
		return graph.Value{}
	}
	c.nulls, c.emptyNull = nil, false
	v, ok := c.Value(record.Cell{Text: []byte(n.y.Value), Kind: record.Quoted}, &s)
	if !ok {
		n.errorf("%s is no %s", n.what(), typ)
	}
	return v
}

// conv returns the conversion to a type under the options.
func (o *Options) conv(t Type) *Conv {
	c := &Conv{Type: t, delimiter: []byte(o.ListDelimiter), format: o.format, zone: o.Zone}
	c.digits = t == Type{Kind: graph.Int}
	for _, n := range o.Nulls {
		if _, ok := parseInt([]byte(n)); ok {
			c.digits = false
		}
		if n == "" {
			c.emptyNull = true
		} else {
			c.nulls = append(c.nulls, n)
		}
	}
	return c
}

func (p *parser) vertices(in *Input, n node, r rule) {
	v := &Vertices{rule: r, onDuplicate: p.opts.onDuplicate}
	v.place = n.place()
	var properties []node
	var id, space, idType *node
	known := p.ruleFields(&v.rule, &properties)
	known["label"] = func(n node) { v.labels = append(v.labels, p.label(n, "")) }
	given := false // labels may be an empty list
	known["labels"] = func(n node) {
		given = true
		for _, i := range n.items() {
			v.labels = append(v.labels, p.label(i, ""))
		}
	}
	known["id"] = func(n node) { id = &n }
	known["idSpace"] = func(n node) { space = &n }
	known["idType"] = func(n node) { idType = &n }
	known["onDuplicate"] = func(n node) { v.onDuplicate = new(word(n, shard.OnDuplicateNames)) }
	unfoldID := false
	known["unfold"] = func(n node) {
		if n.y.Tag == "!!bool" {
			unfoldID = n.truth()
			return
		}
		v.unfold = p.columns(n)
	}
	n.fields(known)
	if n.y.Kind != yaml.MappingNode {
		return
	}
	p.finish(&v.rule, properties)
	if len(v.labels) == 0 && !given {
		n.errorf("the key label is missing")
	}
	if id == nil {
		n.errorf("the key id is missing")
		return
	}
	if v.id.columns = p.columns(*id); len(v.id.columns) == 0 {
		id.errorf("must name one or more columns")
	}
	if unfoldID {
		v.unfold = v.id.columns
	}
	name := ""
	switch {
	case space != nil:
		name = space.str()
	case len(v.labels) > 0 && v.labels[0].column == nil:
		name = v.labels[0].name
	case len(v.labels) > 0:
		n.errorf("the first label comes from a column: the key idSpace is missing")
	case given:
		n.errorf("the vertices have no labels: the key idSpace is missing")
	}
	v.id.space = p.space(name)
	p.spaceType(n, v, idType)
	in.Vertices = append(in.Vertices, v)
}

// spaceType determines the type of a space's keys and the property that holds them.
func (p *parser) spaceType(n node, v *Vertices, idType *node) {
	s := v.id.space
	property, integer := "", false
	if len(v.id.columns) == 1 {
		c := v.id.columns[0]
		for _, q := range v.properties {
			if q.column != nil && q.column.Name == c.Name && q.column.Index == c.Index && !q.conv.Type.List {
				switch q.conv.Type.Kind {
				case graph.Int:
					property, integer = q.name, true
				case graph.Null, graph.String:
					property = q.name
				}
			}
		}
	}
	if v.rest != nil && len(v.id.columns) == 1 && property == "" {
		for _, c := range v.rest.selected {
			if c.Name != "" && c.Name == v.id.columns[0].Name {
				property = c.Name
			}
		}
	}
	if idType != nil {
		t, ok := ParseType(idType.str())
		if !ok || t.List || t.Kind != graph.Int && t.Kind != graph.String {
			idType.errorf("must be int or string, is %s", idType.what())
		}
		if want := t.Kind == graph.Int; want != integer {
			property, integer = "", want
		}
	}
	if !s.typed {
		s.typed, s.Integer, s.Property = true, integer, property
		return
	}
	if s.Integer != integer {
		n.errorf("the keys of the id space %s are integers in one place and strings in another; set idType", s.Name)
	}
	if s.Property != property {
		s.Property = ""
	}
}

func (p *parser) space(name string) *Space {
	for _, s := range p.m.Spaces {
		if s.Name == name {
			return s
		}
	}
	s := &Space{Name: name}
	p.m.Spaces = append(p.m.Spaces, s)
	return s
}

// dict reads a mapping from texts to what add reads.
func (n node) dict(to string, add func(v node)) *Dict {
	d := &Dict{}
	if n.y.Kind != yaml.MappingNode {
		n.errorf("must be a mapping of texts to %s, is %s", to, n.what())
		return d
	}
	n.entries(func(key string, _, v node) {
		d.Add([]byte(key))
		add(v)
	})
	return d
}

// label reads a label or {column, values, split}. split separates several labels in one cell.
func (p *parser) label(n node, split string) label {
	if n.y.Kind != yaml.MappingNode {
		return label{name: n.str()}
	}
	l := label{split: split}
	n.fields(map[string]func(node){
		"column": func(n node) { l.column = p.column(n) },
		"split":  func(n node) { l.split = n.str() },
		"values": func(n node) {
			l.values = n.dict("names", func(v node) { l.mapped = append(l.mapped, v.str()) })
		},
	})
	if l.column == nil {
		n.errorf("the key column is missing")
	}
	return l
}

func (p *parser) edges(in *Input, n node, r rule) {
	e := &Edges{rule: r, dangling: p.opts.Dangling}
	e.place = n.place()
	var properties []node
	known := p.ruleFields(&e.rule, &properties)
	typed, from, to := false, false, false
	unfoldEnds := false
	known["type"] = func(n node) { typed, e.typ = true, p.label(n, "") }
	known["from"] = func(n node) { from, e.from = true, p.end(n, &e.rule) }
	known["to"] = func(n node) { to, e.to = true, p.end(n, &e.rule) }
	known["onDangling"] = func(n node) { e.dangling = word(n, danglingNames) }
	known["unfold"] = func(n node) {
		if n.y.Tag == "!!bool" {
			unfoldEnds = n.truth()
			return
		}
		e.unfold = append(e.unfold, p.columns(n)...)
	}
	n.fields(known)
	if n.y.Kind != yaml.MappingNode {
		return
	}
	p.finish(&e.rule, properties)
	for i, there := range []bool{typed, from, to} {
		if !there {
			n.errorf("the key %s is missing", []string{"type", "from", "to"}[i])
		}
	}
	if unfoldEnds {
		e.unfold = append(append(e.unfold, e.from.columns...), e.to.columns...)
	}
	in.Edges = append(in.Edges, e)
}

// end reads an end of edges.
func (p *parser) end(n node, r *rule) key {
	var k key
	if n.y.Kind != yaml.MappingNode {
		n.errorf("must be a mapping with the keys column and idSpace, is %s", n.what())
		return k
	}
	var unfold bool
	n.fields(map[string]func(node){
		"column":  func(n node) { k.columns = p.columns(n) },
		"columns": func(n node) { k.columns = p.columns(n) },
		"idSpace": func(n node) {
			if name := n.str(); name != "" {
				k.space = p.space(name)
			}
		},
		"unfold": func(n node) { unfold = n.truth() },
	})
	if len(k.columns) == 0 {
		n.errorf("the key column is missing")
	}
	if k.space == nil {
		n.errorf("the key idSpace is missing")
	}
	if unfold {
		r.unfold = append(r.unfold, k.columns...)
	}
	return k
}

// knownSpaces reads the id spaces of existing vertices: {Person: {label: Person, property: id, type: int}}.
func (p *parser) knownSpaces(n node) {
	if n.y.Kind != yaml.MappingNode {
		n.errorf("must be a mapping of id spaces, is %s", n.what())
		return
	}
	n.entries(func(name string, _, v node) {
		s := p.space(name)
		s.Known, s.typed = true, true
		v.fields(map[string]func(node){
			"label":    func(n node) { s.Label = n.str() },
			"property": func(n node) { s.Property = n.str() },
			"type": func(n node) {
				t, ok := ParseType(n.str())
				if !ok || t.List || t.Kind != graph.Int && t.Kind != graph.String {
					n.errorf("must be int or string, is %s", n.what())
				}
				s.Integer = t.Kind == graph.Int
			},
		})
		if (s.Label == "") != (s.Property == "") {
			v.errorf("label and property require each other")
		}
	})
}

// spaces reports ends of edges in undefined id spaces.
func (p *parser) spaces(d *decoder) {
	for _, in := range p.m.Inputs {
		for _, e := range in.Edges {
			for _, end := range []struct {
				name string
				k    key
			}{{"from", e.from}, {"to", e.to}} {
				if end.k.space.typed {
					continue
				}
				var names []string
				for _, s := range p.m.Spaces {
					if s.typed {
						names = append(names, s.Name)
					}
				}
				at := e.place
				at.path += "." + end.name + ".idSpace"
				if len(end.k.columns) > 0 {
					c := end.k.columns[0].place
					at.line, at.column = c.line, c.column
				}
				d.errs = append(d.errs, at.errorf("unknown id space %q; %s", end.k.space.Name, knownNames(names)))
			}
		}
	}
}

func knownNames(names []string) string {
	if len(names) == 0 {
		return "neither vertices of this mapping nor idSpaces define one"
	}
	return "known are " + strings.Join(names, ", ")
}
