package record

import (
	"errors"
	"io"
)

// Kind is the kind of a cell.
type Kind uint8

// CSV uses the first two kinds; JSON lines use the others and Missing.
const (
	Plain   Kind = iota // unquoted text
	Quoted              // quoted text
	Missing             // the object lacks the key
	Null
	Bool   // Text is true or false
	Number // Text is the number as written
	String // Text is unescaped
	Array  // Text is the array as written
	Object // Text is the object as written
)

// Cell is one field of a record. Its text is valid as long as the chunk is.
type Cell struct {
	Text []byte
	Kind Kind
}

// Fault is the reason why a record cannot be read.
type Fault struct {
	Code, Msg string
	Column    int // the position of the column at fault, from 0, or -1
}

// The codes of faults.
const (
	BadQuote   = "BadQuote"
	BadJSON    = "BadJSON"
	TooLong    = "RecordTooLong"
	BadUTF8    = "InvalidUTF8"
	BadColumns = "ColumnCount"
)

var faultJSON = &Fault{BadJSON, "the line is not a JSON object", -1}

// Dialect is the syntax of records.
type Dialect struct {
	JSON      bool // one object per line; delimiter and quote apply to CSV
	Delimiter byte
	Quote     byte // 0: none
	CR        bool // lines end with a carriage return alone
}

// End returns the last byte of a line.
func (d Dialect) End() byte {
	if d.CR {
		return '\r'
	}
	return '\n'
}

// Fill reads until buf is full. The error is io.EOF only if the text ends there: io.ErrUnexpectedEOF of r, which says that the text is cut off,
// stays what it is.
func Fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	if n == len(buf) && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
