package kv

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Iterator is what is asked of a pebble.Iterator.
type Iterator interface {
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

// Iterable is a reader with iterators of its own.
type Iterable interface {
	Iterate(o *pebble.IterOptions) Iterator
}

// NewIter opens an iterator.
func NewIter(r pebble.Reader, o *pebble.IterOptions) (Iterator, error) {
	if p, ok := r.(Iterable); ok {
		return p.Iterate(o), nil
	}
	return r.NewIter(o)
}

// ErrStop ends a scan without an error.
var ErrStop = errors.New("stop")

// Any reports whether there is a record with a key in [lower, upper).
func Any(r pebble.Reader, lower, upper []byte) (ok bool, err error) {
	err = ScanRange(r, lower, upper, func(_, _ []byte) error { ok = true; return ErrStop })
	return ok, err
}

// Scan calls f for each record of a keyspace, until f returns ErrStop. Key and value are valid during the call.
func Scan(r pebble.Reader, s keys.Space, f func(k, v []byte) error) (err error) {
	lower, upper := keys.Bounds(s)
	return ScanRange(r, lower, upper, f)
}

// ScanRange calls f for each record with a key in [lower, upper), until f returns ErrStop. Key and value are valid during the call.
func ScanRange(r pebble.Reader, lower, upper []byte, f func(k, v []byte) error) (err error) {
	it, err := NewIter(r, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return Damaged("read", err)
	}
	defer func() {
		if cerr := it.Close(); err == nil {
			err = Damaged("read", cerr)
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return Damaged(fmt.Sprintf("read the value at key %x", it.Key()), err)
		}
		if err := f(it.Key(), v); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
	return Damaged("read", it.Error())
}

// Get appends the value of a record to dst; ok is false if there is none. It is for all look-ups of one key: Pebble's
// Get (v2.1.7) takes a value that it cannot read for an empty one, and says so only when it is closed.
func Get(r pebble.Reader, key, dst []byte) (value []byte, ok bool, err error) {
	b, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err == nil {
		dst = append(dst, b...)
		err = closer.Close()
	}
	if err != nil {
		return dst, false, Damaged(fmt.Sprintf("read the record at key %x", key), err)
	}
	return dst, true, nil
}

// ReadNumber reads a record that is one number, 0 if it is not there.
func ReadNumber(r pebble.Reader, key []byte) (uint64, error) {
	b, ok, err := Get(r, key, nil)
	if err != nil || !ok {
		return 0, err
	}
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, Corrupt("number", key, codec.ErrRecord)
	}
	return n, nil
}
