package replica

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// logOf makes a log whose entries, of term 1, are commands (string) and changes of the members (Change). The first is committed.
func logOf(t *testing.T, s *LogStore, replica uint64, entries ...any) *Log {
	l, err := s.Log(1, replica)
	require.NoError(t, err)
	var all []*pb.Entry
	for i, e := range entries {
		next := &pb.Entry{Index: new(uint64(i + 1)), Term: new(uint64(1))}
		switch e := e.(type) {
		case string:
			next.Data = append(appendHeader(nil, commandKind, proposalID{7, uint64(i)}), e...)
		case Change:
			cc := e.raft(make([]byte, changeID), 1)
			if next.Data, err = proto.Marshal(cc); err != nil {
				t.Fatal(err)
			}
			next.Type = pb.EntryConfChangeV2.Enum()
		}
		all = append(all, next)
	}
	require.NoError(t, l.Append(hardState(1, 0, 1), all, true))
	return l
}

// TestRecover recovers replicas whose logs end in different changes of the members. All commands stay, and a replica that applies the log
// from its beginning ends with the same members.
func TestRecover(t *testing.T) {
	learner := Change{Learner: 4, Store: StoreID{9}}
	for name, c := range map[string]struct {
		replica uint64
		entries []any
		former  []uint64
		fails   string
	}{
		"voters":      {replica: 1, entries: []any{"a", "b", "c"}, former: []uint64{2, 3}},
		"learner":     {replica: 1, entries: []any{"a", learner, "b"}, former: []uint64{2, 3, 4}},
		"joint":       {replica: 1, entries: []any{"a", learner, "b", Change{Promote: []uint64{4}, Remove: []uint64{2}}, "c"}, former: []uint64{3, 4}},
		"replaced":    {replica: 2, entries: []any{"a", learner, Change{Promote: []uint64{4}, Remove: []uint64{2}}, "b"}, former: []uint64{1, 3, 4}},
		"addresses":   {replica: 1, entries: []any{"a", Change{Addresses: map[uint32]string{3: "d"}}, "b"}, former: []uint64{2, 3}},
		"promoted":    {replica: 4, entries: []any{"a", learner, "b"}, former: []uint64{1, 2, 3}},
		"left":        {replica: 1, entries: []any{"a", Change{Remove: []uint64{2}}, "b"}, former: []uint64{3}},
		"alone":       {replica: 1, entries: []any{"a", Change{Remove: []uint64{2}}, Change{Remove: []uint64{3}}, "b"}},
		"no member":   {replica: 6, entries: []any{"a"}, fails: "it is none of the members"},
		"removed":     {replica: 2, entries: []any{"a", Change{Remove: []uint64{2}}}, fails: "the voters [1 3]"},
		"no log":      {replica: 1, fails: "its log is empty"},
		"nonsense":    {replica: 1, entries: []any{Change{Promote: []uint64{4}, Remove: []uint64{2}}, Change{Remove: []uint64{3}}}, fails: "in joint config"},
		"nobody left": {replica: 1, entries: []any{Change{Remove: []uint64{1}}, Change{Remove: []uint64{2}}, Change{Remove: []uint64{3}}}, fails: "removed all voters"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := openStore(t, fs)
			first := []uint64{1, 2, 3}
			r, err := PlanRecovery(logOf(t, s, c.replica, c.entries...), first)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				require.NoError(t, s.Close())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.former, r.Former)
			last := uint64(len(c.entries))
			require.Equal(t, []uint64{last, 1, 1, 1 + recoveredTerms}, []uint64{r.Last, r.LastTerm, r.Committed, r.Term})
			require.NoError(t, r.Commit())
			require.NoError(t, s.Close())

			s = openStore(t, fs)
			defer func() { require.NoError(t, s.Close()) }()
			l, err := s.Log(1, c.replica)
			require.NoError(t, err)
			again, err := PlanRecovery(l, first)
			require.NoError(t, err)
			require.Empty(t, again.Former)
			require.Equal(t, again.Last, again.Committed)
			open := func(id uint64, l *Log) (*Group, *list) {
				st := &list{}
				g, err := OpenGroup(GroupOptions{
					Group: 1, Replica: id, Members: first, Log: l, State: st, Send: func([]*pb.Message) {}, Clock: func() time.Duration { return 0 },
					Logger: slog.New(slog.DiscardHandler),
				})
				require.NoError(t, err)
				require.NoError(t, g.Process())
				return g, st
			}
			g, st := open(c.replica, l)
			for i := 0; !g.leads; i++ {
				require.Less(t, i, 3*ElectionTicks)
				require.NoError(t, g.Tick())
				require.NoError(t, g.Process())
			}
			done := false
			g.Propose([]byte("next"), func(err error) { require.NoError(t, err); done = true })
			require.NoError(t, g.Process())
			require.True(t, done)
			var want []string
			for _, e := range c.entries {
				if command, ok := e.(string); ok {
					want = append(want, command)
				}
			}
			require.Equal(t, append(want, "next"), st.has())
			require.Equal(t, []uint64{c.replica}, g.members.Voters())
			require.Empty(t, g.members.Learners())
			require.False(t, g.members.Joint())
			require.Equal(t, c.former, g.members.Lost())
			require.Equal(t, name == "addresses", g.members.Addresses()[3] == "d")

			entries, err := l.Entries(1, l.last+1, 1<<20)
			require.NoError(t, err)
			l, err = s.Log(2, 8)
			require.NoError(t, err)
			require.NoError(t, l.Append(hardState(g.term, 0, l.last+uint64(len(entries))), entries, true))
			follower, st := open(8, l)
			require.Equal(t, append(want, "next"), st.has())
			require.True(t, proto.Equal(g.members.conf, follower.members.conf))
			require.Equal(t, g.members.stores, follower.members.stores)
		})
	}
}
