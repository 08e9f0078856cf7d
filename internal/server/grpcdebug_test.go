package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/grpcapi"
	"github.com/hopgate/hopgate/internal/server/request"
)

func TestDebugInfo(t *testing.T) {
	evidence := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(evidence, "moment"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(evidence, "moment", "running.json"), []byte("[]"), 0o600))
	r := serveOver(t, newOracle(t), query.Options{}, Options{Transports: []request.Transport{
		grpcapi.Transport(grpcapi.Options{Config: []byte("memory: 1GiB\n"), EvidenceDir: evidence}),
	}})
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
	require.Len(t, files, 8)
	require.Equal(t, "[]", string(files["evidence/moment/running.json"]))
	require.Equal(t, "memory: 1GiB\n", string(files["config.yaml"]))
	require.Contains(t, string(files["metrics.txt"]), "# TYPE hopgate_panics_total counter")
	require.Contains(t, string(files["goroutines.txt"]), "DebugInfo")
	for _, name := range []string{"goroutine", "heap", "mutex", "block"} {
		_, err := profile.Parse(bytes.NewReader(files[name+".pb.gz"]))
		require.NoError(t, err, name)
	}
}
