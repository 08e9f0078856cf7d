package replica

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// leader runs a calm simulation until a group has a leader with a lease.
func (s *simulation) leader(group uint32) *simNode {
	s.calm = true
	for range 1000 {
		s.step()
		for _, n := range s.nodes {
			if n.store != nil && n.groups[group].Leased() != 0 {
				return n
			}
		}
	}
	require.Fail(s.t, "no leader is elected")
	return nil
}

// TestTransferLease transfers the leadership while every message is lost. The leader holds no lease from then on, even after the
// transfer times out: its message to the other member may still be in flight.
func TestTransferLease(t *testing.T) {
	s := newSimulation(t, 1, 3)
	defer s.end()
	n := s.leader(0)
	g := n.groups[0]
	term := g.Status().Term
	to := uint64(n.id+1)%3 + 1
	transfer := func(to uint64) *error {
		err := errPending
		g.Transfer(to, func(e error) { err = e })
		return &err
	}
	confirm := func(term uint64) *error {
		err := errPending
		g.Confirm(term, func(e error) { err = e })
		return &err
	}
	require.NoError(t, *transfer(g.o.Replica))
	require.Equal(t, term, g.Leased(), "a transfer to the leader itself changes nothing")
	require.ErrorContains(t, *transfer(9), "not one of the voters")
	lost := transfer(to)
	require.Zero(t, g.Leased())
	require.NoError(t, g.Process())
	s.queue = nil
	require.ErrorIs(t, *lost, errPending)
	for range 300 {
		s.step()
		require.Zero(t, g.Leased())
	}
	require.ErrorIs(t, *lost, ErrNoTransfer)
	require.True(t, g.Status().Leads)
	require.Equal(t, term, g.Status().Term)
	accepted := false
	g.Propose(make([]byte, 8), func(err error) { accepted = err == nil })
	confirmed := confirm(term)
	require.ErrorIs(t, *confirm(term - 1), ErrNotLeader)
	for range 20 {
		s.step()
	}
	require.True(t, accepted, "the leader takes proposals again")
	require.NoError(t, *confirmed, "a quorum confirms the leader that has no lease")

	// A completed transfer makes the other member the leader, with a lease.
	done := transfer(to)
	for range 100 {
		s.step()
	}
	require.NoError(t, *done)
	require.NotZero(t, s.nodes[to-1].groups[0].Leased())
	require.False(t, g.Status().Leads)
	require.ErrorIs(t, *transfer(to), ErrNotLeader)
	require.ErrorIs(t, *confirm(term), ErrNotLeader)

	// Without a name, the member that has most of the log takes the lead.
	g = s.nodes[to-1].groups[0]
	done = transfer(0)
	for range 100 {
		s.step()
	}
	require.NoError(t, *done)
	require.False(t, g.Status().Leads)
}

var errPending = errors.New("pending")

// TestTransferEnds has a leader step down before the request for its vote arrives, which other messages may overtake. The transfer goes
// on until the next leader is known: a process that ended before would owe its vote, and that of the third member is not there.
func TestTransferEnds(t *testing.T) {
	s := newSimulation(t, 1, 3)
	defer s.end()
	n := s.leader(0)
	g, next, third := n.groups[0], s.nodes[(n.id+1)%3], (n.id+2)%3
	to, term := uint64(next.id)+1, g.Status().Term
	s.cut[[2]int{third, next.id}], s.cut[[2]int{next.id, third}] = true, true
	ended, leader := errPending, uint64(0)
	g.Transfer(to, func(err error) { ended, leader = err, g.node.BasicStatus().Lead })
	require.NoError(t, g.Process())
	require.NoError(t, g.Step(&pb.Message{Type: pb.MsgAppResp.Enum(), From: &to, To: new(g.o.Replica), Term: new(term + 1)}))
	require.NoError(t, g.Process())
	require.False(t, g.Status().Leads)
	require.ErrorIs(t, ended, errPending)
	for range 100 {
		s.step()
	}
	require.NoError(t, ended)
	require.Equal(t, to, leader)
	require.Equal(t, term+1, next.groups[0].Status().Term, "one election is enough")
}

// TestRestartedVotes requests a replica's vote. After a restart it grants none for one election timeout, because a leader it no
// longer remembers may still hold a lease, unless that leader has given up its lease to transfer the lead.
func TestRestartedVotes(t *testing.T) {
	s := newSimulation(t, 1, 3)
	defer s.end()
	n := s.leader(0)
	voter := s.nodes[(n.id+1)%3]
	candidate := uint64(n.id+2)%3 + 1
	votes := func(kind pb.MessageType, context string) bool {
		s.queue = nil
		term := voter.groups[0].Status().Term + 1
		m := &pb.Message{Type: &kind, To: new(voter.groups[0].o.Replica), From: &candidate, Term: &term, Index: new(uint64(1 << 20)), LogTerm: &term, Context: []byte(context)}
		require.NoError(t, voter.groups[0].Step(m))
		require.NoError(t, voter.groups[0].Process())
		for _, m := range s.queue {
			if m.from == voter.id {
				return true
			}
		}
		return false
	}
	voter.stop(false)
	voter.start()
	require.True(t, votes(pb.MsgVote, campaignTransfer))
	for range ElectionTicks {
		require.False(t, votes(pb.MsgVote, ""))
		require.False(t, votes(pb.MsgPreVote, ""))
		require.NoError(t, voter.groups[0].Tick())
	}
	require.NoError(t, voter.groups[0].Tick())
	require.True(t, votes(pb.MsgPreVote, ""))
}

// TestCurrent starts a replica again, whose entries are lost at first. It is current only once it has them, although the leader's heartbeats
// name no entry that it lacks.
func TestCurrent(t *testing.T) {
	s := newSimulation(t, 1, 3)
	defer s.end()
	n := s.leader(0)
	behind := s.nodes[(n.id+1)%3]
	until := func(f func() bool) {
		for range 1000 {
			if f() {
				return
			}
			s.step()
		}
		require.Fail(t, "it does not happen")
	}
	until(func() bool { return behind.groups[0].Status().Current })
	behind.stop(false)
	behind.start()
	require.False(t, behind.groups[0].Status().Current)
	lose := func() {
		s.queue = slices.DeleteFunc(s.queue, func(m message) bool {
			pm := &pb.Message{}
			require.NoError(t, proto.Unmarshal(m.bytes, pm))
			return m.to == behind.id && pm.GetType() == pb.MsgApp
		})
	}
	accepted := false
	n.groups[0].Propose(make([]byte, 8), func(err error) { accepted = err == nil })
	until(func() bool { lose(); return accepted && behind.groups[0].Status().Leader != 0 })
	for range 300 {
		lose()
		s.step()
		require.False(t, behind.groups[0].Status().Current)
	}
	require.Less(t, behind.groups[0].Status().Commit, n.groups[0].Status().Commit)
	until(func() bool { return behind.groups[0].Status().Current })
	require.Equal(t, n.groups[0].Status().Applied, behind.groups[0].Status().Applied)
}

// TestGroupFault makes the log fail. The replica stops, fails all pending operations, and reports the cause from then on.
func TestGroupFault(t *testing.T) {
	s := newSimulation(t, 1, 1)
	defer s.end()
	n := s.leader(0)
	g := n.groups[0]
	var proposed, late, read, lateRead error
	g.Propose(make([]byte, 8), func(err error) { proposed = err })
	n.groups[1].Read(func(err error) { read = err })
	n.store.in.Fail(vfs.ErrUnsupported)
	require.ErrorIs(t, g.Process(), ErrStopped)
	require.ErrorIs(t, g.Tick(), ErrStopped)
	require.ErrorIs(t, proposed, ErrAmbiguous)
	g.Propose(nil, func(err error) { late = err })
	require.ErrorIs(t, late, ErrNotLeader)
	g.Read(func(err error) { lateRead = err })
	require.ErrorIs(t, lateRead, ErrStopped)
	require.Zero(t, g.Leased())
	n.groups[1].Close()
	require.ErrorIs(t, read, ErrStopped)
}

// TestGroupOpens rejects states that do not match the log.
func TestGroupOpens(t *testing.T) {
	s := newSimulation(t, 1, 1)
	defer s.end()
	n := s.leader(0)
	for range 100 {
		s.propose(n, 0)
		s.step()
	}
	o := n.groups[0].o
	st := *n.states[0]
	o.State = &st
	st.applied = n.groups[0].log.last + 1
	_, err := OpenGroup(o)
	require.ErrorIs(t, err, ErrDamaged)
}

// FuzzEntry decodes arbitrary bytes as an entry's data. It also splits arbitrary commands into entries and reassembles them,
// including after the pieces of an unfinished command.
func FuzzEntry(f *testing.F) {
	f.Add([]byte("command"), 1, uint64(3))
	f.Add([]byte{}, 100, uint64(0))
	f.Add(appendHeader(nil, cutKind, proposalID{1, 2}), 5, uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, most int, number uint64) {
		if kind, id, payload, err := readHeader(b); err == nil {
			require.Equal(t, b, append(appendHeader(nil, kind, id), payload...))
		} else {
			require.ErrorIs(t, err, errEntry)
		}
		most = headerSize + max(1, most%max(1, len(b)+2))
		var a assembly
		index := uint64(10)
		for _, end := range []bool{false, true} {
			id := proposalID{7, number}
			if !end {
				id.number++
			}
			pieces := fragments(id, b, most)
			first := index
			for i, data := range pieces {
				require.LessOrEqual(t, len(data), most)
				last := i == len(pieces)-1
				if last && !end {
					continue
				}
				kind, got, payload, err := readHeader(data)
				require.NoError(t, err)
				require.Equal(t, id, got)
				whole, ok := a.add(kind, id, index, 1, payload)
				require.Equal(t, last, ok)
				if ok {
					require.True(t, bytes.Equal(b, whole))
					require.Zero(t, a.first)
				} else {
					require.Equal(t, first, a.first)
				}
				index++
			}
		}
	})
}
