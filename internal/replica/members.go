package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Members are the replicas of a group after an entry of its log. They do not change; an entry that changes the members gives new ones.
//
// The log store has the members as of the start of each log. Those after a later entry follow from the entries between, which a
// replica applies again when it opens.
type Members struct {
	conf *pb.ConfState
	notes
}

// notes are what members carry besides raft's form.
type notes struct {
	// stores are the log stores of the members that were added; those of the first members are not recorded here, see LogStore.Meet.
	// Members that a recovery has removed stay here with no store, the zero one.
	stores map[uint64]StoreID
	// addresses are those of processes, by their numbers; see Addresses.
	addresses map[uint32]string
	version   uint32 // see Version
}

func firstMembers(voters []uint64) *Members {
	return &Members{conf: &pb.ConfState{Voters: slices.Clone(voters), AutoLeave: new(false)}}
}

// Voters returns the ids of the members that vote, in the order of their ids.
func (m *Members) Voters() []uint64 { return slices.Sorted(slices.Values(m.conf.GetVoters())) }

// Learners returns the ids of the members that follow without a vote, in the order of their ids.
func (m *Members) Learners() []uint64 { return slices.Sorted(slices.Values(m.conf.GetLearners())) }

// Joint reports whether a change of the voters is in progress, during which a majority of the former ones has to agree as well.
func (m *Members) Joint() bool { return len(m.conf.GetVotersOutgoing()) > 0 }

// Joining returns the ids of the voters that the change in progress adds.
func (m *Members) Joining() []uint64 {
	if !m.Joint() {
		return nil
	}
	return slices.DeleteFunc(m.Voters(), func(id uint64) bool { return slices.Contains(m.conf.GetVotersOutgoing(), id) })
}

// Has reports whether a replica is a member.
func (m *Members) Has(id uint64) bool {
	return slices.Contains(m.conf.GetVoters(), id) || slices.Contains(m.conf.GetLearners(), id) || slices.Contains(m.conf.GetVotersOutgoing(), id)
}

// Lost returns the ids of the members that a recovery has removed, in their order.
func (m *Members) Lost() (ids []uint64) {
	for id, s := range m.stores {
		if s == (StoreID{}) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Store returns the log store of a member that was added, the zero one for a member that a recovery has removed.
func (m *Members) Store(id uint64) (StoreID, bool) {
	s, ok := m.stores[id]
	return s, ok
}

// Addresses returns the addresses of processes that changes have set, by the processes' numbers, and "" for those that have been removed
// since. The members of one group carry them for all. The caller does not change them.
func (m *Members) Addresses() map[uint32]string { return m.addresses }

// Version returns the highest version that changes have set, 0 without any. The members of one group carry that of all.
func (m *Members) Version() uint32 { return m.version }

// append appends the encoded form: the size of raft's form, and that, and the notes.
func (m *Members) append(dst []byte) []byte {
	if m == nil {
		return dst
	}
	conf, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.conf)
	if err != nil {
		panic(err) // it has only numbers
	}
	dst = append(binary.AppendUvarint(dst, uint64(len(conf))), conf...)
	return m.notes.append(dst)
}

// readMembers decodes members, nil if there are no bytes.
func readMembers(b []byte) (*Members, error) {
	if len(b) == 0 {
		return nil, nil //nolint:nilnil // the first members
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, errMembers
	}
	m := &Members{conf: &pb.ConfState{}}
	if err := proto.Unmarshal(b[n:n+int(size)], m.conf); err != nil {
		return nil, errors.Join(errMembers, err)
	}
	var err error
	m.notes, err = readNotes(b[n+int(size):])
	return m, err
}

var errMembers = fmt.Errorf("%w: malformed members", ErrDamaged)

// versionNote stands where the id of a replica would, before a version.
const versionNote = math.MaxUint64

// append appends for each store the replica and the id, the version behind versionNote if there is one, and if there are addresses a zero and for
// each one the process and the bytes behind their number. Programs from before addresses, or versions, take either mark for a replica, and refuse
// what follows.
func (n *notes) append(dst []byte) []byte {
	for _, id := range slices.Sorted(maps.Keys(n.stores)) {
		s := n.stores[id]
		dst = append(binary.AppendUvarint(dst, id), s[:]...)
	}
	if n.version != 0 {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, versionNote), uint64(n.version))
	}
	if len(n.addresses) > 0 {
		dst = append(dst, 0)
	}
	for _, process := range slices.Sorted(maps.Keys(n.addresses)) {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(process)), uint64(len(n.addresses[process])))
		dst = append(dst, n.addresses[process]...)
	}
	return dst
}

// readNotes decodes notes.
func readNotes(b []byte) (out notes, err error) {
	out.stores = map[uint64]StoreID{}
	for len(b) > 0 {
		id, n := binary.Uvarint(b)
		switch {
		case n <= 0:
			return notes{}, errMembers
		case id == 0:
			out.addresses, err = readAddresses(b[n:])
			return out, err
		case id == versionNote:
			version, m := binary.Uvarint(b[n:])
			if m <= 0 || version == 0 || version > math.MaxUint32 {
				return notes{}, errMembers
			}
			out.version, b = uint32(version), b[n+m:]
			continue
		}
		var s StoreID
		if len(b)-n < len(s) {
			return notes{}, errMembers
		}
		out.stores[id] = StoreID(b[n : n+len(s)])
		b = b[n+len(s):]
	}
	return out, nil
}

func readAddresses(b []byte) (map[uint32]string, error) {
	addresses := map[uint32]string{}
	for len(b) > 0 {
		process, n := binary.Uvarint(b)
		if n <= 0 || process > math.MaxUint32 {
			return nil, errMembers
		}
		size, m := binary.Uvarint(b[n:])
		if m <= 0 || size > uint64(len(b)-n-m) {
			return nil, errMembers
		}
		b = b[n+m:]
		addresses[uint32(process)] = string(b[:size])
		b = b[size:]
	}
	return addresses, nil
}

// Change is a change of the members of a group: one more that learns, or some that are to vote from now on, in the place of others. Or it is
// one of the addresses or the version that only they carry, as etcd's members carry theirs. An address is set once, and "" is permanent; the version
// only grows.
type Change struct {
	// Of are the members that the change was made for, as CockroachDB's replica changes name the descriptor that they expect: if the group has
	// others by now, it fails with ErrChanging. Nil for any.
	Of      *Members
	Learner uint64   // a new member, 0 for none
	Store   StoreID  // its log store
	Promote []uint64 // learners that become voters
	Remove  []uint64 // those that leave at the same time
	// Addresses are those of processes to set, "" to remove; with nothing else.
	Addresses map[uint32]string
	Version   uint32 // to set; with nothing else
}

// raft returns the change in raft's form; id names it, and self is the replica that proposes it.
func (c *Change) raft(id []byte, self uint64) *pb.ConfChangeV2 {
	cc := &pb.ConfChangeV2{Context: id}
	add := func(kind pb.ConfChangeType, id uint64) {
		if id != 0 {
			cc.Changes = append(cc.Changes, &pb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(id)})
		}
	}
	add(pb.ConfChangeAddLearnerNode, c.Learner)
	for _, id := range c.Promote {
		add(pb.ConfChangeAddNode, id)
	}
	for _, id := range c.Remove {
		add(pb.ConfChangeRemoveNode, id)
	}
	switch {
	case c.Learner != 0:
		cc.Context = (&notes{stores: map[uint64]StoreID{c.Learner: c.Store}}).append(cc.Context)
	case len(c.Addresses) > 0, c.Version != 0:
		add(pb.ConfChangeUpdateNode, self) // which changes nothing
		cc.Context = (&notes{addresses: c.Addresses, version: c.Version}).append(cc.Context)
	}
	return cc
}

// ErrChanging says that members cannot change now, because another change is in progress, may be, or came first.
var ErrChanging = errors.New("replica: another change of the members is not complete")

// Change changes the members; done gets nil once this replica has the new ones, or an error.
func (g *Group) Change(c Change, done func(error)) {
	switch {
	case g.fault != nil:
		done(g.fault)
		return
	case !g.leads:
		done(ErrNotLeader)
		return
	case g.changing != nil || g.members.Joint() || c.Of != nil && c.Of != g.members:
		done(ErrChanging)
		return
	}
	g.number++
	data, err := proto.Marshal(c.raft(g.readContext(g.number), g.o.Replica))
	if err != nil {
		done(err)
		return
	}
	m := &pb.Message{Type: pb.MsgProp.Enum(), From: new(g.o.Replica), Entries: []*pb.Entry{{Type: pb.EntryConfChangeV2.Enum(), Data: data}}}
	dropped := false
	err = g.do(func() error {
		err := g.node.Step(m)
		if dropped = errors.Is(err, raft.ErrProposalDropped); dropped {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		done(err)
	case dropped:
		done(ErrNotLeader)
	case m.GetEntries()[0].GetType() != pb.EntryConfChangeV2: // raft replaces a change that must not be
		done(ErrChanging)
	default:
		g.changing = &proposal{g.number, done}
	}
}

// changeID is the size in bytes of the name of a change, with which the context of its entry begins. The log stores of new members follow.
const changeID = 16

// changed applies an entry that changes the members.
func (g *Group) changed(e *pb.Entry) error {
	cc := &pb.ConfChangeV2{}
	if err := proto.Unmarshal(e.GetData(), cc); err != nil {
		return fmt.Errorf("entry %d: %w", e.GetIndex(), err)
	}
	next := &Members{conf: g.node.ApplyConfChange(cc), notes: g.members.notes}
	next.stores = maps.Clone(next.stores)
	var id []byte
	if len(cc.GetContext()) >= changeID { // raft itself ends a joint change
		id = cc.GetContext()[:changeID]
		set, err := readNotes(cc.GetContext()[changeID:])
		if err != nil {
			return fmt.Errorf("entry %d: %w", e.GetIndex(), err)
		}
		if next.stores == nil {
			next.stores = set.stores
		}
		maps.Copy(next.stores, set.stores)
		next.addresses = withAddresses(next.addresses, set.addresses)
		next.version = max(next.version, set.version)
	}
	maps.DeleteFunc(next.stores, func(id uint64, s StoreID) bool { return !next.Has(id) && s != (StoreID{}) })
	g.members = next
	g.log.changes = append(g.log.changes, membersAt{e.GetIndex(), next})
	if p := g.changing; p != nil && bytes.Equal(id, g.readContext(p.number)) {
		g.changing = nil
		p.done(nil)
	}
	return nil
}

// withAddresses returns addresses after some are set.
func withAddresses(old, set map[uint32]string) map[uint32]string {
	if len(set) == 0 {
		return old
	}
	next := maps.Clone(old)
	if next == nil {
		next = map[uint32]string{}
	}
	for process, address := range set {
		if _, ok := next[process]; !ok || address == "" {
			next[process] = address
		}
	}
	return next
}

// membersAt are the members after an entry.
type membersAt struct {
	index uint64
	*Members
}

// membersOf returns the members after an entry that was applied, nil for the first ones.
func (l *Log) membersOf(index uint64) *Members {
	m := l.members
	for _, c := range l.changes {
		if c.index <= index {
			m = c.Members
		}
	}
	return m
}

// readStart decodes the start of a log: index and term of the entry before the first, and the members after it.
func readStart(payload []byte, index, term *uint64) (*Members, error) {
	for _, p := range []*uint64{index, term} {
		n, size := binary.Uvarint(payload)
		if size <= 0 {
			return nil, fmt.Errorf("%w: a record has too few numbers", ErrDamaged)
		}
		*p, payload = n, payload[size:]
	}
	return readMembers(payload)
}

// memberKey is the key of what a keyspace has of a member.
func memberKey(space byte, group uint32, replica uint64) []byte {
	key := binary.BigEndian.AppendUint32([]byte{space}, group)
	return binary.BigEndian.AppendUint64(key, replica)
}

// Met returns the log store of another process's replica, if it has sent a message before.
func (s *LogStore) Met(group uint32, replica uint64) (store StoreID, ok bool, err error) {
	payload, ok, err := s.get(memberKey(meetSpace, group, replica))
	if ok && copy(store[:], payload) != len(payload) {
		err = errMembers
	}
	return store, ok, err
}

// Meet returns the log store of another process's replica, and makes it this one, durably, if there was none. A process that loses its
// disk returns with another store: it has forgotten what it has promised, and must not continue as the same replica.
func (s *LogStore) Meet(group uint32, replica uint64, store StoreID) (StoreID, error) {
	known, ok, err := s.Met(group, replica)
	if ok || err != nil {
		return known, err
	}
	b := s.db.NewBatch()
	if err := put(b, memberKey(meetSpace, group, replica), func(dst []byte) []byte { return append(dst, store[:]...) }); err != nil {
		return known, errors.Join(err, b.Close())
	}
	return store, s.apply(b, true)
}

// Replica returns the last replica of a group that the store has a log of; ok is false without one.
func (s *LogStore) Replica(group uint32) (replica uint64, ok bool, err error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return 0, false, asDamage(err)
	}
	defer func() { err = errors.Join(err, asDamage(it.Close())) }()
	lower := logKey(group, 0, hardStateKind)
	if it.SeekLT(logKey(group, ^uint64(0), endKind)) && bytes.Compare(it.Key(), lower) >= 0 && len(it.Key()) >= logKeySize {
		return binary.BigEndian.Uint64(it.Key()[logKeySize-9:]), true, it.Error()
	}
	return 0, false, it.Error()
}
