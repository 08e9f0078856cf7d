package parse

import "testing"

// BenchmarkStatement reads the first seed, a statement with most of what a MATCH can have.
func BenchmarkStatement(b *testing.B) {
	b.SetBytes(int64(len(seeds[0])))
	for b.Loop() {
		if _, err := Statement(seeds[0]); err != nil {
			b.Fatal(err)
		}
	}
}
