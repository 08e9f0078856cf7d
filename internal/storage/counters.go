package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Count names one of a shard's counters. An edge is counted where its source lies; CountDst counts it once more where
// its target lies.
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

// Counters are the counts of a shard. A Counters that was handed out is not changed.
type Counters map[Count]int64

func (c Count) key() []byte {
	a, b := uint32(c.Label), uint32(c.Type)
	switch c.Kind {
	case CountProp:
		a, b = uint32(c.Set), uint32(c.Prop)
	case CountEdgeProp:
		a, b = uint32(c.Type), uint32(c.Prop)
	}
	k := append(make([]byte, 0, 10), byte(keys.Counter), byte(c.Kind))
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(k, a), b)
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

func readCounters(r pebble.Reader) (Counters, error) {
	c := Counters{}
	err := scan(r, keys.Counter, func(k, v []byte) error {
		n, size := binary.Varint(v)
		if len(k) != 10 || size <= 0 {
			return corrupt("counter", k, errRecord)
		}
		c[parseCount(k)] = n
		return nil
	})
	return c, err
}

// addTo writes the counters that delta changes and gives the new ones; old is not changed.
func addTo[M ~map[K]int64, K interface {
	comparable
	key() []byte
}](b *pebble.Batch, old M, delta map[K]int64) (M, error) {
	now, changed := old, false
	var value []byte
	for k, d := range delta {
		if d == 0 {
			continue
		}
		if !changed {
			now, changed = maps.Clone(old), true
		}
		n := now[k] + d
		now[k] = n
		var err error
		if n == 0 {
			delete(now, k)
			err = b.Delete(k.key(), nil)
		} else {
			value = binary.AppendVarint(value[:0], n)
			err = b.Set(k.key(), value, nil)
		}
		if err != nil {
			return now, err
		}
	}
	return now, nil
}

// scan calls f for each record of a keyspace. Key and value are valid during the call.
func scan(r pebble.Reader, s keys.Space, f func(k, v []byte) error) (err error) {
	lower, upper := keys.Bounds(s)
	return scanRange(r, lower, upper, f)
}

func scanRange(r pebble.Reader, lower, upper []byte, f func(k, v []byte) error) (err error) {
	it, err := newIter(r, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return damaged("read", err)
	}
	defer func() {
		if cerr := it.Close(); err == nil {
			err = damaged("read", cerr)
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return damaged(fmt.Sprintf("read the value at key %x", it.Key()), err)
		}
		if err := f(it.Key(), v); err != nil {
			return err
		}
	}
	return damaged("read", it.Error())
}

// get appends the value of a record to dst; ok is false if there is none. It is for all look-ups of one key: Pebble's
// Get (v2.1.7) takes a value that it cannot read for an empty one, and says so only when it is closed.
func get(r pebble.Reader, key, dst []byte) (value []byte, ok bool, err error) {
	b, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err == nil {
		dst = append(dst, b...)
		err = closer.Close()
	}
	if err != nil {
		return dst, false, damaged(fmt.Sprintf("read the record at key %x", key), err)
	}
	return dst, true, nil
}
