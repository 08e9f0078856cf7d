package ast

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the known name that is closest to name, or "" if none is close: one letter in five may differ, two in six to
// nine, and so on, and the case of all. Of equally close names, it returns the first.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	most := (utf8.RuneCountInString(name) + 2) / 4
	best := ""
	for _, k := range known {
		if n := utf8.RuneCountInString(k) - utf8.RuneCountInString(name); n > most || -n > most {
			continue
		}
		d := distance(name, strings.ToLower(k))
		if d < most || d == most && (best == "" || k < best) {
			best, most = k, d
		}
	}
	return best
}

// distance returns the edit distance of a and b: letters added, dropped, changed or swapped with a neighbour.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, row := make([]int, len(y)+1), make([]int, len(y)+1)
	var next []int
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next = append(next[:0], i+1)
		for j := range y {
			d := row[j]
			if x[i] != y[j] {
				d = min(d, row[j+1], next[j]) + 1
			}
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, before[j-1]+1)
			}
			next = append(next, d)
		}
		before, row, next = row, next, before
	}
	return row[len(y)]
}
