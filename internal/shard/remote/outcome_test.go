package remote_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// cutter closes its connections once a number of bytes has gone either way; 0 lets them live.
type cutter struct{ bytes atomic.Int64 }

type cutConn struct {
	net.Conn
	c *cutter
}

func (c cutConn) spend(n int, err error) (int, error) {
	if n > 0 && c.c.bytes.Load() > 0 && c.c.bytes.Add(-int64(n)) <= 0 {
		c.c.bytes.Store(0)
		_ = c.Close()
		return 0, io.ErrClosedPipe
	}
	return n, err
}

func (c cutConn) Read(b []byte) (int, error)  { return c.spend(c.Conn.Read(b)) }
func (c cutConn) Write(b []byte) (int, error) { return c.spend(c.Conn.Write(b)) }

// TestOutcome cuts a gateway's connection to the leader at any byte of a commit. The gateway learns what became of it.
func TestOutcome(t *testing.T) {
	c := &cutter{}
	gateway := servedOver(t, 2, func(dial func(context.Context, string) (net.Conn, error)) grpc.DialOption {
		return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := dial(ctx, address)
			if err != nil || address != "0" {
				return conn, err
			}
			return cutConn{conn, c}, nil
		})
	})()
	g, err := gateway.Graph(local.DefaultGraph)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(7, 1))
	ctx := t.Context()
	count := func() uint64 {
		tx, err := g.Begin(ctx, shard.WriteExclusive)
		require.NoError(t, err)
		defer tx.Rollback()
		return tx.Counts().Vertices
	}
	cut, lost := 0, 0
	for range 120 {
		before := count()
		tx, err := g.Begin(ctx, shard.Write)
		require.NoError(t, err)
		require.NoError(t, tx.Apply(ctx, make([]shard.Mutation, 1+rng.IntN(3))))
		after := tx.Counts().Vertices
		c.bytes.Store(1 + rng.Int64N(200))
		err = tx.Commit(ctx)
		if c.bytes.Swap(0) == 0 {
			cut++
		}
		if err != nil {
			require.True(t, shard.Retriable(err), err)
			after, lost = before, lost+1
		}
		require.Equal(t, after, count(), err)
	}
	t.Log(cut, "cut,", lost, "lost")
	require.Greater(t, cut, lost, "no commit was found")
	require.Positive(t, lost)
}
