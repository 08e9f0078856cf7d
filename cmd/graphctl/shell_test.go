package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// script is what a user types; it notes the prompts.
type script struct {
	lines   []string
	prompts []string
}

func (s *script) Readline() (string, error) {
	if len(s.lines) == 0 {
		return "", io.EOF
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	return line, nil
}
func (s *script) SetPrompt(p string)       { s.prompts = append(s.prompts, p) }
func (s *script) SaveHistory(string) error { return nil }

// serve starts a server over an empty graph in memory.
func serve(t *testing.T) (*app, *query.Engine) {
	whole := oracle.New(1)
	require.NoError(t, whole.CreateGraph(context.Background(), query.DefaultGraph))
	store := restricted.NewStore(whole)
	e := query.New(store, query.Options{})
	srv := server.New(e, loader.New(store), nil, prometheus.NewRegistry(), server.Options{Logger: slog.New(slog.DiscardHandler)})
	addrs, err := srv.Listen(context.Background(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", "admin": "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(func() { srv.Drain(context.Background()) })
	return &app{Server: client.Server{Address: addrs["grpc"], Graph: query.DefaultGraph}}, e
}

// The shell's transactions see their own changes, and others see them after the commit.
func TestShellTransactions(t *testing.T) {
	a, e := serve(t)
	typed := func(lines ...string) (out, errs string, prompts []string) {
		var stdout, stderr bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetContext(context.Background())
		cmd.SetOut(&stdout)
		cmd.SetErr(&stderr)
		s := &script{lines: lines}
		require.NoError(t, a.repl(cmd, &queryFlags{output: "csv"}, s))
		return stdout.String(), stderr.String(), s.prompts
	}
	out, errs, prompts := typed(":begin", "CREATE (:A)", "RETURN 1 AS x;", "MATCH (n) RETURN count(n) AS n;", ":begin", ":rollback", "MATCH (n) RETURN count(n) AS m;")
	require.Equal(t, "x\n1\nn\n1\nm\n0\n", out)
	require.Equal(t, "graphctl: a transaction is open; :commit or :rollback ends it\n", errs)
	require.Equal(t, []string{"default*> ", "........> ", "default*> ", "default*> ", "default*> ", "default> ", "default> "}, prompts)

	out, errs, _ = typed(":begin", "CREATE (:A);", ":commit;", "MATCH (n) RETURN count(n) AS n;")
	require.Equal(t, "n\n1\n", out)
	require.Equal(t, "1 vertex created, 1 label added\n", errs)

	_, errs, prompts = typed(":begin", "RETURN 1 / 0;", ":commit")
	require.Contains(t, errs, "/ by zero")
	require.Contains(t, errs, "graphctl: the transaction is rolled back\n")
	require.Contains(t, errs, "no transaction is open")
	require.Equal(t, "default> ", prompts[1])

	_, errs, _ = typed(":begin read", "CREATE (:A);", ":no", ":commit now")
	require.Contains(t, errs, "AccessMode")
	require.Contains(t, errs, ":no: no such command")
	require.Equal(t, 1, strings.Count(errs, "the transaction commands are"))

	typed(":begin", "CREATE (:A);") // the end of the shell is the end of its transaction
	require.Eventually(t, func() bool { return len(e.Running(context.Background())) == 0 }, time.Minute, time.Millisecond)
	out, _, _ = typed("MATCH (n) RETURN count(n) AS n;")
	require.Equal(t, "n\n1\n", out)

	// Several statements in a line, one over lines, and the shell's own commands.
	file := filepath.Join(t.TempDir(), "s.cypher")
	require.NoError(t, os.WriteFile(file, []byte("// a comment;\nRETURN 'a;b' AS f;\nRETURN 2 AS g"), 0o600))
	out, errs, _ = typed(":param x => {\"a\": 1}", "RETURN $x.a AS a; RETURN ';' AS", "b;", ":params", ":source "+file, ":max-rows x", ":mode ndjson",
		"RETURN 1 AS c;", "exit", "RETURN 9 AS never;")
	require.Equal(t, "a\n1\nb\n;\nx => {\"a\":1}\nf\na;b\ng\n2\n{\"c\":1}\n", out)
	require.Equal(t, "graphctl: :max-rows x: must be a number of rows; 0 is all\n", errs)
	out, errs, _ = typed(":use other", "RETURN 1;", ":use default", ":help", ":schema")
	require.Contains(t, errs, "other")
	require.Contains(t, out, ":source FILE")
	require.Contains(t, out, "label")
}

// Ctrl-C ends the statement that runs, and no later one.
func TestShellInterrupt(t *testing.T) {
	notify := make(chan os.Signal, 1) // so that a signal between two steps does not end the test
	signal.Notify(notify, os.Interrupt)
	defer signal.Stop(notify)
	a := &app{}
	cmd := &cobra.Command{}
	cmd.SetContext(context.Background())
	require.NoError(t, a.interruptible(cmd, func() error {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
		<-cmd.Context().Done()
		return nil
	}))
	require.NoError(t, a.interruptible(cmd, func() error { return cmd.Context().Err() }))
}
