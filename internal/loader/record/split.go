package record

import (
	"bytes"
	"errors"
	"io"
)

// Chunk is a sequence of whole records of a file.
type Chunk struct {
	Data []byte // owned by the caller
	// Line is the number of the first line, from 1. Offset is the position of the first byte in the text.
	Line, Offset int64
	// EndLine and EndOffset are the line and offset after the chunk.
	EndLine, EndOffset int64
	// EndPart, of a chunk of a database's edges, is how far the edges of the vertex EndOffset have been read.
	EndPart int64
	// Long marks a part of a line that is longer than a record may be; Last marks the end of that line.
	Long, Last bool
}

// Splitter splits text into chunks. A chunk's end depends only on the text from the chunk's start, so a load that resumes at the end of a
// chunk sees the same chunks.
type Splitter struct {
	r       io.Reader
	d       Dialect
	end     byte // of a line
	size    int
	longest int
	rest    []byte // read, but not returned yet
	eof     bool
	line    int64
	offset  int64
	long    bool // within an overlong line
	scan    *Scanner
}

// NewSplitter splits the rest of r, which starts at a line and offset. Chunks have size bytes, or more to hold one record; no record
// exceeds longest.
func NewSplitter(r io.Reader, d Dialect, size, longest int, line, offset int64) *Splitter {
	s := &Splitter{r: r, d: d, end: d.End(), size: size, longest: max(size, longest), line: line, offset: offset, scan: NewScanner(d)}
	s.scan.Final = false
	return s
}

// Next returns the next chunk, or io.EOF.
func (s *Splitter) Next() (Chunk, error) {
	for want := s.size; ; want = min(2*want, s.longest) {
		if err := s.fill(want); err != nil {
			return Chunk{}, err
		}
		if len(s.rest) == 0 {
			return Chunk{}, io.EOF
		}
		if s.long {
			return s.takeLong(), nil
		}
		full := s.rest[:min(want, len(s.rest))]
		if n := s.whole(full); n > 0 {
			return s.take(n), nil
		}
		if want < s.longest && !(s.eof && len(full) == len(s.rest)) {
			continue
		}
		// One record fills everything. A broken quote ends with its line; otherwise the line is too long.
		if i := bytes.IndexByte(full, s.end); i >= 0 {
			return s.take(i + 1), nil
		}
		return s.takeLong(), nil
	}
}

// fill reads until more than want bytes are buffered or the text ends.
func (s *Splitter) fill(want int) error {
	if s.eof || len(s.rest) > want {
		return nil
	}
	buf := make([]byte, want+1)
	n := copy(buf, s.rest)
	k, err := Fill(s.r, buf[n:])
	s.rest = buf[:n+k]
	if errors.Is(err, io.EOF) {
		s.eof, err = true, nil
	}
	return err
}

// whole returns how many bytes of data form whole records.
func (s *Splitter) whole(data []byte) int {
	final := s.eof && len(data) == len(s.rest)
	if s.d.JSON || s.d.Quote == 0 || bytes.IndexByte(data, s.d.Quote) < 0 {
		if final {
			return len(data)
		}
		return bytes.LastIndexByte(data, s.end) + 1
	}
	s.scan.Final = final
	s.scan.Reset(data)
	for {
		if _, _, ok := s.scan.Next(); !ok {
			return s.scan.End
		}
	}
}

func (s *Splitter) take(n int) Chunk {
	c := Chunk{Data: s.rest[:n:n], Line: s.line, Offset: s.offset}
	s.line += int64(bytes.Count(c.Data, []byte{s.end}))
	s.offset += int64(n)
	c.EndLine, c.EndOffset = s.line, s.offset
	s.rest = append(make([]byte, 0, len(s.rest)-n), s.rest[n:]...)
	return c
}

// takeLong takes a part of an overlong line, at most to its end.
func (s *Splitter) takeLong() Chunk {
	n, last := len(s.rest), s.eof
	if i := bytes.IndexByte(s.rest, s.end); i >= 0 {
		n, last = i+1, true
	}
	c := s.take(n)
	c.Long, c.Last = true, last
	s.long = !last
	return c
}
