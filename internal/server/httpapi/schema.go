package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/hopgate/hopgate/internal/query/schema"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// schemaJSON is the response of GET /v1/schema.
type schemaJSON struct {
	Vertices   uint64         `json:"vertices"`
	Edges      uint64         `json:"edges"`
	Labels     []nameJSON     `json:"labels"`
	EdgeTypes  []nameJSON     `json:"edgeTypes"`
	Properties []propertyJSON `json:"properties"`
	Indexes    []indexJSON    `json:"indexes"`
}

type nameJSON struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// propertyJSON counts the vertices of a label, or the edges of a type, that have a property.
type propertyJSON struct {
	Label    string `json:"label,omitempty"`
	EdgeType string `json:"edgeType,omitempty"`
	Property string `json:"property"`
	Count    uint64 `json:"count"`
}

type indexJSON struct {
	Name       string   `json:"name"`
	Label      string   `json:"label,omitempty"`
	EdgeType   string   `json:"edgeType,omitempty"`
	Properties []string `json:"properties"`
	Unique     bool     `json:"unique"`
	Required   bool     `json:"required"`
	Online     bool     `json:"online"`
	Distinct   uint64   `json:"distinct"` // an estimate; 0 without an index
}

// schema describes a graph, from the counters that every commit maintains.
func (h *Handler) schema(w http.ResponseWriter, r *http.Request) {
	s, err := h.e.Schema(r.Context(), r.URL.Query().Get("graph"))
	if err != nil {
		wire.Fail(w, err)
		return
	}
	out := schemaJSON{
		Vertices: s.Vertices, Edges: s.Edges, Labels: namesJSON(s.Labels), EdgeTypes: namesJSON(s.Types),
		Properties: []propertyJSON{}, Indexes: []indexJSON{},
	}
	for _, p := range s.PropCounts {
		if p.Label != "" || p.Type != "" {
			out.Properties = append(out.Properties, propertyJSON{p.Label, p.Type, p.Prop, p.Count})
		}
	}
	distinct := map[string]uint64{}
	for _, d := range s.Distinct {
		distinct[d.Name] = d.Count
	}
	for _, ix := range s.Indexes {
		out.Indexes = append(out.Indexes, indexJSON{ix.Name, ix.Label, ix.Type, ix.Props, ix.Unique, ix.Required, ix.Online, distinct[ix.Name]})
	}
	writeJSON(w, out)
}

func namesJSON(list []schema.NameCount) []nameJSON {
	out := make([]nameJSON, len(list))
	for i, n := range list {
		out[i] = nameJSON{n.Name, n.Count}
	}
	return out
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", wire.MediaPlain)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}
