package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
)

// newToken creates bearer tokens. The server never sees them: its file holds their hashes.
func newToken() *cobra.Command {
	var id access.Identity
	var claims []string
	role := "reader"
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Create a bearer token and its entry for the tokens file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			id.Name = args[0]
			if cmd.Flags().Changed("role") || len(id.Roles) == 0 {
				if id.Every, err = access.ParseRole(role); err != nil {
					return cli.Usagef("--role: %w", err)
				}
			}
			if id.Claims, err = parseClaims(claims); err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			token, entry, err := access.NewTokenOf(&id)
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "token: %s\ntokens:\n  %s", token, entry)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", role, "operations, fetcher, reader, writer or admin, in all graphs; with --custom-role, none unless it is given")
	f.StringArrayVar(&id.Roles, "custom-role", nil, "custom role in all graphs")
	f.StringArrayVar(&claims, "claim", nil, "claim name=value; the value is JSON, a bare word a string")
	return cmd
}

// parseClaims parses the values of --claim.
func parseClaims(texts []string) (map[string]graph.Value, error) {
	out := map[string]graph.Value{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--claim %s: must be name=value", text)
		}
		c := rules.Constant{Value: graph.StringValue(value)}
		if json.Valid([]byte(value)) {
			if err := json.Unmarshal([]byte(value), &c); err != nil {
				return nil, fmt.Errorf("--claim %s: %w", name, err)
			}
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("--claim %s: is given twice", name)
		}
		out[name] = c.Value
	}
	return out, nil
}
