package verify

import (
	"strings"

	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
)

// structure is what an object of a request must be like, and what becomes of it.
type structure struct {
	must, remove            []string
	refuse, keep            map[string]bool
	others                  bool // that are neither named by must nor by keep are refused
	types                   []typed
	checks                  []check
	insert, update, replace []*syntax.Node
	objects                 []object
	label                   string   // of the table, "" for the root and other objects
	exist, unique           []string // keys whose values a row of the label must, or no other row may, have
}

// object is the structure of a member that is an object, or a list of objects.
type object struct {
	key string
	of  *structure
}

// typed says of which type the value of a key must be.
type typed struct {
	key, typ string
	lists    int // how many [] follow the type
}

// unsupported are words of APIJSON's structures that are refused, and what stands for them.
var unsupported = map[string]string{
	"IF": "there are no scripts", "ALLOW_PARTIAL_UPDATE_FAIL": "a request changes all or nothing",
}

// structureOf reads the structure of an object.
func structureOf(n *syntax.Node, label string) (s *structure, err error) {
	s = &structure{refuse: map[string]bool{}, keep: map[string]bool{}, label: label}
	for _, m := range n.Members {
		switch m.Key {
		case "MUST":
			s.must, err = names(m)
		case "REMOVE", "DELETE":
			var more []string
			more, err = names(m)
			s.remove = append(s.remove, more...)
		case "REFUSE":
			err = s.refusals(m)
		case "TYPE":
			err = s.typeOf(m)
		case "VERIFY":
			err = s.verify(m)
		case "INSERT":
			s.insert, err = members(m)
		case "REPLACE":
			s.replace, err = members(m)
		case "UPDATE":
			var more []*syntax.Node
			more, err = members(m)
			s.update = append(s.update, more...)
		case "EXIST":
			s.exist, err = s.lookups(m)
		case "UNIQUE":
			s.unique, err = s.lookups(m)
		case "IS_ID_CONDITION_MUST":
			if m.Kind != syntax.JSONBool || !m.Scalar.Bool() {
				err = syntax.Illegal(m, "must be true, as it is for each put and delete, was %s", m.What())
			}
		default:
			err = s.member(m)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// member reads a member that is no word: the structure of an object, or a value that is put into the request.
func (s *structure) member(m *syntax.Node) error {
	if why, ok := unsupported[m.Key]; ok {
		return syntax.Unsupported(m, "is not supported: %s", why)
	}
	of := m
	if m.Kind == syntax.JSONList && syntax.IsArrayKey(m.Key) {
		if len(m.Elems) != 1 || m.Elems[0].Kind != syntax.JSONObject {
			return syntax.Illegal(m, "must be the structure of each object of the list, in a list or not")
		}
		of = m.Elems[0]
	}
	if of.Kind != syntax.JSONObject {
		s.update = append(s.update, m)
		return nil
	}
	label := ""
	if name := strings.TrimSuffix(m.Key, "[]"); syntax.IsTableKey(name) {
		label, _ = syntax.SplitAlias(name)
	}
	inner, err := structureOf(of, label)
	s.objects = append(s.objects, object{m.Key, inner})
	return err
}

// lookups reads the keys of EXIST or UNIQUE.
func (s *structure) lookups(n *syntax.Node) ([]string, error) {
	if s.label == "" {
		return nil, syntax.Illegal(n, "belongs to the object of a table")
	}
	return names(n)
}

// names reads names that commas separate.
func names(n *syntax.Node) (out []string, err error) {
	if n.Kind != syntax.JSONString {
		return nil, syntax.Illegal(n, "must be a text of names, was %s", n.What())
	}
	for name := range strings.SplitSeq(n.Str(), ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out, nil
}

// members returns the members of an object.
func members(n *syntax.Node) ([]*syntax.Node, error) {
	if n.Kind != syntax.JSONObject {
		return nil, syntax.Illegal(n, "must be an object, was %s", n.What())
	}
	return n.Members, nil
}

func (s *structure) refusals(n *syntax.Node) error {
	all, err := names(n)
	for _, name := range all {
		kept, not := strings.CutPrefix(name, "!")
		switch {
		case name == "!":
			s.others = true
		case not:
			s.keep[kept] = true
		default:
			s.refuse[name] = true
		}
		if s.refuse[kept] && s.keep[kept] {
			return syntax.Illegal(n, "both refuses and keeps %q", kept)
		}
	}
	return err
}

func (s *structure) typeOf(n *syntax.Node) error {
	all, err := members(n)
	for _, m := range all {
		if m.Kind != syntax.JSONString {
			return syntax.Illegal(m, "must be the name of a type, was %s", m.What())
		}
		name := strings.TrimRight(m.Str(), "[]")
		t := typed{key: m.Key, typ: name, lists: strings.Count(m.Str(), "[]")}
		if types[name] == nil || name+strings.Repeat("[]", t.lists) != m.Str() {
			return syntax.Illegal(m, "there is no type %q; there are BOOLEAN, NUMBER, DECIMAL, STRING, URL, DATE, TIME, DATETIME, OBJECT, ARRAY and lists of them", m.Str())
		}
		s.types = append(s.types, t)
	}
	return err
}

// verify reads the conditions of VERIFY: a key, perhaps a sign (& all, | some, ! none), and an operator.
func (s *structure) verify(n *syntax.Node) error {
	all, err := members(n)
	for _, m := range all {
		c := check{rule: m, any: true}
		for _, op := range operators {
			if key, ok := strings.CutSuffix(m.Key, op); ok {
				c.key, c.op = key, op
				break
			}
		}
		if c.op == "" {
			return syntax.Illegal(m, "must end with one of %s", strings.Join(operators, " "))
		}
		switch last := c.key[max(0, len(c.key)-1):]; last {
		case "&", "!", "|":
			c.key, c.any, c.not = c.key[:len(c.key)-1], last != "&", last == "!"
		}
		if err := c.parse(); err != nil {
			return err
		}
		s.checks = append(s.checks, c)
	}
	return err
}
