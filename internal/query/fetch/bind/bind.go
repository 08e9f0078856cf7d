package bind

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

// levels is a program under construction: its parameters, and the plans that are open.
type levels struct {
	Req    *syntax.Request
	Cat    graph.Catalog
	Params []Param
	lifted map[Param]string // the names of Params, by the others of their fields
	slots  int
	before []*Query // that the member being bound needs to have run
	// fixed reports whether the program depends on a value that is not part of the request's shape.
	fixed bool
}

// answers binds the members of an answer.
type answers struct {
	Binder
	head  bool
	texts int
	// explain requests the plans of all tables and arrays of the root.
	explain bool
}

// New returns a binder of the rows of a request's tables.
func New(req *syntax.Request, cat graph.Catalog) *Binder {
	b := &Binder{}
	b.init(req, cat)
	return b
}

func (b *Binder) init(req *syntax.Request, cat graph.Catalog) {
	b.levels, b.rows, b.edges = levels{Req: req, Cat: cat}, b, make(map[*syntax.Table]*Part)
}

// Request binds a reading request to a program.
func Request(req *syntax.Request, cat graph.Catalog) (*Program, error) {
	b := &answers{head: strings.HasPrefix(req.Method, "head")}
	b.init(req, cat)
	if e := req.Doc.Root.Get("@explain"); e != nil && e.Kind == syntax.JSONBool {
		b.explain = e.Scalar.Bool()
	}
	members, err := b.object(req.Root, NewScope(nil, nil))
	if err != nil {
		return nil, err
	}
	return &Program{
		Params: b.Params, Members: members, Fixed: b.fixed, Props: len(cat.AllProps()), Indexes: cat.Version(),
	}, nil
}

// step counts a step.
func (b *levels) step() { b.Req.Steps.Add(1) }

// slot creates a parameter for a result.
func (b *levels) slot() string {
	b.slots++
	return "r" + strconv.Itoa(b.slots)
}

// lift turns a value of the request into a parameter.
func (b *levels) lift(n *syntax.Node, p Param) *plan.Param {
	p.Ord = n.Ord
	if n.Ord < 0 { // an element of a list
		p.Ord, p.Elem = n.Parent.Ord, n.Elem()
	}
	b.step()
	name, ok := b.lifted[p]
	if !ok {
		if b.lifted == nil {
			b.lifted = map[Param]string{}
		}
		name = "p" + strconv.Itoa(len(b.Params)+1)
		b.lifted[p] = name
		p.Name = name
		b.Params = append(b.Params, p)
	}
	return &plan.Param{Name: name}
}

// literal writes a key of the answer.
func (b *levels) literal(key string, k syntax.MemberKind) []byte {
	if b.Req.Format {
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
func (b *answers) object(o *syntax.Object, sc *Scope) ([]*Output, error) {
	var outputs []*Output
	for _, m := range o.Members {
		out, err := b.member(m, sc)
		if err != nil {
			return nil, err
		}
		if out == nil && len(b.before) > 0 {
			out = &Output{Kind: OutHidden}
		}
		if out != nil {
			out.Before = append(b.before, out.Before...)
			b.before = nil
			outputs = append(outputs, out)
		}
	}
	return outputs, nil
}

// member binds a member; nil if it has no effect.
func (b *answers) member(m *syntax.Member, sc *Scope) (*Output, error) {
	b.step()
	switch m.Kind {
	case syntax.MemberPlain:
		sc.things[m.Key] = &thing{plain: m.N}
		return &Output{Kind: OutText, Lit: b.literal(m.Key, m.Kind), Ord: m.N.Ord}, nil
	case syntax.MemberRef:
		return b.reference(m, sc)
	case syntax.MemberCall:
		return b.objectCall(m, sc)
	case syntax.MemberSub:
		s, err := b.subquery(nil, nil, sc, m.Array)
		if err != nil {
			return nil, outside(m.N, err)
		}
		sc.things[m.Key] = &thing{sub: s}
		return &Output{Kind: OutEmpty, Lit: b.literal(m.Key, syntax.MemberObject)}, nil
	case syntax.MemberObject:
		inner := NewScope(sc, nil)
		sc.things[m.Key] = &thing{inner: inner}
		members, err := b.object(m.Object, inner)
		return &Output{Kind: OutObject, Lit: b.literal(m.Key, m.Kind), Members: members}, err
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
func (b *answers) reference(m *syntax.Member, sc *Scope) (*Output, error) {
	t, err := b.resolve(m.Path, sc, nil)
	if err != nil {
		return nil, outside(m.N, err)
	}
	if !t.found() {
		return nil, nil
	}
	out := &Output{Kind: OutSlot, Lit: b.literal(m.Key, m.Kind), Slot: t.slot}
	if t.info {
		out.Page = t.page
	}
	return out, nil
}

// Open begins a query of its own.
func (b *levels) Open() *level {
	q := &Query{Q: &plan.Query{}, isOpen: true}
	return &level{Query: q}
}

// Close ends a query: its rows are the columns of the level.
func (b *levels) Close(lv *level, node plan.Node) {
	q := lv.Query
	q.proj = &plan.Project{Input: node}
	q.Q.Root = q.proj
	q.isOpen = false
	b.project(lv)
}

// project updates the columns of a finished query.
func (b *levels) project(lv *level) {
	q := lv.Query
	for i := len(q.Q.Out); i < len(lv.Outs.exprs); i++ {
		col := q.Q.NewCol(lv.Outs.names[i], graph.Null)
		q.proj.Items = append(q.proj.Items, plan.Item{Col: col, Expr: lv.Outs.exprs[i]})
		q.Q.Out = append(q.Q.Out, col)
		q.Q.Names = append(q.Q.Names, lv.Outs.names[i])
	}
	if len(q.Q.Out) == 0 { // rows count, though none of their columns does
		lv.Outs.Add(&plan.Const{Value: graph.BoolValue(true)}, "")
		b.project(lv)
	}
}

// single binds a table in an object: its first row, or the count of its rows.
func (b *answers) single(m *syntax.Member, sc *Scope) (*Output, error) {
	lv := b.Open()
	t := m.Table
	if b.head {
		s, err := b.counted(lv, &syntax.Array{N: m.N}, t, sc)
		if err != nil {
			return nil, err
		}
		q := lv.Query
		b.Close(lv, s.Node)
		lv.Outs.Add(s.count, "count")
		b.project(lv)
		col := lv.Outs.Add(s.count, "count")
		sc.things[m.Key] = &thing{table: &bound{t: t, lv: lv, cols: map[string]plan.Expr{"count": s.count}}}
		return &Output{Kind: OutHead, Lit: b.literal(m.Key, m.Kind), Query: q, Fields: []Field{{Col: col}}}, nil
	}
	s, err := b.selects(lv, nil, t, sc)
	if err != nil {
		return nil, err
	}
	bd := s.Parts[0].bound
	inner := NewScope(sc, lv)
	inner.main = bd
	sc.things[m.Key] = &thing{table: bd, inner: inner}
	s.Node = firstRow(s.Node)
	fields := b.tableFields(lv, s.Parts[0])
	kids, err := b.children(lv, &s.Node, t.Members, inner)
	if err != nil {
		return nil, err
	}
	bd.open = false
	b.Close(lv, s.Node)
	lv.Query.First = true
	out := &Output{Kind: OutTable, Lit: b.literal(m.Key, m.Kind), Query: lv.Query, Fields: extended(fields, kids, b.called(t)), Explain: t.Explain || b.explain}
	if t.Drop {
		out.Kind = OutHidden
	}
	return out, nil
}

func firstRow(node plan.Node) plan.Node { return &plan.Slice{Input: node, Limit: IntConst(1)} }

// IntConst returns a constant.
func IntConst(i int64) plan.Expr { return &plan.Const{Value: graph.IntValue(i)} }

// tableFields returns the members of a table's object.
func (b *answers) tableFields(lv *level, p *Part) []Field {
	var fields []Field
	for _, c := range p.t.Custom {
		fields = append(fields, Field{Kind: FieldText, Lit: b.literal(c.Key, syntax.MemberPlain), Ord: c.Ord})
	}
	if p.bound.star {
		fields = append(fields, b.starFields(lv, p)...)
	}
	all := newKeyed(fields)
	for _, o := range p.outs {
		b.step()
		f := Field{Lit: b.literal(o.name, syntax.MemberPlain), Col: lv.Outs.Add(o.expr, o.name)}
		if p.t.JSON[o.name] {
			f.Kind = FieldJSON
		}
		all.put(f)
	}
	return all.fields
}

// keyed are members of an object, of which each replaces an earlier one with its key.
type keyed struct {
	fields []Field
	at     map[string]int // by lit
}

func newKeyed(fields []Field) *keyed {
	k := &keyed{fields: fields, at: make(map[string]int, len(fields))}
	for i, f := range slices.Backward(fields) {
		k.at[string(f.Lit)] = i // the first of a key
	}
	return k
}

func (k *keyed) put(f Field) {
	i, ok := k.at[string(f.Lit)]
	if ok {
		k.fields[i] = f
		return
	}
	k.at[string(f.Lit)] = len(k.fields)
	k.fields = append(k.fields, f)
}

// maxColumns is the number of properties of the graph up to which a row without @column reads each by name, which is fastest. Beyond
// it, the row reads whole records.
const maxColumns = 48

// starFields are all properties of a table's rows, the key first.
func (b *answers) starFields(lv *level, p *Part) []Field {
	props := b.Cat.AllProps()
	x := &plan.ColRef{Col: p.Src.Vertex}
	if len(props) > maxColumns {
		but := maps.Clone(p.bound.none)
		for _, o := range p.outs {
			but[o.name] = true
		}
		return []Field{{Kind: FieldRecord, Col: lv.Outs.Add(x, p.t.Key), Except: but, JSON: p.t.JSON}}
	}
	var fields []Field
	add := func(name string) {
		if p.bound.none[name] {
			return
		}
		f := Field{Lit: b.literal(name, syntax.MemberPlain), Col: lv.Outs.Add(&plan.Prop{X: x, Key: name}, name)}
		if p.t.JSON[name] {
			f.Kind = FieldJSON
		}
		fields = append(fields, f)
	}
	key := b.Key(p.Src.label)
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

// Key is the property that is the unique key of a label: that of its first unique index, and id if there is none.
func (b *levels) Key(label string) string {
	key := ""
	for _, ix := range b.Cat.Indexes() {
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
