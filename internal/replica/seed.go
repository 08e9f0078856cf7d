package replica

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"
)

// A follower whose next entry no log has any longer is seeded: it gets a copy of the state of another replica. The leader's MsgSnap
// has no state in it. It tells the follower that it is behind, again each second, and how far the leader's log goes back. The
// follower fetches the copy, of whichever replica and index that goes beyond, and has its log continue there. Its next answer to a
// MsgSnap names the entry that it has, which is all that the leader needs (raft's documentation of Progress.PendingSnapshot).

// Snapshot names the state of a replica after an entry of the log.
type Snapshot struct {
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"` // of the entry
	// Members are those after the entry, encoded; nothing for the first members of the group.
	Members []byte `json:"members,omitempty"`
}

// Snapshot implements raft.Storage. Its data is the index of the first entry of the leader's log.
func (s groupStorage) Snapshot() (*pb.Snapshot, error) {
	at, err := s.g.Snapshot()
	if err != nil {
		return nil, err
	}
	if at.Index == 0 {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return &pb.Snapshot{
		Data:     binary.AppendUvarint(nil, s.first),
		Metadata: &pb.SnapshotMetadata{Index: &at.Index, Term: &at.Term, ConfState: s.g.conf()},
	}, nil
}

// Snapshot names the present state.
func (g *Group) Snapshot() (Snapshot, error) {
	term, err := g.log.Term(g.applied)
	return Snapshot{g.applied, term, g.log.membersOf(g.applied).append(nil)}, err
}

// conf is the configuration in raft's form.
func (g *Group) conf() *pb.ConfState { return proto.Clone(g.members.conf).(*pb.ConfState) }

// askAgain lets the leader send another MsgSnap to members that have not answered the last one by an entry that the log has.
func (g *Group) askAgain() {
	if g.ticks%ElectionTicks != 0 {
		return
	}
	for id, p := range g.node.Status().Progress {
		if p.State == tracker.StateSnapshot {
			g.node.ReportSnapshot(id, raft.SnapshotFailure)
		}
	}
}

// catchUp handles the leader's MsgSnap, and returns what raft takes in its place: a snapshot that the log has already, so that raft
// answers with the last entry that is known to be committed.
func (g *Group) catchUp(m *pb.Message) *pb.Message {
	meta := m.GetSnapshot().GetMetadata()
	commit := g.node.BasicStatus().GetCommit()
	at := Snapshot{Index: meta.GetIndex(), Term: meta.GetTerm()}
	switch {
	case at.Index <= commit || g.log.has(at):
		return m
	case g.proven.Index > commit && g.log.has(g.proven):
		at = g.proven
	default:
		first, n := binary.Uvarint(m.GetSnapshot().GetData())
		if n > 0 && first > commit+1 && g.o.Behind != nil {
			g.o.Behind(m.GetFrom(), first-1)
		}
		at.Index = commit
		at.Term, _ = g.log.Term(commit)
	}
	return &pb.Message{
		Type: pb.MsgSnap.Enum(), To: m.To, From: m.From, Term: m.Term,
		Snapshot: &pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: &at.Index, Term: &at.Term, ConfState: g.conf()}},
	}
}

// Lacks reports whether the replica needs a snapshot. If the log has its last entry, the entries are applied instead: the
// replica may have acknowledged some after it.
func (g *Group) Lacks(s Snapshot) bool {
	if g.log.has(s) {
		g.proven = s
		return false
	}
	return s.Index > g.node.BasicStatus().GetCommit()
}

// has reports whether the log has the last entry of a snapshot, or what it is followed by.
func (l *Log) has(s Snapshot) bool {
	term, err := l.Term(s.Index)
	return err == nil && term == s.Term
}

// seedName is a file in the directory that replaces a replica's state: the snapshot that it has.
const seedName = "SEED"

// SeedDir is the directory beside that of a replica's state where another state is put together.
func SeedDir(dir string) string { return dir + ".seed" }

// PrepareSeed makes what is in the seed's directory of a replica, durably, the state of a snapshot. From here on InstallSeed completes it,
// after a crash too.
func PrepareSeed(fs vfs.FS, dir string, s Snapshot) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name := fs.PathJoin(SeedDir(dir), seedName)
	f, err := fs.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(fs.Rename(name+".tmp", name), syncDir(fs, SeedDir(dir)), syncDir(fs, fs.PathDir(dir)))
}

// InstallSeed replaces the state in a directory by a prepared seed, if there is one, and has the log continue there unless it has the
// seed's last entry. The state and the log must not be in use. Each step is durable before the next one, and may be repeated.
func InstallSeed(fs vfs.FS, dir string, l *Log) error {
	seed := SeedDir(dir)
	f, err := fs.Open(fs.PathJoin(seed, seedName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	var s Snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read %s of %s: %w", seedName, seed, err)
	}
	// No replica has run since, so the log has the entry if it had it before, or if a crash came after this step.
	if !l.has(s) {
		hard := &pb.HardState{Term: new(l.hard.GetTerm()), Vote: new(l.hard.GetVote()), Commit: new(s.Index)}
		if s.Term > hard.GetTerm() {
			hard.Term, hard.Vote = new(s.Term), new(uint64)
		}
		members, err := readMembers(s.Members)
		if err != nil {
			return err
		}
		if err := l.Reset(hard, s.Index, s.Term, members); err != nil {
			return err
		}
	}
	parent := fs.PathDir(dir)
	return errors.Join(fs.RemoveAll(dir), syncDir(fs, parent), fs.Rename(seed, dir), syncDir(fs, parent))
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
