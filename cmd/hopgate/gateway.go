package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/cluster"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
)

func newGateway() *cobra.Command {
	cmd := &cobra.Command{
		Use: "gateway", Short: "Run a gateway, which holds no data, before shards in other processes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, reload, err := configured(cmd)
			if err != nil {
				return err
			}
			if c.Join == "" {
				return cli.Error{Code: cli.Usage, Err: errNoJoin}
			}
			return serve(cmd.Context(), c, reload, openRemote)
		},
	}
	config.Flags(cmd.Flags())
	return cmd
}

// openRemote opens graphs whose shards are in other processes.
func openRemote(_ context.Context, c *config.Config, _ config.Budget, log *slog.Logger) (backing, error) {
	if strings.HasPrefix(c.Join, gateway.ServicePrefix) {
		secure, err := mutual(c, nil, log)
		if err != nil {
			return backing{}, cli.Error{Code: cli.Usage, Err: err}
		}
		store, err := gateway.Discover(c.Join, log, rpc.Secure(secure)...)
		if err != nil {
			return backing{}, cli.Error{Code: cli.Usage, Err: fmt.Errorf("join: %w", err)}
		}
		return behindGateway(store), nil
	}
	addresses := addressList(c.Join)
	secure, err := mutual(c, addresses, log)
	if err != nil {
		return backing{}, cli.Error{Code: cli.Usage, Err: err}
	}
	store, err := gateway.Open(addresses, rpc.Secure(secure)...)
	if err != nil {
		return backing{}, err
	}
	return behindGateway(store), nil
}

func behindGateway(s *gateway.Store) backing { return backing{store: s, waits: s.Single} }

// mutual returns how the processes of a cluster authenticate each other, or nil for plain connections.
func mutual(c *config.Config, addresses []string, log *slog.Logger) (*access.Mutual, error) {
	names, err := hosts(addresses)
	if err != nil {
		return nil, err
	}
	return access.NewMutual(access.MutualFiles{Cert: c.TLSCert, Key: c.TLSKey, CA: c.ShardCA}, names, log)
}

// hosts returns the names in addresses; "" is that of a process that was removed.
func hosts(addresses []string) (names []string, err error) {
	for _, a := range addresses {
		if a == "" {
			continue
		}
		name, _, err := net.SplitHostPort(a)
		if err != nil {
			return nil, fmt.Errorf("addresses of the processes: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

// admit has the certificates of all processes admitted as these are added and removed.
func admit(p *cluster.Process, secure *access.Mutual) {
	if secure == nil {
		return
	}
	p.OnAddresses(func(all []string) {
		if names, err := hosts(all); err == nil { // graphctl member add checks them
			secure.SetNames(names)
		}
	})
}
