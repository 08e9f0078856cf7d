package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// The rows before one that fails arrive where an answer is a stream. An answer in one JSON object is the error alone.
func TestRowsBeforeFailure(t *testing.T) {
	r := serve(t)
	const statement = "UNWIND [4, 2, 0] AS x RETURN 4 / x AS y"
	for _, path := range []string{"/v1/query", "/db/default/query/v2"} {
		for media, want := range map[string][]string{
			"application/x-ndjson": {`{"fields":["y"]}`, "[1]", "[2]", "Neo.ClientError.Statement.ArithmeticError", ""},
			"application/json":     {"Neo.ClientError.Statement.ArithmeticError", ""},
		} {
			req, err := http.NewRequest(http.MethodPost, "http://"+r.addrs.HTTP+path, strings.NewReader(`{"statement": "`+statement+`"}`))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", media)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			require.NoError(t, err)
			lines := strings.Split(string(body), "\n")
			require.Len(t, lines, len(want), "%s %s: %s", path, media, body)
			for i := range want {
				require.Contains(t, lines[i], want[i], "%s %s", path, media)
			}
			require.Equal(t, len(want) == 2, res.StatusCode == http.StatusBadRequest, "%s %s", path, media)
		}
	}
	a, err := r.query(context.Background(), &pb.QueryRequest{Statement: statement})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Equal(t, 2, a.rows)
}
