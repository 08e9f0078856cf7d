package local_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote"
)

func init() { local.Cluster = cluster }

// cluster makes the processes of a cluster, with one replica of each shard, within this one.
func cluster(t *testing.T, opts local.Options) (lead func() (*local.Store, shard.Store), stop func()) {
	layout := shard.Layout{Processes: opts.Shards, Shards: opts.Shards, Replicas: 1}
	var disks []vfs.FS
	var addresses []string
	for no := range opts.Shards {
		disks, addresses = append(disks, vfs.NewMem()), append(addresses, "passthrough:"+strconv.Itoa(no))
	}
	var ends []func()
	lead = func() (*local.Store, shard.Store) {
		listeners := make([]*bufconn.Listener, opts.Shards)
		for no := range listeners {
			listeners[no] = bufconn.Listen(1 << 20)
		}
		dialer := grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			no, err := strconv.Atoi(address)
			if err != nil {
				return nil, err
			}
			return listeners[no].DialContext(ctx)
		})
		var first *remote.Process
		for no := range listeners {
			o := opts
			o.FS = disks[no]
			p, err := remote.NewProcess(o, layout, no, addresses, dialer)
			require.NoError(t, err)
			if no == 0 {
				first = p
			}
			s := grpc.NewServer(remote.ServerOptions(nil)...)
			p.Register(s)
			go func() { _ = s.Serve(listeners[no]) }()
			ends = append(ends, func() { s.Stop(); require.NoError(t, p.Close()) })
		}
		require.Eventually(t, func() bool { return first.Leading() != nil }, time.Minute, time.Millisecond)
		gateway, err := remote.Open(addresses, dialer)
		require.NoError(t, err)
		ends = append([]func(){func() { require.NoError(t, gateway.Close()) }}, ends...)
		return first.Leading(), gateway
	}
	stop = func() {
		for _, end := range ends {
			end()
		}
		ends = nil
	}
	t.Cleanup(stop)
	return lead, stop
}
