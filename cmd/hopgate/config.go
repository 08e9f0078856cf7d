package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Print the effective configuration as YAML", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags(), os.Environ())
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			_, err = cmd.OutOrStdout().Write(c.YAML())
			return err
		},
	}
	config.Flags(cmd.Flags())
	return cmd
}
