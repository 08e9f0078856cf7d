package loader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"github.com/hopgate/hopgate/internal/loader/text"
	"github.com/hopgate/hopgate/internal/shard"
)

// Texts in other encodings get a mapping that names the encoding, and without one are refused by its name.
func TestGuessEncoding(t *testing.T) {
	const plain = "id,name\n1,café\n2,naïve\n3,Zoë\n"
	utf16 := func(e unicode.Endianness, mark unicode.BOMPolicy, text string) string {
		out, err := unicode.UTF16(e, mark).NewEncoder().String(text)
		require.NoError(t, err)
		return out
	}
	latin := strings.NewReplacer("é", "\xe9", "ï", "\xef", "ë", "\xeb").Replace(plain)
	for name, c := range map[string]struct{ text, want string }{
		"utf8":             {plain, ""},
		"utf8, mark":       {"\ufeff" + plain, ""},
		"utf8, bad row":    {plain + "4,\xe9\n", ""},
		"utf8, cut":        {plain + "4,\xc3", ""},
		"utf16le, mark":    {utf16(unicode.LittleEndian, unicode.UseBOM, plain), "utf-16le"},
		"utf16be, mark":    {utf16(unicode.BigEndian, unicode.UseBOM, plain), "utf-16be"},
		"utf16le":          {utf16(unicode.LittleEndian, unicode.IgnoreBOM, plain), "utf-16le"},
		"utf16be":          {utf16(unicode.BigEndian, unicode.IgnoreBOM, plain), "utf-16be"},
		"utf16le, Chinese": {utf16(unicode.LittleEndian, unicode.IgnoreBOM, "编号,姓名\n1,王小明\n2,李华\n"), "utf-16le"},
		"latin1":           {latin, "latin1"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, text.GuessEncoding([]byte(c.text)))
			if strings.Contains(name, "Chinese") || strings.Contains(name, "cut") || strings.Contains(name, "bad") {
				return
			}
			w := newWorld(t)
			w.file("person.csv", c.text)
			m, err := w.propose("person.csv")
			require.NoError(t, err)
			_, err = w.load(m, Options{})
			require.NoError(t, err, m)
			require.Equal(t, ":Person {id: 1, name: \"café\"}\n:Person {id: 2, name: \"naïve\"}\n:Person {id: 3, name: \"Zoë\"}\n", w.state())
			if !strings.HasPrefix(c.want, "utf-16") {
				return
			}
			_, err = w.load("version: 1\ninputs: [{path: person.csv, vertices: [{label: P, id: id}]}]\n", Options{})
			require.ErrorContains(t, err, "encoding: "+c.want)
			_, err = w.load("", Options{})
			require.ErrorContains(t, err, "encoding: "+c.want)
		})
	}
	require.Equal(t, "utf-32", text.GuessEncoding([]byte("\xff\xfe\x00\x00i\x00\x00\x00")))
}

// Refused rows of UTF-16 stay in UTF-16, and an interrupted load of many batches resumes between its characters.
func TestResumeUTF16(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,v\n")
	for i := range 300 {
		fmt.Fprintf(&b, "%d,né%d\n", i, i)
	}
	b.WriteString("x,1\n")
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(b.String())
	require.NoError(t, err)
	const m = `
version: 1
inputs: [{path: v.csv, encoding: utf-16le, update: {strategies: {v: APPEND}}, vertices: [{label: V, id: id, properties: {id: {type: int}, v: {type: "string[]"}}}]}]
`
	w := newWorld(t)
	w.file("v.csv", text)
	rejects := t.TempDir()
	for sends := 1; ; sends++ {
		p, err := w.plan(m)
		require.NoError(t, err)
		p.chunk = 256
		rep, err := p.Run(t.Context(), &cut{Sink: NewLocal(w.l), sends: sends, acks: sends}, Options{MaxRejects: Budget{Rows: 1}, RejectsDir: rejects})
		if err == nil {
			require.Greater(t, sends, 2)
			require.Less(t, rep.Vertices, int64(300))
			require.Equal(t, shard.RowCounts{Created: 300}, rep.VertexCounts, "those of all runs")
			break
		}
		require.ErrorIs(t, err, errCut)
		require.Less(t, sends, 100)
	}
	state := w.state()
	require.Equal(t, 300, strings.Count(state, ":V {"))
	require.NotContains(t, state, "\" \"", "a row was applied twice")
}
