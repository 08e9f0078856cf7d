package fn

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// typeOrder is the order in which a type's alternatives are written.
var typeOrder = []string{
	"NOTHING", "NULL", "BOOLEAN", "STRING", "INTEGER", "FLOAT", "DATE", "LOCAL TIME", "ZONED TIME", "LOCAL DATETIME",
	"ZONED DATETIME", "DURATION", "POINT", "BYTES", "VECTOR", "NODE", "RELATIONSHIP", "MAP", "LIST", "PATH",
}

var kindTypes = [...]string{
	graph.Null: "NULL", graph.Bool: "BOOLEAN", graph.Int: "INTEGER", graph.Float: "FLOAT", graph.String: "STRING",
	graph.List: "LIST", graph.Map: "MAP", graph.Date: "DATE", graph.LocalTime: "LOCAL TIME", graph.Time: "ZONED TIME",
	graph.LocalDateTime: "LOCAL DATETIME", graph.DateTime: "ZONED DATETIME", graph.Duration: "DURATION",
	graph.PointKind: "POINT", graph.Bytes: "BYTES", graph.VectorKind: "VECTOR", graph.VertexKind: "NODE", graph.EdgeKind: "RELATIONSHIP", graph.PathKind: "PATH",
}

// typeText returns the most precise type of a value, such as LIST<INTEGER NOT NULL> NOT NULL.
func typeText(v graph.Value) string {
	if v.IsNull() {
		return "NULL"
	}
	return bareType(v) + " NOT NULL"
}

// bareType is the type of a value that is not null, without NOT NULL.
func bareType(v graph.Value) string {
	if v.Kind() == graph.VectorKind {
		return string(v.Vector().AppendType(nil))
	}
	if v.Kind() != graph.List {
		return kindTypes[v.Kind()]
	}
	var inner []string
	nullable := false
	for _, e := range v.List() {
		if e.IsNull() {
			nullable = true
		} else if t := bareType(e); !slices.Contains(inner, t) {
			inner = append(inner, t)
		}
	}
	switch {
	case len(inner) == 0 && nullable:
		return "LIST<NULL>"
	case len(inner) == 0:
		return "LIST<NOTHING>"
	}
	slices.SortFunc(inner, func(a, b string) int {
		if c := typeRank(a) - typeRank(b); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	if !nullable {
		for i := range inner {
			inner[i] += " NOT NULL"
		}
	}
	return "LIST<" + strings.Join(inner, " | ") + ">"
}

func typeRank(name string) int {
	name, _, _ = strings.Cut(name, "<")
	return slices.Index(typeOrder, name)
}
