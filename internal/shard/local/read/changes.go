package read

import (
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// changes knows, by property, the last commit since the graph was opened that changed it of a vertex that was there before. Property 0 is the
// label set.
type changes struct {
	mu   sync.RWMutex
	last map[graph.PropID]uint64
}

// note notes what a commit changed, before a reader sees it.
func (c *changes) note(seq uint64, props []staging.PropChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range props {
		if p := &props[i]; !p.New && c.last[p.Prop] != seq {
			if c.last == nil {
				c.last = map[graph.PropID]uint64{}
			}
			c.last[p.Prop] = seq
		}
	}
}

// since returns the last commit that changed labels or one of some properties.
func (c *changes) since(props []graph.PropID) uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	seq := c.last[codec.LabelSetProp]
	for _, p := range props {
		seq = max(seq, c.last[p])
	}
	return seq
}

// LastChange implements shard.Dated. A later commit than those of the snapshot may have hidden the last one in it.
func (tx *Tx) LastChange(props []graph.PropID) (seq uint64, ok bool) {
	if tx.snap == nil {
		return 0, false
	}
	seq = tx.on.Topology.changes.since(props)
	return seq, seq <= tx.snap.Seq
}
