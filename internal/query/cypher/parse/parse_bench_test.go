package parse

import "testing"

// BenchmarkStatement parses the first seed, a statement that uses most of a MATCH's syntax.
func BenchmarkStatement(b *testing.B) {
	b.SetBytes(int64(len(seeds[0])))
	for b.Loop() {
		if _, err := Statement(seeds[0]); err != nil {
			b.Fatal(err)
		}
	}
}
