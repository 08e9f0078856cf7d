package record

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
	JSON      bool // one object per line; the other fields apply to CSV
	Delimiter byte
	Quote     byte // 0: none
}
