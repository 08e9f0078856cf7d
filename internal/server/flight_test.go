package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
)

// flightClient is a client of Flight SQL and of Flight below it.
func flightClient(t *testing.T, r *running) *flightsql.Client {
	c, err := flightsql.NewClient(r.addrs.GRPC, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// flightRows reads a stream to its end: the schema, and the rows as text.
func flightRows(r *flight.Reader, err error) (schema string, rows []string, failed error) {
	if err != nil {
		return "", nil, err
	}
	defer r.Release()
	for _, f := range r.Schema().Fields() {
		schema += fmt.Sprintf("%s %s, ", f.Name, f.Type)
	}
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			return strings.TrimSuffix(schema, ", "), rows, nil
		}
		if err != nil {
			return schema, rows, err
		}
		for i := range int(rec.NumRows()) {
			var row []string
			for _, c := range rec.Columns() {
				row = append(row, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(row, " "))
		}
	}
}

// infoRows runs what a flight's information names.
func infoRows(ctx context.Context, c *flightsql.Client, info *flight.FlightInfo, err error) (string, []string, error) {
	if err != nil {
		return "", nil, err
	}
	return flightRows(c.DoGet(ctx, info.GetEndpoint()[0].GetTicket()))
}

// Statements run over plain Flight, by text or with parameters, and over Flight SQL, with the types of Arrow over HTTP.
func TestFlight(t *testing.T) {
	r := serve(t)
	ctx, c := t.Context(), flightClient(t, r)
	get := func(ticket string) (string, []string, error) {
		return flightRows(c.DoGet(ctx, &flight.Ticket{Ticket: []byte(ticket)}))
	}
	schema, rows, err := get("\nUNWIND [1, null, 3] AS x RETURN x, toString(x) AS s, date('2026-01-02') AS d")
	require.NoError(t, err)
	require.Equal(t, "x int64, s utf8, d date32", schema)
	require.Equal(t, []string{"1 1 2026-01-02", "(null) (null) 2026-01-02", "3 3 2026-01-02"}, rows)
	_, rows, err = get(`{"statement": "RETURN $a + $b.c[1]", "parameters": {"a": 1, "b": {"c": [2, 3]}}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"4"}, rows)
	schema, rows, err = get("CREATE (:User {name: 'Ann'})")
	require.NoError(t, err)
	require.Empty(t, schema)
	require.Empty(t, rows)

	d := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("MATCH (u:User) RETURN u.name")}
	info, err := c.Client.GetFlightInfo(ctx, d)
	_, rows, err = infoRows(ctx, c, info, err)
	require.NoError(t, err)
	require.Equal(t, []string{"Ann"}, rows)

	info, err = c.Execute(ctx, "MATCH (u:User) RETURN u.name, 1.5 AS f")
	schema, rows, err = infoRows(ctx, c, info, err)
	require.NoError(t, err)
	require.Equal(t, "u.name utf8, f float64", schema)
	require.Equal(t, []string{"Ann 1.5"}, rows)

	_, err = c.ExecuteUpdate(ctx, "CREATE (:User), (:User)")
	require.NoError(t, err)
	var trailer metadata.MD
	_, _, err = flightRows(c.DoGet(ctx, &flight.Ticket{Ticket: []byte("MATCH (u:User) SET u.seen = true")}, grpc.Trailer(&trailer)))
	require.NoError(t, err)
	require.Contains(t, trailer.Get("hopgate-summary")[0], `"propertiesSet":3`)
	_, rows, err = get("MATCH (u:User) RETURN count(u)")
	require.NoError(t, err)
	require.Equal(t, []string{"3"}, rows)

	info, err = c.GetSqlInfo(ctx, []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName})
	_, rows, err = infoRows(ctx, c, info, err)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Contains(t, rows[0], "Hopgate")
}

// A prepared statement runs with Arrow parameters; an update runs once for each of their rows, or not at all without rows.
func TestFlightPrepared(t *testing.T) {
	r := serve(t)
	ctx, c := t.Context(), flightClient(t, r)
	batch := func(json string) arrow.RecordBatch {
		schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "name", Type: arrow.BinaryTypes.String}}, nil)
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
		require.NoError(t, err)
		return rec
	}
	create, err := c.Prepare(ctx, "CREATE (:User {id: 12 / $id, name: $name})")
	require.NoError(t, err)
	create.SetParameters(batch(`[{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}, {"id": 3, "name": "Zoe"}]`))
	_, err = create.ExecuteUpdate(ctx)
	require.NoError(t, err)
	create.SetParameters(batch(`[{"id": 4, "name": "Eve"}, {"id": 0, "name": "Tim"}]`))
	_, err = create.ExecuteUpdate(ctx)
	require.ErrorContains(t, err, "zero")
	require.NoError(t, create.Close(ctx))

	plain, err := c.Prepare(ctx, "CREATE (:User {id: 100})")
	require.NoError(t, err)
	_, err = plain.ExecuteUpdate(ctx)
	require.NoError(t, err)

	find, err := c.Prepare(ctx, "MATCH (u:User) WHERE u.id > $id AND u.name <> $name RETURN u.id ORDER BY u.id")
	require.NoError(t, err)
	for _, want := range []struct {
		params string
		rows   []string
	}{{`[{"id": 5, "name": "Ann"}]`, []string{"6"}}, {`[{"id": 0, "name": "Bob"}]`, []string{"4", "12"}}} {
		find.SetParameters(batch(want.params))
		info, err := find.Execute(ctx)
		_, rows, err := infoRows(ctx, c, info, err)
		require.NoError(t, err)
		require.Equal(t, want.rows, rows)
	}
	find.SetParameters(batch(`[{"id": 5, "name": "Ann"}, {"id": 0, "name": "Bob"}]`))
	_, err = find.Execute(ctx)
	require.ErrorContains(t, err, "one row")
}

// The parameters of a row may take more memory than the message: it counts while the row runs.
func TestFlightParameterMemory(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{QueryBytes: 1 << 20}, Options{})
	ctx, c := t.Context(), flightClient(t, r)
	// rows holds lists that repeat one text of a dictionary.
	rows := func(n, repeats int) arrow.RecordBatch {
		list := array.NewListBuilder(memory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
		for range n {
			list.Append(true)
			for range repeats {
				require.NoError(t, list.ValueBuilder().(*array.BinaryDictionaryBuilder).AppendString(strings.Repeat("x", 100_000)))
			}
		}
		column := list.NewArray()
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "p", Type: column.DataType()}}, nil), []arrow.Array{column}, int64(n))
	}
	write, err := c.Prepare(ctx, "CREATE (:Row {n: size($p)})")
	require.NoError(t, err)
	read, err := c.Prepare(ctx, "RETURN size($p)")
	require.NoError(t, err)
	write.SetParameters(rows(1, 20))
	_, err = write.ExecuteUpdate(ctx)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	read.SetParameters(rows(1, 20))
	_, err = read.Execute(ctx)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	write.SetParameters(rows(20, 1)) // one after the other
	_, err = write.ExecuteUpdate(ctx)
	require.NoError(t, err)
}

// A large answer arrives in messages within gRPC's default limit, and the server holds no more than query-memory.
func TestFlightLarge(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{QueryBytes: 64 << 20}, Options{})
	c := flightClient(t, r)
	_, rows, err := flightRows(c.DoGet(t.Context(), &flight.Ticket{
		Ticket: []byte("WITH reduce(s = 'x', k IN range(1, 15) | s + s) AS text UNWIND range(1, 1000) AS i RETURN i, text + i AS text"),
	}))
	require.NoError(t, err)
	require.Len(t, rows, 1000)
	require.True(t, strings.HasPrefix(rows[999], "1000 xxx") && strings.HasSuffix(rows[999], "x1000"))

	_, _, err = flightRows(c.DoGet(t.Context(), &flight.Ticket{Ticket: []byte("RETURN collect { UNWIND range(1, 10000000) AS x RETURN x } AS list")}))
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "query-memory")
}

// Errors have the codes of other calls, and a client that goes away ends its statement.
func TestFlightErrors(t *testing.T) {
	r := serve(t)
	ctx, c := t.Context(), flightClient(t, r)
	for ticket, code := range map[string]codes.Code{
		"":                               codes.InvalidArgument,
		"RETURN":                         codes.InvalidArgument,
		"RETURN 1 / 0":                   codes.InvalidArgument,
		"\xff":                           codes.InvalidArgument,
		`{"statement": "RETURN 1"`:       codes.InvalidArgument,
		`{"query": "RETURN 1"}`:          codes.InvalidArgument,
		"USE nothing MATCH (n) RETURN n": codes.NotFound,
	} {
		_, _, err := flightRows(c.DoGet(ctx, &flight.Ticket{Ticket: []byte(ticket)}))
		require.Equal(t, code, status.Code(err), "%q: %v", ticket, err)
	}
	handle, err := flightsql.CreateStatementQueryTicket([]byte("\xff\xff"))
	require.NoError(t, err)
	_, _, err = flightRows(c.DoGet(ctx, &flight.Ticket{Ticket: handle}))
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	_, err = c.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"User"}})
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	_, err = c.GetTables(ctx, &flightsql.GetTablesOpts{})
	require.Equal(t, codes.Unimplemented, status.Code(err), "%v", err)
	_, err = c.BeginTransaction(ctx)
	require.Equal(t, codes.Unimplemented, status.Code(err), "%v", err)

	until, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		_, _, err := flightRows(c.DoGet(until, &flight.Ticket{Ticket: []byte(slow)}))
		failed <- err
	}()
	require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 1 }, time.Minute, time.Millisecond)
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-failed))
	require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 0 }, time.Minute, time.Millisecond)
}

// A message of parameters is refused if it is compressed, so that it may take more than its bytes, has no descriptor or is damaged.
func TestFlightDamaged(t *testing.T) {
	r := serve(t)
	c := flightClient(t, r)
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Append(strings.Repeat("x", 8<<20))
	stream, err := c.Client.DoPut(t.Context())
	require.NoError(t, err)
	p, err := c.Prepare(t.Context(), "RETURN size($text)")
	require.NoError(t, err)
	d, err := p.Execute(t.Context())
	require.NoError(t, err)
	w := flight.NewRecordWriter(stream, ipc.WithSchema(schema), ipc.WithZstd())
	w.SetFlightDescriptor(d.GetFlightDescriptor())
	requireSent(t, w.Write(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1)))
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "compressed buffers are not supported")

	for _, m := range []*flight.FlightData{{}, {FlightDescriptor: d.GetFlightDescriptor(), DataHeader: []byte{255, 255, 255, 255}}} {
		stream, err := c.Client.DoPut(t.Context())
		require.NoError(t, err)
		requireSent(t, stream.Send(m))
		_, err = stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	}
}

// Flight asks for tokens as other calls do; a client may identify itself by name and token first.
func TestFlightAccess(t *testing.T) {
	g := serveGuarded(t)
	c := flightClient(t, g.running)
	get := func(ctx context.Context, statement string) codes.Code {
		_, _, err := flightRows(c.DoGet(ctx, &flight.Ticket{Ticket: []byte(statement)}))
		return status.Code(err)
	}
	require.Equal(t, codes.Unauthenticated, get(t.Context(), "RETURN 1"))
	require.Equal(t, codes.OK, get(g.as(access.Reader), "RETURN 1"))
	require.Equal(t, codes.PermissionDenied, get(g.as(access.Reader), "CREATE (:User)"))
	require.Equal(t, codes.OK, get(g.as(access.Writer), "CREATE (:User)"))
	_, err := c.ExecuteUpdate(g.as(access.Reader), "CREATE (:User)")
	require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)

	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), access.Writer.String(), g.tokens[access.Writer])
	require.NoError(t, err)
	require.Equal(t, codes.OK, get(ctx, "CREATE (:User)"))
	_, err = c.Client.AuthenticateBasicToken(t.Context(), access.Writer.String(), "no token")
	require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
}

// putRows sends a load of one batch with a command, and returns the answers.
func putRows(t *testing.T, c *flightsql.Client, command string, rec arrow.RecordBatch, metadata ...string) (answers []string, failed error) {
	stream, err := c.Client.DoPut(t.Context())
	require.NoError(t, err)
	w := flight.NewRecordWriter(stream, ipc.WithSchema(rec.Schema()))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte(command)})
	for _, m := range metadata {
		if !requireSent(t, w.WriteWithAppMetadata(rec, []byte(m))) {
			break
		}
	}
	requireSent(t, w.Close())
	require.NoError(t, stream.CloseSend())
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return answers, nil
		}
		if err != nil {
			return answers, err
		}
		answers = append(answers, string(m.GetAppMetadata()))
	}
}

func records(t *testing.T, schema *arrow.Schema, json string) arrow.RecordBatch {
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
	require.NoError(t, err)
	return rec
}

// Record batches load as vertices and edges, each batch once, and refused rows come back.
func TestFlightLoad(t *testing.T) {
	r := serve(t)
	c := flightClient(t, r)
	names := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	people := records(t, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "name", Type: names, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	}, nil), `[{"id": 1, "name": "Ann", "n": 1}, {"id": 2, "name": null, "n": null}, {"id": 3, "name": "Ann", "n": 2}]`)
	command := `{"id": "people", "vertices": {"labels": ["Person", "Old"], "key": "id", "properties": [{"name": "name"}, {"name": "visits", "column": "n", "strategy": "SUM"}]}}`
	answers, err := putRows(t, c, command, people, `{"seq": 1}`, `{"seq": 2, "confirmed": 1}`)
	require.NoError(t, err)
	require.Equal(t, `{"opened":0}`, answers[0])
	require.Len(t, answers, 3)
	answers, err = putRows(t, c, command, people, `{"seq": 1}`, `{"seq": 2}`)
	require.NoError(t, err)
	require.Equal(t, []string{`{"opened":2,"vertexCounts":{"created":3,"overwritten":2,"unchanged":1,"deleted":0,"repeated":3}}`, `{"seq":1,"vertices":0,"edges":0}`, `{"seq":2,"vertices":0,"edges":0}`}, answers)
	_, rows, err := flightRows(c.DoGet(t.Context(), &flight.Ticket{Ticket: []byte("MATCH (p:Person:Old) RETURN p.id, p.name, p.visits ORDER BY p.id")}))
	require.NoError(t, err)
	require.Equal(t, []string{"1 Ann 2", "2 (null) (null)", "3 Ann 4"}, rows)

	for policy, want := range map[string]string{
		"keep-first": `"unchanged":3,"deleted":0,"repeated":3}}`,
		"error":      `"rejected":[{"row":0,"code":"RepeatedKey","message":"an earlier row of the load has this key"}`,
	} {
		command := fmt.Sprintf(`{"vertices": {"labels": [%q], "key": "id", "properties": [{"name": "n", "strategy": "SUM"}], "onDuplicate": %[1]q}}`, policy)
		answers, err = putRows(t, c, command, people, "", "")
		require.NoError(t, err)
		require.Contains(t, answers[2], want)
	}

	knows := records(t, arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}, {Name: "since", Type: arrow.BinaryTypes.LargeString},
	}, nil), `[{"a": 1, "b": 2, "since": "x"}, {"a": 1, "b": 7, "since": "y"}]`)
	command = `{"id": "e", "forget": true, "edges": {"type": "KNOWS", "from": {"column": "a", "label": "Person", "property": "id"}, "to": {"column": "b", "label": "Person", "property": "id"}}}`
	for _, counts := range []string{`{"created":1,"overwritten":0,"unchanged":0,"deleted":0}`, `{"created":0,"overwritten":0,"unchanged":1,"deleted":0}`} { // the first is forgotten
		answers, err = putRows(t, c, command, knows, "")
		require.NoError(t, err)
		require.Equal(t, `{"opened":0}`, answers[0])
		require.Contains(t, answers[1], `{"seq":1,"vertices":0,"edges":1,"edgeCounts":`+counts+`,"rejected":[{"row":1,"code":"DanglingEdge"`)
	}
	_, rows, err = flightRows(c.DoGet(t.Context(), &flight.Ticket{Ticket: []byte("MATCH (a)-[r:KNOWS]->(b) RETURN DISTINCT a.id, b.id, properties(r).since")}))
	require.NoError(t, err)
	require.Equal(t, []string{"1 2 x"}, rows)

	for _, wrong := range []string{
		``, `{}`, `{"rows": 1}`, `{"vertices": {"labels": ["P"], "key": "nothing"}}`, `{"vertices": {"labels": [], "key": "a"}}`,
		`{"vertices": {"labels": ["P"], "key": "a", "onDuplicate": "first"}}`,
		`{"vertices": {"labels": ["P"], "key": "a", "action": "add"}}`, `{"vertices": {"labels": ["P"], "key": "a", "properties": [{"name": "b"}, {"name": "b"}]}}`,
		`{"vertices": {"labels": ["P"], "key": "a", "properties": [{"name": "b", "strategy": "MEAN"}]}}`,
		`{"edges": {"type": "", "from": {"column": "a", "label": "P", "property": "id"}, "to": {"column": "b", "label": "P", "property": "id"}}}`,
		`{"edges": {"type": "T", "from": {"column": "a", "label": "P"}, "to": {"column": "b", "label": "P", "property": "id"}}}`,
		`{"edges": {"type": "T", "onDangling": "drop", "from": {"column": "a", "label": "P", "property": "id"}, "to": {"column": "b", "label": "P", "property": "id"}}}`,
	} {
		_, err := putRows(t, c, wrong, knows, "")
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", wrong, err)
	}
	_, err = putRows(t, c, `{"vertices": {"labels": ["P"], "key": "a"}}`, knows, `{"seq": 2}`, `{"seq": 2}`)
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	_, err = putRows(t, c, `{"graph": "nothing", "vertices": {"labels": ["P"], "key": "a"}}`, knows, "")
	require.Equal(t, codes.NotFound, status.Code(err), "%v", err)

	g := serveGuarded(t)
	guarded := flightClient(t, g.running)
	stream, err := guarded.Client.DoPut(g.as(access.Reader))
	require.NoError(t, err)
	w := flight.NewRecordWriter(stream, ipc.WithSchema(knows.Schema()))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte(`{"vertices": {"labels": ["P"], "key": "a"}}`)})
	requireSent(t, w.Write(knows))
	_, err = stream.Recv()
	require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)
}

// Labels and types are tables, and tickets may ask for typed requests, typed parameters and elements as structs.
func TestFlightTables(t *testing.T) {
	r := serve(t)
	ctx, c := t.Context(), flightClient(t, r)
	get := func(ticket string) (string, []string, error) {
		return flightRows(c.DoGet(ctx, &flight.Ticket{Ticket: []byte(ticket)}))
	}
	_, _, err := get("CREATE (:User {id: 1, name: 'Ann'})-[:KNOWS {since: 2000}]->(:User:`An other` {id: 2})")
	require.NoError(t, err)
	list, err := c.Client.ListFlights(ctx, &flight.Criteria{})
	require.NoError(t, err)
	var found []string
	for {
		info, err := list.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		found = append(found, fmt.Sprint(info.GetFlightDescriptor().GetPath(), info.GetTotalRecords()))
	}
	require.ElementsMatch(t, []string{"[default vertices An other] 1", "[default vertices User] 2", "[default edges KNOWS] 1"}, found)
	info, err := c.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"default", "vertices", "An other"}})
	schema, rows, err := infoRows(ctx, c, info, err)
	require.NoError(t, err)
	require.Equal(t, "elementId utf8, id int64", schema)
	require.Len(t, rows, 1)
	info, err = c.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"default", "edges", "KNOWS"}})
	schema, _, err = infoRows(ctx, c, info, err)
	require.NoError(t, err)
	require.Equal(t, "elementId utf8, startNodeElementId utf8, endNodeElementId utf8, since int64", schema)
	for _, path := range [][]string{{"default", "edges", "User"}, {"nothing", "edges", "KNOWS"}} {
		_, err = c.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: path})
		require.Equal(t, codes.NotFound, status.Code(err), "%v: %v", path, err)
	}

	schema, rows, err = get(`{"statement": "MATCH (u:User {id: $id}) RETURN u", "parameters": {"id": {"$type": "Integer", "_value": "1"}}, "typedParameters": true, "elements": "structs", "accessMode": "READ"}`)
	require.NoError(t, err)
	require.Contains(t, schema, "labels: list<item: dictionary<values=utf8, indices=int32, ordered=false>")
	require.Contains(t, schema, "properties: struct<id: int64 nullable, name: utf8 nullable>")
	require.Len(t, rows, 1)
	_, rows, err = get(`{"route": "traverse", "body": {"from": {"label": "User", "property": "id", "value": 1}, "edges": ["KNOWS"], "return": "v.id"}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, rows)
	for _, wrong := range []string{
		`{"statement": "CREATE (n)", "accessMode": "READ"}`, `{"statement": "RETURN 1", "accessMode": "SOMETIMES"}`, `{"statement": "RETURN 1", "elements": "xml"}`,
		`{"statement": "RETURN 1", "timeoutMs": -1}`, `{"statement": "RETURN 1", "maxRows": -1}`, `{"route": "walk", "body": {}}`, `{"route": "traverse"}`,
	} {
		_, _, err := get(wrong)
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", wrong, err)
	}
}

// A fetch runs by an action, and a transaction over an exchange.
func TestFlightFetchAndTransaction(t *testing.T) {
	r := serve(t)
	ctx, c := t.Context(), flightClient(t, r)
	x, err := c.Client.DoExchange(ctx)
	require.NoError(t, err)
	step := func(text string) (byte, string) {
		requireSent(t, x.Send(&flight.FlightData{AppMetadata: []byte(text)}))
		m, err := x.Recv()
		require.NoError(t, err)
		return m.GetAppMetadata()[0], string(m.GetAppMetadata()[1:])
	}
	answer := func(text string) (body, summary string) {
		mark, part := step(text)
		require.EqualValues(t, 'r', mark)
		for mark == 'r' {
			body += part
			m, err := x.Recv()
			require.NoError(t, err)
			mark, part = m.GetAppMetadata()[0], string(m.GetAppMetadata()[1:])
		}
		return body, part
	}
	count := func() []string {
		_, rows, err := flightRows(c.DoGet(ctx, &flight.Ticket{Ticket: []byte("MATCH (u:User) RETURN count(u)")}))
		require.NoError(t, err)
		return rows
	}
	for _, end := range []string{"rollback", "commit"} {
		mark, _ := step(`{"begin": {}}`)
		require.EqualValues(t, 's', mark)
		rows, created := answer(`{"run": {"statement": "CREATE (u:User {id: $id}) RETURN u.id AS id", "parameters": {"id": 7}}}`)
		require.Contains(t, created, `"nodesCreated":1`)
		reader, err := ipc.NewReader(strings.NewReader(rows))
		require.NoError(t, err)
		require.True(t, reader.Next())
		require.EqualValues(t, 7, reader.RecordBatch().Column(0).(*array.Int64).Value(0))
		reader.Release()
		require.Equal(t, []string{"0"}, count())
		_, summary := step(`{"` + end + `": {}}`)
		require.Equal(t, end == "commit", strings.Contains(summary, `"nodesCreated":1`))
	}
	require.Equal(t, []string{"1"}, count())
	rows, _ := answer(`{"query": {"statement": "MATCH (u:User) RETURN u.id AS id"}}`)
	reader, err := ipc.NewReader(strings.NewReader(rows))
	require.NoError(t, err)
	require.True(t, reader.Next())
	require.EqualValues(t, 7, reader.RecordBatch().Column(0).(*array.Int64).Value(0))
	reader.Release()
	body, _ := answer(`{"fetch": {"request": {"User": {"id": 7}}}}`)
	require.Contains(t, body, `"User":{"id":7}`)
	step(`{"begin": {}}`)
	requireSent(t, x.Send(&flight.FlightData{AppMetadata: []byte(`{"query": {"statement": "RETURN 1"}}`)}))
	_, err = x.Recv()
	require.ErrorContains(t, err, "query, fetch: run outside of a transaction")
	x, err = c.Client.DoExchange(ctx)
	require.NoError(t, err)
	require.NoError(t, x.CloseSend())
	_, err = x.Recv()
	require.ErrorIs(t, err, io.EOF)
	for _, wrong := range []string{`{}`, `{"commit": {}}`, `{"begin": {"accessMode": "X"}}`, `x`} {
		x, err := c.Client.DoExchange(ctx)
		require.NoError(t, err)
		requireSent(t, x.Send(&flight.FlightData{AppMetadata: []byte(wrong)}))
		_, err = x.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", wrong, err)
	}

	action, err := c.Client.DoAction(ctx, &flight.Action{Type: "hopgate.fetch", Body: []byte(`{"request": {"User": {"id": 7}}}`)})
	require.NoError(t, err)
	res, err := action.Recv()
	require.NoError(t, err)
	require.Contains(t, string(res.GetBody()), `"User":{"id":7}`)
}
