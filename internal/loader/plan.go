package loader

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/graphfile"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/loader/text"
	"github.com/hopgate/hopgate/internal/shard"
)

// Plan is a load that is ready to run: its inputs in reading order, and their id spaces.
type Plan struct {
	inputs []*input
	steps  []step
	spaces []Space
	known  []*mapping.Space // besides spaces
	// Stream identifies the load. It is "" for a load from standard input, which cannot be read again.
	Stream string
	// closers end pipes and remove copies of them.
	closers []func() error
	stdin   bool   // standard input is one of the inputs
	chunk   int    // bytes of text in a batch; 0 means the constant. Tests use small ones.
	mapping []byte // describes files of refused rows; nil if the user has the mapping

	running atomic.Pointer[run]
}

// step is one pass over an input. All vertices are read before all edges.
type step struct {
	in    *input
	edges bool
	again bool // an earlier step has read the input for its vertices
}

// Bytes returns the stored size of all inputs, counted once for each pass; 0 if unknown.
func (p *Plan) Bytes() int64 {
	var n int64
	for _, s := range p.steps {
		if s.in.size == 0 && !s.in.empty {
			return 0
		}
		n += s.in.size
	}
	return n
}

// before returns how many of those bytes precede a step.
func (p *Plan) before(step int) (n int64) {
	for _, s := range p.steps[:step] {
		n += s.in.size
	}
	return n
}

// Close removes the plan's temporary files.
func (p *Plan) Close() error {
	var errs []error
	for _, f := range p.closers {
		errs = append(errs, f())
	}
	p.closers = nil
	return errors.Join(errs...)
}

// NewPlan plans the load of a mapping. Relative paths are resolved against base. It samples the inputs until ctx ends.
func NewPlan(ctx context.Context, m *mapping.Mapping, base string, in io.Reader) (*Plan, error) {
	p := &Plan{}
	var errs []error
	if abs, err := filepath.Abs(base); err == nil {
		base = abs
	}
	for _, rules := range m.Inputs {
		if err := p.add(ctx, rules, base, in); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p.finish(ctx, m)
}

// add finds the files of an input and binds its rules to their columns.
func (p *Plan) add(ctx context.Context, rules *mapping.Input, base string, standard io.Reader) error {
	var inputs []*input
	var joined []string
	for _, path := range rules.Paths {
		names, err := text.Files(ctx, base, path)
		if err != nil {
			return fmt.Errorf("%s: %w", rules.At(), err)
		}
		if rules.Joined {
			joined = append(joined, names...)
			continue
		}
		for _, name := range names {
			inputs = append(inputs, &input{Source: text.Source{Paths: []string{name}}})
		}
	}
	if joined != nil {
		inputs = append(inputs, &input{Source: text.Source{Paths: joined}})
	}
	for _, in := range inputs {
		in.rules = rules
		in.Name = in.Paths[0]
		if text.IsURL(in.Name) {
			in.Name = text.Shown(in.Name)
		} else if rel, err := filepath.Rel(base, in.Name); err == nil && filepath.IsLocal(rel) {
			in.Name = filepath.ToSlash(rel)
		}
		if in.format = rules.Format; in.format == mapping.Auto {
			in.format = text.FormatOf(in.Paths[0])
		}
		if in.Paths[0] == text.Stdin {
			in.Name = text.Stdin
		}
		if err := p.pipes(ctx, in, standard); err != nil {
			return err
		}
		if err := in.begin(ctx); err != nil {
			return err
		}
		p.inputs = append(p.inputs, in)
	}
	return nil
}

// input is one text of a load.
type input struct {
	text.Source
	rules *mapping.Input
	bound *mapping.Bound

	format mapping.Format
	header []byte // everything before the records, verbatim
	offset int64  // of the first record
	line   int64
	size   int64    // of the files as stored; 0 if unknown
	empty  bool     // the input has no content
	once   bool     // a part of it can be read only once
	from   Database // or nil for a text
}

// columns reports whether the rules use a column of a columnar file, and whether as bytes.
func (in *input) columns(name string) (used, binary bool) {
	slot := in.bound.Keys.Slot(name)
	if slot < 0 {
		return false, false
	}
	takes := func(q mapping.PropRule) bool { return q.Slot == slot && q.Conv.Type.Kind == graph.Bytes }
	for i := range in.bound.Vertices {
		binary = binary || slices.ContainsFunc(in.bound.Vertices[i].Props, takes)
	}
	for i := range in.bound.Edges {
		binary = binary || slices.ContainsFunc(in.bound.Edges[i].Props, takes)
	}
	return true, binary
}

// recognise finds out the format of an input, and has files that hold graphs converted to JSON lines.
func (in *input) recognise(ctx context.Context) error {
	if in.format == mapping.Auto {
		data, err := in.Peek(ctx)
		if err != nil {
			return err
		}
		if in.format, err = text.Recognise(data, in.Paths[0]); err != nil {
			return in.rules.Errorf("%s: %v", in.Name, err)
		}
	}
	switch f, edges := in.format, len(in.rules.Edges) > 0; {
	case graphfile.Holds(f) && edges && len(in.rules.Vertices) > 0:
		return in.rules.Errorf("%s: a %s file takes two inputs, one for its vertices and one for its edges", in.Name, f)
	case graphfile.Holds(f):
		in.Use(func(r io.Reader) io.Reader { return graphfile.Lines(f, edges, r) })
	}
	return nil
}

// begin reads the header of an input and binds its rules.
func (in *input) begin(ctx context.Context) error {
	for _, path := range in.Paths {
		if in.Pipe != nil {
			continue
		}
		if text.IsURL(path) {
			n, err := text.SizeURL(ctx, path)
			if err != nil {
				return fmt.Errorf("%s: %w", in.rules.At(), err)
			}
			in.size += n
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		in.size += info.Size()
	}
	o := &in.rules.Options
	var err error
	if in.Encoding, err = text.EncodingOf(o.Encoding); err != nil {
		return in.rules.Errorf("%v", err)
	}
	if in.Pipe != nil {
		if err := in.Pipe.Begin(ctx, &in.Source); err != nil {
			return err
		}
	}
	if err := in.recognise(ctx); err != nil {
		return err
	}
	in.Parquet = in.format == mapping.Parquet
	in.Dialect = record.Dialect{JSON: in.format != mapping.CSV && in.format != mapping.TSV, Delimiter: o.Delimiter, Quote: o.Quote}
	if in.format == mapping.TSV && o.Delimiter == 0 {
		in.Dialect.Delimiter = '\t'
	}
	if in.format.Columnar() {
		// The rows have the columns that the rules use.
		in.Columns = in.columns
		if in.bound, err = in.rules.Bind(nil, 0, true); err != nil {
			return err
		}
	}
	if in.format == mapping.Arrow {
		in.UseArrow()
	}
	data, err := in.Peek(ctx)
	if err != nil {
		return err
	}
	if in.Convert == nil && in.Dialect.JSON && text.IsArray(data) {
		in.Use(text.Lines)
		if data, err = in.Peek(ctx); err != nil {
			return err
		}
	}
	in.Dialect.CR = text.EndsInCR(data, in.Dialect)
	if o.Encoding == "" && !in.format.Columnar() {
		header, _, _ := bytes.Cut(data, []byte{in.Dialect.End()})
		if err := text.RefuseEncoding(data, header); err != nil {
			return in.rules.Errorf("%s: %v", in.Name, err)
		}
	}
	own := in.rules.Header == nil && !in.rules.NoHeader
	h, err := text.ReadHead(data, &in.Dialect, o.SkipLines, own)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	if in.Dialect.Quote != 0 && in.Dialect.Quote == in.Dialect.Delimiter && !in.Dialect.JSON {
		return in.rules.Errorf("quote and delimiter of %s are the same character", in.Name)
	}
	in.header, in.offset, in.line = slices.Clone(h.Preamble), int64(len(h.Preamble)), h.Line
	if h.Empty {
		if in.Dialect.JSON || !own {
			in.empty, in.bound = true, nil
			return nil
		}
		return fmt.Errorf("%s: the file is empty; it should begin with a header", in.Name)
	}
	header, cells := h.Cells, len(h.Cells)
	switch {
	case in.rules.Header != nil:
		header, cells = in.rules.Header, len(in.rules.Header)
	case in.rules.NoHeader:
		header = nil
	}
	if in.bound, err = in.rules.Bind(header, cells, in.Dialect.JSON); err == nil && in.rules.Joined {
		in.bound.Columns = mapping.HeaderNames(header)
	}
	return err
}

// finish orders the steps and opens the id spaces.
func (p *Plan) finish(ctx context.Context, m *mapping.Mapping) (*Plan, error) {
	var vertices, edges []step
	for _, in := range p.inputs {
		if in.bound == nil {
			continue
		}
		both := len(in.bound.Vertices) > 0 && len(in.bound.Edges) > 0
		if len(in.bound.Vertices) > 0 {
			vertices = append(vertices, step{in: in})
		}
		if len(in.bound.Edges) > 0 {
			edges = append(edges, step{in: in, edges: true, again: both})
		}
	}
	groupSteps(vertices, func(s step) string { return s.in.rules.Vertices[0].First() })
	groupSteps(edges, func(s step) string { return s.in.rules.Edges[0].First() })
	p.steps = slices.Concat(vertices, edges)
	if err := p.openSpaces(ctx, m); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, p.identify(ctx, m)
}

// groupSteps sorts steps by the key that first returns, in the order in which the keys first occur.
func groupSteps(steps []step, first func(step) string) {
	order := map[string]int{}
	for _, s := range steps {
		if _, ok := order[first(s)]; !ok {
			order[first(s)] = len(order)
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(order[first(a)], order[first(b)]) })
}

// identify computes the identity of the load from its inputs and its mapping.
func (p *Plan) identify(ctx context.Context, m *mapping.Mapping) error {
	h := sha256.New()
	part := func(b []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		_, _ = h.Write(n[:])
		_, _ = h.Write(b)
	}
	part([]byte("load 1"))
	part(m.Text)
	for _, in := range p.inputs {
		if in.from != nil {
			continue // the mapping's text names it
		}
		for _, path := range in.Paths {
			if in.once {
				return nil
			}
			if text.IsURL(path) {
				part([]byte(text.Shown(path)))
				if err := text.SampleURL(ctx, h, path); err != nil {
					return err
				}
				continue
			}
			abs, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			part([]byte(abs))
			if err := sample(h, path); err != nil {
				return err
			}
		}
		part(in.header)
		part([]byte{in.Dialect.Delimiter, in.Dialect.Quote})
	}
	p.Stream = hex.EncodeToString(h.Sum(nil)[:16])
	return nil
}

// sample hashes the size, the beginning and the end of a file.
func sample(h hash.Hash, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%d ", info.Size())
	if _, err := io.CopyN(h, f, text.SampleBytes); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if info.Size() > 2*text.SampleBytes {
		if _, err := f.Seek(-text.SampleBytes, io.SeekEnd); err != nil {
			return err
		}
		_, err = io.Copy(h, f)
	}
	return err
}

// openSpaces decides how to store the id spaces of the mapping. If the keys of a space are a property and all its vertices share their
// first label, the space is the unique index on that label and property.
func (p *Plan) openSpaces(ctx context.Context, m *mapping.Mapping) error {
	for _, s := range m.Spaces {
		sp := Space{Name: s.Name}
		switch {
		case s.Known:
			sp.Label, sp.Property = s.Label, s.Property
		case s.Property != "":
			labels, same, err := p.labelsOf(ctx, s)
			if err != nil {
				return err
			}
			sp.Property = s.Property
			if same && len(labels) > 0 {
				sp.Label, labels = labels[0], labels[1:]
			}
			sp.Labels = labels
		}
		p.spaces = append(p.spaces, sp)
		p.known = append(p.known, s)
	}
	return nil
}

// remembers reports whether a rule of the plan leaves or refuses repeated keys; or is the choice of rules that have none.
func (p *Plan) remembers(or shard.OnDuplicate) bool {
	return slices.ContainsFunc(p.inputs, func(in *input) bool {
		return slices.ContainsFunc(in.rules.Vertices, func(v *mapping.Vertices) bool { return v.OnDuplicate(or) != shard.DuplicateOverwrite })
	})
}

// labelsOf returns all labels of the vertices of a space; same reports whether they all share the first one.
func (p *Plan) labelsOf(ctx context.Context, s *mapping.Space) (labels []string, same bool, err error) {
	same = true
	add := func(set []string) {
		if len(set) == 0 {
			same = false
			return
		}
		if len(labels) > 0 && set[0] != labels[0] {
			same = false
		}
		for _, l := range set {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	for _, in := range p.inputs {
		if in.bound == nil {
			continue
		}
		for i := range in.bound.Vertices {
			r := &in.bound.Vertices[i]
			if r.ID.Space != s {
				continue
			}
			sets, err := in.labelSets(ctx, r)
			if err != nil {
				return nil, false, err
			}
			if sets == nil && in.Pipe != nil {
				same = false
			}
			for _, set := range sets {
				add(set)
			}
		}
	}
	return labels, same, nil
}

// maxLabelSets bounds the number of different label sets that a scan of a file collects.
const maxLabelSets = 1 << 12

// labelSets returns the label sets that a rule produces. If a column holds them, it scans the input.
func (in *input) labelSets(ctx context.Context, r *mapping.VertexRule) ([][]string, error) {
	lookup := newLabelSets(r.Labels)
	if len(lookup.slots) == 0 {
		return [][]string{lookup.set(lookup.find(nil))}, nil
	}
	if in.Pipe != nil {
		return nil, nil
	}
	var sets [][]string
	err := in.each(ctx, func(cells []record.Cell) bool {
		n := lookup.find(cells)
		if n >= 0 && n == len(sets) {
			sets = append(sets, lookup.set(n))
		}
		return len(sets) < maxLabelSets
	})
	return sets, err
}

// each calls f for the records of the input until f returns false.
func (in *input) each(ctx context.Context, f func(cells []record.Cell) bool) (err error) {
	t, err := in.Open(ctx, in.offset)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	sp := record.NewSplitter(t, in.Dialect, chunkBytes, maxRecord, in.line, in.offset)
	scan := in.scanner()
	for {
		c, err := sp.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		if c.Long {
			continue
		}
		scan.Reset(c.Data)
		for {
			cells, fault, ok := scan.Next()
			if !ok {
				break
			}
			if fault != nil || in.bound.Cells > 0 && len(cells) != in.bound.Cells {
				continue
			}
			if !f(cells) {
				return nil
			}
		}
	}
}

// scanner scans the records of chunks.
type scanner interface {
	Reset(data []byte)
	Next() ([]record.Cell, *record.Fault, bool)
}

func (in *input) scanner() scanner {
	if in.Dialect.JSON {
		return record.NewLines(in.bound.Keys, in.Dialect)
	}
	return record.NewScanner(in.Dialect)
}

// FindSpaces resolves id spaces of earlier loads that neither the mapping nor a header describes. If a space is named like a label that has
// exactly one unique constraint, the space is that constraint.
func (p *Plan) FindSpaces(indexes []graph.Index) {
	for i := range p.spaces {
		sp := &p.spaces[i]
		if !p.known[i].Known || sp.Label != "" {
			continue
		}
		var found []*graph.Index
		bare := false
		for k := range indexes {
			x := &indexes[k]
			bare = bare || x.Name == spaceIndex(sp.Name)
			if x.Unique && x.Label == sp.Name && len(x.Props) == 1 {
				found = append(found, x)
			}
		}
		if !bare && len(found) == 1 {
			sp.Label, sp.Property = sp.Name, found[0].Props[0]
		}
	}
}

// Finds reports whether FindSpaces has anything to resolve.
func (p *Plan) Finds() bool {
	for i := range p.spaces {
		if p.known[i].Known && p.spaces[i].Label == "" {
			return true
		}
	}
	return false
}
