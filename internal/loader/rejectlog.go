package loader

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/encoding"

	"github.com/hopgate/hopgate/internal/loader/text"
)

const (
	// batchesName is a file beside it with a line for each of its lines: the batch of the row, and the length and file of its raw form. A
	// load that resumes uses it to drop what it is about to write again.
	batchesName = ".batches"
	// rewoundName lists files whose truncated copies are about to replace them.
	rewoundName = ".rewound"
	// rowOf is the format of its lines. partOf is that of further parts of an overlong row, which have no line in text.RejectsName.
	rowOf  = "%d %d %q\n"
	partOf = "%d %d %q more\n"
)

// MappingName is the name of a mapping beside the files that it describes.
const MappingName = "mapping.yaml"

// MaxWaiting bounds the refused rows that a load without a rejects directory leaves for a later run that has one. The server stores them
// with each batch.
const MaxWaiting = 10_000

// rejectLog writes refused rows to a directory: the raw rows to files that can be loaded again, named like the inputs, and the reasons to
// text.RejectsName.
type rejectLog struct {
	dir  string
	plan *Plan

	mu      sync.Mutex
	names   map[*input]string
	files   map[*input]*appender
	lines   *appender
	batches *appender
	last    map[*input]lastRow
	count   int64
}

// lastRow is the row written last for an input; it shows when another rule refuses the same row.
type lastRow struct {
	seq  uint64
	line map[int64]bool // of that batch
}

// openRejects opens the log and drops rows that an earlier run wrote for batches after seq.
func openRejects(dir string, p *Plan, seq uint64) (*rejectLog, error) {
	l := &rejectLog{dir: dir, plan: p, names: map[*input]string{}, files: map[*input]*appender{}, last: map[*input]lastRow{}}
	if dir == "" {
		return l, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("rejects: %w", err)
	}
	taken := map[string]bool{text.RejectsName: true, batchesName: true, rewoundName: true}
	for _, in := range p.inputs {
		l.names[in] = rejectName(in, taken)
	}
	if err := l.rewind(seq); err != nil {
		return nil, fmt.Errorf("rejects: %w", err)
	}
	return l, nil
}

// rejectName chooses the file name for an input: its own, relative to the load's directory, without compression.
func rejectName(in *input, taken map[string]bool) string {
	name := text.PlainName(in.Name)
	switch {
	case in.Name == text.Stdin:
		name = "stdin.csv"
		if in.Dialect.JSON {
			name = "stdin.jsonl"
		}
	case !filepath.IsLocal(filepath.FromSlash(name)):
		name = filepath.Base(name)
	}
	ext := filepath.Ext(name)
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = strings.TrimSuffix(name, ext) + "-" + strconv.Itoa(n) + ext
	}
	taken[unique] = true
	return unique
}

// preamble returns what precedes an input's records, with a line end, in the input's encoding.
func (in *input) preamble() []byte {
	b := in.header
	if len(b) > 0 && b[len(b)-1] != in.Dialect.End() {
		b = append(append([]byte(nil), b...), in.Dialect.End())
	}
	return in.encode(b)
}

// encode converts text to the encoding of the input.
func (in *input) encode(b []byte) []byte {
	if in.Encoding == nil {
		return b
	}
	out, err := encoding.ReplaceUnsupported(in.Encoding.NewEncoder()).Bytes(b)
	if err != nil {
		return b
	}
	return out
}

// openLog opens a file for appending.
func openLog(name string) (*appender, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	return &appender{bufio.NewWriter(f), f}, nil
}

// appender is a buffered file opened for appending.
type appender struct {
	*bufio.Writer
	f *os.File
}

// Close flushes and closes the file.
func (a *appender) Close() error { return errors.Join(a.Flush(), a.f.Close()) }

// open opens the log's files.
func (l *rejectLog) open() (err error) {
	if l.lines != nil {
		return nil
	}
	if l.lines, err = openLog(filepath.Join(l.dir, text.RejectsName)); err != nil {
		return err
	}
	l.batches, err = openLog(filepath.Join(l.dir, batchesName))
	return err
}

// file returns the file for an input's rows. It begins with the input's preamble.
func (l *rejectLog) file(in *input) (*appender, error) {
	if f := l.files[in]; f != nil {
		return f, nil
	}
	name := filepath.Join(l.dir, filepath.FromSlash(l.names[in]))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := openLog(name)
	if err != nil {
		return nil, err
	}
	l.files[in] = f
	if end, err := f.f.Seek(0, io.SeekEnd); err != nil || end > 0 {
		return f, err
	}
	_, err = f.Write(in.preamble())
	return f, err
}

// add writes a row of a batch. again reports whether another rule has already refused the row.
func (l *rejectLog) add(in *input, r *Reject, row []byte, seq uint64) (again bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last[in]
	if last.seq != seq || last.line == nil {
		last = lastRow{seq, map[int64]bool{}}
		l.last[in] = last
	}
	again = last.line[r.Line]
	last.line[r.Line] = true
	if !again {
		l.count++
	}
	if l.dir == "" {
		return again, nil
	}
	if err := l.open(); err != nil {
		return again, fmt.Errorf("rejects: %w", err)
	}
	size := 0
	if !again {
		if size, err = l.raw(in, row); err != nil {
			return again, fmt.Errorf("rejects: %w", err)
		}
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return again, err
	}
	if _, err := l.lines.Write(line.Bytes()); err != nil {
		return again, fmt.Errorf("rejects: %w", err)
	}
	if _, err = fmt.Fprintf(l.batches, rowOf, seq, size, l.names[in]); err != nil {
		return again, fmt.Errorf("rejects: %w", err)
	}
	return again, nil
}

// settled reports whether the refused rows are where they belong. Without a directory they wait for a run that has one, unless there are
// more than the server should store.
func (l *rejectLog) settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dir != "" || l.count == 0 || l.count > MaxWaiting
}

// flush writes buffered rows first and their descriptions last.
func (l *rejectLog) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == "" || l.lines == nil {
		return nil
	}
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Flush())
	}
	if err := errors.Join(append(errs, l.lines.Flush(), l.batches.Flush())...); err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	return nil
}

// raw writes a row verbatim.
func (l *rejectLog) raw(in *input, row []byte) (int, error) {
	f, err := l.file(in)
	if err != nil {
		return 0, err
	}
	if len(row) > 0 && row[len(row)-1] != in.Dialect.End() && len(row) < maxRecord {
		row = append(append([]byte(nil), row...), in.Dialect.End())
	}
	row = in.encode(row)
	_, err = f.Write(row)
	return len(row), err
}

// more writes a further part of an overlong row.
func (l *rejectLog) more(in *input, part []byte, seq uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == "" {
		return nil
	}
	f, err := l.file(in)
	if err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	part = in.encode(part)
	if _, err := f.Write(part); err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	if err := l.open(); err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	if _, err := fmt.Fprintf(l.batches, partOf, seq, len(part), l.names[in]); err != nil {
		return fmt.Errorf("rejects: %w", err)
	}
	return nil
}

// close closes the files. If the load is complete and refused rows, inputs without refused rows get a file that holds only their header, so
// that the same mapping can load the directory.
func (l *rejectLog) close(ended bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	if ended && l.dir != "" && l.count > 0 {
		for _, in := range l.plan.inputs {
			_, err := l.file(in)
			errs = append(errs, err)
		}
		if l.plan.mapping != nil {
			errs = append(errs, os.WriteFile(filepath.Join(l.dir, MappingName), l.plan.mapping, 0o666))
		}
	}
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	for _, f := range []*appender{l.lines, l.batches} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
