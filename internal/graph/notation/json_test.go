package notation

import (
	"encoding/json"
	"testing"
)

// TestAppendJSONString checks all bytes at all offsets of a word against the standard library.
func TestAppendJSONString(t *testing.T) {
	for at := range 17 {
		for c := range 256 {
			b := []byte("abcdefghijklmnopq")
			b[at] = byte(c)
			s := string(b)
			var back string
			if err := json.Unmarshal(AppendJSONString(nil, s), &back); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			if want := string([]rune(s)); back != want {
				t.Fatalf("%q: got %q", s, back)
			}
		}
	}
	for _, s := range []string{"", "a", "\x00", "天凉了\n", "ପ( ˘ᵕ˘ ) ੭ ☆", "\u2028", "\x7f", "abcdefgh\"", "abcdefg\\h"} {
		var back string
		if err := json.Unmarshal(AppendJSONString(nil, s), &back); err != nil || back != s {
			t.Fatalf("%q: %q %v", s, back, err)
		}
	}
}
