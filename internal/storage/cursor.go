package storage

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// cursor walks a range of keys, best forwards: a seek to where it stands already costs a comparison, one to the next
// key a step.
type cursor struct {
	it *pebble.Iterator
	// The iterator stands on the first key at or after floor, or there is none if ok is false.
	floor []byte
	set   bool
	ok    bool
	steps int // seeks and steps since the last take, for the counters
}

// seek goes to the first key at or after key and reports whether there is one. After false, err tells the end from a
// fault.
func (c *cursor) seek(key []byte) bool {
	if c.set && bytes.Compare(key, c.floor) >= 0 {
		if !c.ok {
			return false
		}
		if bytes.Compare(c.it.Key(), key) >= 0 {
			return true
		}
		c.steps++
		c.ok = c.it.Next()
		if c.ok && bytes.Compare(c.it.Key(), key) < 0 {
			c.ok = c.it.SeekGE(key)
		}
	} else {
		c.steps++
		c.ok = c.it.SeekGE(key)
	}
	c.floor = append(c.floor[:0], key...)
	c.set = true
	return c.ok
}

// next goes to the next key.
func (c *cursor) next() bool {
	if !c.ok {
		return false
	}
	c.steps++
	c.floor = append(append(c.floor[:0], c.it.Key()...), 0)
	c.ok = c.it.Next()
	return c.ok
}

func (c *cursor) key() []byte            { return c.it.Key() }
func (c *cursor) value() ([]byte, error) { return c.it.ValueAndErr() }

// err is the fault that ended the walk, or nil at its end. A walk that met a fault begins anew.
func (c *cursor) err() error {
	err := c.it.Error()
	if err != nil {
		c.set = false
	}
	return err
}
