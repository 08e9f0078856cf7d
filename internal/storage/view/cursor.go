package view

import (
	"bytes"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Cursor iterates over a range of keys, preferably forwards: a seek to the current key costs one comparison, a seek to the next key one
// step. In a writer's view it merges the stored records with the overlay.
type Cursor struct {
	it kv.Iterator
	// The cursor is at the first key at or after floor; if Valid is false, there is none.
	floor []byte
	set   bool
	Valid bool

	over  *Overlay // or nil
	lower []byte   // the range, for the overlay
	upper []byte
	one   bool   // the range is of one keyspace
	seen  uint64 // of over.changes
	node  uint32 // of over, the first at or after the cursor; 0: none
	base  bool   // the iterator is at a key
	own   bool   // the cursor is at node, not at the iterator's key
}

// Seek moves to the first key at or after key and reports whether there is one. After false, Err tells the end from a fault.
func (c *Cursor) Seek(key []byte) bool {
	if c.over != nil {
		return c.seekMerged(key)
	}
	if c.set && bytes.Compare(key, c.floor) >= 0 {
		if !c.Valid {
			return false
		}
		if bytes.Compare(c.it.Key(), key) >= 0 {
			return true
		}
		c.Valid = c.it.Next()
		if c.Valid && bytes.Compare(c.it.Key(), key) < 0 {
			c.Valid = c.it.SeekGE(key)
		}
	} else {
		c.Valid = c.it.SeekGE(key)
	}
	c.floor = append(c.floor[:0], key...)
	c.set = true
	return c.Valid
}

func (c *Cursor) seekMerged(key []byte) bool {
	// The iterator may stay where it is even if the overlay has changed, since an overlay hides stored keys but never reveals any.
	changed := c.seen != c.over.changes
	c.seen = c.over.changes
	switch {
	case !c.set || bytes.Compare(key, c.floor) < 0:
		c.base = c.it.SeekGE(key)
	case !changed && (!c.Valid || bytes.Compare(c.Key(), key) >= 0):
		return c.Valid
	case c.base && bytes.Compare(c.it.Key(), key) < 0:
		if c.base = c.it.Next(); c.base && bytes.Compare(c.it.Key(), key) < 0 {
			c.base = c.it.SeekGE(key)
		}
	}
	from := key
	if bytes.Compare(from, c.lower) < 0 {
		from = c.lower
	}
	c.node = 0
	if !c.one || c.over.touches(c.lower) {
		c.node = c.over.search(from, nil)
	}
	c.settle()
	c.floor = append(c.floor[:0], key...)
	c.set = true
	return c.Valid
}

// settle moves the cursor to the first key that is visible.
func (c *Cursor) settle() {
	for {
		if !c.base && c.it.Error() != nil {
			c.Valid, c.own = false, false // do not skip what could not be read
			return
		}
		if c.node == 0 || bytes.Compare(c.over.nodes[c.node].key, c.upper) >= 0 {
			c.node, c.own, c.Valid = 0, false, c.base
			return
		}
		n := &c.over.nodes[c.node]
		order := -1
		if c.base {
			order = bytes.Compare(n.key, c.it.Key())
		}
		if order > 0 {
			c.own, c.Valid = false, true
			return
		}
		if order == 0 {
			c.base = c.it.Next()
		}
		if !n.deleted {
			c.own, c.Valid = true, true
			return
		}
		c.node = c.over.Next(c.node)
	}
}

// Next moves to the next key.
func (c *Cursor) Next() bool {
	if !c.Valid {
		return false
	}
	c.floor = append(append(c.floor[:0], c.Key()...), 0)
	switch {
	case c.over == nil:
		c.Valid = c.it.Next()
	case c.own:
		c.node = c.over.Next(c.node)
		c.settle()
	default:
		c.base = c.it.Next()
		c.settle()
	}
	return c.Valid
}

// SeekLT moves to the last key before key, which is at most the upper bound, and reports whether there is one. Until the next seek, only
// Key, Value and prev are valid.
func (c *Cursor) SeekLT(key []byte) bool {
	c.set = false
	base := c.it.SeekLT(key)
	c.own = false
	if c.over == nil {
		return base
	}
	for {
		if !base && c.it.Error() != nil {
			return false
		}
		n := c.over.before(key)
		if n == 0 || bytes.Compare(c.over.nodes[n].key, c.lower) < 0 {
			return base
		}
		node := &c.over.nodes[n]
		order := 1
		if base {
			order = bytes.Compare(node.key, c.it.Key())
		}
		if order < 0 {
			return true
		}
		if order == 0 {
			base = c.it.Prev()
		}
		if !node.deleted {
			c.node, c.own = n, true
			return true
		}
		key = node.key
	}
}

// prev moves to the previous key, after SeekLT or prev.
func (c *Cursor) prev() bool {
	if c.over == nil {
		return c.it.Prev()
	}
	c.floor = append(c.floor[:0], c.Key()...)
	return c.SeekLT(c.floor)
}

// Key is the key at the cursor, until it moves.
func (c *Cursor) Key() []byte {
	if c.own {
		return c.over.nodes[c.node].key
	}
	return c.it.Key()
}

// Value is the value at the cursor, until it moves.
func (c *Cursor) Value() ([]byte, error) {
	if c.own {
		return c.over.nodes[c.node].value, nil
	}
	return c.it.ValueAndErr()
}

// Err returns the error that ended the iteration, or nil at its end. The next seek starts anew.
func (c *Cursor) Err() error {
	err := c.it.Error()
	if err != nil {
		c.set = false
	}
	return err
}
