// Package search measures searches by vectors beside plain sums over the same bytes, and searches by words beside other engines.
package search
