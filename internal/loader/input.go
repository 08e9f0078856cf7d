package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding"

	"github.com/hopgate/hopgate/internal/bucket"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// stdin is the path of standard input.
const stdin = "-"

// input is one text: a file, several parts of one file, or standard input.
type input struct {
	paths []string // parts of one text; only the first has a header
	name  string   // for messages, the report and rejects
	rules *mapping.Input
	bound *mapping.Bound

	format   mapping.Format
	dialect  record.Dialect
	parquet  bool              // the files are Parquet; their rows are read as JSON lines
	encoding encoding.Encoding // or nil for UTF-8
	header   []byte            // everything before the records, verbatim
	offset   int64             // of the first record
	line     int64
	size     int64 // of the files as stored; 0 if unknown
	empty    bool  // the input has no content
	once     bool  // a part of it can be read only once
	pipe     *pipe // that part, if it is the only one and not copied
}

// files resolves a path of a mapping, relative to base. The path names a file (with or without .gz or .zst), a directory, or a pattern.
func files(ctx context.Context, base, path string) ([]string, error) {
	switch file, ok, err := bucket.FilePath(path); {
	case err != nil:
		return nil, err
	case ok:
		path = file
	case bucket.IsURL(path):
		return objects(ctx, path)
	case path == stdin || IsURL(path):
		return []string{path}, nil
	case strings.Contains(path, "://"):
		return nil, fmt.Errorf("%s: URLs begin with http, https, s3, gs, azblob or file", shown(path))
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	if name, ok := existing(path); ok {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return filesIn(name)
		}
		return []string{name}, nil
	}
	if strings.ContainsAny(path, "*?[") {
		var names []string
		for _, suffix := range []string{"", ".gz", ".zst"} {
			found, err := filepath.Glob(path + suffix)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			for _, f := range found {
				if !slices.Contains(names, f) && filepath.Base(f) != rejectsName {
					names = append(names, f)
				}
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			return names, nil
		}
		return nil, fmt.Errorf("no file matches %s", path)
	}
	return nil, fmt.Errorf("file %s does not exist, nor does it with .gz or .zst", path)
}

// existing finds a file by its name, possibly with another compression suffix.
func existing(path string) (string, bool) {
	plain := plainName(path)
	for _, name := range []string{path, plain, plain + ".gz", plain + ".zst"} {
		if _, err := os.Stat(name); err == nil { //nolint:gosec // The mapping names what is to be read.
			return name, true
		}
	}
	return "", false
}

// plainName removes the compression suffix from a name.
func plainName(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
}

// filesIn lists the files in a directory and its subdirectories whose extension is a known format.
func filesIn(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if strings.HasPrefix(name, ".") && path != dir {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if f := formatOf(name); !d.IsDir() && f != mapping.Auto && name != rejectsName {
			names = append(names, path)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("the directory %s has no files that end in .csv, .tsv or .jsonl, plain or with .gz or .zst, or in .parquet", dir)
	}
	return names, err
}

// formatOf derives the format from the extension of a name.
func formatOf(name string) mapping.Format {
	switch strings.ToLower(filepath.Ext(plainName(fileName(name)))) {
	case ".csv", ".txt", ".psv":
		return mapping.CSV
	case ".tsv", ".tab":
		return mapping.TSV
	case ".jsonl", ".ndjson":
		return mapping.JSONL
	case ".parquet":
		return mapping.Parquet
	}
	return mapping.Auto
}

// formatOfFile is formatOf for a file that is named, not found in a directory: there, .json files are often not to be loaded.
func formatOfFile(name string) mapping.Format {
	if strings.EqualFold(filepath.Ext(plainName(fileName(name))), ".json") {
		return mapping.JSONL
	}
	return formatOf(name)
}

// columns returns which columns of a Parquet file the rules use, and whether as bytes; nil means all.
func (in *input) columns() func(name string) (used, binary bool) {
	if in.bound == nil {
		return nil
	}
	return func(name string) (used, binary bool) {
		slot := in.bound.Keys.Slot(name)
		if slot < 0 {
			return false, false
		}
		takes := func(q mapping.PropRule) bool { return q.Slot == slot && q.Conv.Type.Kind == graph.Bytes }
		for i := range in.bound.Vertices {
			binary = binary || slices.ContainsFunc(in.bound.Vertices[i].Props, takes)
		}
		for i := range in.bound.Edges {
			binary = binary || slices.ContainsFunc(in.bound.Edges[i].Props, takes)
		}
		return true, binary
	}
}

// headBytes bounds how much of a text readHead sees.
const headBytes = 1 << 20

// head is the beginning of a text.
type head struct {
	preamble []byte // skipped lines and the header line, verbatim
	cells    []string
	line     int64 // of the first record
	empty    bool
}

// readHead reads what precedes the records: skipped lines, and a header if there is one. Without a header, the cells are those of the first
// record. It detects the delimiter if that is 0.
func readHead(data []byte, d *record.Dialect, skip int, hasHeader bool) (head, error) {
	h := head{line: 1}
	at := 0
	for range skip {
		i := bytes.IndexByte(data[at:], d.End())
		if i < 0 {
			i = len(data) - at - 1
		}
		at += i + 1
		h.line++
	}
	if d.JSON {
		h.preamble, h.empty = data[:at], at == len(data)
		return h, nil
	}
	if d.Delimiter == 0 {
		d.Delimiter = recogniseDelimiter(data[at:], *d)
	}
	s := record.NewScanner(*d)
	s.Reset(data[at:])
	cells, fault, ok := s.Next()
	if !ok {
		h.empty = true
		h.preamble = data
		return h, nil
	}
	if fault != nil {
		return h, errors.New("the first line has a quoted field that does not end")
	}
	for _, c := range cells {
		h.cells = append(h.cells, string(c.Text))
	}
	if hasHeader {
		h.line += int64(bytes.Count(data[at:at+s.End], []byte{d.End()}))
		at += s.End
	}
	h.preamble = data[:at]
	return h, nil
}

// endsInCR reports whether the lines of a text end with carriage returns alone: outside quotes it has these, and no line feed.
func endsInCR(data []byte, d record.Dialect) bool {
	found, quoted := false, false
	for _, c := range data {
		switch {
		case c == d.Quote && d.Quote != 0 && !d.JSON:
			quoted = !quoted
		case quoted:
		case c == '\n':
			return false
		case c == '\r':
			found = true
		}
	}
	return found
}

// refuseArray returns an error if a text that should have an object per line is an array of them.
func refuseArray(data []byte) error {
	if data = bytes.TrimLeft(data, " \t\r\n"); len(data) > 0 && data[0] == '[' {
		return errors.New("the file begins with a JSON array where JSON lines have an object per line; convert it, for example with jq -c '.[]'")
	}
	return nil
}

// recogniseDelimiter returns the candidate that occurs most often in the first line outside quotes.
func recogniseDelimiter(data []byte, d record.Dialect) byte {
	const candidates = ",|\t;"
	var counts [len(candidates)]int
	quoted := false
	for _, c := range bytes.TrimLeft(data, "\r\n") {
		if c == d.Quote && d.Quote != 0 {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == d.End() {
			break
		}
		if i := strings.IndexByte(candidates, c); i >= 0 {
			counts[i]++
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return candidates[best]
}

// peek reads the beginning of the text.
func (in *input) peek(ctx context.Context) ([]byte, error) {
	t, err := in.open(ctx, 0)
	if err != nil {
		return nil, err
	}
	data := make([]byte, headBytes)
	n, err := record.Fill(t, data)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case err != nil:
		err = fmt.Errorf("%s: %w", in.name, err)
	}
	data = data[:n]
	if in.pipe != nil {
		in.pipe.giveBack(data)
	}
	return data, errors.Join(err, t.Close())
}
