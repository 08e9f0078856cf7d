package procedure

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/vector"
	"github.com/hopgate/hopgate/internal/query/algo"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// addVectors adds Neo4j's procedures for vectors.
func (r *Registry) addVectors() {
	const arguments = "(indexName :: STRING, numberOfNearestNeighbours :: INTEGER, query :: ANY) :: "
	r.addSearch("db.index.vector.queryNodes"+arguments+"(node :: NODE, score :: FLOAT)",
		"Find the nodes of a vector index whose vectors are most similar to one, with their scores, the most similar first.")
	r.addSearch("db.index.vector.queryRelationships"+arguments+"(relationship :: RELATIONSHIP, score :: FLOAT)",
		"Find the relationships of a vector index whose vectors are most similar to one, with their scores, the most similar first.")
	r.addSet("db.create.setNodeVectorProperty(node :: NODE, key :: STRING, vector :: ANY) :: ()", "Set a property of a node to a vector.")
	r.addSet("db.create.setRelationshipVectorProperty(relationship :: RELATIONSHIP, key :: STRING, vector :: ANY) :: ()",
		"Set a property of a relationship to a vector.")
	r.addWrite("db.create.setVectorProperty(node :: NODE, key :: STRING, vector :: ANY) :: (node :: NODE)",
		"Set a property of a node to a vector. Deprecated: use db.create.setNodeVectorProperty.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			return c.Statement(ctx, "WITH $node AS n CALL db.create.setNodeVectorProperty(n, $key, $vector) RETURN n",
				map[string]graph.Value{"node": c.Args[0], "key": c.Args[1], "vector": c.Args[2]})
		})
}

// addSet adds a procedure that the front end turns into SET.
func (r *Registry) addSet(signature, description string) {
	r.add(signature, description, nil)
	name, _, _ := strings.Cut(signature, "(")
	sig := &r.builtin[strings.ToLower(name)].sig
	sig.Writes, sig.SetsVector = true, true
}

// addSearch adds a procedure that searches a vector index.
func (r *Registry) addSearch(signature, description string) {
	r.add(signature, description, nil)
	name, _, _ := strings.Cut(signature, "(")
	r.builtin[strings.ToLower(name)].table = func(ctx context.Context, c *exec.Call) (*exec.Table, error) {
		n, err := nearest(name, c)
		if n == nil || err != nil {
			return &exec.Table{Close: func() {}}, err
		}
		return n.Run(ctx, c)
	}
}

// nearest returns the search that a call asks for; nil if nothing can be found.
func nearest(name string, c *exec.Call) (*algo.Nearest, error) {
	ix, err := namedIndex(name, graph.VectorIndex, c)
	if err != nil {
		return nil, err
	}
	k, query := c.Args[1], c.Args[2]
	if k.Kind() != graph.Int || k.Int() < 1 {
		return nil, fn.CallFailed("%s: numberOfNearestNeighbours must be an Integer from 1 on, not %s", name, notation.Describe(k))
	}
	var probe vector.Probe
	if vector.Dimensions(query) < 0 || !probe.Set(ix.Vector.Similarity, query) {
		return nil, fn.CallFailed("%s: the query must be a list of numbers or a Vector that is a valid vector for the similarity %s", name, ix.Vector.Similarity)
	}
	if want, has := ix.Vector.Dimensions, probe.Dimensions(); want > 0 && has != want {
		return nil, fn.CallFailed("%s: Index query vector has %d dimensions, but indexed vectors have %d", name, has, want) // tools look for these words
	}
	n := &algo.Nearest{K: int(min(k.Int(), math.MaxInt32)), By: ix.Vector.Similarity, Vector: query}
	if byGraph(ix, k) {
		n.HNSW = &ix.Vector
	}
	var known, used bool
	n.Prop, known = c.Graph.Prop(ix.Props[0])
	if ix.Type != "" {
		n.Type, used = c.Graph.Type(ix.Type)
	} else {
		n.Label, used = c.Graph.Label(ix.Label)
	}
	if !known || !used {
		return nil, nil
	}
	return n, nil
}

// byGraph reports whether a search for k vectors may follow an HNSW graph; k is null if it is not known.
func byGraph(ix *graph.Index, k graph.Value) bool {
	most, known := k.Whole()
	return ix.Vector.HNSW && ix.Vector.Dimensions > 0 && (!known || most <= algo.MostAsked)
}

// VectorSearch returns how a call searches a vector index: "hnsw" if it may follow a graph of near vectors, "exact" if it compares all. It
// returns "" for other procedures and for an index that is not known. Arguments that differ from row to row are null.
func VectorSearch(name string, args []graph.Value, indexes []graph.Index) string {
	if !strings.HasPrefix(name, "db.index.vector.query") || args[0].Kind() != graph.String {
		return ""
	}
	i := slices.IndexFunc(indexes, func(ix graph.Index) bool { return ix.Name == args[0].Str() && ix.Kind == graph.VectorIndex })
	switch {
	case i < 0:
		return ""
	case byGraph(&indexes[i], args[1]):
		return "hnsw"
	}
	return "exact"
}
