package replica

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// StoreID identifies a log store. A process that loses its disk returns with a new ID.
type StoreID [16]byte

// LogStore holds the logs of all replicas of a process in one Pebble store, so they share its syncs.
//
// On a full disk, writes wait until there is room. Any other failed write is final: the data may or may not be on disk, so the store
// rejects all further writes until it is reopened.
//
// Opening or reading a log detects damage, with one exception: after the machine has crashed, damage in the last synced write of the WAL
// may look like a write that the crash interrupted; see kv.Synced. A store that was closed has a seal, which detects this too.
type LogStore struct {
	in      *kv.Instance
	db      *pebble.DB // that of in
	id      StoreID
	closing chan struct{} // closed when the store begins to close

	// pending are the writes that wait for their sync, and progress is when the first of them began or one last ended, by clock.
	pending  atomic.Int32
	progress atomic.Int64
	opened   time.Time
}

// LogStoreOptions configure a log store.
type LogStoreOptions struct {
	Dir           string
	FS            vfs.FS  // default vfs.Default
	MemtableBytes uint64  // default 64 MiB: most entries are compacted away before a flush
	ID            StoreID // of a new store; default random
	// Interrupt, if it is set, is closed when the process begins to end: nothing waits for room on a full disk from then on.
	Interrupt <-chan struct{}
	Logger    *slog.Logger // default slog.Default()
}

// The keyspaces of a log store. A log's key is its keyspace, the group (4 bytes, big-endian), the replica (8 bytes, big-endian)
// and a byte for the record kind; entries append their index (8 bytes). The log store of another process's replica is at its keyspace,
// the group and the replica; so is, without a payload, each replica whose log was removed.
const (
	storeSpace = 0x01
	logSpace   = 0x02
	meetSpace  = 0x03
	goneSpace  = 0x04
)

// The kinds of log records, in key order.
const (
	hardStateKind = iota // term, vote, commit
	startKind            // index and term of the entry before the first, and the members after it
	entryKind
	endKind // no record: the upper bound of a log
)

// OpenLogStore opens the log store in a directory and creates it if it does not exist.
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
	s := &LogStore{closing: make(chan struct{}), opened: time.Now()}
	err := s.open(&o)
	if err != nil {
		return nil, fmt.Errorf("open the log store %s: %w", o.Dir, asDamage(err))
	}
	if err := s.identify(o.ID); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *LogStore) open(o *LogStoreOptions) error {
	if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	old, err := pebble.Peek(o.Dir, o.FS)
	if err != nil {
		return err
	}
	s.in, err = kv.Open(&kv.Options{
		FS: o.FS, Logger: o.Logger, MemtableBytes: int(o.MemtableBytes), Interrupt: o.Interrupt, OnDamage: ErrDamaged,
	}, o.Dir, false, !old.Exists, s.closing)
	if err == nil {
		s.db = s.in.DB
	}
	return err
}

// identify reads the store's ID, or assigns one: a random one for the zero id.
func (s *LogStore) identify(id StoreID) error {
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
	if s.id = id; id == (StoreID{}) {
		if _, err := rand.Read(s.id[:]); err != nil {
			return err
		}
	}
	b := s.db.NewBatch()
	if err := put(b, key, func(dst []byte) []byte { return append(dst, s.id[:]...) }); err != nil {
		return errors.Join(err, b.Close())
	}
	return s.apply(b, true)
}

// ID returns the store's ID.
func (s *LogStore) ID() StoreID { return s.id }

// Err returns the fault after which the store rejects writes, or nil.
func (s *LogStore) Err() error { return s.in.Health.Writable() }

// Writable says why the store cannot be written to now, or nil: on a full disk it waits for room.
func (s *LogStore) Writable() error { return s.in.Writable() }

// Stalled is for how long the disk has completed none of the writes that wait for it, 0 if none waits.
func (s *LogStore) Stalled() time.Duration {
	if s.pending.Load() == 0 {
		return 0
	}
	return time.Since(s.opened) - time.Duration(s.progress.Load())
}

// Close closes the store. Its logs must no longer be in use.
func (s *LogStore) Close() error {
	close(s.closing)
	return s.in.Close()
}

// Remove deletes the log of a replica, durably, and remembers that it did; see Removed.
func (s *LogStore) Remove(group uint32, replica uint64) error {
	b := s.db.NewBatch()
	err := errors.Join(
		b.DeleteRange(logKey(group, replica, hardStateKind), logKey(group, replica, endKind), nil),
		put(b, memberKey(goneSpace, group, replica), func(dst []byte) []byte { return dst }),
	)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	return s.apply(b, true)
}

// Removed reports whether the log of a replica was removed. With the log, the replica has forgotten its votes and the entries that it
// has acknowledged, so it must never take part again: members that do not know yet that it left would count its new votes.
func (s *LogStore) Removed(group uint32, replica uint64) (bool, error) {
	_, ok, err := s.get(memberKey(goneSpace, group, replica))
	return ok, err
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

// apply commits and closes a batch. After an error the store rejects further writes.
func (s *LogStore) apply(b *pebble.Batch, sync bool) error {
	if err := s.Err(); err != nil {
		return err
	}
	opts := pebble.NoSync
	if sync {
		opts = pebble.Sync
		if s.pending.Load() == 0 {
			s.progress.Store(int64(time.Since(s.opened)))
		}
		s.pending.Add(1)
		defer func() {
			s.progress.Store(int64(time.Since(s.opened)))
			s.pending.Add(-1)
		}()
	}
	if err := s.in.Guard(func() error { return s.db.Apply(b, opts) }); err != nil {
		s.in.Fail(err)
		return s.in.Fault // the batch may still be in use
	}
	return b.Close()
}

// asDamage maps the corruption errors of Pebble and of seals to ErrDamaged.
func asDamage(err error) error {
	if err != nil && kv.IsDamage(err) {
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

// putEntry adds an entry to a batch without an intermediate copy of its data.
func putEntry(b *pebble.Batch, key []byte, e *pb.Entry) error {
	var head [1 + binary.MaxVarintLen64]byte
	size := sumSize + len(e.GetData()) + len(appendEntry(head[:0], &pb.Entry{Type: e.Type, Term: e.Term}))
	op := b.SetDeferred(len(key), size)
	copy(op.Key, key)
	seal(op.Value[:0], key, func(dst []byte) []byte { return appendEntry(dst, e) })
	return op.Finish()
}
