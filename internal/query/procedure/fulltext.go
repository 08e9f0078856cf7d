package procedure

import (
	"context"
	"math"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/search"
	"github.com/hopgate/hopgate/internal/shard"
)

// addFullText adds Neo4j's procedures for full-text indexes.
func (r *Registry) addFullText() {
	const arguments = "(indexName :: STRING, queryString :: STRING, options = {} :: MAP) :: "
	r.addTextSearch("db.index.fulltext.queryNodes"+arguments+"(node :: NODE, score :: FLOAT)",
		"Find the nodes of a full-text index that match a query in Lucene's syntax, with their scores, the best first. Options are skip, limit and analyzer.")
	r.addTextSearch("db.index.fulltext.queryRelationships"+arguments+"(relationship :: RELATIONSHIP, score :: FLOAT)",
		"Find the relationships of a full-text index that match a query in Lucene's syntax, with their scores, the best first. Options are skip, limit and analyzer.")
	r.add("db.index.fulltext.listAvailableAnalyzers() :: (analyzer :: STRING, description :: STRING, stopwords :: LIST<STRING>)",
		"List the analyzers that full-text indexes can have.", func(context.Context, *exec.Call) ([][]graph.Value, error) {
			var rows [][]graph.Value
			for _, a := range search.Analyzers() {
				rows = append(rows, []graph.Value{text(a.Name), text(a.Description), texts(a.StopWords)})
			}
			return rows, nil
		})
	r.add("db.index.fulltext.awaitEventuallyConsistentIndexRefresh() :: ()", "Wait until all full-text indexes have what was committed before.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			for _, ix := range c.Graph.Indexes() {
				if ix.Kind != graph.FullTextIndex || !ix.Online || ix.Failure != "" {
					continue
				}
				if err := c.Run.SearchText(ctx, &shard.TextSearch{Index: ix.ID, Await: true}, &shard.TextHits{}); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
}

// addTextSearch adds a procedure that searches a full-text index.
func (r *Registry) addTextSearch(signature, description string) {
	r.add(signature, description, nil)
	name, _, _ := strings.Cut(signature, "(")
	r.builtin[strings.ToLower(name)].table = func(ctx context.Context, c *exec.Call) (*exec.Table, error) {
		return searchText(ctx, name, c)
	}
}

// searchText runs a call of db.index.fulltext.queryNodes or queryRelationships.
func searchText(ctx context.Context, name string, c *exec.Call) (*exec.Table, error) {
	ix, err := namedIndex(name, graph.FullTextIndex, c)
	if err != nil {
		return nil, err
	}
	if c.Args[1].Kind() != graph.String {
		return nil, badArgument(name, "queryString", "a string", c.Args[1])
	}
	acct := &runtime.Account{Run: c.Run, Name: "FullTextSearch"}
	req := &shard.TextSearch{Index: ix.ID, Query: c.Args[1].Str(), Room: acct.Grow}
	skip, err := textOptions(name, c.Args[2], req)
	var hits shard.TextHits
	if err == nil && (req.Most != 0 || !hasLimit(c.Args[2])) {
		err = c.Run.SearchText(ctx, req, &hits)
	}
	if err != nil {
		acct.Release()
		return nil, err
	}
	skip = min(skip, len(hits.Scores))
	return &exec.Table{
		N: len(hits.Scores) - skip,
		Append: func(result, lo, hi int, dst []graph.Value) []graph.Value {
			for i := skip + lo; i < skip+hi; i++ {
				switch {
				case result == 1:
					dst = append(dst, graph.FloatValue(hits.Scores[i]))
				case ix.Type != "":
					dst = append(dst, graph.EdgeRefValue(&graph.EdgeValue{Edge: hits.Edges[i]}))
				default:
					dst = append(dst, graph.VertexValue(hits.Vertices[i]))
				}
			}
			return dst
		},
		Close: acct.Release,
	}, nil
}

// hasLimit reports whether options set a limit.
func hasLimit(options graph.Value) bool {
	if options.Kind() == graph.Map {
		for _, e := range options.Map() {
			if e.Key == "limit" && !e.Value.IsNull() {
				return true
			}
		}
	}
	return false
}

// textOptions reads the options of a search into a request. A limit of 0 leaves Most at 0.
func textOptions(name string, v graph.Value, req *shard.TextSearch) (skip int, err error) {
	if v.IsNull() {
		return 0, nil
	}
	if v.Kind() != graph.Map {
		return 0, badArgument(name, "options", "a map", v)
	}
	limit := -1
	for _, e := range v.Map() {
		switch e.Key {
		case "skip", "limit":
			if e.Value.IsNull() {
				continue
			}
			count, ok := e.Value.Whole()
			if !ok || count < 0 {
				return 0, fn.CallFailed("%s: %s must be an Integer from 0 on, not %s", name, e.Key, notation.Describe(e.Value))
			}
			n := int(min(count, math.MaxInt32))
			if e.Key == "skip" {
				skip = n
			} else {
				limit = n
			}
		case "analyzer":
			if e.Value.Kind() != graph.String {
				return 0, fn.CallFailed("%s: analyzer must be a String, not %s", name, notation.Describe(e.Value))
			}
			req.Analyzer = e.Value.Str()
		default:
			return 0, fn.CallFailed("%s: there is no option %s; there are skip, limit and analyzer", name, e.Key)
		}
	}
	if limit > 0 {
		req.Most = min(skip+limit, math.MaxInt32)
	}
	return skip, nil
}

// namedIndex finds the full-text or vector index that a call names.
func namedIndex(name string, kind graph.IndexKind, c *exec.Call) (*graph.Index, error) {
	if c.Args[0].Kind() != graph.String {
		return nil, badArgument(name, "indexName", "a string", c.Args[0])
	}
	word, words := "vector", "vector"
	if kind == graph.FullTextIndex {
		word, words = "fulltext", "full-text"
	}
	indexes := c.Graph.Indexes()
	for i := range indexes {
		ix := &indexes[i]
		if ix.Name != c.Args[0].Str() || ix.Kind != kind {
			continue
		}
		if of := "db.index." + word + ".query" + map[bool]string{false: "Nodes", true: "Relationships"}[ix.Type != ""]; of != name {
			return nil, fn.CallFailed("%s: the %s index %s is one for %s", name, words, ix.Name, of)
		}
		return ix, nil
	}
	return nil, fn.CallFailed("%s: There is no such %s schema index: %s", name, word, c.Args[0].Str()) // tools look for these words
}
