package check

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// members enters the memberships that bitmaps and delta records hold.
func (s *shardCheck) members() error {
	lower, upper := keys.Bounds(keys.DeltaLabel)
	delta, err := s.iter(lower, upper)
	if err != nil {
		return err
	}
	defer func() { _ = delta.Close() }()
	delta.First()
	var m codec.Members
	// take applies the delta memberships of a bitmap and enters the whole.
	take := func(label graph.LabelID, chunk uint32) error {
		for ; delta.Valid(); delta.Next() {
			k := delta.Key()
			if len(k) != keys.DeltaLSize {
				s.malformed(k, codec.ErrDelta)
				continue
			}
			l, local := graph.LabelID(binary.BigEndian.Uint32(k[1:])), keys.Local(k[5:])
			if l != label || uint32(local>>codec.MemberBits) != chunk {
				break
			}
			v, err := delta.ValueAndErr()
			if err != nil {
				return s.damage("graph", err)
			}
			if len(v) != 1 || v[0] > 1 {
				s.malformed(k, codec.ErrDelta)
				continue
			}
			i := local & (codec.MemberRows - 1)
			m[i/64] = m[i/64]&^(1<<(i%64)) | uint64(v[0])<<(i%64)
		}
		for w, word := range m {
			for ; word != 0; word &= word - 1 {
				local := uint64(chunk)<<codec.MemberBits + uint64(w)*64 + uint64(bits.TrailingZeros64(word))
				s.member(found, label, local, nil)
			}
		}
		return nil
	}
	// before reports whether the next delta membership is in a bitmap before this one, which is then not packed.
	before := func(label graph.LabelID, chunk uint32, all bool) (l graph.LabelID, c uint32, ok bool) {
		for delta.Valid() && len(delta.Key()) != keys.DeltaLSize {
			s.malformed(delta.Key(), codec.ErrDelta)
			delta.Next()
		}
		if !delta.Valid() {
			return 0, 0, false
		}
		k := delta.Key()
		l, c = graph.LabelID(binary.BigEndian.Uint32(k[1:])), uint32(keys.Local(k[5:])>>codec.MemberBits)
		return l, c, all || l < label || l == label && c < chunk
	}
	lower, upper = keys.Bounds(keys.Member)
	err = s.scan(lower, upper, func(k, v []byte) error {
		if len(k) != keys.MemberSize {
			s.malformed(k, codec.ErrBitmap)
			return nil
		}
		label, chunk := graph.LabelID(binary.BigEndian.Uint32(k[1:])), binary.BigEndian.Uint32(k[5:])
		for {
			l, c, ok := before(label, chunk, false)
			if !ok {
				break
			}
			m = codec.Members{}
			if err := take(l, c); err != nil {
				return err
			}
		}
		if err := codec.ParseMembers(v, &m); err != nil {
			s.malformed(k, err)
		}
		return take(label, chunk)
	})
	if err != nil {
		return err
	}
	for {
		l, c, ok := before(0, 0, true)
		if !ok {
			return s.damage("graph", delta.Error())
		}
		m = codec.Members{}
		if err := take(l, c); err != nil {
			return err
		}
	}
}

// entries enters the index entries that there are.
func (s *shardCheck) entries() error {
	online := map[graph.IndexID]bool{}
	building := map[graph.IndexID]bool{}
	for _, ix := range s.indexes {
		online[ix.ID], building[ix.ID] = ix.Online && ix.Indexed, !ix.Online
	}
	for _, id := range s.cat.Dropped() {
		building[id] = true
	}
	lower, upper := keys.Bounds(keys.Entry)
	return s.scan(lower, upper, func(k, v []byte) error {
		if len(k) < keys.EntrySize {
			s.malformed(k, codec.ErrRecord)
			return nil
		}
		id := graph.IndexID(binary.BigEndian.Uint32(k[1:]))
		if building[id] {
			return nil // on their way
		}
		if s.first {
			s.out.Entries++
		}
		if !online[id] {
			s.note(FaultEntry, []storage.Fix{{Shard: s.no, Key: slices.Clone(k), Delete: true}}, "shard %d: an entry of index %d, which is not there", s.no, id)
			return nil
		}
		s.entry(found, k, v)
		return nil
	})
}

// counters compares the counters with what was counted.
func (s *shardCheck) counters() error {
	if !s.first {
		return nil
	}
	stored, err := stats.ReadCounters(s.v.Graph())
	if err != nil {
		var e *graph.Error
		if errors.As(err, &e) && e.Kind == graph.KindCorrupt && errors.Is(err, codec.ErrRecord) {
			s.note(FaultRecord, nil, "shard %d: %v", s.no, err)
			return nil
		}
		return s.damage("graph", err)
	}
	s.out.Vertices += uint64(s.counts[stats.Count{Kind: stats.CountVertices}])
	all := map[stats.Count]bool{}
	for _, c := range stored {
		all[c.Count] = true
	}
	for k := range s.counts {
		all[k] = true
	}
	for k := range all {
		n := stored.Of(k)
		if n == s.counts[k] {
			continue
		}
		fix := storage.Fix{Shard: s.no, Key: k.AppendKey(nil), Add: s.counts[k] - n}
		s.note(FaultCounter, []storage.Fix{fix}, "shard %d, %s: %d, not %d", s.no, s.countName(k), s.counts[k], n)
	}
	return nil
}

func (s *shardCheck) countName(k stats.Count) string {
	switch k.Kind {
	case stats.CountVertices:
		return "vertices"
	case stats.CountEdges:
		return "edges"
	case stats.CountLabel:
		return "vertices with the label " + s.cat.LabelName(k.Label)
	case stats.CountType:
		return "edges of the type " + s.cat.TypeName(k.Type)
	case stats.CountSrc:
		return "edges of the type " + s.cat.TypeName(k.Type) + " from the label " + s.cat.LabelName(k.Label)
	case stats.CountDst:
		return "edges of the type " + s.cat.TypeName(k.Type) + " to the label " + s.cat.LabelName(k.Label)
	case stats.CountProp:
		return fmt.Sprintf("vertices of the label set %d with the property %s", k.Set, s.cat.PropName(k.Prop))
	case stats.CountEdgeProp:
		return "edges of the type " + s.cat.TypeName(k.Type) + " with the property " + s.cat.PropName(k.Prop)
	}
	return fmt.Sprintf("a counter of the kind %d", k.Kind)
}

// values checks the large values against references and marks.
func (s *shardCheck) values() error {
	l := &s.large[s.no]
	lower, upper := keys.Bounds(keys.Garbage)
	err := s.scan(lower, upper, func(k, _ []byte) error {
		if len(k) != 9 {
			s.malformed(k, codec.ErrRecord)
			return nil
		}
		id := graph.EdgeID(binary.BigEndian.Uint64(k[1:]))
		if id.Shard() != s.no || id.Local() > maxLargeID {
			s.malformed(k, codec.ErrRecord)
			return nil
		}
		setBit(&l.garbage, id.Local())
		if bitSet(l.visible, id.Local()) {
			s.note(FaultGarbage, []storage.Fix{{Shard: s.no, Key: slices.Clone(k), Delete: true}}, "large value %d is referred to", uint64(id))
		}
		return nil
	})
	if err != nil {
		return err
	}
	next, err := kv.ReadNumber(s.v.Graph(), keys.MetaKey(keys.MetaNextValue))
	if err != nil {
		return s.damage("graph", err)
	}
	it, err := kv.NewIter(s.v.Values(), &pebble.IterOptions{LowerBound: kv.AppliedEnd})
	if err != nil {
		return s.damage("values", err)
	}
	defer func() { _ = it.Close() }()
	for ok := it.First(); ok; ok = it.Next() {
		if err := s.alive(); err != nil {
			return err
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return s.v.LargeFault(it.Key(), err)
		}
		if err := s.largeValue(it.Key(), v, next); err != nil {
			return err
		}
	}
	return s.damage("values", it.Error())
}

func (s *shardCheck) largeValue(k, v []byte, next uint64) error {
	if len(k) != 8 {
		s.malformed(k, codec.ErrRecord)
		return nil
	}
	id := graph.EdgeID(binary.BigEndian.Uint64(k))
	if id.Shard() != s.no || id.Local() > maxLargeID {
		s.malformed(k, codec.ErrRecord)
		return nil
	}
	l := &s.large[s.no]
	if s.first {
		s.out.Large++
		if rest, err := keys.SkipCell(v); err != nil || len(rest) > 0 {
			s.malformed(k, keys.ErrCell)
		}
	}
	switch {
	case bitSet(l.visible, id.Local()):
		s.largeItem(found, uint64(id), uint64(len(v)))
		fallthrough
	case bitSet(l.referred, id.Local()):
		s.beyond(keys.MetaNextValue, &next, id.Local(), "large value")
	case !bitSet(l.garbage, id.Local()) && id.Local() < next:
		s.note(FaultUnreferred, []storage.Fix{{Shard: s.no, Key: keys.AppendGarbage(nil, uint64(id))}}, "large value %d of %d bytes", uint64(id), len(v))
	}
	return nil
}
