package view

import (
	"bytes"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Cursor walks a range of keys, best forwards: a seek to where it stands already costs a comparison, one to the next
// key a step. In a writer's view it merges what is stored with what the writer has changed.
type Cursor struct {
	it kv.Iterator
	// The cursor stands on the first key at or after floor, or there is none if ok is false.
	floor []byte
	set   bool
	Valid bool

	over  *Overlay // nil: there is only what is stored
	lower []byte   // the range, for the overlay
	upper []byte
	seen  uint64 // of over.changes
	node  uint32 // of over, the first at or after the cursor; 0: none
	base  bool   // the iterator stands on a key
	own   bool   // the cursor stands on node, not on the iterator's key
}

// Seek goes to the first key at or after key and reports whether there is one. After false, err tells the end from a
// fault.
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
	// Of the overlay, a cursor sees what was there when it last moved. What has come since hides stored keys but shows none, so
	// the iterator stays where it is.
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
	c.node = c.over.search(from, nil)
	c.settle()
	c.floor = append(c.floor[:0], key...)
	c.set = true
	return c.Valid
}

// settle makes the cursor stand on the first key that is there, stored or changed.
func (c *Cursor) settle() {
	for {
		if !c.base && c.it.Error() != nil {
			c.Valid, c.own = false, false // what follows in the overlay does not make up for what cannot be read
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

// Next goes to the next key.
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

// SeekLT goes to the last key before key and reports whether there is one. Only key and value may be asked for then,
// until the next seek.
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

// prev goes to the last key before the present one, after seekLT or prev.
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

// Err is the fault that ended the walk, or nil at its end. A walk that met a fault restarts.
func (c *Cursor) Err() error {
	err := c.it.Error()
	if err != nil {
		c.set = false
	}
	return err
}
