package relational

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// loadCSV joins each row with the records of a file or URL: a list of the fields or, with headers, a map from the names in the first
// record. An empty field is null.
type loadCSV struct {
	runtime.Input
	r    *runtime.Run
	node *plan.LoadCSV
	es   *expr.Evaluators
	url  runtime.Evaluator
	name string
	from []int
	// at, line and path are the positions of the record, its line and the file's name in the columns, or -1.
	at, line, path int
	b              *runtime.Batch
	vs             []graph.Value
	row            int // the row of b that opened file
	file           io.Closer
	limit          *recordLimit
	csv            *csv.Reader
	head           []string
	rows           runtime.Sel
	out            runtime.Batch
}

// LoadCSV compiles a LoadCSV.
func LoadCSV(c *compile.Compiler, n *plan.LoadCSV, need plan.ColSet) *runtime.Stage {
	below := c.Below(need, n.URL)
	in := c.Compile(n.Input, below)
	s := &runtime.Stage{Node: n, Inputs: []*runtime.Stage{in}, Cols: compile.Kept(in.Cols, need, n.Out, n.Line, n.File)}
	s.Build = func(r *runtime.Run, kids []runtime.Operator) runtime.Operator {
		l := &loadCSV{
			Input: runtime.Input{In: kids[0]}, r: r, node: n, es: expr.New(r, in.Cols), from: in.Positions(s.Cols),
			at: s.Pos(n.Out), line: s.Pos(n.Line), path: s.Pos(n.File),
		}
		l.url = l.es.Add(n.URL)
		return l
	}
	return s
}

func (l *loadCSV) Open(ctx context.Context) error {
	l.b = nil
	l.closeFile()
	return l.In.Open(ctx)
}

func (l *loadCSV) Next(ctx context.Context) (*runtime.Batch, error) {
	for {
		if l.b == nil {
			b, err := l.In.Next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			s := runtime.AllRows(b.N)
			l.es.Begin(s)
			if l.vs, err = l.url.Eval(ctx, b, s); err != nil {
				return nil, err
			}
			l.b, l.row = b, -1
		}
		l.out.Reset(len(l.from))
		l.rows = l.rows[:0]
		if err := l.fill(ctx); err != nil {
			return nil, err
		}
		b := l.b
		if len(l.rows) < l.r.BatchSize() {
			l.b = nil
		}
		if len(l.rows) > 0 {
			l.out.AppendRows(b, l.from, l.rows)
			l.out.N = len(l.rows)
			return &l.out, nil
		}
	}
}

// fill reads records until a batch is full or the rows of b end.
func (l *loadCSV) fill(ctx context.Context) error {
	for len(l.rows) < l.r.BatchSize() {
		if l.csv == nil {
			if l.row+1 >= l.b.N {
				return nil
			}
			l.row++
			if err := l.open(ctx, l.vs[l.row]); err != nil {
				return err
			}
		}
		fields, err := l.read(ctx)
		if errors.Is(err, io.EOF) {
			l.closeFile()
			continue
		}
		if err != nil {
			return err
		}
		l.rows = append(l.rows, int32(l.row))
		if l.at >= 0 {
			l.put(l.at, l.record(fields))
		}
		if l.line >= 0 {
			line, _ := l.csv.FieldPos(0)
			l.put(l.line, graph.IntValue(int64(line)))
		}
		if l.path >= 0 {
			l.put(l.path, graph.StringValue(l.name))
		}
	}
	return nil
}

func (l *loadCSV) put(at int, v graph.Value) {
	c := &l.out.Cols[at]
	c.Vals = append(c.Vals, v)
}

func (l *loadCSV) record(fields []string) graph.Value {
	field := func(k int) graph.Value {
		if k >= len(fields) || fields[k] == "" {
			return graph.Value{}
		}
		return graph.StringValue(fields[k])
	}
	if !l.node.Headers {
		list := make([]graph.Value, len(fields))
		for k := range list {
			list[k] = field(k)
		}
		return graph.ListValue(list)
	}
	m := make([]graph.MapEntry, len(l.head))
	for k, name := range l.head {
		m[k] = graph.MapEntry{Key: name, Value: field(k)}
	}
	return graph.MapValue(m)
}

func loadFailed(format string, args ...any) error {
	e := graph.RuntimeError("ArgumentError", "InvalidArgumentValue", "LOAD CSV: "+format, args...)
	e.Code = "Neo.ClientError.Statement.ExternalResourceFailed"
	return e
}

// open opens a file or URL.
func (l *loadCSV) open(ctx context.Context, v graph.Value) error {
	if v.Kind() != graph.String {
		return graph.TypeError("InvalidArgumentType", "LOAD CSV needs a String, not %s", notation.Describe(v))
	}
	if l.r.Env.Open == nil {
		return loadFailed("the server reads no files and no URLs")
	}
	file, name, err := l.r.Env.Open(ctx, v.Str())
	if err != nil {
		return l.failed(ctx, err)
	}
	l.file, l.name = file, name
	text, err := csvText(file)
	if err != nil {
		return l.failed(ctx, err)
	}
	l.limit = &recordLimit{Reader: text, left: maxRecord}
	l.csv = csv.NewReader(l.limit)
	l.csv.FieldsPerRecord = -1
	if l.node.Delimiter != "" {
		l.csv.Comma, _ = utf8.DecodeRuneInString(l.node.Delimiter)
	}
	if l.node.Headers {
		if l.head, err = l.read(ctx); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// read reads the fields of a record, or returns io.EOF.
func (l *loadCSV) read(ctx context.Context) ([]string, error) {
	l.limit.left = maxRecord
	fields, err := l.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	for k, f := range fields {
		if !utf8.ValidString(f) {
			line, column := l.csv.FieldPos(k)
			return nil, loadFailed("%s: line %d, column %d: the text is not valid UTF-8", l.name, line, column)
		}
	}
	return fields, nil
}

// failed is the error of a file that cannot be opened or read, if the statement goes on.
func (l *loadCSV) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return graph.DeadlineError(context.Cause(ctx))
	case l.file == nil:
		return loadFailed("%v", err)
	}
	return loadFailed("%s: cannot read the file: %v", l.name, err)
}

// maxRecord bounds the bytes that one record reads.
const maxRecord = 64 << 20

// recordLimit fails if a record has more bytes.
type recordLimit struct {
	io.Reader
	left int
}

// Read implements io.Reader.
func (r *recordLimit) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a record has more than %d MiB: a quotation mark may not be closed", maxRecord>>20)
	}
	n, err := r.Reader.Read(p)
	r.left -= n
	return n, err
}

// csvHead is how much of a file shows how its lines end.
const csvHead = 1 << 16

// csvText returns a text. If its lines end with carriage returns alone, these become line feeds.
func csvText(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, csvHead)
	head, err := b.Peek(csvHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		return lineFeeds{b}, nil
	}
	return b, nil
}

// lineFeeds turns carriage returns into line feeds.
type lineFeeds struct{ io.Reader }

// Read implements io.Reader.
func (r lineFeeds) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

func (l *loadCSV) closeFile() {
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file, l.csv = nil, nil
}

func (l *loadCSV) Close() {
	l.closeFile()
	l.In.Close()
}
