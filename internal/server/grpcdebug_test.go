package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
)

func TestDebugInfo(t *testing.T) {
	r := serveOver(t, newOracle(t), query.Options{}, Options{Config: []byte("memory: 1GiB\n")})
	stream, err := pb.NewAdminServiceClient(r.conn).DebugInfo(context.Background(), &pb.DebugInfoRequest{})
	require.NoError(t, err)
	files, name := map[string][]byte{}, ""
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if piece.GetFile() != "" {
			name = piece.GetFile()
		}
		files[name] = append(files[name], piece.GetChunk()...)
	}
	require.Len(t, files, 7)
	require.Equal(t, "memory: 1GiB\n", string(files["config.yaml"]))
	require.Contains(t, string(files["metrics.txt"]), "# TYPE hopgate_panics_total counter")
	require.Contains(t, string(files["goroutines.txt"]), "DebugInfo")
	for _, name := range []string{"goroutine", "heap", "mutex", "block"} {
		_, err := profile.Parse(bytes.NewReader(files[name+".pb.gz"]))
		require.NoError(t, err, name)
	}
}
