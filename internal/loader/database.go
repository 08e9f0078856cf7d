package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/loader/graphfile"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
	"github.com/hopgate/hopgate/internal/loader/text"
)

// Database is a graph in a running database.
type Database interface {
	// Name identifies the graph, without credentials.
	Name() string
	// Keys returns the names of the properties of vertices and edges. It may name more than there are.
	Keys(ctx context.Context) (graphfile.Names, error)
	// Read reads the vertices, or the edges, from a cursor on. Chunks have about size bytes; no record exceeds longest.
	Read(ctx context.Context, edges bool, from Cursor, size, longest int) (Chunks, error)
}

// Cursor is a position in a database: the first vertex to read or, of edges, the first source and the first edge of that source, by their
// ids. Line is the number of the next record, from 1.
type Cursor struct{ Vertex, Edge, Line int64 }

// Chunks are the records of an input from a position on. A chunk's end depends only on its start and the records.
type Chunks interface {
	// Next returns the next chunk, or io.EOF. EndOffset and EndPart of a chunk of a database are the Vertex and the Edge of the cursor after it.
	Next() (record.Chunk, error)
	// Stored returns how many stored bytes have been read.
	Stored() int64
	Close() error
}

// The names of a database's vertices and edges in messages and among refused rows, and the id space of its vertices.
const (
	vertexRows    = "vertices.jsonl"
	edgeRows      = "edges.jsonl"
	databaseSpace = "source"
)

// IsDatabase reports whether an argument names a running database, to be read over Bolt.
func IsDatabase(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && slices.Contains([]string{"bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"}, strings.ToLower(scheme))
}

// NewDatabasePlan plans to copy a graph: its vertices with their labels and properties, then its edges.
func NewDatabasePlan(ctx context.Context, db Database) (*Plan, error) {
	names, err := db.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", db.Name(), err)
	}
	for _, name := range slices.Concat(names.Vertex, names.Edge) {
		if slices.Contains(graphfile.Columns, name) {
			return nil, fmt.Errorf("%s: a property %s would hide a column of that name: rename it before the copy", db.Name(), name)
		}
	}
	p := &Plan{mapping: names.Mapping(mapping.JSONL, vertexRows, edgeRows, databaseSpace, "long")}
	m, err := mapping.Parse(db.Name(), p.mapping)
	if err != nil {
		return nil, err
	}
	m.Text = []byte("database " + db.Name()) // properties may be added between the runs
	for _, rules := range m.Inputs {
		in := &input{from: db, rules: rules, format: mapping.JSONL, line: 1}
		in.Paths, in.Name, in.Dialect = rules.Paths, rules.Paths[0], record.Dialect{JSON: true}
		if in.bound, err = rules.Bind(nil, 0, true); err != nil {
			return nil, err
		}
		p.inputs = append(p.inputs, in)
	}
	return p.finish(ctx, m)
}

// chunks opens the input at a position.
func (in *input) chunks(ctx context.Context, edges bool, at position, size int) (Chunks, error) {
	if in.from != nil {
		return in.from.Read(ctx, edges, Cursor{at.offset, at.part, at.line}, size, maxRecord)
	}
	t, err := in.Open(ctx, at.offset)
	if err != nil {
		return nil, err
	}
	return textChunks{t, record.NewSplitter(t, in.Dialect, size, maxRecord, at.line, at.offset)}, nil
}

// textChunks are those of a text.
type textChunks struct {
	*text.Text
	*record.Splitter
}

// element returns the database's id of a record for messages, or "".
func (in *input) element(row []byte) string {
	if in.from == nil {
		return ""
	}
	keys := &record.Keys{}
	keys.Add(graphfile.ElementColumn)
	l := record.NewLines(keys, in.Dialect)
	l.Reset(row)
	cells, fault, ok := l.Next()
	if !ok || fault != nil {
		return ""
	}
	return string(cells[0].Text)
}
