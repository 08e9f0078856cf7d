package storage

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/pack"
)

// NewListTable starts a table of lists for TakeIn.
func (s *Shard) NewListTable(path string, t graph.TypeID, dir graph.Direction) (*pack.ListTable, error) {
	return pack.NewListTable(s.opts.FS, path, s.disk.graph.TableOptions(kv.LowestLevel), s.opts.Tuning.SegmentBytes, t, dir)
}

// TakeIn ingests tables that do not overlap; they are durable when it returns. The caller must be the only writer. After Compact the
// tables go to the lowest level, where they split the tables that span them. A table within the bounds of a running compaction would go to
// the top level and be rewritten, so TakeIn waits until none runs.
func (s *Shard) TakeIn(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if err := s.disk.graph.Rest(ctx); err != nil {
		return err
	}
	s.version++
	return s.disk.graph.IngestSplitting(paths)
}

// ReserveEdges reserves n consecutive local edge ids and returns the first.
func (s *Shard) ReserveEdges(n int) (first uint64) {
	return s.writing.NextEdge.Add(uint64(n)) - uint64(n)
}

// NextLarge is the id that the first value of the next PutLarge gets; the others get those that follow.
func (s *Shard) NextLarge() uint64 { return s.valueID(s.next.value) }

// PutLarge stores large values durably, before anything refers to them. The caller must be the only writer.
func (s *Shard) PutLarge(cells [][]byte) error {
	if len(cells) == 0 {
		return nil
	}
	b := s.values.NewBatch()
	var key []byte
	for i, cell := range cells {
		key = keys.AppendValueKey(key[:0], s.NextLarge()+uint64(i))
		if err := b.Set(key, cell, nil); err != nil {
			return err
		}
	}
	wait, err := s.values.Apply(b, true, false)
	if err != nil {
		return err
	}
	if err := wait(); err != nil {
		return err
	}
	s.next.value += uint64(len(cells))
	return s.put(func(b *pebble.Batch) error {
		return b.Set(keys.MetaKey(keys.MetaNextValue), binary.AppendUvarint(nil, s.next.value), nil)
	})
}

// Compact compacts both stores fully, to the lowest level.
func (s *Shard) Compact(ctx context.Context) error {
	if err := s.Flush(ctx); err != nil {
		return err
	}
	var errs []error
	for _, in := range []*kv.Instance{s.disk.graph, s.disk.values} {
		err := in.Guard(func() error {
			return in.DB.Compact(ctx, []byte{0}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true)
		})
		if err != nil {
			errs = append(errs, kv.Unavailable("storage: compact "+in.Name, err))
		}
	}
	return errors.Join(errs...)
}
