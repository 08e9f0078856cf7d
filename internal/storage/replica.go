package storage

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/storage/kv"
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

// stores are the part's stores.
func (p *Part) stores() [2]*kv.Instance {
	return [2]*kv.Instance{p.s.disk.graph, p.s.disk.values}
}

// Applied is the index of the last log entry that has changed the part.
func (p *Part) Applied() (index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.stores() {
		index = max(index, in.Logged.Applied)
	}
	return index
}

// Durable is the index up to which a crash takes no entry from the part; ok is false if it takes none at all.
func (p *Part) Durable() (index uint64, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.stores() {
		var durable uint64
		err := in.Guard(func() (err error) {
			durable, _, err = kv.ReadEntryIndex(in.DB, &pebble.IterOptions{OnlyReadGuaranteedDurable: true})
			return err
		})
		if err != nil {
			return 0, false, err
		}
		if durable < in.Logged.Applied && (!ok || durable < index) {
			index, ok = durable, true
		}
	}
	return index, ok, nil
}

// Restart makes the part, which comes from elsewhere, such as a backup, the state after the log entry with an index, without a writer:
// the epochs of the writers that it had mean nothing in its new place.
func (p *Part) Restart(ctx context.Context, index uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values = kv.ValuesNumber{}
	p.s.disk.values.Number(p.values)
	if err := p.s.put(func(b *pebble.Batch) error { return setVersion(b, 0, p.version) }); err != nil {
		return err
	}
	p.move(0, p.version)
	return p.StartAt(ctx, index)
}

// StartAt makes the part durable as it is, as the state before the log entry that follows an index. It is for a part that the log does
// not make, or not before that entry.
func (p *Part) StartAt(ctx context.Context, index uint64) error {
	for _, in := range p.stores() {
		in.Logged.Entry = index
		b := in.NewBatch()
		if _, err := in.Apply(b, false, false); err != nil {
			return err
		}
	}
	return p.s.Flush(ctx)
}
