package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/loader/graphfile"
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
	var graphs []string
	tables := false
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
				found, err := partFiles(ctx, path)
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
		found = slices.DeleteFunc(found, func(p string) bool { return claimed[p] })
		for _, parts := range joinHeaders(found) {
			err := addHeader(ctx, h, mapping.File{Paths: parts})
			if errors.Is(err, errGraphFile) {
				graphs, err = append(graphs, parts[0]), nil
			} else {
				tables = true
			}
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(graphs) > 0 {
		if tables || len(claimed) > 0 {
			return nil, fmt.Errorf("%s holds a graph: load it apart from tables", graphs[0])
		}
		return newGraphPlan(ctx, graphs)
	}
	m := h.Mapping()
	m.Text = fmt.Appendf(nil, "headers %q %q %v", o.Nodes, o.Relationships, o.IntegerIDs)
	return NewPlan(ctx, m, base, nil)
}

// partFiles finds the files of a path in the flags, which may also be a regular expression for names in a folder, as for neo4j-admin.
func partFiles(ctx context.Context, path string) ([]string, error) {
	found, err := text.Files(ctx, "", path)
	if err == nil || text.IsURL(path) {
		return found, err
	}
	dir, pattern := filepath.Split(path)
	names, bad := regexp.Compile("^(?:" + pattern + ")$")
	if bad != nil {
		return nil, err
	}
	entries, _ := os.ReadDir(filepath.Clean(dir))
	for _, e := range entries {
		if !e.IsDir() && names.MatchString(e.Name()) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if found == nil {
		return nil, err
	}
	return found, nil
}

// headerFile matches the name of a file that holds the header of others, such as person_header.csv of person_part1.csv.
var headerFile = regexp.MustCompile(`(?i)^(.+)[-_.]headers?\.[a-z]+$`)

// joinHeaders puts files behind the file that holds their header: the one in their folder with the longest common beginning of the name.
// Other files hold their own.
func joinHeaders(paths []string) [][]string {
	heads := map[string]int{} // by the path up to the word header
	var out [][]string
	for _, p := range paths {
		if m := headerFile.FindStringSubmatch(filepath.Base(text.PlainName(p))); m != nil {
			heads[filepath.Join(filepath.Dir(p), m[1])] = len(out)
			out = append(out, []string{p})
		}
	}
	for _, p := range paths {
		if headerFile.MatchString(filepath.Base(text.PlainName(p))) {
			continue
		}
		best, length := -1, 0
		for stem, i := range heads {
			if rest, ok := strings.CutPrefix(p, stem); ok && strings.ContainsAny(rest[:1], "-_.") && len(stem) > length {
				best, length = i, len(stem)
			}
		}
		if best >= 0 {
			out[best] = append(out[best], p)
		} else {
			out = append(out, []string{p})
		}
	}
	return out
}

// errGraphFile says that a file holds vertices and edges.
var errGraphFile = errors.New("the file holds a graph, and has no header")

// newGraphPlan plans the load of files that hold graphs, after it has read them for the names of their properties.
func newGraphPlan(ctx context.Context, paths []string) (*Plan, error) {
	all := &mapping.Mapping{}
	for _, p := range paths {
		m, err := graphMapping(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text.Shown(p), err)
		}
		all.Inputs, all.Spaces, all.Text = append(all.Inputs, m.Inputs...), append(all.Spaces, m.Spaces...), append(all.Text, m.Text...)
	}
	return NewPlan(ctx, all, "", nil)
}

func graphMapping(ctx context.Context, path string) (m *mapping.Mapping, err error) {
	in := &text.Source{Paths: []string{path}, Name: text.Shown(path)}
	data, err := in.Peek(ctx)
	if err != nil {
		return nil, err
	}
	format, err := text.Recognise(data, path)
	if err != nil {
		return nil, err
	}
	t, err := in.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	names, err := graphfile.Scan(format, t)
	if err != nil {
		return nil, err
	}
	if !text.IsURL(path) {
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return mapping.Parse(path, names.Mapping(format, path, path, filepath.Base(text.FileName(path)), ""))
}

// addHeader reads the header of a file and adds it.
func addHeader(ctx context.Context, h *mapping.Headers, f mapping.File) error {
	if len(f.Paths) == 0 {
		return nil
	}
	if slices.ContainsFunc(f.Paths, func(p string) bool { return p == text.Stdin || text.IsPipe(p) }) {
		return errors.New("a pipe needs a mapping")
	}
	in := &text.Source{Paths: f.Paths[:1], Name: text.Shown(f.Paths[0])}
	data, err := in.Peek(ctx)
	if err != nil {
		return err
	}
	format, err := text.Recognise(data, f.Paths[0])
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", f.Paths[0], err)
	case graphfile.Holds(format):
		return errGraphFile
	case format != mapping.CSV && format != mapping.TSV:
		return fmt.Errorf("%s: JSON, Parquet and Arrow have no header; write a mapping", f.Paths[0])
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
	if format == mapping.TSV {
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
