package main_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// refused reports whether a client's error means that the server is stopping or gone.
func refused(err error) bool {
	if a, ok := errors.AsType[answered](err); ok {
		return a.status == http.StatusServiceUnavailable && a.code == "Neo.TransientError.General.DatabaseUnavailable"
	}
	s, ok := status.FromError(err)
	return !ok || s.Code() == codes.Unavailable
}

// On SIGTERM, the server finishes running requests, refuses new ones, rolls back idle transactions, and exits with 0.
func TestTermDuringTransactions(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--shards", "2", "--memory", "256MiB", "--drain-timeout", "5m"}
	c := newChains(t, 6)
	s := start(t, data, args...)
	c.begin(s)
	url := "http://" + s.addrs.HTTP + "/db/default/query/v2"
	for range rounds(1) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		// Two transactions that no client ends.
		left := "CREATE (:N {id: -$w, w: 99, n: 1, text: $text})"
		tx, err := call(ctx, http.MethodPost, url+"/tx", left, chainParams(1, 1))
		require.NoError(t, err)
		conn, err := grpc.NewClient(s.addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		stream, err := pb.NewGraphServiceClient(conn).Transact(ctx)
		require.NoError(t, err)
		require.NoError(t, stream.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.TransactBegin{}}}))
		require.NoError(t, stream.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: &pb.TransactRun{Statement: "CREATE (:N {id: -2, w: 99})"}}}))
		for {
			res, err := stream.Recv()
			require.NoError(t, err)
			if res.GetResult().GetSummary() != nil {
				break
			}
		}
		ended := c.run(s)
		until := c.total() + 50
		eventually(t, func() bool { return c.total() >= until }, time.Millisecond)
		// A statement that reads and one that writes, both slow.
		type end struct {
			r   *reply
			err error
		}
		slow := []string{
			"UNWIND range(1, 20000) AS i UNWIND range(1, 3000) AS k WITH i, k WHERE (i * k) % 7 = 1 RETURN count(*)",
			"UNWIND range(1, 50000) AS i CREATE (:Slow {i: i})",
		}
		ends := make([]chan end, len(slow))
		for i := range slow {
			ends[i] = make(chan end, 1)
			go func() {
				r, err := call(ctx, http.MethodPost, url, slow[i], nil)
				ends[i] <- end{r, err}
			}()
			eventually(t, func() bool {
				return len(ends[i]) > 0 || strings.Contains(s.graphctl("ps"), slow[i][:20])
			}, time.Millisecond)
		}
		if len(ends[0])+len(ends[1]) > 0 {
			t.Log("a slow statement is over before the server receives SIGTERM")
		}
		require.Zero(t, s.stop(syscall.SIGTERM), s.log)
		require.Contains(t, s.log.String(), "msg=stopped")
		for err := range ended {
			require.Error(t, err)
			require.True(t, refused(err), "a client received: %v", err)
		}
		for i := range slow {
			e := <-ends[i]
			require.NoError(t, e.err, "%s: it was running and had time enough", slow[i])
			if i == 0 {
				require.Equal(t, [][]any{{7348633.0}}, e.r.Data.Values)
			}
		}
		_, err = stream.Recv()
		require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
		require.NoError(t, conn.Close())
		require.NotEmpty(t, tx.Transaction.ID)
		cancel()

		s = start(t, data, args...)
		url = "http://" + s.addrs.HTTP + "/db/default/query/v2"
		r, err := call(context.Background(), http.MethodPost, url, "MATCH (n) WHERE n:Slow OR n.w = 99 RETURN count(n.i), count(n.w)", nil)
		require.NoError(t, err)
		require.Equal(t, [][]any{{50000.0, 0.0}}, r.Data.Values)
		_, err = ask(s.addrs.HTTP, "MATCH (n:Slow) DELETE n")
		require.NoError(t, err)
		c.check(s)
	}
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
}
