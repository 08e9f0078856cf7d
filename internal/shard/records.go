package shard

import "github.com/hopgate/hopgate/internal/graph"

// fillRecords builds the records of vertices from their label sets and properties. Vertices of one label set share a few properties,
// which props returns, and are read together.
func fillRecords(
	ids []graph.VertexID, sets []graph.LabelSet, out []Record,
	props func(graph.LabelSet) []graph.PropID, read func(ids []graph.VertexID, props []graph.PropID, out [][]graph.Value) error,
) error {
	groups := map[graph.LabelSet][]int32{}
	for i, set := range sets {
		out[i] = Record{Labels: set}
		if set != 0 {
			groups[set] = append(groups[set], int32(i))
		}
	}
	for set, at := range groups {
		props := props(set)
		some := make([]graph.VertexID, len(at))
		for j, i := range at {
			some[j] = ids[i]
		}
		cols := Columns(len(props), len(at))
		if err := read(some, props, cols); err != nil {
			return err
		}
		for j, i := range at {
			n := 0
			for p := range props {
				if !cols[p][j].IsNull() {
					n++
				}
			}
			rec := make([]graph.Property, 0, n)
			for p, prop := range props {
				if v := cols[p][j]; !v.IsNull() {
					rec = append(rec, graph.Property{ID: prop, Value: v})
				}
			}
			out[i].Props = rec
		}
	}
	return nil
}

// Columns allocates columns of n rows.
func Columns(cols, n int) [][]graph.Value {
	mem := make([]graph.Value, cols*n)
	out := make([][]graph.Value, cols)
	for i := range out {
		out[i] = mem[i*n : (i+1)*n : (i+1)*n]
	}
	return out
}
