package tck

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/server"
)

// bearer sends a token with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// through returns the transports of a server of an engine, for the caller whom rule makes.
func (e *engine) through(t *testing.T) map[string]runner {
	const token = "the clerk's"
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	entry := fmt.Sprintf("tokens: [{name: ann, sha256: %x, roles: [clerk], claims: {yes: true}}]", sha256.Sum256([]byte(token)))
	require.NoError(t, os.WriteFile(file, []byte(entry), 0o600))
	auth, err := access.New(access.Options{TokensFile: file}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s := server.New(e.whole, loader.New(e.store), nil, prometheus.NewRegistry(), server.Options{Auth: auth, Logger: slog.New(slog.DiscardHandler)})
	addrs, err := s.Listen(context.Background(), server.Addresses{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Admin: "127.0.0.1:0"})
	require.NoError(t, err)
	conn, err := grpc.NewClient(addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearer(token)))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		http.DefaultClient.CloseIdleConnections()
		s.Drain(context.Background())
	})
	return map[string]runner{"HTTP": httpTransport{addrs.HTTP, token}, "gRPC": grpcTransport{pb.NewGraphServiceClient(conn)}}
}

// TestStatementsUnderRules runs random statements through the transports of a server as a caller under rules: the answers are those of a graph
// without what is hidden. HOPGATE_SEEDS and HOPGATE_FIRST_SEED are as for TestStatements.
func TestStatementsUnderRules(t *testing.T) {
	seeds, first := 40, 0
	if testing.Short() {
		seeds = 6
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		seeds = n
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_FIRST_SEED")); err == nil {
		first = n
	}
	judged := 0
	for seed := first; seed < first+seeds; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			e := newGuarded(t, setting{shards: 1 + seed%3})
			var doors map[string]runner
			for _, c := range casesOf(uint64(seed)) {
				want, ok := c.right()
				if c.seen == nil || !ok {
					continue
				}
				if doors == nil {
					require.NoError(t, c.prepare(e))
					require.NoError(t, e.rule(false))
					doors = e.through(t)
				}
				for name, door := range doors {
					judged++
					got := ""
					if a, err := door.run(c.text, nil); err != nil {
						got = "error " + describe(err)
					} else {
						got = c.answerOf(a.columns, a.rows)
					}
					if !c.matches(got, want) {
						t.Errorf("%s: %s\n%s\nwant\n%s\ngot\n%s", name, c.setup, c.text, want, got)
					}
				}
			}
		})
	}
	require.Positive(t, judged)
	t.Logf("%d answers", judged)
}
