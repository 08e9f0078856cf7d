package loader

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	disk "github.com/hopgate/hopgate/internal/shard/local"
)

const mortalMapping = `
version: 1
inputs:
  - path: person.csv
    vertices:
      - {label: Person, id: id, properties: {id: {type: int}, at: {type: int}}}
  - path: visit.csv
    vertices:
      - {label: Visit, id: id, properties: {id: {type: int}}}
  - path: knows.csv
    edges:
      - {type: KNOWS, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Person}, properties: {at: {type: int}}}
  - path: saw.csv
    edges:
      - {type: SAW, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Person}, properties: {at: {type: int}}}
  - path: made.csv
    edges:
      - {type: MADE, from: {column: a, idSpace: Person}, to: {column: b, idSpace: Visit}, properties: {at: {type: int}}}
`

// TestOfflineTTL loads elements that expire before, during and after the load, offline and online: at each time, both show the same,
// and no edge of an expired vertex remains.
func TestOfflineTTL(t *testing.T) {
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprint("shards=", shards), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(shards), 5))
			const start, persons = 1_800_000_000, 400
			w := newWorld(t)
			var b strings.Builder
			rows := func(name, head string, n int, row func(i int) string) {
				b.Reset()
				fmt.Fprintln(&b, head)
				for i := range n {
					fmt.Fprintln(&b, row(i))
				}
				w.file(name, b.String())
			}
			at := func() int { return start - 150 + r.IntN(200) }
			rows("person.csv", "id,at", persons, func(i int) string { return fmt.Sprint(i, ",", at()) })
			rows("visit.csv", "id", 50, strconv.Itoa)
			edge := func(ends int) func(int) string {
				return func(int) string { return fmt.Sprint(r.IntN(persons), ",", r.IntN(ends), ",", at()) }
			}
			rows("knows.csv", "a,b,at", 3000, edge(persons))
			rows("saw.csv", "a,b,at", 1000, edge(persons))
			rows("made.csv", "a,b,at", 300, edge(50))

			var clock atomic.Int64
			clock.Store(start)
			options := func() disk.Options {
				opts := offlineOptions(t.TempDir(), shards)
				opts.Clock = func() time.Time { return time.Unix(clock.Load(), 0) }
				s, err := disk.Open(opts)
				require.NoError(t, err)
				g, err := s.Graph("default")
				require.NoError(t, err)
				for _, ttl := range []graph.TTL{
					{Label: "Person", After: 100 * time.Second, Property: "at"},
					{Label: "Visit", After: 60 * time.Second},
					{Type: "SAW", After: 50 * time.Second, Property: "at"},
					{Type: "MADE", After: 20 * time.Second},
				} {
					require.NoError(t, g.SetTTL(t.Context(), ttl))
				}
				require.NoError(t, s.Close())
				return opts
			}
			o := Options{Workers: 2, MaxRejects: Budget{Rows: 1 << 40}}
			online, err := disk.Open(options())
			require.NoError(t, err)
			defer online.Close()
			p, err := w.plan(mortalMapping)
			require.NoError(t, err)
			_, err = p.Run(t.Context(), NewLocal(New(online)), o)
			require.NoError(t, err)
			opts := options()
			rep, err := runOfflineWith(t, t.Context(), opts, 1<<16, mortalMapping, w.dir, o)
			require.NoError(t, err)
			require.Zero(t, rep.Rejects)
			offline, err := disk.Open(opts)
			require.NoError(t, err)
			defer offline.Close()

			last := ^uint64(0)
			for _, after := range []int64{0, 19, 20, 45, 60, 1000} {
				clock.Store(start + after)
				a, err := online.Graph("default")
				require.NoError(t, err)
				b, err := offline.Graph("default")
				require.NoError(t, err)
				require.Equal(t, strings.Split(stateOf(t, a), "\n"), strings.Split(stateOf(t, b), "\n"), "after %d s", after)
				require.Equal(t, countsOf(t, a).Edges, countsOf(t, b).Edges)
				n := countsOf(t, b).Vertices + countsOf(t, b).Edges
				require.Less(t, n, last, "nothing has expired after %d s", after)
				if last = n; after < 19 {
					require.NotZero(t, n)
				}
				check, err := offline.Check(t.Context(), "default", shard.CheckOptions{})
				require.NoError(t, err)
				require.Empty(t, check.Findings)
			}
			require.Zero(t, last)
		})
	}
}
