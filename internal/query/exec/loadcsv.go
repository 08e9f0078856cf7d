package exec

import (
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
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// loadCSV joins each row with the records of a file in the import directory: a list of the fields, or, with headers, a
// map from the names of the first record. An empty field is null.
type loadCSV struct {
	input
	r    *run
	node *plan.LoadCSV
	es   *evaluators
	url  evaluator
	name string
	from []int
	// at, line and path are the places of the record, its line and the file's name among the columns, or -1.
	at, line, path int
	b              *batch
	vs             []graph.Value
	row            int // the row of b that file is for
	root           *os.Root
	file           io.Closer
	csv            *csv.Reader
	head           []string
	rows           sel
	out            batch
}

func (c *compiler) loadCSV(n *plan.LoadCSV, need plan.ColSet) *stage {
	below := c.below(need, n.URL)
	in := c.compile(n.Input, below)
	s := &stage{node: n, kids: []*stage{in}, cols: kept(in.cols, need, n.Out, n.Line, n.File)}
	s.build = func(r *run, kids []operator) operator {
		l := &loadCSV{
			input: input{kids[0]}, r: r, node: n, es: r.evaluators(in.cols), from: in.positions(s.cols),
			at: s.pos(n.Out), line: s.pos(n.Line), path: s.pos(n.File),
		}
		l.url = l.es.add(n.URL)
		return l
	}
	return s
}

func (l *loadCSV) open(ctx context.Context) error {
	l.b = nil
	l.closeFile()
	return l.in.open(ctx)
}

func (l *loadCSV) next(ctx context.Context) (*batch, error) {
	for {
		if l.b == nil {
			b, err := l.in.next(ctx)
			if b == nil || err != nil {
				return nil, err
			}
			s := allRows(b.N)
			l.es.begin(s)
			if l.vs, err = l.url.eval(ctx, b, s); err != nil {
				return nil, err
			}
			l.b, l.row = b, -1
		}
		l.out.reset(len(l.from))
		l.rows = l.rows[:0]
		if err := l.fill(); err != nil {
			return nil, err
		}
		b := l.b
		if len(l.rows) < l.r.batchSize() {
			l.b = nil
		}
		if len(l.rows) > 0 {
			l.out.appendRows(b, l.from, l.rows)
			l.out.N = len(l.rows)
			return &l.out, nil
		}
	}
}

// fill reads records until a batch is full or the rows of b are done.
func (l *loadCSV) fill() error {
	for len(l.rows) < l.r.batchSize() {
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

// openFile opens a file of the import directory, from which no name leads out.
func (l *loadCSV) openFile(v graph.Value) error {
	if l.r.env.ImportDir == "" {
		return loadFailed("no import directory is configured")
	}
	if v.Kind() != graph.String {
		return graph.TypeError("InvalidArgumentType", "LOAD CSV needs a String, not %s", fn.Describe(v))
	}
	u, err := url.Parse(v.Str())
	if err != nil || u.Scheme != "" && u.Scheme != "file" || u.Host != "" {
		return loadFailed("%q is not a file of the import directory", v.Str())
	}
	root, err := os.OpenRoot(l.r.env.ImportDir)
	if err != nil {
		return loadFailed("%v", err)
	}
	l.name = "/" + strings.TrimLeft(u.Path, "/")
	f, err := root.Open(filepath.FromSlash(l.name[1:]))
	if err != nil {
		_ = root.Close()
		return loadFailed("cannot open %q", v.Str())
	}
	l.root, l.file = root, f
	l.csv = csv.NewReader(f)
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

func (l *loadCSV) closeFile() {
	if l.file != nil {
		_ = l.file.Close()
		_ = l.root.Close()
	}
	l.file, l.root, l.csv = nil, nil, nil
}

func (l *loadCSV) close() {
	l.closeFile()
	l.in.close()
}
