package parse

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
)

// Caret returns the line of the text at pos and below it a caret that points at the position, each with a line break. It
// returns nothing for the zero Pos or a position outside the text.
func Caret(text string, pos graph.Pos) string {
	lines := strings.Split(text, "\n")
	if pos.Line < 1 || pos.Line > len(lines) || pos.Column < 1 {
		return ""
	}
	line := strings.TrimSuffix(lines[pos.Line-1], "\r")
	var pad strings.Builder
	column := 1
	for at := 0; at < len(line) && column < pos.Column; column++ {
		r, size := utf8.DecodeRuneInString(line[at:])
		at += size
		if r == '\t' {
			pad.WriteByte('\t')
		} else {
			pad.WriteByte(' ')
		}
	}
	return line + "\n" + pad.String() + "^\n"
}

// placeMark begins the part of a message that Located adds.
const placeMark = " (line "

// Located returns an error of a statement with its place in the message, as Neo4j's clients expect it: the line, the column and the offset,
// and below them the line with a caret. An error without a position stays as it is.
func Located(e *graph.Error, text string) *graph.Error {
	line, pad, _ := strings.Cut(Caret(text, e.Pos), "\n")
	if pad == "" {
		return e
	}
	before, after := 0, len(line)
	if column := len(strings.TrimSuffix(pad, "^\n")); utf8.RuneCountInString(line) > 2*shownColumns {
		before, after = offsetIn(line, column-shownColumns), offsetIn(line, column+shownColumns)
		pad = pad[max(0, column-shownColumns):]
	}
	c := *e
	c.Msg = fmt.Sprintf("%s%s%d, column %d (offset: %d))\n\"%s\"\n %s", e.Msg, placeMark, e.Pos.Line, e.Pos.Column, e.Pos.Offset, line[before:after], strings.TrimSuffix(pad, "\n"))
	return &c
}

// Unlocated returns a message without what Located adds.
func Unlocated(msg string) string {
	if at := strings.LastIndex(msg, placeMark); at >= 0 && strings.HasSuffix(msg, "^") {
		return msg[:at]
	}
	return msg
}

// shownColumns is how many characters Located shows of a long line on either side of the place.
const shownColumns = 100

// offsetIn returns the byte at which a character of a line begins, or the nearest end of the line.
func offsetIn(line string, char int) int {
	at := 0
	for ; char > 0 && at < len(line); char-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}
