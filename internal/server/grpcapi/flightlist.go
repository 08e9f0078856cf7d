package grpcapi

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/schema"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// A flight with a path is a table of the vertices of a label, GRAPH/vertices/LABEL, or of the edges of a type, GRAPH/edges/TYPE. It has a column
// for each property that one of them has.
const (
	verticesPath = "vertices"
	edgesPath    = "edges"
)

// ListFlights lists the labels and the types of a graph, which the criteria name.
func (s *flightService) ListFlights(c *flight.Criteria, stream flight.FlightService_ListFlightsServer) error {
	name := string(c.GetExpression())
	schema, err := s.e.Schema(stream.Context(), name)
	if err != nil {
		return wire.GRPCError(err)
	}
	name = cmp.Or(name, query.DefaultGraph)
	for _, n := range schema.Labels {
		if err := stream.Send(tableInfo(&schema, name, verticesPath, n)); err != nil {
			return err
		}
	}
	for _, n := range schema.Types {
		if err := stream.Send(tableInfo(&schema, name, edgesPath, n)); err != nil {
			return err
		}
	}
	return nil
}

// elementInfo describes the table at a path.
func (s *flightService) elementInfo(ctx context.Context, path []string) (*flight.FlightInfo, error) {
	if len(path) != 3 || path[1] != verticesPath && path[1] != edgesPath {
		return nil, wire.RequestError("the path of the flight: must be GRAPH, vertices, LABEL or GRAPH, edges, TYPE")
	}
	schema, err := s.e.Schema(ctx, path[0])
	if err != nil {
		return nil, err
	}
	names, what := schema.Labels, "label"
	if path[1] == edgesPath {
		names, what = schema.Types, "type"
	}
	for _, n := range names {
		if n.Name == path[2] {
			return tableInfo(&schema, path[0], path[1], n), nil
		}
	}
	return nil, graph.RequestError(graph.KindNotFound, "NoSuchFlight", "the graph %s has no %s %s", path[0], what, strconv.Quote(path[2]))
}

// tableInfo describes the table of a label or a type.
func tableInfo(schema *schema.Schema, graphName, kind string, n schema.NameCount) *flight.FlightInfo {
	statement, element := "MATCH (n:"+ast.Quote(n.Name)+") RETURN elementId(n) AS elementId", "n"
	if kind == edgesPath {
		statement = "MATCH (s)-[r:" + ast.Quote(n.Name) + "]->(e) RETURN elementId(r) AS elementId, elementId(s) AS startNodeElementId, elementId(e) AS endNodeElementId"
		element = "r"
	}
	var b strings.Builder
	b.WriteString("USE " + ast.Quote(graphName) + " " + statement)
	for _, p := range schema.PropCounts {
		if kind == verticesPath && p.Label == n.Name || kind == edgesPath && p.Type == n.Name {
			column := p.Prop
			if strings.Contains(statement, " AS "+column) {
				column = "properties." + column
			}
			b.WriteString(", " + element + "." + ast.Quote(p.Prop) + " AS " + ast.Quote(column))
		}
	}
	info := ticketInfo(&flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{graphName, kind, n.Name}}, []byte(b.String()))
	info.TotalRecords = int64(n.Count)
	return info
}

// fetchAction is the type of the action that runs a JSON-array fetch.
const fetchAction = "hopgate.fetch"

// fetchBody is the body of a fetchAction, as JSON.
type fetchBody struct {
	Graph     string          `json:"graph"`
	Method    string          `json:"method"` // default get
	Request   json.RawMessage `json:"request"`
	TimeoutMs int64           `json:"timeoutMs"`
}

// DoAction runs a fetch, or an action of Flight SQL.
func (s *flightService) DoAction(a *flight.Action, stream flight.FlightService_DoActionServer) error {
	if a.GetType() != fetchAction {
		return s.FlightServer.DoAction(a, stream)
	}
	var b fetchBody
	if err := wire.DecodeJSON(a.GetBody(), true, &b); err != nil {
		return wire.GRPCError(err)
	}
	err := b.run(stream.Context(), s.e, func(p []byte) error { return stream.Send(&flight.Result{Body: p}) })
	if err != nil {
		return wire.GRPCError(err)
	}
	return nil
}

// run sends the answer of the fetch in pieces.
func (b *fetchBody) run(ctx context.Context, e *query.Engine, send pieces) error {
	timeout, err := millis("timeoutMs", b.TimeoutMs)
	if err != nil {
		return err
	}
	_, err = e.Fetch(ctx, query.FetchRequest{Graph: b.Graph, Method: cmp.Or(b.Method, "get"), Body: b.Request, Timeout: timeout}, send)
	return err
}

// pieces sends what is written to it in messages that clients can read.
type pieces func(p []byte) error

func (send pieces) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += rowBytes {
		if err := send(p[n:min(n+rowBytes, len(p))]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}
