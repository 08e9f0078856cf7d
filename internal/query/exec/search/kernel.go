package search

import (
	"context"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/adjacency"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/shard"
)

// kernel is common to all searches: the run, the account, and the memory, which begin takes from a pool and release returns.
type kernel struct {
	r      *runtime.Run
	reader *adjacency.Reader // reads into the memory; nil: several readers share it
	acct   runtime.Account
	*memory
}

func newKernel(r *runtime.Run, name string, reader *adjacency.Reader) kernel {
	return kernel{r: r, reader: reader, acct: runtime.Account{Run: r, Name: name}}
}

// memory is the working memory of a search of any kind. It serves one search after another and is empty in between.
type memory struct {
	visited                  // the vertices reached so far
	begins  []int            // by distance: the first position in visited.list
	ids     []graph.VertexID // the vertices of a level, or of the result; they may repeat
	parent  []int32          // parallel to list or ids: the place, in the level before, of the vertex from which it was reached
	tree    tree             // parents in a search that numbers vertices and may keep several ways to each
	chain   []graph.VertexID // the vertices of one path
	labels  []graph.LabelSet

	// Steps of sets alternate between the bitmaps.
	now, next graph.VertexSet
	stepped   bool // they may not be empty

	meets    []searchMeet // vertices where two searches from opposite ends meet
	frontier runtime.Frontier
	allowed  adjacency.RowEdges
	answer   shard.Neighbours // lent to the reader
}

// memories pools idle memory, so a short search does not allocate sets as large as the graph.
var memories = sync.Pool{New: func() any { return new(memory) }}

// begin takes empty memory for a search.
func (k *kernel) begin() {
	if k.memory != nil {
		k.clear()
		return
	}
	k.memory, _ = memories.Get().(*memory)
	if k.reader != nil {
		k.swapAnswer(k.reader)
	}
}

// release returns the memory to the pool, or leaves it to the garbage collector if it is large.
func (k *kernel) release() {
	k.acct.Release()
	m := k.memory
	if m == nil {
		return
	}
	if k.reader != nil {
		k.swapAnswer(k.reader)
	}
	m.clear()
	if max(cap(m.answer.Targets), cap(m.list), cap(m.ids), len(m.tree.table.slots)) <= adjacency.MaxKeptEdges {
		memories.Put(m)
	}
	k.memory = nil
}

// read reads edges of the first of sources, except those excluded by a condition on a row of b or by excluded.
func (k *kernel) read(ctx context.Context, sources []graph.VertexID, limit int, b *runtime.Batch, row int32, excluded []graph.EdgeID) error {
	if err := k.r.CheckCancel(ctx); err != nil {
		return err
	}
	if err := k.reader.Read(ctx, sources, limit); err != nil {
		return err
	}
	return k.allowed.Keep(ctx, k.reader, b, row, excluded)
}

// account accounts for the memory of the search.
func (k *kernel) account() error {
	n := k.bytes()
	if k.reader != nil {
		n += 24 * len(k.reader.Answer.Targets)
	}
	return k.acct.GrowTo(n)
}

// clear empties the memory in a time that does not exceed the search's.
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

// swapAnswer lets a reader write its answer into the memory; a second call takes the answer back.
func (m *memory) swapAnswer(h *adjacency.Reader) { h.Answer, m.answer = m.answer, h.Answer }

// bytes estimates the memory of the search.
func (m *memory) bytes() int {
	return 8*(len(m.list)+len(m.ids)) + 4*len(m.parent) + 48*len(m.frontier.IDs) + m.tree.bytes()
}

// stepFrom sets the frontier of a step of sets to a list.
func (m *memory) stepFrom(list []graph.VertexID) {
	if m.stepped {
		m.now.Clear()
	}
	m.stepped = true
	m.now.AddAll(list)
}

// visited is a set of vertices that also lists them, so clearing it does not touch all its memory.
type visited struct {
	set    graph.VertexSet
	list   []graph.VertexID // in the order in which they were added
	hidden bool             // the set may have vertices that are not listed
}

// add adds a vertex and reports whether it is new.
func (v *visited) add(id graph.VertexID) bool {
	if !v.set.Add(id) {
		return false
	}
	v.list = append(v.list, id)
	return true
}

// addAll adds vertices.
func (v *visited) addAll(ids []graph.VertexID) { v.list = v.set.AppendNew(v.list, ids) }

func (v *visited) has(id graph.VertexID) bool { return v.set.Has(id) }

func (v *visited) clear() {
	const perVertex = 8 // words cleared in the time of removing one vertex
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

// drain empties the set and returns the list of its members; free is memory for the next list.
func (v *visited) drain(free []graph.VertexID) []graph.VertexID {
	list := v.list
	v.clear()
	v.list = free[:0]
	return list
}
