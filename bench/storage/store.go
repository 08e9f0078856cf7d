package main

import "github.com/hopgate/hopgate/internal/storage"

// store is one layout of the data on disk. People and comments have the numbers of data.
type store interface {
	// step replaces a set of people, ascending, by those that some of them knows.
	step(from []int) ([]int, error)
	// names reads name and age of those that a person knows, and gives the sum of their sizes.
	names(p int) (int, error)
	// texts reads the texts of comments and gives the sum of their sizes.
	texts(cs []int) (int, error)
	// since reads the property of the edges of a person and gives the sum.
	since(p int) (int64, error)
	// insert commits, synced, a person who knows another and the other's comment.
	insert(friend int, c comment) error
	// settle writes all to tables in their last form.
	settle() error
	// size is the bytes on disk.
	size() uint64
	close() error
}

// setup is how a store is opened.
type setup struct {
	dir       string
	threshold int // size in bytes from which on values lie apart
	mode      storage.CacheMode
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
