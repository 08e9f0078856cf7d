package mcpapi

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/trusted"
	"github.com/hopgate/hopgate/internal/server/summary"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// operationsBefore adds the trusted operations to the tools before the first request that asks for them. Other messages do without.
func (s *session) operationsBefore(m *mcp.Server) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			asked := method == "tools/list"
			if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok {
				_, own := inputs[p.Name]
				asked = !own
			}
			if asked {
				if err := s.addOperations(m); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, req)
		}
	}
}

// addOperations adds the operations that the caller may run as tools. The profiles reader and rag have those that
// read.
func (s *session) addOperations(m *mcp.Server) error {
	all, err := s.h.e.Operations.Callable(s.ctx, s.graph)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Write && (s.profile != profileAdmin || o.Kind() == operation.Fetch) { // no statement can call a fetch that writes
			continue
		}
		t := &mcp.Tool{Name: o.Name, Description: o.Description, InputSchema: o.Schema(), Annotations: reading("")}
		if _, own := inputs[o.Name]; own {
			t.Name = "op_" + o.Name
		}
		if o.Write {
			no := false
			t.Annotations = &mcp.ToolAnnotations{OpenWorldHint: &no}
		}
		m.AddTool(t, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answered(s.call(o, req.Params.Arguments)), nil
		})
	}
	return nil
}

// call runs an operation.
func (s *session) call(o *operation.Operation, args json.RawMessage) (string, error) {
	params, err := wire.DecodeParams(args, false, s.h.e.Charge(s.ctx))
	if err != nil {
		return "", err
	}
	res, err := s.h.e.Query(s.ctx, query.Request{
		Operation: &trusted.Call{Name: o.Name}, Graph: s.graph, Params: params, ReadOnly: !o.Write,
	})
	if err != nil {
		return "", err
	}
	defer res.Close()
	p, err := s.read(res, 0, s.tokens, [8]byte{})
	if err != nil {
		return "", err
	}
	notes := notifications(res)
	if p.more {
		notes = append(notes, "cut at the budget of tokens")
	}
	text := p.text(slices.Clip(notes)...)
	if !o.Write || p.more {
		return text, nil
	}
	return withCounters(text, res), nil
}

// withCounters adds what a statement has changed to its answer.
func withCounters(text string, res *query.Result) string {
	sum := res.Summary()
	sum.Plan, sum.Notifications = nil, nil
	return text[:len(text)-1] + "," + string(summary.AppendJSON(nil, sum)) + "}"
}
