package packstream

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
)

// seedInputs is the number of inputs for a seed of TestMutations.
const seedInputs = 100_000

// Values with a few bytes changed either decode to values that re-encode to the same bytes, or are refused. HOPGATE_SEEDS sets the
// number of seeds; unlike FuzzDecode, this tries about a million inputs a second.
func TestMutations(t *testing.T) {
	seeds := 1
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		seeds = n
	}
	pool := mutationPool(t)
	taken := 0
	for seed := range seeds {
		m := mutator{rand: rand.New(rand.NewPCG(uint64(seed), 1)), pool: pool}
		var once, twice []byte
		for range seedInputs {
			in := m.next()
			form := Form{UTC: m.rand.IntN(2) == 0}
			d := NewDecoder(form, in)
			v, err := d.Value()
			if err != nil || d.TakeFlaw() != nil {
				continue
			}
			taken++
			once = form.Append(once[:0], v)
			again := NewDecoder(form, once)
			w, err := again.Value()
			if err != nil || again.TakeFlaw() != nil || again.Left() != 0 {
				t.Fatalf("seed %d: %x became %x, which is not a whole value: %v", seed, in, once, err)
			}
			if twice = form.Append(twice[:0], w); !bytes.Equal(once, twice) {
				t.Fatalf("seed %d: %x became %x and then %x", seed, in, once, twice)
			}
		}
	}
	if taken < seeds*seedInputs/20 {
		t.Fatalf("only %d inputs were values", taken)
	}
}

// mutationPool has the short samples, and lists and maps of them.
func mutationPool(t testing.TB) (pool [][]byte) {
	var all []graph.Value
	for _, s := range samples(t) {
		if len(s.bytes) > 100 {
			continue
		}
		all = append(all, s.v)
		pool = append(pool, Form{UTC: true}.Append(nil, s.v), Form{}.Append(nil, s.v))
	}
	for i := 0; i+3 < len(all); i += 3 {
		pool = append(pool, Form{UTC: true}.Append(nil, graph.ListValue(all[i:i+3])), Form{UTC: true}.Append(nil, graph.MapValue([]graph.MapEntry{
			{Key: "", Value: all[i]}, {Key: "key", Value: graph.ListValue(all[i+1 : i+3])},
		})))
	}
	for _, odd := range []string{"B35801020300", "B34E0190A0", "B256010291C0", "DC014401", "D600000002C0C1"} {
		b, _ := hex.DecodeString(odd)
		pool = append(pool, b)
	}
	return pool
}

// mutator changes bytes of a pool's entries.
type mutator struct {
	rand *rand.Rand
	pool [][]byte
	buf  []byte
}

// next returns an input, until the next call.
func (m *mutator) next() []byte {
	r := m.rand
	b := append(m.buf[:0], m.pool[r.IntN(len(m.pool))]...)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			break
		}
		at := r.IntN(len(b))
		switch r.IntN(8) {
		case 0, 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			b[at] = byte(r.Uint32())
		case 3: // a marker
			b[at] = byte(0xC0 + r.IntN(0x20))
		case 4:
			b[at] += byte(r.IntN(3) - 1)
		case 5:
			b = slices.Delete(b, at, at+1)
		case 6:
			b = append(b[:at], m.pool[r.IntN(len(m.pool))]...)
		case 7:
			b = b[:at]
		}
	}
	m.buf = b
	return b
}
