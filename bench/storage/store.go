package main

import (
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// store is one layout of the data on disk. People and comments have the numbers of data.
type store interface {
	// step replaces an ascending set of people by the people they know.
	step(from []int) ([]int, error)
	// names reads name and age of the people p knows, and returns the sum of their sizes.
	names(p int) (int, error)
	// texts reads the texts of comments and returns the sum of their sizes.
	texts(cs []int) (int, error)
	// since reads the property of a person's edges and returns the sum.
	since(p int) (int64, error)
	// insert commits, synced, a person with an edge to another one, and a comment by the latter.
	insert(friend int, c comment) error
	// settle moves all data to tables in their final form.
	settle() error
	// size returns the bytes on disk.
	size() uint64
	close() error
}

// setup describes how to open a store.
type setup struct {
	dir       string
	threshold int // size in bytes from which values are stored separately
	mode      kv.CacheMode
	cache     int64 // bytes of blocks
}

// off is a threshold that no value reaches.
const off = 1 << 20

// layout opens a store, and fills it if fill is not nil.
type layout struct {
	name string
	open func(s setup, d *data, fill bool) (store, error)
}

var layouts = []layout{{"a key a record", openNaive}, {"Hopgate", openGraph}}
