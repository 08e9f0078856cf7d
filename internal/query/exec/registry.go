package exec

import (
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/relational"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/exec/search"
	"github.com/hopgate/hopgate/internal/query/exec/source"
	"github.com/hopgate/hopgate/internal/query/exec/write"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// compileNode creates the stage of a node. It alone lists all operators.
func compileNode(c *compile.Compiler, n plan.Node, need plan.ColSet) *runtime.Stage {
	switch n := n.(type) {
	case *plan.Unit:
		return source.Argument(c, n, nil, need)
	case *plan.Argument:
		return source.Argument(c, n, n.Cols, need)
	case *plan.Scan:
		return source.Scan(c, n, need)
	case *plan.Seek:
		return source.Seek(c, n, need)
	case *plan.SeekRange:
		return source.SeekRange(c, n, need)
	case *plan.SeekEdges:
		return source.SeekEdges(c, n, need)
	case *plan.SeekEdgeRange:
		return source.SeekEdgeRange(c, n, need)
	case *plan.SeekID:
		return source.SeekID(c, n, need)
	case *plan.Expand:
		return adjacency.Expand(c, n, need)
	case *plan.Intersect:
		return adjacency.Intersect(c, n, need)
	case *plan.VarExpand:
		return search.VarExpand(c, n, need)
	case *plan.FindPaths:
		return search.FindPaths(c, n, need)
	case *plan.ShortestPath:
		return search.ShortestPath(c, n, need)
	case *plan.MultiplicityCount:
		return adjacency.MultiplicityCount(c, n, need)
	case *plan.PathMultiplicity:
		return adjacency.PathMultiplicity(c, n, need)
	case *plan.PairMultiplicity:
		return adjacency.PairMultiplicity(c, n, need)
	case *plan.FrontierCount:
		return search.FrontierCount(c, n, need)
	case *plan.Traverse:
		return search.Traverse(c, n, need)
	case *plan.CheapestPaths:
		return search.CheapestPaths(c, n, need)
	case *plan.Filter:
		return relational.Filter(c, n, need)
	case *plan.Project:
		return relational.Project(c, n, need)
	case *plan.Aggregate:
		return relational.Aggregate(c, n, need)
	case *plan.Distinct:
		return relational.Distinct(c, n, need)
	case *plan.Sort:
		return relational.Sort(c, n, need)
	case *plan.Slice:
		return relational.Slice(c, n, need)
	case *plan.Unwind:
		return relational.Unwind(c, n, need)
	case *plan.Apply:
		return relational.Apply(c, n, need)
	case *plan.Transactions:
		return relational.Transactions(c, n, need)
	case *plan.HashJoin:
		return relational.HashJoin(c, n, need)
	case *plan.Product:
		return relational.Product(c, n, need)
	case *plan.Union:
		return relational.Union(c, n, need)
	case *plan.Eager:
		return relational.Eager(c, n, need)
	case *plan.Drain:
		return relational.Drain(c, n)
	case *plan.CountStore:
		return source.CountStore(c, n, need)
	case *plan.BlockAggregate:
		return relational.BlockAggregate(c, n, need)
	case *plan.EdgeGroups:
		return relational.EdgeGroups(c, n, need)
	case *plan.Fallback:
		return relational.Fallback(c, n, need)
	case *plan.Create:
		return write.Create(c, n, need)
	case *plan.Merge:
		return write.Merge(c, n, need)
	case *plan.Set:
		return write.Set(c, n, need)
	case *plan.Delete:
		return write.Delete(c, n, need)
	case *plan.Foreach:
		return relational.Foreach(c, n, need)
	case *plan.CallProc:
		return relational.CallProc(c, n, need)
	case *plan.LoadCSV:
		return relational.LoadCSV(c, n, need)
	}
	c.Fail(graph.InternalError("compile", fmt.Errorf("no operator for %T", n)))
	return &runtime.Stage{}
}
