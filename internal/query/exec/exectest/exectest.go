// Package exectest runs plans over a graph and prints their results, for tests.
package exectest

import (
	"context"
	"regexp"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/shard"
)

// Result is the whole result of a run.
type Result struct {
	Columns  []string
	Rows     [][]graph.Value // they outlive the run
	Counters exec.Counters
}

// Run compiles a plan and runs it in its own transaction, which it commits on success.
func Run(ctx context.Context, g shard.Graph, q *plan.Query, opt exec.Options, env exec.Env) (*Result, error) {
	p, err := exec.Compile(q, opt)
	if err != nil {
		return nil, err
	}
	mode := shard.Read
	if q.Writes {
		mode = shard.Write
	}
	tx, err := g.Begin(ctx, mode)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	rows, err := p.Run(ctx, g, tx, env)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	res := &Result{Columns: p.Columns()}
	for {
		b, err := rows.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			break
		}
		for i := range b.N {
			row := make([]graph.Value, len(b.Cols))
			for k := range row {
				row[k] = b.Cols[k].Value(i).Clone()
			}
			res.Rows = append(res.Rows, row)
		}
	}
	res.Counters = rows.Counters()
	if mode == shard.Write {
		return res, tx.Commit(ctx)
	}
	return res, nil
}

// ShowRow prints values in openCypher's notation, (:L {k: 1}) for a vertex and [:T {k: 1}] for an edge, with commas between them.
func ShowRow(row []graph.Value) string {
	var b strings.Builder
	for i, v := range row {
		if i > 0 {
			b.WriteString(", ")
		}
		show(&b, v)
	}
	return b.String()
}

func show(b *strings.Builder, v graph.Value) {
	switch v.Kind() {
	case graph.Null:
		b.WriteString("null")
	case graph.String:
		b.WriteString("'" + strings.ReplaceAll(v.Str(), "'", `\'`) + "'")
	case graph.PointKind, graph.Bytes, graph.VectorKind:
		b.Write(notation.Append(nil, v))
	case graph.List:
		b.WriteByte('[')
		b.WriteString(ShowRow(v.List()))
		b.WriteByte(']')
	case graph.Map:
		entries := v.Map()
		keys, values := make([]string, len(entries)), make([]graph.Value, len(entries))
		for i, e := range entries {
			keys[i], values[i] = e.Key, e.Value
		}
		showMap(b, keys, values)
	case graph.VertexKind:
		b.WriteByte('(')
		if r := v.Record(); r != nil {
			for _, l := range r.Labels {
				b.WriteString(":" + l)
			}
			showProps(b, r, len(r.Labels) > 0)
		}
		b.WriteByte(')')
	case graph.EdgeKind:
		b.WriteByte('[')
		if r := v.Edge().Record; r != nil {
			b.WriteString(":" + r.Type)
			showProps(b, r, true)
		}
		b.WriteByte(']')
	case graph.PathKind:
		showPath(b, v.Path())
	default:
		b.Write(notation.Append(nil, v))
	}
}

func showProps(b *strings.Builder, r *graph.Record, space bool) {
	if len(r.Keys) == 0 {
		return
	}
	if space {
		b.WriteByte(' ')
	}
	showMap(b, r.Keys, r.Values)
}

func showMap(b *strings.Builder, keys []string, values []graph.Value) {
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k + ": ")
		show(b, values[i])
	}
	b.WriteByte('}')
}

func showPath(b *strings.Builder, p *graph.Path) {
	show(b, p.Vertices[0])
	for i, e := range p.Edges {
		if e.Edge().Src == p.Vertices[i].Vertex() {
			b.WriteByte('-')
			show(b, e)
			b.WriteString("->")
		} else {
			b.WriteString("<-")
			show(b, e)
			b.WriteByte('-')
		}
		show(b, p.Vertices[i+1])
	}
}

// FullTimes returns values in the notation of openCypher's conformance suite, which omits seconds that are 0 and pads fractions of a second
// to 3, 6 or 9 digits, with times as toString() writes them.
func FullTimes(text string) string {
	return padding.ReplaceAllString(noSeconds.ReplaceAllString(text, "${1}:00$2"), "$1")
}

var noSeconds, padding = regexp.MustCompile(`([T']\d\d:\d\d)([^:\d]|$)`), regexp.MustCompile(`(:\d\d\.\d*?[1-9])0+\b`)
