// Package alloctest counts what a function allocates.
package alloctest

import "testing"

// Least returns how many allocations a call of f makes on average over runs calls, in the best of up to twenty rounds.
// The runtime counts the allocations of all goroutines, so a round in which a background goroutine works counts too many.
func Least(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for i := 0; i < 20 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
