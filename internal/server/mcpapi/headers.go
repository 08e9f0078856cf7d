package mcpapi

import (
	"encoding/json"
	"net/http"
)

// copyHeaders sets the headers of HTTP that repeat members of a message, as the protocol of 2026-07-28 requires. A message that is not JSON
// gets none; its error is that of its parser.
func copyHeaders(h http.Header, message []byte) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
			Meta struct {
				Version string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil || m.Params.Meta.Version == "" {
		return
	}
	h.Set("Mcp-Protocol-Version", m.Params.Meta.Version)
	h.Set("Mcp-Method", m.Method)
	switch m.Method {
	case "tools/call", "prompts/get":
		h.Set("Mcp-Name", m.Params.Name)
	case "resources/read":
		h.Set("Mcp-Name", m.Params.URI)
	}
}
