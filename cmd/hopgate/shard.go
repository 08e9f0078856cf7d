package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote"
	"github.com/hopgate/hopgate/internal/telemetry"
)

var errNoAddresses = errors.New("shard-addresses: the processes of all shards must be named, in the order of the shards")

func newShard() *cobra.Command {
	cmd := &cobra.Command{
		Use: "shard", Short: "Keep one shard of every graph for gateways; shard 0 leads the others", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags(), os.Environ())
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			addresses := addressList(c.ShardAddresses)
			switch {
			case c.ShardAddresses == "":
				return cli.Error{Code: cli.Usage, Err: errNoAddresses}
			case strings.HasPrefix(c.ShardAddresses, remote.ServicePrefix):
				return cli.Error{Code: cli.Usage, Err: errors.New("shard-addresses: a shard needs the list of all shards in order; only gateways support SRV records")}
			case c.TLSCert != "" && c.ShardCA == "":
				return cli.Error{Code: cli.Usage, Err: errors.New("tls-cert: a shard shows it to callers whose own certificates shard-ca has signed")}
			case joins(c.Peer, addresses):
				if c.Replication < 2 {
					return cli.Error{Code: cli.Usage, Err: errors.New("peer: only clusters with replication take further processes")}
				}
			case c.ShardOrdinal < 0 || c.ShardOrdinal >= len(addresses):
				return cli.Error{Code: cli.Usage, Err: fmt.Errorf("shard-ordinal: must be from 0 to %d, by the number of shard-addresses, is %d", len(addresses)-1, c.ShardOrdinal)}
			case c.Replication > len(addresses):
				return cli.Error{Code: cli.Usage, Err: fmt.Errorf("replication: %d processes keep each shard, and shard-addresses names %d", c.Replication, len(addresses))}
			}
			if c.Replication <= 1 || c.Shards == 0 {
				c.Shards = len(addresses)
			}
			if n := c.Replication + c.Shards - 1; c.Replication > 1 && n < len(addresses) {
				return cli.Error{Code: cli.Usage, Err: fmt.Errorf("shards: %d with %d replicas occupy only %d of the %d processes in shard-addresses", c.Shards, c.Replication, n, len(addresses))}
			}
			return keepShard(cmd.Context(), &c, addresses)
		},
	}
	config.Flags(cmd.Flags())
	return cmd
}

// kept is what a shard process has open.
type kept interface {
	telemetry.Storage
	Close() error
}

// keepShard serves a shard until a signal arrives or it fails.
func keepShard(ctx context.Context, c *config.Config, addresses []string) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	level := new(slog.LevelVar)
	log := logger(c, level).With(slog.Int("shard", c.ShardOrdinal))
	slog.SetDefault(log)
	defer ignoreHangups(log)()
	memory := c.Split(keptShards(c))
	debug.SetMemoryLimit(min(memory.GoHeap, debug.SetMemoryLimit(-1)))
	tuning := &admin.Tuning{Level: level}
	tuning.Set(mutexRate, blockNanos)
	if err := removeStale(c.ReadyFile); err != nil {
		return err
	}
	opts := storeOptions(ctx, c, memory, log)
	opts.Replicas = c.Replication
	if err := checkShards(&opts); err != nil {
		return err
	}
	secure, err := mutual(c, addresses, log)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	adminTLS, err := access.TLS(access.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, ClientCA: c.TLSClientCA}, log)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	auth, err := authenticator(c, memory, log)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	web, err := access.NewWeb(c.HTTPOrigins, c.HTTPHosts)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	var lc net.ListenConfig
	adminListener, err := lc.Listen(ctx, "tcp", c.Admin)
	if err != nil {
		return fmt.Errorf("admin listener: %w", err)
	}
	adminListener = request.PacedListener{Listener: adminListener}
	if c.AdminTLS {
		adminListener = tls.NewListener(adminListener, adminTLS)
	}
	profiles, stopProfiles, err := keepProfiles(ctx, c, nil, log)
	if err != nil {
		return err
	}
	defer stopProfiles()
	// Probes answer while a leader still waits for the other shards.
	var store opening
	health := &admin.Health{Probe: store.probe, Warnings: warnings(c, log)}
	adminServer := &http.Server{Handler: admin.New(health, telemetry.NewShardRegistry(&store), auth, web, admin.NewDebug(nil, tuning, profiles)), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 2)
	go func() {
		if err := adminServer.Serve(adminListener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("admin listener: %w", err)
		}
	}()
	defer func() { err = errors.Join(err, adminServer.Close()) }()

	rpc := grpc.NewServer(remote.ServerOptions(secure)...)
	leave, handOver, awaitOthers := func() {}, func() {}, func() {}
	switch {
	case c.Replication > 1:
		var p *remote.Process
		if joins(c.Peer, addresses) {
			p, err = remote.JoinProcess(ctx, opts, c.Peer, addresses, remote.Secure(secure)...)
		} else {
			layout := shard.Layout{Processes: len(addresses), Shards: c.Shards, Replicas: c.Replication}
			p, err = remote.NewProcess(opts, layout, c.ShardOrdinal, addresses, remote.Secure(secure)...)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		admit(p, secure)
		p.Register(rpc)
		handOver = func() { transfer(p) }
		awaitOthers = func() { awaitSpare(p, c.StopWait) }
		store.set(&process{p.Local(), p}, func(context.Context) error { return p.Ready() })
	case c.ShardOrdinal == 0:
		peers, err := remote.NewPeers(addresses, remote.Secure(secure)...)
		if err != nil {
			return err
		}
		leave = func() { _ = peers.Close() }
		defer leave()
		interrupted := context.AfterFunc(ctx, leave)
		opts.Peers = peers
		s, err := local.Open(opts)
		if !interrupted() || err != nil {
			if ctx.Err() != nil {
				return nilIfOpen(s, err)
			}
			return err
		}
		if err := local.NoteProcesses(opts, len(addresses)); err != nil {
			return errors.Join(err, s.Close())
		}
		remote.ServeLeader(rpc, s, peers)
		store.set(s, func(ctx context.Context) error { return errors.Join(s.Writable(), probeLeader(ctx, s)) })
	default:
		s, err := local.OpenParts(opts, c.ShardOrdinal)
		if err != nil {
			return err
		}
		if err := local.NoteProcesses(opts, len(addresses)); err != nil {
			return errors.Join(err, s.Close())
		}
		remote.ServeParts(rpc, s)
		store.set(s, func(context.Context) error { return s.Writable() })
	}
	defer func() { err = errors.Join(err, store.close()) }()
	rpcListener, err := lc.Listen(ctx, "tcp", c.GRPC)
	if err != nil {
		return fmt.Errorf("grpc listener: %w", err)
	}
	go func() {
		if err := rpc.Serve(rpcListener); err != nil {
			failed <- fmt.Errorf("grpc listener: %w", err)
		}
	}()
	if c.ReadyFile != "" {
		err = server.WriteReadyFile(c.ReadyFile, server.Addresses{GRPC: rpcListener.Addr().String(), Admin: adminListener.Addr().String()})
	}
	if err == nil {
		log.Info("ready", slog.Bool("tls", secure != nil), slog.String("grpc", rpcListener.Addr().String()), slog.String("admin", adminListener.Addr().String()), slog.Int("shards", c.Shards))
		select {
		case err = <-failed:
		case <-ctx.Done():
			log.Info("draining", slog.Duration("timeout", c.DrainTimeout))
		}
	}
	stop() // a second signal ends the process at once
	if err == nil {
		awaitOthers()
	}
	health.Drain()
	handOver()
	// A commit that waits for another shard completes when that shard returns, under the current leader.
	defer time.AfterFunc(c.DrainTimeout, leave).Stop()
	force := time.AfterFunc(c.DrainTimeout, rpc.Stop)
	defer force.Stop()
	if c.ShardOrdinal == 0 || c.Replication > 1 {
		rpc.Stop() // transactions end with their streams; a client that retries finds the next leader
	} else {
		rpc.GracefulStop()
	}
	log.Info("stopped")
	return err
}

// process is what a process of a cluster with replicas has open.
type process struct {
	*disk
	p *remote.Process
}

// disk has a name of its own, as Replicas is that of one of its methods.
type disk = local.Replicas

// Close implements io.Closer.
func (p *process) Close() error { return p.p.Close() }

// awaitSpare waits until the other processes do without this one, at most for a time; 0 does not wait.
func awaitSpare(p *remote.Process, within time.Duration) {
	if within == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	p.AwaitSpare(ctx)
}

// handOverWithin is how long a process that ends waits until others lead what it has led.
const handOverWithin = 5 * time.Second

// transfer hands over what a process leads.
func transfer(p *remote.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), handOverWithin)
	defer cancel()
	p.Transfer(ctx)
}

// nilIfOpen handles a store that opened too late: it closes the store, or returns nil because the process is shutting down.
func nilIfOpen(s *local.Store, err error) error {
	if err != nil {
		return nil //nolint:nilerr // nothing to close
	}
	return s.Close()
}

// checkShards rejects a data directory of hopgate serve, whose graphs are not split into processes.
func checkShards(o *local.Options) error {
	whole, err := local.Whole(o)
	if err != nil {
		return err
	}
	if whole != "" {
		return fmt.Errorf("%s holds the whole graph %s: serve it by hopgate serve", o.Dir, whole)
	}
	return nil
}

// probeLeader reads the default graph.
func probeLeader(ctx context.Context, s *local.Store) error {
	g, err := s.Graph(local.DefaultGraph)
	if err != nil {
		return err
	}
	tx, err := g.Begin(ctx, shard.Read)
	if err != nil {
		return err
	}
	tx.Rollback()
	return nil
}

// opening is a store that may not be open yet.
type opening struct {
	telemetry.Late
	open atomic.Pointer[opened]
}

type opened struct {
	io.Closer
	probe func(ctx context.Context) error
}

func (o *opening) set(s kept, probe func(ctx context.Context) error) {
	o.Set(s)
	o.open.Store(&opened{s, probe})
}

func (o *opening) probe(ctx context.Context) error {
	s := o.open.Load()
	if s == nil {
		return errors.New("waiting for the other shards")
	}
	return s.probe(ctx)
}

func (o *opening) close() error { return o.open.Load().Close() }
