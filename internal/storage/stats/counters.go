package stats

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Count identifies a counter of a shard. An edge is counted in the shard of its source; CountDst counts it again in that of its target.
type Count struct {
	Kind  CountKind
	Label graph.LabelID
	Type  graph.TypeID
	Set   graph.LabelSet
	Prop  graph.PropID
}

// CountKind is what a counter counts. The numbers are stored.
type CountKind byte

// The kinds of counters.
const (
	CountVertices CountKind = 'v'
	CountEdges    CountKind = 'e'
	CountLabel    CountKind = 'l' // vertices with Label
	CountType     CountKind = 't' // edges of Type
	CountSrc      CountKind = 's' // edges of Type whose source has Label
	CountDst      CountKind = 'd' // edges of Type whose target has Label
	CountProp     CountKind = 'p' // vertices whose label set is Set and that have Prop
	CountEdgeProp CountKind = 'q' // edges of Type that have Prop
)

// Counters are the counts of a shard in the order of their keys. Each commit makes new ones, so they are a slice, which is cheap to copy.
type Counters []Counter

// Counter is a count with its number.
type Counter struct {
	Count
	N int64
}

// Of returns a count.
func (cs Counters) Of(c Count) int64 {
	if i, ok := cs.find(c); ok {
		return cs[i].N
	}
	return 0
}

func (cs Counters) find(c Count) (int, bool) {
	return slices.BinarySearchFunc(cs, c, func(have Counter, c Count) int { return have.compare(c) })
}

// compare is the order of the keys.
func (c Count) compare(d Count) int {
	return cmp.Or(
		cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.Label, d.Label), cmp.Compare(c.Type, d.Type), cmp.Compare(c.Set, d.Set), cmp.Compare(c.Prop, d.Prop),
	)
}

// AppendKey appends the key of the counter's record.
func (c Count) AppendKey(dst []byte) []byte {
	a, b := uint32(c.Label), uint32(c.Type)
	switch c.Kind {
	case CountProp:
		a, b = uint32(c.Set), uint32(c.Prop)
	case CountEdgeProp:
		a, b = uint32(c.Type), uint32(c.Prop)
	}
	dst = append(dst, byte(keys.Counter), byte(c.Kind))
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, a), b)
}

func parseCount(k []byte) Count {
	kind, a, b := CountKind(k[1]), binary.BigEndian.Uint32(k[2:]), binary.BigEndian.Uint32(k[6:])
	switch kind {
	case CountProp:
		return Count{Kind: kind, Set: graph.LabelSet(a), Prop: graph.PropID(b)}
	case CountEdgeProp:
		return Count{Kind: kind, Type: graph.TypeID(a), Prop: graph.PropID(b)}
	}
	return Count{Kind: kind, Label: graph.LabelID(a), Type: graph.TypeID(b)}
}

// ReadCounters reads the counters of a shard.
func ReadCounters(r pebble.Reader) (Counters, error) {
	cs := Counters{}
	err := kv.Scan(r, keys.Counter, func(k, v []byte) error {
		n, size := binary.Varint(v)
		if len(k) != 10 || size <= 0 {
			return kv.Corrupt("counter", k, codec.ErrRecord)
		}
		cs = append(cs, Counter{parseCount(k), n})
		return nil
	})
	return cs, err
}

// Add writes the changed counters to a batch and returns the new ones.
func (cs Counters) Add(b *pebble.Batch, delta map[Count]int64) (Counters, error) {
	now, changed := cs, false
	var key, value []byte
	for c, d := range delta {
		if d == 0 {
			continue
		}
		if !changed {
			now, changed = slices.Clone(cs), true
		}
		i, ok := now.find(c)
		if !ok {
			now = slices.Insert(now, i, Counter{Count: c})
		}
		now[i].N += d
		key, value = c.AppendKey(key[:0]), binary.AppendVarint(value[:0], now[i].N)
		var err error
		if now[i].N == 0 {
			now = slices.Delete(now, i, i+1)
			err = b.Delete(key, nil)
		} else {
			err = b.Set(key, value, nil)
		}
		if err != nil {
			return now, err
		}
	}
	return now, nil
}
