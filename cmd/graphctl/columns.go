package main

import (
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// writeColumns writes rows of cells in aligned columns: the first aligned left, the others right.
func writeColumns(w io.Writer, lines [][]string) {
	var widths []int
	for _, l := range lines {
		for i, c := range l {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(c))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		var line strings.Builder
		for i, c := range l {
			pad := strings.Repeat(" ", widths[i]-runewidth.StringWidth(c))
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
