// Command graphctl is the client: it loads, queries and inspects the graphs of a Hopgate server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes other than 0.
const (
	exitFailed  = 1 // the server or the data
	exitUsage   = 2 // the command line
	exitRejects = 3 // finished, with rejected rows

	exitInterrupted = 130 // ended by Ctrl-C
)

// exitError ends the program with an exit code.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	var interrupted atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		interrupted.Store(<-signals == os.Interrupt)
		signal.Reset(os.Interrupt, syscall.SIGTERM) // a second signal ends the program at once
		cancel()
	}()
	code := run(ctx, os.Args[1:])
	if code == exitFailed && interrupted.Load() {
		code = exitInterrupted
	}
	os.Exit(code)
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	app := &app{}
	root := newRoot(app)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	app.report(os.Stderr, err)
	return exitCode(err)
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var exit exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case isUsage(err):
		return exitUsage
	}
	return exitFailed
}

// isUsage recognises cobra's errors about the command line, which have no type.
func isUsage(err error) bool {
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "unknown flag", "invalid argument", "required flag"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use: "graphctl", Short: "Load, query and inspect graphs of a Hopgate server", SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{exitUsage, err} })
	f := root.PersistentFlags()
	f.StringVar(&a.address, "address", env("GRAPHCTL_ADDRESS", "127.0.0.1:9090"), "the server's gRPC address (GRAPHCTL_ADDRESS)")
	f.StringVar(&a.graph, "graph", "default", "the graph")
	f.StringVar(&a.token, "token", os.Getenv("GRAPHCTL_TOKEN"), "bearer token (GRAPHCTL_TOKEN)")
	f.BoolVar(&a.tls, "tls", false, "connect by TLS")
	f.StringVar(&a.caFile, "tls-ca", "", "file of certificates to trust instead of the system's")
	f.StringVar(&a.certFile, "tls-cert", "", "file of the client's certificate")
	f.StringVar(&a.keyFile, "tls-key", "", "file of the client's key")
	f.DurationVar(&a.timeout, "timeout", 0, "time for the request; 0 is no limit")
	f.BoolVar(&a.verbose, "verbose", false, "say more about errors")
	root.AddCommand(newTraverse(a), newPath(a))
	root.AddCommand(
		newQuery(a), newFetch(a), newExplain(a), newProfile(a), newLoad(a), newGenerate(), newSchema(a), newStats(a),
		newPS(a), newKill(a), newSlowlog(a), newTop(a), newTrace(a), newDebugInfo(a), newPprof(a), newBench(a), newBackup(a), newRestore(a), newCheck(a), newMember(a), newExport(a), newVersion(a),
	)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.FParseErrWhitelist = onlySubcommands, cobra.FParseErrWhitelist{UnknownFlags: true}
			c.RunE = func(*cobra.Command, []string) error {
				return usagef("completion: name a shell: bash, fish, powershell or zsh")
			}
		}
	}
	a.addCompletions(root)
	a.addHelp(root)
	return root
}

func env(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}
