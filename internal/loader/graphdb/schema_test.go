package graphdb

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// whole makes the numbers of JSON integers, as the driver does.
func whole(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return 0.5
		}
		return n
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	}
	return v
}

// TestSchema converts recorded answers: a line for each index or constraint, and for what is left out.
func TestSchema(t *testing.T) {
	datadriven.RunTest(t, "testdata/schema", func(t *testing.T, d *datadriven.TestData) string {
		var s Schema
		take := map[string]func(map[string]any){
			"neo4j-indexes": s.neo4jIndex, "neo4j-constraints": s.neo4jConstraint, "memgraph-indexes": s.memgraphIndex, "memgraph-constraints": s.memgraphConstraint,
		}[d.Cmd]
		dec := json.NewDecoder(strings.NewReader(d.Input))
		dec.UseNumber()
		for dec.More() {
			var row map[string]any
			require.NoError(t, dec.Decode(&row))
			take(whole(row).(map[string]any))
		}
		var out strings.Builder
		for _, ix := range s.Indexes {
			fmt.Fprintf(&out, "%s: %s label=%q type=%q %q unique=%v required=%v", ix.Name, ix.Kind, ix.Label, ix.Type, ix.Props, ix.Unique, ix.Required)
			switch ix.Kind {
			case graph.VectorIndex:
				fmt.Fprintf(&out, " %+v", ix.Vector)
			case graph.FullTextIndex:
				fmt.Fprintf(&out, " %+v", ix.Text)
			}
			out.WriteByte('\n')
		}
		for _, l := range s.Left {
			fmt.Fprintln(&out, "left:", l)
		}
		return out.String()
	})
}
