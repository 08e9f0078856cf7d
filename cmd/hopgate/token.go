package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
)

// newToken creates bearer tokens. The server never sees them: its file holds their hashes.
func newToken() *cobra.Command {
	role := "reader"
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Create a bearer token and its entry for the tokens file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := access.ParseRole(role)
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: fmt.Errorf("--role: %w", err)}
			}
			token, entry := access.NewToken(args[0], r)
			fmt.Fprintf(cmd.OutOrStdout(), "token: %s\ntokens:\n  %s", token, entry)
			return nil
		},
	}
	cmd.Flags().StringVar(&role, "role", role, "fetcher, reader, writer or admin, in all graphs")
	return cmd
}
