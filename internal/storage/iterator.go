package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// iterator is what is asked of a pebble.Iterator.
type iterator interface {
	Valid() bool
	First() bool
	Next() bool
	Prev() bool
	SeekGE(key []byte) bool
	SeekLT(key []byte) bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	Error() error
	Close() error
}

// iterable is a reader with iterators of its own.
type iterable interface {
	iterate(o *pebble.IterOptions) iterator
}

// newIter opens an iterator.
func newIter(r pebble.Reader, o *pebble.IterOptions) (iterator, error) {
	if p, ok := r.(iterable); ok {
		return p.iterate(o), nil
	}
	return r.NewIter(o)
}

// scan calls f for each record of a keyspace. Key and value are valid during the call.
func scan(r pebble.Reader, s keys.Space, f func(k, v []byte) error) (err error) {
	lower, upper := keys.Bounds(s)
	return scanRange(r, lower, upper, f)
}

func scanRange(r pebble.Reader, lower, upper []byte, f func(k, v []byte) error) (err error) {
	it, err := newIter(r, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return damaged("read", err)
	}
	defer func() {
		if cerr := it.Close(); err == nil {
			err = damaged("read", cerr)
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return damaged(fmt.Sprintf("read the value at key %x", it.Key()), err)
		}
		if err := f(it.Key(), v); err != nil {
			return err
		}
	}
	return damaged("read", it.Error())
}

// get appends the value of a record to dst; ok is false if there is none. It is for all look-ups of one key: Pebble's
// Get (v2.1.7) takes a value that it cannot read for an empty one, and says so only when it is closed.
func get(r pebble.Reader, key, dst []byte) (value []byte, ok bool, err error) {
	b, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err == nil {
		dst = append(dst, b...)
		err = closer.Close()
	}
	if err != nil {
		return dst, false, damaged(fmt.Sprintf("read the record at key %x", key), err)
	}
	return dst, true, nil
}
