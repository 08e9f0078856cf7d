package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is a public repository at a pinned commit.
type source struct {
	flag, url, commit string
	paths             []string // of the commit
	convert           func(files map[string][]byte) (map[string][]byte, error)
}

// sources returns the repositories that hold suites, with the files to make of theirs.
func sources() []*source {
	return []*source{
		{
			"opencypher", "https://github.com/opencypher/openCypher", "677cbafabb8c3c5eed458fd3b1ec0daec8d67d23",
			[]string{"tck", "LICENSE"},
			func(files map[string][]byte) (map[string][]byte, error) {
				cases, err := convertTCK(files)
				return map[string][]byte{"tck/cases.jsonl": cases, "tck/LICENSE": files["LICENSE"]}, err
			},
		},
		{
			"ldbc", "https://github.com/ldbc/ldbc_snb_interactive_v1_impls", "68df6731fff00cb569cd66f795849e65778c5824",
			[]string{"cypher/queries", "cypher/test-data", "LICENSE.txt"},
			convertLDBC,
		},
		{
			"lsqb", "https://github.com/ldbc/lsqb", "8f20b3d9059117f8d6e0725efcf361b9448dde56",
			[]string{"cypher"},
			func(files map[string][]byte) (map[string][]byte, error) {
				out, err := statements(files, "cypher/q%d.cypher", "q%d", 9)
				return map[string][]byte{"data/lsqb-queries.jsonl": out}, err
			},
		},
	}
}

// fill fetches the repositories and writes the suites into a folder, a file at a time and each as a whole.
func fill(ctx context.Context, dir string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	all := sources()
	for _, s := range all {
		flags.StringVar(&s.url, s.flag, s.url, "the repository, or a mirror")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		n, err := s.fill(ctx, dir)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s at %s: %w", s.url, s.commit, err))
			continue
		}
		if _, err := fmt.Fprintf(out, "%s at %s: %d files in %s\n", s.url, s.commit, n, dir); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

func (s *source) fill(ctx context.Context, dir string) (int, error) {
	files, err := s.fetch(ctx)
	if err != nil {
		return 0, err
	}
	made, err := s.convert(files)
	if err != nil {
		return 0, err
	}
	for name, text := range made {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return 0, err
		}
		if err := os.WriteFile(file+".part", text, 0o600); err != nil {
			return 0, err
		}
		if err := os.Rename(file+".part", file); err != nil {
			return 0, err
		}
	}
	return len(made), nil
}

// fetch returns the files of the commit below the paths.
func (s *source) fetch(ctx context.Context) (files map[string][]byte, err error) {
	repo, err := os.MkdirTemp("", "hopgate-conformance")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(repo)) }()
	git := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", repo}, args...)...) //nolint:gosec // the user names mirrors
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	if _, err := git("init", "-q", "--bare"); err != nil {
		return nil, err
	}
	if _, err := git("fetch", "-q", "--depth", "1", s.url, s.commit); err != nil {
		return nil, err
	}
	archive, err := git(append([]string{"archive", "--format=tar", s.commit, "--"}, s.paths...)...)
	if err != nil {
		return nil, err
	}
	files = map[string][]byte{}
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			if files[h.Name], err = io.ReadAll(in); err != nil {
				return nil, err
			}
		}
	}
}

// convertLDBC returns the benchmark's statements and its data of scale factor 0.003.
func convertLDBC(files map[string][]byte) (map[string][]byte, error) {
	var text []byte
	for _, kind := range []struct {
		name string
		n    int
	}{{"complex", 14}, {"short", 7}, {"update", 8}} {
		name := "interactive-" + kind.name + "-%d"
		more, err := statements(files, "cypher/queries/"+name+".cypher", name, kind.n)
		if err != nil {
			return nil, err
		}
		text = append(text, more...)
	}
	out := map[string][]byte{"data/ldbc-queries.jsonl": text, "data/LICENSE.txt": files["LICENSE.txt"]}
	for name, text := range files {
		if name, ok := strings.CutPrefix(name, "cypher/test-data/"); ok && !strings.HasPrefix(name, "converted/") {
			out["data/ldbc-sf0.003/"+strings.TrimPrefix(name, "vanilla/")] = text
		}
	}
	return out, nil
}

// statements returns the statements of files numbered from 1 to n, one JSON object a line.
func statements(files map[string][]byte, file, name string, n int) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i := 1; i <= n; i++ {
		text, ok := files[fmt.Sprintf(file, i)]
		if !ok {
			return nil, fmt.Errorf("no file %s", fmt.Sprintf(file, i))
		}
		if err := enc.Encode(struct {
			Name      string `json:"name"`
			Statement string `json:"statement"`
		}{fmt.Sprintf(name, i), string(text)}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
