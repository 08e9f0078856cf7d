package summary

import (
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/query"
)

// maxSummary is the size of a summary in a header: clients refuse long headers.
const maxSummary = 16 << 10

// Text returns a summary as JSON in ASCII, without the plan and without notifications that are too long for a header.
// tail, if not nil, adds members.
func Text(s query.Summary, tail func([]byte) []byte) string {
	s.Plan = nil
	buf := AppendJSON([]byte{'{'}, s)
	if len(buf) > maxSummary {
		s.Notifications = nil
		buf = AppendJSON(buf[:1], s)
	}
	if tail != nil {
		buf = tail(append(buf, ','))
	}
	return asciiJSON(append(buf, '}'))
}

// asciiJSON escapes what is not ASCII in JSON.
func asciiJSON(text []byte) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(text))
	unit := func(c rune) {
		out = append(out, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
	}
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case c < utf8.RuneSelf:
			out = append(out, byte(c))
		case c < 0x10000:
			unit(c)
		default:
			c -= 0x10000
			unit(0xd800 + c>>10)
			unit(0xdc00 + c&0x3ff)
		}
	}
	return string(out)
}
