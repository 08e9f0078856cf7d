package mcpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	mostHits, mostHops = 100, 3
	// candidates is how many hits of each index are ranked together.
	candidates = 100
	// neighbours bounds those of one hit.
	neighbours = 10
)

// searchArgs are the arguments of hybrid-search.
type searchArgs struct {
	Text      string          `json:"text"`
	Vector    json.RawMessage `json:"vector"`
	Indexes   []string        `json:"indexes"`
	Labels    []string        `json:"labels"`
	Hops      int             `json:"hops"`
	Limit     int             `json:"limit"`
	MaxTokens int             `json:"maxTokens"`
}

// index is an index that a search can ask.
type index struct {
	name       string
	text       bool
	dimensions int64 // of a vector index; 0 if any
}

// search finds nodes by text and vector, joins the ranked lists of all indexes by reciprocal rank fusion, and follows hops from the best.
func (s *session) search(in searchArgs) (string, error) {
	limit := cmp.Or(in.Limit, 10)
	switch {
	case in.Text == "" && len(in.Vector) == 0:
		return "", wire.RequestError("text, vector: give one of them, or both")
	case limit < 1 || limit > mostHits:
		return "", wire.RequestError(fmt.Sprintf("limit: must be from 1 to %d, was %d", mostHits, in.Limit))
	case in.Hops < 0 || in.Hops > mostHops:
		return "", wire.RequestError(fmt.Sprintf("hops: must be from 0 to %d, was %d", mostHops, in.Hops))
	}
	tokens, err := s.budget(in.MaxTokens)
	if err != nil {
		return "", err
	}
	params := map[string]graph.Value{"text": graph.StringValue(plainWords(in.Text)), "limit": graph.IntValue(int64(limit))}
	dimensions := int64(0)
	if len(in.Vector) > 0 {
		v, err := wire.DecodeValue(in.Vector, s.h.e.Charge(s.ctx))
		if err != nil {
			return "", wire.BadParams("vector", err)
		}
		if v.Kind() != graph.List {
			return "", wire.RequestError("vector: must be a list of numbers")
		}
		params["vector"], dimensions = v, int64(len(v.List()))
	}
	indexes, err := s.indexes(in.Indexes, in.Text != "", dimensions)
	if err != nil {
		return "", err
	}
	res, err := s.h.e.Query(s.ctx, query.Request{
		Statement: searchStatement(indexes, in.Labels, in.Hops), Graph: s.graph, Params: params, ReadOnly: true,
	})
	if err != nil {
		return "", err
	}
	defer res.Close()
	p, err := s.read(res, 0, tokens, [8]byte{})
	if err != nil {
		return "", err
	}
	names := make([]string, len(indexes))
	for i := range indexes {
		names[i] = indexes[i].name
	}
	notes := []string{"indexes: " + strings.Join(names, ", ")}
	if p.more {
		notes = append(notes, "cut at the budget of tokens: ask for fewer hops, a smaller limit or more maxTokens")
	}
	return p.text(notes...), nil
}

// indexes returns the indexes that a search asks: those named, or all that fit.
func (s *session) indexes(named []string, text bool, dimensions int64) ([]index, error) {
	var all []index
	if err := s.rows("SHOW INDEXES YIELD name, type, entityType, options WHERE entityType = 'NODE' AND type IN ['FULLTEXT', 'VECTOR'] "+
		"RETURN name, type, coalesce(options.indexConfig.`vector.dimensions`, 0) AS dimensions", func(v []graph.Value) {
		all = append(all, index{name: v[0].Str(), text: v[1].Str() == "FULLTEXT", dimensions: v[2].Int()})
	}); err != nil {
		return nil, err
	}
	for _, n := range named {
		if !slices.ContainsFunc(all, func(x index) bool { return x.name == n }) {
			return nil, wire.RequestError(fmt.Sprintf("indexes: there is no full-text or vector index of nodes named %q", n))
		}
	}
	fit := slices.DeleteFunc(slices.Clone(all), func(x index) bool {
		switch {
		case len(named) > 0 && !slices.Contains(named, x.name):
			return true
		case x.text:
			return !text
		}
		return dimensions == 0 || x.dimensions != 0 && x.dimensions != dimensions
	})
	if len(fit) > 0 {
		return fit, nil
	}
	var have []string
	for _, x := range all {
		what := "full text"
		if !x.text {
			what = fmt.Sprintf("vectors of %d dimensions", x.dimensions)
		}
		have = append(have, x.name+" ("+what+")")
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return nil, graph.RequestError(graph.KindInvalid, "NoSuchIndex", "no index of nodes serves this search; those of the graph: %s", strings.Join(have, ", "))
}

// searchStatement returns the statement of a search.
func searchStatement(indexes []index, labels []string, hops int) string {
	var b strings.Builder
	lists := make([]string, len(indexes))
	for i, x := range indexes {
		lists[i] = fmt.Sprintf("list%d", i)
		call := fmt.Sprintf("db.index.vector.queryNodes(%s, %d, $vector)", ast.QuoteString(x.name), candidates)
		if x.text {
			call = fmt.Sprintf("db.index.fulltext.queryNodes(%s, $text, {limit: %d})", ast.QuoteString(x.name), candidates)
		}
		fmt.Fprintf(&b, "CALL () { CALL %s YIELD node, score ", call)
		if len(labels) > 0 {
			quoted := make([]string, len(labels))
			for j, l := range labels {
				quoted[j] = ast.Quote(l)
			}
			fmt.Fprintf(&b, "WHERE node:%s ", strings.Join(quoted, "|"))
		}
		fmt.Fprintf(&b, "WITH node, score ORDER BY score DESC RETURN collect(node) AS %s }\n", lists[i])
	}
	fmt.Fprintf(&b, "UNWIND search.rrf([%s]) AS hit WITH hit.item AS node, hit.score AS score LIMIT $limit\n", strings.Join(lists, ", "))
	if hops == 0 {
		b.WriteString("RETURN node, score")
		return b.String()
	}
	fmt.Fprintf(&b, `CALL (node) {
  MATCH path = (node)-[*1..%d]-(other) WHERE other <> node
  WITH other, path LIMIT %d
  RETURN collect({via: [r IN relationships(path) | type(r)], labels: labels(other), properties: properties(other)}) AS neighbours
}
RETURN node, score, neighbours`, hops, neighbours)
	return b.String()
}

// plainWords returns a text as a query for its words: characters with a meaning in queries are escaped, operators are in lower case.
func plainWords(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		var b strings.Builder
		for _, r := range w {
			if strings.ContainsRune(`+-!(){}[]^"~*?:\/&|<>=`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		if words[i] = b.String(); slices.Contains([]string{"AND", "OR", "NOT"}, words[i]) {
			words[i] = strings.ToLower(words[i])
		}
	}
	return strings.Join(words, " ")
}
