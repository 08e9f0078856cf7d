package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/cluster"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
)

// member is one of the processes of hopgate serve --join: a gateway before all of them, with replicas of its own.
type member struct {
	*disk // its figures are those of the process, before those of front
	front
	p      *cluster.Process
	rpc    *grpc.Server
	failed chan error
}

// front is the gateway of a member.
type front struct{ *gateway.Store }

// errNoJoin says that a process of a cluster does not know the others.
var errNoJoin = errors.New("join: name the addresses of all processes, in the same order for each")

// checkMember returns what is wrong with the settings of a process that keeps replicas for a cluster.
func checkMember(c *config.Config) error {
	addresses := addressList(c.Join)
	switch n := len(addresses); {
	case c.Join == "":
		return errNoJoin
	case strings.HasPrefix(c.Join, gateway.ServicePrefix):
		return errors.New("join: a process that keeps shards needs the addresses of all; only gateways support SRV records")
	case c.TLSCert != "" && c.ShardCA == "":
		return errors.New("tls-cert: with join, shard-ca must name the authority that signs the certificates of all processes")
	case joins(c.Peer, addresses): // the cluster has its layout
		return nil
	case c.Replicas == 0:
		return errors.New("replicas: must be 1, 3, 5 or 7 with join")
	case n < c.Replicas:
		return fmt.Errorf("join: %d replicas need as many processes, and it names %d", c.Replicas, n)
	case n > c.Replicas+c.Shards-1:
		return fmt.Errorf("join: it names %d processes, and %d shards with %d replicas occupy only %d; raise shards", n, c.Shards, c.Replicas, c.Replicas+c.Shards-1)
	}
	return nil
}

// joins reports whether the process at an address is none of those that a cluster begins with.
func joins(peer string, addresses []string) bool {
	return peer != "" && !slices.Contains(addresses, peer)
}

// self returns the address of this process: peer, or if it is empty the only one of addresses that is an address of this machine.
func self(ctx context.Context, addresses []string, peer string) (string, error) {
	if peer != "" {
		return peer, nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	isLocal := func(ip net.IPAddr) bool {
		return ip.IP.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip.IP)
		})
	}
	var found []string
	var errs []error
	for _, a := range addresses {
		host, _, err := net.SplitHostPort(a)
		if err != nil {
			return "", fmt.Errorf("join: %w", err)
		}
		ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if slices.ContainsFunc(ips, isLocal) {
			found = append(found, a)
		}
		errs = append(errs, err) // another machine's name need not be known while that machine is down
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", errors.Join(append([]error{errors.New("join: it names no address of this machine; give this process's by peer")}, errs...)...)
	default:
		return "", fmt.Errorf("join: %d of the addresses are this machine's; give this process's by peer", len(found))
	}
}

// openMember opens the replicas of a process of hopgate serve --join and starts to listen for the other processes.
func openMember(ctx context.Context, c *config.Config, memory config.Budget, log *slog.Logger) (b backing, err error) {
	addresses := addressList(c.Join)
	own, err := self(ctx, addresses, c.Peer)
	if err != nil {
		return b, cli.Error{Code: cli.Usage, Err: err}
	}
	secure, err := mutual(c, addresses, log)
	if err != nil {
		return b, cli.Error{Code: cli.Usage, Err: err}
	}
	opts := storeOptions(ctx, c, memory, log)
	m := &member{rpc: grpc.NewServer(rpc.ServerOptions(secure)...), failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if m.p, err = openProcess(ctx, opts, c, own, secure); err != nil {
		return b, err
	}
	m.disk = m.p.Local()
	admit(m.p, secure)
	m.p.Register(m.rpc)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", own)
	if err != nil {
		return b, fmt.Errorf("listener for the other processes: %w", err)
	}
	log.Info("listening", slog.String("listener", "peer"), slog.String("address", own), slog.String("open_to", reach(listener.Addr().String())), slog.Bool("tls", secure != nil))
	go func() {
		if err := m.rpc.Serve(listener); err != nil {
			m.failed <- fmt.Errorf("listener for the other processes: %w", err)
		}
	}()
	if m.Store, err = m.p.OpenGateway(rpc.Secure(secure)...); err != nil {
		return b, err
	}
	return backing{store: m, dir: c.DataDir, failed: m.failed, ready: m.p.Ready, resize: m.SetTopologyBytes, leave: func(within time.Duration) { awaitSpare(m.p, within) }}, nil
}

// openProcess opens the replicas of the process of a cluster that the others reach at an address.
func openProcess(ctx context.Context, opts local.Options, c *config.Config, own string, secure *access.Mutual) (*cluster.Process, error) {
	addresses := addressList(c.Join)
	if joins(own, addresses) {
		return cluster.JoinProcess(ctx, opts, own, addresses, rpc.Secure(secure)...)
	}
	layout := shard.Layout{Processes: len(addresses), Shards: c.Shards, Replicas: c.Replicas}
	return cluster.NewProcess(opts, layout, slices.Index(addresses, own), addresses, rpc.Secure(secure)...)
}

// Close hands over what the process leads and stops it.
func (m *member) Close() error {
	var errs []error
	if m.p != nil {
		transfer(m.p)
	}
	m.rpc.Stop()
	if m.Store != nil {
		errs = append(errs, m.Store.Close())
	}
	if m.p != nil {
		errs = append(errs, m.p.Close())
	}
	return errors.Join(errs...)
}

// addressList splits a list of addresses.
func addressList(list string) []string {
	var out []string
	for a := range strings.SplitSeq(list, ",") {
		out = append(out, strings.TrimSpace(a))
	}
	return out
}
