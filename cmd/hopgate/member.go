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

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote"
)

// member is one of the processes of hopgate serve --join: a gateway before all of them, with replicas of its own.
type member struct {
	*disk // its figures are those of the process, before those of front
	front
	p      *remote.Process
	rpc    *grpc.Server
	failed chan error
}

// front is the gateway of a member.
type front struct{ *remote.Store }

// checkMember returns what is wrong with the settings of hopgate serve with and without replicas.
func checkMember(c *config.Config) error {
	if c.Join == "" {
		if c.Replicas != 0 || c.Peer != "" || c.ShardCA != "" {
			return errors.New("replicas, peer and shard-ca: need join, the addresses of all processes")
		}
		return nil
	}
	n := len(addressList(c.Join))
	switch {
	case c.TLSCert != "" && c.ShardCA == "":
		return errors.New("tls-cert: with join, shard-ca must name the authority that signs the certificates of all processes")
	case joins(c.Peer, addressList(c.Join)): // the cluster has its layout
		return nil
	case c.Replicas != 3 && c.Replicas != 5 && c.Replicas != 7:
		return fmt.Errorf("replicas: must be 3, 5 or 7 with join, is %d: with two, none may fail", c.Replicas)
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

// self returns which of addresses is this process's: peer, or if it is empty the only one that is an address of this machine.
func self(ctx context.Context, addresses []string, peer string) (int, error) {
	if no := slices.Index(addresses, peer); no >= 0 {
		return no, nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return 0, err
	}
	isLocal := func(ip net.IPAddr) bool {
		return ip.IP.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip.IP)
		})
	}
	var found []int
	var errs []error
	for no, a := range addresses {
		host, _, err := net.SplitHostPort(a)
		if err != nil {
			return 0, fmt.Errorf("join: %w", err)
		}
		ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if slices.ContainsFunc(ips, isLocal) {
			found = append(found, no)
		}
		errs = append(errs, err) // another machine's name need not be known while that machine is down
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, errors.Join(append([]error{errors.New("join: it names no address of this machine; give this process's by peer")}, errs...)...)
	default:
		return 0, fmt.Errorf("join: %d of the addresses are this machine's; give this process's by peer", len(found))
	}
}

// openMember opens the replicas of a process of hopgate serve --join and starts to listen for the other processes.
func openMember(ctx context.Context, c *config.Config, memory config.Budget, log *slog.Logger) (b backing, err error) {
	addresses, own, no := addressList(c.Join), c.Peer, 0
	if !joins(own, addresses) {
		if no, err = self(ctx, addresses, own); err != nil {
			return b, cli.Error{Code: cli.Usage, Err: err}
		}
		own = addresses[no]
	}
	secure, err := mutual(c, addresses, log)
	if err != nil {
		return b, cli.Error{Code: cli.Usage, Err: err}
	}
	opts := storeOptions(ctx, c, memory, log)
	m := &member{rpc: grpc.NewServer(remote.ServerOptions(secure)...), failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if joins(own, addresses) {
		m.p, err = remote.JoinProcess(ctx, opts, own, addresses, remote.Secure(secure)...)
	} else {
		layout := shard.Layout{Processes: len(addresses), Shards: c.Shards, Replicas: c.Replicas}
		m.p, err = remote.NewProcess(opts, layout, no, addresses, remote.Secure(secure)...)
	}
	if err != nil {
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
	if m.Store, err = m.p.OpenGateway(remote.Secure(secure)...); err != nil {
		return b, err
	}
	return backing{store: m, failed: m.failed, ready: m.p.Ready, resize: m.SetTopologyBytes, leave: func(within time.Duration) { awaitSpare(m.p, within) }}, nil
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
