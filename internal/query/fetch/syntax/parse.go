package syntax

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Methods are the methods of the protocol.
var methods = map[string]bool{
	"get": true, "gets": true, "head": true, "heads": true, "post": true, "put": true, "delete": true,
}

// Parse reads a request. Every error is an *Error. count counts the steps of parsing and binding; nil: nobody does.
func Parse(method string, body []byte, limits Limits, charge func(bytes int) error, count *steps.Counter) (_ *Request, err error) {
	var ended error
	defer func() {
		if ended != nil { // there is no time to read it for the answer
			e := AsError(ended)
			err = &Error{Code: e.Code, Msg: e.Msg, Err: ended, Unread: true}
		}
	}()
	defer steps.Catch(&ended)
	limits.EnsureDefaults()
	if !methods[method] {
		return nil, &Error{Code: CodeNotFound, Msg: "there is no method " + method + "; there are get, gets, head, heads, post, put and delete"}
	}
	doc, err := ParseJSON(body, charge, count)
	if err != nil {
		return nil, err
	}
	r := &Request{Method: method, Doc: doc, Limits: limits, Steps: count}
	if f := doc.Root.Get("format"); f != nil {
		if f.Kind != JSONBool {
			return nil, Illegal(f, "must be true or false, was %s", f.What())
		}
		r.Format = f.Scalar.Bool()
	}
	r.Rights.method = method
	if m := doc.Root.Get("@role"); m != nil && m.Kind != JSONNull {
		if err := checkRole(m); err != nil {
			return nil, err
		}
		r.Rights.Role = Role(m.Str())
	}
	switch method {
	case "post", "put", "delete":
		err = r.parseWrites()
	default:
		p := TreeParser{steps: count, Limits: &r.Limits, head: strings.HasPrefix(method, "head"), subs: make(map[string]*Array)}
		r.Root, err = p.object(doc.Root, 0)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Restrict makes the request subject to rules, which may be nil, for its caller.
func (r *Request) Restrict(rules *Rules, caller Caller) {
	r.Rights.Rules, r.Rights.Caller = rules, caller
}

// Wrap returns the request that `POST /get/User[]` with this body is short for.
func Wrap(key string, body []byte) []byte {
	b := append([]byte{'{'}, notation.AppendJSONString(nil, key)...)
	b = append(b, ':')
	b = append(b, body...)
	return append(b, '}')
}

// TreeParser parses a reading request into a tree.
type TreeParser struct {
	steps  *steps.Counter
	Limits *Limits
	head   bool
	subs   map[string]*Array // the named subqueries of the root, as far as it is read
}

// RootWords are members of the root that speak about the whole request and are not returned.
var RootWords = map[string]bool{
	"format": true, "tag": true, "version": true, "ok": true, "code": true, "msg": true, "time": true,
	"@explain": true, "@cache": true, "@database": true, "@datasource": true, "@namespace": true, "@catalog": true, "@schema": true,
}

// object reads a plain object; depth counts from 0 for the root.
func (p *TreeParser) object(n *Node, depth int) (*Object, error) {
	o := &Object{}
	objects, arrays := 0, 0
	for _, m := range n.Members {
		if m.Kind == JSONNull || depth == 0 && RootWords[m.Key] {
			continue
		}
		c, err := p.member(m, depth, false)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		if err := p.count(c, &objects, &arrays); err != nil {
			return nil, err
		}
		o.Members = append(o.Members, c)
	}
	inOrder(o.Members)
	return o, nil
}

// count holds the limits of one level.
func (p *TreeParser) count(c *Member, objects, arrays *int) error {
	switch c.Kind {
	case MemberArray:
		if *arrays++; *arrays > p.Limits.Arrays {
			return Illegal(c.N, "is array %d of its object, more than the %d of fetch-arrays", *arrays, p.Limits.Arrays)
		}
	case MemberTable, MemberObject:
		if *objects++; *objects > p.Limits.Objects {
			return Illegal(c.N, "is object %d of its object, more than the %d of fetch-objects", *objects, p.Limits.Objects)
		}
	}
	return nil
}

// member parses a member of an object or (inArray) of an array; nil for one without effect.
func (p *TreeParser) member(m *Node, depth int, inArray bool) (*Member, error) {
	p.steps.Add(1)
	c := &Member{N: m, Key: m.Key}
	if m.Kind == JSONObject && depth+1 > p.Limits.Depth {
		return nil, Illegal(m, "is nested %d deep, more than the %d of fetch-depth", depth+1, p.Limits.Depth)
	}
	var err error
	switch {
	case strings.HasSuffix(m.Key, "()"):
		return p.function(m)
	case strings.HasSuffix(m.Key, "@") && m.Kind == JSONString:
		c.Kind, c.Key, c.Path = MemberRef, strings.TrimSuffix(m.Key, "@"), m.Str()
	case strings.HasSuffix(m.Key, "@") && m.Kind == JSONObject:
		if inArray {
			return nil, Illegal(m, "a named subquery stands at the root, not in an array")
		}
		c.Kind, c.Key = MemberSub, strings.TrimSuffix(m.Key, "@")
		c.Array, err = p.subquery(m, depth+1)
		if depth == 0 {
			p.subs[c.Key] = c.Array
		}
	case strings.HasSuffix(m.Key, "@"):
		return nil, Illegal(m, "must be the path of a reference or a subquery, was %s", m.What())
	case m.Kind != JSONObject:
		c.Kind = MemberPlain
	case IsArrayKey(m.Key):
		if p.head {
			return nil, Unsupported(m, "head takes objects only, no arrays")
		}
		c.Kind = MemberArray
		c.Array, err = p.array(m, depth+1)
		if err == nil && c.Array == nil {
			return nil, nil
		}
	case IsTableKey(m.Key):
		c.Kind = MemberTable
		c.Table, err = p.Table(m, depth+1)
	case inArray:
		return nil, Illegal(m, "an object in an array must be a table or an array")
	default:
		c.Kind = MemberObject
		c.Object, err = p.object(m, depth+1)
	}
	return c, err
}

// array reads "key[]": {…}; nil where it requests nothing.
func (p *TreeParser) array(n *Node, depth int) (*Array, error) {
	a := &Array{N: n, Key: n.Key}
	if err := p.arrayMembers(a, depth); err != nil {
		return nil, err
	}
	if len(a.Members) == 0 {
		return nil, nil
	}
	if a.firstObject() == MemberArray {
		return nil, Illegal(a.Members[0].N, "the first object of an array must be its main table")
	}
	if a.Main() == nil && (a.Hop == nil || a.Hop.Find == "") {
		return nil, Illegal(n, "an array needs a table")
	}
	if target := ArrayTarget(a.Key); len(target) > 0 && len(target) <= 2 && a.Find(target[0]) != nil {
		a.Target = target
	}
	for _, j := range a.Joins {
		if err := a.checkJoin(j); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// firstObject is the kind of the first member that is an object.
func (a *Array) firstObject() MemberKind {
	for _, m := range a.Members {
		if m.Kind == MemberTable || m.Kind == MemberArray {
			return m.Kind
		}
	}
	return MemberPlain
}

func (p *TreeParser) arrayMembers(a *Array, depth int) error {
	objects, arrays := 0, 0
	var h hopWords
	for _, m := range a.N.Members {
		if m.Kind == JSONNull {
			continue
		}
		used := false
		err := p.short(m)
		if err == nil {
			used, err = p.arrayWord(a, m)
		}
		if err == nil && !used {
			used = h.take(m.Key, m)
		}
		if err != nil {
			return err
		}
		if used {
			continue
		}
		c, err := p.member(m, depth, true)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		if err := p.count(c, &objects, &arrays); err != nil {
			return err
		}
		a.Members = append(a.Members, c)
	}
	inOrder(a.Members)
	var err error
	a.Hop, a.Must, err = h.make(p.Limits)
	return err
}

// arrayWord reads a word of an array.
func (p *TreeParser) arrayWord(a *Array, m *Node) (bool, error) {
	var err error
	switch m.Key {
	case "count":
		a.Count = m
		_, err = WholeNumber(m)
	case "page":
		a.Page = m
		var page int64
		if page, err = WholeNumber(m); err == nil && page > int64(p.Limits.Page) {
			err = Illegal(m, "must not be above the %d of fetch-page, was %d", p.Limits.Page, page)
		}
	case "query":
		a.Query, err = queryWord(m)
	case "join":
		a.Joins, err = parseJoins(m)
	case "compat":
		if m.Kind != JSONBool {
			err = Illegal(m, "must be true or false, was %s", m.What())
		}
	case "from":
		if !a.sub {
			return false, nil
		}
		if m.Kind != JSONString {
			err = Illegal(m, "must be the key of a table, was %s", m.What())
			break
		}
		a.from = m.Str()
	case "range":
		if !a.sub {
			return false, nil
		}
		if m.Kind != JSONString || m.Str() != "ALL" && m.Str() != "ANY" {
			err = Illegal(m, `must be "ALL" or "ANY", was %s`, m.What())
			break
		}
		a.Quant = m.Str()
	default:
		return false, nil
	}
	return true, err
}

// WholeNumber reads a count or a page, a number or the text of one.
func WholeNumber(n *Node) (int64, error) {
	v := n.Scalar
	if n.Kind == JSONString {
		v = Numeric(n.Str())
	}
	if v.Kind() != graph.Int || v.Int() < 0 {
		return 0, Illegal(n, "must be a whole number from 0, was %s", n.What())
	}
	return v.Int(), nil
}

func queryWord(n *Node) (int, error) {
	switch {
	case n.Kind == JSONNumber && n.Scalar.Kind() == graph.Int && n.Scalar.Int() >= 0 && n.Scalar.Int() <= 2:
		return int(n.Scalar.Int()), nil
	case n.Kind == JSONString:
		switch n.Str() {
		case "0", "TABLE":
			return 0, nil
		case "1", "TOTAL":
			return 1, nil
		case "2", "ALL":
			return 2, nil
		}
	}
	return 0, Illegal(n, "must be 0 (rows), 1 (the total) or 2 (both), was %s", n.What())
}

// subquery reads {"from": …, "Label": {…}}.
func (p *TreeParser) subquery(n *Node, depth int) (*Array, error) {
	a := &Array{N: n, Key: n.Key, sub: true}
	q := *p
	q.head = false
	if err := q.arrayMembers(a, depth); err != nil {
		return nil, err
	}
	if a.from != "" && a.Find(a.from) == nil {
		return nil, Illegal(n, "there is no object %q that from names", a.from)
	}
	if a.Main() == nil {
		return nil, Illegal(n, "a subquery needs a table")
	}
	for _, j := range a.Joins {
		if err := a.checkJoin(j); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// parseJoins parses "join": "</User/id@,&/Comment", or an object with such keys.
func parseJoins(n *Node) ([]*Join, error) {
	var joins []*Join
	switch n.Kind {
	case JSONString:
		for s := range strings.SplitSeq(n.Str(), ",") {
			if s = strings.TrimSpace(s); s == "" {
				continue
			}
			j, err := parseJoin(n, s)
			if err != nil {
				return nil, err
			}
			joins = append(joins, j)
		}
	case JSONObject:
		for _, m := range n.Members {
			j, err := parseJoin(m, m.Key)
			if err != nil {
				return nil, err
			}
			if m.Kind != JSONObject {
				return nil, Illegal(m, "must be an object of conditions, was %s", m.What())
			}
			j.Extra = m
			joins = append(joins, j)
		}
	default:
		return nil, Fail(CodeType, n, `must be a text such as "</User/id@" or an object with such keys, was %s`, n.What())
	}
	return joins, nil
}

func parseJoin(n *Node, s string) (*Join, error) {
	kind, rest, ok := strings.Cut(s, "/")
	if !ok || rest == "" {
		return nil, Illegal(n, "%q is no join such as </User/id@", s)
	}
	switch kind {
	case "<", ">", "&", "|", "!", "^", "(", ")", "@":
	case "":
		kind = "@" // no join: each item looks its row up
	default:
		return nil, Unsupported(n, "there is no join %q; there are < > & | ! ^ ( ) @", kind)
	}
	j := &Join{Kind: kind}
	j.Key, j.On, _ = strings.Cut(rest, "/")
	if IsArrayKey(j.Key) { // one level down: "@/Comment[]/Comment/momentId@"
		if kind != "@" {
			return nil, Unsupported(n, "only @ joins a table of an inner array")
		}
		j.Key, j.On, _ = strings.Cut(j.On, "/")
		j.Key = ""
		return j, nil
	}
	if !IsTableKey(j.Key) {
		return nil, Illegal(n, "%q names no table", s)
	}
	if j.On != "" && !strings.HasSuffix(j.On, "@") {
		return nil, Illegal(n, "%q must end with the key of a reference, such as id@", s)
	}
	return j, nil
}

// checkJoin resolves the tables that a join names.
func (a *Array) checkJoin(j *Join) error {
	if j.Key == "" {
		return nil
	}
	at := a.N.Get("join")
	t := a.Find(j.Key)
	switch {
	case t == nil:
		return Illegal(at, "there is no object %q to join", j.Key)
	case t == a.Main():
		return Illegal(at, "%q is the main table itself", j.Key)
	case j.On != "":
		on := t.Link(j.On)
		if on == nil {
			return Illegal(at, "%q has no reference %q to join by", j.Key, j.On)
		}
		if others := t.Links(a); j.Kind != "@" && len(others) > 1 {
			i := slices.IndexFunc(others, func(c *Cond) bool { return c != on })
			return Illegal(others[i].N, "the join is by %q, which takes no second reference to a table beside it; join by all with %q", j.On, j.Kind+"/"+j.Key)
		}
	case len(t.Links(a)) == 0:
		return Illegal(at, "%q has no reference to a table beside it to join by", j.Key)
	}
	return nil
}

// Link finds the reference with the key.
func (t *Table) Link(key string) *Cond {
	for _, c := range t.Conds {
		if c.Path != "" && c.N.Key == key {
			return c
		}
	}
	return nil
}

// cond finds a condition by its key, without @.
func (t *Table) cond(key string) *Cond {
	for _, c := range t.Conds {
		if c.Key == key && !c.IsIt {
			return c
		}
	}
	return nil
}

// Links returns the conditions that refer to a table beside this one.
func (t *Table) Links(a *Array) []*Cond {
	var links []*Cond
	for _, c := range t.Conds {
		if c.Path == "" {
			continue
		}
		parts := strings.Split(c.Path, "/")
		if (parts[0] == "" || parts[0] == a.Key) && len(parts) == 3 && a.Find(parts[1]) != nil {
			links = append(links, c)
		}
	}
	return links
}
