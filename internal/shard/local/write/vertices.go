package write

import (
	"cmp"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// alike is how many mutations, from the first on, create vertices with the same labels and the same properties in
// ascending order; numbered says that they have their ids, which then must be consecutive too.
func alike(ms []shard.Mutation, numbered bool) int {
	first := &ms[0]
	if first.Op != shard.CreateVertex {
		return 0
	}
	for i := 1; i < len(first.Props); i++ {
		if first.Props[i-1].ID >= first.Props[i].ID {
			return 0
		}
	}
	n := 1
	for ; n < len(ms); n++ {
		m := &ms[n]
		if m.Op != shard.CreateVertex || m.Labels != first.Labels || len(m.Props) != len(first.Props) ||
			numbered && m.Vertex != first.Vertex+graph.VertexID(n) {
			break
		}
		same := true
		for i := range m.Props {
			same = same && m.Props[i].ID == first.Props[i].ID
		}
		if !same {
			break
		}
	}
	return n
}

// createVertices creates vertices that are alike, as many as go to one shard together; n is how many these were.
func (tx *Mutator) createVertices(ms []shard.Mutation) (n int, err error) {
	w := tx.ws[ms[0].Vertex.Shard()]
	first := ms[0].Vertex
	if !tx.replaying {
		w = tx.Place()
		if len(tx.ws) > 1 {
			block := uint64(tx.opts.Tuning.PlaceBlock)
			ms = ms[:min(uint64(len(ms)), block-w.NextVertex()%block)]
		}
		first = w.NewVertices(len(ms))
	}
	set := max(ms[0].Labels, graph.NoLabels)
	labels := tx.catalog.Labels(set)
	rows := slices.Grow(tx.rows[:0], len(ms))
	some := make([]graph.Property, len(ms[0].Props))
	for i := range ms {
		m := &ms[i]
		m.Vertex = first + graph.VertexID(i)
		if err := storable(m.Props); err != nil {
			return 0, err
		}
		for p := range m.Props {
			if !m.Props[p].Value.IsNull() {
				some[p] = m.Props[p]
			}
		}
		rows = append(rows, tx.stampVertex(labels, m.Props))
	}
	tx.rows = rows
	if err := tx.catalog.Present(set, some); err != nil {
		return 0, err
	}
	if err := w.Vertices.PutRun(first, set, labels, rows); err != nil {
		return 0, err
	}
	tx.sets.addRun(first, len(ms), set)
	for i := range ms {
		if err := tx.Log.Created(ms[i].Vertex, set, rows[i]); err != nil {
			return 0, err
		}
	}
	if !slices.ContainsFunc(labels, func(l graph.LabelID) bool { return len(tx.defs.ByLabel[l]) > 0 }) {
		return len(ms), nil
	}
	for i := range ms {
		if err := tx.indexVertex(labels, ms[i].Vertex, rows[i]); err != nil {
			return 0, err
		}
	}
	return len(ms), nil
}

// labelSets are the label sets of vertices: of single ones, which come first, and of runs of new ones.
type labelSets struct {
	one  map[graph.VertexID]graph.LabelSet
	runs []labelRun // by their ids
}

type labelRun struct {
	first, end graph.VertexID
	set        graph.LabelSet
}

// addRun adds new vertices. In a replay they may have been looked up before they were created.
func (s *labelSets) addRun(first graph.VertexID, n int, set graph.LabelSet) {
	if len(s.one) > 0 {
		for i := range n {
			delete(s.one, first+graph.VertexID(i))
		}
	}
	at := s.runAfter(first)
	s.runs = slices.Insert(s.runs, at, labelRun{first, first + graph.VertexID(n), set})
}

// runAfter is the number of the runs that begin at or before an id.
func (s *labelSets) runAfter(id graph.VertexID) int {
	n, _ := slices.BinarySearchFunc(s.runs, id, func(r labelRun, id graph.VertexID) int {
		if r.first == id {
			return -1
		}
		return cmp.Compare(r.first, id)
	})
	return n
}

// get returns the label set of a vertex; ok is false if it is not known.
func (s *labelSets) get(id graph.VertexID) (set graph.LabelSet, ok bool) {
	if set, ok = s.one[id]; ok {
		return set, true
	}
	if n := s.runAfter(id); n > 0 && id < s.runs[n-1].end {
		return s.runs[n-1].set, true
	}
	return 0, false
}
