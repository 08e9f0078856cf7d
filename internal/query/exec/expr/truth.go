package expr

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// The truths of three-valued logic, by fn's names for them.
const (
	no      = fn.False
	unknown = fn.Unknown
	yes     = fn.True
)

// truth is fn.Truth with the common cases inline.
func truth(v graph.Value) (fn.Ternary, error) {
	if v.Kind() == graph.Bool {
		if v.Bool() {
			return yes, nil
		}
		return no, nil
	}
	return fn.Truth(v)
}
