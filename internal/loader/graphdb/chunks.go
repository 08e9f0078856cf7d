package graphdb

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/graphfile"
	"github.com/hopgate/hopgate/internal/loader/record"
)

// Read implements loader.Database.
func (s *Source) Read(ctx context.Context, edges bool, from loader.Cursor, size, longest int) (loader.Chunks, error) {
	from.Vertex = max(from.Vertex, 0)
	return &chunks{rows: s.Rows(ctx, edges, false, from), at: from, size: size, longest: longest}, nil
}

// chunks are rows as JSON lines.
type chunks struct {
	rows          *Rows
	at            loader.Cursor
	size, longest int
	waiting       []byte // a line that begins the next chunk
	after         loader.Cursor
}

// Stored implements loader.Chunks: nothing is known of what the database has stored.
func (c *chunks) Stored() int64 { return 0 }

// Close implements loader.Chunks.
func (c *chunks) Close() error { return c.rows.Close() }

// Next implements loader.Chunks. A line that is too long is a chunk of its own.
func (c *chunks) Next() (record.Chunk, error) {
	out := record.Chunk{Line: c.at.Line, Offset: c.at.Vertex}
	for len(out.Data) < c.size && !out.Long {
		if c.waiting == nil {
			if err := c.read(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return out, err
			}
		}
		if out.Long = len(c.waiting) > c.longest; out.Long && len(out.Data) > 0 {
			out.Long = false
			break
		}
		out.Data, c.at, c.waiting = append(out.Data, c.waiting...), c.after, nil
	}
	if len(out.Data) == 0 {
		return out, io.EOF
	}
	out.Last = out.Long
	out.EndLine, out.EndOffset, out.EndPart = c.at.Line, c.at.Vertex, c.at.Edge
	return out, nil
}

// read makes the next line.
func (c *chunks) read() error {
	row, err := c.rows.Next()
	if err != nil {
		return err
	}
	e := graphfile.Element{Edge: c.rows.edges, Source: row.ElementID, Labels: row.Labels, Type: row.Type}
	c.after = loader.Cursor{Vertex: row.ID + 1, Line: c.at.Line + 1}
	if e.Edge {
		e.From, e.To = strconv.FormatInt(row.ID, 10), strconv.FormatInt(row.Target, 10)
		c.after.Vertex, c.after.Edge = row.ID, row.Edge+1
	} else {
		e.ID = strconv.FormatInt(row.ID, 10)
	}
	for _, p := range row.Properties {
		e.Properties = append(e.Properties, graphfile.Property{Name: p.Key, Value: notation.LosslessJSON.Append(nil, p.Value)})
	}
	c.waiting = e.AppendLine(nil)
	return nil
}
