package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A set agrees with a map, for columns of either sign.
func TestColSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() Col { return Col(rng.IntN(700) - 200) }
	for range 200 {
		s, want := NewColSet(), map[Col]bool{}
		for range rng.IntN(60) {
			c := random()
			if rng.IntN(3) == 0 {
				s.Remove(c)
				delete(want, c)
			} else if s.Add(c, 0); c != 0 {
				want[c] = true
			}
		}
		o := NewColSet()
		o.Add(random(), random())
		both := s.Clone()
		both.AddAll(o)
		both.AddAll(ColSet{})
		require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Collect(s.All()))
		require.Equal(t, len(want), s.Len())
		for c := Col(-210); c < 510; c++ {
			require.Equal(t, want[c], s.Has(c))
			require.Equal(t, want[c] || o.Has(c), both.Has(c))
		}
	}
	require.Zero(t, ColSet{}.Len())
	require.False(t, ColSet{}.Has(1))
	require.Empty(t, slices.Collect(ColSet{}.All()))
}
