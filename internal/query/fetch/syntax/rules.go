package syntax

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
)

// Role is the role in which a request acts.
type Role string

// The roles of the protocol. CONTACT, CIRCLE and OWNER limit the visible rows: to those of the caller's contacts, of contacts and
// caller, of the caller. In conditions, OWNER is also a claim, the caller's key; the other two are lists of keys.
const (
	roleUnknown Role = "UNKNOWN"
	roleLogin   Role = "LOGIN"
	RoleContact Role = "CONTACT"
	RoleCircle  Role = "CIRCLE"
	RoleOwner   Role = "OWNER"
	RoleAdmin   Role = "ADMIN"
)

var roles = []Role{roleUnknown, roleLogin, RoleContact, RoleCircle, RoleOwner, RoleAdmin}

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
// Without a list of its own, head goes by get, gets by get, and heads by gets.
type Rules struct {
	Issuer   string `yaml:"issuer"`
	Contacts struct {
		Label    string `yaml:"label"`
		Property string `yaml:"property"`
	} `yaml:"contacts"`
	Labels map[string]*entry `yaml:"labels"`
	Edges  map[string]*entry `yaml:"edges"`

	names map[string]rules.Names // by method and role
	sum   [sha256.Size]byte      // of their text
}

// entry is what the file says of a label or an edge type.
type entry struct {
	Owner   string                       `yaml:"owner"`
	Columns map[string]map[string][]Role `yaml:"columns"` // of a property: who may read and write it; without a list, all
	Methods map[string][]Role            `yaml:",inline"`
}

// list returns the roles for a word, or for the one that it goes by, without a list of its own.
func list(lists map[string][]Role, word string) []Role {
	or := map[string]string{"head": "get", "gets": "get", "heads": "gets", "write": "read"}[word]
	if l := lists[word]; l != nil || or == "" {
		return l
	}
	return list(lists, or)
}

// ParseRules reads rules. An error names the line or the label.
func ParseRules(text []byte) (*Rules, error) {
	r := &Rules{names: make(map[string]rules.Names), sum: sha256.Sum256(text)}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if (r.Contacts.Label == "") != (r.Contacts.Property == "") {
		bad("contacts: needs label and property")
	}
	all := make(map[string][]rules.Rule) // by method
	for i, entries := range []map[string]*entry{r.Labels, r.Edges} {
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			e, edges, at := entries[name], i == 1, [2]string{"labels.", "edges."}[i]+name
			if e == nil {
				bad("%s: must not be empty", at)
				continue
			}
			if edges && e.Owner != "" && e.Owner != "from" && e.Owner != "to" {
				bad("%s.owner: must be from or to, is %q", at, e.Owner)
			}
			check := func(lists map[string][]Role, known func(word string) bool) {
				for _, word := range slices.Sorted(maps.Keys(lists)) {
					if !known(word) {
						bad("%s: %q is not known", at, word)
					}
					for _, x := range lists[word] {
						switch {
						case !slices.Contains(roles, x):
							bad("%s: there is no role %q; there are UNKNOWN, LOGIN, CONTACT, CIRCLE, OWNER and ADMIN", at, x)
						case x.owned() && e.Owner == "":
							bad("%s: %s needs an owner", at, x)
						case (x == RoleContact || x == RoleCircle) && (edges || r.Contacts.Label == ""):
							bad("%s: %s needs contacts, and is for labels", at, x)
						}
					}
				}
			}
			check(e.Methods, func(word string) bool { return methods[word] })
			for _, lists := range e.Columns {
				check(lists, func(word string) bool { return word == "read" || word == "write" })
			}
			for method := range methods {
				all[method] = append(all[method], e.rules(edges, name, method)...)
			}
		}
	}
	for method := range methods {
		for _, x := range roles {
			r.names[method+string(x)] = rules.NamesOf(all[method], []string{string(x)}, nil)
		}
	}
	return r, errors.Join(errs...)
}

// actions are what a method needs: first, what it is refused by.
var actions = map[string][]rules.Action{
	"get": {rules.Match}, "head": {rules.Match}, "gets": {rules.Match}, "heads": {rules.Match},
	"post": {rules.Create, rules.SetProperty}, "put": {rules.SetProperty, rules.Match}, "delete": {rules.Delete, rules.Match},
}

// rules returns what the entry of a label or an edge type says of a method. A Match has the condition of the rows that its role sees; the other
// actions, that of what it writes, in which from and to are the keys of an edge's ends.
func (e *entry) rules(edges bool, name, method string) (all []rules.Rule) {
	for _, x := range list(e.Methods, method) {
		for _, a := range actions[method] {
			where := e.where(x, edges, a == rules.Match)
			all = append(all, rules.Rule{Effect: rules.Grant, Action: a, Edges: edges, Names: []string{name}, Where: where, Role: string(x)})
		}
	}
	for prop, lists := range e.Columns {
		for action, users := range map[rules.Action][]Role{rules.Read: lists["read"], rules.SetProperty: list(lists, "write")} {
			for _, x := range roles {
				if users != nil && !slices.Contains(users, x) {
					all = append(all, rules.Rule{Effect: rules.Deny, Action: action, Edges: edges, Names: []string{name}, Props: []string{prop}, Role: string(x)})
				}
			}
		}
	}
	return all
}

// where returns the condition of the rows that a role sees, or of what it may write.
func (e *entry) where(x Role, edges, sees bool) *rules.Condition {
	switch {
	case !x.owned() || edges && sees:
		return nil
	case x == RoleOwner || !sees:
		return &rules.Condition{Op: rules.Equal, Prop: e.Owner, With: &rules.Operand{Claim: string(RoleOwner)}}
	}
	return &rules.Condition{Op: rules.In, Prop: e.Owner, With: &rules.Operand{Claim: string(x)}}
}

// owned reports whether a role sees only the rows of some owners.
func (x Role) owned() bool { return x == RoleOwner || x == RoleContact || x == RoleCircle }

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

// Scope is the same for callers whom the same rules restrict in the same way, up to their id and contacts.
func (r *rights) Scope() string {
	if r.Rules == nil {
		return ""
	}
	return r.Key() + string(r.Rules.sum[:])
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
	case x.owned() && r.Caller.ID.IsNull():
		return x, Fail(CodeNoRight, at, "the role %s needs a caller of the issuer that the rules name", x)
	}
	return x, nil
}

// Right is what a request may do with a label or an edge type: everything, if it is empty.
type Right struct {
	Role                   Role
	Rows, Written          *rules.Condition // of the rows that it reads; of what it writes
	Unreadable, Unwritable map[string]bool  // properties
}

// Check returns what an object may do with a label or an edge type by the method of the request: everything, if it is ADMIN, or without rules.
func (r *rights) Check(at, own *Node, edges bool, name string) (out Right, err error) {
	if r.Rules == nil {
		return out, nil
	}
	if out.Role, err = r.As(at, own); err != nil || out.Role == RoleAdmin {
		return out, err
	}
	names, ok := r.Rules.names[r.method+string(out.Role)], false
	if out.Written, ok = names.Where(edges, []string{name}, actions[r.method][0], ""); !ok {
		kind := map[bool]string{false: "label", true: "edge type"}[edges]
		return out, Fail(CodeNoRight, at, "the role %s has no right to %s the %s %s", out.Role, strings.ToUpper(r.method), kind, name)
	}
	out.Rows, _ = names.Where(edges, []string{name}, rules.Match, "")
	out.Unreadable, out.Unwritable = names.Denied(edges, name, rules.Read), names.Denied(edges, name, rules.SetProperty)
	return out, nil
}
