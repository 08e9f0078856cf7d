package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/loader/text"
)

// HeaderOptions describe a load by neo4j-admin headers, without a mapping.
type HeaderOptions struct {
	// Paths are files and directories. The headers of a directory's files say whether they hold vertices or edges.
	Paths []string
	// Nodes and Relationships use neo4j-admin's syntax: [LABEL[:LABEL]…=]FILE[,FILE]… and [TYPE=]FILE[,FILE]…. The first file of each
	// begins with the header.
	Nodes, Relationships []string
	// IntegerIDs makes ids integers unless a header says otherwise.
	IntegerIDs bool
}

// NewHeaderPlan is NewPlan for files with neo4j-admin import headers.
func NewHeaderPlan(ctx context.Context, o HeaderOptions) (*Plan, error) {
	h := mapping.NewHeaders(o.IntegerIDs)
	var errs []error
	claimed := map[string]bool{}
	base := ""
	for _, flag := range []struct {
		name  string
		specs []string
	}{{"--nodes", o.Nodes}, {"--relationships", o.Relationships}} {
		for _, spec := range flag.specs {
			names, list, ok := strings.Cut(spec, "=")
			if !ok {
				names, list = "", spec
			}
			f := mapping.File{IsNodes: flag.name == "--nodes", IsEdges: flag.name != "--nodes"}
			for path := range strings.SplitSeq(list, ",") {
				found, err := text.Files(ctx, "", path)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s %s: %w", flag.name, spec, err))
				}
				f.Paths = append(f.Paths, found...)
			}
			for _, p := range f.Paths {
				claimed[p] = true
			}
			if f.IsNodes && names != "" {
				f.Labels = strings.Split(names, ":")
			} else {
				f.Type = names
			}
			errs = append(errs, addHeader(ctx, h, f))
		}
	}
	for _, path := range o.Paths {
		info, err := os.Stat(path)
		directory := err == nil && info.IsDir()
		if directory && len(o.Paths) == 1 {
			base = path
		}
		found, err := text.Files(ctx, "", path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, p := range found {
			if claimed[p] {
				continue
			}
			errs = append(errs, addHeader(ctx, h, mapping.File{Paths: []string{p}}))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m := h.Mapping()
	m.Text = fmt.Appendf(nil, "headers %q %q %v", o.Nodes, o.Relationships, o.IntegerIDs)
	return NewPlan(ctx, m, base, nil)
}

// addHeader reads the header of a file and adds it.
func addHeader(ctx context.Context, h *mapping.Headers, f mapping.File) error {
	if len(f.Paths) == 0 {
		return nil
	}
	if slices.ContainsFunc(f.Paths, func(p string) bool { return p == text.Stdin || text.IsPipe(p) }) {
		return errors.New("a pipe needs a mapping")
	}
	if format := text.FormatOf(f.Paths[0]); format == mapping.JSONL || format == mapping.Parquet {
		return fmt.Errorf("%s: JSON lines and Parquet have no header; write a mapping", f.Paths[0])
	}
	in := &text.Source{Paths: f.Paths[:1], Name: text.Shown(f.Paths[0])}
	data, err := in.Peek(ctx)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("%s: the file is empty; it should begin with a header", f.Paths[0])
	}
	d := record.Dialect{Quote: '"'}
	d.CR = text.EndsInCR(data, d)
	header, _, _ := bytes.Cut(data, []byte{d.End()})
	if err := text.RefuseEncoding(data, header); err != nil {
		return fmt.Errorf("%s: %w", f.Paths[0], err)
	}
	if text.FormatOf(f.Paths[0]) == mapping.TSV {
		d.Delimiter = '\t'
	}
	head, err := text.ReadHead(data, &d, 0, true)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Paths[0], err)
	}
	f.Delimiter, f.Cells = d.Delimiter, head.Cells
	for i, path := range f.Paths {
		if text.IsURL(path) {
			continue
		}
		if f.Paths[i], err = filepath.Abs(path); err != nil {
			return err
		}
	}
	return h.Add(f)
}
