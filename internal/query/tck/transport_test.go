package tck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// TestTransports runs the passing cases through the transports of a server; a short test runs one in four of them. Bolt has its clients' test
// of them, internal/server/boltapi/clients/conformance.
func TestTransports(t *testing.T) {
	passing := readPassing(t)
	all := slices.DeleteFunc(cases(t), func(c conformanceCase) bool { return !passing[c.ID] })
	store := oracle.New(2)
	require.NoError(t, store.CreateGraph(t.Context(), query.DefaultGraph))
	e := query.New(store, query.Options{})
	s := server.New(e, loader.New(store), nil, prometheus.NewRegistry(), server.Options{Logger: slog.New(slog.DiscardHandler)})
	addrs, err := s.Listen(context.Background(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", "admin": "127.0.0.1:0"})
	require.NoError(t, err)
	conn, err := grpc.NewClient(addrs["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		http.DefaultClient.CloseIdleConnections()
		s.Drain(context.Background())
	})
	for _, x := range []struct {
		name string
		runner
	}{{"HTTP", httpTransport{address: addrs["http"]}}, {"gRPC", grpcTransport{pb.NewGraphServiceClient(conn)}}} {
		t.Run(x.name, func(t *testing.T) {
			ran := 0
			for i, c := range all {
				if testing.Short() && i%4 != 0 {
					continue
				}
				ran++
				if err := c.runThrough(x, e); err != nil {
					t.Errorf("%s: %v", c.ID, err)
				}
			}
			conformance.OpenCypher.Ran(t, x.name, ran)
		})
	}
}

// runThrough runs the case through a transport to the engine.
func (c *conformanceCase) runThrough(r runner, e *query.Engine) error {
	var procs []query.TestProcedure
	for _, p := range c.Procedures {
		x, err := parseProcedure(p.Signature, p.Rows)
		if err != nil {
			return err
		}
		procs = append(procs, query.TestProcedure{Signature: p.Signature, Columns: p.Columns, Rows: x.rows})
	}
	if err := e.SetTestProcedures(procs); err != nil {
		return err
	}
	if _, err := r.run("MATCH (n) DETACH DELETE n", nil); err != nil {
		return err
	}
	return c.run(r)
}

// httpTransport is an HTTP listener, asked for typed values.
type httpTransport struct{ address, token string }

func (x httpTransport) run(statement string, params map[string]graph.Value) (*answer, error) {
	asked := map[string]json.RawMessage{}
	for name, v := range params {
		asked[name] = notation.TypedJSON.Append(nil, v)
	}
	body, err := json.Marshal(map[string]any{"includeCounters": true, "statement": statement, "parameters": asked})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+x.address+"/v1/query", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/vnd.neo4j.query")
	req.Header.Set("Accept", "application/vnd.neo4j.query")
	if x.token != "" {
		req.Header.Set("Authorization", "Bearer "+x.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var got struct {
		Data struct {
			Fields []string
			Values [][]typedValue
		}
		Counters exec.Counters
		Errors   []struct {
			Type, Phase, Detail, Message string
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return nil, err
	}
	if len(got.Errors) > 0 {
		e, line := got.Errors[0], 0
		if m := messagePlace.FindStringSubmatch(e.Message); m != nil {
			line, _ = strconv.Atoi(m[1])
		}
		return nil, &graph.Error{Type: e.Type, Phase: e.Phase, Detail: e.Detail, Msg: e.Message, Pos: graph.Pos{Line: line}}
	}
	a := &answer{columns: got.Data.Fields, counters: got.Counters}
	for _, values := range got.Data.Values {
		row := make([]any, len(values))
		for i, v := range values {
			if row[i], err = v.value(); err != nil {
				return nil, err
			}
			if i == 0 && (v.Type == "Node" || v.Type == "Relationship") {
				var id struct {
					ID string `json:"_element_id"`
				}
				if err := json.Unmarshal(v.Value, &id); err != nil {
					return nil, err
				}
				a.entities = append(a.entities, id.ID)
			}
		}
		a.rows = append(a.rows, row)
	}
	return a, nil
}

// messagePlace finds the line in the message of an error of HTTP.
var messagePlace = regexp.MustCompile(`\(line (\d+), column \d+`)

// typedValue is a value in the form of application/vnd.neo4j.query.
type typedValue struct {
	Type  string          `json:"$type"`
	Value json.RawMessage `json:"_value"`
}

func (v typedValue) value() (x any, err error) {
	into := func(dst any) any {
		err = json.Unmarshal(v.Value, dst)
		return dst
	}
	switch v.Type {
	case "Null":
		return nil, nil
	case "Boolean":
		b := *into(new(bool)).(*bool)
		return b, err
	case "Integer":
		s := *into(new(string)).(*string)
		return strconv.ParseInt(s, 10, 64)
	case "Float":
		s := *into(new(string)).(*string)
		return strconv.ParseFloat(s, 64)
	case "List":
		out := []any{}
		for _, e := range *into(new([]typedValue)).(*[]typedValue) {
			y, err := e.value()
			if err != nil {
				return nil, err
			}
			out = append(out, y)
		}
		return out, err
	case "Map":
		return typedMap(*into(new(map[string]typedValue)).(*map[string]typedValue))
	case "Node":
		var n struct {
			Labels []string              `json:"_labels"`
			Props  map[string]typedValue `json:"_properties"`
		}
		into(&n)
		if err != nil {
			return nil, err
		}
		props, err := typedMap(n.Props)
		sort.Strings(n.Labels)
		return &node{labels: append([]string{}, n.Labels...), props: props}, err
	case "Relationship":
		var r struct {
			Type  string                `json:"_type"`
			Props map[string]typedValue `json:"_properties"`
		}
		into(&r)
		if err != nil {
			return nil, err
		}
		props, err := typedMap(r.Props)
		return &rel{typ: r.Type, props: props}, err
	case "Path":
		elements := *into(new([]typedValue)).(*[]typedValue)
		out := &path{}
		var ids []string
		for i, e := range elements {
			y, err := e.value()
			if err != nil {
				return nil, err
			}
			out.elements = append(out.elements, y)
			var id struct {
				ID    string `json:"_element_id"`
				Start string `json:"_start_node_element_id"`
				End   string `json:"_end_node_element_id"`
			}
			if err := json.Unmarshal(e.Value, &id); err != nil {
				return nil, err
			}
			if i%2 == 1 {
				out.forward = append(out.forward, forward(id.Start, id.End, ids[i-1]))
			}
			ids = append(ids, id.ID)
		}
		return out, err
	case "Vector":
		var v struct {
			CoordinatesType string
			Coordinates     json.RawMessage
		}
		into(&v)
		return vectorText(v.CoordinatesType, v.Coordinates)
	case "String", "Date", "Time", "LocalTime", "OffsetDateTime", "ZonedDateTime", "LocalDateTime", "Duration":
		s := *into(new(string)).(*string)
		return s, err
	}
	return nil, fmt.Errorf("$type %s", v.Type)
}

// vectorText returns a vector as caseValue does.
func vectorText(typ string, coordinates []byte) (any, error) {
	t, _ := graph.ParseCoordinateType(typ)
	var list []float64
	if err := json.Unmarshal(coordinates, &list); err != nil {
		return nil, err
	}
	numbers := make([]graph.Value, len(list))
	for i, x := range list {
		numbers[i] = graph.FloatValue(x)
	}
	v, err := graph.VectorOf(t, numbers)
	return string(v.Append(nil)), err
}

// forward is how an edge points along a path that comes from a vertex.
func forward(start, end, from string) int {
	switch {
	case start == end:
		return 0
	case start == from:
		return 1
	}
	return -1
}

func typedMap(m map[string]typedValue) (map[string]any, error) {
	out := map[string]any{}
	for k, v := range m {
		x, err := v.value()
		if err != nil {
			return nil, err
		}
		out[k] = x
	}
	return out, nil
}

// grpcTransport calls Query.
type grpcTransport struct{ pb.GraphServiceClient }

func (x grpcTransport) run(statement string, params map[string]graph.Value) (*answer, error) {
	req := &pb.QueryRequest{Statement: statement, Parameters: map[string]*pb.Value{}}
	for name, v := range params {
		req.Parameters[name] = wire.ToProto(v)
	}
	stream, err := x.Query(context.Background(), req)
	if err != nil {
		return nil, err
	}
	a := &answer{}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, errorOf(status.Convert(err))
		}
		switch p := part.GetPart().(type) {
		case *pb.QueryResponse_Header:
			a.columns = p.Header.GetFields()
		case *pb.QueryResponse_Summary:
			c := p.Summary.GetCounters()
			a.counters = exec.Counters{
				NodesCreated: int64(c.GetNodesCreated()), NodesDeleted: int64(c.GetNodesDeleted()),
				RelationshipsCreated: int64(c.GetRelationshipsCreated()), RelationshipsDeleted: int64(c.GetRelationshipsDeleted()),
				PropertiesSet: int64(c.GetPropertiesSet()), LabelsAdded: int64(c.GetLabelsAdded()), LabelsRemoved: int64(c.GetLabelsRemoved()),
			}
		case *pb.QueryResponse_Rows:
			for i := range int(p.Rows.GetRows()) {
				row := make([]any, len(p.Rows.GetColumns()))
				for j, col := range p.Rows.GetColumns() {
					row[j] = cellOf(col, i)
					v := listOf(col, i)
					if id := v.GetVertex().GetElementId() + v.GetEdge().GetElementId(); j == 0 && id != "" {
						a.entities = append(a.entities, id)
					}
				}
				a.rows = append(a.rows, row)
			}
		}
	}
}

// errorOf returns the error that a status describes.
func errorOf(st *status.Status) error {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			m := info.GetMetadata()
			line, _ := strconv.Atoi(m["line"])
			return &graph.Error{Type: m["type"], Phase: m["phase"], Detail: m["detail"], Msg: st.Message(), Pos: graph.Pos{Line: line}}
		}
	}
	return st.Err()
}

// listOf returns the value of a cell of an untyped column.
func listOf(col *pb.Column, i int) *pb.Value {
	if vs := col.GetValues().GetValues(); i < len(vs) {
		return vs[i]
	}
	return nil
}

func cellOf(col *pb.Column, i int) any {
	switch d := col.GetData().(type) {
	case *pb.Column_Integers:
		return d.Integers.GetValues()[i]
	case *pb.Column_Floats:
		return d.Floats.GetValues()[i]
	case *pb.Column_Texts:
		ends, start := d.Texts.GetEnds(), uint32(0)
		if i > 0 {
			start = ends[i-1]
		}
		return string(d.Texts.GetText()[start:ends[i]])
	}
	return protoValue(listOf(col, i))
}

func protoValue(v *pb.Value) any {
	switch k := v.GetKind().(type) {
	case nil:
		return nil
	case *pb.Value_Boolean:
		return k.Boolean
	case *pb.Value_Integer:
		return k.Integer
	case *pb.Value_Float:
		return k.Float
	case *pb.Value_String_:
		return k.String_
	case *pb.Value_Temporal:
		return k.Temporal.GetText()
	case *pb.Value_List:
		out := []any{}
		for _, e := range k.List.GetValues() {
			out = append(out, protoValue(e))
		}
		return out
	case *pb.Value_Map:
		return protoMap(k.Map.GetEntries())
	case *pb.Value_Vertex:
		return protoNode(k.Vertex)
	case *pb.Value_Edge:
		return &rel{typ: k.Edge.GetType(), props: protoMap(k.Edge.GetProperties())}
	case *pb.Value_Path:
		vs := k.Path.GetVertices()
		out := &path{elements: []any{protoNode(vs[0])}}
		for i, e := range k.Path.GetEdges() {
			out.elements = append(out.elements, &rel{typ: e.GetType(), props: protoMap(e.GetProperties())}, protoNode(vs[i+1]))
			out.forward = append(out.forward, forward(e.GetStartElementId(), e.GetEndElementId(), vs[i].GetElementId()))
		}
		return out
	}
	x, err := wire.FromProto(v, 0, nil)
	if err != nil {
		return err
	}
	return caseValue(x)
}

func protoNode(v *pb.Vertex) *node {
	labels := append([]string{}, v.GetLabels()...)
	sort.Strings(labels)
	return &node{labels: labels, props: protoMap(v.GetProperties())}
}

func protoMap(entries []*pb.MapEntry) map[string]any {
	out := map[string]any{}
	for _, e := range entries {
		out[e.GetKey()] = protoValue(e.GetValue())
	}
	return out
}
