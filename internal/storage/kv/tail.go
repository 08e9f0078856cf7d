package kv

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A log or manifest of Pebble's consists of blocks, and these of chunks, as its package record describes. A chunk has a header:
//
//	CRC (4) | size (2) | type (1) | log number (4) | offset up to which the log was synced before (8) | payload
//
// Types 1 to 4 end their header with the type, 5 to 8 with the log number; each four mean a whole record, its first, its middle and
// its last chunk. What is left of a block that has no room for a header is zeros.
const (
	tailBlock     = 32 << 10
	legacyHeader  = 7
	numberHeader  = 11
	syncedHeader  = 19
	legacyTypes   = 4
	numberTypes   = 8
	syncedTypes   = 12
	firstsOfTypes = 2 // of four types, how many begin a record
)

// fileTail says where the chunks of a file end.
type fileTail struct {
	at int64 // the first byte that belongs to no whole chunk
	// damaged says that the file was synced beyond; proof is the offset that a later chunk gives, if one proves it.
	damaged bool
	proof   int64
	torn    int64 // how many bytes of a write that did not complete are in the file
}

// readTail reads a file that is synced up to an offset, or beyond.
func readTail(r io.Reader, file uint64, end int64) (t fileTail, err error) {
	buf := make([]byte, tailBlock)
	broken := false
	for base := int64(0); ; base += tailBlock {
		n, err := io.ReadFull(r, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return t, err
		}
		b, i := buf[:n], 0
		if !broken {
			for {
				c := readChunk(b[i:], file)
				if !c.ok {
					break
				}
				i += c.size
			}
			rest := b[i:]
			if n < tailBlock || len(rest) >= legacyHeader && (len(rest) >= syncedHeader || !zero(rest)) {
				broken, t.at = true, base+int64(i)
				t.torn = begun(rest, file)
				i++
			}
		}
		for ; broken && i < n; i++ {
			c := readChunk(b[i:], file)
			switch {
			case !c.ok:
			case file&1 == 1 && c.first: // manifests are synced record by record
				t.damaged, t.proof = true, base+int64(i)
			case c.synced > t.at:
				t.damaged, t.proof = true, max(t.proof, c.synced)
			}
		}
		if err != nil {
			break
		}
	}
	t.damaged = t.damaged || t.at < end
	return t, nil
}

// chunk is a chunk whose checksum is right.
type chunk struct {
	ok     bool
	size   int // with its header
	first  bool
	synced int64
}

// readChunk reads the chunk that bytes of a block begin with, if they do.
func readChunk(b []byte, file uint64) (c chunk) {
	if len(b) < legacyHeader {
		return c
	}
	header := headerOf(b, file)
	if header == 0 {
		return c
	}
	c.size = header + int(binary.LittleEndian.Uint16(b[4:]))
	if header == numberHeader && binary.LittleEndian.Uint32(b[7:]) == uint32(file>>1)+1 {
		// Only the mark of a log's end has the next number, and no checksum.
		c.ok = c.size == numberHeader && binary.LittleEndian.Uint32(b) == 0
		return c
	}
	if len(b) < c.size {
		return c
	}
	sum := crc32.Checksum(b[6:c.size], castagnoli)
	c.ok = (sum>>15|sum<<17)+0xa282ead8 == binary.LittleEndian.Uint32(b)
	c.first = (b[6]-1)%legacyTypes < firstsOfTypes
	if header == syncedHeader {
		c.synced = int64(binary.LittleEndian.Uint64(b[11:]))
	}
	return c
}

// headerOf returns the size of the header that bytes begin with if it may be one of the file, or else 0.
func headerOf(b []byte, file uint64) int {
	typ, manifest := b[6], file&1 == 1
	switch {
	case typ == 0 || typ > syncedTypes || (typ <= legacyTypes) != manifest:
		return 0
	case manifest:
		return legacyHeader
	}
	header := numberHeader
	if typ > numberTypes {
		header = syncedHeader
	}
	if len(b) < header {
		return 0
	}
	if number := binary.LittleEndian.Uint32(b[7:]); number != uint32(file>>1) && (header != numberHeader || number != uint32(file>>1)+1) {
		return 0
	}
	return header
}

// begun returns how many bytes a file has of a chunk that is not whole, as far as its header tells.
func begun(b []byte, file uint64) int64 {
	if len(b) < legacyHeader || headerOf(b, file) == 0 {
		return 0
	}
	return int64(min(len(b), headerOf(b, file)+int(binary.LittleEndian.Uint16(b[4:]))))
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
