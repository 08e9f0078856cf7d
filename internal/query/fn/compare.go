package fn

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Less is a < b: Unknown if a null decides or the types are not comparable, False for NaN and a number.
func Less(a, b graph.Value) Ternary { return compare(a, b, false) }

// LessEqual is a <= b.
func LessEqual(a, b graph.Value) Ternary { return compare(a, b, true) }

// Greater is a > b.
func Greater(a, b graph.Value) Ternary { return compare(b, a, false) }

// GreaterEqual is a >= b.
func GreaterEqual(a, b graph.Value) Ternary { return compare(b, a, true) }

// Compare returns the order of two values that < can compare; ok is false if < returns null, or for a NaN.
func Compare(a, b graph.Value) (c int, ok bool) {
	switch less, more := Less(a, b), Less(b, a); {
	case less == True:
		return -1, true
	case more == True:
		return 1, true
	case less == False && more == False && LessEqual(a, b) == True:
		return 0, true
	}
	return 0, false
}

func compare(a, b graph.Value, orEqual bool) Ternary {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		if a.IsNumber() && b.IsNumber() {
			if math.IsNaN(a.Number()) || math.IsNaN(b.Number()) {
				return False
			}
			return holds(compareNumbers(a, b), orEqual)
		}
		return Unknown
	}
	switch ka {
	case graph.Int:
		return holds(cmp.Compare(a.Int(), b.Int()), orEqual)
	case graph.Float:
		x, y := a.Float(), b.Float()
		return TernaryOf(x < y || orEqual && x == y)
	case graph.Null, graph.PointKind, graph.VectorKind:
		return Unknown
	case graph.Duration:
		// How long a month or a day is depends on when it is: only equal durations are known not to be longer.
		if orEqual && a.Duration() == b.Duration() {
			return True
		}
		return Unknown
	case graph.Map:
		return compareMaps(a.Map(), b.Map(), orEqual)
	case graph.List:
		return compareLists(a.List(), b.List(), orEqual)
	}
	return holds(orderScalar(ka, a, b), orEqual)
}

func holds(c int, orEqual bool) Ternary { return TernaryOf(c < 0 || orEqual && c == 0) }

// compareLists compares the first elements that differ; a list that begins another goes before it.
func compareLists(a, b []graph.Value, orEqual bool) Ternary {
	for i := range min(len(a), len(b)) {
		switch Equal(a[i], b[i]) {
		case Unknown:
			return Unknown
		case False:
			return compare(a[i], b[i], orEqual)
		}
	}
	return holds(cmp.Compare(len(a), len(b)), orEqual)
}

// compareMaps compares as orderMaps orders. A map with an entry that is null does not compare.
func compareMaps(a, b []graph.MapEntry, orEqual bool) Ternary {
	null := func(e graph.MapEntry) bool { return e.Value.IsNull() }
	if slices.ContainsFunc(a, null) || slices.ContainsFunc(b, null) {
		return Unknown
	}
	a, b = sortedEntries(a), sortedEntries(b)
	if c := compareKeys(a, b); c != 0 {
		return holds(c, orEqual)
	}
	for i := range a {
		switch Equal(a[i].Value, b[i].Value) {
		case Unknown:
			return Unknown
		case False:
			return compare(a[i].Value, b[i].Value, orEqual)
		}
	}
	return TernaryOf(orEqual)
}

// compareKeys orders sorted entries by their number, then by their keys.
func compareKeys(a, b []graph.MapEntry) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), slices.CompareFunc(a, b, byKey))
}

// compareNumbers orders an integer and a float, in either place.
func compareNumbers(a, b graph.Value) int {
	if a.Kind() == graph.Int {
		return graph.CompareIntFloat(a.Int(), b.Float())
	}
	return -graph.CompareIntFloat(b.Int(), a.Float())
}

// ranks is the place of each kind in openCypher's global order; integers and floats share one.
var ranks = [...]uint8{
	graph.Map: 0, graph.VertexKind: 1, graph.EdgeKind: 2, graph.List: 3, graph.PathKind: 4, graph.VectorKind: 5, graph.Bytes: 6,
	graph.PointKind: 7, graph.DateTime: 8, graph.LocalDateTime: 9, graph.Date: 10, graph.Time: 11, graph.LocalTime: 12, graph.Duration: 13,
	graph.String: 14, graph.Bool: 15, graph.Int: 16, graph.Float: 16, graph.Null: 17,
}

// Order is the global order of all values that ORDER BY, min and max use; it is total, ascending, and 0 exactly where
// the values are Equivalent. NaN goes after all numbers and null after everything.
func Order(a, b graph.Value) int {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		if ranks[ka] != ranks[kb] {
			return cmp.Compare(ranks[ka], ranks[kb])
		}
		return compareNumbers(a, b)
	}
	return orderScalar(ka, a, b)
}

// orderScalar is Order on two values of one kind.
func orderScalar(k graph.ValueKind, a, b graph.Value) int {
	switch k {
	case graph.Bool:
		return orderBools(a.Bool(), b.Bool())
	case graph.Int:
		return cmp.Compare(a.Int(), b.Int())
	case graph.Float:
		return orderFloats(a.Float(), b.Float())
	case graph.String:
		return strings.Compare(a.Str(), b.Str())
	case graph.List:
		return orderLists(a.List(), b.List())
	case graph.Map:
		return orderMaps(a.Map(), b.Map())
	case graph.Date:
		return cmp.Compare(a.Date(), b.Date())
	case graph.LocalTime:
		return cmp.Compare(a.LocalTime(), b.LocalTime())
	case graph.Time:
		return a.Time().Compare(b.Time())
	case graph.LocalDateTime:
		return a.LocalDateTime().Compare(b.LocalDateTime())
	case graph.DateTime:
		return a.DateTime().Compare(b.DateTime())
	case graph.Duration:
		return a.Duration().Compare(b.Duration())
	case graph.PointKind:
		return a.Point().Compare(b.Point())
	case graph.VectorKind:
		return a.Vector().Compare(b.Vector())
	case graph.Bytes:
		return bytes.Compare(a.Bytes(), b.Bytes())
	case graph.VertexKind:
		return cmp.Compare(a.Vertex(), b.Vertex())
	case graph.EdgeKind:
		return cmp.Compare(a.EdgeID(), b.EdgeID())
	case graph.PathKind:
		return comparePaths(a.Path(), b.Path())
	}
	return 0
}

func orderBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func orderFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return orderBools(math.IsNaN(a), math.IsNaN(b))
}

func orderLists(a, b []graph.Value) int {
	for i := range min(len(a), len(b)) {
		if c := Order(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// orderMaps orders by size, then by the sorted keys, then by the values in that order of keys.
func orderMaps(a, b []graph.MapEntry) int {
	a, b = sortedEntries(a), sortedEntries(b)
	if c := compareKeys(a, b); c != 0 {
		return c
	}
	for i := range a {
		if c := Order(a[i].Value, b[i].Value); c != 0 {
			return c
		}
	}
	return 0
}

func byKey(a, b graph.MapEntry) int { return strings.Compare(a.Key, b.Key) }

func sortedEntries(m []graph.MapEntry) []graph.MapEntry {
	if slices.IsSortedFunc(m, byKey) {
		return m
	}
	m = slices.Clone(m)
	slices.SortFunc(m, byKey)
	return m
}

// comparePaths orders paths by their alternating vertices and edges; a path that begins another goes before it.
func comparePaths(a, b *graph.Path) int {
	for i := range min(len(a.Vertices), len(b.Vertices)) {
		if c := cmp.Compare(a.Vertices[i].Vertex(), b.Vertices[i].Vertex()); c != 0 {
			return c
		}
		if i < min(len(a.Edges), len(b.Edges)) {
			if c := cmp.Compare(a.Edges[i].EdgeID(), b.Edges[i].EdgeID()); c != 0 {
				return c
			}
		}
	}
	return cmp.Compare(len(a.Vertices), len(b.Vertices))
}
