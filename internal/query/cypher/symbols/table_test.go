package symbols

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A table of random names agrees with a map, and each of its versions keeps its names, values and order.
func TestMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type version struct {
		m      Table[int]
		values map[string]int
		order  []string
	}
	versions := []version{{values: map[string]int{}}}
	for i := range 300 {
		v := versions[rng.IntN(len(versions))]
		name := strconv.Itoa(rng.IntN(100))
		next := version{m: v.m.With(name, i), values: maps.Clone(v.values), order: v.order}
		if _, ok := v.values[name]; !ok {
			next.order = append(slices.Clip(v.order), name)
		}
		next.values[name] = i
		versions = append(versions, next)
	}
	for _, v := range versions {
		require.Equal(t, len(v.values), v.m.Len())
		require.Equal(t, v.values, maps.Collect(v.m.All()))
		var order, sorted []string
		for name := range v.m.All() {
			order = append(order, name)
		}
		for name := range v.m.Sorted() {
			sorted = append(sorted, name)
		}
		require.Equal(t, v.order, order)
		require.Equal(t, slices.Sorted(maps.Keys(v.values)), sorted)
		for i := range 100 {
			got, ok := v.m.Get(strconv.Itoa(i))
			want, has := v.values[strconv.Itoa(i)]
			require.Equal(t, has, ok)
			require.Equal(t, want, got)
		}
	}
}

// A version of a large table shares almost all with the one before.
func TestShares(t *testing.T) {
	var m Table[int]
	for i := range 10_000 {
		m = m.With(strconv.Itoa(i), i)
	}
	before := map[*node[int]]bool{}
	m.root.each(func(n *node[int]) bool { before[n] = true; return true })
	fresh := 0
	m.With("another", 0).root.each(func(n *node[int]) bool {
		if !before[n] {
			fresh++
		}
		return true
	})
	require.Less(t, fresh, 100)
}
