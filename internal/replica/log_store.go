package replica

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	pb "go.etcd.io/raft/v3/raftpb"
)

// StoreID names a log store: a process that loses its disk comes back with another one.
type StoreID [16]byte

// LogStore keeps the logs of all replicas of a process in one Pebble store, so that they share its syncs.
//
// The first write that fails ends it: what was to be synced may or may not be there, so all further writes are refused until
// the store is opened again.
//
// Damage is found when a log is opened or read, with one exception: after a crash, damage in the last 32 KiB of Pebble's own log
// looks like the write that the crash has interrupted, and the entries from there on are missing.
type LogStore struct {
	db  *pebble.DB
	id  StoreID
	log *slog.Logger

	failOnce sync.Once
	failed   chan struct{} // closed at the first fault
	fault    error         // set before failed is closed
	// wedged says that Pebble's locks may be held for good, so that the store can no longer be closed.
	wedged atomic.Bool
}

// LogStoreOptions configure a log store.
type LogStoreOptions struct {
	Dir           string
	FS            vfs.FS       // default vfs.Default
	MemtableBytes uint64       // default 64 MiB: most entries are cut off before they reach a table
	Logger        *slog.Logger // default slog.Default()
}

// The keyspaces of a log store. A key of a log is its keyspace, the group (4 bytes), the replica (8 bytes), both big-endian, and a
// byte for the kind of record; an entry's index (8 bytes) follows.
const (
	storeSpace = 0x01
	logSpace   = 0x02
)

// The kinds of a log's records, in the order of their keys.
const (
	hardStateKind = iota // term, vote, commit
	startKind            // index and term of the entry before the first
	entryKind
	endKind // none: the upper bound of a log
)

// OpenLogStore opens the log store in a directory, making it if there is none.
func OpenLogStore(o LogStoreOptions) (*LogStore, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.MemtableBytes == 0 {
		o.MemtableBytes = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &LogStore{log: o.Logger, failed: make(chan struct{})}
	err := s.guard(func() (err error) {
		s.db, err = pebble.Open(o.Dir, &pebble.Options{
			FS: o.FS, FormatMajorVersion: pebble.FormatNewest, MemTableSize: o.MemtableBytes, Logger: pebbleLogger{s},
			EventListener: &pebble.EventListener{
				DataCorruption: func(i pebble.DataCorruptionInfo) {
					s.fail(fmt.Errorf("%w: file %s: %w", ErrDamaged, i.Path, i.Details))
				},
			},
		})
		return err
	})
	if err != nil {
		if pebble.IsCorruptionError(err) {
			err = errors.Join(ErrDamaged, err)
		}
		return nil, fmt.Errorf("open the log store %s: %w", o.Dir, err)
	}
	if err := s.identify(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// identify reads the store's id, or gives it one.
func (s *LogStore) identify() error {
	key := []byte{storeSpace}
	payload, ok, err := s.get(key)
	if err != nil {
		return err
	}
	if ok {
		if copy(s.id[:], payload) != len(s.id) || len(payload) != len(s.id) {
			return fmt.Errorf("%w: a store id of %d bytes", ErrDamaged, len(payload))
		}
		return nil
	}
	if _, err := rand.Read(s.id[:]); err != nil {
		return err
	}
	b := s.db.NewBatch()
	if err := put(b, key, func(dst []byte) []byte { return append(dst, s.id[:]...) }); err != nil {
		return errors.Join(err, b.Close())
	}
	return s.apply(b, true)
}

// ID names the store.
func (s *LogStore) ID() StoreID { return s.id }

// Err says why the store takes no more writes, or is nil.
func (s *LogStore) Err() error {
	select {
	case <-s.failed:
		return s.fault
	default:
		return nil
	}
}

// Close closes the store, whose logs may no longer be in use.
func (s *LogStore) Close() error {
	if s.wedged.Load() {
		<-s.failed
		return s.fault
	}
	return s.db.Close()
}

// Remove deletes the log of a replica, durably.
func (s *LogStore) Remove(group uint32, replica uint64) error {
	b := s.db.NewBatch()
	if err := b.DeleteRange(logKey(group, replica, hardStateKind), logKey(group, replica, endKind), nil); err != nil {
		return errors.Join(err, b.Close())
	}
	return s.apply(b, true)
}

// get reads the payload of a record.
func (s *LogStore) get(key []byte) (payload []byte, ok bool, err error) {
	record, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, asDamage(err)
	}
	record = append([]byte(nil), record...)
	if err := closer.Close(); err != nil {
		return nil, false, err
	}
	payload, err = unseal(key, record)
	return payload, err == nil, err
}

// apply puts a batch in and ends it. After an error the store takes no more writes.
func (s *LogStore) apply(b *pebble.Batch, sync bool) error {
	if err := s.Err(); err != nil {
		return err
	}
	opts := pebble.NoSync
	if sync {
		opts = pebble.Sync
	}
	err := s.guard(func() error { return s.db.Apply(b, opts) })
	if err != nil {
		s.fail(err)
		return s.fault // the batch may still be in use
	}
	return b.Close()
}

func (s *LogStore) fail(err error) {
	s.failOnce.Do(func() {
		s.fault = fmt.Errorf("replica: the log store takes no more writes: %w", err)
		s.log.Error("log store failed", slog.String("error", err.Error()))
		close(s.failed)
	})
}

// guard runs f, which Pebble may stop for good or end by a panic after a fault of the disk.
func (s *LogStore) guard(f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				err := fmt.Errorf("%v", r)
				s.wedged.Store(true)
				s.fail(err)
				done <- err
			}
		}()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-s.failed:
		return s.fault
	}
}

// pebbleLogger makes an error of Pebble's wish to end the process.
type pebbleLogger struct{ s *LogStore }

// Infof implements pebble.Logger: its messages serve Pebble's developers alone.
func (pebbleLogger) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (l pebbleLogger) Errorf(format string, args ...any) {
	l.s.log.Error("pebble", slog.String("store", "log"), slog.String("error", fmt.Sprintf(format, args...)))
}

// Fatalf implements pebble.Logger. The caller's state is broken, so it must not go on; the process can.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.s.wedged.Store(true)
	l.s.fail(fmt.Errorf(format, args...))
	select {}
}

// asDamage makes ErrDamaged of the damage that Pebble finds.
func asDamage(err error) error {
	if err != nil && pebble.IsCorruptionError(err) {
		return errors.Join(ErrDamaged, err)
	}
	return err
}

func logKey(group uint32, replica uint64, kind byte) []byte {
	key := make([]byte, 0, 22)
	key = append(key, logSpace)
	key = binary.BigEndian.AppendUint32(key, group)
	key = binary.BigEndian.AppendUint64(key, replica)
	return append(key, kind)
}

// put adds a record to a batch.
func put(b *pebble.Batch, key []byte, payload func(dst []byte) []byte) error {
	return b.Set(key, seal(nil, key, payload), nil)
}

// putEntry adds an entry to a batch, without a copy of its data in between.
func putEntry(b *pebble.Batch, key []byte, e *pb.Entry) error {
	var head [1 + binary.MaxVarintLen64]byte
	size := sumSize + len(e.GetData()) + len(appendEntry(head[:0], &pb.Entry{Type: e.Type, Term: e.Term}))
	op := b.SetDeferred(len(key), size)
	copy(op.Key, key)
	seal(op.Value[:0], key, func(dst []byte) []byte { return appendEntry(dst, e) })
	return op.Finish()
}
