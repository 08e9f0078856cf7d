package query

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query/admission"
)

// inGraphs is an engine with the graphs default, other and hidden.
func inGraphs(t *testing.T, opt Options) *Engine {
	store := oracle.New(1)
	for _, name := range []string{DefaultGraph, "other", "hidden"} {
		require.NoError(t, store.CreateGraph(t.Context(), name))
	}
	return New(store, opt)
}

// reads is a caller who may read some graphs.
func reads(graphs ...string) context.Context {
	id := &access.Identity{Name: "eve", Graph: map[string]access.Role{}}
	for _, g := range graphs {
		id.Graph[g] = access.Reader
	}
	return access.WithIdentity(context.Background(), id)
}

// A caller cannot tell a graph in which it has no role from one that does not exist, whatever it asks.
func TestGraphsStayHidden(t *testing.T) {
	e := inGraphs(t, Options{})
	ctx := reads("other")
	for name, ask := range map[string]func(graphName string) error{
		"statement": func(g string) error {
			_, err := e.Query(ctx, Request{Statement: "MATCH (n) RETURN n", Graph: g})
			return err
		},
		"write": func(g string) error { _, err := e.Query(ctx, Request{Statement: "CREATE (n)", Graph: g}); return err },
		"command": func(g string) error {
			_, err := e.Query(ctx, Request{Statement: "CREATE INDEX FOR (n:A) ON (n.x)", Graph: g})
			return err
		},
		"USE": func(g string) error {
			_, err := e.Query(ctx, Request{Statement: "USE " + g + " MATCH (n) RETURN n", Graph: "other"})
			return err
		},
		"EXPLAIN": func(g string) error {
			_, err := e.Query(ctx, Request{Statement: "EXPLAIN USE " + g + " MATCH (n) RETURN n", Graph: "other"})
			return err
		},
		"USE from": func(g string) error {
			_, err := e.Query(ctx, Request{Statement: "USE " + g + " MATCH (n) RETURN n"})
			return err
		},
		"drop": func(g string) error {
			_, err := e.Query(ctx, Request{Statement: "DROP GRAPH " + g, Graph: "other"})
			return err
		},
		"BEGIN":   func(g string) error { _, err := e.Begin(ctx, TxOptions{Graph: g}); return err },
		"schema":  func(g string) error { _, err := e.Schema(ctx, g); return err },
		"routing": func(g string) error { _, err := e.GraphNamed(ctx, g); return err },
		"fetch": func(g string) error {
			var out bytes.Buffer
			_, err := e.Fetch(ctx, FetchRequest{Graph: g, Method: "get", Body: []byte(`{"A": {}}`)}, &out)
			require.NoError(t, err)
			_, text, _ := strings.Cut(out.String(), `"msg":`)
			text, _, _ = strings.Cut(text, `",`)
			return graph.Unauthenticated(text)
		},
	} {
		hidden, none := ask("hidden"), ask("nowhere")
		require.Error(t, hidden, name)
		require.Equal(t, strings.ReplaceAll(hidden.Error(), "hidden", "X"), strings.ReplaceAll(none.Error(), "nowhere", "X"), name)
		require.Equal(t, graph.AsError(hidden).Code, graph.AsError(none).Code, name)
	}
	rows, err := rowsOf(e.Query(ctx, Request{Statement: "USE other MATCH (n) RETURN count(n)", Graph: "hidden"}))
	require.NoError(t, err, "the statement names a graph of the caller")
	require.Equal(t, []string{"[0]"}, rows)
	for statement, want := range map[string][]string{
		"SHOW GRAPHS YIELD name RETURN name":    {"['other']"},
		"SHOW DATABASES YIELD name RETURN name": {"['other']", "['system']"},
	} {
		rows, err := rowsOf(e.Query(ctx, Request{Statement: statement, Graph: "other"}))
		require.NoError(t, err)
		require.Equal(t, want, rows)
	}
}

// Callers without a role in a graph use up none of its limits.
func TestLimitsOfOthers(t *testing.T) {
	e := inGraphs(t, Options{Admission: admission.Limits{Graph: access.Limits{Queries: 1}}})
	rates := access.NewRates(access.Limits{}, access.Limits{Requests: 1})
	arrive := func(ctx context.Context) context.Context {
		ctx, _, err := rates.Arrive(ctx)
		require.NoError(t, err)
		return ctx
	}
	for range 3 {
		_, err := e.Query(arrive(reads("other")), Request{Statement: "MATCH (n) RETURN n", Graph: "hidden"})
		require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
		_, err = e.Query(arrive(reads()), Request{Statement: "USE hidden MATCH (n) RETURN n", Graph: "other"})
		require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
		code, err := e.Fetch(arrive(reads("other")), FetchRequest{Graph: "hidden", Method: "get", Body: []byte(`{"A": {}}`)}, io.Discard)
		require.NoError(t, err)
		require.Equal(t, 401, code)
	}
	_, err := rowsOf(e.Query(arrive(reads("hidden")), Request{Statement: "RETURN 1", Graph: "hidden"}))
	require.NoError(t, err)
	_, err = e.Query(arrive(reads("hidden")), Request{Statement: "RETURN 1", Graph: "hidden"})
	require.Equal(t, graph.KindBusy, graph.AsError(err).Kind, "a second request in this second")
	require.Zero(t, e.Load().Running)
}

// The audit log names the graph that a statement runs on, denied or not, and the commit that is denied.
func TestAuditNamesGraph(t *testing.T) {
	var log bytes.Buffer
	e := inGraphs(t, Options{Audit: access.NewAudit(&log)})
	for _, c := range []struct {
		ctx       context.Context
		statement string
		want      string
	}{
		{as("ann"), "USE other CREATE (n)", `"action":"write","graph":"other","what":"USE other CREATE (n)","outcome":"ok"`},
		{as("ann"), "USE other CREATE INDEX FOR (n:A) ON (n.x)", `"action":"schema","graph":"other"`},
		{reads(DefaultGraph), "USE hidden MATCH (n) RETURN n", `"action":"read","graph":"hidden","what":"USE hidden MATCH (n) RETURN n","outcome":"Neo.ClientError.Security.Forbidden"`},
		{reads(DefaultGraph, "other"), "USE other CREATE (n)", `"action":"write","graph":"other","what":"USE other CREATE (n)","outcome":"Neo.ClientError.Security.Forbidden"`},
		{reads(), "USE hidden MATCH (n) RETURN n", `"graph":"hidden"`},
	} {
		log.Reset()
		_, _ = rowsOf(e.Query(c.ctx, Request{Statement: c.statement}))
		require.Contains(t, log.String(), c.want)
	}
	id := &access.Identity{Name: "ann", Every: access.Writer}
	ctx := access.WithIdentity(context.Background(), id)
	tx, err := e.Begin(ctx, TxOptions{Graph: "other"})
	require.NoError(t, err)
	_, err = rowsOf(tx.Run(ctx, Request{Statement: "CREATE (n)"}))
	require.NoError(t, err)
	id.Every = access.Reader
	log.Reset()
	require.Equal(t, graph.KindDenied, graph.AsError(tx.Commit(ctx)).Kind)
	require.Contains(t, log.String(), `"graph":"other","what":"COMMIT","outcome":"Neo.ClientError.Security.Forbidden"`)
}

// A statement that has committed says so, even if its caller has lost its rights since.
func TestReceiptOfCommit(t *testing.T) {
	e := inGraphs(t, Options{})
	id := &access.Identity{Name: "ann", Every: access.Writer}
	res, err := e.Query(access.WithIdentity(context.Background(), id), Request{Statement: "UNWIND range(1, 3000) AS x CREATE (n {x: x}) RETURN x"})
	require.NoError(t, err)
	defer res.Close()
	id.Every = access.None
	e.Sweep()
	_, err = res.Next()
	require.NoError(t, err)
	_, err = res.Next()
	require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
}

// A caller of another issuer with the same name neither sees nor ends requests, and has limits of its own.
func TestSameName(t *testing.T) {
	e := inGraphs(t, Options{Admission: admission.Limits{Caller: access.Limits{Queries: 1}}})
	from := func(issuer string) context.Context {
		return access.WithIdentity(context.Background(), &access.Identity{Name: "ann", Issuer: issuer, Every: access.Reader})
	}
	res, err := e.Query(from(""), Request{Statement: "UNWIND range(1, 100000) AS x RETURN x"})
	require.NoError(t, err)
	defer res.Close()
	other := from("https://issuer.example")
	require.Empty(t, e.Running(other))
	require.False(t, e.Kill(other, res.q.ID))
	_, err = rowsOf(e.Query(other, Request{Statement: "RETURN 1"}))
	require.NoError(t, err)
	require.True(t, e.Kill(from(""), res.q.ID))
}

// A request whose client does not read loses its place to others after a moment, and waits for one when its client reads on.
func TestStalledWriter(t *testing.T) {
	e := New(stores["oracle"](t), Options{Admission: admission.Limits{Running: 1}})
	res, err := e.Query(t.Context(), Request{Statement: "UNWIND range(1, 100000) AS x RETURN x"})
	require.NoError(t, err)
	defer res.Close()
	_, err = res.Next()
	require.NoError(t, err)
	res.Sending()
	e.Sweep()
	_, err = e.Query(t.Context(), Request{Statement: "RETURN 1"})
	requireBusy(t, err, "max-queries")
	e.sweepAt(stalled())
	e.sweepAt(stalled())
	require.Zero(t, e.Load().Running)
	other, err := e.Query(t.Context(), Request{Statement: "UNWIND range(1, 100000) AS x RETURN x"})
	require.NoError(t, err)
	_, err = res.Next()
	requireBusy(t, err, "max-queries")
	other.Close()
	require.Zero(t, e.Load().Running)
	res.Close()
	require.Zero(t, e.Load().Running)

	again, err := e.Query(t.Context(), Request{Statement: "UNWIND range(1, 5000) AS x RETURN x"})
	require.NoError(t, err)
	defer again.Close()
	_, err = again.Next()
	require.NoError(t, err)
	again.Sending()
	e.sweepAt(stalled())
	b, err := again.Next()
	require.NoError(t, err)
	require.NotNil(t, b)
	require.Equal(t, 1, e.Load().Running)

	again.Sending()
	e.sweepAt(stalled())
	require.Zero(t, e.Load().Running)
	require.NoError(t, again.q.cpu.BecomeLongRunning(t.Context()), "which leaves no place that it has lost")
	require.Equal(t, 1, e.Load().Running)
	_, err = again.Next()
	require.NoError(t, err)
	again.Close()
	require.Zero(t, e.Load().Running)
}

// stalled is the instant at which a request that writes now has done so for too long.
func stalled() int64 { return admission.Now() + int64(2*time.Second) }

// A statement that commits in several transactions commits none after its caller has lost its role.
func TestOwnTransactionsFollowRights(t *testing.T) {
	e := New(stores["oracle"](t), Options{})
	id := &access.Identity{Name: "ann", Every: access.Writer}
	ctx := access.WithIdentity(context.Background(), id)
	require.NoError(t, e.SetTestProcedures(nil))
	p, err := e.prepareWith(ctx, must2(e.known(t.Context(), DefaultGraph)), "UNWIND [1, 2] AS x CALL (x) { CREATE (:Own) } IN TRANSACTIONS OF 1 ROW", nil)
	require.NoError(t, err)
	q := &Running{Graph: DefaultGraph}
	q.setCaller(ctx)
	require.NoError(t, q.allow(ctx, p))
	id.Every = access.Reader
	res := &Result{e: e, ctx: ctx, q: q}
	err = e.runOwn(ctx, must2(e.known(t.Context(), DefaultGraph)), p, nil, res)
	require.Equal(t, graph.KindDenied, graph.AsError(err).Kind)
	require.Equal(t, []string{"[0]"}, must(t, e, "MATCH (n:Own) RETURN count(n)"))
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
