package exec

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// EstimateFor returns the estimated cost of a run with parameters in units. Where the plan begins with a hop from the vertex that an index has for a
// key, it looks at the degree of this one: lists differ more in length than all that follows.
func (p *Prepared) EstimateFor(ctx context.Context, g shard.Graph, tx shard.Tx, params map[string]graph.Value) (float64, error) {
	s, all := p.Query.Start, float64(p.Query.Cost.Units())
	if s == nil {
		return all, nil
	}
	var types []graph.TypeID
	for _, name := range s.Types {
		if id, ok := g.Type(name); ok {
			types = append(types, id)
		}
	}
	if len(s.Types) > 0 && len(types) == 0 {
		return all, nil
	}
	req := shard.Seek{Index: s.Index.ID}
	for _, k := range s.Keys {
		switch k := k.(type) {
		case *plan.Const:
			req.Keys = append(req.Keys, k.Value)
		case *plan.Param:
			req.Keys = append(req.Keys, params[k.Name])
		}
	}
	var found shard.Found
	if err := tx.Seek(ctx, &req, &found); err != nil {
		return 0, err
	}
	degrees := make([]int, len(found.IDs))
	if err := tx.Degrees(ctx, found.IDs, types, s.Dir, degrees); err != nil {
		return 0, err
	}
	degree := 0.0
	for _, n := range degrees {
		degree += float64(n)
	}
	return s.Fixed + max(0, all-s.Fixed)*degree/s.Mean, nil
}
