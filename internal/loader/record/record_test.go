package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// show prints records as lines of bracketed cells.
func show(data []byte, d Dialect) string {
	var out strings.Builder
	s := NewScanner(d)
	s.Reset(data)
	for {
		cells, fault, ok := s.Next()
		if !ok {
			return out.String()
		}
		if fault != nil {
			fmt.Fprintf(&out, "%s: %q\n", fault.Code, data[s.Start:s.End])
			continue
		}
		for _, c := range cells {
			open, end := "[", "]"
			if c.Kind == Quoted {
				open, end = "<", ">"
			}
			fmt.Fprintf(&out, "%s%s%s", open, strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(string(c.Text)), end)
		}
		out.WriteByte('\n')
	}
}

func TestCSV(t *testing.T) {
	datadriven.RunTest(t, "testdata/csv", func(t *testing.T, d *datadriven.TestData) string {
		dialect := Dialect{Delimiter: ',', Quote: '"'}
		if d.HasArg("delimiter") {
			var s string
			d.ScanArgs(t, "delimiter", &s)
			dialect.Delimiter = s[0]
		}
		if d.HasArg("noquote") {
			dialect.Quote = 0
		}
		input := strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(d.Input)
		if !d.HasArg("open") {
			input += "\n"
		}
		out := show([]byte(input), dialect)
		// The same text in chunks of any size has the same records.
		for size := 1; size < len(input)+2; size++ {
			var parts strings.Builder
			sp := NewSplitter(strings.NewReader(input), dialect, size, 1<<20, 1, 0)
			at := int64(0)
			for {
				c, err := sp.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				require.Equal(t, at, c.Offset)
				require.Equal(t, int64(1+strings.Count(input[:at], "\n")), c.Line)
				at = c.EndOffset
				parts.WriteString(show(c.Data, dialect))
			}
			require.Equal(t, int64(len(input)), at)
			require.Equal(t, out, parts.String(), "chunks of %d bytes", size)
		}
		return out
	})
}

func TestJSON(t *testing.T) {
	datadriven.RunTest(t, "testdata/json", func(t *testing.T, d *datadriven.TestData) string {
		var keys Keys
		for _, a := range d.CmdArgs {
			keys.Add(a.Key)
		}
		l := NewLines(&keys, Dialect{JSON: true})
		l.Reset([]byte(d.Input))
		var out strings.Builder
		for {
			cells, fault, ok := l.Next()
			if !ok {
				return out.String()
			}
			if fault != nil {
				fmt.Fprintf(&out, "%s\n", fault.Code)
				continue
			}
			for i, c := range cells {
				if i > 0 {
					out.WriteByte(' ')
				}
				fmt.Fprintf(&out, "%d:%q", c.Kind, c.Text)
				if c.Kind == Array {
					fmt.Fprintf(&out, "%d", len(l.Elements(nil, c.Text)))
				}
			}
			out.WriteByte('\n')
		}
	})
}

// A line longer than a record's limit is returned in parts, and the line after it is whole.
func TestLongLine(t *testing.T) {
	text := "a,b\n" + strings.Repeat("x", 100) + "\nc,d\n"
	sp := NewSplitter(strings.NewReader(text), Dialect{Delimiter: ',', Quote: '"'}, 8, 16, 1, 0)
	var got []string
	for {
		c, err := sp.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%d %v %v %d", len(c.Data), c.Long, c.Last, c.Line))
	}
	require.Equal(t, "4 false false 1", got[0])
	require.Equal(t, "4 false false 3", got[len(got)-1])
	require.Contains(t, got[len(got)-2], "true true 2")
}

// Arbitrary bytes yield records that cover them, in chunks of any size.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,\"b\"\"c\"\n\"d\r\n"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		d := Dialect{Delimiter: ',', Quote: '"'}
		var chunks bytes.Buffer
		var records strings.Builder
		sp := NewSplitter(bytes.NewReader(data), d, int(size)+1, 1<<20, 1, 0)
		for {
			c, err := sp.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if c.Long {
				t.Fatal("too long")
			}
			chunks.Write(c.Data)
			records.WriteString(show(c.Data, d))
		}
		require.Equal(t, len(data), chunks.Len())
		require.Equal(t, show(data, d), records.String())
	})
}

// Any bytes are objects or faults.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, "\u00e9"], "b": {"c": -1.5e3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var keys Keys
		keys.Add("a")
		keys.Add("b.c")
		l := NewLines(&keys, Dialect{JSON: true})
		l.Reset(data)
		for {
			cells, _, ok := l.Next()
			if !ok {
				return
			}
			for _, c := range cells {
				if c.Kind == Array {
					l.Elements(nil, c.Text)
				}
			}
		}
	})
}

// TestFieldEnd compares the end of a field with that of a search byte by byte.
func TestFieldEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 100_000 {
		data := make([]byte, r.IntN(40))
		delimiter := []byte{',', '\t', ';', 0, '\n' + 1, 0xff}[r.IntN(6)]
		for i := range data {
			// Neighbours of what ends a field, and bytes that are far from it.
			data[i] = []byte{delimiter + byte(r.IntN(3)) - 1, '\n' + byte(r.IntN(3)) - 1, byte(r.Uint32()), 'a', 'a', 'a', 'a'}[r.IntN(7)]
		}
		from := r.IntN(len(data) + 1)
		want := from
		for want < len(data) && data[want] != delimiter && data[want] != '\n' {
			want++
		}
		require.Equal(t, want, fieldEnd(data, from, delimiter, '\n'), "%q from %d by %q", data, from, delimiter)
	}
}
