package replica

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// seeds returns the number of seeds of a random test: HOPGATE_SEEDS if set, otherwise n.
func seeds(n int) uint64 {
	if s, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		return uint64(s)
	}
	return uint64(n)
}

func openStore(t *testing.T, fs vfs.FS) *LogStore {
	s, err := OpenLogStore(LogStoreOptions{Dir: "log", FS: fs, MemtableBytes: 256 << 10, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return s
}

func openLog(t *testing.T, s *LogStore, group uint32) *Log {
	l, err := s.Log(group, 7)
	require.NoError(t, err)
	return l
}

func entry(index, term uint64, data string) *pb.Entry {
	e := &pb.Entry{Index: &index, Term: &term, Type: pb.EntryNormal.Enum()}
	if data != "" {
		e.Data = []byte(data)
	}
	return e
}

func hardState(term, vote, commit uint64) *pb.HardState {
	return &pb.HardState{Term: &term, Vote: &vote, Commit: &commit}
}

// logModel is the expected content of a log.
type logModel struct {
	hard    *pb.HardState
	entries []*pb.Entry // the first is the last one compacted away
}

func (m logModel) last() uint64 { return m.entries[len(m.entries)-1].GetIndex() }

// differs describes how a log differs from the model, or returns "" if it does not.
func (m logModel) differs(l *Log) string {
	start := m.entries[0].GetIndex()
	switch first, last := l.first, l.last; {
	case !proto.Equal(m.hard, l.HardState()):
		return fmt.Sprintf("hard state %v, not %v", l.HardState(), m.hard)
	case first != start+1 || last != m.last():
		return fmt.Sprintf("entries %d to %d, not %d to %d", first, last, start+1, m.last())
	}
	for _, e := range m.entries {
		if term, err := l.Term(e.GetIndex()); err != nil || term != e.GetTerm() {
			return fmt.Sprintf("entry %d of term %d (%v), not %d", e.GetIndex(), term, err, e.GetTerm())
		}
	}
	entries, err := l.Entries(start+1, m.last()+1, math.MaxUint64)
	if err != nil {
		return err.Error()
	}
	for i, e := range m.entries[1:] {
		if !proto.Equal(e, entries[i]) {
			return fmt.Sprintf("entry %v, not %v", entries[i], e)
		}
	}
	return ""
}

// TestLogCrashes writes, overwrites, compacts and resets two logs of a store at random, with power failures in between. All synced
// writes survive; anything beyond them is a prefix of the unsynced writes.
func TestLogCrashes(t *testing.T) {
	for seed := range seeds(8) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			fs := vfs.NewCrashableMem()
			s := openStore(t, fs)
			defer func() { require.NoError(t, s.Close()) }()
			const groups = 2
			logs := [groups]*Log{}
			// The states of all logs since the last sync; the last one is current.
			states := [][groups]logModel{{}}
			for g := range logs {
				logs[g] = openLog(t, s, uint32(g))
				states[0][g].entries = []*pb.Entry{{Index: new(uint64), Term: new(uint64)}}
			}
			for range 150 {
				g := rng.IntN(groups)
				now := states[len(states)-1]
				m, l := &now[g], logs[g]
				start, last := m.entries[0].GetIndex(), m.last()
				term, commit := max(m.hard.GetTerm(), 1), max(m.hard.GetCommit(), start)
				sync := rng.IntN(3) == 0
				switch rng.IntN(12) {
				default: // append after the committed entries
					if rng.IntN(4) == 0 {
						term++
					}
					from := last + 1
					if rng.IntN(4) == 0 {
						from = commit + 1 + rng.Uint64N(last-commit+1)
					}
					var entries []*pb.Entry
					for i := range rng.Uint64N(4) {
						entries = append(entries, entry(from+i, term, strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(5)*rng.IntN(4000))))
					}
					if len(entries) > 0 {
						m.entries = append(m.entries[:from-start:from-start], entries...)
					}
					m.hard = hardState(term, rng.Uint64N(3), commit+rng.Uint64N(m.last()-commit+1))
					require.NoError(t, l.Append(m.hard, entries, sync))
				case 9: // compact
					to := start + rng.Uint64N(commit-start+1)
					require.NoError(t, l.Compact(to))
					if to > start {
						m.entries = m.entries[to-start:]
					}
					sync = false
				case 10: // a snapshot
					if rng.IntN(4) > 0 {
						continue
					}
					m.hard = hardState(term, 0, last+5)
					m.entries = []*pb.Entry{entry(last+5, term, "")}
					require.NoError(t, l.Reset(m.hard, last+5, term, nil))
					sync = true
				case 11: // power failure or process exit
					if rng.IntN(2) == 0 {
						require.NoError(t, s.Close())
					} else {
						crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
						require.NoError(t, s.Close())
						fs = crashed
					}
					s = openStore(t, fs)
					for g := range logs {
						logs[g] = openLog(t, s, uint32(g))
					}
					found := ""
					for i, state := range slices.Backward(states) {
						why := ""
						for g := range logs {
							why += state[g].differs(logs[g])
						}
						if why == "" {
							states, found = states[i:i+1], ""
							break
						}
						found += fmt.Sprintf("\n%d: %s", i-len(states)+1, why)
					}
					require.Empty(t, found)
					continue
				}
				states = append(states, now)
				if sync {
					states = states[len(states)-1:]
				}
				require.Empty(t, now[g].differs(l))
			}
		})
	}
}

// TestLogReads reads ranges of entries with all limits, from memory and from disk.
func TestLogReads(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	l := openLog(t, s, 1)
	var entries []*pb.Entry
	for i := range uint64(10) {
		entries = append(entries, entry(i+1, 1+i/4, strings.Repeat("x", 1<<20)))
	}
	require.NoError(t, l.Append(hardState(3, 0, 5), entries, true))
	require.Less(t, len(l.tail), 5, "most entries are on disk alone")
	require.NoError(t, l.Compact(2))
	for lo := uint64(3); lo <= 10; lo++ {
		for hi := lo + 1; hi <= 11; hi++ {
			for most := range uint64(4) {
				got, err := l.Entries(lo, hi, most<<20+most*entryOverhead)
				require.NoError(t, err)
				require.Len(t, got, int(min(max(most, 1), hi-lo)))
				for i, e := range got {
					require.Equal(t, lo+uint64(i), e.GetIndex())
					require.Len(t, e.GetData(), 1<<20)
				}
			}
		}
	}
	_, err := l.Entries(2, 4, math.MaxUint64)
	require.ErrorIs(t, err, raft.ErrCompacted)
	_, err = l.Entries(3, 12, math.MaxUint64)
	require.ErrorIs(t, err, raft.ErrUnavailable)
	_, err = l.Term(1)
	require.ErrorIs(t, err, raft.ErrCompacted)
	_, err = l.Term(11)
	require.ErrorIs(t, err, raft.ErrUnavailable)
	term, err := l.Term(2)
	require.NoError(t, err)
	require.Equal(t, uint64(1), term)
	require.Error(t, l.Append(nil, []*pb.Entry{entry(12, 3, "")}, true), "a gap")
	require.Error(t, l.Append(nil, []*pb.Entry{entry(2, 3, "")}, true), "cut off")
	require.Error(t, l.Append(nil, []*pb.Entry{entry(11, 3, ""), entry(13, 3, "")}, true), "a gap")
	require.Empty(t, logModel{hardState(3, 0, 5), entries[1:]}.differs(l))
}

// TestLogStoreID checks that a store keeps its ID, that IDs are unique, and that replicas of one group do not see each other's
// logs.
func TestLogStoreID(t *testing.T) {
	fs := vfs.NewMem()
	s := openStore(t, fs)
	id := s.ID()
	require.NotZero(t, id)
	for replica := range uint64(3) {
		l, err := s.Log(1, replica)
		require.NoError(t, err)
		require.NoError(t, l.Append(hardState(1, 0, 0), []*pb.Entry{entry(1, 1, strconv.FormatUint(replica, 10))}, true))
	}
	require.NoError(t, s.Remove(1, 1))
	require.NoError(t, s.Close())
	s = openStore(t, fs)
	require.Equal(t, id, s.ID())
	for replica := range uint64(3) {
		gone, err := s.Removed(1, replica)
		require.NoError(t, err)
		require.Equal(t, replica == 1, gone)
		l, err := s.Log(1, replica)
		require.NoError(t, err)
		if replica == 1 {
			require.Nil(t, l.HardState())
			require.Zero(t, l.last)
			continue
		}
		require.Empty(t, logModel{hardState(1, 0, 0), []*pb.Entry{entry(0, 0, ""), entry(1, 1, strconv.FormatUint(replica, 10))}}.differs(l))
	}
	require.NoError(t, s.Close())
	other := openStore(t, vfs.NewMem())
	require.NotEqual(t, id, other.ID())
	require.NoError(t, other.Close())
}

// TestLogDamage damages each record of a log in every way a disk may, and expects opening it to fail.
func TestLogDamage(t *testing.T) {
	fs := vfs.NewMem()
	s := openStore(t, fs)
	defer func() { require.NoError(t, s.Close()) }()
	l := openLog(t, s, 1)
	require.NoError(t, l.Append(hardState(2, 1, 3), []*pb.Entry{entry(1, 1, "a"), entry(2, 1, "b"), entry(3, 2, "c"), entry(4, 2, "d")}, true))
	require.NoError(t, l.Compact(1))
	set := func(key, value []byte) {
		b := s.db.NewBatch()
		require.NoError(t, b.Set(key, value, nil))
		require.NoError(t, s.apply(b, false))
	}
	refused := func(what string) {
		t.Helper()
		_, err := s.Log(1, 7)
		require.ErrorIs(t, err, ErrDamaged, what)
	}
	all := [][]byte{l.key(hardStateKind), l.key(startKind), l.entryKey(2), l.entryKey(3), l.entryKey(4)}
	records := map[string][]byte{}
	for _, key := range all {
		record, closer, err := s.db.Get(key)
		require.NoError(t, err)
		records[string(key)] = append([]byte(nil), record...)
		require.NoError(t, closer.Close())
	}
	for _, key := range all {
		was := records[string(key)]
		for bit := range 8 * len(was) {
			flipped := append([]byte(nil), was...)
			flipped[bit/8] ^= 1 << (bit % 8)
			set(key, flipped)
			refused(fmt.Sprintf("bit %d of key %x is wrong", bit, key))
		}
		for n := range len(was) {
			set(key, was[:n])
			refused("a record is cut short")
		}
		for _, other := range all {
			if string(other) != string(key) {
				set(key, records[string(other)])
				refused("a record is another one's")
			}
		}
		set(key, was)
	}
	for _, gone := range all[2:4] {
		b := s.db.NewBatch()
		require.NoError(t, b.Delete(gone, nil))
		require.NoError(t, s.apply(b, false))
		refused("an entry is missing")
		set(gone, records[string(gone)])
	}
	again := func(kind byte, numbers ...uint64) {
		set(l.key(kind), seal(nil, l.key(kind), func(dst []byte) []byte { return appendNumbers(dst, numbers...) }))
	}
	for what, numbers := range map[string][]uint64{
		"committed entries are missing":   {2, 1, 5},
		"entries are of a later term":     {1, 1, 3},
		"what was cut off is uncommitted": {2, 1, 0},
	} {
		again(hardStateKind, numbers...)
		refused(what)
	}
	set(l.key(hardStateKind), records[string(l.key(hardStateKind))])
	_, err := s.Log(1, 7)
	require.NoError(t, err)
}

// TestLogBitRot flips bits in the files of a store that has crashed or was closed, and cuts the files short. Each time, opening the store
// or its log fails, or nothing is missing. The exception is the last WAL after a crash of the machine, which has not written the record of
// what is synced: only its last two writes, or what is cut off, may be missing.
func TestLogBitRot(t *testing.T) {
	crashable := vfs.NewCrashableMem()
	s := openStore(t, crashable)
	l := openLog(t, s, 1)
	model := logModel{entries: []*pb.Entry{entry(0, 0, "")}}
	for i := range uint64(40) {
		model.hard = hardState(1, 1, i+1)
		e := entry(i+1, 1, strings.Repeat("x", 4000))
		require.NoError(t, l.Append(model.hard, []*pb.Entry{e}, true))
		model.entries = append(model.entries, e)
		if i == 20 {
			require.NoError(t, s.db.Flush())
		}
	}
	crashed := crashable.CrashClone(vfs.CrashCloneCfg{})
	killed := crashable.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	require.NoError(t, s.Close())
	for how, whole := range map[string]*vfs.MemFS{"crashed": crashed, "killed": killed, "closed": crashable.CrashClone(vfs.CrashCloneCfg{})} {
		names, err := whole.List("log")
		require.NoError(t, err)
		slices.Sort(names)
		counts := map[string]int{}
		for _, name := range names {
			path := whole.PathJoin("log", name)
			info, err := whole.Stat(path)
			require.NoError(t, err)
			kind := path[strings.LastIndex(path, ".")+1:]
			if kind != "log" && kind != "sst" {
				continue
			}
			for at := int64(0); at < info.Size(); at += 3001 {
				for _, cut := range []bool{false, true} {
					fs := whole.CrashClone(vfs.CrashCloneCfg{})
					damageFile(t, fs, path, at, cut)
					what := fmt.Sprintf("%s %s of %d bytes at %d, cut %v", how, name, info.Size(), at, cut)
					s, err := OpenLogStore(LogStoreOptions{Dir: "log", FS: fs, Logger: slog.New(slog.DiscardHandler)})
					if err != nil {
						counts["refused"]++
						continue
					}
					l, err := s.Log(1, 7)
					switch {
					case err != nil:
						require.ErrorIs(t, err, ErrDamaged, what)
						counts["refused"]++
					case model.differs(l) == "":
						counts["unchanged"]++
					default:
						counts["shorter"]++
						require.Equal(t, "log", kind, what)
						// Pebble notes a sync just after it wakes the writer: the next entry may not tell of it yet, the one after does.
						require.True(t, cut || l.last >= 38, "%s: entries up to %d are left", what, l.last)
					}
					require.NoError(t, s.Close())
				}
			}
		}
		t.Log(how, counts)
		require.Positive(t, counts["refused"])
		require.Equal(t, how == "crashed", counts["shorter"] > 0)
	}
}

// TestLogDamageIsLoggedOnce reads and compacts a damaged table again and again.
func TestLogDamageIsLoggedOnce(t *testing.T) {
	fs := vfs.NewMem()
	s := openStore(t, fs)
	l := openLog(t, s, 1)
	for i := range uint64(3) {
		require.NoError(t, l.Append(hardState(1, 0, 0), []*pb.Entry{entry(i+1, 1, strings.Repeat("x", 4000))}, true))
		require.NoError(t, s.db.Flush())
	}
	require.NoError(t, s.Close())
	names, err := fs.List("log")
	require.NoError(t, err)
	tables := slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".sst") })
	damageFile(t, fs, fs.PathJoin("log", slices.Max(tables)), 0, false) // the first table has the store's id
	var log bytes.Buffer
	s, err = OpenLogStore(LogStoreOptions{Dir: "log", FS: fs, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	for range 3 {
		_, err := s.Log(1, 7)
		require.ErrorIs(t, err, ErrDamaged)
		require.Error(t, s.db.Compact(t.Context(), []byte{0}, []byte{9}, false))
	}
	require.ErrorIs(t, s.Err(), ErrDamaged)
	require.NoError(t, s.Close())
	require.Equal(t, 1, strings.Count(log.String(), "store failed"), log.String())
	require.Equal(t, 1, strings.Count(log.String(), "background work failed"), log.String())
}

// damageFile flips a bit of the byte at a place, or cuts the file off there.
func damageFile(t *testing.T, fs vfs.FS, path string, at int64, cut bool) {
	b := readFile(t, fs, path)
	if b[at] ^= 0x10; cut {
		b = b[:at]
	}
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(b)
	d, opened := fs.OpenDir(fs.PathDir(path))
	require.NoError(t, errors.Join(err, f.Sync(), f.Close(), opened))
	require.NoError(t, errors.Join(d.Sync(), d.Close()))
}

func readFile(t *testing.T, fs vfs.FS, path string) []byte {
	f, err := fs.Open(path)
	require.NoError(t, err)
	b, err := io.ReadAll(f)
	require.NoError(t, errors.Join(err, f.Close()))
	return b
}

// TestLogFaults makes each write and sync of the store fail in turn. The append that hits the fault fails, and so do all later
// ones; every acknowledged append survives a reopen.
func TestLogFaults(t *testing.T) {
	for step := int32(0); ; step++ {
		mem := vfs.NewCrashableMem()
		require.NoError(t, openStore(t, mem).Close())
		at := errorfs.OnIndex(step)
		vital := errorfs.InjectorFunc(func(op errorfs.Op) error { // the record of what is synced may lag behind
			if strings.HasSuffix(op.Path, "SYNCED") {
				return nil
			}
			return errorfs.ErrInjected.If(errorfs.And(errorfs.Writes, at)).MaybeError(op)
		})
		s, err := OpenLogStore(LogStoreOptions{Dir: "log", FS: errorfs.Wrap(mem, vital), Logger: slog.New(slog.DiscardHandler)})
		acknowledged := uint64(0)
		if err == nil {
			l := openLog(t, s, 1)
			for i := range uint64(3) {
				if err = l.Append(hardState(1, 0, 0), []*pb.Entry{entry(i+1, 1, "x")}, true); err != nil {
					require.Error(t, l.Append(hardState(2, 0, 0), nil, true))
					break
				}
				acknowledged = i + 1
			}
		}
		s = openStore(t, mem.CrashClone(vfs.CrashCloneCfg{}))
		l := openLog(t, s, 1)
		require.GreaterOrEqual(t, l.last, acknowledged)
		require.NoError(t, s.Close())
		if err == nil {
			require.Positive(t, step)
			return
		}
	}
}

// TestLogStalls holds up the syncs of a store, which says so until they end.
func TestLogStalls(t *testing.T) {
	var hold atomic.Bool
	held, end := make(chan struct{}, 100), make(chan struct{})
	s := openStore(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if hold.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
			held <- struct{}{}
			<-end
		}
		return nil
	})))
	l := openLog(t, s, 1)
	require.NoError(t, l.Append(hardState(1, 0, 0), nil, true))
	require.Zero(t, s.Stalled())
	hold.Store(true)
	done := make(chan error)
	go func() { done <- l.Append(hardState(2, 0, 0), nil, true) }()
	<-held
	first := s.Stalled()
	require.Positive(t, first)
	require.Eventually(t, func() bool { return s.Stalled() > first }, time.Minute, time.Millisecond)
	close(end)
	require.NoError(t, <-done)
	require.Zero(t, s.Stalled())
	require.NoError(t, s.Close())
}

// TestLogFullDisk fills the disk at a random moment, under files of one kind or all, and makes room again: writes wait meanwhile, the store
// says why, and all that was acknowledged survives a crash. Then the disk fills up for good: what waits ends when the process is to end.
func TestLogFullDisk(t *testing.T) {
	for seed := range seeds(10) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			kind := []string{"", ".log", ".sst", "MANIFEST", ".log"}[seed%5]
			mem := vfs.NewCrashableMem()
			var full atomic.Bool
			interrupt := make(chan struct{})
			s, err := OpenLogStore(LogStoreOptions{
				Dir: "log", MemtableBytes: 256 << 10, Logger: slog.New(slog.DiscardHandler), Interrupt: interrupt,
				FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
					if !full.Load() || !strings.Contains(op.Path, kind) {
						return nil
					}
					switch op.Kind {
					case errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpLink:
						return syscall.ENOSPC
					default:
						return nil
					}
				})),
			})
			require.NoError(t, err)
			l := openLog(t, s, 1)
			var acknowledged atomic.Uint64
			ended := make(chan error, 1)
			go func() {
				for i := uint64(1); ; i++ {
					data := strings.Repeat("x", rng.IntN(20_000))
					if err := l.Append(hardState(1, 0, 0), []*pb.Entry{entry(i, 1, data)}, true); err != nil {
						ended <- err
						return
					}
					acknowledged.Store(i)
				}
			}()
			await := func(n uint64) {
				require.Eventually(t, func() bool { return acknowledged.Load() >= n }, time.Minute, time.Millisecond)
			}
			check := func() {
				n := acknowledged.Load()
				crashed := openStore(t, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(50 * (seed % 3)), RNG: rand.New(rand.NewPCG(seed, 4))}))
				require.GreaterOrEqual(t, openLog(t, crashed, 1).last, n)
				require.NoError(t, crashed.Close())
			}
			await(1 + seed*10)
			full.Store(true)
			// Only files of one kind may find no room, so that the store may take writes again for a moment.
			require.Eventually(t, func() bool { return errors.Is(s.Writable(), syscall.ENOSPC) }, time.Minute, time.Millisecond)
			require.NoError(t, s.Err())
			check()
			full.Store(false)
			await(acknowledged.Load() + 100)
			require.Eventually(t, func() bool { return s.Writable() == nil }, time.Minute, time.Millisecond)
			check()
			full.Store(true)
			require.Eventually(t, func() bool { return s.Writable() != nil }, time.Minute, time.Millisecond)
			close(interrupt)
			require.ErrorIs(t, <-ended, syscall.ENOSPC)
			require.ErrorIs(t, s.Close(), syscall.ENOSPC)
			check()
		})
	}
}

// FuzzRecord decodes arbitrary bytes as records: nothing panics, and every decoded record encodes to the same bytes.
func FuzzRecord(f *testing.F) {
	key := logKey(1, 2, entryKind)
	f.Add([]byte{})
	f.Add(seal(nil, key, func(dst []byte) []byte { return appendEntry(dst, entry(1, 300, "data")) }))
	f.Add(appendEntry(nil, entry(1, 1, "")))
	f.Add(appendNumbers(nil, 1, 2, 1<<60))
	f.Fuzz(func(t *testing.T, b []byte) {
		if payload, err := unseal(key, b); err == nil {
			require.Equal(t, b, seal(nil, key, func(dst []byte) []byte { return append(dst, payload...) }))
		} else {
			require.ErrorIs(t, err, ErrDamaged)
		}
		if e, err := readEntry(9, b); err == nil {
			again, err := readEntry(9, appendEntry(nil, e))
			require.NoError(t, err)
			require.True(t, proto.Equal(e, again))
		} else {
			require.ErrorIs(t, err, ErrDamaged)
		}
		var numbers [3]uint64
		if err := readNumbers(b, &numbers[0], &numbers[1], &numbers[2]); err == nil {
			var again [3]uint64
			require.NoError(t, readNumbers(appendNumbers(nil, numbers[:]...), &again[0], &again[1], &again[2]))
			require.Equal(t, numbers, again)
		} else {
			require.ErrorIs(t, err, ErrDamaged)
		}
	})
}

// TestRecordFormat pins the encoding of records: a change breaks existing logs.
func TestRecordFormat(t *testing.T) {
	key := binary.BigEndian.AppendUint64(logKey(0x0a0b, 0x0c0d, entryKind), 5)
	require.Equal(t, "0200000a0b0000000000000c0d020000000000000005", hex.EncodeToString(key))
	e := entry(5, 300, "data")
	e.Type = pb.EntryConfChangeV2.Enum()
	record := seal(nil, key, func(dst []byte) []byte { return appendEntry(dst, e) })
	require.Equal(t, "87bf7b3c02ac0264617461", hex.EncodeToString(record))
	key = logKey(1, 2, hardStateKind)
	record = seal(nil, key, func(dst []byte) []byte { return appendNumbers(dst, 300, 2, 1) })
	require.Equal(t, "cade52b6ac020201", hex.EncodeToString(record))
}

// The bytes after an entry are exact for the last entries, and else too high by those up to the next mark at most.
func TestLogAfter(t *testing.T) {
	s := openStore(t, vfs.NewMem())
	defer func() { require.NoError(t, s.Close()) }()
	l := openLog(t, s, 1)
	const entries, size = 300, 64 << 10
	for i := uint64(1); i <= entries; i++ {
		require.NoError(t, l.Append(hardState(1, 7, i), []*pb.Entry{entry(i, 1, strings.Repeat("x", size))}, false))
	}
	require.Greater(t, l.tail[0].GetIndex(), uint64(2), "some entries are on disk alone")
	for i := uint64(0); i <= entries; i++ {
		exact := (entries - i) * (size + entryOverhead)
		got := l.after(i)
		require.GreaterOrEqual(t, got, exact)
		if i+1 >= l.tail[0].GetIndex() {
			require.Equal(t, exact, got)
		}
		require.LessOrEqual(t, got, exact+markBytes+size+entryOverhead)
	}
}
