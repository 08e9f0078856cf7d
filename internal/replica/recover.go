package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Recovery makes a replica the only member of its group, once a majority of the voters is lost for good. It appends entries to the
// log that remove the other members one by one, and declares the whole log committed: some of its entries may have been acknowledged,
// and none of them is dropped. New replicas later apply the same entries, so they end with the same members.
//
// The group keeps the ids of the removed members, with no log store: a process that has lost its disk waits to be replaced, and its new
// replica gets another id.
//
// Nothing can tell whether the other members are lost: if a majority of them is left, the group splits in two.
type Recovery struct {
	Replica uint64
	Former  []uint64 // the members that are removed, in the order of their ids; none if the replica is the only member already
	// The log before the recovery: the last entry, its term, and the last entry that the replica knew to be committed. Of several
	// replicas that are left, the one with the greatest LastTerm, and among those the greatest Last, has all that was acknowledged and
	// is left.
	Last, LastTerm, Committed uint64
	// Term is the term of the entries that the recovery appends.
	Term uint64

	log     *Log
	entries []*pb.Entry
}

// recoveredTerms is how far a recovery raises the term: beyond that of any leader that the replica does not know. The epochs of
// leaders come from their terms, and the members of other groups may know a later leader.
const recoveredTerms = 1 << 20

// PlanRecovery reads the log of a replica that does not run. It changes nothing; members are the first replicas of the group.
func PlanRecovery(l *Log, members []uint64) (*Recovery, error) {
	fail := func(err error) (*Recovery, error) {
		return nil, fmt.Errorf("replica: recover replica %d of group %d: %w", l.replica, l.group, err)
	}
	if l.hard == nil || l.last == 0 {
		return fail(errors.New("its log is empty"))
	}
	g := &Group{o: GroupOptions{Group: l.group, Replica: l.replica}, log: l, members: l.members}
	if g.members == nil {
		g.members = firstMembers(members)
	}
	defer func(changes []membersAt) { l.changes = changes }(l.changes)
	if err := g.do(g.replayMembers); err != nil {
		return fail(err)
	}
	if !g.members.Has(l.replica) {
		return fail(fmt.Errorf("it is none of the members, which are the voters %d and the learners %d", g.members.Voters(), g.members.Learners()))
	}
	r := &Recovery{Replica: l.replica, Last: l.last, LastTerm: l.lastTerm(), Committed: l.hard.GetCommit(), Term: l.hard.GetTerm() + recoveredTerms, log: l}
	if err := r.remove(g.members); err != nil {
		return fail(err)
	}
	return r, nil
}

// replayMembers applies the entries of the log that change the members, whether they are committed or not.
func (g *Group) replayMembers() (err error) {
	l := g.log
	g.node, err = raft.NewRawNode(&raft.Config{
		ID: l.replica, ElectionTick: ElectionTicks, HeartbeatTick: heartbeatTicks, Storage: groupStorage{l, g}, Applied: l.first - 1,
		MaxInflightMsgs: inflightCount, Logger: raftLogger{slog.New(slog.DiscardHandler)},
	})
	for at := l.first; at <= l.last && err == nil; {
		var entries []*pb.Entry
		entries, err = l.Entries(at, l.last+1, tailBytes)
		for _, e := range entries {
			if e.GetType() == pb.EntryConfChangeV2 && err == nil {
				err = g.changed(e)
			}
		}
		at += uint64(len(entries))
	}
	return err
}

// remove makes the entries that leave the replica as the only one of the members, each a change that needs no joint one.
func (r *Recovery) remove(now *Members) error {
	if now.Joint() {
		r.append(nil) // as the leader ends it
	}
	change := func(kind pb.ConfChangeType, id uint64, context []byte) error {
		data, err := proto.Marshal(&pb.ConfChangeV2{Changes: []*pb.ConfChangeSingle{{Type: kind.Enum(), NodeId: &id}}, Context: context})
		r.append(data)
		return err
	}
	if !slices.Contains(now.conf.GetVoters(), r.Replica) {
		if err := change(pb.ConfChangeAddNode, r.Replica, nil); err != nil {
			return err
		}
	}
	for _, id := range append(now.Voters(), now.Learners()...) {
		if id == r.Replica {
			continue
		}
		r.Former = append(r.Former, id)
		var none StoreID
		context := binary.AppendUvarint(make([]byte, changeID), id)
		if err := change(pb.ConfChangeRemoveNode, id, append(context, none[:]...)); err != nil {
			return err
		}
	}
	slices.Sort(r.Former)
	return nil
}

func (r *Recovery) append(data []byte) {
	r.entries = append(r.entries, &pb.Entry{
		Type: pb.EntryConfChangeV2.Enum(), Term: &r.Term, Index: new(r.Last + 1 + uint64(len(r.entries))), Data: data,
	})
}

// Commit carries the recovery out, durably and at once: a crash leaves the log as it was or recovered.
func (r *Recovery) Commit() error {
	last := r.Last + uint64(len(r.entries))
	if last == r.Committed {
		return nil // the replica is the only member, and knows it
	}
	return r.log.Append(&pb.HardState{Term: new(r.Term), Vote: new(r.Replica), Commit: new(last)}, r.entries, true)
}
