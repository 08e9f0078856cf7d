package boltapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/request"
)

// conn is one connection, whatever carries it.
type conn struct {
	net.Conn
	s       *Server
	session *bolt.Session // nil: the handshake is not over
	peer    *peer
	extra   bool // one more than there may be
	began   time.Time
}

// Write writes to a client that takes the bytes within their time: the connection of the network is paced.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.s.metrics.sent.Add(float64(n))
	c.peer.meter.Load().Count(n)
	return n, err
}

// serve speaks Bolt over a connection, from behind the magic number on, and closes it.
func (s *Server) serve(nc net.Conn, r *bufio.Reader, transport string) {
	began := time.Now()
	c := &conn{Conn: nc, s: s, began: began}
	defer func() { _ = nc.Close() }()
	if !s.enter(c) {
		return
	}
	defer s.leave(c)
	defer func() {
		if p := recover(); p != nil {
			_ = s.host.Monitor.Panicked(s.ctx, "bolt", p)
		}
	}()
	_ = nc.SetDeadline(began.Add(readyTime))
	v, listed, err := bolt.Handshake(struct {
		io.Reader
		io.Writer
	}{r, nc})
	if err != nil || v == (bolt.Version{}) {
		s.metrics.refused("version")
		return
	}
	_ = nc.SetWriteDeadline(time.Time{})
	s.metrics.opened(transport, v)
	defer s.metrics.closed(transport)

	id := "bolt-" + strconv.FormatUint(s.ids.Add(1), 10)
	c.peer = newPeer(s, c, id, transport)
	ctx, end := context.WithCancel(s.ctx)
	var readers sync.WaitGroup
	read := func() {
		defer func() {
			if p := recover(); p != nil {
				_ = s.host.Monitor.Panicked(s.ctx, "bolt", p)
				c.session.End(errors.New("internal server error"))
			}
		}()
		c.read(ctx, r)
	}
	session := bolt.NewSession(s.ctx, c, c.peer, bolt.Options{
		Version: v, Listed: listed, Server: s.agent(), ID: id, Advertised: s.opt.Advertise, Idle: s.opt.TxIdle, MaxBytes: int(s.host.MaxRequestBytes),
		Follow: func() { readers.Go(read) }, Pacer: &s.pacer,
		Charge: func() (func(int) error, func()) {
			charge := s.e.Charge(s.ctx)
			return charge.Add, charge.Release
		},
	})
	s.mu.Lock()
	c.session = session
	s.mu.Unlock()
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer c.hangUp(end)
		defer func() {
			if p := recover(); p != nil {
				_ = s.host.Monitor.Panicked(s.ctx, "bolt", p)
				session.End(errors.New("internal server error"))
			}
		}()
		session.Serve()
	}()
	readers.Add(1)
	read()
	readers.Done()
	readers.Wait()
	<-served
	_ = c.SetReadDeadline(time.Now().Add(lingerTime)) // read may have changed it
	_, _ = io.Copy(io.Discard, r)
	if log := s.host.Log; log.Enabled(s.ctx, slog.LevelDebug) {
		log.Debug("bolt connection closed", slog.String("connection", id), slog.Duration("after", time.Since(began)))
	}
}

// hangUp ends the connection after the session. The client may still be sending: closing at once would reset the connection, and the
// client would lose the last answer. So it has a moment to read that answer and to close its side.
func (c *conn) hangUp(stopReading func()) {
	stopReading()
	_ = c.SetReadDeadline(time.Now().Add(lingerTime))
	if half, ok := c.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		_ = c.Close()
	}
}

// read hands messages to the session until the connection, or ctx, ends, or another goroutine reads on.
func (c *conn) read(ctx context.Context, r *bufio.Reader) {
	in := bolt.NewReader(r)
	for {
		var memory *request.Arrival // of a large message
		paced := 0                  // the size that the message must have in time
		msg, err := in.Next(func(size int) error {
			most := int(c.s.host.MaxRequestBytes)
			if c.session.Limited() {
				most = unknownMessage
			}
			if err := bolt.AtMost(most)(size); err != nil || size <= request.SmallBody {
				return err
			}
			if paced == 0 {
				memory = c.s.host.Memory.Arrive(request.Sender(c.peer.with(ctx), c.RemoteAddr().String()))
			}
			if err := memory.Grow(ctx, int64(size)); err != nil {
				return err
			}
			if size > paced {
				paced = size + request.BodyPiece
				_ = c.SetReadDeadline(time.Now().Add(request.PieceTime))
			}
			return ctx.Err() // hangUp has set another deadline
		})
		done := func() {}
		if paced > 0 {
			_ = c.SetReadDeadline(time.Time{})
			if err == nil {
				done, err = memory.Complete(ctx, int64(len(msg)))
			}
			memory.Release()
		}
		switch {
		case err == nil:
		case errors.Is(err, bolt.ErrTooLarge) || graph.AsError(err).Kind == graph.KindBusy:
			c.session.Fault(err)
			return
		default:
			c.session.End(err)
			return
		}
		c.s.metrics.received.Add(float64(len(msg)))
		c.peer.meter.Load().Count(len(msg))
		if !c.session.Arrive(msg, done, in.Waits()) {
			return
		}
	}
}
