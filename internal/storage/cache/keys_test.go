package cache

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
)

// keyModel is every state that keys ever had, by sequence.
type keyModel struct {
	mu      sync.RWMutex
	visible uint64
	owners  map[int][]keyOwner
}

// keyOwner is the owner of a key from a sequence on; 0: none.
type keyOwner struct {
	seq   uint64
	owner graph.VertexID
}

func (m *keyModel) at(key int, seq uint64) (owner graph.VertexID) {
	for _, o := range m.owners[key] {
		if o.seq <= seq {
			owner = o.owner
		}
	}
	return owner
}

func someKey(i int) []byte { return fmt.Appendf(nil, "key %d", i) }

// Readers at any sequence find owners that are those of their snapshot, while a writer deletes keys and gives them to
// others.
func TestKeysAreThoseOfTheSnapshot(t *testing.T) {
	const keys, commits = 200, 3000
	c := New(Options{Budget: leastKeyBudget})
	defer c.Close()
	k := c.NewKeys()
	other := c.NewKeys()
	m := &keyModel{visible: 1, owners: map[int][]keyOwner{}}
	for i := range keys {
		m.owners[i] = []keyOwner{{1, graph.VertexID(i + 1)}}
		other.Put(1, 1, someKey(i), 1<<30)
	}
	var wg sync.WaitGroup
	var hits [2]int
	for r := range hits {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(r)))
			for range 4 * commits {
				m.mu.RLock()
				seq := m.visible - min(m.visible-1, rng.Uint64N(4))
				key := rng.IntN(keys)
				want := m.at(key, seq)
				m.mu.RUnlock()
				got, ok := k.Get(seq, 1, someKey(key))
				if ok && got != want {
					t.Errorf("key %d at %d: %d, want %d", key, seq, got, want)
				}
				if ok {
					hits[r]++
				} else if want != 0 {
					k.Put(seq, 1, someKey(key), want)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range commits {
		seq := m.visible + 1
		key := rng.IntN(keys)
		next := keyOwner{seq: seq}
		if rng.IntN(3) > 0 {
			next.owner = graph.VertexID(rng.IntN(1 << 20))
		}
		if rng.IntN(500) == 0 {
			k.Forget(seq)
		} else if m.at(key, seq) != 0 {
			k.Delete(seq, 1, someKey(key))
		}
		m.mu.Lock()
		m.owners[key] = append(m.owners[key], next)
		m.visible = seq
		m.mu.Unlock()
	}
	wg.Wait()
	require.NotZero(t, hits[0])
	_, ok := k.Get(m.visible, 2, someKey(1))
	require.False(t, ok, "of another index")
	require.LessOrEqual(t, c.Stats().Mapped, c.Stats().Budget)
	c.SetBudget(leastKeyBudget / 2)
	_, ok = other.Get(1, 1, someKey(1))
	require.False(t, ok)
	require.Zero(t, c.Stats().Mapped)
}

func TestKeysAllocateNothing(t *testing.T) {
	c := New(Options{Budget: leastKeyBudget})
	defer c.Close()
	k, key := c.NewKeys(), someKey(1)
	k.Put(1, 1, key, 7)
	require.Zero(t, alloctest.Least(100, func() {
		k.Put(1, 1, key, 7)
		if id, ok := k.Get(1, 1, key); !ok || id != 7 {
			t.Fail()
		}
	}))
	k.Put(1, 1, make([]byte, MostKey+1), 8)
	_, ok := k.Get(1, 1, make([]byte, MostKey+1))
	require.False(t, ok, "a key that is too long")
}
