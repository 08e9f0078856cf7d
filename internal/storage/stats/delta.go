package stats

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
)

// Delta is what a transaction changes of the statistics of a shard. Its zero value changes nothing.
type Delta struct {
	Counts   map[Count]int64
	Resized  map[Degree]int64
	Sketches map[graph.IndexID]*Sketch // whole, with the changes
	// Base has the sketches before the transaction.
	Base map[graph.IndexID]*Sketch
}

// Count adds to a counter.
func (d *Delta) Count(c Count, n int64) {
	if d.Counts == nil {
		d.Counts = map[Count]int64{}
	}
	d.Counts[c] += n
}

// CountProp counts n more vertices of a label set that have a property; n may be negative.
func (d *Delta) CountProp(set graph.LabelSet, p graph.PropID, n int) {
	if n != 0 && p != codec.LabelSetProp && p < codec.HiddenProps {
		d.Count(Count{Kind: CountProp, Set: set, Prop: p}, int64(n))
	}
}

// CountEdgeProp counts n more edges of a type that have a property, at their sources; n may be negative.
func (d *Delta) CountEdgeProp(t graph.TypeID, p graph.PropID, n int) {
	if n != 0 && p < codec.HiddenProps {
		d.Count(Count{Kind: CountEdgeProp, Type: t, Prop: p}, int64(n))
	}
}

// Resize adds to the degree histograms.
func (d *Delta) Resize(delta map[Degree]int64) {
	if d.Resized == nil {
		d.Resized = map[Degree]int64{}
	}
	for bar, n := range delta {
		d.Resized[bar] += n
	}
}

// Distinct adds a value of an index, by its ordered key, to the index's sketch.
func (d *Delta) Distinct(ix graph.IndexID, key []byte) {
	if base := d.Base[ix]; base == nil || d.Sketches[ix] != nil || !base.has(key) {
		d.Sketch(ix).Add(key)
	}
}

// Sketch returns the sketch of an index, to be changed.
func (d *Delta) Sketch(ix graph.IndexID) *Sketch {
	sk := d.Sketches[ix]
	if sk != nil {
		return sk
	}
	sk = new(Sketch)
	if base := d.Base[ix]; base != nil {
		*sk = *base
	}
	if d.Sketches == nil {
		d.Sketches = map[graph.IndexID]*Sketch{}
	}
	d.Sketches[ix] = sk
	return sk
}
