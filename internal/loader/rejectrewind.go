package loader

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// rewriter copies a part of a file to one that takes its place.
type rewriter struct {
	name string
	from *os.File // nil: there is no such file
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
	if err == nil && from != nil {
		r.in.Reset(from)
	}
	return r, nil
}

// line reads a line with its end; ok is false if there is no whole one.
func (r *rewriter) line() (line []byte, ok bool, err error) {
	line, err = r.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, false, nil
	}
	return line, err == nil, err
}

// copy copies n bytes; ok is false if there are not that many left, and then all are.
func (r *rewriter) copy(n int) (ok bool, err error) {
	_, err = io.CopyN(r.out, r.in, int64(n))
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

func (r *rewriter) close() error {
	err := r.to.Close()
	if r.from != nil {
		err = errors.Join(err, r.from.Close())
	}
	return err
}

// replace puts the copy into the place of the file.
func (r *rewriter) replace() error {
	if err := errors.Join(r.out.Flush(), r.close()); err != nil {
		return err
	}
	return os.Rename(r.name+".new", r.name)
}

// rewind removes the rows of batches after seq, and what an earlier run had not written to the end. It holds a row at a time.
func (l *rejectLog) rewind(seq uint64) (err error) {
	if _, err := os.Stat(filepath.Join(l.dir, batchesName)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []*rewriter
	open := func(name string) (*rewriter, error) {
		r, err := newRewriter(filepath.Join(l.dir, filepath.FromSlash(name)))
		if err == nil {
			all = append(all, r)
		}
		return r, err
	}
	defer func() {
		for _, r := range all {
			if err == nil {
				err = r.replace()
			} else {
				err = errors.Join(err, r.close(), os.Remove(r.name+".new"))
			}
		}
	}()
	lines, err := open(rejectsName)
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
