package loader

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/graphfile"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// fakeDatabase has some vertices, each with an edge to the next and several to the first.
type fakeDatabase struct {
	vertices int64
	reads    []Cursor
}

func (f *fakeDatabase) Name() string { return "bolt://fake/" }

func (f *fakeDatabase) Keys(context.Context) (graphfile.Names, error) {
	return graphfile.Names{Vertex: []string{"id", "at", "a.b"}, Edge: []string{"w"}}, nil
}

func (f *fakeDatabase) Read(_ context.Context, edges bool, from Cursor, size, _ int) (Chunks, error) {
	f.reads = append(f.reads, from)
	return &fakeChunks{f: f, edges: edges, at: from, size: size}, nil
}

type fakeChunks struct {
	f     *fakeDatabase
	edges bool
	at    Cursor
	size  int
}

func (c *fakeChunks) Stored() int64 { return 0 }
func (c *fakeChunks) Close() error  { return nil }

func (c *fakeChunks) Next() (record.Chunk, error) {
	out := record.Chunk{Line: c.at.Line, Offset: c.at.Vertex}
	for len(out.Data) < c.size && c.at.Vertex < c.f.vertices {
		id := strconv.FormatInt(c.at.Vertex, 10)
		e := graphfile.Element{Edge: c.edges, Source: "4:x:" + id, ID: id, Labels: []string{"V", "L" + id[:1]}}
		if c.edges {
			e.From, e.To, e.Type = id, strconv.FormatInt((c.at.Vertex+1)%c.f.vertices, 10), "T"
			e.Properties = []graphfile.Property{{Name: "w", Value: []byte(strconv.FormatInt(c.at.Edge, 10))}}
		} else {
			e.Properties = []graphfile.Property{
				{Name: "id", Value: []byte(id)},
				{Name: "a.b", Value: []byte(`1.0`)},
				{Name: "at", Value: []byte(`{"$type":"Date","_value":"2020-02-0` + strconv.FormatInt(1+c.at.Vertex%9, 10) + `"}`)},
			}
			if c.at.Vertex == 7 {
				e.Properties[2].Value = []byte(`{"unsupported":"a thing"}`)
			}
		}
		out.Data = e.AppendLine(out.Data)
		c.at.Line++
		if c.at.Edge++; !c.edges || c.at.Edge == 3 {
			c.at.Vertex, c.at.Edge = c.at.Vertex+1, 0
		}
	}
	if len(out.Data) == 0 {
		return out, io.EOF
	}
	out.EndLine, out.EndOffset, out.EndPart = c.at.Line, c.at.Vertex, c.at.Edge
	return out, nil
}

// copyDatabase copies a database.
func (w *world) copyDatabase(db Database, o Options, sink func(Sink) Sink) (*Report, error) {
	p, err := NewDatabasePlan(w.t.Context(), db)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, p.Close()) }()
	p.chunk = 256
	return p.Run(w.t.Context(), sink(NewLocal(w.l)), o)
}

func same(s Sink) Sink { return s }

// A copy that is cut off anywhere, within the edges of a vertex too, goes on with the next element and makes the graph of one that was not.
func TestDatabaseResumes(t *testing.T) {
	o := Options{MaxRejects: Budget{Rows: 9}}
	whole := newWorld(t)
	rep, err := whole.copyDatabase(&fakeDatabase{vertices: 40}, o, same)
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 160, Vertices: 39, Edges: 114, Rejects: 7}, rep.Totals)
	want := whole.state()
	require.Contains(t, want, ":V:L3 {a.b: 1.0, at: Date '2020-02-04', id: 3}")
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		w, within := newWorld(t), false
		o.RejectsDir = filepath.Join(w.dir, "rejects")
		for {
			db := &fakeDatabase{vertices: 40}
			_, err := w.copyDatabase(db, o, func(s Sink) Sink { return &cut{Sink: s, sends: rng.IntN(30), acks: rng.IntN(30)} })
			for _, c := range db.reads {
				within = within || c.Edge > 0
			}
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errCut)
		}
		require.Equal(t, want, w.state())
		if within {
			return
		}
	}
	t.Error("no load went on within the edges of a vertex")
}

// An element with a value that no property can hold is refused by name, and loads again from the directory of refused rows once it is mended.
func TestDatabaseRejects(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.dir, "rejects")
	var refused []Reject
	_, err := w.copyDatabase(&fakeDatabase{vertices: 10}, Options{MaxRejects: Budget{Rows: 9}, RejectsDir: dir, OnReject: func(r Reject) { refused = append(refused, r) }}, same)
	require.NoError(t, err)
	require.Equal(t, Reject{
		File: "vertices.jsonl", Line: 8, Column: "at", Value: `{"unsupported":"a thing"}`, Code: "BadType",
		Message: "a property cannot hold the value; the element is 4:x:7",
	}, refused[0])
	require.Len(t, refused, 7, "and its edges")

	rows := filepath.Join(dir, "vertices.jsonl")
	text, err := os.ReadFile(rows)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(rows, []byte(strings.Replace(string(text), `{"unsupported":"a thing"}`, `"mended"`, 1)), 0o600))
	description, err := os.ReadFile(filepath.Join(dir, MappingName))
	require.NoError(t, err)
	m, err := mapping.Parse(MappingName, description)
	require.NoError(t, err)
	p, err := NewPlan(t.Context(), m, dir, nil)
	require.NoError(t, err)
	rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.Equal(t, Totals{Rows: 7, Vertices: 1, Edges: 6}, rep.Totals)
	require.Contains(t, w.state(), `:V:L7 {a.b: 1.0, at: "mended", id: 7}`)
}

// hidden is a database with a property named like a column.
type hidden struct{ fakeDatabase }

func (h *hidden) Keys(context.Context) (graphfile.Names, error) {
	return graphfile.Names{Vertex: []string{":TYPE"}}, nil
}

func TestDatabaseArguments(t *testing.T) {
	for name, want := range map[string]bool{
		"bolt://h": true, "bolt+s://h:7687": true, "NEO4J+ssc://h": true, "neo4j://h/": true, "bolt.csv": false, "http://h": false, "bolt:/h": false,
	} {
		require.Equal(t, want, IsDatabase(name), name)
	}
	_, err := NewDatabasePlan(t.Context(), &hidden{})
	require.EqualError(t, err, "bolt://fake/: a property :TYPE would hide a column of that name: rename it before the copy")
	for _, p := range []position{{}, {1, 2, 3, 0}, {1, 1 << 60, 3, 1 << 62}} {
		got, err := (&Plan{steps: make([]step, 2)}).resume(p.mark())
		require.NoError(t, err)
		require.Equal(t, p, got, fmt.Sprint(p.mark()))
	}
}

// packed keeps the batches that it packs.
type packed struct {
	Sink
	batches []Batch
}

func (p *packed) Pack(b *Batch) (any, bool) {
	p.batches = append(p.batches, *b)
	return p.Sink.Pack(b)
}

// A column begins with its first value, which stays in its row; one without values is not sent.
func TestColumnsBegin(t *testing.T) {
	w := newWorld(t)
	w.file("a.jsonl", "{\"id\":1,\"x\":null}\n{\"id\":2,\"x\":5}\n{\"id\":3}\n")
	p, err := w.plan("version: 1\ninputs: [{path: a.jsonl, vertices: [{label: A, id: id, properties: {id: {type: int}, x: {}, y: {}}}]}]")
	require.NoError(t, err)
	sink := &packed{Sink: NewLocal(w.l)}
	_, err = p.Run(t.Context(), sink, Options{Workers: 1})
	require.NoError(t, err)
	props := sink.batches[0].Vertices[0].Props
	require.Len(t, props, 2)
	require.Equal(t, "x", props[1].Name)
	require.Equal(t, ":A {id: 1}\n:A {id: 2, x: 5}\n:A {id: 3}\n", w.state())
}
