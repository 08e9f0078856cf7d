package read

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/cache"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// Warm decodes neighbour lists before requests want them: those of the outgoing edges first, types with few edges before others. It ends with
// ctx, or once half of the cache is full. Other transactions wait at most for a block that they want too; while there are some, Warm pauses
// after each block as long as the block took, so that it takes no more than half of a processor from them.
func (r *Readers) Warm(ctx context.Context) error {
	tx, end, err := r.Again()
	if err != nil {
		return err
	}
	order := tx.listsBySize()
	end()
	for _, l := range order {
		for no, lists := range r.Topology.lists {
			for block, more := uint64(0), true; more && ctx.Err() == nil; block++ {
				if !lists.Roomy() {
					return nil
				}
				began := time.Now()
				if more, err = r.warmBlock(l, no, block); err != nil {
					return err
				}
				if !r.busy() {
					continue
				}
				select {
				case <-time.After(time.Since(began)):
				case <-ctx.Done():
				}
			}
		}
	}
	return nil
}

// typeDir is the lists of one type and direction.
type typeDir struct {
	typ graph.TypeID
	dir graph.Direction
}

// listsBySize returns the types and directions of a snapshot's edges in the order in which Warm decodes them.
func (tx *Reader) listsBySize() []typeDir {
	edges := map[graph.TypeID]int64{}
	for _, cs := range tx.snap.counters {
		for _, c := range cs {
			if c.Kind == stats.CountType && c.N > 0 {
				edges[c.Type] += c.N
			}
		}
	}
	var out []typeDir
	for typ := range edges {
		out = append(out, typeDir{typ, graph.Out}, typeDir{typ, graph.In})
	}
	slices.SortFunc(out, func(a, b typeDir) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(edges[a.typ], edges[b.typ]), cmp.Compare(a.typ, b.typ))
	})
	return out
}

// warmBlock decodes a block of lists of a shard, and reports whether the shard has blocks after it.
func (r *Readers) warmBlock(l typeDir, no int, block uint64) (more bool, err error) {
	tx, end, err := r.Again()
	if err != nil {
		return false, err
	}
	defer end()
	lists := tx.openLists(false)
	defer lists.Close()
	if tx.views[no] == nil || block*cache.ListBlock >= tx.next(no) {
		return false, nil
	}
	var cur cache.Cursor
	lists.Views[no].Cursor(&cur, l.typ, l.dir, cache.Want{})
	_, err = cur.Seek(graph.MakeVertexID(no, block*cache.ListBlock), cache.ListBlock)
	return true, err
}

// busy reports whether a transaction is open.
func (r *Readers) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open > 0
}
