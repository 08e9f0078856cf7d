package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// writeColumns writes lines of cells side by side: the first column to the left, all others to the right.
func writeColumns(w io.Writer, lines [][]string) {
	var widths []int
	for _, l := range lines {
		for i, c := range l {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		var line strings.Builder
		for i, c := range l {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line.WriteString(c + pad)
			} else {
				line.WriteString("  " + pad + c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, _ = io.WriteString(w, b.String())
}
