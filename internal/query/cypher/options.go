package cypher

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/steps"
)

// Options is what the front end knows about the engine.
type Options struct {
	// Procedures returns a procedure's signature by name; nil: there are none. The lists of SHOW are procedures too: show.indexes,
	// show.constraints, show.graphs, show.functions, show.procedures, show.transactions and show.user, each with the arguments filter
	// :: STRING ("" or, in capitals, as in SHOW RANGE INDEXES) and names :: LIST<STRING>.
	Procedures func(name string) (Signature, bool)
	// ProcedureNames returns the names of all procedures, for suggestions; nil: there are none.
	ProcedureNames func() []string
	// Eager makes every clause wait for all rows of those before it: slower, with equal results. Tests use it.
	Eager bool
	// Literals, if set, are those of the text. Compile replaces each literal whose value does not affect the plan by the
	// parameter LiteralName(i), and sets its Lifted.
	Literals []parse.Literal
	// Steps counts the work, and may end it; nil: nobody does.
	Steps *steps.Counter
	// Results, if not nil, is filled with the kinds that the columns of the result may have, by name.
	Results map[string]fn.Kinds
}

// Signature is the signature of a procedure.
type Signature struct {
	Name    string // as registered
	Params  []Field
	Results []Field
	Writes  bool // changes the graph
	Calls   bool // runs statements
	Own     bool // commits by itself
	Outside bool // reads nothing of the graph
	// WriteKey is the key of an argument that makes a call write if the call sets it; or "".
	WriteKey string
	// SetsVector reports whether a call acts as a SET: it sets a property of its first argument, named by its second, to the vector
	// in its third.
	SetsVector bool
}

// Field is a parameter or a result of a procedure. Type is in the notation of signatures, such as "INTEGER?".
type Field struct {
	Name, Type string
	Default    *graph.Value // of an optional parameter
	Extra      bool         // a result of SHOW that only YIELD returns
}

func (o *Options) procedure(name string) (Signature, bool) {
	if o.Procedures == nil {
		return Signature{}, false
	}
	return o.Procedures(name)
}

// String writes the signature: name(a :: TYPE, …) :: (b :: TYPE, …).
func (s Signature) String() string {
	return s.Name + "(" + joinFields(s.Params) + ") :: (" + joinFields(s.Results) + ")"
}

// literal writes the default of a parameter.
func literal(v graph.Value) string {
	switch v.Kind() {
	case graph.String:
		return strconv.Quote(v.Str())
	case graph.List:
		return "[]"
	case graph.Map:
		return "{}"
	case graph.Int:
		return strconv.FormatInt(v.Int(), 10)
	case graph.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return "null"
}

func joinFields(fs []Field) string {
	out := make([]string, len(fs))
	for i, f := range fs {
		if f.Default != nil {
			f.Name += " = " + literal(*f.Default)
		}
		out[i] = f.Name + " :: " + f.Type
	}
	return strings.Join(out, ", ")
}
