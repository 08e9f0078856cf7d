package stats

import (
	"encoding/binary"
	"maps"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Degree identifies a bar of a degree histogram: the packed edge lists of one type and direction with 2^Power to 2^(Power+1)-1 edges. Delta
// edges count once they are compacted, in the same batch.
type Degree struct {
	Type  graph.TypeID
	Dir   graph.Direction
	Power byte
}

// Degrees are the degree histograms of a shard.
type Degrees map[Degree]int64

// Add writes the changed bars to a batch and returns the new ones.
func (ds Degrees) Add(b *pebble.Batch, delta map[Degree]int64) (Degrees, error) {
	now, changed := ds, false
	for d, n := range delta {
		if n == 0 {
			continue
		}
		if !changed {
			now, changed = maps.Clone(ds), true
		}
		now[d] += n
		var err error
		if n = now[d]; n == 0 {
			delete(now, d)
			err = b.Delete(d.Key(), nil)
		} else {
			err = b.Set(d.Key(), binary.AppendVarint(nil, n), nil)
		}
		if err != nil {
			return now, err
		}
	}
	return now, nil
}

// Key is the key of the bar.
func (d Degree) Key() []byte {
	return keys.AppendNumbered(nil, keys.Degree, uint32(d.Type), byte(d.Dir), d.Power)
}

// ResizeList counts a list whose number of edges has changed.
func ResizeList(delta map[Degree]int64, t graph.TypeID, dir graph.Direction, old, now int) {
	from, to := bits.Len(uint(old)), bits.Len(uint(now))
	if from == to {
		return
	}
	if old > 0 {
		delta[Degree{t, dir, byte(from - 1)}]--
	}
	if now > 0 {
		delta[Degree{t, dir, byte(to - 1)}]++
	}
}

// ReadDegrees reads the degree histograms of a shard.
func ReadDegrees(r pebble.Reader) (Degrees, error) {
	d := Degrees{}
	err := kv.Scan(r, keys.Degree, func(k, v []byte) error {
		bar, n, err := ParseDegree(k, v)
		if err != nil {
			return kv.Corrupt("degree histogram", k, err)
		}
		d[bar] = n
		return nil
	})
	return d, err
}

// ParseDegree reads a bar and its count from a record.
func ParseDegree(k, v []byte) (d Degree, n int64, err error) {
	n, size := binary.Varint(v)
	if len(k) != 7 || size <= 0 {
		return d, 0, codec.ErrRecord
	}
	return Degree{graph.TypeID(binary.BigEndian.Uint32(k[1:])), graph.Direction(k[5]), k[6]}, n, nil
}
