package httpapi

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A connection has something unread from when a client has sent it until the server has read it, also below TLS.
func TestUnread(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	c, err := l.Accept()
	require.NoError(t, err)
	defer c.Close()
	for _, c := range []net.Conn{c, tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS13})} {
		require.False(t, hasUnread(c))
	}
	_, err = client.Write([]byte("xx"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return hasUnread(c) }, time.Minute, time.Millisecond)
	require.True(t, hasUnread(tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS13})))
	_, err = io.ReadFull(c, make([]byte, 2))
	require.NoError(t, err)
	require.False(t, hasUnread(c))
	require.NoError(t, client.Close())
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.False(t, hasUnread(c))
}
