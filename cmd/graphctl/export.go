package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
)

func newExport(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "export DIR --format csv|jsonl|parquet|arrow|json",
		Short: "Write a graph to files that load reads back",
		Long: `Write one state of a graph to the new directory DIR, while others write: CSV with neo4j-admin's headers, or JSON lines, Parquet or
Arrow with a mapping, or one file of APOC's JSON lines with a mapping. graphctl load DIR makes an equal graph of it; DIR/schema.cypher holds the statements, one a line, that create
its indexes, constraints and TTLs.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, ok := exportFormats[format]; !ok {
				return cli.Usagef("--format %s: must be csv, jsonl, parquet, arrow or json", format)
			}
			return a.export(cmd.Context(), cmd.OutOrStdout(), args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", "csv, jsonl, parquet, arrow or json")
	return cmd
}

// exportWriter writes the records of one file.
type exportWriter interface {
	// write writes a vertex with id ids[0], or an edge from ids[0] to ids[1]; absent properties are nil. ends are lists of the labels of the
	// edge's ends, if the format takes them.
	write(ids []int64, props, ends []*pb.Value) error
	// pending is the approximate number of bytes buffered until flush.
	pending() int
	flush() error
	close() error
}

// exportFormat creates the files of a format.
type exportFormat struct {
	ext     string
	mapping bool // the files need a mapping
	// refuse returns an error if the format cannot represent a file.
	refuse func(f *exportFile) error
	open   func(w io.Writer, f *exportFile) (exportWriter, error)
	file   string // the one file of all records, or ""
	ends   bool   // edges have the labels of their ends
}

var exportFormats = map[string]exportFormat{
	"csv":     {ext: "csv", refuse: refuseCSV, open: newCSVExport},
	"jsonl":   {ext: "jsonl", mapping: true, refuse: refuseKeys, open: newJSONExport},
	"parquet": {ext: "parquet", mapping: true, refuse: refuseColumns, open: newParquetExport},
	"arrow":   {ext: "arrow", mapping: true, refuse: refuseColumns, open: newArrowExport},
	"json":    {ext: "apoc", mapping: true, refuse: refuseAPOC, open: newAPOCExport, file: "graph.json", ends: true},
}

// exportFile is one file: vertices with the same labels, or edges of one type, with properties of the same types.
type exportFile struct {
	name    string
	shape   *exportShape
	columns []exportColumn
	number  *uint64 // of the edge that is written, from 1
	file    *os.File
	w       exportWriter
}

func (f *exportFile) isEdges() bool { return f.shape.typ != "" }

// exportBuffer bounds the total bytes that files buffer.
const exportBuffer = 64 << 20

// exporter reads one snapshot of a graph twice: first for the types of all properties, then for their values.
type exporter struct {
	dir    string
	format exportFormat
	vertex map[string]*exportShape // by labels
	edge   map[string]*exportShape // by type
	files  []*exportFile
	one    *os.File // of all records, or nil
	out    *bufio.Writer
	// State of the current pass.
	waiting         int
	vertices, edges uint64
}

const (
	exportVertices = "MATCH (n) RETURN id(n) AS id, labels(n) AS labels, properties(n) AS properties"
	exportEdges    = "MATCH (a)-[r]->(b) RETURN id(a) AS source, id(b) AS target, type(r) AS type, properties(r) AS properties"
	exportEnds     = exportEdges + ", labels(a) AS sourceLabels, labels(b) AS targetLabels"
)

// export writes a graph to a new directory.
func (a *app) export(ctx context.Context, out io.Writer, dir, format string) (err error) {
	dir = filepath.Clean(dir)
	if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
		return cli.Usagef("export: %s is not empty", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".export-*")
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	e := &exporter{dir: tmp, format: exportFormats[format], vertex: map[string]*exportShape{}, edge: map[string]*exportShape{}}
	defer func() { err = errors.Join(err, e.close()) }()
	if err := a.beginTx(ctx, true, 0); err != nil {
		return err
	}
	defer a.closeTx()
	if err := a.writeSchema(ctx, filepath.Join(tmp, "schema.cypher")); err != nil {
		return err
	}
	edges := exportEdges
	if e.format.ends {
		edges = exportEnds
	}
	for _, pass := range []struct{ vertex, edge func([]*pb.Value) error }{{e.noteVertex, e.noteEdge}, {e.writeVertex, e.writeEdge}} {
		e.vertices, e.edges = 0, 0
		if err := errors.Join(a.eachRow(exportVertices, pass.vertex), a.eachRow(edges, pass.edge)); err != nil {
			return err
		}
		e.settle()
	}
	if err := e.close(); err != nil {
		return err
	}
	if e.format.mapping {
		if err := e.writeMapping(); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chmod(tmp, 0o755), os.Rename(tmp, dir)); err != nil {
		return err
	}
	files := len(e.files)
	if e.format.file != "" {
		files = 1
	}
	fmt.Fprintf(out, "exported %d vertices and %d edges to %d files in %s\n", e.vertices, e.edges, files, dir)
	return nil
}

// eachRow runs a statement in the open transaction and calls f for its rows. f may keep the cells.
func (a *app) eachRow(statement string, f func(cells []*pb.Value) error) error {
	if a.tx == nil {
		return nil // an earlier statement failed
	}
	a.statement = statement
	err := a.tx.send(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: &pb.TransactRun{Statement: statement}}})
	var cells []*pb.Value
	for err == nil {
		var part *pb.TransactResponse
		if part, err = a.tx.stream.Recv(); err != nil {
			break
		}
		res := part.GetResult()
		if s := res.GetSummary(); s != nil {
			if s.GetTruncated() {
				err = fmt.Errorf("the server truncated the result: %s", s.GetTruncatedReason())
				break
			}
			return nil
		}
		rows := res.GetRows()
		cells = append(cells[:0], make([]*pb.Value, len(rows.GetColumns()))...)
		for i := range int(rows.GetRows()) {
			for j, c := range rows.GetColumns() {
				cells[j] = cell(c, i)
			}
			if err = f(cells); err != nil {
				break
			}
		}
	}
	a.closeTx()
	return err
}

// vertexShape returns the shape of a row of exportVertices, edgeShape that of a row of exportEdges.
func (e *exporter) vertexShape(cells []*pb.Value) *exportShape {
	var labels []string
	for _, l := range cells[1].GetList().GetValues() {
		labels = append(labels, l.GetString_())
	}
	slices.Sort(labels)
	key := strings.Join(labels, "\x00")
	s := e.vertex[key]
	if s == nil {
		s = &exportShape{labels: labels, props: map[string]*exportProp{}, files: map[string]*exportFile{}}
		e.vertex[key] = s
	}
	return s
}

func (e *exporter) edgeShape(cells []*pb.Value) *exportShape {
	name := cells[2].GetString_()
	s := e.edge[name]
	if s == nil {
		s = &exportShape{typ: name, props: map[string]*exportProp{}, files: map[string]*exportFile{}}
		e.edge[name] = s
	}
	return s
}

func (e *exporter) noteVertex(cells []*pb.Value) error {
	e.vertices++
	return e.vertexShape(cells).note(fmt.Sprintf("vertex %d", cells[0].GetInteger()), cells[2])
}

func (e *exporter) noteEdge(cells []*pb.Value) error {
	e.edges++
	return e.edgeShape(cells).note(fmt.Sprintf("an edge from vertex %d to %d", cells[0].GetInteger(), cells[1].GetInteger()), cells[3])
}

func (s *exportShape) note(what string, props *pb.Value) error {
	for _, p := range props.GetMap().GetEntries() {
		have := s.props[p.GetKey()]
		if have == nil {
			have = &exportProp{}
			s.props[p.GetKey()] = have
		}
		if err := have.note(p.GetValue()); err != nil {
			return fmt.Errorf("export: property %s of %s: %w", p.GetKey(), what, err)
		}
	}
	return nil
}

// settle ends a pass.
func (e *exporter) settle() {
	if e.files != nil {
		return
	}
	for _, shapes := range []map[string]*exportShape{e.vertex, e.edge} {
		for _, s := range shapes {
			s.settle()
		}
	}
}

func (e *exporter) writeVertex(cells []*pb.Value) error {
	e.vertices++
	return e.write(e.vertexShape(cells), []int64{cells[0].GetInteger()}, cells[2], nil)
}

func (e *exporter) writeEdge(cells []*pb.Value) error {
	e.edges++
	return e.write(e.edgeShape(cells), []int64{cells[0].GetInteger(), cells[1].GetInteger()}, cells[3], cells[4:])
}

// write writes a record to its file.
func (e *exporter) write(s *exportShape, ids []int64, props *pb.Value, ends []*pb.Value) error {
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
			return err
		}
		s.files[string(key)] = f
	}
	before := f.w.pending()
	if err := f.w.write(ids, row, ends); err != nil {
		return err
	}
	if e.waiting += f.w.pending() - before; e.waiting > exportBuffer {
		return e.spill()
	}
	return nil
}

// spill flushes the file that buffers most.
func (e *exporter) spill() error {
	most := slices.MaxFunc(e.files, func(a, b *exportFile) int { return a.w.pending() - b.w.pending() })
	e.waiting -= most.w.pending()
	err := most.w.flush()
	e.waiting += most.w.pending()
	return err
}

// open creates the file of a record.
func (e *exporter) open(s *exportShape, row []*pb.Value) (*exportFile, error) {
	f := &exportFile{shape: s, columns: s.columns(row), number: &e.edges}
	kind, names := "vertices", strings.Join(s.labels, "-")
	if f.isEdges() {
		kind, names = "edges", s.typ
	}
	f.name = fmt.Sprintf("%s-%04d-%s", kind, len(e.files)+1, fileName(names))
	f.name = strings.TrimSuffix(f.name, "-") + "." + e.format.ext
	if err := e.format.refuse(f); err != nil {
		return nil, fmt.Errorf("export: %w", err)
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
func (e *exporter) create(f *exportFile) (w io.Writer, err error) {
	if e.format.file == "" {
		f.file, err = os.Create(filepath.Join(e.dir, f.name))
		return f.file, err
	}
	f.name = e.format.file
	if e.one == nil {
		e.one, err = os.Create(filepath.Join(e.dir, f.name))
		e.out = bufio.NewWriterSize(e.one, 1<<16)
	}
	return e.out, err
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
