package verify

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Apply checks a request by the rules of its graph, and returns it as its rule changes it, by way of parse, with what is to be looked up in the
// graph. Without rules, and for get and head, it checks nothing; with some, a request that no rule is about is refused.
func Apply(all []*Rule, r *syntax.Request, parse func(body []byte) (*syntax.Request, error)) (*syntax.Request, []Lookup, error) {
	if len(all) == 0 || !slices.Contains(methods, r.Method) {
		return r, nil, nil
	}
	text, lookups, err := apply(all, r)
	if text == nil || err != nil {
		return r, lookups, err
	}
	r, err = parse(text)
	return r, lookups, err
}

// Lookup is a value that a row of a label must have (EXIST), or no other row may have (UNIQUE).
type Lookup struct {
	Label  string
	Unique bool
	m      member
	object []member // that holds it, as it becomes
}

// Body returns the fetch that counts the rows with the value but those that the object names by the key of the label.
func (l *Lookup) Body(key string) []byte {
	text := append(notation.AppendJSONString([]byte{'{'}, l.Label), ":{"...)
	text = append(append(notation.AppendJSONString(text, l.m.key), ':'), l.m.raw...)
	for _, m := range l.object {
		not := map[string]string{key: key + "!", key + "{}": key + "!{}"}[m.key]
		if l.Unique && not != "" && l.m.key != key && m.n.Kind != syntax.JSONNull {
			text = append(append(notation.AppendJSONString(append(text, ','), not), ':'), m.raw...)
		}
	}
	return append(text, "}}"...)
}

// Holds returns an error unless the number of rows that Body counts is right.
func (l *Lookup) Holds(count int64) error {
	switch {
	case l.Unique && count > 0:
		return syntax.Fail(syntax.CodeConflict, l.m.n, "another %s has the value %s", l.Label, l.m.raw)
	case !l.Unique && count == 0:
		return syntax.Fail(syntax.CodeConflict, l.m.n, "no %s has the value %s", l.Label, l.m.raw)
	}
	return nil
}

// look adds the look-ups of an object.
func (a *applied) look(s *structure, all []member, at func(key string) *member) error {
	for i, key := range slices.Concat(s.exist, s.unique) {
		m := at(key)
		if m == nil {
			continue
		}
		if m.n.Kind == syntax.JSONObject || m.n.Kind == syntax.JSONList {
			return syntax.Fail(syntax.CodeType, m.n, "must be one value, was %s", m.n.What())
		}
		l := Lookup{Label: s.label, Unique: i >= len(s.exist), m: *m, object: all}
		if l.Unique {
			mark := s.label + "\x00" + key + "\x00" + string(m.raw)
			if a.unique[mark] {
				return syntax.Fail(syntax.CodeConflict, m.n, "another %s of the request has the value %s", s.label, m.raw)
			}
			if a.unique == nil {
				a.unique = map[string]bool{}
			}
			a.unique[mark] = true
		}
		a.lookups = append(a.lookups, l)
	}
	return nil
}

// apply returns the text of a request as its rule changes it, or nil for no change, and its look-ups.
func apply(all []*Rule, r *syntax.Request) (text []byte, lookups []Lookup, err error) {
	defer steps.Catch(&err)
	root, version := r.Doc.Root, int64(0)
	tag := root.Get("tag")
	if tag == nil || tag.Kind != syntax.JSONString {
		return nil, nil, syntax.Illegal(root, `the graph has rules of requests, so %s needs the "tag" of one`, r.Method)
	}
	if v := root.Get("version"); v != nil {
		if v.Scalar.Kind() != graph.Int || v.Scalar.Int() < 0 {
			return nil, nil, syntax.Illegal(v, "must be a whole number, 0 or greater, was %s", v.What())
		}
		version = v.Scalar.Int()
	}
	rule := find(all, r.Method, tag.Str(), version)
	if rule == nil {
		return nil, nil, syntax.Unsupported(tag, "no rule permits %s with this tag, from version %d on", r.Method, version)
	}
	a := applied{steps: r.Steps}
	if text, err = a.object(rule.root, root); !a.changed {
		text = nil
	}
	return text, a.lookups, err
}

// applied is the state of a rule's application to a request.
type applied struct {
	steps   *steps.Counter
	changed bool
	lookups []Lookup
	unique  map[string]bool // what UNIQUE has seen in the request
}

// member is a member of an object as it becomes.
type member struct {
	key string
	n   *syntax.Node
	raw []byte
}

// object checks an object and returns its text.
func (a *applied) object(s *structure, n *syntax.Node) ([]byte, error) {
	all := make([]member, 0, len(n.Members))
	for _, m := range n.Members {
		a.steps.Add(1)
		if slices.Contains(s.remove, m.Key) {
			a.changed = true
			continue
		}
		all = append(all, member{m.Key, m, m.Raw})
	}
	at := func(key string) *member {
		i := slices.IndexFunc(all, func(m member) bool { return m.key == key })
		if i < 0 || all[i].n.Kind == syntax.JSONNull {
			return nil
		}
		return &all[i]
	}
	for _, key := range s.must {
		if at(key) == nil && at(key+"@") == nil {
			return nil, syntax.Illegal(n, "needs %q", key)
		}
	}
	for _, o := range s.objects {
		m := at(o.key)
		if m == nil {
			return nil, syntax.Illegal(n, "needs %q", o.key)
		}
		var err error
		if m.raw, err = a.inner(o.of, m.n); err != nil {
			return nil, err
		}
	}
	for i := range all {
		if err := s.mayHave(&all[i], n.Parent == nil); err != nil {
			return nil, err
		}
	}
	for _, t := range s.types {
		if m := at(t.key); m != nil && !t.is(m.n, t.lists) {
			return nil, syntax.Fail(syntax.CodeType, m.n, "must be %s, was %s", t.typ+strings.Repeat("[]", t.lists), m.n.What())
		}
	}
	for i := range s.checks {
		c := &s.checks[i]
		if m := at(c.key); m != nil && !c.holds(m.n) {
			return nil, syntax.Illegal(m.n, "must meet %q: %s", c.rule.Key, c.rule.Raw)
		}
	}
	put := func(set []*syntax.Node, there, missing bool) {
		for _, v := range set {
			has := at(v.Key) != nil
			if has && !there || !has && !missing {
				continue
			}
			a.changed = true
			all = slices.DeleteFunc(all, func(m member) bool { return m.key == v.Key })
			all = append(all, member{v.Key, v, v.Raw})
		}
	}
	put(s.insert, false, true)
	put(s.update, true, true)
	put(s.replace, true, false)
	return textOfAll(all), a.look(s, all, at)
}

// textOfAll is the text of an object.
func textOfAll(all []member) []byte {
	text := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(notation.AppendJSONString(text, m.key), ':'), m.raw...)
	}
	return append(text, '}')
}

// inner checks an object, or each of a list of them, and returns its text.
func (a *applied) inner(s *structure, n *syntax.Node) ([]byte, error) {
	if n.Kind == syntax.JSONObject {
		return a.object(s, n)
	}
	if n.Kind != syntax.JSONList || !syntax.IsArrayKey(n.Key) {
		return nil, syntax.Fail(syntax.CodeType, n, "must be an object, was %s", n.What())
	}
	text := []byte{'['}
	for i, e := range n.Elems {
		if e.Kind != syntax.JSONObject {
			return nil, syntax.Fail(syntax.CodeType, e, "must be an object, was %s", e.What())
		}
		if i > 0 {
			text = append(text, ',')
		}
		one, err := a.object(s, e)
		if err != nil {
			return nil, err
		}
		text = append(text, one...)
	}
	return append(text, ']'), nil
}

// mayHave returns an error if an object may not have a member.
func (s *structure) mayHave(m *member, root bool) error {
	ours := slices.ContainsFunc(s.objects, func(o object) bool { return o.key == m.key })
	setting, reference := strings.HasPrefix(m.key, "@"), strings.HasSuffix(m.key, "@")
	asked := slices.Contains(s.must, m.key) || reference && slices.Contains(s.must, strings.TrimSuffix(m.key, "@"))
	switch {
	case root && syntax.RootWords[m.key]:
	case s.refuse[m.key], s.others && !setting && !s.keep[m.key] && !asked && !ours:
		return syntax.Illegal(m.n, "may not be there")
	case ours || setting || reference:
	case m.n.Kind == syntax.JSONObject, m.n.Kind == syntax.JSONList && syntax.IsArrayKey(m.key):
		return syntax.Unsupported(m.n, "the rule of the request has no such object")
	}
	return nil
}
