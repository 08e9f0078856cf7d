package propose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/loader/graphfile"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/loader/text"
)

// sampled is the sample of an input: of a file, or of several files with equal columns whose names differ only in numbers.
type sampled struct {
	paths    []string // as written in the mapping
	stem     string   // the common part of the names
	dialect  record.Dialect
	encoding string // "" for UTF-8
	noHeader bool
	columns  []*sampleColumn
	cells    []mapping.HeaderCell // of a neo4j-admin header, or nil
	rows     int
	whole    bool // all records
}

// numbered matches the number at the end of the name of a partial file.
var numbered = regexp.MustCompile(`([_.-]?part)?([_.-]\d+)+$`)

// stemOf returns a file's name without directory, extensions and numbers.
func stemOf(name string) string {
	name = path.Base(filepath.ToSlash(text.PlainName(text.FileName(name))))
	name = strings.TrimSuffix(name, path.Ext(name))
	if s := numbered.ReplaceAllString(name, ""); s != "" {
		return s
	}
	return name
}

// sampleFiles samples files and joins those that are parts of one. named returns the name of a file in the mapping.
func sampleFiles(ctx context.Context, paths []string, named func(string) string) (out []*sampled, empty []string, err error) {
	for _, p := range paths {
		found, err := text.Files(ctx, "", p)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range found {
			if name == text.Stdin || text.IsPipe(name) {
				return nil, nil, errors.New("a pipe cannot be sampled and then loaded: use files")
			}
			s, err := sampleFile(ctx, name)
			if err != nil {
				return nil, nil, err
			}
			if s == nil || s.rows == 0 && s.cells == nil {
				empty = append(empty, named(name))
				continue
			}
			s.paths = []string{named(name)}
			i := slices.IndexFunc(out, func(o *sampled) bool { return o.joins(s) })
			if i < 0 {
				out = append(out, s)
				continue
			}
			out[i].join(s)
		}
	}
	return out, empty, nil
}

// sampleFile samples the beginning of a file; it returns nil if the file has no records.
func sampleFile(ctx context.Context, name string) (*sampled, error) {
	in := &text.Source{Paths: []string{name}, Name: text.Shown(name), Parquet: text.FormatOf(name) == mapping.Parquet}
	data, err := in.Peek(ctx)
	if err != nil {
		return nil, err
	}
	format, err := text.Recognise(data, name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", text.Shown(name), err)
	case graphfile.Holds(format):
		return nil, fmt.Errorf("%s: a %s file describes itself: load it without a mapping", text.Shown(name), format)
	case format == mapping.Parquet && !in.Parquet:
		in.Parquet = true
		data, err = in.Peek(ctx)
	case format == mapping.Arrow:
		in.UseArrow()
		data, err = in.Peek(ctx)
	}
	if err != nil {
		return nil, err
	}
	s := &sampled{stem: stemOf(name)}
	if !format.Columnar() {
		if s.encoding = text.GuessEncoding(data); s.encoding != "" {
			if in.Encoding, err = text.EncodingOf(s.encoding); err != nil {
				return nil, fmt.Errorf("%s: %w", text.Shown(name), err)
			}
			if data, err = in.Peek(ctx); err != nil {
				return nil, err
			}
		}
	}
	data = bytes.TrimPrefix(data, []byte(text.ByteOrderMark))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	s.whole = len(data) < text.HeadBytes-len(text.ByteOrderMark)
	if format != mapping.CSV && format != mapping.TSV {
		s.dialect.JSON = true
		if !format.Columnar() && text.IsArray(data) {
			in.Convert = text.Lines
			if data, err = in.Peek(ctx); err != nil {
				return nil, err
			}
		}
		s.dialect.CR = text.EndsInCR(data, s.dialect)
		s.readJSON(data, s.whole)
		for _, c := range s.columns {
			c.binary = format.Columnar() && slices.ContainsFunc(c.values, func(v string) bool { return !utf8.ValidString(v) })
		}
		return s, nil
	}
	s.dialect.Quote = '"'
	s.dialect.CR = text.EndsInCR(data, s.dialect)
	if format == mapping.TSV {
		s.dialect.Delimiter = '\t'
	} else {
		s.dialect.Delimiter = text.RecogniseDelimiter(data, s.dialect)
	}
	s.readCSV(data, s.whole)
	return s, nil
}

// joins reports whether other is a part of the same input.
func (s *sampled) joins(other *sampled) bool {
	return s.stem == other.stem && s.dialect == other.dialect && s.encoding == other.encoding && s.noHeader == other.noHeader && s.cells == nil && other.cells == nil &&
		slices.EqualFunc(s.columns, other.columns, func(a, b *sampleColumn) bool { return a.name == b.name })
}

func (s *sampled) join(other *sampled) {
	s.paths = append(s.paths, other.paths...)
	for i, c := range s.columns {
		for k, v := range other.columns[i].values {
			c.add(s.rows+k, v, other.columns[i].kinds[k])
		}
	}
	s.rows += other.rows
	s.whole = s.whole && other.whole
}

// readCSV reads records with quotes or, if that fits better, with single quotes or without.
func (s *sampled) readCSV(data []byte, whole bool) {
	plain := s.dialect
	plain.Quote = 0
	records, quoted, faults := readRecords(data, s.dialect, whole)
	if quoted == 0 && (s.dialect.Delimiter == '|' || s.dialect.Delimiter == '\t') || faults > 0 {
		if other, _, none := readRecords(data, plain, whole); none < faults || quoted == 0 {
			records, s.dialect = other, plain
		}
	}
	if quoted == 0 {
		single := s.dialect
		single.Quote = '\''
		if other, cells, none := readRecords(data, single, whole); cells > 1 && none == 0 {
			records, s.dialect = other, single
		}
	}
	if len(records) == 0 {
		return
	}
	header := records[0]
	for _, c := range header {
		cell := mapping.ParseHeaderCell(string(c.Text))
		switch strings.ToUpper(cell.Type) {
		case "ID", "START_ID", "END_ID":
			s.cells = make([]mapping.HeaderCell, len(header))
		}
		switch commonType([]string{string(c.Text)}, []record.Kind{record.Plain}) {
		case "int", "float", "date", "datetime", "localdatetime":
			s.noHeader = true // a column would not have such a name
		}
	}
	if s.cells != nil {
		s.noHeader = false
	}
	for i, c := range header {
		col := &sampleColumn{name: string(c.Text)}
		switch {
		case s.cells != nil:
			s.cells[i] = mapping.ParseHeaderCell(col.name)
			col.name = s.cells[i].Name
		case s.noHeader:
			col.name = fmt.Sprintf("column%d", i)
		}
		s.columns = append(s.columns, col)
	}
	if !s.noHeader {
		records = records[1:]
	}
	for _, r := range records {
		if len(r) != len(s.columns) {
			continue // the load refuses such rows
		}
		for i, c := range r {
			s.columns[i].add(s.rows, string(c.Text), c.Kind)
		}
		s.rows++
	}
}

// readRecords reads the records at the beginning of text. It counts quoted cells, and rows that are malformed or differ from the first in
// their number of columns.
func readRecords(data []byte, d record.Dialect, whole bool) (records [][]record.Cell, quoted, faults int) {
	sc := record.NewScanner(d)
	sc.Final = whole
	sc.Reset(data)
	for {
		cells, fault, ok := sc.Next()
		if !ok {
			return records, quoted, faults
		}
		if fault != nil || len(records) > 0 && len(cells) != len(records[0]) {
			faults++
		}
		if fault != nil {
			continue
		}
		for _, c := range cells {
			if c.Kind == record.Quoted {
				quoted++
			}
		}
		records = append(records, slices.Clone(cells))
	}
}

// readJSON reads JSON lines. The columns are the keys of the objects; a nested key is joined to its parent's by a dot.
func (s *sampled) readJSON(data []byte, whole bool) {
	if end := bytes.LastIndexByte(data, s.dialect.End()); !whole && end >= 0 {
		data = data[:end]
	}
	var names []string
	for line := range bytes.SplitSeq(data, []byte{s.dialect.End()}) {
		names = appendKeys(names, "", line)
	}
	var keys record.Keys
	for _, n := range names {
		keys.Add(n)
		s.columns = append(s.columns, &sampleColumn{name: n})
	}
	if len(names) == 0 {
		return
	}
	lines := record.NewLines(&keys, s.dialect)
	lines.Reset(data)
	for {
		cells, fault, ok := lines.Next()
		if !ok {
			return
		}
		if fault != nil {
			continue
		}
		for i, c := range cells {
			s.columns[i].add(s.rows, string(c.Text), c.Kind)
		}
		s.rows++
	}
}

// appendKeys adds the new keys of an object, in their order.
func appendKeys(names []string, prefix string, object []byte) []string {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return names
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return names
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return names
		}
		name := prefix + t.(string)
		if len(value) > 0 && value[0] == '{' && strings.Count(prefix, ".") < 4 {
			names = appendKeys(names, name+".", value)
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
