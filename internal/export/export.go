package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
)

// writer writes the records of one file.
type writer interface {
	// write writes a vertex with id ids[0], or an edge from ids[0] to ids[1]; absent properties are nil. ends are lists of the labels of the
	// edge's ends, if the format takes them.
	write(ids []int64, props, ends []*pb.Value) error
	// pending is the approximate number of bytes buffered until flush.
	pending() int
	flush() error
	close() error
}

// format creates the files of a format.
type format struct {
	ext     string
	mapping bool // the files need a mapping
	// refuse returns an error if the format cannot represent a file.
	refuse func(f *file) error
	open   func(w io.Writer, f *file) (writer, error)
	file   string // the one file of all records, or ""
	ends   bool   // edges have the labels of their ends
	// before and after return what precedes and follows the records of the one file, or are nil.
	before, after func(e *exporter) (string, error)
}

var formats = map[string]format{
	"csv":     {ext: "csv", refuse: refuseCSV, open: newCSV},
	"jsonl":   {ext: "jsonl", mapping: true, refuse: refuseKeys, open: newJSON},
	"parquet": {ext: "parquet", mapping: true, refuse: refuseColumns, open: newParquet},
	"arrow":   {ext: "arrow", mapping: true, refuse: refuseColumns, open: newArrow},
	"json":    {ext: "apoc", mapping: true, refuse: refuseAPOC, open: newAPOC, file: "graph.json", ends: true},
	"graphml": {ext: "graphml", refuse: refuseGraphML, open: newGraphML, file: "graph.graphml", before: beforeGraphML, after: afterGraphML},
	"cypher":  {ext: "cypher", refuse: refuseCypher, open: newCypher, file: ScriptName, before: beforeCypher, after: afterCypher},
}

// file is one file: vertices with the same labels, or edges of one type, with properties of the same types.
type file struct {
	name    string
	shape   *shape
	columns []column
	of      *exporter
	file    *os.File
	w       writer
}

func (f *file) isEdges() bool { return f.shape.typ != "" }

// maxBuffer bounds the total bytes that files buffer.
const maxBuffer = 64 << 20

// exporter reads one snapshot of a graph twice: first for the types of all properties, then for their values.
type exporter struct {
	dir    string
	format format
	vertex map[string]*shape // by labels
	edge   map[string]*shape // by type
	files  []*file
	one    *os.File // of all records, or nil
	out    *bufio.Writer
	// indexes are the statements that create indexes and constraints.
	indexes []string
	keys    map[graphMLKey]string // the ids of GraphML's keys
	// State of the current pass.
	waiting         int
	vertices, edges uint64
}

const (
	vertexQuery = "MATCH (n) RETURN id(n) AS id, labels(n) AS labels, properties(n) AS properties"
	edgeQuery   = "MATCH (a)-[r]->(b) RETURN id(a) AS source, id(b) AS target, type(r) AS type, properties(r) AS properties"
	endsQuery   = edgeQuery + ", labels(a) AS sourceLabels, labels(b) AS targetLabels"
)

// Graph is one state of a graph.
type Graph struct {
	// Rows runs a statement over that state and calls f for its rows. f may keep the cells.
	Rows    func(statement string, f func(cells []*pb.Value) error) error
	Indexes []*pb.Index
	Rules   []string // the statements that make its access rules; nil: the export has none
}

// Totals are what an export has written.
type Totals struct {
	Vertices, Edges uint64
	Files           int
}

// Formats are the names of the formats.
func Formats() []string {
	return []string{"csv", "jsonl", "parquet", "arrow", "json", "graphml", "cypher"}
}

// Write writes a graph to a new directory, which holds all of it or does not exist.
func Write(g *Graph, dir, format string) (t Totals, err error) {
	dir = filepath.Clean(dir)
	if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
		return t, cli.Usagef("export: %s is not empty", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return t, cli.Error{Code: cli.Usage, Err: err}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return t, cli.Error{Code: cli.Usage, Err: err}
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".export-*")
	if err != nil {
		return t, cli.Error{Code: cli.Usage, Err: err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	e := &exporter{dir: tmp, format: formats[format], vertex: map[string]*shape{}, edge: map[string]*shape{}}
	defer func() { err = errors.Join(err, e.close()) }()
	if err := e.write(g); err != nil {
		return t, err
	}
	if err := errors.Join(os.Chmod(tmp, 0o755), os.Rename(tmp, dir)); err != nil {
		return t, err
	}
	t = Totals{e.vertices, e.edges, len(e.files)}
	if e.format.file != "" {
		t.Files = 1
	}
	return t, nil
}

// write writes all files.
func (e *exporter) write(g *Graph) error {
	indexes, ttls, err := g.schema()
	if err != nil {
		return err
	}
	e.indexes = indexes
	if err := os.WriteFile(filepath.Join(e.dir, "schema.cypher"), []byte(lines(indexes)+lines(ttls)), 0o666); err != nil {
		return err
	}
	if g.Rules != nil {
		if err := os.WriteFile(filepath.Join(e.dir, "rules.cypher"), []byte(lines(g.Rules)), 0o666); err != nil {
			return err
		}
	}
	edges := edgeQuery
	if e.format.ends {
		edges = endsQuery
	}
	if err := errors.Join(g.Rows(vertexQuery, e.noteVertex), g.Rows(edges, e.noteEdge)); err != nil {
		return err
	}
	if err := e.settle(); err != nil {
		return err
	}
	if err := g.Rows(vertexQuery, e.writeVertex); err != nil {
		return err
	}
	if err := e.flush(); err != nil {
		return err
	}
	if err := g.Rows(edges, e.writeEdge); err != nil {
		return err
	}
	if err := errors.Join(e.finish(), e.close()); err != nil || !e.format.mapping {
		return err
	}
	return e.writeMapping()
}

// vertexShape returns the shape of a row of vertexQuery, edgeShape that of a row of edgeQuery.
func (e *exporter) vertexShape(cells []*pb.Value) *shape {
	var labels []string
	for _, l := range cells[1].GetList().GetValues() {
		labels = append(labels, l.GetString_())
	}
	slices.Sort(labels)
	key := strings.Join(labels, "\x00")
	s := e.vertex[key]
	if s == nil {
		s = &shape{labels: labels, props: map[string]*prop{}, files: map[string]*file{}}
		e.vertex[key] = s
	}
	return s
}

func (e *exporter) edgeShape(cells []*pb.Value) *shape {
	name := cells[2].GetString_()
	s := e.edge[name]
	if s == nil {
		s = &shape{typ: name, props: map[string]*prop{}, files: map[string]*file{}}
		e.edge[name] = s
	}
	return s
}

func (e *exporter) noteVertex(cells []*pb.Value) error {
	e.vertices++
	return e.vertexShape(cells).note(recordName([]int64{cells[0].GetInteger()}), cells[2])
}

func (e *exporter) noteEdge(cells []*pb.Value) error {
	e.edges++
	return e.edgeShape(cells).note(recordName([]int64{cells[0].GetInteger(), cells[1].GetInteger()}), cells[3])
}

// recordName names a record in messages.
func recordName(ids []int64) string {
	if len(ids) == 1 {
		return fmt.Sprintf("vertex %d", ids[0])
	}
	return fmt.Sprintf("an edge from vertex %d to %d", ids[0], ids[1])
}

func (s *shape) note(what string, props *pb.Value) error {
	for _, p := range props.GetMap().GetEntries() {
		have := s.props[p.GetKey()]
		if have == nil {
			have = &prop{}
			s.props[p.GetKey()] = have
		}
		if err := have.note(p.GetValue()); err != nil {
			return fmt.Errorf("export: property %s of %s: %w", p.GetKey(), what, err)
		}
	}
	return nil
}

// settle ends the first pass, and begins the file of all records.
func (e *exporter) settle() (err error) {
	for _, shapes := range []map[string]*shape{e.vertex, e.edge} {
		for _, s := range shapes {
			s.settle()
		}
	}
	e.vertices, e.edges = 0, 0
	if e.format.file == "" {
		return nil
	}
	if e.one, err = os.Create(filepath.Join(e.dir, e.format.file)); err != nil {
		return err
	}
	e.out = bufio.NewWriterSize(e.one, 1<<16)
	return e.frame(e.format.before)
}

// frame writes what precedes or follows the records.
func (e *exporter) frame(text func(e *exporter) (string, error)) error {
	if text == nil {
		return nil
	}
	s, err := text(e)
	if err == nil {
		_, err = e.out.WriteString(s)
	}
	return err
}

// flush has all files write the records that they buffer.
func (e *exporter) flush() error {
	for _, f := range e.files {
		if err := f.w.flush(); err != nil {
			return err
		}
	}
	e.waiting = 0
	return nil
}

// finish ends the second pass.
func (e *exporter) finish() error {
	if err := e.flush(); err != nil {
		return err
	}
	return e.frame(e.format.after)
}

func (e *exporter) writeVertex(cells []*pb.Value) error {
	e.vertices++
	return e.writeRecord(e.vertexShape(cells), []int64{cells[0].GetInteger()}, cells[2], nil)
}

func (e *exporter) writeEdge(cells []*pb.Value) error {
	e.edges++
	return e.writeRecord(e.edgeShape(cells), []int64{cells[0].GetInteger(), cells[1].GetInteger()}, cells[3], cells[4:])
}

// writeRecord writes a record to its file.
func (e *exporter) writeRecord(s *shape, ids []int64, props *pb.Value, ends []*pb.Value) error {
	row := make([]*pb.Value, len(s.names))
	for _, p := range props.GetMap().GetEntries() {
		if i, ok := slices.BinarySearch(s.names, p.GetKey()); ok {
			row[i] = p.GetValue()
		}
	}
	key := s.fileKey(row)
	f := s.files[string(key)]
	if f == nil {
		var err error
		if f, err = e.open(s, row); err != nil {
			return fmt.Errorf("export: %s: %w", recordName(ids), err)
		}
		s.files[string(key)] = f
	}
	before := f.w.pending()
	if err := f.w.write(ids, row, ends); err != nil {
		return fmt.Errorf("export: %s: %w", recordName(ids), err)
	}
	if e.waiting += f.w.pending() - before; e.waiting > maxBuffer {
		return e.spill()
	}
	return nil
}

// spill flushes the file that buffers most.
func (e *exporter) spill() error {
	most := slices.MaxFunc(e.files, func(a, b *file) int { return a.w.pending() - b.w.pending() })
	e.waiting -= most.w.pending()
	err := most.w.flush()
	e.waiting += most.w.pending()
	return err
}

// open creates the file of a record.
func (e *exporter) open(s *shape, row []*pb.Value) (*file, error) {
	f := &file{shape: s, columns: s.columns(row), of: e}
	kind, names := "vertices", strings.Join(s.labels, "-")
	if f.isEdges() {
		kind, names = "edges", s.typ
	}
	f.name = fmt.Sprintf("%s-%04d-%s", kind, len(e.files)+1, fileName(names))
	f.name = strings.TrimSuffix(f.name, "-") + "." + e.format.ext
	if err := e.format.refuse(f); err != nil {
		return nil, err
	}
	w, err := e.create(f)
	if err != nil {
		return nil, err
	}
	if f.w, err = e.format.open(w, f); err != nil {
		return nil, errors.Join(err, f.file.Close())
	}
	e.files = append(e.files, f)
	return f, nil
}

// create opens the file of its own that a file has, or the one for all records.
func (e *exporter) create(f *file) (w io.Writer, err error) {
	if e.format.file == "" {
		f.file, err = os.Create(filepath.Join(e.dir, f.name))
		return f.file, err
	}
	f.name = e.format.file
	return e.out, nil
}

// fileName converts a label to a part of a file name.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 60)]
}

// close closes all files.
func (e *exporter) close() error {
	var errs []error
	for _, f := range e.files {
		if f.file != nil {
			errs = append(errs, f.w.close(), f.file.Sync(), f.file.Close())
			f.file = nil
		}
	}
	if e.one != nil {
		errs = append(errs, e.out.Flush(), e.one.Sync(), e.one.Close())
		e.one = nil
	}
	return errors.Join(errs...)
}
