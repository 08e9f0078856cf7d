// Command graphctl is the client: it loads, queries and inspects the graphs of a Hopgate server.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/changes"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/cli/diagnose"
	"github.com/hopgate/hopgate/internal/cli/member"
	"github.com/hopgate/hopgate/internal/version"
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
		Use: "graphctl", Short: "Load, query and inspect graphs of a Hopgate server", Version: version.Build(), SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Args = client.OnlySubcommands
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if c.HasSubCommands() {
			if unknown := client.OnlySubcommands(c, c.Flags().Args()); unknown != nil {
				return unknown
			}
		}
		return cli.Error{Code: cli.Usage, Err: err}
	})
	f := root.PersistentFlags()
	a.Flags(f)
	f.BoolVar(&a.verbose, "verbose", false, "say more about errors")
	root.AddCommand(newTraverse(a), newPath(a))
	root.AddCommand(
		newQuery(a), newFetch(a), newExplain(a), newProfile(a), newLoad(a), newGenerate(), newSchema(a), newStats(a),
		newPS(a), newKill(a), newSlowlog(a), newTop(a), newTrace(a), changes.Command(&a.Server), diagnose.DebugInfo(&a.Server), diagnose.Pprof(&a.Server), newBench(a), newBackup(a), newRestore(a), newCheck(a), member.Command(&a.Server), newOperation(a), newQuota(a), newRules(a), newExport(a), newMCP(a), cli.Manual(), newVersion(a),
	)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.FParseErrWhitelist = client.OnlySubcommands, cobra.FParseErrWhitelist{UnknownFlags: true}
			c.RunE = func(*cobra.Command, []string) error {
				return cli.Usagef("completion: name a shell: bash, fish, powershell or zsh")
			}
		}
	}
	a.addCompletions(root)
	a.addHelp(root)
	return root
}
