package storage

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// A commit of one shard is one batch. A commit of several is
//
//	1. the large values of each shard, synced;
//	2. the intent in shard 0, synced: a number, greater than all before, and the batch of each shard;
//	3. the batches, each with the number of the intent in it, synced;
//	4. the end of the intent, which goes along with the next one if another process keeps shard 0.
//
// An intent that is found when the graph is opened is carried out in the shards that have not seen its number.

// Commit applies the changes of writers, one a shard, which end with it, and returns once they can be read; wait then
// gives the end of their sync. ids name the transactions, see CommitID. intents must count the graph's commits over several
// shards. After an error the graph takes no more writes, unless nothing was applied.
func Commit(ws []*Writer, ids []CommitID, intents *uint64) (wait func() error, err error) {
	var touched []*Writer
	for _, w := range ws {
		if w.Empty() {
			if err := w.Discard(); err != nil {
				return nil, err
			}
			continue
		}
		touched = append(touched, w)
	}
	defer func() {
		for _, w := range touched {
			err = errors.Join(err, w.Discard())
		}
	}()
	for _, w := range ws {
		if err := w.shard.Writable(); err != nil {
			return nil, err
		}
	}
	if len(touched) == 0 {
		return func() error { return nil }, nil
	}
	if len(ids) > 0 {
		touched[0].recordCommits(ids)
		if err := touched[0].shard.purgeOutcomes(); err != nil {
			return nil, err
		}
	}
	for _, w := range touched {
		if err := w.prepare(len(touched) == 1); err != nil {
			return nil, err
		}
		if err := w.commitBulk(); err != nil {
			return nil, err
		}
	}
	if err := commitLarge(touched); err != nil {
		return nil, err
	}
	if err := syncBefore(ws, touched); err != nil {
		return nil, err
	}
	if len(touched) == 1 {
		return touched[0].apply()
	}
	end, err := writeIntent(ws[0].shard, touched, intents)
	if err != nil {
		return nil, err
	}
	waits := make([]func() error, len(touched))
	err = eachWriter(touched, func(i int) (err error) {
		waits[i], err = touched[i].apply()
		return err
	})
	if err != nil {
		return nil, err
	}
	return func() error {
		var errs []error
		for _, w := range waits {
			errs = append(errs, w())
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return end()
	}, nil
}

// eachWriter calls f for each of some writers. Calls for shards of other processes, each of which takes a round trip and a sync,
// run at the same time.
func eachWriter(ws []*Writer, f func(i int) error) error {
	errs := make([]error, len(ws))
	var others sync.WaitGroup
	for i, w := range ws {
		if w.shard.graph.Durable() && len(ws) > 1 {
			others.Go(func() { errs[i] = f(i) })
		}
	}
	for i, w := range ws {
		if !w.shard.graph.Durable() || len(ws) == 1 {
			errs[i] = f(i)
		}
	}
	others.Wait()
	return errors.Join(errs...)
}

// syncBefore makes durable what the changes of touched writers stand on and could overtake. Commits of one shard go to
// disk in their order, since they share a log; but an intent, or a table that is ingested, may get there before what was
// applied to its shards before it, and a commit to one shard before an earlier commit to another.
func syncBefore(ws, touched []*Writer) error {
	overtakes := len(touched) > 1 || touched[0].table
	var errs []error
	var waits []func() error
	for _, w := range ws {
		s := w.shard
		on := slices.Contains(touched, w)
		if on && (!overtakes || s.synced.Load() >= s.applied) || !on && s.synced.Load() >= s.committed {
			continue
		}
		wait, err := s.startSync()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		waits = append(waits, wait)
	}
	for _, wait := range waits {
		errs = append(errs, wait())
	}
	return errors.Join(errs...)
}

// startSync begins to make durable all that was applied; wait gives the end.
func (s *Shard) startSync() (wait func() error, err error) {
	b := s.graph.NewBatch()
	if err := b.LogData([]byte{0}, nil); err != nil {
		return nil, err
	}
	s.compaction.note(nil)
	return s.apply(b, true, false)
}

// apply puts a batch into the graph instance and counts it; see instance.apply.
func (s *Shard) apply(b *pebble.Batch, sync, snap bool) (wait func() error, err error) {
	end, err := s.graph.Apply(b, sync, snap)
	if err != nil {
		return nil, err
	}
	s.applied++
	s.version++
	n := s.applied
	if s.graph.Durable() {
		s.synced.Store(n)
		return end, nil
	}
	if !sync {
		return end, nil
	}
	return func() error {
		if err := end(); err != nil {
			return err
		}
		// The log is synced up to here.
		for old := s.synced.Load(); old < n && !s.synced.CompareAndSwap(old, n); old = s.synced.Load() {
		}
		return nil
	}, nil
}

// commitLarge makes the large values durable before anything refers to them.
func commitLarge(ws []*Writer) error {
	waits := make([]func() error, len(ws))
	err := eachWriter(ws, func(i int) (err error) {
		waits[i], err = ws[i].applyLarge()
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, wait := range waits {
		errs = append(errs, wait())
	}
	return errors.Join(errs...)
}

// applyLarge puts the writer's large values in; wait gives the end of their sync.
func (w *Writer) applyLarge() (wait func() error, err error) {
	if len(w.over.large) == 0 {
		return func() error { return nil }, nil
	}
	b := w.shard.values.NewBatch()
	var key []byte
	for i, cell := range w.over.large {
		key = keys.AppendValueKey(key[:0], w.over.firstLarge+uint64(i))
		if err := b.Set(key, cell, nil); err != nil {
			return nil, err
		}
	}
	return w.shard.values.Apply(b, true, false)
}

// apply puts the graph's batch in and makes the shard's memory follow.
func (w *Writer) apply() (wait func() error, err error) {
	s := w.shard
	s.compaction.note(w.ones)
	if w.table {
		s.version++
		if err := w.ingest(); err != nil {
			return nil, err
		}
		w.adopt()
		return func() error { return nil }, nil
	}
	wait, err = s.apply(w.batch, true, true)
	if err != nil {
		return nil, err
	}
	s.committed = s.applied
	w.adopt()
	return wait, nil
}

// adopt makes the shard's memory follow the changes.
func (w *Writer) adopt() {
	s := w.shard
	s.next = w.stored
	if w.counters != nil {
		s.counters, s.degrees = w.counters, w.degrees
	}
	if len(w.sketches) > 0 {
		m := maps.Clone(s.sketches)
		maps.Copy(m, w.sketches)
		s.sketches = m
	}
	s.deltaCount += w.deltaCount
	s.runCount += w.runCount
}

// writeIntent writes the intent of a commit; end removes it, once the batches are synced.
func writeIntent(first *Shard, ws []*Writer, intents *uint64) (end func() error, err error) {
	*intents++
	number := binary.BigEndian.AppendUint64(nil, *intents)
	var record []byte
	for _, w := range ws {
		if err := w.batch.Set(keys.MetaKey(keys.MetaIntent), binary.AppendUvarint(nil, *intents), nil); err != nil {
			return nil, err
		}
		repr := w.batch.Repr()
		record = binary.AppendUvarint(record, uint64(w.shard.no))
		record = binary.AppendUvarint(record, uint64(len(repr)))
		record = append(record, repr...)
	}
	key := append([]byte{byte(keys.Intent)}, number...)
	b := first.graph.NewBatch()
	if err := errors.Join(first.dropEnded(b), b.Set(key, record, nil)); err != nil {
		return nil, err
	}
	wait, err := first.graph.Apply(b, true, false)
	if err != nil {
		return nil, err
	}
	if err := wait(); err != nil {
		return nil, err
	}
	return func() error {
		if first.graph.Durable() {
			first.noteEnded(key)
			return nil
		}
		b := first.graph.NewBatch()
		if err := b.Delete(key, nil); err != nil {
			return err
		}
		wait, err := first.graph.Apply(b, false, false)
		if err != nil {
			return err
		}
		return wait()
	}, nil
}

// noteEnded notes an intent that was carried out.
func (s *Shard) noteEnded(key []byte) {
	s.endedMu.Lock()
	defer s.endedMu.Unlock()
	s.ended = append(s.ended, key)
}

// dropEnded makes a batch remove the intents that were carried out.
func (s *Shard) dropEnded(b *pebble.Batch) error {
	s.endedMu.Lock()
	defer s.endedMu.Unlock()
	var errs []error
	for _, key := range s.ended {
		errs = append(errs, b.Delete(key, nil))
	}
	s.ended = nil
	return errors.Join(errs...)
}

// Recover completes the opening of a graph's shards, given in order: it carries out the intents that they were closed
// with, reads what they keep in memory, and throws away large values that no commit refers to. It returns the number of
// the last intent.
func Recover(shards []*Shard) (intents uint64, err error) {
	applied := make([]uint64, len(shards))
	for i, s := range shards {
		if applied[i], err = ReadNumber(s.graph.Live(), keys.MetaKey(keys.MetaIntent)); err != nil {
			return 0, err
		}
		intents = max(intents, applied[i])
	}
	var found [][]byte
	err = kv.Scan(shards[0].graph.Live(), keys.Intent, func(k, v []byte) error {
		if len(k) != 9 {
			return kv.Corrupt("intent", k, codec.ErrRecord)
		}
		found = append(found, append([]byte(nil), k...))
		number := binary.BigEndian.Uint64(k[1:])
		intents = max(intents, number)
		for len(v) > 0 {
			no, rest := codec.Uvarint(v)
			size, rest := codec.Uvarint(rest)
			if rest == nil || size > uint64(len(rest)) || no >= uint64(len(shards)) {
				return kv.Corrupt("intent", k, codec.ErrRecord)
			}
			if applied[no] < number {
				if shards[0].opts.ReadOnly {
					return kv.Unavailable("storage: a commit must be carried out; open the graph for writing once", nil)
				}
				if err := shards[no].redo(rest[:size]); err != nil {
					return err
				}
				applied[no] = number
			}
			v = rest[size:]
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(found) > 0 && !shards[0].opts.ReadOnly {
		err := shards[0].put(func(b *pebble.Batch) error {
			var errs []error
			for _, k := range found {
				errs = append(errs, b.Delete(k, nil))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			return 0, err
		}
	}
	for _, s := range shards {
		if err := s.load(); err != nil {
			return 0, err
		}
	}
	return intents, nil
}

func (s *Shard) redo(repr []byte) error {
	b := s.graph.NewBatch()
	if err := b.SetRepr(append([]byte(nil), repr...)); err != nil {
		return err
	}
	wait, err := s.graph.Apply(b, true, false)
	if err != nil {
		return err
	}
	return wait()
}

// put writes a small batch, synced, outside of transactions.
func (s *Shard) put(f func(b *pebble.Batch) error) error {
	b := s.graph.NewBatch()
	if err := f(b); err != nil {
		return errors.Join(err, b.Close())
	}
	wait, err := s.graph.Apply(b, true, false)
	if err != nil {
		return err
	}
	return wait()
}
