package remote_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/gateway"
)

// voters returns the processes whose replicas of a shard vote, by the leader of its group.
func (c *replicated) voters(no int) (out []int) {
	s := c.processes[c.leader(no)].Local().Replicas()[uint32(no)]
	for _, id := range s.Members.Voters() {
		out = append(out, c.layout.Process(id))
	}
	slices.Sort(out)
	return out
}

// clients write and read until stop.
func (p *pairs) clients(n int) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					p.write()
					p.read()
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		running.Wait()
	})
}

// move moves a shard's replica, until the former one is deleted.
func (c *replicated) move(g *gateway.Store, no, from, to int) {
	until(c.t, func() error {
		ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
		defer cancel()
		deleted, err := g.MoveReplica(ctx, no, from, to)
		if err == nil && !deleted {
			return &graph.Error{Detail: shard.TransactionLost}
		}
		if err != nil {
			c.t.Logf("shard %d does not move from process %d to %d: %v", no, from, to, err)
			c.logReplicas(no)
		}
		return err
	})
}

// logReplicas logs what each process says of its replica of a shard.
func (c *replicated) logReplicas(no int) {
	for i, p := range c.processes {
		if p == nil {
			continue
		}
		s, ok := p.Local().Host().GroupStatus(uint32(no))
		id, in, err := p.Local().Host().Admitted(c.t.Context(), uint32(no))
		c.t.Logf("process %d: hosted %t, admitted %t as %d (%v), %+v", i, ok, in, id, err, s)
		if ok && s.Leads {
			for _, id := range s.Members.Learners() {
				lag, err := p.Local().Host().Lag(c.t.Context(), uint32(no), id)
				c.t.Logf("learner %d is %d entries behind (%v)", id, lag, err)
			}
		}
	}
}

// verify compares the graph with the writes: it has the pairs that were acknowledged, and of the others none but those whose outcome is unknown.
func (p *pairs) verify(s *gateway.Store) {
	p.read()
	until(p.t, func() error {
		report, err := s.Check(p.t.Context(), local.DefaultGraph, shard.CheckOptions{})
		if err == nil {
			require.Empty(p.t, report.Findings)
		}
		return err
	})
	tx, err := p.g.Begin(p.t.Context(), shard.Read)
	require.NoError(p.t, err)
	defer tx.Rollback()
	n, c := uint64(len(p.vertices)), tx.Counts()
	require.GreaterOrEqual(p.t, c.Vertices, 2*n)
	require.LessOrEqual(p.t, c.Vertices, 2*(n+uint64(p.unknown)))
	require.Equal(p.t, c.Vertices, c.Edges)
}

// TestMove moves replicas of all shards, those of leaders too, while clients write and read: nothing is lost, and each process keeps what
// it is a member of, also after it starts again.
func TestMove(t *testing.T) {
	c := newReplicatedTuned(t, 5, 4, local.Tuning{PlaceBlock: 16, LogBytes: 4 << 10})
	gateway := c.gateway()
	p := newPairs(t, gateway)
	stop := p.clients(2)
	defer stop()
	for no := range 4 {
		from := c.leader(no)
		voters := c.voters(no)
		to := (from + 1) % 5
		for slices.Contains(voters, to) {
			to = (to + 1) % 5
		}
		c.move(gateway, no, from, to)
		require.NotContains(t, c.voters(no), from)
		require.Contains(t, c.voters(no), to)
		require.Len(t, c.voters(no), 3)
		require.Nil(t, c.processes[from].Local().Parts(no))
		left, err := c.fs[from].List("data/replicas")
		require.NoError(t, err)
		require.NotContains(t, left, []string{"0000", "0001", "0002", "0003"}[no])
		c.move(gateway, no, from, to) // it is done
	}
	// Shard 1 leaves all processes that it was made on, and returns to one of them.
	for _, to := range []int{0, 4} {
		for _, from := range c.voters(1) {
			if !slices.Contains(c.voters(1), to) && from != 3 {
				c.move(gateway, 1, from, to)
			}
		}
	}
	for _, from := range c.voters(1) {
		if from != 0 && from != 4 {
			c.move(gateway, 1, from, (map[bool]int{true: 2, false: 3})[from == 3])
			break
		}
	}
	stop()
	p.verify(gateway)
	was := map[int][]int{}
	for no := range 4 {
		was[no] = c.voters(no)
	}
	for i := range 5 {
		c.kill(i)
	}
	for i := range 5 {
		c.start(i)
	}
	for no := range 4 {
		require.Equal(t, was[no], c.voters(no))
		for i, process := range c.processes {
			require.Equal(t, slices.Contains(was[no], i), process.Local().Parts(no) != nil, "shard %d at process %d", no, i)
		}
	}
	gateway = c.gateway() // which knows the layout alone
	until(t, func() (err error) {
		p.g, err = gateway.Graph(local.DefaultGraph)
		return err
	})
	p.write()
	p.verify(gateway)

	for _, bad := range [][3]int{{0, 9, 1}, {0, 0, 9}, {0, 1, 1}, {9, 0, 1}, {0, was[0][0], was[0][1]}} {
		_, err := gateway.MoveReplica(t.Context(), bad[0], bad[1], bad[2])
		require.Equal(t, graph.KindInvalid, graph.AsError(err).Kind, "%v: %v", bad, err)
	}
}

// TestMoveBack has a process learn late that its replica is removed: it has deleted that one, and keeps another one.
func TestMoveBack(t *testing.T) {
	c := newReplicatedTuned(t, 4, 1, local.Tuning{PlaceBlock: 16})
	gateway := c.gateway()
	p := newPairs(t, gateway)
	p.write()
	const away = 3
	back := (c.leader(0) + 1) % 3
	var late atomic.Bool
	asked, answer := make(chan struct{}), make(chan struct{})
	c.before.Store(new(func(call any) {
		if q, ok := call.(*pb.IdentifyRequest); ok && q.GetFormer() == c.layout.First(back) && late.CompareAndSwap(false, true) {
			close(asked)
			<-answer
		}
	}))
	retired := make(chan struct{})
	go func() {
		defer close(retired)
		_, _ = gateway.MoveReplica(t.Context(), 0, back, away)
	}()
	<-asked
	c.move(gateway, 0, back, away)
	c.move(gateway, 0, away, back)
	close(answer)
	<-retired
	require.Contains(t, c.voters(0), back)
	require.NotNil(t, c.processes[back].Local().Parts(0))
	p.write()
	p.verify(gateway)
}

// TestMoveForgotten holds a shard again at a process whose earlier replica of it was deleted, while a member that was away still takes the
// earlier one for a voter: the process does not take part under the id of the earlier one, whose log is gone.
func TestMoveForgotten(t *testing.T) {
	c := newReplicatedTuned(t, 4, 1, local.Tuning{PlaceBlock: 16})
	gateway := c.gateway()
	p := newPairs(t, gateway)
	p.write()
	const away = 3
	back := c.leader(0) // the others have had messages from it
	late, stays := (back+1)%3, (back+2)%3
	c.kill(late)
	c.move(gateway, 0, back, away)
	p.write()

	catchUp := make(chan struct{})
	var asked atomic.Int32
	c.more = []grpc.ServerOption{
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			select {
			case <-catchUp:
				return next(srv, s)
			case <-s.Context().Done():
				return s.Context().Err()
			}
		}),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, call any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if q, ok := call.(*pb.IdentifyRequest); ok && q.GetProcess() == uint32(back) && q.GetFormer() == 0 {
				asked.Add(1)
			}
			return next(ctx, call)
		}),
	}
	c.start(late)
	c.more = nil
	conn, err := grpc.NewClient(c.addresses[back], grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(c.dial))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = pb.NewReplicaServiceClient(conn).Hold(t.Context(), &pb.HoldRequest{Keepers: []uint32{uint32(stays), uint32(late), away}})
	require.NoError(t, err)
	in := false
	require.Eventually(t, func() bool { // the second question follows the outcome of the first one
		var err error
		_, in, err = c.processes[back].Local().Host().Admitted(t.Context(), 0)
		return err == nil && in || asked.Load() > 1
	}, time.Minute, time.Millisecond)
	require.False(t, in)

	close(catchUp)
	c.move(gateway, 0, away, back)
	require.Contains(t, c.voters(0), back)
	p.write()
	p.verify(gateway)
}

// TestMoveTwice has the same move made twice at a time: the one that comes late adds no second replica of the process.
func TestMoveTwice(t *testing.T) {
	c := newReplicatedTuned(t, 4, 1, local.Tuning{PlaceBlock: 16})
	gateway := c.gateway()
	newPairs(t, gateway).write()
	const to = 3
	from := (c.leader(0) + 1) % 3
	var late atomic.Bool
	asked, answer := make(chan struct{}), make(chan struct{})
	c.before.Store(new(func(call any) {
		if _, ok := call.(*pb.HoldRequest); ok && late.CompareAndSwap(false, true) {
			close(asked)
			<-answer
		}
	}))
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		c.move(gateway, 0, from, to)
	}()
	<-asked
	c.move(gateway, 0, from, to)
	was := c.processes[c.leader(0)].Local().Replicas()[0].Members
	close(answer)
	<-moved
	now := c.processes[c.leader(0)].Local().Replicas()[0].Members
	require.Equal(t, was.Voters(), now.Voters())
	require.Empty(t, now.Learners())
}

// TestMoveSilent moves a replica to a process that does not take part: the others keep the shard until it does.
func TestMoveSilent(t *testing.T) {
	c := newReplicatedTuned(t, 4, 1, local.Tuning{PlaceBlock: 16})
	gateway := c.gateway()
	newPairs(t, gateway).write()
	const to = 3
	was := c.voters(0)
	from := (c.leader(0) + 1) % 3
	answer := make(chan struct{})
	c.before.Store(new(func(call any) {
		switch q, ok := call.(*pb.IdentifyRequest); {
		case !ok || q.GetProcess() != to:
		case q.GetFormer() == 0:
			<-answer
		case q.GetFormer() == c.layout.Added(to, 0): // it takes that for its own, and deletes its replica
			t.Error("the process asks for a replica that it never had")
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	moved := make(chan error, 1)
	go func() {
		_, err := gateway.MoveReplica(ctx, 0, from, to)
		moved <- err
	}()
	require.Eventually(t, func() bool {
		return len(c.processes[c.leader(0)].Local().Replicas()[0].Members.Learners()) > 0 || len(moved) > 0
	}, time.Minute, time.Millisecond)
	require.Never(t, func() bool { return !slices.Equal(was, c.voters(0)) }, 500*time.Millisecond, 5*time.Millisecond)
	cancel()
	require.Error(t, <-moved)
	stop := c.holdAgain(0, to, was)
	defer stop()
	close(answer)
	require.Eventually(t, func() bool {
		_, in, err := c.processes[to].Local().Host().Admitted(t.Context(), 0)
		return err == nil && in
	}, time.Minute, time.Millisecond)
	stop()
	c.move(gateway, 0, from, to)
	require.Contains(t, c.voters(0), to)
}

// holdAgain asks a process again and again, until stop, to hold a shard that others keep: also while its replica is admitted.
func (c *replicated) holdAgain(no, process int, others []int) (stop func()) {
	conn, err := grpc.NewClient(c.addresses[process], grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(c.dial))
	require.NoError(c.t, err)
	q := &pb.HoldRequest{Group: uint32(no)}
	for _, other := range others {
		q.Keepers = append(q.Keepers, uint32(other))
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for ctx.Err() == nil {
				_, _ = pb.NewReplicaServiceClient(conn).Hold(ctx, q)
			}
		})
	}
	return sync.OnceFunc(func() {
		cancel()
		asking.Wait()
		_ = conn.Close()
	})
}

// TestMoveKilled kills the processes that a shard moves between, and the one that leads it, while it moves: it has its former members or
// the new ones, and the repeated command completes the move.
func TestMoveKilled(t *testing.T) {
	c := newReplicatedTuned(t, 4, 2, local.Tuning{PlaceBlock: 16, LogBytes: 4 << 10})
	gateway := c.gateway()
	p := newPairs(t, gateway)
	stop := p.clients(1)
	defer stop()
	for round := range 6 {
		voters := c.voters(1)
		from, to := voters[round%3], 0
		for slices.Contains(voters, to) {
			to++
		}
		victim := []int{from, to, c.leader(1)}[round%3]
		moved := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(moved)
			_, _ = gateway.MoveReplica(ctx, 1, from, to)
		}()
		wait := p.next.Load() + int64(round)
		require.Eventually(t, func() bool { return p.next.Load() >= wait }, time.Minute, time.Millisecond)
		c.kill(victim)
		cancel()
		<-moved
		c.start(victim)
		c.move(gateway, 1, from, to)
		require.Len(t, c.voters(1), 3)
		require.Contains(t, c.voters(1), to)
		require.NotContains(t, c.voters(1), from)
		require.Eventually(t, func() bool { return c.processes[from].Local().Parts(1) == nil }, time.Minute, time.Millisecond)
		require.Eventually(t, func() bool { return c.processes[victim].Ready() == nil }, time.Minute, time.Millisecond)
	}
	stop()
	p.verify(gateway)
}
