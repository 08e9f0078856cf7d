package server

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/graph"
)

// kinds reads the constants of graph.Kind from its source.
func kinds(t *testing.T) map[string]graph.Kind {
	f, err := parser.ParseFile(token.NewFileSet(), "../graph/error.go", nil, 0)
	require.NoError(t, err)
	out := map[string]graph.Kind{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Kind") {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			i, err := strconv.Atoi(lit.Value)
			require.NoError(t, err)
			out[spec.Names[0].Name] = graph.Kind(i)
		}
		return true
	})
	return out
}

// Every kind of error has its status in both transports; a statement's own fault is none of the server's.
func TestTransports(t *testing.T) {
	all := kinds(t)
	require.GreaterOrEqual(t, len(all), 10)
	require.Len(t, transports, len(all))
	for name, kind := range all {
		tr, ok := transports[kind]
		require.True(t, ok, name)
		require.NotEmpty(t, http.StatusText(tr.http), name)
		require.NotEqual(t, codes.OK, tr.grpc, name)
		switch kind {
		case graph.KindInternal, graph.KindCorrupt, graph.KindUnavailable, graph.KindUnknown:
			require.GreaterOrEqual(t, tr.http, 500, name)
		default:
			require.Less(t, tr.http, 500, name)
		}
	}
}

// Whatever a layer gives, the client gets a code, a type, a phase and a detail.
func TestErrorsAreWhole(t *testing.T) {
	for _, err := range []error{
		errors.New("plain"), &graph.Error{Kind: graph.KindInvalid, Msg: "bare"}, graph.DeadlineError(nil), requestError("x"),
		tooLarge("x"), graph.ConstraintError("x"), graph.BudgetError("x"), graph.CorruptError("x", nil), graph.InternalError("x", nil),
	} {
		text := string(appendError(nil, err))
		require.NotContains(t, text, `":""`, text)
		require.NotEmpty(t, info(t, grpcError(err)).GetReason(), text)
	}
}

// A panic is counted once and is a 500 with a code, or, after the first byte, an answer that breaks off.
func TestPanic(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	registry := prometheus.NewRegistry()
	q := NewRequests(registry)
	early := q.observe("r", func(http.ResponseWriter, *http.Request) { panic("early") }, fail, log)
	w := httptest.NewRecorder()
	early.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `"code":"Neo.DatabaseError.General.UnknownError"`)
	late := q.observe("r", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("late")
	}, fail, log)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		late.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	})
	fetch := q.observe("f", func(http.ResponseWriter, *http.Request) { panic("early") }, failFetch, log)
	w = httptest.NewRecorder()
	fetch.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `"code":500`)
	err := q.stream(log)(nil, headless{}, &grpc.StreamServerInfo{FullMethod: "m"}, func(any, grpc.ServerStream) error { panic("stream") })
	require.Equal(t, codes.Internal, status.Code(err))
	metrics, err := registry.Gather()
	require.NoError(t, err)
	for _, m := range metrics {
		if m.GetName() == "hopgate_panics_total" {
			require.InDelta(t, 4, m.GetMetric()[0].GetCounter().GetValue(), 0)
			return
		}
	}
	t.Fatal("panics are not counted")
}

// headless is a stream that takes no header.
type headless struct{ grpc.ServerStream }

func (headless) Context() context.Context    { return context.Background() }
func (headless) SetHeader(metadata.MD) error { return nil }
