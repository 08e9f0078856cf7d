package request

import (
	"errors"
	"net"
	"time"
)

// WriteTime is how long a client may take nothing of what is written to it. Afterwards its request and its connection, or its stream, end.
const WriteTime = time.Minute

// ErrNotRead ends a request whose client does not read.
var ErrNotRead = errors.New("the client has not read for " + WriteTime.String())

// WritePiece is how many bytes a client must take within WriteTime.
const WritePiece = 64 << 10

// Paced is a connection whose client must read what is written to it.
type Paced struct{ net.Conn }

// Write writes p in pieces, for each of which the client has WriteTime.
func (c Paced) Write(p []byte) (n int, err error) {
	for {
		_ = c.SetWriteDeadline(time.Now().Add(WriteTime))
		var m int
		m, err = c.Conn.Write(p[n:min(n+WritePiece, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// NetConn returns the underlying connection.
func (c Paced) NetConn() net.Conn { return c.Conn }

// PacedListener accepts paced connections.
type PacedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l PacedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Paced{c}, nil
}
