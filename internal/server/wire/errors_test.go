package wire

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/graph"
)

// kinds reads the constants of graph.Kind from its source.
func kinds(t *testing.T) map[string]graph.Kind {
	f, err := parser.ParseFile(token.NewFileSet(), "../../graph/error.go", nil, 0)
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
		require.NotEmpty(t, tr.gql, name)
		switch kind {
		case graph.KindInternal, graph.KindCorrupt, graph.KindUnavailable, graph.KindUnknown:
			require.GreaterOrEqual(t, tr.http, 500, name)
		default:
			require.Less(t, tr.http, 500, name)
		}
	}
}

// Whatever error a layer returns, the client receives a code, a type, a phase and a detail.
func TestErrorsAreWhole(t *testing.T) {
	for _, err := range []error{
		errors.New("plain"), &graph.Error{Kind: graph.KindInvalid, Msg: "bare"}, graph.DeadlineError(nil), RequestError("x"),
		TooLarge("x"), graph.ConstraintError("x"), graph.BudgetError("x"), graph.CorruptError("x", nil), graph.InternalError("x", nil),
	} {
		text := string(AppendError(nil, err))
		require.NotContains(t, text, `":""`, text)
		details := status.Convert(GRPCError(err)).Details()
		require.NotEmpty(t, details, text)
		info, ok := details[0].(*errdetails.ErrorInfo)
		require.True(t, ok, text)
		require.NotEmpty(t, info.GetReason(), text)
	}
}
