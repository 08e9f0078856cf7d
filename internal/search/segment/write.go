package segment

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/bits"
)

const (
	magic       = "HGTEXT\x00\x02" // the last byte is the version
	trailerSize = 24
	// blockDocs is the number of documents of a block of postings.
	blockDocs = 128
	skipSize  = 16
	// manyTimes stands for itself and all greater frequencies and lengths in the table of blocks.
	manyTimes = 1<<16 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fileWriter counts and sums what it writes; its first error stays.
type fileWriter struct {
	w   io.Writer
	n   int64
	sum uint32
	err error
}

func (w *fileWriter) write(b []byte) {
	if w.err != nil || len(b) == 0 {
		return
	}
	w.sum = crc32.Update(w.sum, castagnoli, b)
	w.n += int64(len(b))
	_, w.err = w.w.Write(b)
}

// writer writes a segment: documents, then field by field the terms in order, then the end.
type writer struct {
	fileWriter
	directory []byte
	docs      int
	fields    uint64
	names     []byte // the directory's part of the fields
	term      termWriter
}

// place notes where a section lies.
func place(to []byte, at, size int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(to, uint64(at)), uint64(size))
}

// keys writes a section of keys and notes where it lies.
func (w *writer) keys(k *keyWriter, to []byte) []byte {
	at := w.n
	w.write(k.out)
	w.write(k.places)
	to = place(to, at, int64(len(k.out)))
	return binary.AppendUvarint(to, uint64(k.n))
}

// begin writes the IDs and the checksums.
func (w *writer) begin(ids *keyWriter, sums []byte) {
	w.docs = ids.n
	w.directory = w.keys(ids, w.directory)
	w.directory = binary.AppendUvarint(w.directory, uint64(w.n))
	w.write(sums)
}

// beginField writes the lengths of a field.
func (w *writer) beginField(name string, lengths []uint32) {
	most := uint32(0)
	for _, n := range lengths {
		most = max(most, n)
	}
	width := 4
	switch {
	case most < 1<<8:
		width = 1
	case most < 1<<16:
		width = 2
	}
	out := make([]byte, 0, width*len(lengths))
	for _, n := range lengths {
		switch width {
		case 1:
			out = append(out, byte(n))
		case 2:
			out = binary.LittleEndian.AppendUint16(out, uint16(n))
		default:
			out = binary.LittleEndian.AppendUint32(out, n)
		}
	}
	w.fields++
	w.names = append(binary.AppendUvarint(w.names, uint64(len(name))), name...)
	w.names = binary.AppendUvarint(w.names, uint64(width))
	w.names = binary.AppendUvarint(w.names, uint64(w.n))
	w.write(out)
	w.names = binary.AppendUvarint(w.names, uint64(w.n))
	w.term.reset(w, lengths)
}

// endField writes the terms of a field.
func (w *writer) endField() {
	w.names = binary.AppendUvarint(w.names, uint64(w.n-w.term.start))
	w.names = w.keys(&w.term.keys, w.names)
}

// end writes the directory and the trailer.
func (w *writer) end() error {
	at := w.n
	w.directory = append(binary.AppendUvarint(w.directory, w.fields), w.names...)
	w.write(w.directory)
	b := binary.LittleEndian.AppendUint64(nil, uint64(at))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(w.directory)))
	w.write(b)
	w.write(append(binary.LittleEndian.AppendUint32(nil, w.sum), magic...))
	return w.err
}

// termWriter writes the terms of a field.
type termWriter struct {
	w       *writer
	start   int64    // where the postings of the field begin
	lengths []uint32 // of the field, by document
	keys    keyWriter

	df        int
	last      uint32 // the last document, plus one
	docs      []uint32
	freqs     []uint32 // of the block
	shortest  uint32   // the least length in the block
	skip      []byte
	out       []byte // documents
	positions []byte
}

func (t *termWriter) reset(w *writer, lengths []uint32) {
	t.w, t.start, t.lengths = w, w.n, lengths
	t.keys = keyWriter{out: t.keys.out[:0], places: t.keys.places[:0], last: t.keys.last[:0]}
}

// add adds a document of the term.
func (t *termWriter) add(doc, freq uint32, positions []byte) {
	t.df++
	if len(t.docs) == 0 || t.lengths[doc] < t.shortest {
		t.shortest = t.lengths[doc]
	}
	t.docs = append(t.docs, doc-t.last)
	t.freqs = append(t.freqs, freq)
	t.last = doc + 1
	t.positions = append(t.positions, positions...)
	if len(t.docs) == blockDocs {
		t.block()
	}
}

// block packs a whole block.
func (t *termWriter) block() {
	var most, mostFreq uint32
	for i, d := range t.docs {
		most |= d
		mostFreq = max(mostFreq, t.freqs[i])
		t.freqs[i]--
	}
	w, f := bits.Len32(most), bits.Len32(mostFreq-1)
	t.out = append(t.out, byte(w), byte(f))
	t.out = pack(t.out, t.docs, w)
	t.out = pack(t.out, t.freqs, f)
	t.skip = binary.LittleEndian.AppendUint32(t.skip, t.last-1)
	t.skip = binary.LittleEndian.AppendUint32(t.skip, uint32(len(t.out)))
	t.skip = binary.LittleEndian.AppendUint32(t.skip, uint32(len(t.positions)))
	t.skip = binary.LittleEndian.AppendUint16(t.skip, uint16(min(mostFreq, manyTimes)))
	t.skip = binary.LittleEndian.AppendUint16(t.skip, uint16(min(t.shortest, manyTimes)))
	t.docs, t.freqs = t.docs[:0], t.freqs[:0]
}

// pack appends the low bits of values; the number of values is a multiple of eight.
func pack(to []byte, values []uint32, width int) []byte {
	acc, n := uint64(0), 0
	for _, v := range values {
		acc |= uint64(v) << n
		if n += width; n >= 32 {
			to = binary.LittleEndian.AppendUint32(to, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	for ; n > 0; n -= 8 {
		to = append(to, byte(acc))
		acc >>= 8
	}
	return to
}

// end writes a term with its documents, if it has any.
func (t *termWriter) end(term []byte) {
	if t.df == 0 {
		return
	}
	for i, d := range t.docs {
		v := uint64(d) << 1
		if t.freqs[i] == 1 {
			t.out = binary.AppendUvarint(t.out, v)
			continue
		}
		t.out = binary.AppendUvarint(t.out, v|1)
		t.out = binary.AppendUvarint(t.out, uint64(t.freqs[i]-2))
	}
	at := t.w.n - t.start
	t.keys.begin(term, func() { t.keys.out = binary.AppendUvarint(t.keys.out, uint64(at)) })
	t.keys.out = binary.AppendUvarint(t.keys.out, uint64(t.df))
	t.keys.out = binary.AppendUvarint(t.keys.out, uint64(len(t.skip)+len(t.out)))
	t.keys.out = binary.AppendUvarint(t.keys.out, uint64(len(t.positions)))
	t.w.write(t.skip)
	t.w.write(t.out)
	t.w.write(t.positions)
	t.df, t.last = 0, 0
	t.docs, t.freqs, t.skip, t.out, t.positions = t.docs[:0], t.freqs[:0], t.skip[:0], t.out[:0], t.positions[:0]
}
