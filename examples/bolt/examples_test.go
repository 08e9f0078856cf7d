// Package bolt_test runs the example programs that use Neo4j's drivers.
package bolt_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// programs are the examples: the files that .ci/examples prepares, and how they run.
var programs = map[string]struct {
	prepared string
	command  []string
}{
	"python":     {"python/.venv/bin/python", []string{"python/.venv/bin/python", "python/people.py"}},
	"javascript": {"javascript/node_modules", []string{"node", "javascript/people.js"}},
	"java":       {"java/target/dependency", []string{"java", "-cp", "java/target/classes:java/target/dependency/*", "People"}},
	"go":         {"go/people", []string{"go/people"}},
}

// printed is what each program prints.
const printed = `near 42: P2066 P295 P4463
total: 500000500000
left: 3
refused: 42 has only 3 coins
`

func TestPrograms(t *testing.T) {
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.FromSlash(p.prepared)); err != nil {
				t.Skip("not prepared, see .ci/examples")
			}
			cmd := exec.CommandContext(t.Context(), p.command[0], append(p.command[1:len(p.command):len(p.command)], serve(t))...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			require.NoError(t, err, "%s", &errs)
			require.Equal(t, printed, string(out))
		})
	}
}

// serve gives the address of the Bolt listener of a server over an empty graph.
func serve(t *testing.T) string {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s := server.New(query.New(store, query.Options{}), loader.New(store), nil, prometheus.NewRegistry(), server.Options{Logger: slog.New(slog.DiscardHandler)})
	addrs, err := s.Listen(t.Context(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", "admin": "127.0.0.1:0", "bolt": "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.Drain(ctx)
	})
	return addrs["bolt"]
}
