package parse

import (
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
