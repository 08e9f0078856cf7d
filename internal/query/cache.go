package query

import (
	"container/list"
	"sync"

	"github.com/hopgate/hopgate/internal/shard"
)

// planKey identifies a prepared statement, apart from the catalog's version and the graph's size.
type planKey struct {
	g     shard.Graph
	text  string
	procs uint64
	kind  keyKind
}

// keyKind is the kind of the text in a planKey.
type keyKind uint8

const (
	wholeText  keyKind = iota // a statement as sent
	shapeText                 // a statement without its literals; its entry says which of them are lifted
	liftedText                // a statement without its lifted literals
	hopsText                  // one of the above, with the lengths that parameters set
)

// planCache is an LRU cache of prepared statements.
type planCache struct {
	mu    sync.Mutex
	size  int
	order *list.List // of *planEntry, most recently used first
	byKey map[planKey]*list.Element
}

type planEntry struct {
	key planKey
	p   *prepared
}

func newPlanCache(size int) *planCache {
	return &planCache{size: size, order: list.New(), byKey: map[planKey]*list.Element{}}
}

func (c *planCache) get(key planKey) *prepared {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	entry, _ := el.Value.(*planEntry)
	return entry.p
}

func (c *planCache) put(key planKey, p *prepared) {
	if len(key.text)+len(p.from.text) > largeText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[key]; ok {
		c.order.Remove(el)
	}
	c.byKey[key] = c.order.PushFront(&planEntry{key: key, p: p})
	for c.order.Len() > c.size {
		el := c.order.Back()
		entry, _ := el.Value.(*planEntry)
		c.order.Remove(el)
		delete(c.byKey, entry.key)
	}
}

// forget drops the plans of a graph.
func (c *planCache) forget(g shard.Graph) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, el := range c.byKey {
		if key.g == g {
			c.order.Remove(el)
			delete(c.byKey, key)
		}
	}
}

// len is the number of plans.
func (c *planCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for key := range c.byKey {
		if key.kind != shapeText {
			n++
		}
	}
	return n
}
