package loader

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/loader/text"
)

// rewriter copies part of a file to a new one that replaces it.
type rewriter struct {
	name string
	from *os.File // nil if the file does not exist
	in   *bufio.Reader
	to   *os.File
	out  *bufio.Writer
}

func newRewriter(name string) (*rewriter, error) {
	from, err := os.Open(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	to, err := os.Create(name + ".new")
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	r := &rewriter{name: name, from: from, in: bufio.NewReader(bytes.NewReader(nil)), to: to, out: bufio.NewWriter(to)}
	if from != nil {
		r.in.Reset(from)
	}
	return r, nil
}

// line reads a line with its end; ok is false if no complete line is left.
func (r *rewriter) line() (line []byte, ok bool, err error) {
	line, err = r.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, false, nil
	}
	return line, err == nil, err
}

// copy copies n bytes; ok is false if fewer are left, and then it copies those.
func (r *rewriter) copy(n int) (ok bool, err error) {
	_, err = io.CopyN(r.out, r.in, int64(n))
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// keep completes the copy, which does not replace the file yet.
func (r *rewriter) keep() error { return errors.Join(r.out.Flush(), r.close()) }

func (r *rewriter) close() error {
	err := r.to.Close()
	if r.from != nil {
		err = errors.Join(err, r.from.Close())
	}
	return err
}

// rewind removes the rows of batches after seq, and any incomplete tail of an earlier run. It holds one row in memory.
//
// The files must change together because their lines refer to each other. So rewind completes all copies, then records their names, and
// only then renames them. The next run finishes an interrupted rename.
func (l *rejectLog) rewind(seq uint64) error {
	if err := l.replace(); err != nil {
		return err
	}
	if err := l.copyUpTo(seq); err != nil {
		return err
	}
	return l.replace()
}

// replace renames completed copies over their files.
func (l *rejectLog) replace() error {
	list := filepath.Join(l.dir, rewoundName)
	names, err := os.ReadFile(list)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for name := range strings.Lines(string(names)) {
		if name, err = strconv.Unquote(strings.TrimSuffix(name, "\n")); err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		name = filepath.Join(l.dir, filepath.FromSlash(name))
		if err := os.Rename(name+".new", name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Remove(list)
}

// copyUpTo copies the files without the rows of batches after seq, and writes the list of their names.
func (l *rejectLog) copyUpTo(seq uint64) (err error) {
	if _, err := os.Stat(filepath.Join(l.dir, batchesName)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []*rewriter
	var names strings.Builder
	open := func(name string) (*rewriter, error) {
		r, err := newRewriter(filepath.Join(l.dir, filepath.FromSlash(name)))
		if err == nil {
			all = append(all, r)
			fmt.Fprintf(&names, "%q\n", name)
		}
		return r, err
	}
	defer func() {
		for _, r := range all {
			if err == nil {
				err = r.keep()
			} else {
				err = errors.Join(err, r.close())
			}
		}
		if err != nil {
			for _, r := range all {
				err = errors.Join(err, os.Remove(r.name+".new"))
			}
			return
		}
		list := filepath.Join(l.dir, rewoundName)
		if err = os.WriteFile(list+".new", []byte(names.String()), 0o666); err == nil {
			err = os.Rename(list+".new", list)
		}
	}()
	lines, err := open(text.RejectsName)
	if err != nil {
		return err
	}
	batches, err := open(batchesName)
	if err != nil {
		return err
	}
	rows := map[string]*rewriter{}
	for {
		of, ok, err := batches.line()
		if err != nil || !ok {
			return err
		}
		var batch uint64
		var size int
		var name string
		if _, err := fmt.Sscanf(string(of), rowOf[:len(rowOf)-1], &batch, &size, &name); err != nil {
			return nil
		}
		var line []byte
		if !bytes.HasSuffix(of, []byte(partOf[len(rowOf)-1:])) {
			if line, ok, err = lines.line(); err != nil || !ok {
				return err
			}
		}
		row := rows[name]
		if row == nil {
			if row, err = open(name); err != nil {
				return err
			}
			rows[name] = row
			for in, n := range l.names {
				if n == name {
					if _, err := row.copy(len(in.preamble())); err != nil {
						return err
					}
				}
			}
		}
		if batch > seq {
			if _, err := row.in.Discard(size); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			continue
		}
		if ok, err = row.copy(size); err != nil || !ok {
			return err
		}
		for r, b := range map[*rewriter][]byte{lines: line, batches: of} {
			if _, err := r.out.Write(b); err != nil {
				return err
			}
		}
	}
}
