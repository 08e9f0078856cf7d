package fetch

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// binder binds a request to a program.
type binder struct {
	req    *syntax.Request
	cat    graph.Catalog
	head   bool
	params []param
	lifted map[param]string // the names of params, by the others of their fields
	slots  int
	texts  int
	before []*query // that the member being bound needs to have run
	edges  map[*syntax.Table]*part
	// fixed reports whether the program depends on a value that is not part of the request's shape.
	fixed bool
	// explain requests the plans of all tables and arrays of the root.
	explain bool
}

// bind binds a reading request to a program.
func bind(req *syntax.Request, cat graph.Catalog) (*program, error) {
	b := &binder{req: req, cat: cat, head: strings.HasPrefix(req.Method, "head"), edges: make(map[*syntax.Table]*part)}
	if e := req.Doc.Root.Get("@explain"); e != nil && e.Kind == syntax.JSONBool {
		b.explain = e.Scalar.Bool()
	}
	members, err := b.object(req.Root, newScope(nil, nil))
	if err != nil {
		return nil, err
	}
	return &program{
		params: b.params, members: members, fixed: b.fixed, props: len(cat.AllProps()), indexes: cat.Version(),
	}, nil
}

// step counts a step.
func (b *binder) step() { b.req.Steps.Add(1) }

// slot creates a parameter for a result.
func (b *binder) slot() string {
	b.slots++
	return "r" + strconv.Itoa(b.slots)
}

// lift turns a value of the request into a parameter.
func (b *binder) lift(n *syntax.Node, p param) *plan.Param {
	p.ord = n.Ord
	if n.Ord < 0 { // an element of a list
		p.ord, p.elem = n.Parent.Ord, n.Elem()
	}
	b.step()
	name, ok := b.lifted[p]
	if !ok {
		if b.lifted == nil {
			b.lifted = map[param]string{}
		}
		name = "p" + strconv.Itoa(len(b.params)+1)
		b.lifted[p] = name
		p.name = name
		b.params = append(b.params, p)
	}
	return &plan.Param{Name: name}
}

// literal writes a key of the answer.
func (b *binder) literal(key string, k syntax.MemberKind) []byte {
	if b.req.Format {
		key = formatKey(key, k)
	}
	return append(notation.AppendJSONString(nil, key), ':')
}

// formatKey converts a key to camel case, for "format": true: Moment becomes moment, [] list, Comment[] commentList, User:owner
// owner, User-name[] userNamelist.
func formatKey(key string, k syntax.MemberKind) string {
	switch k {
	case syntax.MemberArray:
		name := strings.TrimSuffix(key, "[]")
		if name == "" {
			return "list"
		}
		name = lowerFirst(name) + "List"
		if _, alias, ok := strings.Cut(name, ":"); ok {
			return alias
		}
		if strings.Contains(name, "-") {
			name = camel(name)
		}
		return lowerFirst(name)
	case syntax.MemberTable, syntax.MemberObject:
		if _, alias, ok := strings.Cut(key, ":"); ok {
			return alias
		}
		return lowerFirst(strings.TrimPrefix(key, "@"))
	}
	return strings.TrimPrefix(key, "@")
}

// camel joins hyphenated parts, each in lower case with a capital first letter.
func camel(s string) string {
	var b strings.Builder
	for p := range strings.SplitSeq(strings.ToLower(s), "-") {
		r, n := utf8.DecodeRuneInString(p)
		if n > 0 {
			b.WriteRune(unicode.ToUpper(r))
		}
		b.WriteString(p[n:])
	}
	return b.String()
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToLower(r)) + s[n:]
}

// object binds the members of the root or a plain object.
func (b *binder) object(o *syntax.Object, sc *scope) ([]*output, error) {
	var outputs []*output
	for _, m := range o.Members {
		out, err := b.member(m, sc)
		if err != nil {
			return nil, err
		}
		if out == nil && len(b.before) > 0 {
			out = &output{kind: outHidden}
		}
		if out != nil {
			out.before = append(b.before, out.before...)
			b.before = nil
			outputs = append(outputs, out)
		}
	}
	return outputs, nil
}

// member binds a member; nil if it has no effect.
func (b *binder) member(m *syntax.Member, sc *scope) (*output, error) {
	b.step()
	switch m.Kind {
	case syntax.MemberPlain:
		sc.things[m.Key] = &thing{plain: m.N}
		return &output{kind: outText, lit: b.literal(m.Key, m.Kind), ord: m.N.Ord}, nil
	case syntax.MemberRef:
		return b.reference(m, sc)
	case syntax.MemberSub:
		s, err := b.subquery(nil, nil, sc, m.Array)
		if err != nil {
			return nil, outside(m.N, err)
		}
		sc.things[m.Key] = &thing{sub: s}
		return &output{kind: outEmpty, lit: b.literal(m.Key, syntax.MemberObject)}, nil
	case syntax.MemberObject:
		inner := newScope(sc, nil)
		sc.things[m.Key] = &thing{inner: inner}
		members, err := b.object(m.Object, inner)
		return &output{kind: outObject, lit: b.literal(m.Key, m.Kind), members: members}, err
	case syntax.MemberTable:
		out, err := b.single(m, sc)
		if err != nil && m.Table.Try {
			return nil, nil
		}
		return out, outside(m.N, err)
	}
	out, err := b.whole(m, sc)
	return out, outside(m.N, err)
}

// outside words the error of a reference to rows that are not there.
func outside(n *syntax.Node, err error) error {
	if errors.Is(err, errOuter) {
		return syntax.Illegal(n, "holds a reference to something that is not above it")
	}
	return err
}

// reference binds "name@": "path" beside tables.
func (b *binder) reference(m *syntax.Member, sc *scope) (*output, error) {
	t, err := b.resolve(m.Path, sc, nil)
	if err != nil {
		return nil, outside(m.N, err)
	}
	if !t.found() {
		return nil, nil
	}
	out := &output{kind: outSlot, lit: b.literal(m.Key, m.Kind), slot: t.slot}
	if t.info {
		out.page = t.page
	}
	return out, nil
}

// open begins a query of its own.
func (b *binder) open() *level {
	q := &query{q: &plan.Query{}, isOpen: true}
	return &level{query: q}
}

// close ends a query: its rows are the columns of the level.
func (b *binder) close(lv *level, node plan.Node) {
	q := lv.query
	q.proj = &plan.Project{Input: node}
	q.q.Root = q.proj
	q.isOpen = false
	b.project(lv)
}

// project updates the columns of a finished query.
func (b *binder) project(lv *level) {
	q := lv.query
	for i := len(q.q.Out); i < len(lv.outs.exprs); i++ {
		col := q.q.NewCol(lv.outs.names[i], graph.Null)
		q.proj.Items = append(q.proj.Items, plan.Item{Col: col, Expr: lv.outs.exprs[i]})
		q.q.Out = append(q.q.Out, col)
		q.q.Names = append(q.q.Names, lv.outs.names[i])
	}
	if len(q.q.Out) == 0 { // rows count, though none of their columns does
		lv.outs.add(&plan.Const{Value: graph.BoolValue(true)}, "")
		b.project(lv)
	}
}

// single binds a table in an object: its first row, or the count of its rows.
func (b *binder) single(m *syntax.Member, sc *scope) (*output, error) {
	lv := b.open()
	t := m.Table
	if b.head {
		s, err := b.counted(lv, &syntax.Array{N: m.N}, t, sc)
		if err != nil {
			return nil, err
		}
		q := lv.query
		b.close(lv, s.node)
		lv.outs.add(s.count, "count")
		b.project(lv)
		col := lv.outs.add(s.count, "count")
		sc.things[m.Key] = &thing{table: &bound{t: t, lv: lv, cols: map[string]plan.Expr{"count": s.count}}}
		return &output{kind: outHead, lit: b.literal(m.Key, m.Kind), query: q, fields: []field{{col: col}}}, nil
	}
	s, err := b.selects(lv, nil, t, sc)
	if err != nil {
		return nil, err
	}
	bd := s.parts[0].bound
	inner := newScope(sc, lv)
	inner.main = bd
	sc.things[m.Key] = &thing{table: bd, inner: inner}
	s.node = firstRow(s.node)
	fields := b.tableFields(lv, s.parts[0])
	kids, err := b.children(lv, &s.node, t.Members, inner)
	if err != nil {
		return nil, err
	}
	bd.open = false
	b.close(lv, s.node)
	lv.query.first = true
	out := &output{kind: outTable, lit: b.literal(m.Key, m.Kind), query: lv.query, fields: append(fields, kids...), explain: t.Explain || b.explain}
	if t.Drop {
		out.kind = outHidden
	}
	return out, nil
}

func firstRow(node plan.Node) plan.Node { return &plan.Slice{Input: node, Limit: intConst(1)} }

func intConst(i int64) plan.Expr { return &plan.Const{Value: graph.IntValue(i)} }

// tableFields returns the members of a table's object.
func (b *binder) tableFields(lv *level, p *part) []field {
	var fields []field
	for _, c := range p.t.Custom {
		fields = append(fields, field{kind: fieldText, lit: b.literal(c.Key, syntax.MemberPlain), ord: c.Ord})
	}
	if p.bound.star {
		fields = append(fields, b.starFields(lv, p)...)
	}
	all := newKeyed(fields)
	for _, o := range p.outs {
		b.step()
		f := field{lit: b.literal(o.name, syntax.MemberPlain), col: lv.outs.add(o.expr, o.name)}
		if p.t.Json[o.name] {
			f.kind = fieldJSON
		}
		all.put(f)
	}
	return all.fields
}

// keyed are members of an object, of which each replaces an earlier one with its key.
type keyed struct {
	fields []field
	at     map[string]int // by lit
}

func newKeyed(fields []field) *keyed {
	k := &keyed{fields: fields, at: make(map[string]int, len(fields))}
	for i, f := range slices.Backward(fields) {
		k.at[string(f.lit)] = i // the first of a key
	}
	return k
}

func (k *keyed) put(f field) {
	i, ok := k.at[string(f.lit)]
	if ok {
		k.fields[i] = f
		return
	}
	k.at[string(f.lit)] = len(k.fields)
	k.fields = append(k.fields, f)
}

// maxColumns is the number of properties of the graph up to which a row without @column reads each by name, which is fastest. Beyond
// it, the row reads whole records.
const maxColumns = 48

// starFields are all properties of a table's rows, the key first.
func (b *binder) starFields(lv *level, p *part) []field {
	props := b.cat.AllProps()
	x := &plan.ColRef{Col: p.src.vertex}
	if len(props) > maxColumns {
		but := maps.Clone(p.bound.none)
		for _, o := range p.outs {
			but[o.name] = true
		}
		return []field{{kind: fieldRecord, col: lv.outs.add(x, p.t.Key), except: but, json: p.t.Json}}
	}
	var fields []field
	add := func(name string) {
		if p.bound.none[name] {
			return
		}
		f := field{lit: b.literal(name, syntax.MemberPlain), col: lv.outs.add(&plan.Prop{X: x, Key: name}, name)}
		if p.t.Json[name] {
			f.kind = fieldJSON
		}
		fields = append(fields, f)
	}
	key := b.key(p.src.label)
	for _, name := range props {
		if name == key {
			add(name)
		}
	}
	for _, name := range props {
		if name != key {
			add(name)
		}
	}
	return fields
}

// key is the property that is the unique key of a label: that of its first unique index, and id if there is none.
func (b *binder) key(label string) string {
	key := ""
	for _, ix := range b.cat.Indexes() {
		if ix.Label == label && ix.Unique && len(ix.Props) == 1 {
			if ix.Props[0] == "id" {
				return "id"
			}
			if key == "" {
				key = ix.Props[0]
			}
		}
	}
	if key == "" {
		return "id"
	}
	return key
}
