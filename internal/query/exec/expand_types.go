package exec

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// edgeTypes resolves the names of edge types. A name that is unknown is looked up again at each use, since the
// statement itself may have made it meanwhile.
type edgeTypes struct {
	r     *run
	names []string
	ids   []graph.TypeID
}

func (r *run) edgeTypes(names []string) edgeTypes { return edgeTypes{r: r, names: names} }

// resolve gives the known types, none for all types; ok is false where no edge can have one of the types.
func (t *edgeTypes) resolve() (ids []graph.TypeID, ok bool) {
	if len(t.names) == 0 {
		return nil, true
	}
	if len(t.ids) < len(t.names) {
		t.ids = t.ids[:0]
		for _, name := range t.names {
			if id, ok := t.r.g.Type(name); ok && !slices.Contains(t.ids, id) {
				t.ids = append(t.ids, id)
			}
		}
	}
	return t.ids, len(t.ids) > 0
}
