package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Scanner reads the records of a chunk of CSV in order. Quotes are special only at the beginning of a field; within a quoted field, two
// quotes stand for one, and delimiters and line ends are text. If a quoted field is broken, the record is only its first line and scanning
// continues with the second, so one stray quote spoils one row.
type Scanner struct {
	// Start and End delimit the last record in the chunk, including its line end.
	Start, End int
	// Final means that the chunk is the last one: an unterminated quoted field is a fault.
	Final bool

	d     Dialect
	end   byte // of a line
	data  []byte
	cells []Cell
	arena []byte // for text with its doubled quotes resolved
}

// NewScanner returns a scanner for CSV.
func NewScanner(d Dialect) *Scanner { return &Scanner{d: d, end: d.End(), Final: true} }

// Reset begins a chunk. Cells of the previous one stay valid.
func (s *Scanner) Reset(data []byte) {
	s.data, s.Start, s.End, s.arena = data, 0, 0, nil
}

// Next reads a record, skipping empty lines. ok is false at the end of the chunk, or if the chunk ends within the record and is not Final;
// End is then the start of that record. The cells are valid until the next call.
func (s *Scanner) Next() (cells []Cell, fault *Fault, ok bool) {
	data, at := s.data, s.End
	for at < len(data) && (data[at] == s.end || data[at] == '\r' && (at+1 == len(data) || data[at+1] == '\n')) {
		at++
	}
	s.Start, s.End = at, at
	if at == len(data) {
		return nil, nil, false
	}
	cells = s.cells[:0]
	delimiter, quote := s.d.Delimiter, s.d.Quote
	for {
		if at < len(data) && data[at] == quote && quote != 0 {
			text, next, state := s.quoted(at + 1)
			if state != quoteGood {
				if !s.Final && (state == quoteOpen || bytes.IndexByte(data[s.Start:], s.end) < 0) {
					return nil, nil, false
				}
				s.firstLine()
				return nil, &Fault{BadQuote, "a quoted field does not end, or something follows after its end", len(cells)}, true
			}
			cells = append(cells, Cell{text, Quoted})
			at = next
			if at == len(data) {
				break
			}
			at++
			if data[next] == delimiter {
				continue
			}
			if data[next] == '\r' && s.end == '\n' {
				at++ // quoted has consumed the line feed
			}
			break
		}
		from := at
		at = fieldEnd(data, at, delimiter, s.end)
		if at < len(data) && data[at] == delimiter {
			cells = append(cells, Cell{data[from:at:at], Plain})
			at++
			continue
		}
		to := at
		if at < len(data) {
			at++
			if to > from && data[to-1] == '\r' && s.end == '\n' {
				to--
			}
		} else if !s.Final {
			return nil, nil, false
		}
		cells = append(cells, Cell{data[from:to:to], Plain})
		break
	}
	s.cells, s.End = cells, at
	return cells, nil, true
}

// lows and highs have the lowest and the highest bit of each byte.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// fieldEnd returns the position of the first delimiter or line end from a position on, or len(data). It tests eight bytes at a
// time (Mycroft's test for a zero byte): a borrow may mark bytes above the first that ends a field, and none below.
func fieldEnd(data []byte, at int, delimiter, end byte) int {
	for ; len(data)-at >= 8; at += 8 {
		w := binary.LittleEndian.Uint64(data[at:])
		x, y := w^lows*uint64(delimiter), w^lows*uint64(end)
		if found := ((x-lows)&^x | (y-lows)&^y) & highs; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(data) && data[at] != delimiter && data[at] != end {
		at++
	}
	return at
}

// Retreat pushes back all but the first line of the last record. It reports whether there were more lines.
func (s *Scanner) Retreat() bool {
	end := s.End
	s.firstLine()
	return s.End < end
}

// firstLine cuts the record at Start down to its first line.
func (s *Scanner) firstLine() {
	s.End = len(s.data)
	if i := bytes.IndexByte(s.data[s.Start:], s.end); i >= 0 {
		s.End = s.Start + i + 1
	}
}

type quoteState uint8

const (
	quoteGood quoteState = iota
	quoteOpen            // the chunk ends within the field
	quoteBad             // text follows the closing quote
)

// quoted reads a quoted field after its opening quote. next is the position after the closing quote: of a delimiter, a line end, or the end
// of the chunk.
func (s *Scanner) quoted(from int) (text []byte, next int, state quoteState) {
	data, quote := s.data, s.d.Quote
	at, doubled := from, false
	for {
		i := bytes.IndexByte(data[at:], quote)
		if i < 0 {
			return nil, 0, quoteOpen
		}
		at += i + 1
		if at == len(data) {
			if !s.Final {
				return nil, 0, quoteOpen
			}
			break
		}
		c := data[at]
		if c == quote {
			at++
			doubled = true
			continue
		}
		if c == s.d.Delimiter || c == s.end {
			break
		}
		if c == '\r' {
			if at+1 == len(data) && !s.Final {
				return nil, 0, quoteOpen
			}
			if at+1 < len(data) && data[at+1] == '\n' {
				break
			}
		}
		return nil, 0, quoteBad
	}
	text = data[from : at-1 : at-1]
	if doubled {
		text = s.single(text)
	}
	return text, at, quoteGood
}

// single replaces each pair of quotes by one.
func (s *Scanner) single(text []byte) []byte {
	start := len(s.arena)
	for {
		i := bytes.IndexByte(text, s.d.Quote)
		if i < 0 {
			s.arena = append(s.arena, text...)
			return s.arena[start:len(s.arena):len(s.arena)]
		}
		s.arena = append(s.arena, text[:i+1]...)
		text = text[i+2:]
	}
}
