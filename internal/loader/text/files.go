package text

import (
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
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// Stdin is the path of standard input.
const Stdin = "-"

// RejectsName is the file of a directory of refused rows that describes each row. It is no file to load.
const RejectsName = "rejects.jsonl"

// Source is one text: a file, several parts of one file, or a pipe.
type Source struct {
	Paths    []string // parts of one text; only the first has a header
	Name     string   // for messages
	Dialect  record.Dialect
	Parquet  bool              // the files are Parquet; their rows are read as JSON lines
	Encoding encoding.Encoding // or nil for UTF-8
	// Convert makes JSON lines of the content, or is nil.
	Convert func(io.Reader) io.Reader
	// Columns returns which columns of a Parquet or Arrow file to read, and whether as bytes; nil reads all.
	Columns func(name string) (used, binary bool)
	Pipe    *Pipe // the text, if it can be read only once
}

// Files resolves a path of a mapping, relative to base. The path names a file (with or without .gz or .zst), a directory, or a pattern.
func Files(ctx context.Context, base, path string) ([]string, error) {
	switch file, ok, err := bucket.FilePath(path); {
	case err != nil:
		return nil, err
	case ok:
		path = file
	case bucket.IsURL(path):
		return objects(ctx, path)
	case path == Stdin || IsURL(path):
		return []string{path}, nil
	case strings.Contains(path, "://"):
		return nil, fmt.Errorf("%s: URLs begin with http, https, s3, gs, azblob or file", Shown(path))
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
		for _, suffix := range append([]string{""}, suffixes...) {
			found, err := filepath.Glob(path + suffix)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			for _, f := range found {
				if !slices.Contains(names, f) && filepath.Base(f) != RejectsName {
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
	return nil, fmt.Errorf("file %s does not exist, nor does it with %s", path, strings.Join(suffixes, ", "))
}

// existing finds a file by its name, possibly with another compression suffix.
func existing(path string) (string, bool) {
	plain := PlainName(path)
	names := []string{path, plain}
	for _, s := range suffixes {
		names = append(names, plain+s)
	}
	for _, name := range names {
		if _, err := os.Stat(name); err == nil {
			return name, true
		}
	}
	return "", false
}

// PlainName removes the compression suffix from a name.
func PlainName(name string) string {
	for _, s := range suffixes {
		if base, ok := strings.CutSuffix(name, s); ok {
			return base
		}
	}
	return name
}

// suffixes are those of compressed files.
var suffixes = []string{".gz", ".zst", ".bz2", ".xz", ".zip"}

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
		if f := FormatOf(name); !d.IsDir() && f != mapping.Auto && name != RejectsName {
			names = append(names, path)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("the directory %s has no files that end in .csv, .tsv, .jsonl, .arrow, .graphml or .gexf, plain or compressed, or in .parquet", dir)
	}
	return names, err
}

// FormatOf returns the format that the extension of a name says, or Auto.
func FormatOf(name string) mapping.Format {
	switch strings.ToLower(filepath.Ext(PlainName(FileName(name)))) {
	case ".csv", ".txt", ".psv":
		return mapping.CSV
	case ".tsv", ".tab":
		return mapping.TSV
	case ".jsonl", ".ndjson":
		return mapping.JSONL
	case ".parquet":
		return mapping.Parquet
	case ".arrow", ".arrows", ".feather":
		return mapping.Arrow
	case ".graphml":
		return mapping.GraphML
	case ".gexf":
		return mapping.GEXF
	}
	return mapping.Auto
}

// Peek reads the beginning of the text.
func (in *Source) Peek(ctx context.Context) ([]byte, error) {
	t, err := in.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	data := make([]byte, HeadBytes)
	n, err := record.Fill(t, data)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case err != nil:
		err = fmt.Errorf("%s: %w", in.Name, err)
	}
	data = data[:n]
	if in.Pipe != nil {
		in.Pipe.giveBack(data)
	}
	return data, errors.Join(err, t.Close())
}
