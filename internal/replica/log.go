package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Log is the log of one replica of a group. It implements the log methods of raft.Storage; the other methods depend on the
// applied state. Not safe for concurrent use.
//
//	cut off          on disk                        not written yet
//	─────────┬───────────────────────────┬─────────────────────────
//	   start │ first                last │
//	         └ terms: the runs of entries of one term
//	                        └ tail: the latest entries, in memory
type Log struct {
	s       *LogStore
	group   uint32
	replica uint64

	hard  *pb.HardState // nil before the first write
	first uint64
	last  uint64
	// terms lists the runs of entries of one term in log order; the first run holds the entry before first.
	terms []termRun

	tail      []*pb.Entry // the entries up to last, or none
	tailBytes int

	members *Members    // after the entry before the first; nil for the first members
	changes []membersAt // those after later entries, as far as the replica has applied them

	bytes uint64     // about the bytes of all entries since the log was opened
	cut   uint64     // how many of them were cut off
	marks []sizeMark // in the order of their indexes
}

// sizeMark says how many bytes the entries up to an index have, of those that the log has counted.
type sizeMark struct{ index, bytes uint64 }

// markBytes is the least distance of the marks: the size of a log is known to this.
const markBytes = 16 << 10

// termRun starts a run: entries from index on have the term.
type termRun struct{ index, term uint64 }

// tailBytes limits the latest entries kept in memory: most are read again soon, to be applied and sent.
const tailBytes = 4 << 20

// Log opens the log of a replica; a new log is empty. It reads the whole log and returns ErrDamaged if a record fails its checks
// or an entry is missing.
func (s *LogStore) Log(group uint32, replica uint64) (*Log, error) {
	l := &Log{s: s, group: group, replica: replica, first: 1, terms: []termRun{{0, 0}}}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open the log of replica %d of group %d: %w", replica, group, err)
	}
	return l, nil
}

func (l *Log) load() (err error) {
	payload, ok, err := l.s.get(l.key(hardStateKind))
	if err != nil {
		return err
	}
	if ok {
		l.hard = &pb.HardState{Term: new(uint64), Vote: new(uint64), Commit: new(uint64)}
		if err := readNumbers(payload, l.hard.Term, l.hard.Vote, l.hard.Commit); err != nil {
			return err
		}
	}
	if payload, ok, err = l.s.get(l.key(startKind)); err != nil {
		return err
	}
	if ok {
		start := &l.terms[0]
		if l.members, err = readStart(payload, &start.index, &start.term); err != nil {
			return err
		}
		l.first = start.index + 1
	}
	l.last = l.first - 1
	it, err := l.s.db.NewIter(&pebble.IterOptions{LowerBound: l.key(entryKind), UpperBound: l.key(endKind)})
	if err != nil {
		return asDamage(err)
	}
	defer func() { err = errors.Join(err, asDamage(it.Close())) }()
	for ok := it.First(); ok; ok = it.Next() {
		e, err := l.read(it, l.last+1)
		if err != nil {
			return err
		}
		if e.GetTerm() < l.lastTerm() {
			return fmt.Errorf("%w: entry %d is of term %d, the one before of term %d", ErrDamaged, e.GetIndex(), e.GetTerm(), l.lastTerm())
		}
		l.extend(e)
	}
	if err := it.Error(); err != nil {
		return asDamage(err)
	}
	switch {
	case l.hard.GetCommit() > l.last:
		return fmt.Errorf("%w: it ends at entry %d, but entry %d was committed", ErrDamaged, l.last, l.hard.GetCommit())
	case l.hard.GetTerm() < l.lastTerm():
		return fmt.Errorf("%w: it has entries of term %d, beyond the current term %d", ErrDamaged, l.lastTerm(), l.hard.GetTerm())
	case l.hard.GetCommit() < l.first-1:
		return fmt.Errorf("%w: it begins at entry %d, but entries up to %d alone were committed", ErrDamaged, l.first, l.hard.GetCommit())
	}
	return nil
}

// read decodes the entry at the iterator and checks its index.
func (l *Log) read(it *pebble.Iterator, index uint64) (*pb.Entry, error) {
	key := it.Key()
	if len(key) != logKeySize+8 || binary.BigEndian.Uint64(key[logKeySize:]) != index {
		return nil, fmt.Errorf("%w: entry %d is missing: the key %x follows", ErrDamaged, index, key)
	}
	record, err := it.ValueAndErr()
	if err != nil {
		return nil, asDamage(err)
	}
	payload, err := unseal(key, append([]byte(nil), record...))
	if err != nil {
		return nil, err
	}
	return readEntry(index, payload)
}

const logKeySize = 1 + 4 + 8 + 1

func (l *Log) key(kind byte) []byte { return logKey(l.group, l.replica, kind) }

func (l *Log) entryKey(index uint64) []byte {
	return binary.BigEndian.AppendUint64(l.key(entryKind), index)
}

func (l *Log) lastTerm() uint64 { return l.terms[len(l.terms)-1].term }

// extend appends an entry to the log's in-memory state.
func (l *Log) extend(e *pb.Entry) {
	l.last = e.GetIndex()
	if e.GetTerm() != l.lastTerm() {
		l.terms = append(l.terms, termRun{e.GetIndex(), e.GetTerm()})
	}
	l.bytes += uint64(len(e.GetData())) + entryOverhead
	if l.bytes-l.marked() >= markBytes {
		l.marks = append(l.marks, sizeMark{l.last, l.bytes})
	}
	l.tail = append(l.tail, e)
	l.tailBytes += len(e.GetData())
	drop := 0
	for l.tailBytes > tailBytes && drop < len(l.tail)-1 {
		l.tailBytes -= len(l.tail[drop].GetData())
		l.tail[drop] = nil
		drop++
	}
	l.tail = l.tail[drop:]
}

// truncate removes the entries from an index on from the in-memory state.
func (l *Log) truncate(from uint64) {
	l.last = from - 1
	for len(l.terms) > 1 && l.terms[len(l.terms)-1].index >= from {
		l.terms = l.terms[:len(l.terms)-1]
	}
	for n := len(l.tail); n > 0 && l.tail[n-1].GetIndex() >= from; n-- {
		l.tailBytes -= len(l.tail[n-1].GetData())
		l.tail = l.tail[:n-1]
	}
	for n := len(l.marks); n > 0 && l.marks[n-1].index >= from; n-- {
		l.marks = l.marks[:n-1]
		l.bytes = l.marked()
	}
}

// marked is how many bytes the entries up to the last mark have.
func (l *Log) marked() uint64 {
	if n := len(l.marks); n > 0 {
		return l.marks[n-1].bytes
	}
	return l.cut
}

// size is about the bytes of the log's entries.
func (l *Log) size() uint64 { return l.bytes - l.cut }

// after is about the bytes of the entries after an index: exact for the last ones, which are in memory, and else from the mark before.
func (l *Log) after(index uint64) (bytes uint64) {
	at := len(l.tail)
	for ; at > 0 && l.tail[at-1].GetIndex() > index; at-- {
		bytes += uint64(len(l.tail[at-1].GetData())) + entryOverhead
	}
	if at > 0 || index >= l.last {
		return bytes
	}
	mark := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].index > index })
	if mark == 0 {
		return l.size()
	}
	return l.bytes - l.marks[mark-1].bytes
}

// before returns the last known index that at least so many bytes of entries follow; it is that before the first entry if none is.
func (l *Log) before(bytes uint64) uint64 {
	at := sort.Search(len(l.marks), func(i int) bool { return l.bytes-l.marks[i].bytes < bytes })
	if at == 0 {
		return l.first - 1
	}
	return l.marks[at-1].index
}

// Append writes a hard state, unless it is nil, and entries. The entries must continue the log or replace its tail: they replace
// all existing ones from the first new index on. With sync the write is durable on return. After an error the log must be reopened.
func (l *Log) Append(hard *pb.HardState, entries []*pb.Entry, sync bool) error {
	if hard == nil && len(entries) == 0 {
		return nil
	}
	b := l.s.db.NewBatch()
	if err := l.append(b, hard, entries); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := l.s.apply(b, sync); err != nil {
		return err
	}
	if hard != nil {
		l.hard = hard
	}
	if len(entries) > 0 {
		l.truncate(entries[0].GetIndex())
		for _, e := range entries {
			l.extend(e)
		}
	}
	return nil
}

func (l *Log) append(b *pebble.Batch, hard *pb.HardState, entries []*pb.Entry) error {
	if hard != nil {
		err := put(b, l.key(hardStateKind), func(dst []byte) []byte {
			return appendNumbers(dst, hard.GetTerm(), hard.GetVote(), hard.GetCommit())
		})
		if err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	from := entries[0].GetIndex()
	if from < l.first || from > l.last+1 {
		return fmt.Errorf("replica: entry %d does not continue a log of the entries %d to %d", from, l.first, l.last)
	}
	key := l.entryKey(from)
	for i, e := range entries {
		if e.GetIndex() != from+uint64(i) {
			return fmt.Errorf("replica: entry %d follows entry %d", e.GetIndex(), from+uint64(i)-1)
		}
		binary.BigEndian.PutUint64(key[logKeySize:], e.GetIndex())
		if err := putEntry(b, key, e); err != nil {
			return err
		}
	}
	if end := from + uint64(len(entries)); end <= l.last {
		return b.DeleteRange(l.entryKey(end), l.key(endKind), nil)
	}
	return nil
}

// Compact removes the entries up to and including an index. The state must have applied them durably. They may reappear after a
// crash.
func (l *Log) Compact(index uint64) error {
	if index < l.first {
		return nil
	}
	term, err := l.Term(index)
	if err != nil {
		return err
	}
	members := l.membersOf(index)
	b := l.s.db.NewBatch()
	err = errors.Join(
		put(b, l.key(startKind), func(dst []byte) []byte { return members.append(appendNumbers(dst, index, term)) }),
		b.DeleteRange(l.key(entryKind), l.entryKey(index+1), nil),
	)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if err := l.s.apply(b, false); err != nil {
		return err
	}
	l.first, l.members = index+1, members
	l.changes = slices.DeleteFunc(l.changes, func(c membersAt) bool { return c.index <= index })
	run := sort.Search(len(l.terms), func(i int) bool { return l.terms[i].index > index }) - 1
	l.terms = append([]termRun{{index, term}}, l.terms[run+1:]...)
	for len(l.tail) > 0 && l.tail[0].GetIndex() <= index {
		l.tailBytes -= len(l.tail[0].GetData())
		l.tail = l.tail[1:]
	}
	for len(l.marks) > 0 && l.marks[0].index <= index {
		l.cut = l.marks[0].bytes
		l.marks = l.marks[1:]
	}
	return nil
}

// Reset drops all entries after a snapshot is installed: the log continues after the snapshot's index and term, with its members.
// Durable on return.
func (l *Log) Reset(hard *pb.HardState, index, term uint64, members *Members) error {
	b := l.s.db.NewBatch()
	err := errors.Join(
		l.append(b, hard, nil),
		put(b, l.key(startKind), func(dst []byte) []byte { return members.append(appendNumbers(dst, index, term)) }),
		b.DeleteRange(l.key(entryKind), l.key(endKind), nil),
	)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	if err := l.s.apply(b, true); err != nil {
		return err
	}
	if hard != nil {
		l.hard = hard
	}
	l.first, l.last, l.members, l.changes = index+1, index, members, nil
	l.terms, l.tail, l.tailBytes = []termRun{{index, term}}, nil, 0
	l.marks, l.cut = nil, l.bytes
	return nil
}

// Begin makes an empty log begin after entry 1 of term 1, for a replica whose state does not come from a log, such as that of a backup.
// All members of the group begin with this state; one without it is behind, and is seeded. Durable on return.
func (l *Log) Begin() error {
	return l.begin(nil)
}

// BeginAlone is Begin for the log of the only member of a group: each replica that joins the group later is seeded, and so learns of it.
func (l *Log) BeginAlone() error {
	if l.hard.GetTerm() == 1 && l.last == BeginIndex { // begun before a crash
		return nil
	}
	return l.begin(firstMembers([]uint64{l.replica}))
}

func (l *Log) begin(members *Members) error {
	if l.hard != nil || l.last != 0 {
		return fmt.Errorf("replica: the log of replica %d of group %d is not empty", l.replica, l.group)
	}
	const term = 1
	return l.Reset(&pb.HardState{Term: new(uint64(term)), Vote: new(uint64(0)), Commit: new(uint64(BeginIndex))}, BeginIndex, term, members)
}

// BeginIndex is the index after which a log begins that Begin has begun.
const BeginIndex = 1

// Replica returns the id of the replica that has the log.
func (l *Log) Replica() uint64 { return l.replica }

// HardState returns the last hard state, or nil.
func (l *Log) HardState() *pb.HardState { return l.hard }

// FirstIndex implements raft.Storage.
func (l *Log) FirstIndex() (uint64, error) { return l.first, nil }

// LastIndex implements raft.Storage.
func (l *Log) LastIndex() (uint64, error) { return l.last, nil }

// Term implements raft.Storage.
func (l *Log) Term(index uint64) (uint64, error) {
	switch {
	case index < l.first-1:
		return 0, raft.ErrCompacted
	case index > l.last:
		return 0, raft.ErrUnavailable
	}
	run := sort.Search(len(l.terms), func(i int) bool { return l.terms[i].index > index }) - 1
	return l.terms[run].term, nil
}

// Entries implements raft.Storage.
func (l *Log) Entries(lo, hi, maxSize uint64) (entries []*pb.Entry, err error) {
	switch {
	case lo < l.first:
		return nil, raft.ErrCompacted
	case hi > l.last+1:
		return nil, raft.ErrUnavailable
	}
	size := uint64(0)
	add := func(e *pb.Entry) (more bool) {
		size += uint64(len(e.GetData())) + entryOverhead
		if more = size <= maxSize || len(entries) == 0; more {
			entries = append(entries, e)
		}
		return more
	}
	from := l.last + 1 - uint64(len(l.tail)) // in memory from here on
	if lo < from {
		it, err := l.s.db.NewIter(&pebble.IterOptions{LowerBound: l.entryKey(lo), UpperBound: l.entryKey(min(hi, from))})
		if err != nil {
			return nil, asDamage(err)
		}
		defer func() { _ = it.Close() }() // the loop has already reported its errors
		it.First()
		for ; lo < min(hi, from); lo++ {
			if !it.Valid() {
				if err := it.Error(); err != nil {
					return nil, asDamage(err)
				}
				return nil, fmt.Errorf("%w: entry %d is missing", ErrDamaged, lo)
			}
			e, err := l.read(it, lo)
			if err != nil {
				return nil, err
			}
			if !add(e) {
				return entries, nil
			}
			it.Next()
		}
	}
	for ; lo < hi; lo++ {
		if !add(l.tail[lo-from]) {
			break
		}
	}
	return entries, nil
}

// entryOverhead estimates an entry's bytes in a message besides its data.
const entryOverhead = 16
