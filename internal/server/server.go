package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Addresses are the addresses of listeners by the names of their transports. Admin is that of probes, metrics and debugging. What has no
// address, or "", is disabled.
type Addresses map[string]string

// Admin is the name of the listener for administrators.
const Admin = "admin"

// Server holds the listeners and their handlers.
type Server struct {
	host      request.Host
	health    admin.Health
	answered  atomic.Bool // whether a probe has found all shards
	listeners []listener  // the last one is that for administrators
	failed    chan error
	addresses atomic.Pointer[Addresses]
	drain     context.CancelFunc
	stopped   context.Context // ends when the server has drained
	stop      context.CancelFunc
}

// listener is a transport that has been prepared.
type listener struct {
	request.Listener
	request.Transport
}

// waitingProbe bounds the probe of a process whose requests wait for shards that are away.
const waitingProbe = time.Second

// New returns a server for an engine, its loader and the store, which may be nil and only supplies shard statistics. The server accepts no
// connections before Listen.
func New(e *query.Engine, l *loader.Loader, store telemetry.Storage, registry *prometheus.Registry, opt Options) *Server {
	opt.EnsureDefaults()
	drained, drain := context.WithCancel(context.Background())
	s := &Server{drain: drain, failed: make(chan error, len(opt.Transports)+1), host: request.Host{
		Engine: e, Loader: l, Store: store, Registry: registry, Memory: request.NewMemory(opt.LargeBytes, opt.QueueTimeout),
		MaxRequestBytes: opt.MaxRequestBytes, TxIdle: opt.TxIdle, Auth: opt.Auth, Web: opt.Web, Rates: opt.Rates, Audit: opt.Audit,
		Profiles: opt.Profiles, TLS: opt.TLS, Log: opt.Logger, Drained: drained,
	}}
	s.host.Address = func(name string) string {
		if a := s.addresses.Load(); a != nil {
			return (*a)[name]
		}
		return ""
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.health.Warnings = opt.Warnings
	s.health.Probe = func(ctx context.Context) error {
		if opt.Ready != nil {
			if err := opt.Ready(); err != nil {
				return err
			}
		}
		if opt.Waits == nil || !opt.Waits() || !s.answered.Load() {
			err := e.Probe(ctx)
			if err == nil {
				s.answered.Store(true)
			}
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, waitingProbe) // before the prober gives up
		defer cancel()
		if err := e.Probe(ctx); err != nil && ctx.Err() == nil && graph.AsError(err).Kind != graph.KindUnavailable {
			return err
		}
		return nil
	}
	s.host.EnsureDefaults()
	forAdmins := request.Transport{Name: Admin, Speaks: "HTTP for administrators", New: func(h *request.Host) request.Listener {
		handler := admin.New(&s.health, registry, h.Auth, h.Web, admin.NewDebug(e, opt.Tuning, h.Profiles))
		return adminListener{&httpapi.Web{Server: httpapi.NewServer(handler, h.Log), TLS: opt.AdminTLS}}
	}}
	for _, t := range append(slices.Clone(opt.Transports), forAdmins) {
		s.listeners = append(s.listeners, listener{t.New(&s.host), t})
	}
	return s
}

// adminListener answers until everything else has ended.
type adminListener struct{ *httpapi.Web }

// Drain implements request.Listener.
func (l adminListener) Drain(context.Context) { _ = l.Close() }

// Listen opens the listeners and starts to serve; port 0 picks a free port. It returns the addresses of the listeners that are open.
func (s *Server) Listen(ctx context.Context, a Addresses) (Addresses, error) {
	var lc net.ListenConfig
	var open []listener
	bound, ports := Addresses{}, []net.Listener{}
	for _, t := range s.listeners {
		if a[t.Name] == "" {
			continue
		}
		l, err := lc.Listen(ctx, "tcp", a[t.Name])
		if err != nil {
			if t.IfFree {
				s.host.Log.Warn("the default address of a listener is in use; the listener is disabled", slog.String("listener", t.Name), slog.Any("error", err))
				continue
			}
			for _, l := range ports {
				_ = l.Close()
			}
			return a, fmt.Errorf("%s listener: %w", t.Name, err)
		}
		bound[t.Name] = l.Addr().String()
		open, ports = append(open, t), append(ports, l)
	}
	s.addresses.Store(&bound)
	for i, t := range open {
		for _, guide := range s.host.Guides {
			ports[i] = guide(ports[i], t.Name, t.Speaks)
		}
		t.Listen(ports[i])
	}
	for _, t := range open {
		go func() {
			if err := t.Serve(); err != nil {
				s.failed <- fmt.Errorf("%s listener: %w", t.Name, err)
			}
		}()
	}
	go s.sweepOften()
	return bound, nil
}

// sweepEvery is the interval between looks for requests that must end.
const sweepEvery = 250 * time.Millisecond

// sweepOften sweeps until the server has drained.
func (s *Server) sweepOften() {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			s.sweep(now)
		case <-s.stopped.Done():
			return
		}
	}
}

// sweep ends the requests of callers who have lost their rights and those whose clients do not read.
func (s *Server) sweep(now time.Time) {
	s.host.Engine.Sweep()
	for _, f := range s.host.Sweeps {
		f(now)
	}
}

// Failed receives the error of a listener that stops unexpectedly.
func (s *Server) Failed() <-chan error { return s.failed }

// Drain stops the server: readiness fails immediately, new requests are refused soon after, and running ones may continue until ctx ends.
// Drain then cancels those and waits for them. Explicit transactions roll back when they run no statement. The admin listener stops last.
func (s *Server) Drain(ctx context.Context) {
	s.health.Drain()
	s.drain()
	var wg sync.WaitGroup
	for _, goodbye := range s.host.Goodbyes {
		wg.Go(func() { goodbye(ctx) })
	}
	wg.Wait()
	last := len(s.listeners) - 1
	for _, t := range s.listeners[:last] {
		wg.Go(func() { t.Drain(ctx) })
	}
	wg.Wait()
	s.stop()
	s.listeners[last].Drain(ctx)
}
