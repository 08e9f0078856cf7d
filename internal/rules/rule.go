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
func (r *Rule) Command(graph string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Effect, r.Action)
	switch {
	case r.Action == SetLabel || r.Action == RemoveLabel:
		b.WriteString(" " + list(r.Names) + " ON GRAPH " + name(graph) + " TO " + name(r.Role))
		return b.String()
	case r.Action == Write:
		b.WriteString(" ON GRAPH " + name(graph) + " TO " + name(r.Role))
		return b.String()
	case r.Action.OfProperties():
		b.WriteString(" {" + list(r.Props) + "}")
	}
	b.WriteString(" ON GRAPH " + name(graph))
	switch {
	case r.Where == nil && r.Edges:
		b.WriteString(" RELATIONSHIPS " + list(r.Names))
	case r.Where == nil:
		b.WriteString(" NODES " + list(r.Names))
	case r.Edges:
		b.WriteString(" FOR ()-[n" + alternatives(r.Names) + "]-() WHERE " + r.Where.String())
	default:
		b.WriteString(" FOR (n" + alternatives(r.Names) + ") WHERE " + r.Where.String())
	}
	if r.Check {
		b.WriteString(" WITH CHECK")
	}
	b.WriteString(" TO " + name(r.Role))
	return b.String()
}

func list(names []string) string {
	if len(names) == 0 {
		return "*"
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = name(n)
	}
	return strings.Join(out, ", ")
}

func alternatives(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ":" + strings.ReplaceAll(list(names), ", ", "|")
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
