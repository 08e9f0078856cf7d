package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
)

const (
	// maxHeaders bounds the size of a request's headers.
	maxHeaders = 64 << 10
	// goodbye is how long clients with open connections have to send one more request.
	goodbye = time.Second
	// lastWords is how long the server, before it closes connections, waits to read data that has arrived on them.
	lastWords = 5 * time.Second
)

// Transport returns the HTTP API as a transport.
func Transport(opt Options) request.Transport {
	return request.Transport{Name: "http", Speaks: "HTTP", New: func(host *request.Host) request.Listener {
		l := &listener{Web: Web{TLS: host.TLS}, host: host, handler: New(host, opt)}
		l.handler.discovery(opt.Console)
		l.Server = NewServer(http.HandlerFunc(l.serve), host.Log)
		l.Server.ConnState = l.note
		l.Server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return query.WithSession(ctx, &query.Session{Protocol: "http", From: c.RemoteAddr(), To: c.LocalAddr()})
		}
		host.Goodbyes = append(host.Goodbyes, l.sayGoodbye)
		return l
	}}
}

// NewServer returns a server of HTTP with the limits of all listeners that speak it.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 3 * time.Minute, MaxHeaderBytes: maxHeaders,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // such as errors of broken connections
	}
}

// Web is a server of HTTP at a listener, whose clients it paces.
type Web struct {
	*http.Server
	TLS *tls.Config // default nil, plain connections
	l   net.Listener
}

// Listen takes the listener.
func (w *Web) Listen(l net.Listener) {
	w.l = request.PacedListener{Listener: l}
	if w.TLS != nil {
		w.l = tls.NewListener(w.l, w.TLS)
	}
}

// Serve implements request.Listener.
func (w *Web) Serve() error {
	if err := w.Server.Serve(w.l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// listener takes the connections of the HTTP API.
type listener struct {
	Web
	host    *request.Host
	handler *Handler
	open    sync.Map // the connections, each a net.Conn
}

// Drain implements request.Listener. Explicit transactions roll back when they run no statement.
func (l *listener) Drain(ctx context.Context) {
	if err := l.Shutdown(ctx); err != nil {
		_ = l.Close() // ends the contexts of running requests
	}
	l.handler.Close()
}

// serve answers a request. While draining, it asks the client to close the connection.
func (l *listener) serve(w http.ResponseWriter, r *http.Request) {
	if l.host.Drained.Err() != nil {
		w.Header().Set("Connection", "close")
	}
	l.handler.ServeHTTP(w, r)
}

// note tracks the open connections.
func (l *listener) note(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.open.Store(c, nil)
	case http.StateClosed, http.StateHijacked:
		l.open.Delete(c)
	}
}

// connections returns the number of open connections, and whether one of them has unread data.
func (l *listener) connections() (open int, unread bool) {
	l.open.Range(func(c, _ any) bool {
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

// sayGoodbye continues to answer briefly, and each response asks the client to close its connection: a request in flight on a connection
// that the server closes would be lost. It also waits for requests that have arrived but that a busy machine has not read yet.
func (l *listener) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, goodbye+lastWords)
	defer cancel()
	t := time.NewTicker(goodbye / 100)
	defer t.Stop()
	for began := time.Now(); ; {
		if open, unread := l.connections(); open == 0 || !unread && time.Since(began) >= goodbye {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
