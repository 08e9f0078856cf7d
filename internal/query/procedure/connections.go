package procedure

import (
	"slices"
	"sync"
)

// Connections are those of protocols that keep them, and the address of the Bolt listener. It is safe for concurrent use.
type Connections struct {
	mu   sync.Mutex
	last uint64
	all  map[uint64]Connection
	bolt string
}

// SetBolt sets the address of the Bolt listener: host:port.
func (c *Connections) SetBolt(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bolt = address
}

// Bolt is the address of the Bolt listener, "" without one.
func (c *Connections) Bolt() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bolt
}

// Add adds a connection until the returned function is called.
func (c *Connections) Add(of Connection) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[uint64]Connection{}
	}
	c.last++
	id := c.last
	c.all[id] = of
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, id)
	}
}

// List returns the connections, the oldest first.
func (c *Connections) List() []Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Connection, 0, len(c.all))
	for _, of := range c.all {
		out = append(out, of)
	}
	slices.SortFunc(out, func(a, b Connection) int { return a.Since.Compare(b.Since) })
	return out
}
