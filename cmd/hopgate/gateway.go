package main

import (
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/shard/remote"
)

func newGateway() *cobra.Command {
	cmd := &cobra.Command{
		Use: "gateway", Short: "Run a gateway, which holds no data, before shards in other processes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags(), os.Environ())
			if err != nil {
				return usageError{err}
			}
			if c.ShardAddresses == "" {
				return usageError{errNoAddresses}
			}
			return serve(cmd.Context(), &c, openRemote)
		},
	}
	config.Flags(cmd.Flags())
	return cmd
}

// shardAddresses gives the addresses of the processes of shards, in their order.
func shardAddresses(c *config.Config) []string {
	var out []string
	for a := range strings.SplitSeq(c.ShardAddresses, ",") {
		out = append(out, strings.TrimSpace(a))
	}
	return out
}

// openRemote opens the graphs that other processes hold.
func openRemote(c *config.Config, _ config.Budget, _ *slog.Logger) (backing, error) {
	return remote.Open(shardAddresses(c))
}
