package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/access"
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

// openRemote opens graphs whose shards are in other processes.
func openRemote(c *config.Config, _ config.Budget, log *slog.Logger) (backing, error) {
	if strings.HasPrefix(c.ShardAddresses, remote.ServicePrefix) {
		if c.Replication > 1 {
			return nil, usageError{errors.New("shard-addresses: with replication, a gateway needs the list of all processes")}
		}
		secure, err := mutual(c, nil, log)
		if err != nil {
			return nil, usageError{err}
		}
		store, err := remote.Discover(c.ShardAddresses, log, remote.Secure(secure)...)
		if err != nil {
			return nil, usageError{fmt.Errorf("shard-addresses: %w", err)}
		}
		return store, nil
	}
	addresses := addressList(c.ShardAddresses)
	secure, err := mutual(c, addresses, log)
	if err != nil {
		return nil, usageError{err}
	}
	if c.Replication > 1 {
		store, err := remote.OpenReplicas(addresses, c.Replication, -1, remote.Secure(secure)...)
		if err != nil {
			return nil, usageError{fmt.Errorf("replication: %w", err)}
		}
		return store, nil
	}
	return remote.Open(addresses, remote.Secure(secure)...)
}

// mutual returns how the processes of a cluster authenticate each other, or nil for plain connections.
func mutual(c *config.Config, addresses []string, log *slog.Logger) (*access.Mutual, error) {
	names := make([]string, len(addresses))
	for i, a := range addresses {
		var err error
		if names[i], _, err = net.SplitHostPort(a); err != nil {
			return nil, fmt.Errorf("addresses of the processes: %w", err)
		}
	}
	return access.NewMutual(access.MutualFiles{Cert: c.TLSCert, Key: c.TLSKey, CA: c.ShardCA}, names, log)
}
