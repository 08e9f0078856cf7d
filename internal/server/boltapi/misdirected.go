package boltapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hopgate/hopgate/internal/bolt"
)

// isWeb reports whether the first bytes of a connection, as many as bolt.Magic has, begin a request of HTTP.
func isWeb(first string) bool {
	switch first {
	case "GET ", "HEAD", "POST", "PUT ", "DELE", "OPTI", "PATC", "PRI ": // PRI begins HTTP/2
		return true
	}
	return false
}

// misdirect answers a client that speaks to the wrong port, in HTTP, which drivers of Bolt recognize, and closes the connection once the client
// has had a moment to read that.
func misdirect(c net.Conn, text string) {
	_ = c.SetDeadline(time.Now().Add(lingerTime))
	text += "\n"
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		http.StatusBadRequest, http.StatusText(http.StatusBadRequest), len(text), text)
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, c) // unread bytes would reset the connection, and the answer with it
	}
	_ = c.Close()
}

// misdirected returns a listener of a port that speaks something else. It answers clients that speak Bolt to it, for which the port's own
// server would wait.
func (s *Server) misdirected(l net.Listener, of, speaks string) net.Listener {
	if of == listenerName {
		return l
	}
	return &misled{l, s, speaks}
}

type misled struct {
	net.Listener
	s      *Server
	speaks string
}

// Accept implements net.Listener.
func (l *misled) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &notBolt{Conn: c, l: l}, nil
}

// notBolt is a connection that ends once it turns out to speak Bolt.
type notBolt struct {
	net.Conn
	l       *misled
	matched int // how many of the bytes read are those of bolt.Magic; -1 after another one
}

func (c *notBolt) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for i := 0; i < n && c.matched >= 0; i++ {
		if p[i] != bolt.Magic[c.matched] {
			c.matched = -1
		} else if c.matched++; c.matched == len(bolt.Magic) {
			c.l.s.metrics.refused("port")
			misdirect(c.Conn, "this port speaks "+c.l.speaks+"; "+c.l.s.whereBolt())
			return 0, io.EOF
		}
	}
	return n, err
}

// NetConn returns the underlying connection.
func (c *notBolt) NetConn() net.Conn { return c.Conn }

// whereBolt says where Bolt is.
func (s *Server) whereBolt() string {
	at := s.host.Address(listenerName)
	if s.opt.Advertise != "" {
		at = s.opt.Advertise
	}
	if _, port, err := net.SplitHostPort(at); err == nil {
		return "Bolt is at port " + port
	}
	return "Bolt is disabled"
}

// whereWeb says where HTTP is.
func (s *Server) whereWeb() string {
	_, port, _ := net.SplitHostPort(s.host.Address("http"))
	return "HTTP is at port " + port
}
