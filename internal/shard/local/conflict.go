package local

import (
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage"
)

// writeSet is what a commit has changed of what was there before it: vertices, by their labels and properties or as a
// whole, and edges. What it made is not in it: no other transaction can have changed that.
type writeSet struct {
	seq      uint64
	vertices []graph.VertexID
	edges    []graph.EdgeID
}

// writeSetOf gives the write set of writers' changes.
func writeSetOf(ws []*storage.Writer) writeSet {
	var s writeSet
	for _, w := range ws {
		ch := w.Changes()
		for i := range ch.Props {
			if p := &ch.Props[i]; !p.New && (len(s.vertices) == 0 || s.vertices[len(s.vertices)-1] != p.Vertex) {
				s.vertices = append(s.vertices, p.Vertex)
			}
		}
		for i := range ch.Edges {
			if e := &ch.Edges[i]; e.What != storage.EdgeAdded && e.Dir == graph.Out {
				s.edges = append(s.edges, e.Edge)
			}
		}
	}
	return s
}

// writesOf gives what mutations set or delete, sorted, whether that changes anything or not: what is as it should be in
// the transaction's cut may be otherwise by now.
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

// meets reports whether a sorted set and another have something in common.
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

// remember keeps the write set of the commit at hand, which holds the writer's lock, for transactions that do not see
// it.
func (g *Graph) remember(s writeSet) {
	s.seq = g.seq
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recent = append(g.recent, s)
}

// forget drops the write sets that no transaction asks for any more. The caller holds g.mu.
func (g *Graph) forget() {
	oldest := g.current.seq
	for seq := range g.bases {
		oldest = min(oldest, seq)
	}
	n := 0
	for n < len(g.recent) && g.recent[n].seq <= oldest {
		n++
	}
	g.recent = slices.Delete(g.recent, 0, n)
}

// since gives the write sets of the commits after a sequence.
func (g *Graph) since(seq uint64) []writeSet {
	g.mu.Lock()
	defer g.mu.Unlock()
	i, _ := slices.BinarySearchFunc(g.recent, seq+1, func(s writeSet, seq uint64) int { return int(int64(s.seq - seq)) })
	return slices.Clone(g.recent[i:])
}

// acquireBase takes the newest cut for a transaction that writes.
func (g *Graph) acquireBase() *cut {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.refs++
	g.bases[g.current.seq]++
	return g.current
}

func (g *Graph) releaseBase(c *cut) {
	g.mu.Lock()
	if g.bases[c.seq]--; g.bases[c.seq] == 0 {
		delete(g.bases, c.seq)
		g.forget()
	}
	g.mu.Unlock()
	g.release(c)
}

// rebase takes the writer's lock and gives the writers whose commit makes the transaction's changes to what is there
// now; none if there are no changes. After an error, or if there are none, the lock is not held.
//
// If nothing was applied since the transaction's cut, these are its own writers. Else what it changed must not have
// been changed by a commit that it does not see: the first committer wins. Then its mutations are applied again to what
// is there now, under the ids that they have; a constraint that they break only there is a conflict too.
func (tx *Tx) rebase(ctx context.Context) (ws []*storage.Writer, err error) {
	if !slices.ContainsFunc(tx.ws, func(w *storage.Writer) bool { return !w.Empty() }) {
		return nil, nil
	}
	if err := tx.g.lock(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			tx.g.unlock()
		}
	}()
	if tx.current() {
		return tx.ws, nil
	}
	own := writesOf(tx.log)
	for _, s := range tx.g.since(tx.cut.seq) {
		if own.meets(&s) {
			return nil, conflict(nil)
		}
	}
	return tx.replay(ctx)
}

// current reports whether all is as the transaction's cut shows it. The caller holds the writer's lock.
func (tx *Tx) current() bool {
	for _, v := range tx.cut.views {
		if !v.Current() {
			return false
		}
	}
	return tx.cut.defs == tx.g.defs.Load()
}

// replayStep is how many mutations are applied together in a replay.
const replayStep = 4096

// replay applies the transaction's mutations to what is there now. The caller holds the writer's lock.
func (tx *Tx) replay(ctx context.Context) (_ []*storage.Writer, err error) {
	live := &Tx{g: tx.g, mode: shard.WriteExclusive}
	live.begin()
	live.replaying, live.stamped = true, tx.stamped
	defer live.closeDecoded()
	for rest := tx.log; len(rest) > 0 && err == nil; {
		n := min(len(rest), replayStep)
		err = live.Apply(ctx, rest[:n])
		rest = rest[n:]
	}
	if err == nil {
		err = live.verify(ctx)
	}
	if err == nil {
		tx.discard()
		tx.due = live.due
		return live.ws, nil
	}
	live.discard()
	if e := graph.AsError(err); e.Kind == graph.KindInvalid || e.Kind == graph.KindExists {
		return nil, conflict(err)
	}
	return nil, err
}

func conflict(err error) error {
	return graph.ConflictError("the transaction meets changes that were committed after it began; run it again", err)
}
