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
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// A commit of one shard is one batch. A commit of several is
//
//	1. the large values of each shard, synced;
//	2. the intent in shard 0, synced: a number, greater than all before, and the batch of each shard;
//	3. the batches, each with the number of the intent in it, synced;
//	4. the deletion of the intent, which is part of the next intent's batch if shard 0 is in another process.
//
// Opening the graph completes the intents that it finds, in the shards that have not applied their number.

// Commit applies the changes of writers, one for each shard, which end with it, and returns once they can be read; wait then waits
// until they are durable. Each writer must have begun when its shard was as it is now. intents counts the graph's commits over several
// shards. After an error the graph refuses further writes, unless nothing was applied.
func Commit(shards []*Shard, ws []*staging.Writer, cm *CommitInfo, intents *uint64) (wait func() error, err error) {
	var touched []*change
	for i, w := range ws {
		if w.Empty() {
			if err := w.Discard(); err != nil {
				return nil, err
			}
			continue
		}
		touched = append(touched, &change{w: w, s: shards[i]})
	}
	defer func() {
		for _, c := range touched {
			err = errors.Join(err, c.w.Discard())
		}
	}()
	for _, s := range shards {
		if err := s.Writable(); err != nil {
			return nil, err
		}
	}
	if len(touched) == 0 {
		return func() error { return nil }, nil
	}
	if len(cm.IDs) > 0 {
		recordCommits(touched[0].w, cm.IDs)
		if err := touched[0].s.purgeOutcomes(); err != nil {
			return nil, err
		}
	}
	for i, c := range touched {
		if err := c.prepare(len(touched) == 1); err != nil {
			return nil, err
		}
		if err := cm.log(c, i == 0); err != nil {
			return nil, err
		}
	}
	for _, c := range touched {
		if err := cm.note(c.batch); err != nil {
			return nil, err
		}
	}
	if err := commitLarge(touched); err != nil {
		return nil, err
	}
	if err := syncBefore(shards, touched); err != nil {
		return nil, err
	}
	if len(touched) == 1 {
		return touched[0].apply()
	}
	end, err := writeIntent(shards[0], touched, intents)
	if err != nil {
		return nil, err
	}
	waits := make([]func() error, len(touched))
	err = eachChange(touched, func(i int) (err error) {
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

// eachChange calls f for each change. Calls for shards in other processes, which take a round trip and a sync, run concurrently.
func eachChange(cs []*change, f func(i int) error) error {
	errs := make([]error, len(cs))
	var others sync.WaitGroup
	for i, c := range cs {
		if c.s.graph.Durable() && len(cs) > 1 {
			others.Go(func() { errs[i] = f(i) })
		}
	}
	for i, c := range cs {
		if !c.s.graph.Durable() || len(cs) == 1 {
			errs[i] = f(i)
		}
	}
	others.Wait()
	return errors.Join(errs...)
}

// syncBefore syncs earlier batches that the changes depend on but could overtake. Commits to one shard reach the disk in order, since they
// share a log; but an intent or an ingested table could reach it before earlier batches of its shards, and a commit to one shard before an
// earlier commit to another.
func syncBefore(shards []*Shard, touched []*change) error {
	overtakes := len(touched) > 1 || touched[0].table
	var errs []error
	var waits []func() error
	for _, s := range shards {
		on := slices.ContainsFunc(touched, func(c *change) bool { return c.s == s })
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

// change is a commit's part for one shard.
type change struct {
	w             *staging.Writer
	s             *Shard
	batch         *pebble.Batch
	stored        NextIDs // the ids that the batch stores
	counters      stats.Counters
	degrees       stats.Degrees
	records, runs int // delta records, and of these runs of a bulk
	touched       []keys.GroupChunk
	table         bool // it is ingested as tables
}

// prepare makes the batch of all changes. Changes to the shard alone may become tables; see isTable.
func (c *change) prepare(alone bool) (err error) {
	s, over := c.s, c.w.Overlay()
	if c.records, c.runs, c.touched, err = c.w.Finish(); err != nil {
		return err
	}
	c.table = c.isTable(alone)
	c.batch = s.graph.NewBatch()
	if !c.table {
		if err := over.AppendTo(c.batch); err != nil {
			return err
		}
	}
	_, large := over.Large()
	// This may cover ids that other transactions have reserved, which is fine.
	c.stored = NextIDs{
		Vertex: s.writing.NextVertex.Load(), Edge: s.writing.NextEdge.Load(),
		value: c.w.State().NextValue + uint64(len(large)), Text: s.next.Text + uint64(c.w.Texts.Len()),
	}
	put := func(what byte, old, now uint64) error {
		if now == old {
			return nil
		}
		return c.batch.Set(keys.MetaKey(what), binary.AppendUvarint(nil, now), nil)
	}
	err = errors.Join(
		put(keys.MetaNextVertex, s.next.Vertex, c.stored.Vertex), put(keys.MetaNextEdge, s.next.Edge, c.stored.Edge),
		put(keys.MetaNextValue, s.next.value, c.stored.value), put(keys.MetaNextText, s.next.Text, c.stored.Text), c.w.Texts.AppendTo(c.batch, s.next.Text),
	)
	if err != nil {
		return err
	}
	// Later commits must not reuse the ids of large values, even if this commit fails.
	s.next.value, s.next.Text = c.stored.value, c.stored.Text
	if c.counters, err = s.counters.Add(c.batch, c.w.Counts); err != nil {
		return err
	}
	if c.degrees, err = s.degrees.Add(c.batch, c.w.Resized); err != nil {
		return err
	}
	for ix, sk := range c.w.Sketches {
		if err := c.batch.Set(stats.SketchKey(ix), sk[:], nil); err != nil {
			return err
		}
	}
	if bulk, _ := c.w.Packed(); bulk != nil && !c.table {
		return bulk.Each(nil, nil, func(k, v []byte) error { return c.batch.Set(k, v, nil) })
	}
	return nil
}

// startSync starts to sync what was applied; wait returns when that is done.
func (s *Shard) startSync() (wait func() error, err error) {
	b := s.graph.NewBatch()
	if err := b.LogData([]byte{0}, nil); err != nil {
		return nil, err
	}
	s.compaction.note(nil)
	return s.apply(b, true, false)
}

// apply applies a batch to the graph store and counts it; see kv.Store.
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
func commitLarge(cs []*change) error {
	waits := make([]func() error, len(cs))
	err := eachChange(cs, func(i int) (err error) {
		waits[i], err = cs[i].applyLarge()
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

// applyLarge applies the large values; wait waits until they are durable.
func (c *change) applyLarge() (wait func() error, err error) {
	first, large := c.w.Overlay().Large()
	if len(large) == 0 {
		return func() error { return nil }, nil
	}
	b := c.s.values.NewBatch()
	var key []byte
	for i, cell := range large {
		key = keys.AppendValueKey(key[:0], first+uint64(i))
		if err := b.Set(key, cell, nil); err != nil {
			return nil, err
		}
	}
	return c.s.values.Apply(b, true, false)
}

// apply applies the batch, or ingests the tables, and updates the shard's memory.
func (c *change) apply() (wait func() error, err error) {
	s := c.s
	s.compaction.note(c.touched)
	if c.table {
		s.version++
		if err := c.ingest(); err != nil {
			return nil, err
		}
		c.adopt()
		return func() error { return nil }, nil
	}
	wait, err = s.apply(c.batch, true, true)
	if err != nil {
		return nil, err
	}
	s.committed = s.applied
	c.adopt()
	return wait, nil
}

// adopt updates the shard's memory.
func (c *change) adopt() {
	s := c.s
	s.next = c.stored
	if c.counters != nil {
		s.counters, s.degrees = c.counters, c.degrees
	}
	if len(c.w.Sketches) > 0 {
		m := maps.Clone(s.sketches)
		maps.Copy(m, c.w.Sketches)
		s.sketches = m
	}
	s.deltaCount += c.records
	s.runCount += c.runs
}

// writeIntent writes the intent of a commit. The caller calls end once the batches are synced, to delete it.
func writeIntent(first *Shard, cs []*change, intents *uint64) (end func() error, err error) {
	*intents++
	number := binary.BigEndian.AppendUint64(nil, *intents)
	var record []byte
	for _, c := range cs {
		if err := c.batch.Set(keys.MetaKey(keys.MetaIntent), binary.AppendUvarint(nil, *intents), nil); err != nil {
			return nil, err
		}
		repr := c.batch.Repr()
		record = binary.AppendUvarint(record, uint64(c.s.no))
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

// noteEnded notes a completed intent, for dropEnded.
func (s *Shard) noteEnded(key []byte) {
	s.endedMu.Lock()
	defer s.endedMu.Unlock()
	s.ended = append(s.ended, key)
}

// dropEnded adds the deletion of completed intents to a batch.
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

// Recover completes the opening of a graph's shards, given in order: it completes pending intents, reads what the shards hold in memory,
// and deletes large values to which no commit refers. It returns the number of the last intent.
func Recover(shards []*Shard) (intents uint64, err error) {
	applied := make([]uint64, len(shards))
	for i, s := range shards {
		if applied[i], err = kv.ReadNumber(s.graph.Live(), keys.MetaKey(keys.MetaIntent)); err != nil {
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
					return kv.Unavailable("storage: a commit is pending; open the graph for writing once to complete it", nil)
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

// put applies a small batch outside of transactions, durably.
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
