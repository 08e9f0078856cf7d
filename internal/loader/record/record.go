package record

// Kind says what a cell is.
type Kind uint8

// The kinds of cells. CSV has the first two, JSON lines the others and Missing.
const (
	Plain   Kind = iota // text that was not quoted
	Quoted              // text that was quoted
	Missing             // the object has no such key
	Null
	Bool   // Text is true or false
	Number // Text is the number as written
	String // Text is unescaped
	Array  // Text is the array as written
	Object // Text is the object as written
)

// Cell is one field of a record. Its text is valid as long as the chunk that it comes from.
type Cell struct {
	Text []byte
	Kind Kind
}

// Fault says why a record cannot be read.
type Fault struct {
	Code, Msg string
	Column    int // the position of the field at fault, from 0, or -1
}

// The codes of faults.
const (
	BadQuote   = "BadQuote"
	BadJSON    = "BadJSON"
	TooLong    = "RecordTooLong"
	BadUTF8    = "InvalidUTF8"
	BadColumns = "ColumnCount"
)

var faultJSON = &Fault{BadJSON, "the line is no JSON object", -1}

// Dialect is how records are written.
type Dialect struct {
	JSON      bool // an object a line; the rest is for CSV
	Delimiter byte
	Quote     byte // 0: none
}
