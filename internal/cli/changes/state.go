package changes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// state keeps the token of a stream in a file: its text, and the end of the line.
type state struct {
	path string // "": nowhere
	kept string // what the file has
}

// openState reads the token of an earlier run, if there is one.
func openState(path string) (*state, error) {
	s := &state{path: path}
	if path == "" {
		return s, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	line, rest, _ := strings.Cut(string(b), "\n")
	if line == "" || rest != "" || strings.ContainsAny(line, " \t\r") {
		return nil, fmt.Errorf("--state %s: must hold one token, as an earlier run has left it", path)
	}
	s.kept = line
	return s, nil
}

// keep stores a token: the file has either the old one or the new one, also after a crash.
func (s *state) keep(token string) error {
	if s.path == "" || token == s.kept {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), "."+filepath.Base(s.path)+"-*")
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	_, err = f.WriteString(token + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("--state: %w", err)
	}
	s.kept = token
	return nil
}
