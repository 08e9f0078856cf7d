package replica

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// The settings of all groups. Ticks are TickInterval apart.
const (
	TickInterval   = 100 * time.Millisecond
	ElectionTicks  = 10
	heartbeatTicks = 1
	inflightBytes  = 16 << 20
	inflightCount  = 256
	// uncommittedBytes is how much a leader proposes before it has a quorum; a single proposal may be larger.
	uncommittedBytes = 64 << 20
)

// Errors of proposals and reads.
var (
	// ErrNotLeader says that the replica does not lead its group, or no longer leads it; what was proposed will not be applied.
	ErrNotLeader = errors.New("replica: this replica does not lead its group")
	// ErrAmbiguous says that the replica has lost the lead, or has stopped, after it proposed a command: it may be applied or not.
	ErrAmbiguous = errors.New("replica: the lead was lost before the command was applied; it may or may not be applied")
	// ErrNoTransfer says that another member has not taken the lead in time; this replica keeps it.
	ErrNoTransfer = errors.New("replica: the other member has not taken the lead in time")
	// ErrNoQuorum says that no quorum has confirmed a read in time.
	ErrNoQuorum = errors.New("replica: no quorum of the group has answered in time")
	// ErrStopped says that the replica has failed.
	ErrStopped = errors.New("replica: the replica has stopped")
)

// State is what the commands of a group change, the same on each replica. The group calls it from one goroutine.
//
// A state may consist of parts that a crash takes back to different commands. When its replica opens again, the group applies all
// commands of the log once more, and each part skips those that it has.
type State interface {
	// Applied is the index of the last command that any part has, or 0.
	Applied() uint64
	// Apply applies commands in their order. A crash leaves each part as it was after one of its commands. Apply may set the result
	// of a command, which must depend only on the state and the commands. After an error the replica stops.
	Apply(commands []Command) error
	// Durable returns an index such that a crash takes no command up to it from any part; the index may be beyond the last command.
	Durable() (uint64, error)
	// Flush starts to make durable what was applied before. It does not wait.
	Flush()
}

// Command is a command to apply.
type Command struct {
	Index  uint64
	Data   []byte // the state may keep it, but not change it
	Result error  // reaches the proposer
}

// Group is a replica of a group, one goroutine's. The members apply the same commands in the same order, each one
// once.
//
//	Propose ─► raft ─► Log ─► (a quorum) ─► State.Apply ─► done
//	Step, Tick ─┘ └─► send
//
// The caller passes on time (Tick) and messages (Step), and calls Process after them.
type Group struct {
	o    GroupOptions
	node *raft.RawNode
	log  *Log

	proposer  uint64
	number    uint64 // of the last proposal or read
	ticks     uint64
	restarted bool
	term      uint64
	leads     bool

	// pending are the proposals of the present term that were not applied yet, in the order of their numbers and so of their entries.
	pending []proposal
	reads   []read
	// confirmed are reads whose entries are to be applied before they end.
	confirmed []read
	partial   assembly
	applied   uint64 // the last entry that was passed on to the state, or needed not to be
	cut       uint64 // logs may be cut off up to here
	cutAsked  uint64
	flushed   uint64 // the cut that the state was last asked to flush for
	keepLog   bool   // nothing is cut off this log now
	grown     int    // bytes of entries since the last cut was proposed
	lease     lease
	// transferred end once another member leads, or once raft has given the transfer up.
	transferred []func(error)
	members     *Members  // after the last entry that was applied
	changing    *proposal // the pending change of the members
	// proven is a snapshot whose last entry is in the log, and therefore committed.
	proven  Snapshot
	fault   error
	current currency
	wins    uint64 // see GroupStatus
	lags    []Lag  // never changed, only replaced
}

type proposal struct {
	number uint64
	done   func(error)
}

// GroupOptions describe a replica of a group.
type GroupOptions struct {
	Group   uint32
	Replica uint64   // its id, which is never used again once the replica has lost its log; one that waits to be added is no member yet
	Members []uint64 // the ids of the first replicas of the group; the log says if others have taken their places
	Log     *Log
	State   State
	// Send passes messages on to other members. It does not wait, and may lose them. Messages and what they refer to must not change.
	Send func(messages []*pb.Message)
	// Clock is the time since some point, which no change of the wall clock moves.
	Clock func() time.Duration
	// MessageBytes is how large messages, and so entries, are at most; default 1 MiB.
	MessageBytes int
	// Logs are cut once they have CutEntries entries, default 16,384, or CutBytes bytes, default 64 MiB, that all members have.
	CutEntries uint64
	CutBytes   int
	// Behind is called when the next entry of this replica has been cut off the leader's log. It does not wait. The caller gets a
	// snapshot with at least an index and has the replica opened again with it, see Log.Install. The leader asks again until then.
	Behind func(leader, index uint64)
	Logger *slog.Logger
}

// keepCuts bounds the log that the leader keeps for a member that is away, in multiples of CutBytes: 1 GiB by default, some minutes
// of writing at full speed or a day of writing at 12 KB/s, and less than the state of most shards that are worth replicas. Half of it
// stays when it is cut, for members that are only slow. While a member is seeded, which needs the entries since its snapshot, the
// leader keeps seedingCuts.
const (
	keepCuts    = 16
	seedingCuts = 64
)

// OpenGroup opens a replica. Its state has to be one that it had before, or empty if its log is.
func OpenGroup(o GroupOptions) (*Group, error) {
	if o.MessageBytes == 0 {
		o.MessageBytes = 1 << 20
	}
	if o.CutEntries == 0 {
		o.CutEntries = 16 << 10
	}
	if o.CutBytes == 0 {
		o.CutBytes = 64 << 20
	}
	applied := o.State.Applied()
	switch last, commit := o.Log.last, o.Log.hard.GetCommit(); {
	case applied > last:
		return nil, fmt.Errorf("%w: group %d has applied entry %d, but the log ends at entry %d", ErrDamaged, o.Group, applied, last)
	case applied > commit:
		// Its commit index is written without a sync, the state may have been quicker.
		hard := &pb.HardState{Term: new(o.Log.hard.GetTerm()), Vote: new(o.Log.hard.GetVote()), Commit: new(applied)}
		if err := o.Log.Append(hard, nil, true); err != nil {
			return nil, err
		}
	}
	// The log was cut where all parts of the state had what came before.
	g := &Group{o: o, log: o.Log, restarted: o.Log.hard != nil, applied: o.Log.first - 1, term: o.Log.hard.GetTerm()}
	if g.members = o.Log.members; g.members == nil {
		g.members = firstMembers(o.Members)
	}
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	g.proposer = binary.BigEndian.Uint64(nonce[:])
	err := g.do(func() (err error) {
		g.node, err = raft.NewRawNode(&raft.Config{
			ID: o.Replica, ElectionTick: ElectionTicks, HeartbeatTick: heartbeatTicks, Storage: groupStorage{g.log, g}, Applied: g.applied,
			MaxSizePerMsg: uint64(o.MessageBytes), MaxInflightMsgs: inflightCount, MaxInflightBytes: inflightBytes, MaxUncommittedEntriesSize: uncommittedBytes,
			CheckQuorum: true, PreVote: true, DisableProposalForwarding: true, StepDownOnRemoval: true, Logger: raftLogger{o.Logger},
		})
		if err == nil && g.alone() {
			err = g.node.Campaign() // no other member votes
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// alone reports whether the replica is the only voter.
func (g *Group) alone() bool {
	return len(g.members.conf.GetVoters()) == 1 && !g.members.Joint() && slices.Contains(g.members.conf.GetVoters(), g.o.Replica)
}

// groupStorage is what raft reads of a replica.
type groupStorage struct {
	*Log
	g *Group
}

// InitialState implements raft.Storage.
func (s groupStorage) InitialState() (*pb.HardState, *pb.ConfState, error) {
	return s.hard, s.g.conf(), nil
}

// do runs f unless the replica has stopped; an error, or a panic of raft, which finds its invariants broken, stops it.
func (g *Group) do(f func() error) (err error) {
	if g.fault != nil {
		return g.fault
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil && g.fault == nil {
			g.fault = fmt.Errorf("%w: replica %d of group %d: %w", ErrStopped, g.o.Replica, g.o.Group, err)
			g.Close()
		}
		if err != nil {
			err = g.fault
		}
	}()
	return f()
}

// Close ends proposals and reads. The log and the state are the caller's.
func (g *Group) Close() {
	if g.fault == nil {
		g.fault = ErrStopped
	}
	g.lease.drop()
	g.leads = false
	g.abandon()
	g.endTransfers(g.fault)
	for _, r := range append(g.reads, g.confirmed...) {
		r.done(g.fault)
	}
	g.reads, g.confirmed = nil, nil
}

// Tick says that TickInterval has passed.
func (g *Group) Tick() error {
	return g.do(func() error {
		g.ticks++
		g.node.Tick()
		for len(g.reads) > 0 && g.ticks-g.reads[0].tick >= ElectionTicks {
			r := g.reads[0]
			g.reads = g.reads[1:]
			r.done(ErrNoQuorum)
		}
		g.askCurrent()
		if !g.leads {
			return nil
		}
		if g.node.BasicStatus().LeadTransferee == raft.None {
			g.endTransfers(ErrNoTransfer)
		}
		g.renew()
		g.askAgain()
		g.measureLags()
		return g.proposeCut()
	})
}

// Step takes a message of another member.
func (g *Group) Step(m *pb.Message) error {
	return g.do(func() error {
		// A vote before the restart may have been cast by a follower of a leader that holds a lease, which the replica has forgotten.
		// A leader that transfers its lead holds none.
		if t := m.GetType(); g.restarted && g.ticks <= ElectionTicks && (t == pb.MsgVote || t == pb.MsgPreVote) && string(m.GetContext()) != campaignTransfer {
			return nil
		}
		if m.GetTo() != g.o.Replica {
			return nil
		}
		// A late message of this replica's, from an earlier term that it led, brings an empty answer, which tells it of the present
		// term. If it leads that one too, raft takes the answer for an acknowledgement of entry 0, and continues to send entries that
		// were cut off long ago.
		if m.GetType() == pb.MsgAppResp && !m.GetReject() && m.GetIndex() == 0 && m.GetTerm() == g.node.BasicStatus().GetTerm() {
			return nil
		}
		if m.GetType() == pb.MsgSnap {
			// What the log has is compared, and nothing may be on the way to it.
			if err := g.process(); err != nil {
				return err
			}
			m = g.catchUp(m)
		}
		if err := g.node.Step(m); err != nil && !errors.Is(err, raft.ErrProposalDropped) && !errors.Is(err, raft.ErrStepLocalMsg) && !errors.Is(err, raft.ErrStepPeerNotFound) {
			return err
		}
		return nil
	})
}

// Propose asks for a command to be applied; done gets its result once the replica's own state has it, or an error. It may be called
// before Propose returns.
func (g *Group) Propose(command []byte, done func(error)) {
	g.number++
	if !g.leads || g.fault != nil || !g.propose(fragments(proposalID{g.proposer, g.number}, command, g.o.MessageBytes-entryOverhead)) {
		done(ErrNotLeader)
		return
	}
	g.pending = append(g.pending, proposal{g.number, done})
}

// propose appends entries to the leader's log, all or none.
func (g *Group) propose(data [][]byte) bool {
	m := &pb.Message{Type: pb.MsgProp.Enum(), From: new(g.o.Replica)}
	for _, d := range data {
		m.Entries = append(m.Entries, &pb.Entry{Data: d})
	}
	dropped := false
	err := g.do(func() error {
		err := g.node.Step(m)
		if dropped = errors.Is(err, raft.ErrProposalDropped); dropped {
			return nil
		}
		return err
	})
	return err == nil && !dropped
}

// proposeCut lets logs be cut off up to the last entry that all members have, or further once the log has outgrown its bound.
func (g *Group) proposeCut() error {
	from := max(g.log.first-1, g.cut, g.cutAsked) + g.o.CutEntries
	if g.grown >= g.o.CutBytes {
		from -= g.o.CutEntries - 1
	}
	if g.log.last < from {
		return nil
	}
	all, bound := g.applied, uint64(g.o.CutBytes)*keepCuts
	for _, p := range g.node.Status().Progress {
		all = min(all, p.Match)
		if p.State == tracker.StateSnapshot {
			bound = uint64(g.o.CutBytes) * seedingCuts
		}
	}
	if all < from && g.log.size() > bound {
		all = min(g.applied, g.log.before(bound/2))
	}
	if all < from {
		return nil
	}
	g.number++
	data := appendHeader(nil, cutKind, proposalID{g.proposer, g.number})
	if g.propose([][]byte{binary.AppendUvarint(data, all)}) {
		g.cutAsked, g.grown = all, 0
	}
	return g.fault
}

// Process does all that there is to do now: writes the log, sends messages, applies commands.
func (g *Group) Process() error {
	return g.do(g.process)
}

func (g *Group) process() error {
	for g.node.HasReady() {
		rd := g.node.Ready()
		if !raft.IsEmptySnap(rd.Snapshot) {
			return errors.New("raft has taken a snapshot without a state")
		}
		if err := g.ready(rd); err != nil {
			return err
		}
		g.node.Advance(rd)
	}
	return nil
}

func (g *Group) ready(rd raft.Ready) error {
	// A leader's entries travel while it writes them itself; all else says what is durable.
	early, late := rd.Messages[:0:0], rd.Messages[:0:0]
	for _, m := range rd.Messages {
		if t := m.GetType(); t == pb.MsgApp || t == pb.MsgHeartbeat {
			early = append(early, m)
		} else {
			late = append(late, m)
		}
	}
	g.send(early)
	for _, e := range rd.Entries {
		g.grown += len(e.GetData())
	}
	hard := rd.HardState
	if raft.IsEmptyHardState(hard) {
		hard = nil
	}
	if err := g.log.Append(hard, rd.Entries, rd.MustSync); err != nil {
		return err
	}
	g.send(late)
	g.follow()
	for _, s := range rd.ReadStates {
		g.confirm(s)
	}
	if err := g.apply(rd.CommittedEntries); err != nil {
		return err
	}
	if g.cut < g.log.first || g.keepLog {
		return nil
	}
	durable, err := g.o.State.Durable()
	if err != nil {
		return err
	}
	if durable < g.cut && g.flushed < g.cut {
		g.flushed = g.cut
		g.o.State.Flush()
	}
	return g.log.Compact(min(g.cut, durable, g.applied))
}

// send sends messages, but for reads of other members, which raft forwards to the leader under the id of the member that asked: who
// receives them would take this process's log store for that member's, and drop all that it sends from then on. It asks again.
func (g *Group) send(messages []*pb.Message) {
	messages = slices.DeleteFunc(messages, func(m *pb.Message) bool { return m.GetFrom() != g.o.Replica })
	if len(messages) > 0 {
		g.o.Send(messages)
	}
}

// follow makes the replica follow a change of its term or role.
func (g *Group) follow() {
	s := g.node.BasicStatus()
	leads := s.RaftState == raft.StateLeader
	if s.Lead != raft.None && !leads {
		g.endTransfers(nil)
	}
	if s.GetTerm() == g.term && leads == g.leads {
		return
	}
	g.term, g.leads, g.cutAsked, g.lags = s.GetTerm(), leads, 0, nil
	if leads {
		g.wins++
		g.endTransfers(ErrNoTransfer)
	}
	g.lease.drop()
	g.abandon()
	g.reads = slices.DeleteFunc(g.reads, func(r read) bool {
		if r.term != 0 {
			r.done(ErrNotLeader)
		}
		return r.term != 0
	})
}

// abandon ends the proposals of a term that is over.
func (g *Group) abandon() {
	pending := g.pending
	g.pending = nil
	if g.changing != nil {
		pending = append(pending, *g.changing)
		g.changing = nil
	}
	for _, p := range pending {
		p.done(ErrAmbiguous)
	}
}

// apply applies committed entries and ends their proposals.
func (g *Group) apply(entries []*pb.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	commands := make([]Command, 0, len(entries))
	ids := make([]proposalID, 0, len(entries))
	for _, e := range entries {
		if e.GetType() == pb.EntryConfChangeV2 {
			g.partial = assembly{}
			if err := g.changed(e); err != nil {
				return err
			}
			continue
		}
		if len(e.GetData()) == 0 { // of a new leader
			g.partial = assembly{}
			continue
		}
		kind, id, payload, err := readHeader(e.GetData())
		if err != nil {
			return fmt.Errorf("entry %d: %w", e.GetIndex(), err)
		}
		if kind == cutKind {
			g.partial = assembly{}
			index, n := binary.Uvarint(payload)
			if n != len(payload) {
				return fmt.Errorf("entry %d: %w", e.GetIndex(), errEntry)
			}
			if index, err = g.commandEnd(index); err != nil {
				return err
			}
			g.cut = max(g.cut, index)
			continue
		}
		if whole, ok := g.partial.add(kind, id, e.GetIndex(), e.GetTerm(), payload); ok {
			commands, ids = append(commands, Command{Index: e.GetIndex(), Data: whole}), append(ids, id)
		}
	}
	g.applied = entries[len(entries)-1].GetIndex()
	if g.partial.first != 0 {
		g.applied = g.partial.first - 1 // its entries are read again after a crash
	}
	if len(commands) > 0 {
		if err := g.o.State.Apply(commands); err != nil {
			return err
		}
	}
	for i, id := range ids {
		if id.proposer == g.proposer && len(g.pending) > 0 && g.pending[0].number == id.number {
			p := g.pending[0]
			g.pending = g.pending[1:]
			p.done(commands[i].Result)
		}
	}
	g.endReads()
	return nil
}

// commandEnd returns the last index up to an index at which a command ends: a log is not cut within a command.
func (g *Group) commandEnd(index uint64) (uint64, error) {
	for ; index >= g.log.first; index-- {
		es, err := g.log.Entries(index, index+1, 0)
		if err != nil {
			return 0, err
		}
		if data := es[0].GetData(); es[0].GetType() != pb.EntryNormal || len(data) == 0 || data[0] != fragmentKind {
			break
		}
	}
	return index, nil
}

// GroupStatus says how a replica stands.
type GroupStatus struct {
	Leads                 bool
	Fault                 error  // that has stopped the replica, or nil
	Blocked               error  // why the log cannot be written now, or nil; on a full disk the replica waits until it can
	Damage                error  // of a file of its state, or nil; set by the process that hosts it
	Leader                uint64 // 0 if it knows none
	Current               bool   // it has all that was committed before it came to know a leader
	Term, Commit, Applied uint64
	FirstIndex, LastIndex uint64 // of the log
	LogBytes              uint64 // about the bytes of the log's entries
	Replica               uint64 // its id
	Members               *Members
	Proposals, Reads      int    // pending
	Wins                  uint64 // how often the replica has begun to lead since it was opened
	Lags                  []Lag  // of the other members, as of the leader's last tick; none of a follower
	// Of seeds: how many were installed since the process started, and the size in bytes of an arriving one, with the bytes received so far.
	Seeds                  uint64
	SeedBytes, SeededBytes uint64
}

// Lag is what a member lacks of the leader's log, as far as the leader knows.
type Lag struct {
	Replica        uint64
	Process        int // that has the replica; set by the process that hosts it
	Entries, Bytes uint64
}

// measureLags updates what the other members lack.
func (g *Group) measureLags() {
	g.lags = nil
	for id, p := range g.node.Status().Progress {
		if id == g.o.Replica {
			continue
		}
		has := min(max(p.Match, g.log.first-1), g.log.last)
		g.lags = append(g.lags, Lag{Replica: id, Entries: g.log.last - has, Bytes: g.log.after(has)})
	}
}

// Status says how the replica stands.
func (g *Group) Status() GroupStatus {
	s := g.node.BasicStatus()
	if g.fault != nil {
		s.Lead = raft.None
	}
	return GroupStatus{
		Leads: g.leads, Leader: s.Lead, Term: s.GetTerm(), Commit: s.GetCommit(), Applied: g.applied,
		FirstIndex: g.log.first, LastIndex: g.log.last, LogBytes: g.log.size(), Replica: g.o.Replica, Members: g.members, Proposals: len(g.pending), Reads: len(g.reads) + len(g.confirmed),
		Wins: g.wins, Lags: g.lags, Current: g.current == isCurrent,
	}
}

// raftLogger passes raft's warnings on; what it finds broken becomes a panic, see Group.do.
type raftLogger struct{ log *slog.Logger }

func (l raftLogger) Debug(...any)          {}
func (l raftLogger) Debugf(string, ...any) {}
func (l raftLogger) Info(...any)           {}
func (l raftLogger) Infof(string, ...any)  {}

func (l raftLogger) Warning(v ...any)                 { l.log.Warn("raft", slog.String("message", fmt.Sprint(v...))) }
func (l raftLogger) Warningf(format string, v ...any) { l.Warning(fmt.Sprintf(format, v...)) }
func (l raftLogger) Error(v ...any)                   { l.log.Error("raft", slog.String("message", fmt.Sprint(v...))) }
func (l raftLogger) Errorf(format string, v ...any)   { l.Error(fmt.Sprintf(format, v...)) }

func (l raftLogger) Fatal(v ...any)                 { panic(fmt.Sprint(v...)) }
func (l raftLogger) Fatalf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
func (l raftLogger) Panic(v ...any)                 { panic(fmt.Sprint(v...)) }
func (l raftLogger) Panicf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
