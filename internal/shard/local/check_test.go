package local

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/localtest"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/check"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// checkClean checks a graph in which nothing is wrong.
func checkClean(t *testing.T, s *Store, name string) *shard.CheckReport {
	return localtest.CheckClean(t, s, name)
}

// filled makes a graph of n transactions, if spread is set with each shard in a process of its own.
func filled(t *testing.T, seed uint64, n, shards int, spread bool, tune ...func(*Tuning)) *ledger {
	rng := rand.New(rand.NewPCG(seed, 1))
	opts := tiny(rng, shards)
	for _, f := range tune {
		f(&opts.Tuning)
	}
	opts.FS, opts.Dir, opts.Logger = vfs.NewMem(), "data", quiet()
	var l *ledger
	var err error
	if spread {
		l, err = newLedger(leadSpread(t, opts))
	} else if l, err = openLedger(opts); err == nil {
		t.Cleanup(func() { require.NoError(t, l.store.Close()) })
	}
	require.NoError(t, err)
	for range n {
		require.NoError(t, l.write(rng))
	}
	return l
}

func TestCheckClean(t *testing.T) {
	for seed := range eachSeed(t, 2*seeds(6)) {
		l := filled(t, seed, 60, 1+int(seed%3), seed%2 == 1)
		rep := checkClean(t, l.store, "default")
		require.EqualValues(t, 60, rep.Vertices)
		require.Positive(t, rep.Edges)
		require.EqualValues(t, 60, rep.Entries)
		require.Positive(t, rep.LargeValues)
		require.NoError(t, l.g.Settle(context.Background()))
		again := checkClean(t, l.store, "default")
		require.Equal(t, rep.Edges, again.Edges)
		require.NoError(t, l.g.Flush(context.Background()))
		require.Positive(t, checkClean(t, l.store, "default").Files)
	}
}

// harm changes records below everything that keeps them in order.
func (l *ledger) harm(t *testing.T, fixes ...storage.Fix) {
	ctx := context.Background()
	require.NoError(t, l.g.lock(ctx))
	l.g.mu.Lock()
	views := l.g.current.Views
	l.g.mu.Unlock()
	for _, f := range fixes {
		_, err := l.g.shards[f.Shard].Repair([]storage.Fix{f}, views[f.Shard])
		require.NoError(t, err)
	}
	p, err := l.g.enqueue()
	l.g.unlock()
	require.NoError(t, err)
	require.NoError(t, l.g.publish(p, nil))
}

// someEdge finds an edge.
func (l *ledger) someEdge(t *testing.T) graph.Edge { return l.someEdges(t)[0] }

// someEdges finds the edges that are no loops.
func (l *ledger) someEdges(t *testing.T) (edges []graph.Edge) {
	ctx := context.Background()
	tx, err := l.g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	ids, _, _, err := tx.Scan(ctx, 0, 0, make([]graph.VertexID, 0, 1000))
	require.NoError(t, err)
	var res shard.Neighbours
	require.NoError(t, tx.Expand(ctx, &shard.Expand{Sources: ids, Edges: true}, &res))
	for i, id := range ids {
		for k := res.Offsets[i]; k < res.Offsets[i+1]; k++ {
			if res.Targets[k] != id {
				edges = append(edges, graph.Edge{ID: res.Edges[k], Type: res.Types[k], Src: id, Dst: res.Targets[k]})
			}
		}
	}
	require.NotEmpty(t, edges)
	return edges
}

func (l *ledger) someVertex(t *testing.T) graph.VertexID { return l.someVertices(t)[3] }

func (l *ledger) someVertices(t *testing.T) []graph.VertexID {
	ctx := context.Background()
	tx, err := l.g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	ids, _, _, err := tx.Scan(ctx, l.label, 0, make([]graph.VertexID, 0, 1000))
	require.NoError(t, err)
	return ids
}

// somePoint makes a vertex with a point, in a point index, and returns the key of its entry.
func (l *ledger) somePoint(t *testing.T) (graph.VertexID, []byte) {
	ctx := context.Background()
	p := graph.PointValue(graph.Point{CRS: graph.WGS84, X: 12.5, Y: 55.7})
	tx, err := l.g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	defer tx.Rollback()
	label, err := tx.Label("Place")
	require.NoError(t, err)
	set, err := tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	at, err := tx.Prop("at")
	require.NoError(t, err)
	ms := []shard.Mutation{{Op: shard.CreateVertex, Labels: set, Props: []graph.Property{{ID: at, Value: p}}}}
	require.NoError(t, tx.Apply(ctx, ms))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, l.g.CreateIndex(ctx, graph.Index{Name: "places", Label: "Place", Props: []string{"at"}, Kind: graph.PointIndex, Indexed: true}))
	all := l.g.Indexes()
	ix := all[len(all)-1]
	require.NoError(t, l.g.Settle(ctx))
	tuple, ok, _, err := view.AppendIndexed(keys.AppendEntry(nil, ix.ID), &ix, []graph.Value{p})
	require.NoError(t, err)
	require.True(t, ok)
	v := ms[0].Vertex
	return v, keys.AppendLocal(tuple, v.Local())
}

// Each kind of damage is found, and repaired where it can be.
func TestCheckDamage(t *testing.T) {
	t.Run("one process", func(t *testing.T) { checkDamage(t, false) })
	t.Run("processes", func(t *testing.T) { checkDamage(t, true) })
}

func checkDamage(t *testing.T, spread bool) {
	in := func(e graph.Edge) []byte {
		return keys.AppendDeltaOne(nil, e.Type, graph.In, e.Dst.Local(), e.Src, e.ID)
	}
	out := func(e graph.Edge) []byte {
		return keys.AppendDeltaOne(nil, e.Type, graph.Out, e.Src.Local(), e.Dst, e.ID)
	}
	cases := map[string]struct {
		harm func(t *testing.T, l *ledger) []storage.Fix
		want []string
		lost bool // it cannot be repaired
	}{
		"mirror deleted": {func(t *testing.T, l *ledger) []storage.Fix {
			e := l.someEdge(t)
			return []storage.Fix{{Shard: e.Dst.Shard(), Key: in(e), Value: []byte{3}}}
		}, []string{check.FaultMirror, check.FaultCounter}, false},
		"mirror without its properties": {func(t *testing.T, l *ledger) []storage.Fix {
			e := l.someEdge(t)
			return []storage.Fix{{Shard: e.Dst.Shard(), Key: in(e), Value: []byte{2}}}
		}, []string{check.FaultMirror}, false},
		"source deleted": {func(t *testing.T, l *ledger) []storage.Fix {
			e := l.someEdge(t)
			return []storage.Fix{{Shard: e.Src.Shard(), Key: out(e), Value: []byte{3}}}
		}, []string{check.FaultMirror, check.FaultCounter}, false},
		"edge out of nowhere": {func(t *testing.T, l *ledger) []storage.Fix {
			e := l.someEdge(t)
			e.ID = graph.MakeEdgeID(e.Src.Shard(), 1<<30)
			return []storage.Fix{{Shard: e.Src.Shard(), Key: out(e), Value: []byte{2}}}
		}, []string{check.FaultList, check.FaultMirror, check.FaultCounter, check.FaultNextID}, false},
		"label lost": {func(t *testing.T, l *ledger) []storage.Fix {
			v := l.someVertex(t)
			return []storage.Fix{{Shard: v.Shard(), Key: keys.AppendDeltaMember(nil, l.label, v.Local()), Value: []byte{0}}}
		}, []string{check.FaultMember}, false},
		"member that is none": {func(t *testing.T, l *ledger) []storage.Fix {
			return []storage.Fix{{Key: keys.AppendDeltaMember(nil, 0, 1<<20), Value: []byte{1}}}
		}, []string{check.FaultMember}, false},
		"entry lost": {func(t *testing.T, l *ledger) []storage.Fix {
			tuple, _, _, err := view.AppendTuple(nil, []graph.Value{graph.IntValue(7)})
			require.NoError(t, err)
			var fixes []storage.Fix
			for no := range l.g.shards {
				fixes = append(fixes, storage.Fix{Shard: no, Key: append(keys.AppendEntry(nil, l.index), tuple...), Delete: true})
			}
			return fixes
		}, []string{check.FaultEntry}, false},
		"entry without an owner": {func(t *testing.T, l *ledger) []storage.Fix {
			tuple, _, _, err := view.AppendTuple(nil, []graph.Value{graph.IntValue(1 << 40)})
			require.NoError(t, err)
			return []storage.Fix{{Key: append(keys.AppendEntry(nil, l.index), tuple...), Value: keys.AppendLocal(nil, 1)}}
		}, []string{check.FaultEntry}, false},
		"entry of an index that is not there": {func(t *testing.T, l *ledger) []storage.Fix {
			return []storage.Fix{{Key: append(keys.AppendEntry(nil, 99), 1), Value: keys.AppendLocal(nil, 1)}}
		}, []string{check.FaultEntry}, false},
		"entry of a point lost": {func(t *testing.T, l *ledger) []storage.Fix {
			v, key := l.somePoint(t)
			return []storage.Fix{{Shard: v.Shard(), Key: key, Delete: true}}
		}, []string{check.FaultEntry}, false},
		"entry of a point at another place": {func(t *testing.T, l *ledger) []storage.Fix {
			v, key := l.somePoint(t)
			key[len(key)-keys.LocalSize-2]++
			return []storage.Fix{{Shard: v.Shard(), Key: key, Value: keys.AppendLocal(nil, v.Local())}}
		}, []string{check.FaultEntry}, false},
		"counter": {func(*testing.T, *ledger) []storage.Fix {
			return []storage.Fix{{Key: []byte{byte(keys.Counter), 'v', 0, 0, 0, 0, 0, 0, 0, 0}, Value: []byte{2}}}
		}, []string{check.FaultCounter}, false},
		"next id": {func(*testing.T, *ledger) []storage.Fix {
			return []storage.Fix{{Key: keys.MetaKey(keys.MetaNextVertex), Value: []byte{1}}}
		}, []string{check.FaultNextID}, false},
		"garbage that is used": {func(*testing.T, *ledger) []storage.Fix {
			var fixes []storage.Fix
			for id := range uint64(500) {
				fixes = append(fixes, storage.Fix{Key: keys.AppendGarbage(nil, id)})
			}
			return fixes
		}, []string{check.FaultGarbage}, false},
		"large value lost": {func(t *testing.T, l *ledger) []storage.Fix {
			v := l.someVertex(t)
			cell := keys.AppendRef([]byte{byte(l.text)}, keys.Ref{ID: 1 << 20, Size: 100})
			return []storage.Fix{{Shard: v.Shard(), Key: keys.AppendDeltaProps(nil, v.Local()), Value: cell}}
		}, []string{check.FaultLarge}, true},
		"two of one key": {func(t *testing.T, l *ledger) []storage.Fix {
			v := l.someVertex(t)
			cell, _ := keys.AppendCell([]byte{byte(l.id)}, graph.IntValue(30))
			return []storage.Fix{{Shard: v.Shard(), Key: keys.AppendDeltaProps(nil, v.Local()), Value: cell}}
		}, []string{check.FaultUnique, check.FaultEntry}, true},
		// In a column of its own, or a write that reads the column fails too.
		"malformed": {func(_ *testing.T, l *ledger) []storage.Fix {
			return []storage.Fix{{Key: keys.AppendChunk(nil, l.last+1, 1<<13), Value: []byte{0xff}}}
		}, []string{check.FaultRecord}, true},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		if testing.Short() && (i%2 == 0) != spread {
			continue // a short test harms each form with half of the faults
		}
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			l := filled(t, 5, 40, 2, spread, func(o *Tuning) {
				if slices.Contains(c.want, check.FaultGarbage) {
					o.CompactRecords = -1 // or what is marked may be taken away
				}
			})
			require.NoError(t, l.g.Settle(ctx))
			checkClean(t, l.store, "default")
			l.harm(t, c.harm(t, l)...)
			rep, err := l.store.Check(ctx, "default", shard.CheckOptions{})
			require.NoError(t, err)
			var kinds []string
			for _, f := range rep.Findings {
				kinds = append(kinds, f.Kind)
				require.NotEmpty(t, f.Examples)
			}
			slices.Sort(kinds)
			slices.Sort(c.want)
			if !c.lost {
				require.Equal(t, c.want, kinds)
			} else {
				for _, k := range c.want {
					require.Contains(t, kinds, k)
				}
			}
			// Others write all the while, unless what is marked is to stay.
			o := shard.CheckOptions{Repair: true}
			rng, before := rand.New(rand.NewPCG(3, 4)), len(l.acked)
			if !slices.Contains(c.want, check.FaultGarbage) {
				before += 10
				o.Progress = func(string, uint64) { within(t, func() error { return l.write(rng) }) }
			}
			rep, err = l.store.Check(ctx, "default", o)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(l.acked), before)
			require.Equal(t, !c.lost, rep.Clean())
			if !c.lost {
				checkClean(t, l.store, "default")
				require.NoError(t, l.write(rand.New(rand.NewPCG(1, 2))))
				checkClean(t, l.store, "default")
			}
		})
	}
}

// within runs what must not have to wait for long.
func within(t *testing.T, f func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("a writer waits for the whole check")
	}
}

// A repair does not touch what others have changed since the check that it follows from: it looks at that again.
func TestRepairWhileWriting(t *testing.T) {
	// With these, writers change the same vertices round after round.
	busy := []uint64{65, 319, 511}
	n := uint64(len(busy))
	for i := range eachSeed(t, seeds(8)+len(busy)) {
		seed := i - n
		if i < n {
			seed = busy[i]
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			ctx := context.Background()
			l := filled(t, seed, 80, 1+int(seed%3), seed%2 == 1)
			require.NoError(t, l.g.Settle(ctx))
			rng := rand.New(rand.NewPCG(seed, 9))
			edges, vertices := l.someEdges(t), l.someVertices(t)
			rng.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
			rng.Shuffle(len(vertices), func(i, j int) { vertices[i], vertices[j] = vertices[j], vertices[i] })
			deleted, unnamed := edges[:4], vertices[:4]
			var harm []storage.Fix
			for i, e := range edges[:16] {
				out := keys.AppendDeltaOne(nil, e.Type, graph.Out, e.Src.Local(), e.Dst, e.ID)
				in := keys.AppendDeltaOne(nil, e.Type, graph.In, e.Dst.Local(), e.Src, e.ID)
				if i%2 == 0 {
					harm = append(harm, storage.Fix{Shard: e.Dst.Shard(), Key: in, Value: []byte{byte(2 + i/2%2)}})
				} else {
					harm = append(harm, storage.Fix{Shard: e.Src.Shard(), Key: out, Value: []byte{3}})
				}
			}
			for i, v := range vertices[:16] {
				harm = append(harm, storage.Fix{Shard: v.Shard(), Key: keys.AppendDeltaMember(nil, l.label, v.Local()), Value: []byte{0}})
				if i%2 == 0 {
					harm = append(harm, storage.Fix{Shard: v.Shard(), Key: []byte{byte(keys.Counter), 'l', 0, 0, 0, byte(l.label), 0, 0, 0, 0}, Value: []byte{2}})
				}
			}
			l.harm(t, harm...)
			before, changed := len(l.acked), false
			rep, err := l.store.Check(ctx, "default", shard.CheckOptions{Repair: true, Progress: func(stage string, _ uint64) {
				within(t, func() error { return l.write(rng) })
				if stage != "large values" || changed {
					return
				}
				changed = true // what the first check has found
				within(t, func() error {
					tx, err := l.g.Begin(ctx, shard.Write)
					if err != nil {
						return err
					}
					defer tx.Rollback()
					var ms []shard.Mutation
					for _, e := range deleted {
						ms = append(ms, shard.Mutation{Op: shard.DeleteEdge, Edge: e})
					}
					for _, v := range unnamed {
						ms = append(ms, shard.Mutation{Op: shard.SetLabels, Vertex: v, Labels: graph.NoLabels})
					}
					if err := tx.Apply(ctx, ms); err != nil {
						return err
					}
					return tx.Commit(ctx)
				})
			}})
			require.NoError(t, err)
			for _, f := range rep.Findings {
				require.Equal(t, f.Count, f.Repaired, "%+v", *f)
			}
			require.True(t, rep.Clean())
			require.Greater(t, len(l.acked), before+10)
			checkClean(t, l.store, "default")
			tx, err := l.g.Begin(ctx, shard.Read)
			require.NoError(t, err)
			defer tx.Rollback()
			recs := make([]shard.Record, len(edges))
			require.NoError(t, tx.EdgeRecords(ctx, edges, recs))
			for i := range edges {
				// Half of what was damaged was damaged in the list that decides.
				there := i >= 16 || i >= len(deleted) && i%2 == 0
				require.Equal(t, there, recs[i].Labels != 0, "edge %d", i)
			}
			sets := make([]graph.LabelSet, len(vertices))
			require.NoError(t, tx.LabelSets(ctx, vertices, sets))
			for i := range vertices {
				require.Equal(t, i >= len(unnamed), sets[i] == l.set, "vertex %d", i)
			}
		})
	}
}
