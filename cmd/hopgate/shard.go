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
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/server"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/remote/cluster"
	"github.com/hopgate/hopgate/internal/telemetry"
)

func newShard() *cobra.Command {
	cmd := &cobra.Command{
		Use: "shard", Short: "Keep replicas of shards for gateways", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, reload, err := configured(cmd)
			if err != nil {
				return err
			}
			addresses := addressList(c.Join)
			c.Replicas = max(c.Replicas, 1)
			if c.Shards == 0 {
				c.Shards = len(addresses)
			}
			if c.Peer == "" && slices.Contains(addresses, c.GRPC) {
				c.Peer = c.GRPC
			}
			if err := checkMember(c); err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			return keepShard(cmd.Context(), c, reload)
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
func keepShard(ctx context.Context, c *config.Config, reload *reloader) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s := newServing(c, reload)
	defer func() { err = errors.Join(err, s.close()) }()
	addresses := addressList(c.Join)
	own, err := self(ctx, addresses, c.Peer)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	log := s.log.With(slog.String("process", own))
	slog.SetDefault(log)
	if err := removeStale(c.ReadyFile); err != nil {
		return err
	}
	opts := storeOptions(ctx, c, s.memory, log)
	secure, err := mutual(c, addresses, log)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	if s.guards, err = newGuards(c, s.memory, log); err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	var lc net.ListenConfig
	adminListener, err := lc.Listen(ctx, "tcp", c.Admin)
	if err != nil {
		return fmt.Errorf("admin listener: %w", err)
	}
	adminListener = request.PacedListener{Listener: adminListener}
	if s.guards.adminTLS != nil {
		adminListener = tls.NewListener(adminListener, s.guards.adminTLS)
	}
	profiles, stopProfiles, err := keepProfiles(ctx, c, nil, log)
	if err != nil {
		return err
	}
	defer stopProfiles()
	// Probes answer while the process opens its directory.
	var store opening
	health := &admin.Health{Probe: store.probe, Warnings: warnings(c, log)}
	registry := telemetry.NewShardRegistry(&store)
	telemetry.RegisterCertificate(registry, s.guards.tls)
	adminServer := &http.Server{Handler: admin.New(health, registry, s.guards.auth, s.guards.web, admin.NewDebug(nil, s.tuning, profiles)), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 2)
	go func() {
		if err := adminServer.Serve(adminListener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("admin listener: %w", err)
		}
	}()
	defer func() { err = errors.Join(err, adminServer.Close()) }()

	peer := grpc.NewServer(rpc.ServerOptions(secure)...)
	p, err := openProcess(ctx, opts, c, own, secure)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	admit(p, secure)
	p.Register(peer)
	store.set(&process{p.Local(), p}, func(context.Context) error { return p.Ready() })
	defer func() { err = errors.Join(err, store.close()) }()
	rpcListener, err := lc.Listen(ctx, "tcp", c.GRPC)
	if err != nil {
		return fmt.Errorf("grpc listener: %w", err)
	}
	go func() {
		if err := peer.Serve(rpcListener); err != nil {
			failed <- fmt.Errorf("grpc listener: %w", err)
		}
	}()
	if c.ReadyFile != "" {
		err = server.WriteReadyFile(c.ReadyFile, server.Addresses{"grpc": rpcListener.Addr().String(), server.Admin: adminListener.Addr().String()})
	}
	if err == nil {
		log.Info("ready", slog.Bool("tls", secure != nil), slog.String("grpc", rpcListener.Addr().String()), slog.String("admin", adminListener.Addr().String()), slog.Int("shards", c.Shards))
		stopReloads := s.reloader.handle(s.hangups)
		select {
		case err = <-failed:
		case <-ctx.Done():
			stopReloads()
			log.Info("draining", slog.Duration("timeout", c.DrainTimeout))
		}
		stopReloads()
	}
	stop() // a second signal ends the process at once
	if err == nil {
		awaitSpare(p, c.StopWait)
	}
	health.Drain()
	transfer(p)
	peer.Stop() // transactions end with their streams; a client that retries finds the next leader
	log.Info("stopped")
	return err
}

// process is what a process of a cluster has open.
type process struct {
	*disk
	p *cluster.Process
}

// disk has a name of its own, as Replicas is that of one of its methods.
type disk = part.Replicas

// Close implements io.Closer.
func (p *process) Close() error { return p.p.Close() }

// awaitSpare waits until the other processes do without this one, at most for a time; 0 does not wait.
func awaitSpare(p *cluster.Process, within time.Duration) {
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
func transfer(p *cluster.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), handOverWithin)
	defer cancel()
	p.Transfer(ctx)
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
		return errors.New("the data directory is being opened")
	}
	return s.probe(ctx)
}

func (o *opening) close() error { return o.open.Load().Close() }
