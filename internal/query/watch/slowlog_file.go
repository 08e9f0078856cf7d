package watch

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// slowFile is the slow log in a file; errors are texts there.
type slowFile struct {
	Entries []Slow
	Errors  []string
}

// Save replaces the contents of a file by the slow log.
func (l *SlowLog) Save(path string) error {
	f := slowFile{Entries: l.All()}
	for i := range f.Entries {
		text := ""
		if err := f.Entries[i].Err; err != nil {
			text, f.Entries[i].Err = err.Error(), nil
		}
		f.Errors = append(f.Errors, text)
	}
	if err := replaceFile(path, func(w io.Writer) error { return gob.NewEncoder(w).Encode(f) }); err != nil {
		return fmt.Errorf("slow log: %w", err)
	}
	return nil
}

// Load adds the entries that Save has saved to a file, which may be missing.
func (l *SlowLog) Load(path string) error {
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("slow log: %w", err)
	}
	defer func() { _ = in.Close() }()
	var f slowFile
	if err := gob.NewDecoder(in).Decode(&f); err != nil {
		return fmt.Errorf("slow log: %w", err)
	}
	if len(f.Errors) != len(f.Entries) {
		return errors.New("slow log: the file is damaged")
	}
	for i, text := range f.Errors {
		if text != "" {
			f.Entries[i].Err = errors.New(text)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, f.Entries...)
	slices.SortStableFunc(l.entries, func(a, b Slow) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	l.entries = l.entries[:min(len(l.entries), l.size)]
	return nil
}

// replaceFile writes a temporary file beside path and renames it.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}
