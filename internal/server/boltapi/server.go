package boltapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/version"
)

const (
	// firstBytes is the time limit for a client's first bytes, which select the protocol.
	firstBytes = 10 * time.Second
	// readyTime is how long a client may take from its connection to the end of its authentication.
	readyTime = 30 * time.Second
	// lingerTime is how long a client may take to close a connection that the server has ended.
	lingerTime = time.Second
	// readBuffer is the memory for reading that a connection keeps.
	readBuffer = 2 << 10
	// unknownMessage bounds a message of a client that is not known yet.
	unknownMessage = 64 << 10
)

// Server serves Bolt.
type Server struct {
	e        *query.Engine
	host     *request.Host
	opt      Options
	metrics  metrics
	failures failures
	web      *http.Server
	upgrades upgrades

	ctx    context.Context // of all connections
	cancel context.CancelFunc
	ids    atomic.Uint64
	pacer  bolt.Pacer

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]struct{}
	draining bool
	all      sync.WaitGroup
}

// Transport returns Bolt as a transport.
func Transport(opt Options) request.Transport {
	return request.Transport{Name: listenerName, Speaks: "Bolt", IfFree: opt.IfFree, New: func(host *request.Host) request.Listener { return New(host, opt) }}
}

// listenerName is that of Bolt's listener.
const listenerName = "bolt"

// New returns a server and registers its metrics. It answers connections once Serve is called.
func New(host *request.Host, opt Options) *Server {
	host.EnsureDefaults()
	opt.EnsureDefaults()
	s := &Server{e: host.Engine, host: host, opt: opt, conns: map[*conn]struct{}{}}
	s.metrics = newMetrics(host.Registry)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.upgrades = upgrades{conns: make(chan net.Conn), done: s.ctx.Done()}
	s.web = &http.Server{
		Handler: http.HandlerFunc(s.serveWeb), ReadHeaderTimeout: firstBytes, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(host.Log.Handler(), slog.LevelDebug),
	}
	host.Discovery = s.discovery
	host.Guides = append(host.Guides, s.misdirected)
	return s
}

// Listen implements request.Listener.
func (s *Server) Listen(l net.Listener) {
	s.listener = l
	s.upgrades.addr = l.Addr()
	s.e.SetBoltAddress(l.Addr().String())
}

// Serve takes connections of the listener until Drain.
func (s *Server) Serve() error {
	go func() { _ = s.web.Serve(&s.upgrades) }() // ends with s.ctx
	for {
		c, err := s.listener.Accept()
		switch {
		case err == nil:
			go s.accept(c)
		case errors.Is(err, net.ErrClosed):
			return nil
		default: // for example, too many open files
			s.host.Log.Warn("bolt: cannot accept a connection", slog.Any("error", err))
			select {
			case <-time.After(100 * time.Millisecond):
			case <-s.ctx.Done():
				return nil
			}
		}
	}
}

// accept finds out which protocol a connection speaks.
func (s *Server) accept(c net.Conn) {
	c = request.NewPaced(c)
	_ = c.SetDeadline(time.Now().Add(firstBytes))
	if s.host.TLS != nil {
		secure, err := s.secure(c)
		if err != nil {
			s.metrics.refused("tls")
			_ = c.Close()
			return
		}
		c = secure
	}
	r := bufio.NewReaderSize(c, readBuffer)
	first, err := r.Peek(len(bolt.Magic))
	switch {
	case err != nil:
		s.metrics.refused("silent")
	case string(first) == bolt.Magic:
		_, _ = r.Discard(len(bolt.Magic))
		s.serve(c, r, "tcp")
		return
	case isWeb(string(first)):
		if s.upgrades.put(&readConn{c, r}) {
			return
		}
	default:
		s.metrics.refused("protocol")
	}
	_ = c.Close()
}

// secure starts TLS on a connection, unless its first byte shows that it is plain and plain connections are allowed.
func (s *Server) secure(c net.Conn) (net.Conn, error) {
	const handshake = 0x16 // the first byte of TLS
	r := bufio.NewReaderSize(c, 16)
	first, err := r.Peek(1)
	if err != nil {
		return nil, err
	}
	rest := &readConn{c, r}
	if first[0] != handshake {
		if s.opt.PlainToo {
			return rest, nil
		}
		if first, err := r.Peek(len(bolt.Magic)); err == nil && isWeb(string(first)) {
			misdirect(c, "this port speaks Bolt over TLS; "+s.whereWeb())
		}
		return nil, errors.New("a plain connection, where TLS is required")
	}
	t := tls.Server(rest, s.host.TLS)
	return t, t.HandshakeContext(s.ctx)
}

// readConn is a connection with some bytes already read.
type readConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *readConn) Read(p []byte) (int, error) {
	if c.r != nil {
		if n := c.r.Buffered(); n > 0 {
			return c.r.Read(p[:min(n, len(p))])
		}
		c.r = nil
	}
	return c.Conn.Read(p)
}

// CloseWrite closes the writing side.
func (c *readConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// NetConn returns the underlying connection.
func (c *readConn) NetConn() net.Conn { return c.Conn }

// Drain closes the listener and idle connections. Busy connections have until ctx ends, and the server refuses new statements.
func (s *Server) Drain(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.all.Wait()
		close(done)
	}()
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		s.closeResting()
		select {
		case <-done:
		case <-ctx.Done():
			s.closeAll()
			<-done
		case <-t.C:
			continue
		}
		s.cancel()
		_ = s.web.Close()
		return
	}
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// closeResting closes idle connections.
func (s *Server) closeResting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.session == nil || c.session.Resting() {
			_ = c.Close()
		}
	}
}

func (s *Server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// enter counts a connection; ok reports whether another one is allowed.
func (s *Server) enter(c *conn) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.all.Add(1)
	s.conns[c] = struct{}{}
	c.extra = len(s.conns) > s.opt.MaxConnections
	return true
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.all.Done()
}

// agent is the server's name. Java drivers refuse names that do not begin with Neo4j/.
func (s *Server) agent() string {
	neo4j := s.opt.Agent
	if neo4j == "" {
		neo4j = query.Neo4jVersion
	}
	return fmt.Sprintf("Neo4j/%s (Hopgate %s)", neo4j, version.Number)
}
