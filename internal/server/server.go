package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/server/grpcapi"
	"github.com/hopgate/hopgate/internal/server/httpapi"
	"github.com/hopgate/hopgate/internal/server/mcpapi"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// Addresses are the addresses of the listeners.
type Addresses struct {
	HTTP  string `json:"http"`
	GRPC  string `json:"grpc"`
	Admin string `json:"admin"`
	Bolt  string `json:"bolt,omitempty"` // "" disables Bolt
}

// Server holds the listeners and their handlers.
type Server struct {
	health   admin.Health
	answered atomic.Bool // whether a probe has found all shards
	grpc     *grpcapi.Server
	http     *http.Server
	admin    *http.Server
	bolt     *boltapi.Server
	failed   chan error
	tls      *tls.Config // of HTTP
	adminTLS *tls.Config
	handler  *httpapi.Handler
	memory   *request.Memory // shared by large requests; may be nil
	open     sync.Map        // the HTTP connections, each a net.Conn
	log      *slog.Logger
	// boltIfFree disables Bolt instead of failing if its address is in use.
	boltIfFree bool
	drained    context.Context // ends when the server drains
	drain      context.CancelFunc
	stopped    context.Context // ends when the server has drained
	stop       context.CancelFunc
	engine     *query.Engine
}

// waitingProbe bounds the probe of a process whose requests wait for shards that are away.
const waitingProbe = time.Second

// maxHeaders bounds the size of a request's headers.
const maxHeaders = 64 << 10

// New returns a server for an engine, its loader and the store, which may be nil and only supplies shard statistics. The server accepts no
// connections before Listen.
func New(e *query.Engine, l *loader.Loader, store telemetry.Storage, registry *prometheus.Registry, opt Options) *Server {
	opt.EnsureDefaults()
	s := &Server{
		failed: make(chan error, 4), tls: opt.TLS, adminTLS: opt.AdminTLS,
		boltIfFree: opt.BoltIfFree, log: opt.Logger, engine: e,
		memory: request.NewMemory(opt.LargeBytes, opt.QueueTimeout),
	}
	s.drained, s.drain = context.WithCancel(context.Background())
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
	monitor := request.NewMonitor(registry, e.Watch(), opt.Logger)
	quiet := slog.NewLogLogger(opt.Logger.Handler(), slog.LevelDebug) // such as errors of broken connections
	agents := mcpapi.New(e, opt.MaxRequestBytes)
	s.handler = httpapi.New(e, monitor, registry, httpapi.Options{
		MaxRequestBytes: opt.MaxRequestBytes, Memory: s.memory, TxIdle: opt.TxIdle, TestProcedures: opt.TestProcedures,
		Auth: opt.Auth, Web: opt.Web, Rates: opt.Rates, Audit: opt.Audit,
		Store: store, Metrics: registry, Profiles: opt.Profiles, Drained: s.drained.Done(), Agents: agents,
	})
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serveHTTP), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 3 * time.Minute,
		MaxHeaderBytes: maxHeaders, ErrorLog: quiet, ConnState: s.noteConn,
	}
	s.admin = &http.Server{
		Handler:           admin.New(&s.health, registry, opt.Auth, opt.Web, admin.NewDebug(e, opt.Tuning, opt.Profiles)),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 3 * time.Minute, MaxHeaderBytes: maxHeaders, ErrorLog: quiet,
	}
	s.grpc = grpcapi.New(s.drained, e, l, store, monitor, registry, grpcapi.Options{
		MaxRequestBytes: opt.MaxRequestBytes, Memory: s.memory, TxIdle: opt.TxIdle, Config: opt.Config, EvidenceDir: opt.EvidenceDir,
		Profiles: opt.Profiles, Auth: opt.Auth, Rates: opt.Rates, Audit: opt.Audit, TLS: opt.TLS, Agents: agents,
	})
	o := opt.Bolt
	o.MaxRequestBytes, o.Memory, o.TLS, o.Auth, o.Rates, o.Logger = opt.MaxRequestBytes, s.memory, opt.TLS, opt.Auth, opt.Rates, opt.Logger
	s.bolt = boltapi.New(e, monitor, registry, o)
	s.handler.Discover(s.bolt.Discovery, opt.Console)
	return s
}

// serveHTTP answers a request. While draining, it asks the client to close the connection.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if s.drained.Err() != nil {
		w.Header().Set("Connection", "close")
	}
	s.handler.ServeHTTP(w, r)
}

// noteConn tracks the open connections.
func (s *Server) noteConn(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Store(c, nil)
	case http.StateClosed, http.StateHijacked:
		s.open.Delete(c)
	}
}

// connections returns the number of open connections, and whether one of them has unread data.
func (s *Server) connections() (open int, unread bool) {
	s.open.Range(func(c, _ any) bool {
		open++
		unread = unread || hasUnread(c.(net.Conn))
		return true
	})
	return open, unread
}

// hasUnread reports whether a connection has unread data.
func hasUnread(c net.Conn) bool {
	for {
		inner, ok := c.(interface{ NetConn() net.Conn }) // TLS, or paced
		if !ok {
			break
		}
		c = inner.NetConn()
	}
	raw, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	unread := false
	err = control.Control(func(fd uintptr) { unread = peek(fd) })
	return err == nil && unread
}

// Listen opens the listeners and starts to serve; port 0 picks a free port.
func (s *Server) Listen(ctx context.Context, a Addresses) (Addresses, error) {
	var lc net.ListenConfig
	var listeners [4]net.Listener
	for i, x := range []struct {
		name    string
		speaks  string
		address *string
	}{{"http", "HTTP", &a.HTTP}, {"grpc", "gRPC", &a.GRPC}, {"admin", "HTTP for administrators", &a.Admin}, {"bolt", "Bolt", &a.Bolt}} {
		if x.name == "bolt" && *x.address == "" {
			continue
		}
		l, err := lc.Listen(ctx, "tcp", *x.address)
		if err != nil {
			if x.name == "bolt" && s.boltIfFree {
				s.log.Warn("bolt listener: its default address is in use; Bolt is disabled", slog.Any("error", err))
				*x.address = ""
				continue
			}
			for _, open := range listeners[:i] {
				_ = open.Close()
			}
			return a, fmt.Errorf("%s listener: %w", x.name, err)
		}
		*x.address = l.Addr().String()
		if x.name != "bolt" {
			l = s.bolt.Misdirected(l, x.speaks)
		}
		if x.name == "http" || x.name == "admin" {
			l = request.PacedListener{Listener: l} // the other protocols pace their clients themselves
		}
		listeners[i] = l
	}
	if s.tls != nil {
		listeners[0] = tls.NewListener(listeners[0], s.tls)
	}
	if s.adminTLS != nil {
		listeners[2] = tls.NewListener(listeners[2], s.adminTLS)
	}
	serve := func(name string, f func() error) {
		if err := f(); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
			s.failed <- fmt.Errorf("%s listener: %w", name, err)
		}
	}
	go serve("http", func() error { return s.http.Serve(listeners[0]) })
	go serve("grpc", func() error { return s.grpc.Serve(listeners[1]) })
	go serve("admin", func() error { return s.admin.Serve(listeners[2]) })
	go s.sweep()
	s.bolt.Listening(a.Bolt, a.HTTP)
	if l := listeners[3]; l != nil {
		go serve("bolt", func() error { return s.bolt.Serve(l) })
	}
	return a, nil
}

// sweepEvery is the interval between looks for requests that must end.
const sweepEvery = 250 * time.Millisecond

// sweep ends the requests of callers who have lost their rights and those whose clients do not read, until the server has drained.
func (s *Server) sweep() {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			s.engine.Sweep()
			s.grpc.Sweep(now)
		case <-s.stopped.Done():
			return
		}
	}
}

// Failed receives the error of a listener that stops unexpectedly.
func (s *Server) Failed() <-chan error { return s.failed }

const (
	// goodbye is how long clients with open HTTP connections have to send one more request.
	goodbye = time.Second
	// lastWords is how long the server, before it closes connections, waits to read data that has arrived on them.
	lastWords = 5 * time.Second
)

// sayGoodbye continues to answer HTTP briefly, and each response asks the client to close its connection: a request in flight on a
// connection that the server closes would be lost. It also waits for requests that have arrived but that a busy machine has not read yet.
func (s *Server) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, goodbye+lastWords)
	defer cancel()
	t := time.NewTicker(goodbye / 100)
	defer t.Stop()
	for began := time.Now(); ; {
		if open, unread := s.connections(); open == 0 || !unread && time.Since(began) >= goodbye {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Drain stops the server: readiness fails immediately, new requests are refused soon after, and running ones may continue until ctx ends.
// Drain then cancels those and waits for them. Explicit transactions roll back when they run no statement. The admin listener stops last.
func (s *Server) Drain(ctx context.Context) {
	s.health.Drain()
	s.grpc.Health.Shutdown()
	s.drain()
	s.sayGoodbye(ctx)
	done, boltDone := make(chan struct{}), make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	go func() {
		s.bolt.Drain(ctx)
		close(boltDone)
	}()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // ends the contexts of running requests
	}
	s.handler.Close()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
	<-boltDone
	s.stop()
	_ = s.admin.Close()
}
