// Command hopgate is the server: a gateway that plans graph queries, and the shards that hold the graphs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/version"
)

// usageError is an error in the command line or configuration; the program exits with 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run runs one command line and returns the exit code: 0, 1 for a failure, 2 for an error in the command line or configuration.
func run(ctx context.Context, args []string) int {
	root := &cobra.Command{
		Use: "hopgate", Short: "A graph query gateway over sharded LSM storage", Version: version.Version(),
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServe(), newGateway(), newShard(), newRecover(), newIdle(), newConfig(), newToken(), newVersion())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(os.Stderr, "hopgate:", strings.TrimSpace(line))
	}
	var usage usageError
	if errors.As(err, &usage) || isUnknownCommand(err) {
		return 2
	}
	return 1
}

// isUnknownCommand recognises cobra's errors about the command line, which have no type.
func isUnknownCommand(err error) bool {
	for _, prefix := range []string{"unknown command", "accepts ", "requires ", "unknown flag"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), "hopgate", version.Version(), version.Commit())
		},
	}
}
