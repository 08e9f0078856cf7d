package relational

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec/compile"
	"github.com/hopgate/hopgate/internal/query/exec/expr"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// loadCSV joins each row with the records of a file in the import directory: a list of the fields or, with headers, a map from
// the names in the first record. An empty field is null.
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
	root           *os.Root
	file           io.Closer
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
		if err := l.fill(); err != nil {
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
func (l *loadCSV) fill() error {
	for len(l.rows) < l.r.BatchSize() {
		if l.csv == nil {
			if l.row+1 >= l.b.N {
				return nil
			}
			l.row++
			if err := l.openFile(l.vs[l.row]); err != nil {
				return err
			}
		}
		fields, err := l.csv.Read()
		if errors.Is(err, io.EOF) {
			l.closeFile()
			continue
		}
		if err != nil {
			return loadFailed("cannot read the file: %v", err)
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

// openFile opens a file within the import directory.
func (l *loadCSV) openFile(v graph.Value) error {
	if l.r.Env.ImportDir == "" {
		return loadFailed("no import directory is configured")
	}
	if v.Kind() != graph.String {
		return graph.TypeError("InvalidArgumentType", "LOAD CSV needs a String, not %s", notation.Describe(v))
	}
	u, err := url.Parse(v.Str())
	if err != nil || u.Scheme != "" && u.Scheme != "file" || u.Host != "" {
		return loadFailed("%q is not a file of the import directory", v.Str())
	}
	root, err := os.OpenRoot(l.r.Env.ImportDir)
	if err != nil {
		return loadFailed("%v", err)
	}
	l.name = "/" + strings.TrimLeft(u.Path, "/")
	name := filepath.FromSlash(l.name[1:])
	if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() {
		// Opening a pipe would wait for its writer.
		_ = root.Close()
		return loadFailed("%q is not a regular file", v.Str())
	}
	f, err := root.Open(name)
	if err != nil {
		_ = root.Close()
		return loadFailed("cannot open %q", v.Str())
	}
	l.root, l.file = root, f
	text, err := csvText(f)
	if err != nil {
		return loadFailed("cannot read the file: %v", err)
	}
	l.csv = csv.NewReader(text)
	l.csv.FieldsPerRecord = -1
	if l.node.Delimiter != "" {
		l.csv.Comma, _ = utf8.DecodeRuneInString(l.node.Delimiter)
	}
	if l.node.Headers {
		head, err := l.csv.Read()
		switch {
		case errors.Is(err, io.EOF):
			head = nil
		case err != nil:
			return loadFailed("cannot read the file: %v", err)
		}
		l.head = head
	}
	return nil
}

const (
	byteOrderMark = "\ufeff"
	// csvHead is how much of a file shows how its lines end.
	csvHead = 1 << 16
)

// csvText returns the text of a file after its byte order mark. If the lines end with carriage returns alone, these become line feeds.
func csvText(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, csvHead)
	head, err := b.Peek(csvHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		_, _ = b.Discard(len(byteOrderMark)) // it has been peeked
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
		_ = l.root.Close()
	}
	l.file, l.root, l.csv = nil, nil, nil
}

func (l *loadCSV) Close() {
	l.closeFile()
	l.In.Close()
}
