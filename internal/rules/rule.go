package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Effect is what a rule does with an action.
type Effect string

// The effects.
const (
	Grant Effect = "GRANT"
	Deny  Effect = "DENY"
)

// Action is what a rule grants or denies, by its keyword.
type Action string

// The actions. Match is Traverse and Read together; a Match of some properties denies only reading them, as in Neo4j. Write is all
// from Create on.
const (
	Traverse    Action = "TRAVERSE"
	Read        Action = "READ"
	Match       Action = "MATCH"
	Create      Action = "CREATE"
	Delete      Action = "DELETE"
	SetLabel    Action = "SET LABEL"
	RemoveLabel Action = "REMOVE LABEL"
	SetProperty Action = "SET PROPERTY"
	Write       Action = "WRITE"
)

var actions = []Action{Traverse, Read, Match, Create, Delete, SetLabel, RemoveLabel, SetProperty, Write}

// Reads reports whether the action changes nothing.
func (a Action) Reads() bool { return a == Traverse || a == Read || a == Match }

// OfProperties reports whether a rule for the action names properties.
func (a Action) OfProperties() bool { return a == Read || a == Match || a == SetProperty }

// Rule is one rule for a role in a graph. Its form in JSON is stored.
type Rule struct {
	Effect Effect   `json:"effect"`
	Action Action   `json:"action"`
	Edges  bool     `json:"edges,omitempty"` // it is about edges, else about vertices
	Names  []string `json:"names,omitempty"` // labels, or types; none: any
	// Props are the properties of an action that has some; none: all.
	Props []string `json:"props,omitempty"`
	// Where, if not nil, limits the rule to elements that meet a condition.
	Where *Condition `json:"where,omitempty"`
	// Check refuses writes after which a changed element is hidden from its writer.
	Check bool   `json:"check,omitempty"`
	Role  string `json:"role"`
}

// Key identifies the rule: two rules that say the same have the same key.
func (r *Rule) Key() string {
	c := *r
	c.Names, c.Props = slices.Clone(c.Names), slices.Clone(c.Props)
	slices.Sort(c.Names)
	slices.Sort(c.Props)
	b, err := json.Marshal(&c)
	if err != nil {
		panic(err) // it has only texts, numbers and lists of them
	}
	return string(b)
}

// Command returns the statement that makes the rule in a graph.
func (r *Rule) Command(graph string) string { return string(r.Effect) + r.statement(graph, " TO ") }

// Revoke returns the statement that removes the rule from a graph.
func (r *Rule) Revoke(graph string) string {
	return "REVOKE " + string(r.Effect) + r.statement(graph, " FROM ")
}

// statement returns the statement about the rule from the action on, with what stands before the role.
func (r *Rule) statement(graph, before string) string {
	var b strings.Builder
	fmt.Fprintf(&b, " %s", r.Action)
	elements := false
	switch {
	case r.Action == SetLabel || r.Action == RemoveLabel:
		b.WriteString(" " + list(r.Names))
	case r.Action.OfProperties():
		b.WriteString(" {" + list(r.Props) + "}")
		elements = true
	default:
		elements = r.Action != Write
	}
	b.WriteString(" ON GRAPH " + name(graph))
	if elements {
		b.WriteString(" " + r.Elements())
	}
	b.WriteString(before + name(r.Role))
	return b.String()
}

// Elements returns the elements that the rule is about, in the syntax of a statement.
func (r *Rule) Elements() string {
	out := "NODES " + list(r.Names)
	switch {
	case r.Where == nil && r.Edges:
		out = "RELATIONSHIPS " + list(r.Names)
	case r.Where != nil && r.Edges:
		out = "FOR ()-[n" + alternatives(r.Names) + "]-() WHERE " + r.Where.String()
	case r.Where != nil:
		out = "FOR (n" + alternatives(r.Names) + ") WHERE " + r.Where.String()
	}
	if r.Check {
		out += " WITH CHECK"
	}
	return out
}

// Split returns rules that say together what the rule says, each about one of its names and one of its properties.
func (r *Rule) Split() (all []Rule) {
	one := *r
	for _, one.Names = range singles(r.Names) {
		for _, one.Props = range singles(r.Props) {
			all = append(all, one)
		}
	}
	return all
}

// singles returns a list for each element; none for an empty list.
func singles(names []string) [][]string {
	if len(names) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(names, 1))
}

func list(names []string) string {
	if len(names) == 0 {
		return "*"
	}
	return joined(names, ", ")
}

func alternatives(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ":" + joined(names, "|")
}

func joined(names []string, sep string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = name(n)
	}
	return strings.Join(out, sep)
}

// name quotes a name that is not an identifier.
func name(s string) string {
	plain := s != ""
	for i, r := range s {
		plain = plain && (r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9')
	}
	if plain {
		return s
	}
	return "`" + strings.ReplaceAll(s, "`", "``") + "`"
}
