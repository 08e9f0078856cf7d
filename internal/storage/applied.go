package storage

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

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
	index, rest := codec.Uvarint(v)
	if len(rest) > 0 {
		values.epoch, rest = codec.Uvarint(rest)
		values.number, rest = codec.Uvarint(rest)
	}
	if rest == nil || len(rest) > 0 {
		return 0, values, corrupt("applied entry", appliedKey, codec.ErrRecord)
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
