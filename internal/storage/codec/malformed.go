package codec

import "errors"

// What is wrong with stored bytes; the reader adds their key.
var (
	ErrColumn  = errors.New("malformed column")
	ErrSegment = errors.New("malformed edge list")
	ErrDelta   = errors.New("malformed delta record")
	ErrBitmap  = errors.New("malformed bitmap")
	ErrRecord  = errors.New("malformed record")
)
