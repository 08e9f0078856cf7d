package adjacency

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// EdgeTypes resolves the names of edge types. Each use looks up an unknown name again, because the statement itself may have
// created it.
type EdgeTypes struct {
	r     *runtime.Run
	Names []string
	ids   []graph.TypeID
}

// NewEdgeTypes resolves the names; no names stand for all types.
func NewEdgeTypes(r *runtime.Run, names []string) EdgeTypes { return EdgeTypes{r: r, Names: names} }

// Resolve returns the known types, none for all types; ok is false if no edge can have one of the types.
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
