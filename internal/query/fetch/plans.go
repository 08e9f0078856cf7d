package fetch

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Plans returns the plans of a reading request, before they are optimized.
func Plans(r *syntax.Request, cat graph.Catalog) ([]*plan.Query, error) {
	p, err := bind.Request(r, cat)
	if err != nil {
		return nil, err
	}
	return plansOf(p.Members, nil), nil
}

func plansOf(members []*bind.Output, all []*plan.Query) []*plan.Query {
	for _, m := range members {
		for _, q := range append(m.Before, m.Query) {
			if q != nil && !q.Never {
				all = append(all, q.Q)
			}
		}
		all = plansOf(m.Members, all)
	}
	return all
}

// Check checks that the graph has the labels, and the edge types unless post creates them, of a request that writes.
func Check(r *syntax.Request, cat graph.Catalog) error {
	for _, w := range r.Writes {
		label, _ := syntax.SplitAlias(strings.TrimSuffix(w.Key, "[]"))
		if err := known(r, cat, w, label); err != nil {
			return err
		}
	}
	return nil
}

func known(r *syntax.Request, cat graph.Catalog, w *syntax.Write, label string) error {
	if isEdgeObject(w.Objs[0]) {
		if _, ok := cat.Type(label); !ok && r.Method != "post" { // the first edge creates the type
			return syntax.NotFound(w.N, "there is no edge type %q", label)
		}
		return nil
	}
	if _, ok := cat.Label(label); !ok {
		return syntax.NotFound(w.N, "there is no label %q", label)
	}
	return nil
}
