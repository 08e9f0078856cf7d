package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// ErrCorrupt reports bytes that are no segment.
var ErrCorrupt = errors.New("the segment of a full-text index is corrupt")

// Segment is a segment that can be read, by several goroutines at a time.
type Segment struct {
	data   []byte
	close  func() error
	ids    keys
	least  []byte
	last   []byte
	sums   []byte
	fields []Field
}

// Field is a field of a segment.
type Field struct {
	name     string
	docs     int
	width    int
	lengths  []byte
	postings []byte
	terms    keys
}

// directoryReader reads places within a segment.
type directoryReader struct {
	keyReader
	all []byte
}

// part returns the bytes of a section.
func (r *directoryReader) part(at, size uint64) []byte {
	if at > uint64(len(r.all)) || size > uint64(len(r.all))-at {
		r.fail()
		return nil
	}
	return r.all[at : at+size]
}

func (r *directoryReader) keys() (k keys) {
	at, size, n := r.uvarint(), r.uvarint(), r.uvarint()
	if n >= NoDoc {
		r.fail()
	}
	k.data = r.part(at, size)
	k.n = int(n)
	k.places = r.part(at+size, 4*uint64(k.blocks()))
	return k
}

// New reads a segment from its bytes, which must not change. It returns ErrCorrupt if they are none.
func New(data []byte) (*Segment, error) {
	if len(data) < trailerSize || string(data[len(data)-8:]) != magic {
		return nil, ErrCorrupt
	}
	trailer := data[len(data)-trailerSize:]
	if crc32.Checksum(data[:len(data)-12], castagnoli) != binary.LittleEndian.Uint32(trailer[12:]) {
		return nil, ErrCorrupt
	}
	s := &Segment{data: data}
	r := &directoryReader{all: data[:len(data)-trailerSize]}
	r.of = &keys{}
	r.data = r.part(binary.LittleEndian.Uint64(trailer), uint64(binary.LittleEndian.Uint32(trailer[8:])))
	s.ids = r.keys()
	s.sums = r.part(r.uvarint(), 4*uint64(s.ids.n))
	for range min(r.uvarint(), 1<<16) {
		var f Field
		f.name = string(r.take(r.uvarint()))
		f.docs = s.ids.n
		width := r.uvarint()
		if width != 1 && width != 2 && width != 4 {
			return nil, ErrCorrupt
		}
		f.width = int(width)
		f.lengths = r.part(r.uvarint(), width*uint64(s.ids.n))
		at, size := r.uvarint(), r.uvarint()
		f.postings = r.part(at, size)
		f.terms = r.keys()
		if r.bad {
			return nil, ErrCorrupt
		}
		s.fields = append(s.fields, f)
	}
	if r.bad {
		return nil, ErrCorrupt
	}
	if s.ids.n > 0 {
		s.least, s.last = bytes.Clone(s.IDs().ID(0)), s.IDs().ID(uint32(s.ids.n-1))
	}
	return s, nil
}

// Close releases the bytes of a segment that Open has opened. Nothing may use it any more.
func (s *Segment) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Bytes is the segment as it is written.
func (s *Segment) Bytes() []byte { return s.data }

// Docs is the number of documents.
func (s *Segment) Docs() int { return s.ids.n }

// Bounds are the least ID and the greatest.
func (s *Segment) Bounds() (least, greatest []byte) { return s.least, s.last }

// Sum is the checksum of a document.
func (s *Segment) Sum(doc uint32) uint32 { return binary.LittleEndian.Uint32(s.sums[4*doc:]) }

// Field returns a field; nil if no document has it.
func (s *Segment) Field(name string) *Field {
	i, ok := slices.BinarySearchFunc(s.fields, name, func(f Field, name string) int { return bytes.Compare([]byte(f.name), []byte(name)) })
	if !ok {
		return nil
	}
	return &s.fields[i]
}

// Find returns the number of the document with an ID.
func (s *Segment) Find(id []byte) (doc uint32, ok bool) {
	if s.ids.n == 0 {
		return 0, false
	}
	r := keyReader{of: &s.ids}
	r.seek(s.ids.find(id, 0))
	for range blockKeys {
		if !r.next() {
			return 0, false
		}
		switch c := bytes.Compare(r.key, id); {
		case c == 0:
			return uint32(r.at - 1), true
		case c > 0:
			return 0, false
		}
	}
	return 0, false
}

// IDs reads the IDs of documents; it is quickest for ascending numbers.
type IDs struct {
	r   keyReader
	has bool // the key is that of the document before r.at
}

// IDs returns a reader of IDs.
func (s *Segment) IDs() *IDs { return &IDs{r: keyReader{of: &s.ids, at: s.ids.n}} }

// ID returns the ID of a document. It is valid until the next call; nil if the segment is corrupt.
func (i *IDs) ID(doc uint32) []byte {
	if int64(doc) >= int64(i.r.of.n) {
		return nil
	}
	if i.has && int(doc) == i.r.at-1 {
		return i.r.key
	}
	if int(doc) < i.r.at || int(doc)/blockKeys != i.r.at/blockKeys {
		i.r.seek(int(doc) / blockKeys)
	}
	for i.r.at <= int(doc) {
		if i.has = i.r.next(); !i.has {
			return nil
		}
	}
	return i.r.key
}

// Length is the number of terms of the field in a document.
func (f *Field) Length(doc uint32) uint32 {
	switch f.width {
	case 1:
		return uint32(f.lengths[doc])
	case 2:
		return uint32(binary.LittleEndian.Uint16(f.lengths[2*doc:]))
	}
	return binary.LittleEndian.Uint32(f.lengths[4*doc:])
}

// ByteLengths are the numbers of terms by document if all are below 256, else nil.
func (f *Field) ByteLengths() []byte {
	if f.width == 1 {
		return f.lengths
	}
	return nil
}
