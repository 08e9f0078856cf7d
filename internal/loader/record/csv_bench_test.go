package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// peopleCSV is rows as those of the social network.
func peopleCSV() []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for b.Len() < 1<<20 {
		fmt.Fprintf(&b, "%d|Jan %d|Zak|%d|%d|%d.%d.%d.%d|Firefox|%d\n", rng.IntN(1<<30), rng.IntN(1000), rng.IntN(2), rng.Int64N(1<<40), rng.IntN(256),
			rng.IntN(256), rng.IntN(256), rng.IntN(256), rng.Int64N(1<<40))
	}
	return b.Bytes()
}

// BenchmarkCSV reads records, beside a scan that but counts the delimiters and line ends, written by hand.
func BenchmarkCSV(b *testing.B) {
	data := peopleCSV()
	fields := bytes.Count(data, []byte{'|'}) + bytes.Count(data, []byte{'\n'})
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			n := 0
			for _, c := range data {
				if c == '|' || c == '\n' {
					n++
				}
			}
			if n != fields {
				b.Fatal("the scan differs")
			}
		}
	})
	// The same, but the places are kept as a parser must.
	b.Run("places", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		var places []int32
		for b.Loop() {
			places = places[:0]
			for i, c := range data {
				if c == '|' || c == '\n' {
					places = append(places, int32(i))
				}
			}
		}
		if len(places) != fields {
			b.Fatal("the scans differ")
		}
	})
	b.Run("records", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		s := NewScanner(Dialect{Delimiter: '|', Quote: '"'})
		for b.Loop() {
			s.Reset(data)
			n := 0
			for {
				cells, _, ok := s.Next()
				if !ok {
					break
				}
				n += len(cells)
			}
			if n != fields {
				b.Fatal("the parser differs")
			}
		}
	})
}
