package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hopgate/hopgate/internal/graph"
)

// Role is the role in which a request acts.
type Role string

// The roles of the protocol. CONTACT, CIRCLE and OWNER limit the visible rows: to those of the caller's contacts, of contacts and
// caller, of the caller.
const (
	roleUnknown Role = "UNKNOWN"
	roleLogin   Role = "LOGIN"
	RoleContact Role = "CONTACT"
	roleCircle  Role = "CIRCLE"
	RoleOwner   Role = "OWNER"
	RoleAdmin   Role = "ADMIN"
)

var roles = []Role{roleUnknown, roleLogin, RoleContact, roleCircle, RoleOwner, RoleAdmin}

// codeNotLoggedIn is the code of a request whose caller is not known, though its role needs one.
const codeNotLoggedIn = 407

// Caller is the sender of a request.
type Caller struct {
	Known bool        // it is not anonymous
	ID    graph.Value // the key of the caller's vertex; null if anonymous or of another issuer than the rules name
	Admin bool
}

// Rules say what fetches may do. What they do not name is for ADMIN alone; a nil *Rules lets everything pass.
//
//	issuer: tokens                                     # whose names are keys: tokens, or the URL of the issuer of JSON Web Tokens
//	contacts: {label: User, property: contactIdList}   # the list of the keys of a caller's contacts
//	labels:
//	  Moment:
//	    owner: userId                                  # the property that holds the key of a row's owner
//	    get: [UNKNOWN, LOGIN, OWNER]                   # who may; likewise head, gets, heads, post, put and delete
//	    put: [OWNER]
//	    columns: {phone: {read: [OWNER], write: []}}   # narrower than the label
//	edges:
//	  KNOWS: {get: [LOGIN], post: [OWNER], owner: from} # owner: the end that is the caller's
//
// Without a rule of its own, head goes by get, gets by get, and heads by gets.
type Rules struct {
	Issuer   string `yaml:"issuer"`
	Contacts struct {
		Label    string `yaml:"label"`
		Property string `yaml:"property"`
	} `yaml:"contacts"`
	Labels map[string]*Rule `yaml:"labels"`
	Edges  map[string]*Rule `yaml:"edges"`
}

// Rule lists the roles that may use each method on a label or an edge type.
type Rule struct {
	Owner   string                `yaml:"owner"`
	Get     []Role                `yaml:"get"`
	Head    []Role                `yaml:"head"`
	Gets    []Role                `yaml:"gets"`
	Heads   []Role                `yaml:"heads"`
	Post    []Role                `yaml:"post"`
	Put     []Role                `yaml:"put"`
	Delete  []Role                `yaml:"delete"`
	Columns map[string]ColumnRule `yaml:"columns"`
}

// ColumnRule restricts who may read or write a property; a nil list restricts nothing.
type ColumnRule struct {
	Read  []Role `yaml:"read"`
	Write []Role `yaml:"write"`
}

// ParseRules reads rules. An error names the line or the label.
func ParseRules(text []byte) (*Rules, error) {
	r := &Rules{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var errs []error
	if (r.Contacts.Label == "") != (r.Contacts.Property == "") {
		errs = append(errs, errors.New("contacts: needs label and property"))
	}
	check := func(kind, name string, rule *Rule) {
		if rule == nil {
			errs = append(errs, fmt.Errorf("%s.%s: must not be empty", kind, name))
			return
		}
		if kind == "edges" && rule.Owner != "" && rule.Owner != "from" && rule.Owner != "to" {
			errs = append(errs, fmt.Errorf("edges.%s.owner: must be from or to, is %q", name, rule.Owner))
		}
		lists := [][]Role{rule.Get, rule.Head, rule.Gets, rule.Heads, rule.Post, rule.Put, rule.Delete}
		for _, c := range rule.Columns {
			lists = append(lists, c.Read, c.Write)
		}
		for _, x := range slices.Concat(lists...) {
			switch {
			case !slices.Contains(roles, x):
				errs = append(errs, fmt.Errorf("%s.%s: there is no role %q; there are UNKNOWN, LOGIN, CONTACT, CIRCLE, OWNER and ADMIN", kind, name, x))
			case x.Owned() && rule.Owner == "":
				errs = append(errs, fmt.Errorf("%s.%s: %s needs an owner", kind, name, x))
			case (x == RoleContact || x == roleCircle) && (kind == "edges" || r.Contacts.Label == ""):
				errs = append(errs, fmt.Errorf("%s.%s: %s needs contacts, and is for labels", kind, name, x))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		check("labels", name, r.Labels[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Edges)) {
		check("edges", name, r.Edges[name])
	}
	return r, errors.Join(errs...)
}

// Owned reports whether a role sees only the rows of some owners.
func (x Role) Owned() bool { return x == RoleOwner || x == RoleContact || x == roleCircle }

// of returns the roles that may use a method.
func (r *Rule) of(method string) []Role {
	or := func(lists ...[]Role) []Role {
		for _, l := range lists {
			if l != nil {
				return l
			}
		}
		return nil
	}
	switch method {
	case "get":
		return r.Get
	case "head":
		return or(r.Head, r.Get)
	case "gets":
		return or(r.Gets, r.Get)
	case "heads":
		return or(r.Heads, r.Gets, r.Get)
	case "post":
		return r.Post
	case "put":
		return r.Put
	}
	return r.Delete
}

// Denied are the properties that a role may not read, or not write.
func (r *Rule) Denied(x Role, write bool) map[string]bool {
	if r == nil || x == RoleAdmin {
		return nil
	}
	var out map[string]bool
	for name, c := range r.Columns {
		list := c.Read
		if write && c.Write != nil {
			list = c.Write
		}
		if list != nil && !slices.Contains(list, x) {
			if out == nil {
				out = make(map[string]bool)
			}
			out[name] = true
		}
	}
	return out
}

// rights is the permissions of one request.
type rights struct {
	Rules  *Rules
	method string
	Caller Caller
	Role   Role // of the request; "" for the caller's own
}

// in takes part in the key of a program: requests of one shape are bound to one program only if they have the same rights.
func (r *rights) Key() string {
	if r.Rules == nil {
		return ""
	}
	return fmt.Sprintf("%t %t %t ", r.Caller.Known, !r.Caller.ID.IsNull(), r.Caller.Admin)
}

// As returns the role of an object, whose @role may be nil, and checks that the caller has it.
func (r *rights) As(at, own *Node) (Role, error) {
	x := r.Role
	if own != nil {
		x, at = Role(own.Str()), own
	}
	switch {
	case x == "" && r.Caller.Known:
		return roleLogin, nil
	case x == "" || x == roleUnknown:
		return roleUnknown, nil
	case !r.Caller.Known && !r.Caller.Admin:
		return x, Fail(codeNotLoggedIn, at, "the role %s needs a caller that is known", x)
	case x == RoleAdmin && !r.Caller.Admin:
		return x, Fail(CodeNoRight, at, "the caller is no ADMIN")
	case x.Owned() && r.Caller.ID.IsNull():
		return x, Fail(CodeNoRight, at, "the role %s needs a caller of the issuer that the rules name", x)
	}
	return x, nil
}

// Check returns the role of an object and the rule that lets it use a label or an edge type; no rule for ADMIN, and while
// rules are off.
func (r *rights) Check(at, own *Node, kind, name string) (Role, *Rule, error) {
	if r.Rules == nil {
		return "", nil, nil
	}
	x, err := r.As(at, own)
	if err != nil || x == RoleAdmin {
		return x, nil, err
	}
	rule := r.Rules.Labels[name]
	if kind == "edge type" {
		rule = r.Rules.Edges[name]
	}
	if rule == nil || !slices.Contains(rule.of(r.method), x) {
		return x, nil, Fail(CodeNoRight, at, "the role %s has no right to %s the %s %s", x, strings.ToUpper(r.method), kind, name)
	}
	return x, rule, nil
}
