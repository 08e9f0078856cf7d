// Command hopgate is the server: a gateway that plans graph queries, and the shards that hold the graphs.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/version"
)

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(os.Stderr, "hopgate:", strings.TrimSpace(line))
	}
	return cli.ExitCode(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use: "hopgate", Short: "A graph query gateway over sharded LSM storage", Version: version.Build(),
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Error{Code: cli.Usage, Err: err} })
	root.AddCommand(newServe(), newGateway(), newShard(), newRecover(), newImport(), newRestore(), newCheck(), newIdle(), newConfig(), newToken(), cli.Manual(), newVersion())
	root.CompletionOptions.HiddenDefaultCmd = true
	addExamples(root)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), "hopgate", version.Build())
		},
	}
}
