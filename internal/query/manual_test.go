package query

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/cypher/check"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// manualFunctions are the functions in the indexes of the manuals of Neo4j 5 and Cypher 25, by section.
var manualFunctions = map[string]string{
	"aggregating": "avg collect collect_list count max min percentileCont percentile_cont percentileDisc percentile_disc stDev stdev_samp stDevP stdev_pop sum",
	"conversion":  "toBoolean toBooleanList toBooleanOrNull toFloat toFloatList toFloatOrNull toInteger toIntegerList toIntegerOrNull toString toStringList toStringOrNull",
	"list": "coll.distinct coll.flatten coll.indexOf coll.insert coll.max coll.min coll.remove coll.sort keys labels nodes range reduce " +
		"relationships reverse tail",
	"load csv":      "file linenumber",
	"logarithmic":   "e exp ln log log10 sqrt",
	"numeric":       "abs ceil ceiling floor isNaN rand round sign",
	"predicate":     "all allReduce any exists isEmpty none single",
	"scalar":        "char_length character_length coalesce elementId endNode head id last length path_length nullIf properties randomUUID size startNode timestamp type valueType",
	"string":        "btrim left lower ltrim normalize replace reverse right rtrim split substring toLower toUpper trim upper",
	"trigonometric": "acos asin atan atan2 cos cosh cot coth degrees haversin pi radians sin sinh tan tanh",
	"temporal": "format " + clocks("date") + clocks("datetime") + "datetime.fromEpoch datetime.fromEpochMillis " + clocks("localdatetime") +
		clocks("localtime") + clocks("time") + "local_datetime local_time zoned_datetime zoned_time",
	"duration":   "duration duration.between duration_between duration.inDays duration.inMonths duration.inSeconds",
	"database":   "db.nameFromElementId",
	"graph":      "graph.byElementId graph.byName graph.names graph.propertiesByName",
	"spatial":    "point point.distance point.withinBBox",
	"similarity": "vector.similarity.cosine vector.similarity.euclidean",
	"vector":     "vector vector_dimension_count vector_distance vector_norm",
}

func clocks(name string) string {
	return strings.Join([]string{name, name + ".realtime", name + ".statement", name + ".transaction", name + ".truncate "}, " ")
}

// absentFunctions are the sections that docs/cypher.md lists as absent, by its name for them.
var absentFunctions = map[string]string{
	"database": "db.nameFromElementId", "graph": "graph.*",
}

// ownSyntax contains calls of the functions with special syntax.
var ownSyntax = map[string]string{
	"all": "all(x IN [] WHERE x)", "any": "any(x IN [] WHERE x)", "none": "none(x IN [] WHERE x)", "single": "single(x IN [] WHERE x)",
	"exists": "exists({}.x)", "reduce": "reduce(a = 0, x IN [] | a)", "allReduce": "allReduce(a = 0, x IN [] | a, true)",
}

// TestManualFunctions calls each function of the manual and requires that it exists, or that the page says why it does not.
func TestManualFunctions(t *testing.T) {
	page, err := os.ReadFile("../../docs/cypher.md")
	require.NoError(t, err)
	_, missing, found := strings.Cut(string(page), "## Limitations")
	require.True(t, found)
	for section, names := range manualFunctions {
		for name := range strings.FieldsSeq(names) {
			call, own := ownSyntax[name]
			if !own {
				args := []string{"null", "null", "null"}
				if s, ok := fn.Builtin(name); ok {
					args = args[:s.MinArgs]
				} else if slices.Contains([]string{"file", "linenumber"}, name) {
					args = nil // LOAD CSV binds them
				} else if slices.Contains([]string{"percentile_cont", "percentile_disc", "duration_between"}, name) {
					args = args[:2]
				} else {
					args = args[:1]
				}
				call = name + "(" + strings.Join(args, ", ") + ")"
			}
			stmt, err := parse.Statement("RETURN " + call + " AS x")
			require.NoError(t, err, call)
			err = check.Statement(stmt, check.Options{})
			if absent, ok := absentFunctions[section]; ok {
				require.ErrorContains(t, err, "unknown function", name)
				require.Contains(t, missing, absent)
			} else {
				require.NoError(t, err, call)
			}
		}
	}
}
