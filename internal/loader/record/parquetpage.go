package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// checkPages compares the pages in [from, to) of a file of size bytes with their checksums, if they have any.
func checkPages(r io.ReaderAt, from, to, size int64) error {
	for at := from; at < to; {
		h := pageHeader{in: bufio.NewReader(io.NewSectionReader(r, at, size-at))}
		if err := h.fields(); err != nil || h.size < 0 {
			return errors.Join(fmt.Errorf("the header of the page at byte %d is damaged", at), err)
		}
		at += h.read
		if at+int64(h.size) > size {
			return fmt.Errorf("the page at byte %d is cut off", at)
		}
		if h.checked {
			sum := crc32.NewIEEE()
			if _, err := io.Copy(sum, io.NewSectionReader(r, at, int64(h.size))); err != nil {
				return err
			}
			if sum.Sum32() != uint32(h.sum) {
				return fmt.Errorf("the page at byte %d is damaged: its checksum is %08x, not %08x", at, sum.Sum32(), uint32(h.sum))
			}
		}
		at += int64(h.size)
	}
	return nil
}

// pageHeader is what checkPages needs of a page's header, which is a struct in Thrift's compact protocol.
type pageHeader struct {
	in      *bufio.Reader
	read    int64 // the length of the header
	size    int32 // of the page as stored
	sum     int32
	checked bool // sum is set
}

// ReadByte implements io.ByteReader.
func (h *pageHeader) ReadByte() (byte, error) {
	b, err := h.in.ReadByte()
	if err == nil {
		h.read++
	}
	return b, err
}

// The types of Thrift's compact protocol.
const (
	thriftTrue = 1 + iota
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// The fields of a page's header.
const (
	pageSize = 3
	pageSum  = 4
)

// fields reads the header.
func (h *pageHeader) fields() error {
	return h.object(0, func(id int64, typ byte) (bool, error) {
		if typ != thriftI32 || id != pageSize && id != pageSum {
			return false, nil
		}
		n, err := binary.ReadVarint(h)
		switch id {
		case pageSize:
			h.size = int32(n)
		case pageSum:
			h.sum, h.checked = int32(n), true
		}
		return true, err
	})
}

// deepestHeader bounds the nesting of a header.
const deepestHeader = 8

// object reads a struct; take reads the fields that it wants.
func (h *pageHeader) object(depth int, take func(id int64, typ byte) (taken bool, err error)) error {
	if depth > deepestHeader {
		return errors.New("it is nested too deeply")
	}
	for id := int64(0); ; {
		b, err := h.ReadByte()
		if err != nil || b == 0 {
			return err
		}
		if id += int64(b >> 4); b>>4 == 0 {
			if id, err = binary.ReadVarint(h); err != nil {
				return err
			}
		}
		taken, err := take(id, b&15)
		if err == nil && !taken {
			err = h.skip(b&15, depth)
		}
		if err != nil {
			return err
		}
	}
}

// skip skips a value.
func (h *pageHeader) skip(typ byte, depth int) error {
	switch typ {
	case thriftTrue, thriftFalse:
		return nil
	case thriftByte:
		return h.discard(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := binary.ReadVarint(h)
		return err
	case thriftDouble:
		return h.discard(8)
	case thriftBinary:
		n, err := binary.ReadUvarint(h)
		if err != nil {
			return err
		}
		return h.discard(n)
	case thriftStruct:
		return h.object(depth+1, func(int64, byte) (bool, error) { return false, nil })
	}
	return fmt.Errorf("it has a field of type %d", typ) // pages have no lists, sets and maps
}

func (h *pageHeader) discard(n uint64) error {
	for ; n > 0; n-- {
		if _, err := h.ReadByte(); err != nil {
			return err
		}
	}
	return nil
}
