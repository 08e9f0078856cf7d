package search

import (
	"context"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// kernel is what every search has: the run, an account of what it holds, and its memory, which begin takes from a pool and release
// puts back.
type kernel struct {
	r      *runtime.Run
	reader *adjacency.Reader // answers into the memory; nil: several readers borrow it
	acct   runtime.Account
	*memory
}

func newKernel(r *runtime.Run, name string, reader *adjacency.Reader) kernel {
	return kernel{r: r, reader: reader, acct: runtime.Account{Run: r, Name: name}}
}

// memory is what a search works in, whatever it looks for. It serves one search after the other, and is empty in between.
type memory struct {
	visited                  // the vertices that have been reached
	begins  []int            // by distance: where in visited.list the vertices of this distance begin
	ids     []graph.VertexID // those of a level, or what has been found; they may repeat
	parent  []int32          // beside list or ids: the place, in the level before, of the vertex from which it was reached
	tree    tree             // the same for a search that numbers vertices and may need several ways to each
	chain   []graph.VertexID // the vertices of one way
	labels  []graph.LabelSet

	// Steps of sets go from one bitmap to the other.
	now, next graph.VertexSet
	stepped   bool // they may not be empty

	meets    []searchMeet // of two searches from opposite ends
	frontier runtime.Frontier
	allowed  adjacency.RowEdges
	answer   shard.Neighbours // lent to the reader
}

// memories holds what no search is working in, so that a short search does not pay for sets as large as the graph.
var memories = sync.Pool{New: func() any { return new(memory) }}

// begin returns the kernel empty memory for a search.
func (k *kernel) begin() {
	if k.memory != nil {
		k.clear()
		return
	}
	k.memory, _ = memories.Get().(*memory)
	if k.reader != nil {
		k.lend(k.reader)
	}
}

// release returns the memory, unless it is so much that it is better left to the collector.
func (k *kernel) release() {
	k.acct.Release()
	m := k.memory
	if m == nil {
		return
	}
	if k.reader != nil {
		k.lend(k.reader)
	}
	m.clear()
	if max(cap(m.answer.Targets), cap(m.list), cap(m.ids), len(m.tree.table.slots)) <= adjacency.MaxKeptEdges {
		memories.Put(m)
	}
	k.memory = nil
}

// read reads edges of the first of sources, except for those that a condition on a row of b does not allow, and those excluded.
func (k *kernel) read(ctx context.Context, sources []graph.VertexID, limit int, b *runtime.Batch, row int32, excluded []graph.EdgeID) error {
	if err := k.r.CheckCancel(ctx); err != nil {
		return err
	}
	if err := k.reader.Read(ctx, sources, limit); err != nil {
		return err
	}
	return k.allowed.Keep(ctx, k.reader, b, row, excluded)
}

// account accounts for what the search has come to hold.
func (k *kernel) account() error {
	n := k.bytes()
	if k.reader != nil {
		n += 24 * len(k.reader.Answer.Targets)
	}
	return k.acct.GrowTo(n)
}

// clear empties the memory. It takes no longer than the search has taken.
func (m *memory) clear() {
	m.visited.clear()
	m.begins, m.parent, m.ids, m.meets = m.begins[:0], m.parent[:0], m.ids[:0], m.meets[:0]
	m.tree.clear()
	if m.stepped {
		m.now.Clear()
		m.next.Clear()
		m.stepped = false
	}
}

// lend has a reader answer into the memory; lending again takes the answer back.
func (m *memory) lend(h *adjacency.Reader) { h.Answer, m.answer = m.answer, h.Answer }

// bytes is about what the search holds.
func (m *memory) bytes() int {
	return 8*(len(m.list)+len(m.ids)) + 4*len(m.parent) + 48*len(m.frontier.IDs) + m.tree.bytes()
}

// stepFrom makes a list the frontier of steps of sets.
func (m *memory) stepFrom(list []graph.VertexID) {
	if m.stepped {
		m.now.Clear()
	}
	m.stepped = true
	m.now.AddAll(list)
}

// visited is a set of vertices that also lists them, so that it is emptied without going through all of its memory.
type visited struct {
	set    graph.VertexSet
	list   []graph.VertexID // in the order in which they were added
	hidden bool             // the set may have vertices that are not listed
}

// add puts a vertex in and reports whether it is new.
func (v *visited) add(id graph.VertexID) bool {
	if !v.set.Add(id) {
		return false
	}
	v.list = append(v.list, id)
	return true
}

// addAll puts vertices in.
func (v *visited) addAll(ids []graph.VertexID) { v.list = v.set.AppendNew(v.list, ids) }

func (v *visited) has(id graph.VertexID) bool { return v.set.Has(id) }

func (v *visited) clear() {
	const perVertex = 8 // words that are cleared in the time of taking one vertex out
	words := 0
	for i := range v.set.Shards() {
		words += len(v.set.Bitmap(i))
	}
	if v.hidden || perVertex*len(v.list) > words {
		v.set.Clear()
	} else {
		v.set.RemoveAll(v.list)
	}
	v.list, v.hidden = v.list[:0], false
}

// drain empties the set and gives the list of what was in it; free is memory for the next list.
func (v *visited) drain(free []graph.VertexID) []graph.VertexID {
	list := v.list
	v.clear()
	v.list = free[:0]
	return list
}
