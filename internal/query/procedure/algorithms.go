package procedure

import (
	"strings"

	"github.com/hopgate/hopgate/internal/query/algo"
)

// addAlgorithms adds the algorithms over whole graphs. A call writes if its argument names a property.
func (r *Registry) addAlgorithms() {
	for _, a := range algo.All {
		r.add(a.Name+"(config = {} :: MAP) :: ("+a.Results+")", a.Description, nil)
		p := r.builtin[strings.ToLower(a.Name)]
		p.table, p.sig.WriteKey = a.Run, algo.WriteKey
	}
}
