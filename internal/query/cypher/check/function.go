package check

import (
	"strings"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// rowFunctions are the functions that the binder replaces by a column of LOAD CSV, so the catalogue has no code for them.
var rowFunctions = map[string]*fn.Function{
	"linenumber": {Name: "linenumber", Result: fn.Integer | fn.Null},
	"file":       {Name: "file", Result: fn.String | fn.Null},
}

func builtin(name string) (*fn.Function, bool) {
	if f, ok := fn.Builtin(name); ok {
		return f, true
	}
	f, ok := rowFunctions[strings.ToLower(name)]
	return f, ok
}

// function finds the function that an expression calls.
func (c *checker) function(n *ast.Call) *fn.Function {
	f, ok := builtin(n.Name)
	if !ok {
		fail(unknownFunction, n, "unknown function '%s'%s", n.Name, instead(n.Name, functionNames()))
	}
	return f
}

func functionNames() []string {
	var names []string
	for _, f := range fn.All() {
		if !f.Internal {
			names = append(names, f.Name)
		}
	}
	for _, f := range rowFunctions {
		names = append(names, f.Name)
	}
	return names
}
