package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/server/grpcapi"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/request"
)

// guarded is a server that asks for tokens, with one token for each role.
type guarded struct {
	*running
	tokens, entries map[access.Role]string
	path            string // of the tokens file
	audit           bytes.Buffer
}

func serveGuarded(t testing.TB) *guarded {
	g := &guarded{tokens: map[access.Role]string{access.None: "unknown"}, entries: map[access.Role]string{}}
	g.path = filepath.Join(t.TempDir(), "tokens.yaml")
	text := "tokens:\n"
	for r := access.None + 1; r <= access.Admin; r++ {
		token, entry := access.NewToken(r.String(), r)
		g.tokens[r], g.entries[r] = token, entry
		text += entry
	}
	require.NoError(t, os.WriteFile(g.path, []byte(text), 0o600))
	auth, err := access.New(access.Options{TokensFile: g.path}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	audit := access.NewAudit(&g.audit)
	g.running = serveOver(t, newLocal(t), query.Options{Audit: audit, Typed: request.DecodeTyped}, Options{Auth: auth, Audit: audit, Transports: []request.Transport{
		httpapi.Transport(httpapi.Options{TestProcedures: true}), grpcapi.Transport(grpcapi.Options{}), boltapi.Transport(boltapi.Options{}),
	}})
	return g
}

func (g *guarded) as(r access.Role) context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+g.tokens[r])
}

// request returns the status of an HTTP request.
func (g *guarded) request(t testing.TB, r access.Role, method, url, body string) int {
	code, _ := g.answer(t, r, method, url, body)
	return code
}

// answer returns the status and the body of the answer to an HTTP request.
func (g *guarded) answer(t testing.TB, r access.Role, method, url, body string) (int, []byte) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+g.tokens[r])
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, b
}

// An explicit transaction exists only for the caller who began it, whatever the roles of others.
func TestOthersTransactions(t *testing.T) {
	g := serveGuarded(t)
	url := "http://" + g.addrs.HTTP + "/db/default/query/v2/tx"
	code, b := g.answer(t, access.Writer, "POST", url, `{"statement": "CREATE (:A)"}`)
	require.Equal(t, http.StatusAccepted, code)
	var begun struct{ Transaction struct{ ID string } }
	require.NoError(t, json.Unmarshal(b, &begun))
	url += "/" + begun.Transaction.ID
	for _, r := range []access.Role{access.Reader, access.Admin} {
		require.Equal(t, http.StatusNotFound, g.request(t, r, "POST", url, `{"statement": "MATCH (a:A) RETURN a"}`))
		require.Equal(t, http.StatusNotFound, g.request(t, r, "POST", url+"/commit", ""))
		require.Equal(t, http.StatusNotFound, g.request(t, r, "DELETE", url, ""))
	}
	require.Equal(t, http.StatusAccepted, g.request(t, access.Writer, "POST", url+"/commit", ""))
}

// TestRolesHTTP holds what each role may do, by the status of requests. The roles are ordered, so the lowest permitted role suffices.
func TestRolesHTTP(t *testing.T) {
	g := serveGuarded(t)
	statement := func(s string) string { return `{"statement": "` + s + `"}` }
	for _, c := range []struct {
		method, path, body string
		from               access.Role
	}{
		{"POST", "/v1/query", statement("RETURN 1"), access.Reader},
		{"POST", "/v1/query", statement("EXPLAIN CREATE (:A)"), access.Reader},
		{"POST", "/v1/query", statement("EXPLAIN CREATE INDEX i FOR (a:A) ON (a.x)"), access.Reader},
		{"POST", "/v1/query", statement("EXPLAIN DROP GRAPH g"), access.Reader},
		{"POST", "/v1/query", statement("CREATE (:A)"), access.Writer},
		{"POST", "/v1/query", statement("MATCH (a:A) CALL (a) { SET a.x = 1 } IN TRANSACTIONS"), access.Writer},
		{"POST", "/v1/query", statement("CREATE INDEX i IF NOT EXISTS FOR (a:A) ON (a.x)"), access.Writer},
		{"POST", "/v1/query", statement("CREATE GRAPH g IF NOT EXISTS"), access.Admin},
		{"POST", "/v1/query", statement("DROP GRAPH g IF EXISTS"), access.Admin},
		{"POST", "/v1/query", statement("CREATE SNAPSHOT s IF NOT EXISTS"), access.Admin},
		{"POST", "/v1/query", statement("SHOW SNAPSHOTS"), access.Reader},
		{"POST", "/v1/query", statement("DROP SNAPSHOT s IF EXISTS"), access.Admin},
		{"POST", "/db/default/query/v2", statement("RETURN 1"), access.Reader},
		{"POST", "/db/default/query/v2", statement("CREATE (:A)"), access.Writer},
		{"POST", "/db/default/query/v2/tx", statement("CREATE (:A)"), access.Writer},
		{"POST", "/get", `{"A[]": {"A": {}}}`, access.Operations}, // the body's own code reports the permissions of fetches
		{"POST", "/v1/traverse", `{"from": {"label": "A", "property": "x", "value": 1}, "edges": ["T"], "hops": 1}`, access.Reader},
		{"GET", "/no/such/route", "", access.Operations},
		{"GET", "/v1/schema", "", access.Reader},
		{"GET", "/v1/queries", "", access.Operations}, // the caller's own
		{"GET", "/v1/slowlog", "", access.Admin},
		{"GET", "/v1/top?intervalMs=100", "", access.Admin},
		{"GET", "/v1/metrics", "", access.Admin},
		{"GET", "/v1/shards", "", access.Admin},
		{"GET", "/v1/profile?seconds=1", "", access.Admin},
	} {
		for r := access.None; r <= access.Admin; r++ {
			code := g.request(t, r, c.method, "http://"+g.addrs.HTTP+c.path, c.body)
			switch {
			case r == access.None:
				require.Equal(t, http.StatusUnauthorized, code, "%s %s without a good token", c.path, c.body)
			case r < c.from:
				require.Equal(t, http.StatusForbidden, code, "%s %s by a %s", c.path, c.body, r)
			default:
				require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError}, code, "%s %s by a %s", c.path, c.body, r)
			}
		}
	}
	for path, from := range map[string]access.Role{"/livez": access.None, "/readyz": access.None, "/metrics": access.None, "/debug/pprof/cmdline": access.Admin} {
		for r := access.None; r <= access.Admin; r++ {
			code := g.request(t, r, "GET", "http://"+g.addrs.Admin+path, "")
			require.Equal(t, r >= from, code == http.StatusOK, "%s by a %s: %d", path, r, code)
		}
	}
	post := func(r access.Role) string {
		req, err := http.NewRequest("POST", "http://"+g.addrs.HTTP+"/post", strings.NewReader(`{"A": {"x": 1}, "tag": "A"}`))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+g.tokens[r])
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return string(body)
	}
	require.Contains(t, post(access.None), `"code":407`)
	require.Contains(t, post(access.Operations), `"code":401`)
	_, fetched := g.answer(t, access.Operations, "POST", "http://"+g.addrs.HTTP+"/get", `{"A[]": {"A": {}}}`)
	require.Contains(t, string(fetched), `"code":401`)
	require.Contains(t, post(access.Reader), `"code":401`)
	require.Contains(t, post(access.Writer), `"code":200`)
	log := g.audit.String()
	require.Contains(t, log, `"caller":"writer","action":"write","graph":"default","what":"CREATE (:A)","outcome":"ok"`)
	require.Contains(t, log, `"caller":"reader","action":"write","graph":"default","what":"CREATE (:A)","outcome":"Neo.ClientError.Security.Forbidden"`)
	require.Contains(t, log, `"caller":"admin","action":"graphs"`)
	require.NotContains(t, log, `"what":"RETURN 1","outcome":"ok"`)
}

// TestRolesGRPC asks every method that is registered, so that a new one is not open by oversight.
func TestRolesGRPC(t *testing.T) {
	g := serveGuarded(t)
	call := func(r access.Role, name string, info grpc.MethodInfo) codes.Code {
		ctx, cancel := context.WithCancel(g.as(r))
		defer cancel()
		if !info.IsClientStream && !info.IsServerStream {
			return status.Code(g.conn.Invoke(ctx, name, &emptypb.Empty{}, &emptypb.Empty{}))
		}
		s, err := g.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: info.IsClientStream, ServerStreams: true}, name)
		require.NoError(t, err)
		if err = s.SendMsg(&emptypb.Empty{}); err == nil {
			err = s.CloseSend()
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = s.RecvMsg(&emptypb.Empty{})
		}
		return status.Code(err)
	}
	api, ok := g.listeners[1].Listener.(interface {
		GetServiceInfo() map[string]grpc.ServiceInfo
	})
	require.True(t, ok)
	for service, info := range api.GetServiceInfo() {
		for _, m := range info.Methods {
			name := "/" + service + "/" + m.Name
			switch {
			case service == healthpb.Health_ServiceDesc.ServiceName:
				continue // is open
			case m.Name == "Profile" || m.Name == "Trace" || m.Name == "Top":
				// These take a while for callers with permission.
				require.Equal(t, codes.PermissionDenied, call(access.Writer, name, m), name)
				continue
			}
			require.Equal(t, codes.Unauthenticated, call(access.None, name, m), name)
			if service == pb.AdminService_ServiceDesc.ServiceName && !slices.Contains([]string{"Schema", "Stats", "RunningQueries", "KillQuery", "Version"}, m.Name) {
				require.Equal(t, codes.PermissionDenied, call(access.Writer, name, m), name)
			}
			require.NotContains(t, []codes.Code{codes.Unauthenticated, codes.PermissionDenied}, call(access.Admin, name, m), name)
		}
	}
	_, err := healthpb.NewHealthClient(g.conn).Check(g.as(access.None), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)

	load, err := pb.NewLoadServiceClient(g.conn).Load(g.as(access.Reader))
	require.NoError(t, err)
	requireSent(t, load.Send(&pb.LoadRequest{Part: &pb.LoadRequest_Open{Open: &pb.LoadOpen{Stream: "s"}}}))
	_, err = load.Recv()
	require.Equal(t, codes.PermissionDenied, status.Code(err))
}

// TestOthersRequests checks that a caller sees and ends only its own requests, and an admin all.
func TestOthersRequests(t *testing.T) {
	g := serveGuarded(t)
	tx, err := g.engine.Begin(access.WithIdentity(context.Background(), &access.Identity{Name: "writer", Every: access.Writer}), query.TxOptions{})
	require.NoError(t, err)
	defer tx.Rollback()
	admin := pb.NewAdminServiceClient(g.conn)
	seen := func(r access.Role) []*pb.RunningQuery {
		res, err := admin.RunningQueries(g.as(r), &pb.RunningQueriesRequest{})
		require.NoError(t, err)
		return res.GetQueries()
	}
	require.Empty(t, seen(access.Reader))
	require.Len(t, seen(access.Writer), 1)
	require.Len(t, seen(access.Admin), 1)
	kill := func(r access.Role) bool {
		res, err := admin.KillQuery(g.as(r), &pb.KillQueryRequest{Id: seen(access.Admin)[0].GetId()})
		require.NoError(t, err)
		return res.GetKilled()
	}
	require.False(t, kill(access.Reader))
	require.True(t, kill(access.Writer))
}
