package expr

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestFinder compares the finder with strings.Contains, over few different bytes, so that parts occur and nearly occur.
func TestFinder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int, from string) string {
		var b strings.Builder
		for range n {
			b.WriteByte(from[r.IntN(len(from))])
		}
		return b.String()
	}
	found := 0
	for range 100_000 {
		from := []string{"ab", "aab ", "\xc3\xa9e", "ev", "z"}[r.IntN(5)]
		s, part := text(r.IntN(200), from), text(r.IntN(6), from)
		f := newFinder(part)
		want := strings.Contains(s, part)
		if got := f.in(s); got != want {
			t.Fatalf("%q in %q: %t", part, s, got)
		}
		if want {
			found++
		}
	}
	if found < 1000 || found > 99_000 {
		t.Fatalf("%d parts are found", found)
	}
}

// BenchmarkFinder compares it with strings.Contains on English texts.
func BenchmarkFinder(b *testing.B) {
	text := strings.Repeat("The quick brown fox, of an open mind, never jumps over one other lazy dog. ", 14)
	const part = "over an old"
	b.Run("finder", func(b *testing.B) {
		f := newFinder(part)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if f.in(text) {
				b.Fatal("found")
			}
		}
	})
	b.Run("strings", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if strings.Contains(text, part) {
				b.Fatal("found")
			}
		}
	})
}
