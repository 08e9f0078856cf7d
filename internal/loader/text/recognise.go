package text

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
)

var errExcel = errors.New("the file is an Excel workbook, which load does not read: save its sheets as CSV")

// Recognise returns the format of a text by its name, or else by its beginning.
func Recognise(data []byte, name string) (mapping.Format, error) {
	switch strings.ToLower(filepath.Ext(PlainName(FileName(name)))) {
	case ".xlsx", ".xls", ".xlsm", ".xlsb", ".ods":
		return mapping.Auto, errExcel
	}
	if f := FormatOf(name); f != mapping.Auto {
		return f, nil
	}
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte(ByteOrderMark)), " \t\r\n")
	switch {
	case bytes.HasPrefix(data, []byte(record.ArrowFile)), bytes.HasPrefix(data, []byte(record.ArrowStream)):
		return mapping.Arrow, nil
	case len(data) == 0 || name == Stdin && data[0] != '<' && data[0] != '{' && data[0] != '[':
		return mapping.CSV, nil
	case bytes.HasPrefix(data, []byte("PAR1")):
		return mapping.Parquet, nil
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")):
		return mapping.Auto, errExcel
	case data[0] == '<':
		return recogniseXML(data)
	case data[0] == '[':
		return mapping.JSON, nil
	case data[0] == '{':
		return recogniseObject(data), nil
	case bytes.IndexByte(data, 0) >= 0 && GuessEncoding(data) == "":
		return mapping.Auto, errors.New("the file is not text, and of no format that load reads")
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	if bytes.ContainsAny(line, candidates) || IsPipe(name) {
		return mapping.CSV, nil
	}
	return mapping.Auto, errors.New("the format of the file is not recognised by its name or content: name it with format: in a mapping")
}

// recogniseXML returns the format of an XML document by its root element.
func recogniseXML(data []byte) (mapping.Format, error) {
	head := data[:min(len(data), 1<<14)]
	for _, f := range []mapping.Format{mapping.GraphML, mapping.GEXF} {
		if bytes.Contains(head, []byte("<"+f.String())) {
			return f, nil
		}
	}
	return mapping.Auto, errors.New("the file is XML, but neither GraphML nor GEXF")
}

// recogniseObject returns the format of a text that begins with a JSON object: the first one of JSON lines, a line of APOC, or a whole graph.
func recogniseObject(data []byte) mapping.Format {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	_, _ = d.ReadToken()
	kind, apoc := "", false
	for d.PeekKind() == jsontext.KindString {
		t, err := d.ReadToken()
		if err != nil {
			return mapping.JSONL
		}
		name := t.String()
		switch {
		case (name == "nodes" || name == "links") && d.PeekKind() == jsontext.KindBeginArray && !isLine(data):
			return mapping.NodeLink
		case name == "labels" || name == "start" || name == "properties":
			apoc = true
		}
		v, err := d.ReadValue()
		if err != nil {
			return mapping.JSONL
		}
		if name == "type" {
			kind = string(v)
		}
	}
	if apoc && (kind == `"node"` || kind == `"relationship"`) {
		return mapping.APOC
	}
	return mapping.JSONL
}

// isLine reports whether the first line of a text is a JSON value and another one follows.
func isLine(data []byte) bool {
	line, rest, _ := bytes.Cut(data, []byte{'\n'})
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return jsontext.Value(line).IsValid() && len(rest) > 0 && rest[0] == '{'
}

// IsArray reports whether a text begins with a JSON array.
func IsArray(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte(ByteOrderMark)), " \t\r\n")
	return len(data) > 0 && data[0] == '['
}

// Lines reads a JSON array of objects as JSON lines. Another text is read as it is.
func Lines(r io.Reader) io.Reader {
	in := &peeked{r: r}
	for in.err == nil {
		c, ok := in.byte()
		if !ok || strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		if c == '[' {
			break
		}
		return in.all()
	}
	return &arrayLines{dec: jsontext.NewDecoder(in.all())}
}

// peeked reads the beginning of a reader.
type peeked struct {
	r     io.Reader
	bytes []byte
	err   error
}

func (p *peeked) byte() (c byte, ok bool) {
	var b [1]byte
	n, err := p.r.Read(b[:])
	p.err = err
	p.bytes = append(p.bytes, b[:n]...)
	return b[0], n > 0
}

// all reads what was read once more, and then the rest.
func (p *peeked) all() io.Reader { return io.MultiReader(bytes.NewReader(p.bytes), p.r) }

// arrayLines writes the elements of an array as lines.
type arrayLines struct {
	dec  *jsontext.Decoder
	rest []byte
	err  error
}

// Read implements io.Reader.
func (a *arrayLines) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		a.rest, a.err = a.next()
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// next returns the next element as a line.
func (a *arrayLines) next() ([]byte, error) {
	switch a.dec.PeekKind() {
	case jsontext.KindBeginArray, jsontext.KindEndArray:
		if a.dec.StackDepth() == 0 || a.dec.PeekKind() == jsontext.KindEndArray {
			_, err := a.dec.ReadToken()
			return nil, err
		}
	}
	v, err := a.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	out := v.Clone()
	if err := out.Compact(); err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}
