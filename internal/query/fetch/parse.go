package fetch

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
			err = &Error{Code: e.Code, Msg: e.Msg, Err: ended, unread: true}
		}
	}()
	defer steps.Catch(&ended)
	limits.EnsureDefaults()
	if !methods[method] {
		return nil, &Error{Code: CodeNotFound, Msg: "there is no method " + method + "; there are get, gets, head, heads, post, put and delete"}
	}
	doc, err := parseJSON(body, charge, count)
	if err != nil {
		return nil, err
	}
	r := &Request{Method: method, doc: doc, limits: limits, steps: count}
	if f := doc.root.get("format"); f != nil {
		if f.kind != kBool {
			return nil, illegal(f, "must be true or false, was %s", f.what())
		}
		r.format = f.scalar.Bool()
	}
	r.rights.method = method
	if m := doc.root.get("@role"); m != nil && m.kind != kNull {
		if err := checkRole(m); err != nil {
			return nil, err
		}
		r.rights.role = role(m.str())
	}
	switch method {
	case "post", "put", "delete":
		err = r.parseWrites()
	default:
		p := treeParser{steps: count, limits: &r.limits, head: strings.HasPrefix(method, "head"), subs: make(map[string]*array)}
		r.root, err = p.object(doc.root, 0)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Restrict makes the request subject to rules, which may be nil, for its caller.
func (r *Request) Restrict(rules *Rules, caller Caller) {
	r.rights.rules, r.rights.caller = rules, caller
}

// Wrap returns the request that `POST /get/User[]` with this body is short for.
func Wrap(key string, body []byte) []byte {
	b := append([]byte{'{'}, notation.AppendJSONString(nil, key)...)
	b = append(b, ':')
	b = append(b, body...)
	return append(b, '}')
}

// treeParser parses a reading request into a tree.
type treeParser struct {
	steps  *steps.Counter
	limits *Limits
	head   bool
	subs   map[string]*array // the named subqueries of the root, as far as it is read
}

// rootWords are members of the root that speak about the whole request and are not returned.
var rootWords = map[string]bool{
	"format": true, "tag": true, "version": true, "ok": true, "code": true, "msg": true, "time": true,
	"@explain": true, "@cache": true, "@database": true, "@datasource": true, "@namespace": true, "@catalog": true, "@schema": true,
}

// object reads a plain object; depth counts from 0 for the root.
func (p *treeParser) object(n *node, depth int) (*object, error) {
	o := &object{}
	objects, arrays := 0, 0
	for _, m := range n.members {
		if m.kind == kNull || depth == 0 && rootWords[m.key] {
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
		o.members = append(o.members, c)
	}
	return o, nil
}

// count holds the limits of one level.
func (p *treeParser) count(c *member, objects, arrays *int) error {
	switch c.kind {
	case memberArray:
		if *arrays++; *arrays > p.limits.Arrays {
			return illegal(c.n, "is array %d of its object, more than the %d of fetch-arrays", *arrays, p.limits.Arrays)
		}
	case memberTable, memberObject:
		if *objects++; *objects > p.limits.Objects {
			return illegal(c.n, "is object %d of its object, more than the %d of fetch-objects", *objects, p.limits.Objects)
		}
	}
	return nil
}

// member parses a member of an object or (inArray) of an array; nil for one without effect.
func (p *treeParser) member(m *node, depth int, inArray bool) (*member, error) {
	p.steps.Add(1)
	c := &member{n: m, key: m.key}
	if m.kind == kObject && depth+1 > p.limits.Depth {
		return nil, illegal(m, "is nested %d deep, more than the %d of fetch-depth", depth+1, p.limits.Depth)
	}
	var err error
	switch {
	case strings.HasSuffix(m.key, "()"):
		return nil, unsupported(m, "remote functions are not supported")
	case strings.HasSuffix(m.key, "@") && m.kind == kString:
		c.kind, c.key, c.path = memberRef, strings.TrimSuffix(m.key, "@"), m.str()
	case strings.HasSuffix(m.key, "@") && m.kind == kObject:
		if inArray {
			return nil, illegal(m, "a named subquery stands at the root, not in an array")
		}
		c.kind, c.key = memberSub, strings.TrimSuffix(m.key, "@")
		c.array, err = p.subquery(m, depth+1)
		if depth == 0 {
			p.subs[c.key] = c.array
		}
	case strings.HasSuffix(m.key, "@"):
		return nil, illegal(m, "must be the path of a reference or a subquery, was %s", m.what())
	case m.kind != kObject:
		c.kind = memberPlain
	case isArrayKey(m.key):
		if p.head {
			return nil, unsupported(m, "head takes objects only, no arrays")
		}
		c.kind = memberArray
		c.array, err = p.array(m, depth+1)
		if err == nil && c.array == nil {
			return nil, nil
		}
	case isTableKey(m.key):
		c.kind = memberTable
		c.table, err = p.table(m, depth+1)
	case inArray:
		return nil, illegal(m, "an object in an array must be a table or an array")
	default:
		c.kind = memberObject
		c.object, err = p.object(m, depth+1)
	}
	return c, err
}

// array reads "key[]": {…}; nil where it requests nothing.
func (p *treeParser) array(n *node, depth int) (*array, error) {
	a := &array{n: n, key: n.key}
	if err := p.arrayMembers(a, depth); err != nil {
		return nil, err
	}
	if len(a.members) == 0 {
		return nil, nil
	}
	if a.firstObject() == memberArray {
		return nil, illegal(a.members[0].n, "the first object of an array must be its main table")
	}
	if a.main() == nil && (a.hop == nil || a.hop.find == "") {
		return nil, illegal(n, "an array needs a table")
	}
	if target := arrayTarget(a.key); len(target) > 0 && len(target) <= 2 && a.find(target[0]) != nil {
		a.target = target
	}
	for _, j := range a.joins {
		if err := a.checkJoin(j); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// firstObject is the kind of the first member that is an object.
func (a *array) firstObject() memberKind {
	for _, m := range a.members {
		if m.kind == memberTable || m.kind == memberArray {
			return m.kind
		}
	}
	return memberPlain
}

func (p *treeParser) arrayMembers(a *array, depth int) error {
	objects, arrays := 0, 0
	var h hopWords
	for _, m := range a.n.members {
		if m.kind == kNull {
			continue
		}
		used := false
		err := p.short(m)
		if err == nil {
			used, err = p.arrayWord(a, m)
		}
		if err == nil && !used {
			used = h.take(m.key, m)
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
		a.members = append(a.members, c)
	}
	var err error
	a.hop, a.must, err = h.make(p.limits)
	return err
}

// arrayWord reads a word of an array.
func (p *treeParser) arrayWord(a *array, m *node) (bool, error) {
	var err error
	switch m.key {
	case "count":
		a.count = m
		_, err = wholeNumber(m)
	case "page":
		a.page = m
		var page int64
		if page, err = wholeNumber(m); err == nil && page > int64(p.limits.Page) {
			err = illegal(m, "must not be above the %d of fetch-page, was %d", p.limits.Page, page)
		}
	case "query":
		a.query, err = queryWord(m)
	case "join":
		a.joins, err = parseJoins(m)
	case "compat":
		if m.kind != kBool {
			err = illegal(m, "must be true or false, was %s", m.what())
		}
	case "from":
		if !a.sub {
			return false, nil
		}
		if m.kind != kString {
			err = illegal(m, "must be the key of a table, was %s", m.what())
			break
		}
		a.from = m.str()
	case "range":
		if !a.sub {
			return false, nil
		}
		if m.kind != kString || m.str() != "ALL" && m.str() != "ANY" {
			err = illegal(m, `must be "ALL" or "ANY", was %s`, m.what())
			break
		}
		a.quant = m.str()
	default:
		return false, nil
	}
	return true, err
}

// wholeNumber reads a count or a page, a number or the text of one.
func wholeNumber(n *node) (int64, error) {
	v := n.scalar
	if n.kind == kString {
		v = numeric(n.str())
	}
	if v.Kind() != graph.Int || v.Int() < 0 {
		return 0, illegal(n, "must be a whole number from 0, was %s", n.what())
	}
	return v.Int(), nil
}

func queryWord(n *node) (int, error) {
	switch {
	case n.kind == kNumber && n.scalar.Kind() == graph.Int && n.scalar.Int() >= 0 && n.scalar.Int() <= 2:
		return int(n.scalar.Int()), nil
	case n.kind == kString:
		switch n.str() {
		case "0", "TABLE":
			return 0, nil
		case "1", "TOTAL":
			return 1, nil
		case "2", "ALL":
			return 2, nil
		}
	}
	return 0, illegal(n, "must be 0 (rows), 1 (the total) or 2 (both), was %s", n.what())
}

// subquery reads {"from": …, "Label": {…}}.
func (p *treeParser) subquery(n *node, depth int) (*array, error) {
	a := &array{n: n, key: n.key, sub: true}
	q := *p
	q.head = false
	if err := q.arrayMembers(a, depth); err != nil {
		return nil, err
	}
	if a.from != "" && a.find(a.from) == nil {
		return nil, illegal(n, "there is no object %q that from names", a.from)
	}
	if a.main() == nil {
		return nil, illegal(n, "a subquery needs a table")
	}
	for _, j := range a.joins {
		if err := a.checkJoin(j); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// parseJoins parses "join": "</User/id@,&/Comment", or an object with such keys.
func parseJoins(n *node) ([]*join, error) {
	var joins []*join
	switch n.kind {
	case kString:
		for s := range strings.SplitSeq(n.str(), ",") {
			if s = strings.TrimSpace(s); s == "" {
				continue
			}
			j, err := parseJoin(n, s)
			if err != nil {
				return nil, err
			}
			joins = append(joins, j)
		}
	case kObject:
		for _, m := range n.members {
			j, err := parseJoin(m, m.key)
			if err != nil {
				return nil, err
			}
			if m.kind != kObject {
				return nil, illegal(m, "must be an object of conditions, was %s", m.what())
			}
			j.extra = m
			joins = append(joins, j)
		}
	default:
		return nil, fail(CodeType, n, `must be a text such as "</User/id@" or an object with such keys, was %s`, n.what())
	}
	return joins, nil
}

func parseJoin(n *node, s string) (*join, error) {
	kind, rest, ok := strings.Cut(s, "/")
	if !ok || rest == "" {
		return nil, illegal(n, "%q is no join such as </User/id@", s)
	}
	switch kind {
	case "<", ">", "&", "|", "!", "^", "(", ")", "@":
	case "":
		kind = "@" // no join: each item looks its row up
	default:
		return nil, unsupported(n, "there is no join %q; there are < > & | ! ^ ( ) @", kind)
	}
	j := &join{kind: kind}
	j.key, j.on, _ = strings.Cut(rest, "/")
	if isArrayKey(j.key) { // one level down: "@/Comment[]/Comment/momentId@"
		if kind != "@" {
			return nil, unsupported(n, "only @ joins a table of an inner array")
		}
		j.key, j.on, _ = strings.Cut(j.on, "/")
		j.key = ""
		return j, nil
	}
	if !isTableKey(j.key) {
		return nil, illegal(n, "%q names no table", s)
	}
	if j.on != "" && !strings.HasSuffix(j.on, "@") {
		return nil, illegal(n, "%q must end with the key of a reference, such as id@", s)
	}
	return j, nil
}

// checkJoin resolves the tables that a join names.
func (a *array) checkJoin(j *join) error {
	if j.key == "" {
		return nil
	}
	at := a.n.get("join")
	t := a.find(j.key)
	switch {
	case t == nil:
		return illegal(at, "there is no object %q to join", j.key)
	case t == a.main():
		return illegal(at, "%q is the main table itself", j.key)
	case j.on != "":
		on := t.link(j.on)
		if on == nil {
			return illegal(at, "%q has no reference %q to join by", j.key, j.on)
		}
		if others := t.links(a); j.kind != "@" && len(others) > 1 {
			i := slices.IndexFunc(others, func(c *cond) bool { return c != on })
			return illegal(others[i].n, "the join is by %q, which takes no second reference to a table beside it; join by all with %q", j.on, j.kind+"/"+j.key)
		}
	case len(t.links(a)) == 0:
		return illegal(at, "%q has no reference to a table beside it to join by", j.key)
	}
	return nil
}

// link finds the reference with the key.
func (t *table) link(key string) *cond {
	for _, c := range t.conds {
		if c.path != "" && c.n.key == key {
			return c
		}
	}
	return nil
}

// cond finds a condition by its key, without @.
func (t *table) cond(key string) *cond {
	for _, c := range t.conds {
		if c.key == key && !c.isIt {
			return c
		}
	}
	return nil
}

// links returns the conditions that refer to a table beside this one.
func (t *table) links(a *array) []*cond {
	var links []*cond
	for _, c := range t.conds {
		if c.path == "" {
			continue
		}
		parts := strings.Split(c.path, "/")
		if (parts[0] == "" || parts[0] == a.key) && len(parts) == 3 && a.find(parts[1]) != nil {
			links = append(links, c)
		}
	}
	return links
}
