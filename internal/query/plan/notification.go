package plan

import "github.com/hopgate/hopgate/internal/graph"

// Notification reports a likely mistake in a request, or a cause of slowness. It is never an error.
type Notification struct {
	// Code is the Neo4j code, such as Neo.ClientNotification.Statement.UnknownLabelWarning.
	Code string
	// Title is the same for all notifications of a code.
	Title, Description string
	Severity           string // WARNING or INFORMATION
	Category           string // UNRECOGNIZED, PERFORMANCE, DEPRECATION or UNSUPPORTED
	// Status is the GQL status, five characters long, and StatusText its description.
	Status, StatusText string
	// Suggestion is the likely intended name, or a better form; "" if there is none.
	Suggestion string
	// Pos is its place in the statement; zero for a request that is no statement.
	Pos graph.Pos
}

// NameKind is the kind of a name in a request: a label, a type or a property.
type NameKind uint8

// The kinds of names.
const (
	LabelKind NameKind = iota
	TypeKind
	PropertyKind
)

// Mention is a name that a request reads by. The graph may not know it.
type Mention struct {
	Kind NameKind
	Name string
	Pos  graph.Pos
}

// Known reports whether a graph has the name.
func (m *Mention) Known(c graph.Catalog) (ok bool) {
	switch m.Kind {
	case LabelKind:
		_, ok = c.Label(m.Name)
	case TypeKind:
		_, ok = c.Type(m.Name)
	case PropertyKind:
		_, ok = c.Prop(m.Name)
	}
	return ok
}

const (
	codePrefix  = "Neo.ClientNotification.Statement."
	warning     = "WARNING"
	information = "INFORMATION"
)

// Unknown returns the notification that a graph does not know a name. suggestion is a name that it knows, or "".
func (m *Mention) Unknown(suggestion string) Notification {
	of := [...]struct{ code, status, noun string }{
		LabelKind:    {"UnknownLabelWarning", "01N50", "label"},
		TypeKind:     {"UnknownRelationshipTypeWarning", "01N51", "relationship type"},
		PropertyKind: {"UnknownPropertyKeyWarning", "01N52", "property key"},
	}[m.Kind]
	n := Notification{
		Code: codePrefix + of.code, Title: "The " + of.noun + " is not in the graph", Severity: warning, Category: "UNRECOGNIZED",
		Description: "nothing in the graph has, or has had, the " + of.noun + " `" + m.Name + "`",
		Status:      of.status, StatusText: "warn: " + of.noun + " does not exist. The " + of.noun + " `" + m.Name + "` does not exist.",
		Suggestion: suggestion, Pos: m.Pos,
	}
	if suggestion != "" {
		n.Description += "; did you mean `" + suggestion + "`?"
	}
	return n
}

// CartesianProduct returns the notification that patterns of a MATCH at pos share no variable. pattern is the first of them.
func CartesianProduct(pattern string, pos graph.Pos) Notification {
	return Notification{
		Code: codePrefix + "CartesianProduct", Title: "The patterns of a MATCH are not connected", Severity: information,
		Category: "PERFORMANCE",
		Description: "nothing connects the pattern " + pattern + " with those before it, so every match of it is combined with every match of " +
			"them; connect them by a relationship or a shared variable, unless all combinations are wanted",
		Status: "03N90", StatusText: "info: cartesian product. The disconnected pattern " + pattern + " builds a cartesian product.", Pos: pos,
	}
}

// Notification reports that an index would replace a scan; create is the statement that creates it.
func (m *MissingIndex) Notification(create string) Notification {
	return Notification{
		Code: codePrefix + "NoApplicableIndex", Title: "An index would speed up the statement", Severity: information, Category: "PERFORMANCE",
		Description: "a condition on the property `" + m.Prop + "` reads all vertices with the label `" + m.Label + "`, because no index has them; make one by " +
			create,
		Status: "03N93", StatusText: "info: no applicable index. No index serves the condition on `" + m.Prop + "` of the label `" + m.Label +
			"`. Consider adding one: " + create + ".",
		Suggestion: create, Pos: m.Pos,
	}
}

// Deprecated returns the notification that something has a newer form.
func Deprecated(what, instead string, pos graph.Pos) Notification {
	return Notification{
		Code: codePrefix + "FeatureDeprecationWarning", Title: "The feature is deprecated", Severity: warning, Category: "DEPRECATION",
		Description: what + " is deprecated; write " + instead, Status: "01N01",
		StatusText: "warn: feature deprecated with replacement. " + what + " is deprecated. It is replaced by " + instead + ".",
		Suggestion: instead, Pos: pos,
	}
}

// MissingIndex is an index over vertices that would replace a scan of a label.
type MissingIndex struct {
	Label, Prop string
	Pos         graph.Pos // of the condition that it would serve
}
