package mcpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// Tokens of an answer.
const (
	leastTokens, defaultTokens, mostTokens = 200, 4000, 100_000
	// bytesPerToken is fewer than what tokenizers take for a token of JSON, so that a budget is rarely exceeded.
	bytesPerToken = 3
)

// Values above these sizes are shortened: an agent has no use for the coordinates of a vector.
const (
	longString = 2000 // characters
	longList   = 100  // elements
)

// page is a part of the rows of a statement.
type page struct {
	columns []string
	rows    []byte // JSON, with commas between them
	n       int
	short   int    // values that were shortened
	cursor  string // continues the answer; "" if it is complete or cannot be continued
	more    bool
}

// read returns the rows from skip on that fit into a number of tokens. of identifies the statement to its cursor; the zero value has none.
func (s *session) read(res *query.Result, skip, tokens int, of [8]byte) (page, error) {
	p := page{columns: res.Columns}
	seen := 0
	for {
		b, err := res.Next()
		if err != nil || b == nil {
			return p, err
		}
		for i := range b.N {
			if seen++; seen <= skip {
				continue
			}
			row, short := appendRow(nil, b, i)
			if len(p.rows)+len(row) > tokens*bytesPerToken {
				if p.n == 0 {
					return p, graph.RequestError(graph.KindInvalid, "RowTooLarge",
						"row %d has about %d tokens, more than the %d of an answer: return fewer properties, or ask for more maxTokens",
						seen, len(row)/bytesPerToken+1, tokens)
				}
				if p.more = true; of != [8]byte{} {
					p.cursor = cursor(of, skip+p.n)
				}
				return p, nil
			}
			if p.n > 0 {
				p.rows = append(p.rows, ',', '\n')
			}
			p.rows = append(p.rows, row...)
			p.n++
			p.short += short
		}
	}
}

// text returns a page as JSON; notes explain it.
func (p *page) text(notes ...string) string {
	buf := append([]byte(nil), `{"columns":[`...)
	for i, c := range p.columns {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = notation.AppendJSONString(buf, c)
	}
	buf = append(append(append(buf, `],"rows":[`...), p.rows...), ']')
	buf = fmt.Appendf(buf, `,"rowCount":%d,"truncated":%v`, p.n, p.more)
	if p.cursor != "" {
		buf = fmt.Appendf(buf, `,"cursor":%q`, p.cursor)
	}
	if p.short > 0 {
		notes = append(notes, fmt.Sprintf("%d values are shortened (strings over %d characters, lists over %d elements)", p.short, longString, longList))
	}
	if len(notes) > 0 {
		list, _ := json.Marshal(notes) // strings always have a form
		buf = append(append(buf, `,"notes":`...), list...)
	}
	return string(append(buf, '}'))
}

// appendRow appends a row as JSON and returns how many of its values are shortened.
func appendRow(dst []byte, b *graph.Batch, row int) ([]byte, int) {
	at := len(dst)
	dst = append(dst, '[')
	for i := range b.Cols {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = notation.PlainJSON.Append(dst, b.Cols[i].Value(row))
	}
	dst = append(dst, ']')
	if len(dst)-at <= 2*longList { // no value can be too long
		return dst, 0
	}
	var values any
	d := json.NewDecoder(bytes.NewReader(dst[at:]))
	d.UseNumber()
	if d.Decode(&values) != nil {
		return dst, 0
	}
	short := 0
	values = shorten(values, &short)
	if short == 0 {
		return dst, 0
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(values) != nil {
		return dst, 0
	}
	return append(dst[:at], bytes.TrimSpace(out.Bytes())...), short
}

// shorten replaces long strings and lists of plain JSON.
func shorten(v any, n *int) any {
	switch v := v.(type) {
	case string:
		if len(v) <= longString {
			return v
		}
		if size := utf8.RuneCountInString(v); size > longString {
			*n++
			return fmt.Sprintf("%s… (%d characters)", string([]rune(v)[:longString]), size)
		}
	case []any:
		if len(v) > longList {
			*n++
			if _, numbers := v[0].(json.Number); numbers {
				return fmt.Sprintf("(%d numbers)", len(v))
			}
			return append(shorten(v[:longList], n).([]any), fmt.Sprintf("… (%d elements)", len(v)))
		}
		for i := range v {
			v[i] = shorten(v[i], n)
		}
	case map[string]any:
		for k := range v {
			v[k] = shorten(v[k], n)
		}
	}
	return v
}

// fingerprint identifies a statement with its parameters in a graph.
func (s *session) fingerprint(statement string, params json.RawMessage) (of [8]byte) {
	sum := sha256.New()
	for _, part := range []string{s.graph, statement, string(params)} {
		_ = binary.Write(sum, binary.LittleEndian, uint64(len(part))) // never fails
		sum.Write([]byte(part))
	}
	copy(of[:], sum.Sum(nil))
	return of
}

// cursor returns the place after the first rows of a statement.
func cursor(of [8]byte, rows int) string {
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(of[:], uint64(rows)))
}

// readCursor returns how many rows a cursor skips; "" skips none.
func readCursor(text string, of [8]byte) (int, error) {
	if text == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(b) > len(of) {
		if rows, n := binary.Uvarint(b[len(of):]); n > 0 && rows <= 1<<40 && cursor([8]byte(b), int(rows)) == text {
			if [8]byte(b) != of {
				return 0, wire.RequestError("cursor: it is of another statement, of other params, or of another graph")
			}
			return int(rows), nil
		}
	}
	return 0, wire.RequestError(fmt.Sprintf("cursor: %q is no cursor of an answer", text))
}
