package cypher

import (
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// Options is what the front end knows of the engine.
type Options struct {
	// Procedures finds a procedure's signature by its name; nil: there are none. What SHOW lists are procedures too:
	// show.indexes, show.constraints, show.graphs, show.functions, show.procedures, show.transactions and show.user, each with the
	// arguments filter :: STRING ("" or, in capitals, as in SHOW RANGE INDEXES) and names :: LIST<STRING>.
	Procedures func(name string) (Signature, bool)
	// ProcedureNames gives the names of all procedures, for suggestions; nil: there are none.
	ProcedureNames func() []string
	// Eager has every clause wait for all rows of those before it: slower, with the same answers. It is for tests.
	Eager bool
	// Literals, if set, are those of the text. Compile puts the parameter LiteralName(i) instead of each whose value
	// makes no difference to the plan, and sets its Lifted.
	Literals []parse.Literal
	// Alive is asked now and then; its error ends the compilation. nil is asked nothing.
	Alive func() error
}

// alive asks whether to go on.
func (o *Options) alive() error {
	if o.Alive == nil {
		return nil
	}
	return o.Alive()
}

// Signature is the form of a procedure.
type Signature struct {
	Name    string // as it is registered
	Params  []Field
	Results []Field
	Writes  bool // it changes the graph
	Calls   bool // it runs statements
	// WriteKey is the entry of an argument that makes a call change the graph; it counts where the call names it. Or "".
	WriteKey string
}

// Field is a parameter or a result of a procedure. Type is as it is written in signatures, such as "INTEGER?".
type Field struct {
	Name, Type string
	Default    *graph.Value // of a parameter that may be left out
	Extra      bool         // a result of SHOW that YIELD alone gives
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
