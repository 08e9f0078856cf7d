package check

import "github.com/hopgate/hopgate/internal/query/cypher/ast"

// didYouMean returns "; did you mean `x`?" with the known name that is closest to name, or nothing if none is close.
func didYouMean(name string, known []string) string {
	best := ast.Nearest(name, known)
	if best == "" {
		return ""
	}
	return "; did you mean `" + best + "`?"
}
