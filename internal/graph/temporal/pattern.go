package temporal

import (
	"strings"
	"unicode/utf8"
)

// patternPart is a part of a pattern: a letter with its repetitions, literal text (letter 0), or an optional section (letter '[').
type patternPart struct {
	letter byte
	n      int
	width  int // at least, with spaces before it
	text   string
	inner  []patternPart
}

// scanPattern takes a pattern of Java's DateTimeFormatter apart.
func scanPattern(pattern string) ([]patternPart, error) {
	parts, rest, err := scanParts(pattern, 0)
	if err == nil && rest != "" {
		return nil, invalid("the pattern %q has a ] without a [", pattern)
	}
	return parts, err
}

// maxSections is the greatest nesting of optional sections.
const maxSections = 50

func scanParts(s string, depth int) (parts []patternPart, rest string, err error) {
	width := 0
	for s != "" {
		c := s[0]
		switch {
		case c == 'p':
			width = run(s)
			if s = s[width:]; s == "" || !isPatternLetter(s[0]) {
				return nil, "", invalid("p in a pattern stands before another letter")
			}
		case isPatternLetter(c):
			n := run(s)
			parts = append(parts, patternPart{letter: c, n: n, width: width})
			s, width = s[n:], 0
		case markUTC <= c && c <= markWeekday:
			parts = append(parts, patternPart{letter: c, n: 1})
			s = s[1:]
		case c == '\'':
			text, after, ok := cutQuoted(s[1:])
			if !ok {
				return nil, "", invalid("a quoted text in a pattern is not closed")
			}
			parts = append(parts, patternPart{text: text})
			s = after
		case c == '[':
			if depth == maxSections {
				return nil, "", invalid("a pattern has optional sections %d deep at most", maxSections)
			}
			var inner []patternPart
			if inner, s, err = scanParts(s[1:], depth+1); err != nil {
				return nil, "", err
			}
			s = strings.TrimPrefix(s, "]")
			parts = append(parts, patternPart{letter: c, inner: inner})
		case c == ']':
			return parts, s, nil
		case c == '{', c == '}', c == '#':
			return nil, "", invalid("%c in a pattern must stand in quotes", c)
		default:
			_, n := utf8.DecodeRuneInString(s)
			parts = append(parts, patternPart{text: s[:n]})
			s = s[n:]
		}
	}
	return parts, "", nil
}

func isPatternLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// run returns how often a text repeats its first byte.
func run(s string) int { return len(s) - len(strings.TrimLeft(s, s[:1])) }

// cutQuoted takes a text up to its closing quote; two quotes are one, and nothing between quotes is one too.
func cutQuoted(s string) (text, rest string, ok bool) {
	if strings.HasPrefix(s, "'") {
		return "'", s[1:], true
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "'")
		b.WriteString(before)
		if !found {
			return "", "", false
		}
		if !strings.HasPrefix(after, "'") {
			return b.String(), after, true
		}
		b.WriteByte('\'')
		s = after[1:]
	}
}

// writer writes a part that is a letter; ok is false if the value has no such field.
type writer func(dst []byte, letter byte, n int) (out []byte, ok bool, err error)

// writeParts writes a pattern's parts. It returns the letter whose field the value lacks, or 0.
func writeParts(dst []byte, parts []patternPart, write writer) (out []byte, lacks byte, err error) {
	for i := range parts {
		p := &parts[i]
		begin := len(dst)
		switch p.letter {
		case 0:
			dst = append(dst, p.text...)
			continue
		case '[':
			if dst, lacks, err = writeParts(dst, p.inner, write); err != nil {
				return nil, 0, err
			}
			if lacks != 0 {
				dst = dst[:begin]
			}
			continue
		}
		var ok bool
		if dst, ok, err = write(dst, p.letter, p.n); err != nil {
			return nil, 0, err
		}
		if !ok {
			return dst, p.letter, nil
		}
		if p.width > maxPatternWidth {
			return nil, 0, invalid("a pattern pads to %d characters at most", maxPatternWidth)
		}
		if short := p.width - utf8.RuneCount(dst[begin:]); short > 0 {
			dst = append(dst, strings.Repeat(" ", short)...)
			copy(dst[begin+short:], dst[begin:])
			copy(dst[begin:], strings.Repeat(" ", short))
		} else if p.width > 0 && short < 0 {
			return nil, 0, invalid("%q is wider than the %d characters that the pattern pads it to", dst[begin:], p.width)
		}
	}
	return dst, 0, nil
}

const maxPatternWidth = 1000

// formatParts formats a value by a pattern; what is the value's type, for errors.
func formatParts(parts []patternPart, what string, write writer) (string, error) {
	out, lacks, err := writeParts(nil, parts, write)
	if err == nil && lacks != 0 {
		err = invalid("%s cannot be written by %c", what, lacks)
	}
	return string(out), err
}

// tooMany returns the error of a letter with an invalid number of repetitions.
func tooMany(letter byte, n int) error {
	return invalid("%c cannot be repeated %d times in a pattern", letter, n)
}
