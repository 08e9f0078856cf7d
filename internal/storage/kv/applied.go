package kv

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
	Entry   uint64        // index of the entry whose changes are being applied
	Applied uint64        // index of the last entry that has changed the store
	Values  ValuesNumber  // of the last batch, in a store of large values
	bytes   atomic.Uint64 // size of all batches
}

// ValuesNumber numbers the batches of large values, which do not change the version of the part, within the epoch of their writer, so that
// a batch that arrives again is recognized.
type ValuesNumber struct{ Epoch, Number uint64 }

// Has reports whether the batch with a number was applied.
func (v ValuesNumber) Has(epoch, number uint64) bool { return v.Epoch == epoch && number <= v.Number }

// appliedKey is the key of the index.
var appliedKey = []byte{byte(keys.Applied)}

// AppliedEnd is the upper bound of the key of the last entry's index. The key of a large value may begin with the same byte.
var AppliedEnd = []byte{byte(keys.Applied), 0}

// mark adds the index of the entry to a batch.
func (l *entryLog) mark(b *pebble.Batch) error {
	record := binary.AppendUvarint(nil, l.Entry)
	if l.Values != (ValuesNumber{}) {
		record = binary.AppendUvarint(binary.AppendUvarint(record, l.Values.Epoch), l.Values.Number)
	}
	if err := b.Set(appliedKey, record, nil); err != nil {
		return err
	}
	l.Applied = l.Entry
	l.bytes.Add(uint64(b.Len()))
	return nil
}

// Number notes the number of the batch of large values that is being applied.
func (in *Instance) Number(v ValuesNumber) {
	if in.Logged != nil {
		in.Logged.Values = v
	}
}

// ReadEntryIndex reads the index of the last entry that a store has, 0 if it has none, and the number of its last batch of large
// values.
func ReadEntryIndex(db *pebble.DB, o *pebble.IterOptions) (index uint64, values ValuesNumber, err error) {
	if o == nil {
		o = &pebble.IterOptions{}
	}
	o.LowerBound, o.UpperBound = appliedKey, AppliedEnd
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
		values.Epoch, rest = codec.Uvarint(rest)
		values.Number, rest = codec.Uvarint(rest)
	}
	if rest == nil || len(rest) > 0 {
		return 0, values, Corrupt("applied entry", appliedKey, codec.ErrRecord)
	}
	return index, values, nil
}

// Has reports whether the store has applied an entry. If not, the next batches belong to that entry.
func (in *Instance) Has(entry uint64) bool {
	if in.Logged == nil {
		return false
	}
	if entry <= in.Logged.Applied {
		return true
	}
	in.Logged.Entry = entry
	return false
}
