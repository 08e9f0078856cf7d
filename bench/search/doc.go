// Package search measures searches by vectors against plain sums over the same bytes.
package search
