package request

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// WriteTime is how long a client may take nothing of what is written to it. Afterwards its request and its connection, or its stream, end.
const WriteTime = time.Minute

// ErrNotRead ends a request whose client does not read.
var ErrNotRead = errors.New("the client has not read for " + WriteTime.String())

// WritePiece is how many bytes a client must take within WriteTime.
const WritePiece = 64 << 10

// Paced is a connection whose client must read what is written to it. It sets a deadline of the network only for what would wait beyond the
// one that is set: a request sets several deadlines, each of which would set a timer, and hardly any passes.
type Paced struct {
	net.Conn

	mu       sync.Mutex
	until    time.Time // the deadline of reads; zero: none
	armed    time.Time // that of the network, which may be earlier; zero: none
	expired  bool      // armed has passed
	reading  int       // running reads
	writable time.Time // when the network's deadline of writes passes; zero: none, or another one than Write's
}

// NewPaced returns a paced connection, whose deadlines so far stay in force until others are set.
func NewPaced(c net.Conn) *Paced { return &Paced{Conn: c} }

// Write writes p in pieces, for each of which the client has WriteTime.
func (c *Paced) Write(p []byte) (n int, err error) {
	for {
		m, err := c.writePiece(p[n:min(n+WritePiece, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

func (c *Paced) writePiece(p []byte) (n int, err error) {
	until := time.Now().Add(WriteTime)
	for set := false; ; set = true {
		c.mu.Lock()
		switch {
		case c.writable.IsZero() && set: // another deadline than this one has passed
			c.mu.Unlock()
			return n, err
		case c.writable.IsZero() || set:
			c.writable = until
			_ = c.Conn.SetWriteDeadline(until)
		}
		c.mu.Unlock()
		var m int
		m, err = c.Conn.Write(p[n:])
		if n += m; !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(until) {
			return n, err
		}
	}
}

// Read reads until the deadline.
func (c *Paced) Read(p []byte) (int, error) {
	c.mu.Lock()
	if c.expired || c.sooner() {
		c.arm()
	}
	c.reading++
	c.mu.Unlock()
	for {
		n, err := c.Conn.Read(p)
		late := err != nil && errors.Is(err, os.ErrDeadlineExceeded)
		c.mu.Lock()
		if c.expired = c.expired || late; late && (c.until.IsZero() || time.Now().Before(c.until)) {
			c.arm()
			c.mu.Unlock()
			continue
		}
		c.reading--
		c.mu.Unlock()
		return n, err
	}
}

// sooner reports whether the deadline of reads is before that of the network.
func (c *Paced) sooner() bool {
	return !c.until.IsZero() && (c.armed.IsZero() || c.until.Before(c.armed))
}

// arm makes the deadline of reads that of the network. c.mu is held.
func (c *Paced) arm() {
	c.armed, c.expired = c.until, false
	_ = c.Conn.SetReadDeadline(c.until)
}

// SetReadDeadline implements net.Conn.
func (c *Paced) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until = t; c.reading > 0 && c.sooner() {
		c.arm()
	}
	return nil
}

// SetWriteDeadline implements net.Conn. It bounds a running write; the next one has its own time.
func (c *Paced) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writable = time.Time{}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *Paced) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite closes the writing side.
func (c *Paced) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// NetConn returns the underlying connection.
func (c *Paced) NetConn() net.Conn { return c.Conn }

// PacedListener accepts paced connections.
type PacedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l PacedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return NewPaced(c), nil
}
