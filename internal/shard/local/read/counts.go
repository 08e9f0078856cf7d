package read

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// Count sums one counter over the shards.
func (tx *Tx) Count(c stats.Count) int64 {
	n := int64(0)
	if tx.over == nil {
		for _, cs := range tx.snap.counters {
			n += cs.Of(c)
		}
		return n
	}
	for i, w := range tx.over.writers {
		n += tx.counters(i).Of(c) + w.Counts[c]
	}
	return n
}

// counters returns the counters that a writer's changes add to.
func (tx *Tx) counters(no int) stats.Counters {
	if tx.snap != nil {
		return tx.snap.counters[no]
	}
	return tx.shards[no].Counters()
}

// sketches returns the distinct counts that a writer's changes add to.
func (tx *Tx) sketches(no int) map[graph.IndexID]*stats.Sketch {
	if tx.snap != nil {
		return tx.snap.sketches[no]
	}
	return tx.shards[no].Sketches()
}

// degrees adds up the degree histograms of shards and names them.
func (tx *Tx) degrees(shards []stats.Degrees) map[graph.TypeDir][]uint64 {
	all := map[graph.TypeDir][]uint64{}
	for _, ds := range shards {
		for d, n := range ds {
			k := graph.TypeDir{Type: tx.names.TypeName(d.Type), Dir: d.Dir}
			bars := all[k]
			for len(bars) <= int(d.Power) {
				bars = append(bars, 0)
			}
			bars[d.Power] += uint64(n)
			all[k] = bars
		}
	}
	return all
}

// each calls f for each counter of the snapshot, and for each change of a writer's.
func (tx *Tx) each(f func(stats.Count, int64)) {
	if tx.over == nil {
		for _, cs := range tx.snap.counters {
			for _, n := range cs {
				f(n.Count, n.N)
			}
		}
		return
	}
	for i, w := range tx.over.writers {
		for _, n := range tx.counters(i) {
			f(n.Count, n.N)
		}
		for c, n := range w.Counts {
			f(c, n)
		}
	}
}

// Counts implements shard.Tx.
func (tx *Tx) Counts() *graph.Counts {
	if tx.over == nil {
		c := tx.snap
		c.once.Do(func() { c.counts = tx.sum() })
		return c.counts
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.counts == nil {
		tx.counts = tx.sum()
	}
	return tx.counts
}

// sum adds up and names what is counted of vertices and edges as such.
func (tx *Tx) sum() *graph.Counts {
	g := tx.names
	c := &graph.Counts{ByLabel: map[string]uint64{}, ByType: map[string]uint64{}, Ends: map[graph.TypeEnds]uint64{}}
	tx.each(func(k stats.Count, n int64) {
		u := uint64(n)
		switch k.Kind {
		case stats.CountVertices:
			c.Vertices += u
		case stats.CountEdges:
			c.Edges += u
		case stats.CountLabel:
			add(c.ByLabel, g.LabelName(k.Label), u)
		case stats.CountType:
			add(c.ByType, g.TypeName(k.Type), u)
			add(c.Ends, graph.TypeEnds{Type: g.TypeName(k.Type)}, u)
		case stats.CountSrc:
			add(c.Ends, graph.TypeEnds{Src: g.LabelName(k.Label), Type: g.TypeName(k.Type)}, u)
		case stats.CountDst:
			add(c.Ends, graph.TypeEnds{Type: g.TypeName(k.Type), Dst: g.LabelName(k.Label)}, u)
		}
	})
	return c
}

// Statistics implements shard.Tx.
func (tx *Tx) Statistics() *graph.Counts {
	counts := tx.Counts()
	if tx.over == nil {
		c := tx.snap
		c.onceAll.Do(func() { c.statistics = tx.detail(counts) })
		return c.statistics
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	return tx.detail(counts)
}

// detail adds properties, distinct values and degrees to counts.
func (tx *Tx) detail(counts *graph.Counts) *graph.Counts {
	g, c := tx.names, *counts
	c.Props, c.Distinct = map[graph.PropOf]uint64{}, map[string]uint64{}
	tx.each(func(k stats.Count, n int64) {
		switch k.Kind {
		case stats.CountProp:
			prop := g.PropName(k.Prop)
			add(c.Props, graph.PropOf{Prop: prop}, uint64(n))
			for _, l := range g.Labels(k.Set) {
				add(c.Props, graph.PropOf{Label: g.LabelName(l), Prop: prop}, uint64(n))
			}
		case stats.CountEdgeProp:
			add(c.Props, graph.PropOf{Type: g.TypeName(k.Type), Prop: g.PropName(k.Prop)}, uint64(n))
		}
	})
	var sketches []map[graph.IndexID]*stats.Sketch
	if tx.over == nil {
		sketches = tx.snap.sketches
		c.Degrees = tx.degrees(tx.snap.degrees)
	} else {
		for i, w := range tx.over.writers {
			sketches = append(sketches, tx.sketches(i), w.Sketches)
		}
	}
	for _, ix := range g.Indexes() {
		if !ix.Indexed {
			continue
		}
		var sum stats.Sketch
		for _, m := range sketches {
			if s := m[ix.ID]; s != nil {
				sum.Merge(s)
			}
		}
		c.Distinct[ix.Name] = sum.Estimate()
	}
	return &c
}

// add adds to a count and leaves none that is 0. Numbers wrap: a decrement is the addition of its two's complement.
func add[K comparable](m map[K]uint64, k K, n uint64) {
	if m[k] += n; m[k] == 0 {
		delete(m, k)
	}
}
