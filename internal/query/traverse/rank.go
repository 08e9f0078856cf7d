package traverse

import (
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Rank orders the rows by how similar a property of v is to a vector, the most similar first, and leaves out rows whose property is no
// vector of as many dimensions.
type Rank struct {
	Property   string
	Similarity graph.Similarity
	Vector     graph.Value // a List
}

// NewRank checks a ranking; similarity is the name of one, "" of the cosine.
func NewRank(property, similarity string, coordinates []float64) (*Rank, error) {
	list := make([]graph.Value, len(coordinates))
	for i, x := range coordinates {
		list[i] = graph.FloatValue(x)
	}
	r := &Rank{Property: property, Vector: graph.ListValue(list)}
	ok := similarity == ""
	if !ok {
		r.Similarity, ok = graph.ParseSimilarity(similarity)
	}
	switch {
	case !ok:
		return nil, invalid("rank.similarity", "must be cosine or euclidean, is %s", strconv.Quote(similarity))
	case property == "":
		return nil, invalid("rank.property", "must be the name of a property")
	case !new(vector.Probe).Set(r.Similarity, r.Vector):
		return nil, invalid("rank.vector", "must be one or more finite numbers and, for cosine, not zeros alone")
	}
	return r, nil
}

// rank sorts the rows below the result, and makes the column of their scores.
func (b *binder) rank() error {
	r := b.t.Rank
	switch {
	case r == nil:
		return nil
	case b.t.ByHop:
		return invalid("rank", "excludes byHop, which orders by hops")
	}
	b.score = b.q.NewCol("score", graph.Null)
	score := &plan.Call{Func: "cypher.near." + r.Similarity.String(), Args: []plan.Expr{
		&plan.Prop{X: &plan.ColRef{Col: b.vertex}, Key: r.Property}, &plan.Param{Name: rankParam},
	}}
	ref := &plan.ColRef{Col: b.score}
	b.q.Root = &plan.Sort{
		Input: &plan.Filter{
			Input: &plan.Project{Input: b.q.Root, Keep: true, Items: []plan.Item{{Col: b.score, Expr: score}}},
			Preds: []plan.Expr{&plan.Op{Op: plan.IsNotNull, Args: []plan.Expr{ref}}},
		},
		Keys: []plan.SortKey{{Expr: ref, Desc: true}},
	}
	return nil
}
