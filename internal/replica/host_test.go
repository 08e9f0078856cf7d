package replica

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// list is a state in memory: the commands in their order.
type list struct {
	mu       sync.Mutex
	commands []string
}

func (l *list) Applied() uint64 { return 0 } // it opens empty
func (l *list) Apply(commands []Command) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range commands {
		l.commands = append(l.commands, string(commands[i].Data))
		if string(commands[i].Data) == "odd" {
			commands[i].Result = errOdd
		}
	}
	return nil
}
func (l *list) Durable() (uint64, error) { return 0, nil }
func (l *list) Flush()                   {}

func (l *list) has() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.commands)
}

func openHost(t *testing.T, fs *vfs.MemFS, send func(group uint32, messages []*pb.Message)) *Host {
	store, err := OpenLogStore(LogStoreOptions{Dir: "log", FS: fs, MemtableBytes: 256 << 10})
	require.NoError(t, err)
	h := NewHost(HostOptions{Store: store, Send: send, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		h.Close()
		require.NoError(t, store.Close())
	})
	return h
}

// TestHost runs a replica that is the only member of its group: it leads at once, batches proposals, and has its log when it opens again.
func TestHost(t *testing.T) {
	fs := vfs.NewMem()
	ctx := t.Context()
	var want []string
	t.Run("first", func(t *testing.T) {
		st := &list{}
		h := openHost(t, fs, nil)
		require.NoError(t, h.Start(1, 7, []uint64{7}, st))
		require.ErrorContains(t, h.Start(1, 7, []uint64{7}, st), "runs already")
		require.ErrorContains(t, h.Propose(ctx, 3, nil), "no replica of group 3")
		require.ErrorIs(t, h.Propose(ctx, 1, []byte("odd")), errOdd)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() { require.NoError(t, h.Propose(ctx, 1, []byte(strconv.Itoa(i)))) })
		}
		all.Wait()
		require.NoError(t, h.Read(ctx, 1))
		require.NoError(t, h.Err())
		s := h.Status()[1]
		require.True(t, s.Leads)
		require.Equal(t, uint64(7), s.Leader)
		require.Len(t, st.has(), 101)
		want = st.has()
		h.Close()
		require.ErrorIs(t, h.Propose(ctx, 1, nil), ErrStopped)
		require.ErrorIs(t, h.Start(4, 7, []uint64{7}, st), ErrStopped)
	})
	st := &list{}
	h := openHost(t, fs, nil)
	require.NoError(t, h.Start(1, 7, []uint64{7}, st))
	require.Equal(t, want, st.has())
	role, changed, err := h.Role(1)
	require.NoError(t, err)
	require.Equal(t, Role{Term: role.Term, Leader: 7, Leads: true}, role)
	require.NoError(t, h.Confirm(ctx, 1, role.Term))
	require.ErrorIs(t, h.Confirm(ctx, 1, role.Term-1), ErrNotLeader)
	require.Eventually(t, func() bool { return h.Leased(1, role.Term) }, time.Minute, time.Millisecond)
	require.False(t, h.Leased(1, role.Term-1))
	require.False(t, h.Leased(2, role.Term))
	h.o.Store.in.Fail(vfs.ErrUnsupported)
	require.Error(t, h.Propose(ctx, 1, []byte("late")))
	require.ErrorIs(t, h.Err(), vfs.ErrUnsupported)
	require.Eventually(t, func() bool { return errors.Is(h.Status()[1].Fault, vfs.ErrUnsupported) }, time.Minute, time.Millisecond)
	<-changed
	require.False(t, h.Leased(1, role.Term))
	role, changed, err = h.Role(1)
	require.NoError(t, err)
	require.False(t, role.Leads)
	require.Zero(t, role.Leader)
	h.Close()
	<-changed
	_, _, err = h.Role(1)
	require.ErrorIs(t, err, ErrStopped)
}

// TestHosts runs a group on three hosts. One of them leads, and another one does once that host is gone.
func TestHosts(t *testing.T) {
	hosts, states := make([]*Host, 3), make([]*list, 3)
	for i := range hosts {
		hosts[i] = openHost(t, vfs.NewMem(), func(group uint32, messages []*pb.Message) {
			for _, m := range messages {
				b, err := proto.Marshal(m)
				require.NoError(t, err)
				read := &pb.Message{}
				require.NoError(t, proto.Unmarshal(b, read))
				_ = hosts[m.GetTo()-1].Step(group, hosts[m.GetFrom()-1].o.Store.ID(), read) // which may have closed
			}
		})
		states[i] = &list{}
	}
	for i, h := range hosts {
		require.NoError(t, h.Start(5, uint64(i)+1, []uint64{1, 2, 3}, states[i]))
		_, admitted, err := h.Admitted(t.Context(), 5)
		require.NoError(t, err)
		require.False(t, admitted)
	}
	for i, h := range hosts {
		require.NoError(t, h.Admit(t.Context(), 5, uint64(i)+1))
		as, admitted, err := h.Admitted(t.Context(), 5)
		require.NoError(t, err)
		require.True(t, admitted)
		require.Equal(t, uint64(i)+1, as)
	}
	propose := func(command string) (leader int) {
		leader = -1
		require.Eventually(t, func() bool {
			for i, h := range hosts {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := h.Propose(ctx, 5, []byte(command))
				cancel()
				if err == nil {
					leader = i
					return true
				}
			}
			return false
		}, time.Minute, 10*time.Millisecond)
		return leader
	}
	for transferred := false; !transferred; { // an election may come between
		first := propose("a")
		role, changed, err := hosts[first].Role(5)
		require.NoError(t, err)
		if role.Leads && hosts[first].Transfer(t.Context(), 5, 0) == nil {
			<-changed
			role, _, err = hosts[first].Role(5)
			require.NoError(t, err)
			transferred = !role.Leads
		}
	}
	first := propose("a2")
	for i, h := range hosts {
		require.Eventually(t, func() bool { return h.Read(t.Context(), 5) == nil }, time.Minute, 10*time.Millisecond)
		require.Contains(t, states[i].has(), "a")
	}
	hosts[first].Close()
	second := propose("b")
	require.NotEqual(t, first, second)
	require.Eventually(t, func() bool { return hosts[second].Read(t.Context(), 5) == nil }, time.Minute, 10*time.Millisecond)
	require.Contains(t, states[second].has(), "b")
}

// broken is a state whose disk is damaged.
type broken struct{ list }

var errBroken = errors.New("broken")

func (*broken) Apply([]Command) error { return errBroken }

// TestRestore gives a replica that has stopped over its state another one: it applies its log to that, and goes on.
func TestRestore(t *testing.T) {
	ctx := t.Context()
	h := openHost(t, vfs.NewMem(), nil)
	require.NoError(t, h.Start(7, 1, []uint64{1}, &broken{}))
	require.Error(t, h.Propose(ctx, 7, []byte("a")))
	require.Eventually(t, func() bool { return h.Err() != nil }, time.Minute, time.Millisecond)
	isBroken := func(err error) bool { return errors.Is(err, errBroken) }
	other := func(error) bool { return false }
	state := &list{}
	install := func(*Log) (State, error) { return state, nil }

	_, err := h.KeepLog(ctx, 7, true, other)
	require.ErrorIs(t, err, errBroken)
	index, err := h.KeepLog(ctx, 7, true, isBroken)
	require.NoError(t, err)
	at := Snapshot{Index: index}
	require.ErrorIs(t, h.Restore(ctx, 7, at, other, install), errBroken)
	require.ErrorIs(t, h.Restore(ctx, 7, Snapshot{Index: index, Term: 9}, isBroken, install), ErrDiffers)
	require.NoError(t, h.Restore(ctx, 7, at, isBroken, install))
	require.NoError(t, h.Err())
	require.Eventually(t, func() bool { return h.Propose(ctx, 7, []byte("b")) == nil }, time.Minute, time.Millisecond)
	require.Equal(t, []string{"a", "b"}, state.has())
}
