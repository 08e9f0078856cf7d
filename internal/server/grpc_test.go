package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/watch"
	"github.com/hopgate/hopgate/internal/shard"
)

// running is a server that listens, with a client of its gRPC side.
type running struct {
	*Server
	engine *query.Engine
	addrs  struct{ HTTP, GRPC, Admin, Bolt string }
	conn   *grpc.ClientConn
}

func serve(t testing.TB) *running { return serveOver(t, newOracle(t), query.Options{}, Options{}) }

// anyPorts has all transports listen at free ports.
var anyPorts = Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", Admin: "127.0.0.1:0", "bolt": "127.0.0.1:0"}

// serveOver serves a store.
func serveOver(t testing.TB, store shard.Store, qopt query.Options, opt Options) *running {
	opt.Logger = slog.New(slog.DiscardHandler)
	r := &running{engine: query.New(store, qopt)}
	r.Server = New(r.engine, loader.New(store), nil, prometheus.NewRegistry(), opt)
	a, err := r.Listen(context.Background(), anyPorts)
	require.NoError(t, err)
	r.addrs.HTTP, r.addrs.GRPC, r.addrs.Admin, r.addrs.Bolt = a["http"], a["grpc"], a[Admin], a["bolt"]
	r.conn, err = grpc.NewClient(r.addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = r.conn.Close()
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r.Drain(ctx)
	})
	return r
}

// answer is the result of a call of Query.
type answer struct {
	fields  []string
	rows    int
	largest int // bytes of a message
	values  []*pb.RowBatch
	summary *pb.QuerySummary
}

func (r *running) query(ctx context.Context, req *pb.QueryRequest) (*answer, error) {
	stream, err := pb.NewGraphServiceClient(r.conn).Query(ctx, req)
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
			return a, err
		}
		a.largest = max(a.largest, proto.Size(part))
		switch x := part.GetPart().(type) {
		case *pb.QueryResponse_Header:
			a.fields = x.Header.GetFields()
		case *pb.QueryResponse_Rows:
			a.rows += int(x.Rows.GetRows())
			a.values = append(a.values, x.Rows)
		case *pb.QueryResponse_Summary:
			a.summary = x.Summary
		}
	}
}

func TestGRPCQuery(t *testing.T) {
	r := serve(t)
	ctx := context.Background()
	a, err := r.query(ctx, &pb.QueryRequest{Statement: "CREATE (:Person {id: 1})-[:KNOWS]->(:Person {id: 2})"})
	require.NoError(t, err)
	require.Empty(t, a.fields)
	require.True(t, a.summary.GetCounters().GetContainsUpdates())
	require.EqualValues(t, 2, a.summary.GetCounters().GetNodesCreated())

	a, err = r.query(ctx, &pb.QueryRequest{
		Statement:  "MATCH p = (a {id: $m.id})-[k]->(b) RETURN a, k, p, $m AS m, $d AS d, 1 AS i, 1.5 AS f, 's' AS s, null AS n",
		AccessMode: pb.AccessMode_ACCESS_MODE_READ,
		Parameters: map[string]*pb.Value{
			"m": {Kind: &pb.Value_Map{Map: &pb.MapValue{Entries: []*pb.MapEntry{{Key: "id", Value: &pb.Value{Kind: &pb.Value_Integer{Integer: 1}}}}}}},
			"d": {Kind: &pb.Value_Temporal{Temporal: &pb.TemporalValue{Type: pb.TemporalType_TEMPORAL_TYPE_DATE, Text: "2020-01-02"}}},
		},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "k", "p", "m", "d", "i", "f", "s", "n"}, a.fields)
	require.Equal(t, 1, a.rows)
	cols := a.values[0].GetColumns()
	require.Equal(t, []string{"Person"}, cols[0].GetValues().GetValues()[0].GetVertex().GetLabels())
	require.Equal(t, "KNOWS", cols[1].GetValues().GetValues()[0].GetEdge().GetType())
	require.Len(t, cols[2].GetValues().GetValues()[0].GetPath().GetVertices(), 2)
	require.Equal(t, "2020-01-02", cols[4].GetValues().GetValues()[0].GetTemporal().GetText())
	require.Equal(t, []int64{1}, cols[5].GetIntegers().GetValues())
	require.Equal(t, []float64{1.5}, cols[6].GetFloats().GetValues())
	require.Equal(t, "s", string(cols[7].GetTexts().GetText()))
	require.Equal(t, []uint32{1}, cols[7].GetTexts().GetEnds())
	require.Nil(t, cols[8].GetValues().GetValues()[0].GetKind())

	a, err = r.query(ctx, &pb.QueryRequest{Statement: "UNWIND ['a', '', 'né', 'b'] AS x RETURN x"})
	require.NoError(t, err)
	require.Equal(t, [][]any{{"a"}, {""}, {"né"}, {"b"}}, rowsOf(a.values[0]))
	require.Equal(t, []uint32{1, 1, 4, 5}, a.values[0].GetColumns()[0].GetTexts().GetEnds())

	a, err = r.query(ctx, &pb.QueryRequest{Statement: "UNWIND range(1, 10) AS x RETURN x", MaxRows: 3})
	require.NoError(t, err)
	require.Equal(t, 3, a.rows)
	require.True(t, a.summary.GetTruncated())
	require.Equal(t, "max_rows", a.summary.GetTruncatedReason())

	a, err = r.query(ctx, &pb.QueryRequest{Statement: "PROFILE MATCH (n) RETURN n.id"})
	require.NoError(t, err)
	require.NotEmpty(t, a.summary.GetPlan().GetOperator())
	require.EqualValues(t, 2, a.summary.GetPlan().GetRows())
}

// Rows travel in messages of some hundred KiB; a row that fits into none is an error.
func TestGRPCMessages(t *testing.T) {
	r := serve(t)
	a, err := r.query(context.Background(), &pb.QueryRequest{
		Statement:  "UNWIND range(1, 2000) AS x RETURN x, $s AS s",
		Parameters: map[string]*pb.Value{"s": {Kind: &pb.Value_String_{String_: strings.Repeat("x", 4096)}}},
	})
	require.NoError(t, err)
	require.Equal(t, 2000, a.rows)
	require.Less(t, a.largest, 512<<10+8192)
	require.GreaterOrEqual(t, len(a.values), 15)

	_, err = r.query(context.Background(), &pb.QueryRequest{
		Statement:  "RETURN $s + $s + $s AS s",
		Parameters: map[string]*pb.Value{"s": {Kind: &pb.Value_String_{String_: strings.Repeat("x", 2<<20)}}},
	})
	require.Equal(t, codes.ResourceExhausted, status.Code(err), err)
}

func info(t *testing.T, err error) *errdetails.ErrorInfo {
	for _, d := range status.Convert(err).Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			return i
		}
	}
	t.Fatalf("no ErrorInfo in %v", err)
	return nil
}

// Errors carry the code of the HTTP contract and the position.
func TestGRPCErrors(t *testing.T) {
	r := serve(t)
	for _, c := range []struct {
		req    *pb.QueryRequest
		code   codes.Code
		reason string
		meta   map[string]string
	}{
		{
			&pb.QueryRequest{Statement: "RETURN 1,\n foo"}, codes.InvalidArgument, "Neo.ClientError.Statement.SyntaxError",
			map[string]string{"type": "SyntaxError", "phase": "compile", "detail": "UndefinedVariable", "line": "2", "column": "2", "offset": "11"},
		},
		{
			&pb.QueryRequest{Statement: "RETURN 1", Graph: "nowhere"}, codes.NotFound, "Neo.ClientError.Database.DatabaseNotFound", nil,
		},
		{
			&pb.QueryRequest{Statement: ""}, codes.InvalidArgument, "Neo.ClientError.Statement.SyntaxError", nil,
		},
		{
			&pb.QueryRequest{Statement: "RETURN 1", Timeout: durationpb.New(-1)}, codes.InvalidArgument, "Neo.ClientError.Request.Invalid", nil,
		},
		{
			&pb.QueryRequest{Statement: "CREATE (n)", AccessMode: pb.AccessMode_ACCESS_MODE_READ}, codes.InvalidArgument,
			"Neo.ClientError.Statement.AccessMode", nil,
		},
		{
			&pb.QueryRequest{Statement: "CREATE (n)", MaxStaleness: durationpb.New(time.Second)}, codes.InvalidArgument,
			"Neo.ClientError.General.InvalidArguments", nil,
		},
		{
			&pb.QueryRequest{Statement: "RETURN 1", MaxStaleness: durationpb.New(-1)}, codes.InvalidArgument, "Neo.ClientError.Request.Invalid", nil,
		},
		{
			&pb.QueryRequest{Statement: "RETURN $x", Parameters: map[string]*pb.Value{"x": {Kind: &pb.Value_Vertex{Vertex: &pb.Vertex{}}}}},
			codes.InvalidArgument, "Neo.ClientError.Request.Invalid", nil,
		},
		{
			&pb.QueryRequest{Statement: slow, Timeout: durationpb.New(20 * time.Millisecond)}, codes.DeadlineExceeded,
			"Neo.ClientError.Transaction.TransactionTimedOut", nil,
		},
	} {
		_, err := r.query(context.Background(), c.req)
		require.Equal(t, c.code, status.Code(err), "%s: %v", c.req.GetStatement(), err)
		i := info(t, err)
		require.Equal(t, "hopgate", i.GetDomain())
		require.Equal(t, c.reason, i.GetReason())
		for _, k := range []string{"type", "phase", "detail"} {
			require.NotEmpty(t, i.GetMetadata()[k])
		}
		if c.meta != nil {
			require.Equal(t, c.meta, i.GetMetadata())
		}
	}
}

// An unknown mode or direction, as of a later version, is refused and not treated as the first one.
func TestGRPCUnknownNumbers(t *testing.T) {
	r := serve(t)
	from := &pb.VertexSelector{By: &pb.VertexSelector_Statement{Statement: "MATCH (n) RETURN n"}}
	for want, req := range map[string]*pb.TraverseRequest{
		"mode: 99 is unknown":              {From: from, Hops: []*pb.Hop{{}}, Mode: 99},
		"hops[0].direction: 99 is unknown": {From: from, Hops: []*pb.Hop{{Direction: 99}}},
	} {
		stream, err := pb.NewGraphServiceClient(r.conn).Traverse(context.Background(), req)
		require.NoError(t, err)
		_, err = stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		require.ErrorContains(t, err, want)
	}
}

// Each typed request takes a duration by which its snapshot may be out of date, and no negative one.
func TestGRPCTypedStaleness(t *testing.T) {
	r := serve(t)
	c, ctx := pb.NewGraphServiceClient(r.conn), t.Context()
	from, hop := &pb.VertexSelector{By: &pb.VertexSelector_Statement{Statement: "MATCH (n) RETURN n"}}, &pb.Hop{Types: []string{"A"}}
	for name, send := range map[string]func(within *durationpb.Duration) (grpc.ClientStream, error){
		"traverse": func(d *durationpb.Duration) (grpc.ClientStream, error) {
			return c.Traverse(ctx, &pb.TraverseRequest{From: from, Hops: []*pb.Hop{hop}, MaxStaleness: d})
		},
		"path": func(d *durationpb.Duration) (grpc.ClientStream, error) {
			return c.ShortestPath(ctx, &pb.ShortestPathRequest{From: from, To: from, Hop: hop, MaxStaleness: d})
		},
		"subgraph": func(d *durationpb.Duration) (grpc.ClientStream, error) {
			return c.Subgraph(ctx, &pb.SubgraphRequest{From: from, Hops: []*pb.Hop{hop}, MaxHops: 1, MaxStaleness: d})
		},
		"vertices": func(d *durationpb.Duration) (grpc.ClientStream, error) {
			return c.GetVertices(ctx, &pb.GetVerticesRequest{From: from, MaxStaleness: d})
		},
		"edges": func(d *durationpb.Duration) (grpc.ClientStream, error) {
			return c.GetEdges(ctx, &pb.GetEdgesRequest{From: from, Hop: hop, MaxStaleness: d})
		},
	} {
		stream, err := send(durationpb.New(-1))
		require.NoError(t, err)
		err = stream.RecvMsg(&emptypb.Empty{})
		require.Equal(t, codes.InvalidArgument, status.Code(err), name)
		require.ErrorContains(t, err, "max_staleness", name)
		stream, err = send(durationpb.New(time.Second))
		require.NoError(t, err)
		for err == nil {
			err = stream.RecvMsg(&emptypb.Empty{})
		}
		require.ErrorIs(t, err, io.EOF, name)
	}
}

// slow runs until it is ended.
const slow = "UNWIND range(1, 1000) AS a UNWIND range(1, 1000) AS b UNWIND range(1, 1000) AS c UNWIND range(1, 1000) AS d RETURN count(*)"

// A client that goes away takes its statement with it, over either transport.
func TestCancel(t *testing.T) {
	r := serve(t)
	start := func() context.CancelFunc {
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, _ = r.query(ctx, &pb.QueryRequest{Statement: slow}) }()
		return cancel
	}
	startHTTP := func() context.CancelFunc {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addrs.HTTP+"/v1/query", strings.NewReader(`{"statement": "`+slow+`"}`))
		require.NoError(t, err)
		go func() {
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		}()
		return cancel
	}
	for name, start := range map[string]func() context.CancelFunc{"grpc": start, "http": startHTTP} {
		cancel := start()
		require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 1 }, time.Minute, time.Millisecond, name)
		cancel()
		began := time.Now()
		require.Eventually(t, func() bool { return r.engine.ActiveQueries() == 0 }, time.Minute, time.Millisecond, name)
		t.Logf("%s: %v", name, time.Since(began))
	}
}

// A killed statement returns that reason.
func TestKill(t *testing.T) {
	r := serve(t)
	admin := pb.NewAdminServiceClient(r.conn)
	failed := make(chan error, 1)
	go func() {
		_, err := r.query(context.Background(), &pb.QueryRequest{Statement: slow})
		failed <- err
	}()
	var id uint64
	require.Eventually(t, func() bool {
		list, err := admin.RunningQueries(context.Background(), &pb.RunningQueriesRequest{})
		require.NoError(t, err)
		for _, q := range list.GetQueries() {
			id = q.GetId()
			require.Equal(t, slow, q.GetStatement())
		}
		return id != 0
	}, time.Minute, time.Millisecond)
	killed, err := admin.KillQuery(context.Background(), &pb.KillQueryRequest{Id: id})
	require.NoError(t, err)
	require.True(t, killed.GetKilled())
	require.Equal(t, "Neo.ClientError.Transaction.Terminated", info(t, <-failed).GetReason())
	killed, err = admin.KillQuery(context.Background(), &pb.KillQueryRequest{Id: id})
	require.NoError(t, err)
	require.False(t, killed.GetKilled())
	log, err := admin.SlowLog(context.Background(), &pb.SlowLogRequest{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, slow, log.GetQueries()[0].GetStatement())
	digits, _ := watch.Fingerprint(watch.StatementKind, slow)
	require.Equal(t, digits, log.GetQueries()[0].GetFingerprint())
	require.NotEmpty(t, log.GetQueries()[0].GetError())
}

func TestGRPCFetch(t *testing.T) {
	r := serve(t)
	_, err := r.query(context.Background(), &pb.QueryRequest{Statement: "UNWIND range(1, 30000) AS i CREATE (:User {id: i, name: 'x' + i})"})
	require.NoError(t, err)
	fetch := func(req *pb.FetchRequest) (text string, code uint32) {
		stream, err := pb.NewGraphServiceClient(r.conn).Fetch(context.Background(), req)
		require.NoError(t, err)
		for {
			part, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return text, code
			}
			require.NoError(t, err)
			require.Zero(t, code, "the code comes last")
			text, code = text+string(part.GetChunk()), part.GetCode()
		}
	}
	text, code := fetch(&pb.FetchRequest{Request: []byte(`{"User[]": {"count": 0, "User": {}}}`)})
	require.EqualValues(t, 200, code)
	require.Equal(t, 30000, strings.Count(text, `"name"`))
	text, code = fetch(&pb.FetchRequest{Method: "head", Request: []byte(`{"User": {}}`)})
	require.EqualValues(t, 200, code)
	require.Contains(t, text, `"count":30000`)
	text, code = fetch(&pb.FetchRequest{Request: []byte(`{"User": {"@order": 1}}`)})
	require.EqualValues(t, 406, code)
	require.Contains(t, text, `"ok":false`)
	text, code = fetch(&pb.FetchRequest{Method: "fetch", Request: []byte(`{}`)})
	require.EqualValues(t, 404, code)
	require.Contains(t, text, `there is no method fetch`)
}

// A client that sends the tag of an answer gets an empty stream until a commit changes what the call reads.
func TestGRPCConditions(t *testing.T) {
	r := serveOver(t, newLocal(t), query.Options{}, Options{})
	write := func(text string) {
		_, err := r.query(t.Context(), &pb.QueryRequest{Statement: text})
		require.NoError(t, err)
	}
	write("CREATE (:User {id: 1, name: 'Ann'})")
	client := pb.NewGraphServiceClient(r.conn)
	calls := map[string]func(ctx context.Context, text string) (parts int, trailer metadata.MD){
		"Query": func(ctx context.Context, text string) (parts int, trailer metadata.MD) {
			stream, err := client.Query(ctx, &pb.QueryRequest{Statement: text})
			require.NoError(t, err)
			for ; ; parts++ {
				if _, err := stream.Recv(); err != nil {
					return parts, stream.Trailer()
				}
			}
		},
		"Fetch": func(ctx context.Context, text string) (parts int, trailer metadata.MD) {
			stream, err := client.Fetch(ctx, &pb.FetchRequest{Request: []byte(text)})
			require.NoError(t, err)
			for ; ; parts++ {
				if _, err := stream.Recv(); err != nil {
					return parts, stream.Trailer()
				}
			}
		},
	}
	for name, texts := range map[string][3]string{
		"Query": {"MATCH (u:User) RETURN u.name", "RETURN datetime()", "RETURN 1 / 0"},
		"Fetch": {`{"User": {"id": 1}}`, `{"User": {"@column": "id;now():n"}}`, `{"User": {"id": {}}}`},
	} {
		call := calls[name]
		ask := func(text, none string) (int, metadata.MD) {
			return call(metadata.AppendToOutgoingContext(t.Context(), "if-none-match", none), text)
		}
		_, trailer := call(t.Context(), texts[0])
		require.Empty(t, trailer["etag"], "nobody asks")
		parts, trailer := ask(texts[0], `""`)
		require.Positive(t, parts)
		require.Len(t, trailer["etag"], 1)
		require.Empty(t, trailer["unmodified"])
		tag := trailer["etag"][0]
		write("CREATE (:Other {id: 1})")
		parts, trailer = ask(texts[0], tag)
		require.Zero(t, parts, name)
		require.Equal(t, []string{tag}, trailer["etag"])
		require.Equal(t, []string{"true"}, trailer["unmodified"])
		require.NotEmpty(t, trailer["hopgate-cost"])
		write("MATCH (u:User) SET u.name = u.name + '!'")
		parts, trailer = ask(texts[0], tag)
		require.Positive(t, parts)
		require.NotEqual(t, tag, trailer["etag"][0])
		for _, text := range texts[1:] {
			_, trailer = ask(text, `""`)
			require.Empty(t, trailer["etag"], text)
		}
	}
}

// The standard services exist, and health turns to not serving before the server stops.
func TestHealthAndReflection(t *testing.T) {
	r := serve(t)
	health := healthpb.NewHealthClient(r.conn)
	services := []string{"", "hopgate.v1.GraphService", "hopgate.v1.LoadService", "hopgate.v1.AdminService", "arrow.flight.protocol.FlightService"}
	for _, s := range services {
		res, err := health.Check(context.Background(), &healthpb.HealthCheckRequest{Service: s})
		require.NoError(t, err, s)
		require.Equal(t, healthpb.HealthCheckResponse_SERVING, res.GetStatus(), s)
	}
	stream, err := reflectionpb.NewServerReflectionClient(r.conn).ServerReflectionInfo(context.Background())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	res, err := stream.Recv()
	require.NoError(t, err)
	var names []string
	for _, s := range res.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	require.Subset(t, names, services[1:])
	require.NoError(t, stream.CloseSend())
}

// PROFILE shows the bytes that operators have spilled.
func TestProfileOfSpilled(t *testing.T) {
	spill, err := exec.NewSpill(t.TempDir(), 1<<30)
	require.NoError(t, err)
	r := serveOver(t, newOracle(t), query.Options{QueryBytes: 2 << 20, Spill: spill}, Options{})
	a, err := r.query(context.Background(), &pb.QueryRequest{Statement: "PROFILE UNWIND range(1, 100000) AS x RETURN x ORDER BY -x"})
	require.NoError(t, err)
	var spilled func(n *pb.PlanNode) uint64
	spilled = func(n *pb.PlanNode) uint64 {
		sum := n.GetSpilled()
		for _, c := range n.GetChildren() {
			sum += spilled(c)
		}
		return sum
	}
	require.Positive(t, spilled(a.summary.GetPlan()))
	var b strings.Builder
	totals := r.engine.Totals().Operators()
	for name, one := range totals {
		if one.Spilled.Load() > 0 {
			b.WriteString(name)
		}
	}
	require.Equal(t, "Sort", b.String())
	require.Equal(t, spilled(a.summary.GetPlan()), totals["Sort"].Spilled.Load())
}
