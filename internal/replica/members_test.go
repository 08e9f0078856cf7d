package replica

import (
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// FuzzMembers decodes arbitrary bytes as members, and encodes what it has read.
func FuzzMembers(f *testing.F) {
	m := firstMembers([]uint64{1, 2, 3})
	m.conf.Learners, m.stores = []uint64{4}, map[uint64]StoreID{4: {7}, 2: {8, 9}}
	f.Add(m.append(nil))
	m.addresses = map[uint32]string{1: "", 3: "d:9190"}
	f.Add(m.append(nil))
	f.Add(firstMembers([]uint64{1}).append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readMembers(b)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			return
		}
		again, err := readMembers(m.append(nil))
		require.NoError(t, err)
		if m == nil {
			require.Nil(t, again)
			return
		}
		require.True(t, proto.Equal(m.conf, again.conf))
		require.Equal(t, m.stores, again.stores)
		require.Equal(t, len(m.addresses), len(again.addresses))
		for process, address := range m.addresses {
			require.Equal(t, address, again.addresses[process])
		}
	})
}

// TestLogMembers keeps the members as of the start of a log, through cuts and a seed.
func TestLogMembers(t *testing.T) {
	fs := vfs.NewMem()
	open := func() (*LogStore, *Log) {
		s, err := OpenLogStore(LogStoreOptions{Dir: "log", FS: fs})
		require.NoError(t, err)
		l, err := s.Log(1, 1)
		require.NoError(t, err)
		return s, l
	}
	s, l := open()
	_, ok, err := s.Replica(1)
	require.NoError(t, err)
	require.False(t, ok)
	var entries []*pb.Entry
	for i := range uint64(9) {
		entries = append(entries, &pb.Entry{Index: new(i + 1), Term: new(uint64(1))})
	}
	require.NoError(t, l.Append(&pb.HardState{Term: new(uint64(1)), Vote: new(uint64(0)), Commit: new(uint64(9))}, entries, true))
	next := &Members{conf: firstMembers([]uint64{1, 2, 6}).conf, notes: notes{stores: map[uint64]StoreID{6: {1}}}}
	l.changes = append(l.changes, membersAt{5, next})
	require.NoError(t, l.Compact(4))
	require.Nil(t, l.members)
	require.NoError(t, l.Compact(6))
	require.NoError(t, s.Close())
	s, l = open()
	require.Equal(t, []uint64{1, 2, 6}, l.members.Voters())
	store, ok := l.members.Store(6)
	require.True(t, ok)
	require.Equal(t, StoreID{1}, store)
	next = firstMembers([]uint64{1, 2, 9})
	next.addresses, next.version = map[uint32]string{3: "d:9190"}, 7
	require.NoError(t, l.Reset(&pb.HardState{Term: new(uint64(1)), Vote: new(uint64(0)), Commit: new(uint64(20))}, 20, 1, next))
	require.NoError(t, s.Close())
	s, l = open()
	require.Equal(t, []uint64{1, 2, 9}, l.members.Voters())
	require.Equal(t, next.addresses, l.members.Addresses())
	require.EqualValues(t, 7, l.members.Version())
	_, err = s.Log(1, 11)
	require.NoError(t, err)
	id, ok, err := s.Replica(1)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, uint64(1), id, "an empty log is none")

	// The first store of another replica stays the one that it has.
	known, err := s.Meet(1, 2, StoreID{3})
	require.NoError(t, err)
	require.Equal(t, StoreID{3}, known)
	known, err = s.Meet(1, 2, StoreID{4})
	require.NoError(t, err)
	require.Equal(t, StoreID{3}, known)
	_, ok, err = s.Met(2, 2)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.Close())
}

// TestAddresses sets addresses of processes, and the version of all, by entries of a log, which a replica has again when it opens: each address is set
// once, and none after it was removed.
func TestAddresses(t *testing.T) {
	fs := vfs.NewMem()
	ctx := t.Context()
	want := map[uint32]string{3: "", 4: "e:9190"}
	t.Run("set", func(t *testing.T) {
		h := openHost(t, fs, nil)
		require.NoError(t, h.Start(1, 7, []uint64{7}, &list{}))
		for _, set := range []map[uint32]string{{3: "d:9190"}, {3: "x:9190", 4: "e:9190"}, {3: ""}, {3: "d:9190"}} {
			require.NoError(t, h.Change(ctx, 1, Change{Addresses: set}))
		}
		for _, version := range []uint32{2, 3, 2} {
			require.NoError(t, h.Change(ctx, 1, Change{Version: version}))
		}
		require.NoError(t, h.Read(ctx, 1))
		s, _ := h.GroupStatus(1)
		require.Equal(t, want, s.Members.Addresses())
		require.EqualValues(t, 3, s.Members.Version(), "it only grows")
		require.Equal(t, []uint64{7}, s.Members.Voters())
	})
	h := openHost(t, fs, nil)
	require.NoError(t, h.Start(1, 7, []uint64{7}, &list{}))
	s, _ := h.GroupStatus(1)
	require.Equal(t, want, s.Members.Addresses())
	require.EqualValues(t, 3, s.Members.Version())
}

func TestJoining(t *testing.T) {
	require.Empty(t, firstMembers([]uint64{1, 2, 3}).Joining())
	require.Equal(t, []uint64{2, 3}, (&Members{conf: &pb.ConfState{Voters: []uint64{3, 1, 2}, VotersOutgoing: []uint64{4, 1}}}).Joining())
}

// TestChangeOf changes the members twice for those that there were before: the second change fails, as it was made for others.
func TestChangeOf(t *testing.T) {
	ctx := t.Context()
	h := openHost(t, vfs.NewMem(), nil)
	require.NoError(t, h.Start(1, 7, []uint64{7}, &list{}))
	was, _ := h.GroupStatus(1)
	require.NoError(t, h.Change(ctx, 1, Change{Of: was.Members, Learner: 8, Store: StoreID{8}}))
	require.ErrorIs(t, h.Change(ctx, 1, Change{Of: was.Members, Learner: 9, Store: StoreID{8}}), ErrChanging)
	require.NoError(t, h.Read(ctx, 1))
	now, _ := h.GroupStatus(1)
	require.Equal(t, []uint64{8}, now.Members.Learners())
	lag, err := h.Lag(ctx, 1, 8)
	require.NoError(t, err)
	require.Equal(t, uint64(math.MaxUint64), lag, "it has never answered")
	require.NoError(t, h.Change(ctx, 1, Change{Of: now.Members, Remove: []uint64{8}}))
	require.NoError(t, h.Change(ctx, 1, Change{Learner: 9, Store: StoreID{8}}))
}
