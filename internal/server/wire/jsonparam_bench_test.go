package wire

import (
	"strings"
	"testing"
)

// BenchmarkParams reads a list of 100,000 numbers, and one of as many objects.
func BenchmarkParams(b *testing.B) {
	for name, item := range map[string]string{"numbers": "12345,", "objects": `{"id":12345,"name":"a name","score":1.5},`} {
		raw := []byte(`{"rows":[` + strings.TrimSuffix(strings.Repeat(item, 100_000), ",") + `]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeParams(raw, false, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
