package remote_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
)

// grow makes the machine of another process, and returns its number.
func (c *replicated) grow() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fs = append(c.fs, vfs.NewCrashableMem())
	c.listeners = append(c.listeners, nil)
	c.power, c.servers, c.processes = append(c.power, nil), append(c.servers, nil), append(c.processes, nil)
	return len(c.fs) - 1
}

// ready waits until a process is ready, or is not for a reason.
func (c *replicated) ready(i int, why string) {
	require.Eventually(c.t, func() bool {
		err := c.processes[i].Ready()
		return err == nil && why == "" || err != nil && why != "" && err.Error() == why
	}, time.Minute, time.Millisecond, "process %d", i)
}

// add adds a process to the cluster.
func (c *replicated) add(g *gateway.Store, address string) (process int, added bool) {
	until(c.t, func() (err error) {
		process, added, err = g.AddMember(c.t.Context(), address)
		return err
	})
	return process, added
}

// TestAddRemove adds a process to three, moves what one of the first keeps to it, removes that one, and then loses others, while clients
// write and read. All processes start again under the addresses of the first three.
func TestAddRemove(t *testing.T) {
	const shards = 3
	c := newReplicatedTuned(t, 3, shards, local.Tuning{PlaceBlock: 16, LogBytes: 4 << 10})
	gateway := c.gateway()
	p := newPairs(t, gateway)
	stop := p.clients(2)
	defer stop()
	progress := func() {
		want := p.next.Load() + 10
		require.Eventually(t, func() bool { return p.next.Load() >= want }, time.Minute, time.Millisecond)
	}
	refused := func(why string, err error) {
		require.Equal(t, graph.KindInvalid, graph.AsError(err).Kind, "%v", err)
		require.Equal(t, "InvalidMember", graph.AsError(err).Detail)
		require.ErrorContains(t, err, why)
	}
	for i := range 3 {
		c.ready(i, "")
	}
	refused("without process 1 there are 2 processes", gateway.RemoveMember(t.Context(), 1))
	refused("no process 7", gateway.RemoveMember(t.Context(), 7))
	for _, bad := range []string{"", "host", "host:", ":9190", "host:x", "a:1,b:1", "host:0", "host:65536"} {
		_, _, err := gateway.AddMember(t.Context(), bad)
		refused("must be a host and a port", err)
	}

	added := c.grow()
	started := make(chan struct{})
	go func() { // it waits until it is added
		defer close(started)
		c.start(added)
	}()
	progress()
	no, is := c.add(gateway, "passthrough:3")
	require.Equal(t, added, no)
	require.True(t, is)
	no, is = c.add(gateway, "passthrough:3")
	require.Equal(t, added, no)
	require.False(t, is)
	<-started
	c.ready(added, "")
	require.Eventually(t, func() bool { // its address was dialled before it was there
		all, err := gateway.Members(t.Context())
		require.NoError(t, err)
		last := all[len(all)-1]
		require.Equal(t, added, last.Process)
		require.Equal(t, "passthrough:3", last.Address)
		return last.Role == "idle"
	}, time.Minute, time.Millisecond)

	const left = 1
	refused("has replicas of shards 0, 1, 2", gateway.RemoveMember(t.Context(), left))
	for no := range shards {
		c.move(gateway, no, left, added)
		progress()
	}
	until(t, func() error { return gateway.RemoveMember(t.Context(), left) })
	until(t, func() error { return gateway.RemoveMember(t.Context(), left) })
	c.ready(left, "this process was removed from the cluster: graphctl member add makes it a new one, with an empty data directory")
	refused("there are 2 processes", gateway.RemoveMember(t.Context(), 2))
	_, err := gateway.MoveReplica(t.Context(), 0, 0, left)
	refused("no process 1", err)
	refused("no process 1", gateway.TransferLead(t.Context(), 0, left))
	all, err := gateway.Members(t.Context())
	require.NoError(t, err)
	for _, m := range all {
		require.NotEqual(t, left, m.Process)
	}
	progress()
	c.kill(left)

	// The others start again, one by one: what they have noted is the list of all.
	for _, i := range []int{0, added, 2} {
		c.kill(i)
		progress()
		c.start(i)
		c.ready(i, "")
		progress()
	}
	stop()
	p.verify(gateway)
	for no := range shards {
		require.Equal(t, []int{0, 2, added}, c.voters(no))
	}

	// A gateway that starts with the first three learns the others, and the address of the removed process becomes that of a new one.
	gateway = c.gateway()
	until(t, func() (err error) {
		p.g, err = gateway.Graph(local.DefaultGraph)
		return err
	})
	no, is = c.add(gateway, "passthrough:"+strconv.Itoa(left))
	require.Equal(t, 4, no)
	require.True(t, is)
	c.start(left) // with its old data directory
	c.ready(left, "this process was removed from the cluster: graphctl member add makes it a new one, with an empty data directory")
	_, err = gateway.MoveReplica(t.Context(), 0, 0, 4)
	refused("the process at passthrough:1 has the number 1, not 4", err)
	p.write()
	p.verify(gateway)
	require.Contains(t, c.voters(0), 0)
}
