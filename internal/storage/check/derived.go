package check

import (
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// checkDegrees compares the degree histograms with the packed lists that were counted.
func (s *shardCheck) checkDegrees() error {
	if !s.first {
		return nil
	}
	stored := stats.Degrees{}
	lower, upper := keys.Bounds(keys.Degree)
	err := s.scan(lower, upper, func(k, v []byte) error {
		d, n, err := stats.ParseDegree(k, v)
		if err != nil {
			s.malformed(k, err)
			return nil
		}
		stored[d] = n
		return nil
	})
	if err != nil {
		return err
	}
	for d := range stored {
		if s.bars[d] == 0 {
			delete(s.bars, d)
			s.degree(d, 0, stored[d])
		}
	}
	for d, n := range s.bars {
		if n != stored[d] {
			s.degree(d, n, stored[d])
		}
	}
	return nil
}

// degree notes that a bar of a degree histogram is stored as another number than was counted.
func (s *shardCheck) degree(d stats.Degree, counted, stored int64) {
	fix := storage.Fix{Shard: s.no, Key: d.Key(), Add: counted - stored}
	way := "out"
	if d.Dir == graph.In {
		way = "in"
	}
	s.note(FaultCounter, []storage.Fix{fix}, "shard %d, %s lists of %s with %d or more edges, below the next power of two: %d, not %d",
		s.no, way, s.cat.TypeName(d.Type), uint64(1)<<d.Power, counted, stored)
}

// marks checks how far the building of indexes has come: a mark is in the first shard beside its index's definition.
func (s *shardCheck) marks() error {
	if !s.first {
		return nil
	}
	lower, upper := keys.Bounds(keys.IndexMark)
	return s.scan(lower, upper, func(k, v []byte) error {
		from, rest := codec.Uvarint(v)
		if len(k) != 5 || rest == nil || len(rest) > 0 {
			s.malformed(k, codec.ErrRecord)
			return nil
		}
		id := graph.IndexID(binary.BigEndian.Uint32(k[1:]))
		fix := []storage.Fix{{Shard: s.no, Key: append([]byte(nil), k...), Delete: true}}
		_, ok, err := kv.Get(s.v.Graph(), storage.IndexKey(id), nil)
		if err != nil {
			return err
		}
		switch no := graph.VertexID(from).Shard(); {
		case !ok:
			s.note(FaultMark, fix, "shard %d: a mark of index %d, which is not there", s.no, id)
		case graph.VertexID(from) != graph.NoVertex && no >= len(s.views):
			s.note(FaultMark, fix, "the building of index %d goes on in shard %d, which is not there", id, no)
		}
		return nil
	})
}

// texts checks the changes that full-text indexes must read: each is of an existing index, and below the next number.
func (s *shardCheck) texts() error {
	if !s.first {
		return nil
	}
	known := map[graph.IndexID]bool{}
	for _, ix := range s.indexes {
		known[ix.ID] = ix.Kind == graph.FullTextIndex
	}
	for _, id := range s.cat.Dropped() {
		known[id] = true
	}
	lower, upper := keys.Bounds(keys.TextChange)
	return s.scan(lower, upper, func(k, v []byte) error {
		if len(k) != keys.EntrySize && len(k) != keys.EntrySize+8 {
			s.malformed(k, codec.ErrRecord)
			return nil
		}
		id := graph.IndexID(binary.BigEndian.Uint32(k[1:]))
		if !known[id] {
			s.note(FaultEntry, []storage.Fix{{Shard: s.no, Key: append([]byte(nil), k...), Delete: true}}, "shard %d: a change for the full-text index %d, which is not there", s.no, id)
			return nil
		}
		if len(k) == keys.EntrySize {
			if _, rest := codec.Uvarint(v); rest == nil || len(rest) > 0 {
				s.malformed(k, codec.ErrRecord)
			}
			return nil
		}
		if _, err := s.v.Owner(k, v); err != nil {
			s.malformed(k, codec.ErrRecord)
			return nil //nolint:nilerr // noted
		}
		s.beyond(keys.MetaNextText, &s.next.Text, binary.BigEndian.Uint64(k[keys.EntrySize:]), "the change of a text")
		return nil
	})
}
