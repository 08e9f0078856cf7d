package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/storage/keys"
)

// A part that is the state of a replica has stores without write-ahead logs: the log of the replica holds their batches. Each batch
// also sets the index of its log entry. After a crash a store is at the entry of its last flush, the replica applies the entries of
// its log once more, and each store skips those that it has.
//
// Whether the part accepts a batch depends on its epoch, which the graph store holds. The values store is therefore flushed before
// the epoch changes: a batch of large values that is applied once more meets the epoch that it met at first.

// Replica says that parts are the state of a replica.
type Replica struct {
	// ID names the log that goes with the parts.
	ID string
	// New says that the log is empty.
	New bool
}

// entryLog tells which log entries an instance has.
type entryLog struct {
	entry   uint64        // index of the entry whose changes are being applied
	applied uint64        // index of the last entry that has changed the store
	values  valuesNumber  // of the last batch, in a store of large values
	bytes   atomic.Uint64 // size of all batches
}

// valuesNumber numbers the batches of large values, which give the part no version, within the epoch of their writer. So a
// batch that arrives once more is known, however late it does.
type valuesNumber struct{ epoch, number uint64 }

// has reports whether the batch with a number was applied.
func (v valuesNumber) has(epoch, number uint64) bool { return v.epoch == epoch && number <= v.number }

// appliedKey is the key of the index, and appliedEnd the bound behind it: the key of a large value may begin with the same byte.
var appliedKey, appliedEnd = []byte{byte(keys.Applied)}, []byte{byte(keys.Applied), 0}

// mark adds the index of the entry to a batch.
func (l *entryLog) mark(b *pebble.Batch) error {
	record := binary.AppendUvarint(nil, l.entry)
	if l.values != (valuesNumber{}) {
		record = binary.AppendUvarint(binary.AppendUvarint(record, l.values.epoch), l.values.number)
	}
	if err := b.Set(appliedKey, record, nil); err != nil {
		return err
	}
	l.applied = l.entry
	l.bytes.Add(uint64(b.Len()))
	return nil
}

// number notes the number of the batch of large values that is being applied.
func (in *instance) number(v valuesNumber) {
	if in.logged != nil {
		in.logged.values = v
	}
}

// readEntryIndex reads the index of the last entry that a store has, 0 if it has none, and the number of its last batch of large
// values.
func readEntryIndex(db *pebble.DB, o *pebble.IterOptions) (index uint64, values valuesNumber, err error) {
	if o == nil {
		o = &pebble.IterOptions{}
	}
	o.LowerBound, o.UpperBound = appliedKey, appliedEnd
	it, err := db.NewIter(o)
	if err != nil {
		return 0, values, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.First() {
		return 0, values, it.Error()
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return 0, values, err
	}
	index, rest := uvarint(v)
	if len(rest) > 0 {
		values.epoch, rest = uvarint(rest)
		values.number, rest = uvarint(rest)
	}
	if rest == nil || len(rest) > 0 {
		return 0, values, corrupt("applied entry", appliedKey, errRecord)
	}
	return index, values, nil
}

// has reports whether the store has the changes of an entry, and else makes it the one whose changes follow.
func (in *instance) has(entry uint64) bool {
	if in.logged == nil {
		return false
	}
	if entry <= in.logged.applied {
		return true
	}
	in.logged.entry = entry
	return false
}

// stores are the part's stores.
func (p *Part) stores() [2]*instance { return [2]*instance{p.s.disk.graph, p.s.disk.values} }

// Applied is the index of the last log entry that has changed the part.
func (p *Part) Applied() (index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.stores() {
		index = max(index, in.logged.applied)
	}
	return index
}

// Durable is the index up to which a crash takes no entry from the part; ok is false if it takes none at all.
func (p *Part) Durable() (index uint64, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.stores() {
		var durable uint64
		err := in.guard(func() (err error) {
			durable, _, err = readEntryIndex(in.db, &pebble.IterOptions{OnlyReadGuaranteedDurable: true})
			return err
		})
		if err != nil {
			return 0, false, err
		}
		if durable < in.logged.applied && (!ok || durable < index) {
			index, ok = durable, true
		}
	}
	return index, ok, nil
}

// StartAt makes the part durable as it is, as the state before the log entry that follows an index. It is for a part that the log does
// not make, or not before that entry.
func (p *Part) StartAt(ctx context.Context, index uint64) error {
	for _, in := range p.stores() {
		in.logged.entry = index
		b := in.newBatch()
		if _, err := in.apply(b, false, false); err != nil {
			return err
		}
	}
	return p.s.Flush(ctx)
}
