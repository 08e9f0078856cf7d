package procedure

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// addSubgraphs adds APOC's breadth-first searches with filters that are values.
func (r *Registry) addSubgraphs() {
	r.add("apoc.path.subgraphNodes(startNode :: ANY, config :: MAP) :: (node :: NODE)", "The nodes that paths from a start with filters reach.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			s, err := newSubgraph("apoc.path.subgraphNodes", c)
			defer s.acct.Release()
			if err == nil {
				err = s.search(ctx)
			}
			if err != nil {
				return nil, err
			}
			return singles(s.nodes()), nil
		})
	r.add("apoc.path.subgraphAll(startNode :: ANY, config :: MAP) :: (nodes :: LIST<NODE>, relationships :: LIST<RELATIONSHIP>)",
		"The nodes that paths from a start with filters reach, and all relationships between these nodes.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			s, err := newSubgraph("apoc.path.subgraphAll", c)
			defer s.acct.Release()
			if err == nil {
				err = s.search(ctx)
			}
			if err != nil {
				return nil, err
			}
			rels, err := s.relationships(ctx)
			return [][]graph.Value{{graph.ListValue(s.nodes()), graph.ListValue(rels)}}, err
		})
}

// singles returns rows of one value each.
func singles(list []graph.Value) [][]graph.Value {
	rows := make([][]graph.Value, len(list))
	for i := range list {
		rows[i] = list[i : i+1 : i+1]
	}
	return rows
}

// subgraph is a breadth-first search from some vertices that visits each vertex once.
type subgraph struct {
	c           *exec.Call
	acct        *runtime.Account
	name        string
	starts      []graph.VertexID
	steps       []types // none: none exists
	labels      map[byte][]graph.LabelID
	named       map[byte]bool // the filter names labels of this sort, whether they exist or not
	filterStart bool
	least, most int
	limit       int
	found       []graph.VertexID
}

// types are the edges that a search follows in a direction.
type types struct {
	types []graph.TypeID // none: all
	dir   graph.Direction
}

// newSubgraph reads the arguments of a call.
func newSubgraph(name string, c *exec.Call) (*subgraph, error) {
	s := &subgraph{
		c: c, acct: &runtime.Account{Run: c.Run, Name: "Subgraph"}, name: name, steps: []types{{dir: graph.Both}}, most: math.MaxInt,
		limit: math.MaxInt, labels: map[byte][]graph.LabelID{}, named: map[byte]bool{},
	}
	var err error
	if s.starts, err = vertexIDs(name, "startNode", c.Args[0]); err != nil {
		return s, err
	}
	if c.Args[1].IsNull() {
		return s, nil
	}
	if c.Args[1].Kind() != graph.Map {
		return s, badArgument(name, "config", "a map", c.Args[1])
	}
	for _, e := range c.Args[1].Map() {
		if e.Value.IsNull() {
			continue
		}
		if err := s.option(e.Key, e.Value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// option sets one entry of the configuration.
func (s *subgraph) option(key string, v graph.Value) error {
	wrong := func(wanted string) error {
		return fn.CallFailed("%s: %s must be %s, not %s", s.name, key, wanted, notation.Describe(v))
	}
	switch key {
	case "relationshipFilter", "labelFilter":
		if v.Kind() != graph.String {
			return wrong("a String")
		}
		if strings.Contains(v.Str(), ",") {
			return fn.CallFailed("%s: %s has a comma: sequences of filters are not supported", s.name, key)
		}
		if key == "labelFilter" {
			s.filterLabels(v.Str())
		} else {
			s.filterTypes(v.Str())
		}
	case "minLevel", "maxLevel", "limit":
		level, ok := v.Whole()
		if !ok || level < -1 || key == "minLevel" && level > 1 {
			return wrong(map[bool]string{true: "-1, 0 or 1", false: "an Integer from -1 on"}[key == "minLevel"])
		}
		n := int(level)
		if n < 0 {
			n = math.MaxInt
		}
		switch key {
		case "minLevel":
			s.least = max(0, int(v.Int()))
		case "maxLevel":
			s.most = n
		default:
			s.limit = n
		}
	case "bfs", "filterStartNode":
		if v.Kind() != graph.Bool {
			return wrong("a Boolean")
		}
		if key == "filterStartNode" {
			s.filterStart = v.Bool()
		} else if !v.Bool() {
			return fn.CallFailed("%s: a depth-first search (bfs: false) is not supported", s.name)
		}
	default:
		return fn.CallFailed("%s: there is no %s; there are bfs, filterStartNode, labelFilter, limit, maxLevel, minLevel and relationshipFilter", s.name, key)
	}
	return nil
}

// filterTypes reads a filter of relationships: A|B>|<C, where > and < alone stand for all types.
func (s *subgraph) filterTypes(filter string) {
	if strings.TrimSpace(filter) == "" {
		return
	}
	var by [3]types
	var all, some [3]bool
	for part := range strings.SplitSeq(filter, "|") {
		name, in := strings.CutPrefix(strings.TrimSpace(part), "<")
		name, out := strings.CutSuffix(name, ">")
		dir := graph.Both
		switch {
		case in && !out:
			dir = graph.In
		case out && !in:
			dir = graph.Out
		}
		by[dir].dir = dir
		if name == "" {
			all[dir] = true
		} else if id, ok := s.c.Graph.Type(name); ok {
			by[dir].types, some[dir] = append(by[dir].types, id), true
		}
	}
	s.steps = nil
	for dir := range by {
		if all[dir] {
			by[dir].types = nil
		}
		if all[dir] || some[dir] {
			s.steps = append(s.steps, by[dir])
		}
	}
}

// filterLabels reads a filter of labels: +A (or A) may be passed, -B may not, >C is wanted, and at /D, which is wanted too, the search
// ends.
func (s *subgraph) filterLabels(filter string) {
	for part := range strings.SplitSeq(filter, "|") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		sort := byte('+')
		if strings.IndexByte("+->/", part[0]) >= 0 {
			sort, part = part[0], part[1:]
		}
		s.named[sort] = true
		if id, ok := s.c.Graph.Label(part); ok {
			s.labels[sort] = append(s.labels[sort], id)
		}
	}
}

// judge says of a vertex with some labels whether it is part of the result and whether the search goes on from it.
func (s *subgraph) judge(set graph.LabelSet, depth int) (include, on bool) {
	has := func(sort byte) bool {
		return slices.ContainsFunc(s.c.Graph.Labels(set), func(l graph.LabelID) bool { return slices.Contains(s.labels[sort], l) })
	}
	wanted := !s.named['>'] && !s.named['/']
	switch {
	case depth == 0 && !s.filterStart:
		return wanted, true
	case has('-'):
		return false, false
	case has('/'):
		return true, depth < s.least
	case has('>'):
		return true, true
	case !s.named['+'] || has('+'):
		return wanted, true
	}
	return false, false
}

// vertexBytes is about what a vertex takes in the sets and the result.
const vertexBytes = 64

// search finds the vertices, level by level.
func (s *subgraph) search(ctx context.Context) error {
	if err := s.c.Run.CheckVertices(s.starts); err != nil {
		return err
	}
	var seen graph.VertexSet
	var res shard.Neighbours
	var sets []graph.LabelSet
	level := seen.AppendNew(nil, s.starts)
	for depth := 0; len(level) > 0 && len(s.found) < s.limit; depth++ {
		if err := s.acct.Grow(vertexBytes * len(level)); err != nil {
			return err
		}
		slices.Sort(level)
		sets = slices.Grow(sets[:0], len(level))[:len(level)]
		if err := s.c.Tx.LabelSets(ctx, level, sets); err != nil {
			return err
		}
		next := level[:0]
		for i, v := range level {
			include, on := s.judge(sets[i], depth)
			if include && depth >= s.least && len(s.found) < s.limit {
				s.found = append(s.found, v)
			}
			if on && sets[i] != 0 {
				next = append(next, v)
			}
		}
		if depth >= s.most || len(s.found) >= s.limit {
			break
		}
		level = nil
		for _, step := range s.steps {
			req := shard.Expand{Sources: next, Types: step.types, Dir: step.dir}
			if err := s.expand(ctx, &req, &res, func(int) error { level = seen.AppendNew(level, res.Targets); return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

// expand finds the edges of req in portions; the sources of a portion follow the one with the number that use gets.
func (s *subgraph) expand(ctx context.Context, req *shard.Expand, res *shard.Neighbours, use func(first int) error) error {
	req.MaxEdges = 1 << 14
	all := req.Sources
	for first := 0; first < len(all); first += res.Done {
		req.Sources = all[first:]
		if err := s.c.Run.CheckCancel(ctx); err != nil {
			return err
		}
		if err := s.c.Tx.Expand(ctx, req, res); err != nil {
			return err
		}
		if err := s.c.Run.Visit(res.Seen); err != nil {
			return err
		}
		if err := use(first); err != nil {
			return err
		}
	}
	return nil
}

// nodes returns the vertices found as values.
func (s *subgraph) nodes() []graph.Value {
	out := make([]graph.Value, len(s.found))
	for i, v := range s.found {
		out[i] = graph.VertexValue(v)
	}
	return out
}

// relationships returns all edges between the vertices found.
func (s *subgraph) relationships(ctx context.Context) ([]graph.Value, error) {
	var in graph.VertexSet
	in.AddAll(s.found)
	sources := slices.Sorted(slices.Values(s.found))
	var res shard.Neighbours
	rels := []graph.Value{}
	err := s.expand(ctx, &shard.Expand{Sources: sources, Dir: graph.Out, Edges: true}, &res, func(first int) error {
		before := len(rels)
		for u := range res.Done {
			for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
				if in.Has(res.Targets[i]) {
					e := graph.Edge{ID: res.Edges[i], Type: res.Types[i], Src: sources[first+u], Dst: res.Targets[i]}
					rels = append(rels, graph.EdgeRefValue(&graph.EdgeValue{Edge: e}))
				}
			}
		}
		return s.acct.Grow(2 * vertexBytes * (len(rels) - before))
	})
	return rels, err
}
