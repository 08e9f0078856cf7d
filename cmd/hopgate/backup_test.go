package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// A backup taken under load, of a server that is then killed, restores to a whole graph with everything acknowledged before the
// backup began.
func TestBackupUnderLoad(t *testing.T) {
	dir, dest, back := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "back")
	s := start(t, dir, "--shards", "2")
	s.graphctl("query", "CREATE CONSTRAINT n FOR (n:N) REQUIRE n.i IS UNIQUE")
	s.graphctl("query", "CREATE CONSTRAINT s FOR (s:Seed) REQUIRE s.i IS UNIQUE")
	const block = 4096 // vertices lie in one shard, the next ones in the other
	s.graphctl("query", fmt.Sprintf("UNWIND range(0, %d) AS i CREATE (:Seed {i: i, n: 0})", 2*block-1))
	var acked atomic.Int64
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				body := fmt.Sprintf(`{"statement":"MATCH (a:Seed {i:%d}), (b:Seed {i:%d}) SET a.n = a.n + 1, b.n = b.n + 1 `+
					`CREATE (:N {i:%d, text:$t})-[:E {w:%d}]->(:M), (a)-[:X]->(b)","parameters":{"t":"%02000d"}}`, i%9, block+i*7%99, 2*i+w, w, i)
				if code, _ := s.http("POST", s.addrs.HTTP, "/db/default/query/v2", body); code/100 == 2 {
					acked.Add(1)
				}
			}
		})
	}
	eventually(t, func() bool { return acked.Load() >= 50 }, time.Millisecond)
	first := acked.Load()
	backup := func(since float64) float64 {
		s.graphctl("backup", dest)
		taken := s.metric(`hopgate_backup_last_success_timestamp_seconds{graph="default"}`)
		require.Greater(t, taken, since)
		return taken
	}
	taken := backup(float64(time.Now().Unix()))
	eventually(t, func() bool { return acked.Load() >= first+50 }, time.Millisecond)
	second := acked.Load()
	backup(taken)
	close(stop)
	writers.Wait()
	require.Equal(t, -1, s.stop(syscall.SIGKILL))

	o := run(t, nil, "graphctl", "backup", "--verify", dest)
	require.Zero(t, o.code, o.err)
	o = run(t, nil, "graphctl", "restore", dest, "--data-dir", back)
	require.Zero(t, o.code, o.err)
	require.Equal(t, 1, run(t, nil, "graphctl", "restore", dest, "--data-dir", back).code, "into what is not empty")
	for _, d := range []string{back, dir} {
		o = run(t, nil, "graphctl", "check", "--data-dir", d)
		require.Zero(t, o.code, o.out+o.err)
	}
	s = start(t, back)
	var n int64
	_, err := fmt.Sscan(s.graphctl("query", "-o", "csv", "MATCH (n:N)-[:E]->(:M) WHERE size(n.text) = 2000 RETURN count(*) AS n")[2:], &n)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, second)
	whole := "MATCH (a:Seed)-[x:X]->(b:Seed) WITH count(x) AS edges MATCH (s:Seed) RETURN edges, sum(s.n) AS total, sum(CASE WHEN s.n = COUNT { (s)-[:X]-() } THEN 0 ELSE 1 END) AS bad"
	require.Equal(t, fmt.Sprintf("edges,total,bad\n%d,%d,0\n", n, 2*n), s.graphctl("query", "-o", "csv", whole), "a transaction is not whole")
	require.Contains(t, s.graphctl("check"), "nothing is wrong")
	require.Zero(t, s.stop(syscall.SIGTERM))
}

// The checkpoint of a backup goes when its client dies, and when the server does.
func TestBackupClientDies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	checkpoints := func() int {
		names, err := os.ReadDir(filepath.Join(dir, "checkpoints"))
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
		}
		return len(names)
	}
	s := start(t, dir)
	s.graphctl("query", "CREATE (:N {i: 1})")
	for _, kill := range []bool{false, true} {
		conn, err := grpc.NewClient(s.addrs.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		stream, err := pb.NewAdminServiceClient(conn).Backup(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&pb.BackupRequest{What: &pb.BackupRequest_Begin{Begin: &pb.BackupBegin{}}}))
		files, err := stream.Recv()
		require.NoError(t, err)
		require.NotEmpty(t, files.GetFiles().GetFiles())
		require.Equal(t, 1, checkpoints())
		if kill {
			require.Equal(t, -1, s.stop(syscall.SIGKILL))
			require.Equal(t, 1, checkpoints())
			s = start(t, dir)
			require.Zero(t, checkpoints())
		}
		require.NoError(t, conn.Close()) // as when the client dies: nothing more is sent
		eventually(t, func() bool { return checkpoints() == 0 }, time.Millisecond)
	}
	require.Zero(t, s.stop(syscall.SIGTERM))
}
