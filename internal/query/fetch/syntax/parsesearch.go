package syntax

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
)

// TextSearch is @search: the rows that a full-text index finds, the highest score first.
type TextSearch struct {
	N        *Node
	Index    string
	Query    string
	Analyzer string // or "", the index's
}

// parseSearch reads {"index": "texts", "query": "quick AND fox"}, with an analyzer if the query is split by another one than the index.
func (t *Table) parseSearch(m *Node) error {
	if m.Kind != JSONObject {
		return Illegal(m, "must be an object with index and query, was %s", m.What())
	}
	t.Search = &TextSearch{N: m}
	for _, e := range m.Members {
		if e.Kind != JSONString {
			return Illegal(e, "must be a string, was %s", e.What())
		}
		switch e.Key {
		case "index":
			t.Search.Index = e.Str()
		case "query":
			t.Search.Query = e.Str()
			if _, err := search.Parse(e.Str()); err != nil {
				return Illegal(e, "%s", graph.AsError(err).Msg)
			}
		case "analyzer":
			if _, err := search.FindAnalyzer(e.Str()); err != nil {
				return Illegal(e, "%s", graph.AsError(err).Msg)
			}
			t.Search.Analyzer = e.Str()
		default:
			return Illegal(e, "@search has index, query and analyzer")
		}
	}
	if t.Search.Index == "" || m.Get("query") == nil {
		return Illegal(m, "@search needs an index and a query")
	}
	return nil
}
