package mapping

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// TestErrors pins the errors of invalid mappings: file, line, field and reason. With header=…, the mapping is bound to a file with
// those columns; "headers" reads neo4j-admin headers instead, a file a line.
func TestErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "headers" {
			h := NewHeaders(d.HasArg("integer"))
			for i, line := range strings.Split(d.Input, "\n") {
				name := string(rune('a'+i)) + ".csv"
				if err := h.Add(File{Paths: []string{name}, Delimiter: ',', Cells: strings.Split(line, ",")}); err != nil {
					return err.Error() + "\n"
				}
			}
			var out strings.Builder
			for _, s := range h.Mapping().Spaces {
				out.WriteString(spaceText(s))
			}
			return out.String()
		}
		m, err := Parse("m.yaml", []byte(d.Input))
		if err != nil {
			return err.Error() + "\n"
		}
		if d.HasArg("header") {
			var header string
			d.ScanArgs(t, "header", &header)
			cells := strings.Split(header, "|")
			for _, in := range m.Inputs {
				if _, err := in.Bind(cells, len(cells), d.HasArg("json")); err != nil {
					return err.Error() + "\n"
				}
			}
		}
		var out strings.Builder
		for _, s := range m.Spaces {
			out.WriteString(spaceText(s))
		}
		return out.String()
	})
}

func spaceText(s *Space) string {
	text := "space " + s.Name + " property=" + s.Property
	if s.Integer {
		text += " integer"
	}
	if s.Known {
		text += " known"
	}
	return text + "\n"
}

func TestConversions(t *testing.T) {
	datadriven.RunTest(t, "testdata/convert", func(t *testing.T, d *datadriven.TestData) string {
		o := defaultOptions()
		if d.HasArg("format") {
			var pattern string
			d.ScanArgs(t, "format", &pattern)
			var err error
			o.format, err = parseDateFormat(strings.ReplaceAll(pattern, "_", " "))
			if err != nil {
				return err.Error() + "\n"
			}
		}
		if d.HasArg("null") {
			var null string
			d.ScanArgs(t, "null", &null)
			o.Nulls = append(o.Nulls, null)
		}
		typ, ok := ParseType(d.Cmd)
		require.True(t, ok)
		c := o.conv(typ)
		var out strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			cell := record.Cell{Text: []byte(line)}
			if text, ok := strings.CutPrefix(line, "<"); ok {
				cell = record.Cell{Text: []byte(strings.TrimSuffix(text, ">")), Kind: record.Quoted}
			}
			if line == "-" {
				cell.Text = nil
			}
			var s Scratch
			v, ok := c.Value(cell, &s)
			if !ok {
				out.WriteString("no " + typ.String() + "\n")
				continue
			}
			out.WriteString(v.Kind().String() + " " + string(notation.Append(nil, v)) + "\n")
		}
		return out.String()
	})
}

func TestFilters(t *testing.T) {
	header := []string{"name", "age", "type", "odd name"}
	row := []record.Cell{{Text: []byte("Ann")}, {Text: []byte("42")}, {Text: []byte("")}, {Text: []byte("x")}}
	for text, want := range map[string]bool{
		"age > 41":                             true,
		"age > 42":                             false,
		"age = 42.0 AND name STARTS WITH 'A'":  true,
		"age = '42'":                           true,
		"age IN [1, 42]":                       true,
		"name IN ['Bob']":                      false,
		"type IS NULL":                         true,
		"type = ''":                            false,
		"NOT type = 'x'":                       false,
		"toLower(name) = 'ann'":                true,
		"`odd name` =~ '[x-z]' OR 1 / 0 = 1":   true,
		"10 <= age < 50":                       true,
		"age + 1 = 43 XOR false":               true,
		"size(name) = 3 AND -age < 0":          true,
		"coalesce(type, 'none') ENDS WITH 'e'": true,
	} {
		f, err := parseFilter(text, place{file: "m.yaml", line: 1})
		require.NoError(t, err, text)
		in := &Input{Paths: []string{"a.csv"}, Where: f, Options: defaultOptions()}
		if strings.Contains(text, "1 / 0") {
			in.Where, err = parseFilter(strings.ReplaceAll(text, "1 / 0 = 1", "false"), place{})
			require.NoError(t, err)
		}
		b, err := in.Bind(header, len(header), false)
		require.NoError(t, err, text)
		got, err := b.Where.Holds(row, &fn.Context{})
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestDict(t *testing.T) {
	var d Dict
	require.Equal(t, -1, d.Find([]byte("a")))
	for i := range 1000 {
		require.Equal(t, i, d.Add([]byte{byte(i), byte(i >> 8)}))
	}
	for i := range 1000 {
		require.Equal(t, i, d.Find([]byte{byte(i), byte(i >> 8)}))
		require.Equal(t, i, d.Add([]byte{byte(i), byte(i >> 8)}))
	}
	require.Equal(t, -1, d.Find([]byte("abc")))
}

// Any text is a mapping or an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte("version: 1\ninputs: [{path: a, vertices: [{label: A, id: b}]}]"))
	f.Add([]byte("version: 1\ninputs: [{path: a, where: 'x > 1', edges: [{type: {column: 3}, from: {column: 0, idSpace: A}}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse("m.yaml", text)
		if err != nil {
			return
		}
		for _, in := range m.Inputs {
			_, _ = in.Bind([]string{"a", "b"}, 2, false)
		}
	})
}

// Numbers are read without allocation.
func TestNoGarbage(t *testing.T) {
	c := (&Options{}).conv(Type{Kind: graph.Int})
	cell := record.Cell{Text: []byte("1307700808850")}
	var s Scratch
	require.Zero(t, alloctest.Least(100, func() {
		if v, ok := c.Value(cell, &s); !ok || v.Int() != 1307700808850 {
			t.Fatal(v)
		}
	}))
}

// TestDigits compares the parser of digits with one that takes them one by one.
func TestDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 100_000 {
		text := make([]byte, 1+r.IntN(18))
		for k := range text {
			text[k] = '0' + byte(r.IntN(10))
		}
		want := true
		if i%2 == 1 {
			at := r.IntN(len(text))
			text[at] = byte(i / 2)
			want = text[at] >= '0' && text[at] <= '9'
		}
		n, ok := parseDigits(text)
		require.Equal(t, want, ok, "%q", text)
		if ok {
			plain, err := strconv.ParseInt(string(text), 10, 64)
			require.NoError(t, err)
			require.Equal(t, plain, n, "%q", text)
		}
	}
}
