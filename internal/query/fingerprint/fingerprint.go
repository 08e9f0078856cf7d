// Package fingerprint identifies requests that differ only in their values.
package fingerprint

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// maxShape is how many bytes of a statement's shape are shown.
const maxShape = 2 << 10

// Of returns the text of a request of a kind with ? for each value, cut to 2 KiB, and 16 hexadecimal digits that identify the whole text.
// The text of a fetch is JSON.
func Of(kind, statement string, fetch bool) (digits, text string) {
	if fetch {
		text = fetchShape(statement)
	} else {
		text = statementShape(statement)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(kind))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(text))
	if len(text) > maxShape {
		end := maxShape
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return fmt.Sprintf("%016x", h.Sum64()), strings.ToValidUTF8(text, "")
}

// statementShape replaces a statement's literals by ?, one for a list of them, and the space between its words by one space.
func statementShape(s string) string {
	out := make([]byte, 0, min(len(s), maxShape))
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case strings.HasPrefix(s[i:], "//"):
			i = after(s, i+2, "\n")
			out = appendSpace(out)
		case strings.HasPrefix(s[i:], "/*"):
			i = after(s, i+2, "*/")
			out = appendSpace(out)
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			out = appendSpace(out)
		case c == '\'' || c == '"':
			i = closing(s, i)
			out = appendValue(out)
		case c == '`':
			end := after(s, i+1, "`")
			out = append(out, s[i:end]...)
			i = end
		case c >= '0' && c <= '9':
			for i < len(s) && (isWord(s[i]) || s[i] == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' && s[i-1] != '.') {
				i++
			}
			out = appendValue(out)
		case isWord(c) || c == '$':
			end := i + 1
			for end < len(s) && isWord(s[end]) {
				end++
			}
			out = append(out, s[i:end]...)
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return strings.TrimRight(string(out), " ;")
}

// fetchShape replaces the values of a fetch's body by ?, one for a list of them.
func fetchShape(s string) string {
	method, body, _ := strings.Cut(s, " ")
	out := append(make([]byte, 0, min(len(s), maxShape)), method...)
	out = append(out, ' ')
	for i := 0; i < len(body); {
		c := body[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"':
			end := closing(body, i)
			if rest := strings.TrimLeft(body[end:], " \t\r\n"); strings.HasPrefix(rest, ":") {
				out = append(out, body[i:end]...)
			} else {
				out = appendValue(out)
			}
			i = end
		case isWord(c) || c == '-':
			for i < len(body) && (isWord(body[i]) || strings.IndexByte("+-.", body[i]) >= 0) {
				i++
			}
			out = appendValue(out)
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out)
}

// appendValue adds ?, unless it would follow another in a list.
func appendValue(out []byte) []byte {
	for _, list := range []string{"?, ", "?,"} {
		if strings.HasSuffix(string(out[max(0, len(out)-len(list)):]), list) {
			return out[:len(out)-len(list)+1]
		}
	}
	return append(out, '?')
}

func appendSpace(out []byte) []byte {
	if len(out) == 0 || out[len(out)-1] == ' ' {
		return out
	}
	return append(out, ' ')
}

// closing returns the position after the string that begins at i, which may be cut off.
func closing(s string, i int) int {
	quote := s[i]
	for i++; i < len(s) && s[i] != quote; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(s))
}

// after returns the position after the next end from i on, or the end of s.
func after(s string, i int, end string) int {
	at := strings.Index(s[i:], end)
	if at < 0 {
		return len(s)
	}
	return i + at + len(end)
}

// isWord reports whether a byte may belong to a name, including the bytes of non-ASCII letters.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}
