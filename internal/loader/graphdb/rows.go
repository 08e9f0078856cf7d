package graphdb

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/dbtype"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
)

// Numbers of ids: in a page, for which the database may look at all vertices, and in a window, whose rows it sorts.
const (
	defaultPageIDs   = 1 << 20
	defaultWindowIDs = 2000
)

const (
	pageStatement   = "MATCH (n) WHERE id(n) >= $from RETURN id(n) AS id ORDER BY id LIMIT $limit"
	vertexStatement = "UNWIND $ids AS id MATCH (n) WHERE id(n) = id WITH n, id ORDER BY id RETURN id, n"
	edgeStatement   = "UNWIND $ids AS id MATCH (a)-[r]->(b) WHERE id(a) = id AND (id > $vertex OR id(r) >= $edge) " +
		"WITH a, r, b, id, id(r) AS edge ORDER BY id, edge RETURN id, r, edge, id(b) AS target"
	endLabels = ", labels(a) AS sourceLabels, labels(b) AS targetLabels"
)

// Row is a vertex or an edge.
type Row struct {
	ID         int64            // of the vertex or, of an edge, of its source
	Edge       int64            // its id
	Target     int64            // of an edge
	ElementID  string           //
	Labels     []string         // of the vertex
	Type       string           // of an edge
	Ends       [2][]string      // the labels of an edge's source and target, if they were asked for
	Properties []graph.MapEntry // in the order of their names
}

// Rows reads vertices or edges in the order of ids.
type Rows struct {
	ctx       context.Context // of the whole read
	s         *Source
	edges     bool
	statement string
	session   neo4j.Session
	from      loader.Cursor
	next      int64   // the lowest id of the next page
	last      bool    // there is no further page
	ids       []int64 // of the page, not asked for yet
	result    neo4j.Result
}

// Rows reads from a cursor on. With ends, edges have the labels of their ends.
func (s *Source) Rows(ctx context.Context, edges, ends bool, from loader.Cursor) *Rows {
	r := &Rows{ctx: ctx, s: s, edges: edges, statement: vertexStatement, session: s.driver.NewSession(ctx, s.session), from: from, next: from.Vertex}
	if edges {
		r.statement = edgeStatement
	}
	if edges && ends {
		r.statement += endLabels
	}
	return r
}

// Close ends the read.
func (r *Rows) Close() error { return r.session.Close(r.ctx) }

// Next returns the next row, or io.EOF.
func (r *Rows) Next() (*Row, error) {
	for {
		if r.result != nil && r.result.Next(r.ctx) {
			return r.row(r.result.Record())
		}
		if err := r.ask(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, err
			}
			return nil, fmt.Errorf("%s: %w", r.s.name, err)
		}
	}
}

// ask asks for the rows of the next window.
func (r *Rows) ask() (err error) {
	if r.result != nil {
		if err := r.result.Err(); err != nil {
			return err
		}
		r.result = nil // it does not take another Next
	}
	if len(r.ids) == 0 && !r.last {
		if err := r.page(); err != nil {
			return err
		}
	}
	if len(r.ids) == 0 {
		return io.EOF
	}
	window := r.ids[:min(r.s.windowIDs, len(r.ids))]
	r.ids = r.ids[len(window):]
	r.result, err = r.session.Run(r.ctx, r.statement, map[string]any{"ids": window, "vertex": r.from.Vertex, "edge": r.from.Edge})
	return err
}

// page asks for the ids of the next page.
func (r *Rows) page() error {
	result, err := r.session.Run(r.ctx, pageStatement, map[string]any{"from": r.next, "limit": r.s.pageIDs})
	if err != nil {
		return err
	}
	r.ids = nil
	for result.Next(r.ctx) {
		id, ok := result.Record().Values[0].(int64)
		if !ok || id < r.next {
			return fmt.Errorf("the ids of vertices are not integers in ascending order: %v follows %d", result.Record().Values[0], r.next)
		}
		r.ids = append(r.ids, id)
		r.next = id + 1
	}
	r.last = len(r.ids) < r.s.pageIDs
	return result.Err()
}

// row converts a record.
func (r *Rows) row(rec *neo4j.Record) (*Row, error) {
	out := &Row{}
	var properties map[string]any
	switch e := rec.Values[1].(type) {
	case dbtype.Node:
		out.ElementID, out.Labels, properties = e.ElementId, e.Labels, e.Props
	case dbtype.Relationship:
		out.ElementID, out.Type, properties = e.ElementId, e.Type, e.Props
		out.Edge, _ = rec.Values[2].(int64)
		out.Target, _ = rec.Values[3].(int64)
		for i := range rec.Values[4:] {
			out.Ends[i] = texts(rec.Values[4+i])
		}
	default:
		return nil, fmt.Errorf("%s: a %T came instead of a vertex or an edge", r.s.name, e)
	}
	out.ID, _ = rec.Values[0].(int64)
	out.Properties = entries(properties)
	for _, p := range out.Properties {
		if r.s.keys != nil && !r.s.keys[p.Key] {
			return nil, fmt.Errorf("%s: %s has a property %s, which no element had when the load began: the database is being written to; run the load again", r.s.name, out.ElementID, p.Key)
		}
	}
	return out, nil
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i := range list {
		out[i], _ = list[i].(string)
	}
	return out
}
