package check

import (
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn/apoc"
)

// instead returns what to use in place of a function or procedure that is not there: "; use x" for a name of APOC, or else a close name.
func instead(name string, known []string) string {
	if hint := apoc.Hint(name); hint != "" {
		return "; use " + hint
	}
	return didYouMean(name, known)
}

// didYouMean returns "; did you mean `x`?" with the known name that is closest to name, or nothing if none is close.
func didYouMean(name string, known []string) string {
	best := ast.Nearest(name, known)
	if best == "" {
		return ""
	}
	return "; did you mean `" + best + "`?"
}
