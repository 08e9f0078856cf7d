package text

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// EncodingOf finds a character encoding by its name; nil means UTF-8.
func EncodingOf(name string) (encoding.Encoding, error) {
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8":
		return nil, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, fmt.Errorf("unknown encoding %q", name)
	}
	return e, nil
}

// GuessEncoding guesses the encoding of a text from its beginning; "" means UTF-8. It recognises utf-32, which EncodingOf does not support.
func GuessEncoding(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")):
		return "utf-32"
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "utf-16be"
	}
	// Without a byte order mark, the separators and line ends of UTF-16 have a zero byte on the same side.
	var zeros [2]int
	for i, c := range data {
		if c == 0 {
			zeros[i%2]++
		}
	}
	const seldom = 50
	switch few := len(data) / seldom; {
	case zeros[1] > few && zeros[0]*seldom <= zeros[1]:
		return "utf-16le"
	case zeros[0] > few && zeros[1]*seldom <= zeros[0]:
		return "utf-16be"
	}
	// A few bad bytes in UTF-8 make a bad row. An incomplete character at the end is not an error.
	whole, bad := 0, 0
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1 && utf8.FullRune(data):
			bad++
		case n > 1:
			whole++
		}
		data = data[n:]
	}
	if bad > whole {
		return "latin1"
	}
	return ""
}

// RefuseEncoding returns an error that names the encoding if a text is not UTF-8 from its header on. If only single rows are bad, the
// parser refuses those.
func RefuseEncoding(data, header []byte) error {
	switch name := GuessEncoding(data); {
	case name == "", name == "latin1" && utf8.Valid(header):
		return nil
	case name == "utf-32":
		return errors.New("the file is in UTF-32, which is not supported: convert it to UTF-8")
	default:
		return fmt.Errorf("the file is in %s: set encoding: %s in a mapping, as --init does; if it is in UTF-8 after all, set encoding: utf-8", strings.ToUpper(name), name)
	}
}
