package loader

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"

	"github.com/hopgate/hopgate/internal/bucket"
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

	dialect  record.Dialect
	parquet  bool              // the files are Parquet; their rows are read as JSON lines
	encoding encoding.Encoding // or nil for UTF-8
	header   []byte            // everything before the records, verbatim
	offset   int64             // of the first record
	line     int64
	size     int64     // of the files as stored; 0 if unknown
	empty    bool      // the input has no content
	pipe     io.Reader // standard input, which can be read only once
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

// text is an open input.
type text struct {
	io.Reader
	closers  []func() error
	counters []*counter
}

// stored returns how many bytes of the stored files have been read.
func (t *text) stored() (n int64) {
	for _, c := range t.counters {
		n += c.n.Load()
	}
	return n
}

// counter counts the bytes read from storage.
type counter struct {
	io.Reader
	n atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// ReadAt implements io.ReaderAt.
func (c *counter) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.Reader.(io.ReaderAt).ReadAt(p, offset)
	c.n.Add(int64(n))
	return n, err
}

// Close closes the files behind the text.
func (t *text) Close() error {
	var errs []error
	for _, closeIt := range slices.Backward(t.closers) {
		errs = append(errs, closeIt())
	}
	return errors.Join(errs...)
}

// openFile opens a file at an offset of its uncompressed UTF-8 text.
func (in *input) openFile(ctx context.Context, path string, offset int64) (_ *text, err error) {
	if IsURL(path) {
		return in.openRemote(ctx, path, offset)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	stored := &counter{Reader: f}
	t := &text{Reader: stored, closers: []func() error{f.Close}, counters: []*counter{stored}}
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	compressed, columnar := true, false
	if in.parquet {
		if columnar, err = isParquet(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	switch {
	case columnar:
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		p, err := record.NewParquet(stored, info.Size())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		t.Reader = p
		t.closers = append(t.closers, p.Close)
	case filepath.Ext(path) == ".gz" || filepath.Ext(path) == ".zst":
		if err := t.uncompress(filepath.Ext(path)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	default:
		compressed = false
	}
	if in.encoding != nil && !columnar {
		t.Reader = in.encoding.NewDecoder().Reader(t.Reader)
	}
	var seek func(offset int64) error
	if !compressed && in.encoding == nil {
		seek = func(offset int64) error {
			stored.n.Store(offset)
			_, err := f.Seek(offset, io.SeekStart)
			return err
		}
	}
	if err := t.skip(offset, seek); err != nil {
		return nil, fmt.Errorf("%s: go on at byte %d: %w", path, offset, err)
	}
	return t, nil
}

// openRemote is openFile for a URL.
func (in *input) openRemote(ctx context.Context, name string, offset int64) (_ *text, err error) {
	if in.parquet {
		return nil, fmt.Errorf("%s: Parquet is read from files alone; fetch it first", shown(name))
	}
	body, err := openURL(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	stored := &counter{Reader: body}
	t := &text{Reader: stored, counters: []*counter{stored}}
	t.closers = append(t.closers, func() error { return body.Close() })
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	var seek func(offset int64) error
	switch ext := filepath.Ext(fileName(name)); ext {
	case ".gz", ".zst":
		if err := t.uncompress(ext); err != nil {
			return nil, fmt.Errorf("%s: %w", shown(name), err)
		}
	default:
		if in.encoding == nil {
			seek = func(offset int64) error {
				if err := body.Close(); err != nil {
					return err
				}
				next, err := openURL(ctx, name, offset)
				if err != nil {
					return err // body stays set, because Close closes it again
				}
				body, stored.Reader = next, next
				stored.n.Store(offset)
				return nil
			}
		}
	}
	if in.encoding != nil {
		t.Reader = in.encoding.NewDecoder().Reader(t.Reader)
	}
	if err := t.skip(offset, seek); err != nil {
		return nil, fmt.Errorf("%s: go on at byte %d: %w", shown(name), offset, err)
	}
	return t, nil
}

// uncompress decompresses the text as it is read.
func (t *text) uncompress(ext string) error {
	if ext == ".gz" {
		r, err := gzip.NewReader(bufio.NewReaderSize(t.Reader, readAhead))
		if err == nil {
			t.Reader = r
		}
		return err
	}
	r, err := zstd.NewReader(t.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<31))
	if err == nil {
		t.Reader = r
		t.closers = append(t.closers, func() error { r.Close(); return nil })
	}
	return err
}

// skip moves to an offset of the text after its byte order mark. If seek is set, it seeks in the stored bytes.
func (t *text) skip(offset int64, seek func(int64) error) error {
	mark := make([]byte, len(byteOrderMark))
	n, err := io.ReadFull(t.Reader, mark)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if mark = mark[:n]; string(mark) == byteOrderMark {
		mark = nil
	}
	switch {
	case offset <= int64(len(mark)):
		t.Reader = io.MultiReader(bytes.NewReader(mark[offset:]), t.Reader)
		return nil
	case seek != nil:
		return seek(offset + int64(n-len(mark)))
	}
	_, err = io.CopyN(io.Discard, t.Reader, offset-int64(len(mark)))
	return err
}

// isParquet reports whether f is a Parquet file. If not, it holds refused rows of one, which are JSON lines.
func isParquet(f *os.File) (bool, error) {
	var magic [4]byte
	n, err := f.ReadAt(magic[:], 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return false, err
	case n == 0 || magic[0] == '{':
		return false, nil
	case string(magic[:n]) != "PAR1":
		return false, errors.New("the file is not a Parquet file")
	}
	return true, nil
}

const byteOrderMark = "\ufeff"

// open opens the text at an offset and reads until ctx ends. Each part begins where the previous one ends.
func (in *input) open(ctx context.Context, offset int64) (*text, error) {
	if in.pipe != nil {
		t := &text{Reader: in.pipe}
		return t, t.skip(offset, nil)
	}
	if len(in.paths) == 1 {
		return in.openFile(ctx, in.paths[0], offset)
	}
	t := &text{}
	var rs []io.Reader
	for _, p := range in.paths {
		part, err := in.openFile(ctx, p, 0)
		if err != nil {
			_ = t.Close()
			return nil, err
		}
		rs = append(rs, part, &lineEnd{last: part})
		part.Reader = &lastByte{Reader: part.Reader}
		t.closers = append(t.closers, part.Close)
		t.counters = append(t.counters, part.counters...)
	}
	t.Reader = io.MultiReader(rs...)
	if _, err := io.CopyN(io.Discard, t.Reader, offset); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("%s: go on at byte %d: %w", in.name, offset, err)
	}
	return t, nil
}

// lastByte remembers the last byte read.
type lastByte struct {
	io.Reader
	last byte
}

func (r *lastByte) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.last = p[n-1]
	}
	return n, err
}

// lineEnd supplies a line end if the part before it does not end with one.
type lineEnd struct {
	last *text
	done bool
}

func (r *lineEnd) Read(p []byte) (int, error) {
	if r.done || len(p) == 0 {
		return 0, io.EOF
	}
	r.done = true
	if b := r.last.Reader.(*lastByte); b.last == '\n' || b.last == 0 {
		return 0, io.EOF
	}
	p[0] = '\n'
	return 1, nil
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
		i := bytes.IndexByte(data[at:], '\n')
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
		d.Delimiter = recogniseDelimiter(data[at:], d.Quote)
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
		h.line += int64(bytes.Count(data[at:at+s.End], []byte{'\n'}))
		at += s.End
	}
	h.preamble = data[:at]
	return h, nil
}

// recogniseDelimiter returns the candidate that occurs most often in the first line outside quotes.
func recogniseDelimiter(data []byte, quote byte) byte {
	const candidates = ",|\t;"
	var counts [len(candidates)]int
	quoted := false
	for _, c := range bytes.TrimLeft(data, "\r\n") {
		if c == quote && quote != 0 {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == '\n' {
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

// peek reads the beginning of the text and pushes it back onto standard input.
func (in *input) peek(ctx context.Context) ([]byte, error) {
	t, err := in.open(ctx, 0)
	if err != nil {
		return nil, err
	}
	data := make([]byte, headBytes)
	n, err := io.ReadFull(t, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	data = data[:n]
	if in.pipe != nil {
		in.pipe = io.MultiReader(bytes.NewReader(data), in.pipe)
		return data, err
	}
	return data, errors.Join(err, t.Close())
}
