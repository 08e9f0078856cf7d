package record

import (
	"bytes"
	"errors"
	"io"
)

// Chunk is whole records of a file.
type Chunk struct {
	Data []byte // the caller's from now on
	// Line is the number of the first line, from 1. Offset is the first byte's place in the text.
	Line, Offset int64
	// EndLine and EndOffset are those of what follows.
	EndLine, EndOffset int64
	// Long says that the chunk is part of a line that is longer than a record may be; Last that it ends the line.
	Long, Last bool
}

// Splitter cuts a text into chunks. Where it cuts depends on the text from the chunk's beginning alone, so that a load
// that goes on at a chunk's end finds the chunks that it would have found otherwise.
type Splitter struct {
	r       io.Reader
	d       Dialect
	size    int
	longest int
	rest    []byte // read, but not given out yet
	eof     bool
	line    int64
	offset  int64
	long    bool // within a line that is too long
	scan    *Scanner
}

// NewSplitter cuts what r has left, which begins at a line and offset. Chunks have size bytes, or what one record
// has, but no record is longer than longest.
func NewSplitter(r io.Reader, d Dialect, size, longest int, line, offset int64) *Splitter {
	s := &Splitter{r: r, d: d, size: size, longest: max(size, longest), line: line, offset: offset, scan: NewScanner(d)}
	s.scan.Final = false
	return s
}

// Next gives the next chunk, or io.EOF.
func (s *Splitter) Next() (Chunk, error) {
	for want := s.size; ; want = min(2*want, s.longest) {
		if err := s.fill(want); err != nil {
			return Chunk{}, err
		}
		if len(s.rest) == 0 {
			return Chunk{}, io.EOF
		}
		if s.long {
			return s.cutLong(), nil
		}
		full := s.rest[:min(want, len(s.rest))]
		if n := s.whole(full); n > 0 {
			return s.cut(n), nil
		}
		if want < s.longest && !(s.eof && len(full) == len(s.rest)) {
			continue
		}
		// One record fills everything. A broken quote ends with its line; else the line is too long.
		if i := bytes.IndexByte(full, '\n'); i >= 0 {
			return s.cut(i + 1), nil
		}
		return s.cutLong(), nil
	}
}

// fill reads on until there are more than want bytes or it is known that there is nothing more.
func (s *Splitter) fill(want int) error {
	if s.eof || len(s.rest) > want {
		return nil
	}
	buf := make([]byte, want+1)
	n := copy(buf, s.rest)
	k, err := io.ReadFull(s.r, buf[n:])
	s.rest = buf[:n+k]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.eof, err = true, nil
	}
	return err
}

// whole is how many bytes of data are whole records.
func (s *Splitter) whole(data []byte) int {
	final := s.eof && len(data) == len(s.rest)
	if s.d.JSON || s.d.Quote == 0 || bytes.IndexByte(data, s.d.Quote) < 0 {
		if final {
			return len(data)
		}
		return bytes.LastIndexByte(data, '\n') + 1
	}
	s.scan.Final = final
	s.scan.Reset(data)
	for {
		if _, _, ok := s.scan.Next(); !ok {
			return s.scan.End
		}
	}
}

func (s *Splitter) cut(n int) Chunk {
	c := Chunk{Data: s.rest[:n:n], Line: s.line, Offset: s.offset}
	s.line += int64(bytes.Count(c.Data, []byte{'\n'}))
	s.offset += int64(n)
	c.EndLine, c.EndOffset = s.line, s.offset
	s.rest = append(make([]byte, 0, len(s.rest)-n), s.rest[n:]...)
	return c
}

// cutLong gives a part of a line that is too long, up to its end.
func (s *Splitter) cutLong() Chunk {
	n, last := len(s.rest), s.eof
	if i := bytes.IndexByte(s.rest, '\n'); i >= 0 {
		n, last = i+1, true
	}
	c := s.cut(n)
	c.Long, c.Last = true, last
	s.long = !last
	return c
}
