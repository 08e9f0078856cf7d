package query

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hopgate/hopgate/internal/query/admission"
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
	lru *lru.Cache[planKey, *prepared]
}

func newPlanCache(size int) planCache {
	c, err := lru.New[planKey, *prepared](size)
	if err != nil {
		panic(err) // the size is not positive
	}
	return planCache{c}
}

// get returns a plan, or nil.
func (c planCache) get(key planKey) *prepared {
	p, _ := c.lru.Get(key)
	return p
}

func (c planCache) put(key planKey, p *prepared) {
	if len(key.text)+len(p.from.text) <= admission.LargeText {
		c.lru.Add(key, p)
	}
}

// forget drops the plans of a graph.
func (c planCache) forget(g shard.Graph) {
	for _, key := range c.lru.Keys() {
		if key.g == g {
			c.lru.Remove(key)
		}
	}
}

// len is the number of plans.
func (c planCache) len() int {
	n := 0
	for _, key := range c.lru.Keys() {
		if key.kind != shapeText {
			n++
		}
	}
	return n
}
