package check

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/storage"
)

// Parts of a check, put together, are what one check of all would have found, in its order.
func TestCheckedJoin(t *testing.T) {
	whole := &Result{Findings: map[string]*Finding{}}
	joined := &Result{Findings: map[string]*Finding{}}
	for no := range 4 {
		part := &Result{Findings: map[string]*Finding{}, Vertices: uint64(no)}
		whole.Vertices += uint64(no)
		for i := range 4 {
			for _, kind := range []string{FaultMirror, FaultList}[:1+no%2] {
				fix := []storage.Fix{{Shard: no, Raise: uint64(i)}}
				part.add(kind, fix, "shard %d, fault %d", no, i)
				whole.add(kind, fix, "shard %d, fault %d", no, i)
			}
		}
		joined.join(part)
	}
	require.Equal(t, whole, joined)
	require.Len(t, joined.Findings[FaultMirror].Examples, maxExamples)
}

// A balance in parts sees the differences that one would see, whichever parts hold the two sides of an item.
func TestBalanceParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type put struct {
		n    int
		item string
	}
	var puts []put
	for i := range 5000 {
		item := fmt.Sprint("item ", i)
		puts = append(puts, put{expected, item}, put{found, item})
	}
	puts = append(puts, put{expected, "missing"}, put{found, "extra"})
	rng.Shuffle(len(puts), func(i, j int) { puts[i], puts[j] = puts[j], puts[i] })
	var b balance
	b.init()
	left := map[string]int{}
	for first := true; first || b.next(); first = false {
		parts := []balance{b.part(), b.part(), b.part()}
		for _, p := range puts {
			parts[rng.IntN(len(parts))].put(p.n, []byte(p.item), len(p.item), []byte{byte(p.n)})
		}
		for i := range parts {
			b.join(&parts[i])
		}
		for item, d := range b.left {
			require.Equal(t, []byte{byte(d.n)}, d.aux)
			left[item] += d.n
		}
	}
	require.Equal(t, map[string]int{"missing": expected, "extra": found}, left)
	require.EqualValues(t, len(puts), b.items)
}
