package local

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// writeSet has the existing vertices that a commit has changed or deleted, and the edges. What the commit created is not in it: no other
// transaction can have changed that.
type writeSet struct {
	seq      uint64
	vertices []graph.VertexID
	edges    []graph.EdgeID
}

// writeSetOf returns the write set of writers' changes.
func writeSetOf(ws []*staging.Writer) writeSet {
	var s writeSet
	for _, w := range ws {
		ch := w.Changes()
		for i := range ch.Props {
			if p := &ch.Props[i]; !p.New && (len(s.vertices) == 0 || s.vertices[len(s.vertices)-1] != p.Vertex) {
				s.vertices = append(s.vertices, p.Vertex)
			}
		}
		for i := range ch.Edges {
			if e := &ch.Edges[i]; e.What != staging.EdgeAdded && e.Dir == graph.Out {
				s.edges = append(s.edges, e.Edge)
			}
		}
	}
	return s
}

// writesOf returns what mutations set or delete, sorted, even where that changes nothing in the transaction's snapshot: by
// now it may.
func writesOf(ms []shard.Mutation) writeSet {
	var s writeSet
	for i := range ms {
		switch m := &ms[i]; m.Op {
		case shard.SetVertex, shard.SetLabels, shard.DeleteVertex:
			s.vertices = append(s.vertices, m.Vertex)
		case shard.SetEdge, shard.DeleteEdge:
			s.edges = append(s.edges, m.Edge.ID)
		}
	}
	slices.Sort(s.vertices)
	slices.Sort(s.edges)
	return s
}

// meets reports whether a sorted set and another one overlap.
func (s *writeSet) meets(o *writeSet) bool {
	return meet(s.vertices, o.vertices) || meet(s.edges, o.edges)
}

func meet[T ~uint64](sorted, ids []T) bool {
	if len(sorted) == 0 {
		return false
	}
	for _, id := range ids {
		if _, ok := slices.BinarySearch(sorted, id); ok {
			return true
		}
	}
	return false
}

// remember stores the write set of the commit with a number for transactions that do not see it. The caller holds the writer's lock.
func (g *Graph) remember(seq uint64, s writeSet) {
	s.seq = seq
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recent = append(g.recent, s)
}

// forget drops the write sets that no transaction needs. The caller holds g.mu.
func (g *Graph) forget() {
	oldest := g.current.Seq
	for seq := range g.bases {
		oldest = min(oldest, seq)
	}
	n := 0
	for n < len(g.recent) && g.recent[n].seq <= oldest {
		n++
	}
	g.recent = slices.Delete(g.recent, 0, n)
}

// since returns the write sets of the commits after a sequence.
func (g *Graph) since(seq uint64) []writeSet {
	g.mu.Lock()
	defer g.mu.Unlock()
	i, _ := slices.BinarySearchFunc(g.recent, seq+1, func(s writeSet, seq uint64) int { return int(int64(s.seq - seq)) })
	return slices.Clone(g.recent[i:])
}

// acquireBase takes the newest snapshot for a transaction that writes.
func (g *Graph) acquireBase() *snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.refs++
	g.bases[g.current.Seq]++
	return g.current
}

func (g *Graph) releaseBase(c *snapshot) {
	g.mu.Lock()
	if g.bases[c.Seq]--; g.bases[c.Seq] == 0 {
		delete(g.bases, c.Seq)
		g.forget()
	}
	g.mu.Unlock()
	g.release(c)
}

// current reports whether nothing was applied since the transaction's snapshot. The caller holds the writer's lock.
func (tx *Tx) current() bool {
	for no, v := range tx.snap.Views {
		if !tx.g.shards[no].Current(v) {
			return false
		}
	}
	return tx.snap.Defs == tx.g.defs.Load()
}

func conflict(err error) error {
	return graph.ConflictError("conflict with changes committed after the transaction began; run it again", err)
}
