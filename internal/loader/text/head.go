package text

import (
	"bytes"
	"errors"
	"strings"

	"github.com/hopgate/hopgate/internal/loader/record"
)

// HeadBytes bounds how much of a text ReadHead sees.
const HeadBytes = 1 << 20

// Head is the beginning of a text.
type Head struct {
	Preamble []byte // skipped lines and the header line, verbatim
	Cells    []string
	Line     int64 // of the first record
	Empty    bool
}

// ReadHead reads what precedes the records: skipped lines, and a header if there is one. Without a header, the cells are those of the first
// record. It detects the delimiter if that is 0.
func ReadHead(data []byte, d *record.Dialect, skip int, hasHeader bool) (Head, error) {
	h := Head{Line: 1}
	at := 0
	for range skip {
		i := bytes.IndexByte(data[at:], d.End())
		if i < 0 {
			i = len(data) - at - 1
		}
		at += i + 1
		h.Line++
	}
	if d.JSON {
		h.Preamble, h.Empty = data[:at], at == len(data)
		return h, nil
	}
	if d.Delimiter == 0 {
		d.Delimiter = RecogniseDelimiter(data[at:], *d)
	}
	s := record.NewScanner(*d)
	s.Reset(data[at:])
	cells, fault, ok := s.Next()
	if !ok {
		h.Empty = true
		h.Preamble = data
		return h, nil
	}
	if fault != nil {
		return h, errors.New("the first line has a quoted field that does not end")
	}
	for _, c := range cells {
		h.Cells = append(h.Cells, string(c.Text))
	}
	if hasHeader {
		h.Line += int64(bytes.Count(data[at:at+s.End], []byte{d.End()}))
		at += s.End
	}
	h.Preamble = data[:at]
	return h, nil
}

// EndsInCR reports whether the lines of a text end with carriage returns alone: outside quotes it has these, and no line feed.
func EndsInCR(data []byte, d record.Dialect) bool {
	found, quoted := false, false
	for _, c := range data {
		switch {
		case c == d.Quote && d.Quote != 0 && !d.JSON:
			quoted = !quoted
		case quoted:
		case c == '\n':
			return false
		case c == '\r':
			found = true
		}
	}
	return found
}

// candidates are the delimiters that are recognised.
const candidates = ",|\t;"

// RecogniseDelimiter returns the candidate that occurs most often in the first line outside quotes.
func RecogniseDelimiter(data []byte, d record.Dialect) byte {
	var counts [len(candidates)]int
	quoted := false
	for _, c := range bytes.TrimLeft(data, "\r\n") {
		if c == d.Quote && d.Quote != 0 {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == d.End() {
			break
		}
		if i := strings.IndexByte(candidates, c); i >= 0 {
			counts[i]++
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return candidates[best]
}
