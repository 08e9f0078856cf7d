package fetch

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/search"
)

// textSearch is @search: the rows that a full-text index finds, the highest score first.
type textSearch struct {
	n        *node
	index    string
	query    string
	analyzer string // or "", the index's
}

// parseSearch reads {"index": "texts", "query": "quick AND fox"}, with an analyzer if the query is split by another one than the index.
func (t *table) parseSearch(m *node) error {
	if m.kind != kObject {
		return illegal(m, "must be an object with index and query, was %s", m.what())
	}
	t.search = &textSearch{n: m}
	for _, e := range m.members {
		if e.kind != kString {
			return illegal(e, "must be a string, was %s", e.what())
		}
		switch e.key {
		case "index":
			t.search.index = e.str()
		case "query":
			t.search.query = e.str()
			if _, err := search.Parse(e.str()); err != nil {
				return illegal(e, "%s", graph.AsError(err).Msg)
			}
		case "analyzer":
			if _, err := search.FindAnalyzer(e.str()); err != nil {
				return illegal(e, "%s", graph.AsError(err).Msg)
			}
			t.search.analyzer = e.str()
		default:
			return illegal(e, "@search has index, query and analyzer")
		}
	}
	if t.search.index == "" || m.get("query") == nil {
		return illegal(m, "@search needs an index and a query")
	}
	return nil
}
