// Command graphctl is the client: it loads, queries and inspects the graphs of a Hopgate server.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/cli"
)

func main() {
	os.Exit(cli.Interruptible(func(ctx context.Context) int { return run(ctx, os.Args[1:]) }))
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
	if err.Error() != "" { // another program has not printed it
		app.report(os.Stderr, err)
	}
	return cli.ExitCode(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use: "graphctl", Short: "Load, query and inspect graphs of a Hopgate server", SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Error{Code: cli.Usage, Err: err} })
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
		newPS(a), newKill(a), newSlowlog(a), newTop(a), newTrace(a), newDebugInfo(a), newPprof(a), newBench(a), newBackup(a), newRestore(a), newCheck(a), newMember(a), newOperation(a), newRules(a), newExport(a), newMCP(a), newVersion(a),
	)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.FParseErrWhitelist = onlySubcommands, cobra.FParseErrWhitelist{UnknownFlags: true}
			c.RunE = func(*cobra.Command, []string) error {
				return cli.Usagef("completion: name a shell: bash, fish, powershell or zsh")
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
