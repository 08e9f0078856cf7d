package faultnet_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/faultnet"
)

// echo returns the address of a server that returns what it is sent.
func echo(t *testing.T) string {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// receive sends the next byte that arrives, or 0 when the connection ends.
func receive(c net.Conn) <-chan byte {
	got := make(chan byte, 1)
	go func() {
		var b [1]byte
		_, _ = io.ReadFull(c, b[:])
		got <- b[0]
	}()
	return got
}

// A blocked direction holds up what is sent in it, in new connections and in those that exist; all of it arrives once the network heals.
func TestBlock(t *testing.T) {
	n, err := faultnet.New([]string{echo(t), "", ""}, time.Microsecond)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	for _, way := range [][2]int{{1, 0}, {0, 1}} {
		c, other := dial(t, n.Address(1, 0)), dial(t, n.Address(2, 0))
		send := func(c net.Conn, b byte) {
			_, err := c.Write([]byte{b})
			require.NoError(t, err)
		}
		send(c, 1)
		require.EqualValues(t, 1, <-receive(c))
		n.Block(func(from, to int) bool { return from == way[0] && to == way[1] })
		send(c, 2)
		fresh := dial(t, n.Address(1, 0))
		send(fresh, 4)
		held, begun := receive(c), receive(fresh)
		send(other, 3)
		require.EqualValues(t, 3, <-receive(other), "another node's connection")
		require.Empty(t, held)
		require.Empty(t, begun)
		n.Heal()
		require.EqualValues(t, 2, <-held)
		require.EqualValues(t, 4, <-begun)
	}
}

// Bytes take longer in a direction that is slow, and arrive in their order. The times are least ones.
func TestSlow(t *testing.T) {
	n, err := faultnet.New([]string{echo(t), ""}, 0)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	c := dial(t, n.Address(1, 0))
	const delay = 20 * time.Millisecond
	for _, slow := range []struct {
		least time.Duration
		slows func(from, to int) bool
	}{
		{delay, func(from, _ int) bool { return from == 1 }},
		{2 * delay, func(from, _ int) bool { return from == 0 }},
	} {
		n.Slow(delay, slow.slows)
		began := time.Now()
		_, err := c.Write([]byte{1})
		require.NoError(t, err)
		_, err = c.Write([]byte{2})
		require.NoError(t, err)
		var got [2]byte
		_, err = io.ReadFull(c, got[:])
		require.NoError(t, err)
		require.Equal(t, [2]byte{1, 2}, got)
		require.GreaterOrEqual(t, time.Since(began), slow.least-time.Millisecond)
	}
}

// A cut ends the connections between two nodes, whichever way it is, and refuses others until the network heals.
func TestCut(t *testing.T) {
	n, err := faultnet.New([]string{echo(t), "", ""}, 0)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	call := func(node int) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", n.Address(node, 0))
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err = c.Write([]byte{1}); err == nil {
			_, err = io.ReadFull(c, make([]byte, 1))
		}
		return c, err
	}
	for _, way := range [][2]int{{1, 0}, {0, 1}} {
		c, err := call(1)
		require.NoError(t, err)
		n.Cut(func(from, to int) bool { return from == way[0] && to == way[1] })
		_, err = io.ReadAll(c)
		require.Error(t, err)
		_, err = call(1)
		require.Error(t, err)
		_, err = call(2)
		require.NoError(t, err)
		n.Heal()
		_, err = call(1)
		require.NoError(t, err)
	}
}

// An end of a connection reaches the other side, behind what was sent before, as a failure to connect does.
func TestEnd(t *testing.T) {
	down, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, down.Close())
	n, err := faultnet.New([]string{echo(t), down.Addr().String(), ""}, time.Microsecond)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	require.Equal(t, []string{n.Address(2, 0), n.Address(2, 1)}, n.Addresses(2, 2))
	require.Equal(t, down.Addr().String(), n.Address(1, 1))
	c := dial(t, n.Address(2, 0)).(*net.TCPConn)
	sent := make([]byte, 1<<20)
	sent[len(sent)-1] = 7
	go func() { _, _ = c.Write(sent); _ = c.CloseWrite() }()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, sent, got)
	c2, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", n.Address(2, 1))
	if err == nil {
		_, err = io.ReadAll(c2)
		_ = c2.Close()
	}
	require.Error(t, err)
	open := dial(t, n.Address(2, 0))
	_, err = open.Write([]byte{1})
	require.NoError(t, err)
	require.EqualValues(t, 1, <-receive(open))
	n.Close()
	_, err = open.Read(make([]byte, 1))
	require.Error(t, err)
}
