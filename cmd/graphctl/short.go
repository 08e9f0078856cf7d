package main

import (
	"fmt"
	"time"
	"unicode"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/size"
)

// foot returns the number of rows, how many of them a table shows, and the elapsed time.
func (p *printer) foot() string {
	text := size.Count(p.count, "row")
	if p.more != "" {
		text = fmt.Sprintf("first %s rows; more with %s", cli.Grouped(int64(p.count)), p.more)
	}
	if p.timing {
		text += fmt.Sprintf(", %v", brief(time.Since(p.start)))
	}
	return text
}

// shortTexts returns cells as a table shows them: strings bare, null by name, vertices, edges and paths as patterns.
func shortTexts(cells []*pb.Value) []string {
	out := texts(cells)
	for i, c := range cells {
		switch c.GetKind().(type) {
		case nil, *pb.Value_Vertex, *pb.Value_Edge, *pb.Value_Path, *pb.Value_List, *pb.Value_Map:
			out[i] = string(appendShort(nil, c))
		default:
			out[i] = visible(out[i])
		}
	}
	return out
}

// appendShort appends a value in openCypher's syntax, with vertices as (:Label {name: value}) and edges as [:TYPE {name: value}].
func appendShort(dst []byte, v *pb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *pb.Value_List:
		dst = append(dst, '[')
		for i, e := range k.List.GetValues() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendShort(dst, e)
		}
		return append(dst, ']')
	case *pb.Value_Map:
		return appendShortEntries(dst, k.Map.GetEntries())
	case *pb.Value_Vertex:
		return appendShortVertex(dst, k.Vertex)
	case *pb.Value_Edge:
		return appendShortEdge(dst, k.Edge)
	case *pb.Value_Path:
		for i, n := range k.Path.GetVertices() {
			if i > 0 {
				e, before := k.Path.GetEdges()[i-1], k.Path.GetVertices()[i-1]
				if e.GetStartElementId() == before.GetElementId() {
					dst = append(appendShortEdge(append(dst, '-'), e), "->"...)
				} else {
					dst = append(appendShortEdge(append(dst, "<-"...), e), '-')
				}
			}
			dst = appendShortVertex(dst, n)
		}
		return dst
	}
	return answer.AppendJSON(dst, v)
}

func appendShortVertex(dst []byte, v *pb.Vertex) []byte {
	dst = append(dst, '(')
	for _, l := range v.GetLabels() {
		dst = append(append(dst, ':'), shortName(l)...)
	}
	if len(v.GetProperties()) > 0 {
		if len(v.GetLabels()) > 0 {
			dst = append(dst, ' ')
		}
		dst = appendShortEntries(dst, v.GetProperties())
	}
	return append(dst, ')')
}

func appendShortEdge(dst []byte, e *pb.Edge) []byte {
	dst = append(append(dst, "[:"...), shortName(e.GetType())...)
	if len(e.GetProperties()) > 0 {
		dst = appendShortEntries(append(dst, ' '), e.GetProperties())
	}
	return append(dst, ']')
}

func appendShortEntries(dst []byte, es []*pb.MapEntry) []byte {
	dst = append(dst, '{')
	for i, e := range es {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, shortName(e.GetKey())...), ": "...)
		dst = appendShort(dst, e.GetValue())
	}
	return append(dst, '}')
}

// shortName returns a name in openCypher's syntax, in backticks if needed.
func shortName(s string) string {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return answer.QuoteName(s)
		}
	}
	if s == "" {
		return answer.QuoteName(s)
	}
	return s
}
