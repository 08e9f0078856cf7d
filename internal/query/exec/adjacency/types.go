package adjacency

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// EdgeTypes resolves the names of edge types. A name that is unknown is looked up again at each use, since the
// statement itself may have made it meanwhile.
type EdgeTypes struct {
	r     *runtime.Run
	Names []string
	ids   []graph.TypeID
}

// NewEdgeTypes makes the types of these names; none stands for all types.
func NewEdgeTypes(r *runtime.Run, names []string) EdgeTypes { return EdgeTypes{r: r, Names: names} }

// Resolve gives the known types, none for all types; ok is false where no edge can have one of the types.
func (t *EdgeTypes) Resolve() (ids []graph.TypeID, ok bool) {
	if len(t.Names) == 0 {
		return nil, true
	}
	if len(t.ids) < len(t.Names) {
		t.ids = t.ids[:0]
		for _, name := range t.Names {
			if id, ok := t.r.Graph.Type(name); ok && !slices.Contains(t.ids, id) {
				t.ids = append(t.ids, id)
			}
		}
	}
	return t.ids, len(t.ids) > 0
}
