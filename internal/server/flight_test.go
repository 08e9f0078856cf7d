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
	require.NoError(t, w.Write(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1)))
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "compressed buffers are not supported")

	for _, m := range []*flight.FlightData{{}, {FlightDescriptor: d.GetFlightDescriptor(), DataHeader: []byte{255, 255, 255, 255}}} {
		stream, err := c.Client.DoPut(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(m))
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
