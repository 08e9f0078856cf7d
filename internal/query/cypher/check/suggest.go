package check

import (
	"slices"
	"strings"
)

// didYouMean gives "; did you mean `x`?" with the known name that is closest to name, or nothing if none is close: as many as a
// third of the letters may differ, or the case of all.
func didYouMean(name string, known []string) string {
	slices.Sort(known)
	best, limit := "", len(name)/3+1
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if d < limit || d == limit && best == "" && d < len(name) {
			best, limit = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean `" + best + "`?"
}

// distance is the number of letters to add, drop, change or swap with their neighbour to make b of a.
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
