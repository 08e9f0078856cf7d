package stats

import (
	"math"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Sketch estimates the number of distinct values of an index (HyperLogLog, 1,024 registers, about 3% off). Deleted
// values stay counted.
type Sketch [1 << sketchBits]byte

const sketchBits = 10

// Add counts a value by its ordered key.
func (s *Sketch) Add(key []byte) {
	i, rank := register(key)
	s[i] = max(s[i], rank)
}

// has reports whether adding a value would change nothing.
func (s *Sketch) has(key []byte) bool {
	i, rank := register(key)
	return s[i] >= rank
}

// register returns the register of a value and the value's rank in it.
func register(key []byte) (i uint64, rank byte) {
	// FNV-1a, mixed as splitmix64 does; the hash is stored in the sketch's registers, so it must not change.
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	h ^= h >> 31
	return h >> (64 - sketchBits), byte(bits.LeadingZeros64(h<<sketchBits|1<<(sketchBits-1)) + 1)
}

// Merge adds the values of another sketch.
func (s *Sketch) Merge(o *Sketch) {
	for i := range s {
		s[i] = max(s[i], o[i])
	}
}

// Estimate returns the estimated number of distinct values.
func (s *Sketch) Estimate() uint64 {
	const m = float64(len(s))
	sum, zeros := 0.0, 0.0
	for _, r := range s {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			zeros++
		}
	}
	e := 0.7213 / (1 + 1.079/m) * m * m / sum
	if e <= 2.5*m && zeros > 0 {
		e = m * math.Log(m/zeros)
	}
	return uint64(math.Round(e))
}

// SketchKey is the key of the sketch of an index.
func SketchKey(ix graph.IndexID) []byte { return keys.AppendNumbered(nil, keys.Sketch, uint32(ix)) }

// ReadSketches reads the sketches of a shard.
func ReadSketches(r pebble.Reader) (map[graph.IndexID]*Sketch, error) {
	m := map[graph.IndexID]*Sketch{}
	err := kv.Scan(r, keys.Sketch, func(k, v []byte) error {
		s := new(Sketch)
		if len(k) != 5 || len(v) != len(s) {
			return kv.Corrupt("sketch", k, codec.ErrRecord)
		}
		copy(s[:], v)
		m[graph.IndexID(uint32(k[1])<<24|uint32(k[2])<<16|uint32(k[3])<<8|uint32(k[4]))] = s
		return nil
	})
	return m, err
}
