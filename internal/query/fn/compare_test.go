package fn_test

import (
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// comparisons are pairs of values with the results of =, <, <=, > and >=: T, F, or N for null.
var comparisons = []struct{ a, b, want string }{
	// Numbers compare as numbers, with NaN to nothing, and with other types not at all.
	{"1", "1", "TFTFT"},
	{"1", "1.5", "FTTFF"},
	{"2", "1.5", "FFFTT"},
	{"9007199254740993", "9007199254740992.0", "FFFTT"},
	{"1", "NaN", "FFFFF"},
	{"NaN", "NaN", "FFFFF"},
	{"NaN", "Inf", "FFFFF"},
	{"NaN", "'a'", "FNNNN"},
	{"-Inf", "Inf", "FTTFF"},
	{"1", "'1'", "FNNNN"},
	{"1", "true", "FNNNN"},
	{"1", "null", "NNNNN"},
	{"null", "null", "NNNNN"},
	{"NaN", "null", "NNNNN"},
	{"false", "true", "FTTFF"},
	{"'a'", "'aa'", "FTTFF"},
	{"'\\uFFFF'", "'\\U0001F600'", "FTTFF"}, // by code points

	// Of durations only equal ones compare, and are neither less nor more.
	{"duration('P1D')", "duration('P1D')", "TNTNT"},
	{"duration('P1D')", "duration('P2D')", "FNNNN"},
	{"duration('P1D')", "duration('PT24H')", "FNNNN"},
	{"duration('P1M')", "duration('P30D')", "FNNNN"},
	{"duration('P1D')", "1", "FNNNN"},
	{"duration('P1D')", "'P1D'", "FNNNN"},

	// Instants compare within their type.
	{"date('2020-01-01')", "date('2020-01-02')", "FTTFF"},
	{"date('2020-01-01')", "localdatetime('2020-01-01T00:00')", "FNNNN"},
	{"date('2020-01-01')", "'2020-01-01'", "FNNNN"},
	{"localtime('10:00')", "time('10:00Z')", "FNNNN"},
	{"localtime('10:00')", "localtime('09:59:59.999999999')", "FFFTT"},
	{"time('10:00+01:00')", "time('09:30Z')", "FTTFF"},
	{"datetime('2020-01-01T12:00+02:00')", "datetime('2020-01-01T11:00Z')", "FTTFF"},
	{"datetime('2020-01-01T12:00Z')", "localdatetime('2020-01-01T12:00')", "FNNNN"},

	// Lists compare by the first elements that differ; a prefix precedes the longer list.
	{"[]", "[]", "TFTFT"},
	{"[]", "[null]", "FTTFF"},
	{"[1]", "[1, 0]", "FTTFF"},
	{"[1]", "[1, null]", "FTTFF"},
	{"[1, 2]", "[1, null]", "NNNNN"},
	{"[1, 2]", "[3, null]", "FTTFF"},
	{"[null]", "[null]", "NNNNN"},
	{"[null]", "[1]", "NNNNN"},
	{"[null, 1]", "[null, 2]", "FNNNN"},
	{"[null, 1]", "[2]", "FNNNN"},
	{"[1]", "['a']", "FNNNN"},
	{"[1, 'a']", "[2, 3]", "FTTFF"},
	{"[1, NaN]", "[1, 2]", "FFFFF"},
	{"[1, NaN]", "[2, NaN]", "FTTFF"},
	{"[1.0]", "[1]", "TFTFT"},
	{"[[1], [2]]", "[[1], [3]]", "FTTFF"},
	{"[[1], [2]]", "[[1], [null]]", "NNNNN"},
	{"[[1], 2]", "[1, 2]", "FNNNN"},
	{"[duration('P1D')]", "[duration('P2D')]", "FNNNN"},
	{"[duration('P1D'), 1]", "[duration('P1D'), 2]", "FTTFF"},
	{"[{a: 1}]", "[{a: 2}]", "FTTFF"},
	{"[{a: null}]", "[{a: 2}]", "NNNNN"},
	{"[1]", "1", "FNNNN"},
	{"[]", "{}", "FNNNN"},
	{"[]", "null", "NNNNN"},

	// Maps compare by size, keys and values, unless an entry of one of them is null.
	{"{}", "{}", "TFTFT"},
	{"{}", "{a: 1}", "FTTFF"},
	{"{a: 1}", "{a: 2}", "FTTFF"},
	{"{a: 1, b: 2}", "{b: 2, a: 1}", "TFTFT"},
	{"{a: 2}", "{b: 1}", "FTTFF"},
	{"{a: 1}", "{a: 1.0}", "TFTFT"},
	{"{a: 1}", "{a: 1, b: null}", "FNNNN"},
	{"{a: null}", "{a: null}", "NNNNN"},
	{"{a: null}", "{a: 1}", "NNNNN"},
	{"{a: null}", "{b: 1}", "FNNNN"},
	{"{a: null}", "{}", "FNNNN"},
	{"{a: 'x'}", "{a: 1}", "FNNNN"},
	{"{a: NaN}", "{a: 1}", "FFFFF"},
	{"{a: [1, null]}", "{a: [1, 2]}", "NNNNN"},
	{"{a: [1, null]}", "{a: [2, 2]}", "FTTFF"},
	{"{a: {b: 1}}", "{a: {b: 2}}", "FTTFF"},
	{"{a: duration('P1D')}", "{a: duration('P2D')}", "FNNNN"},
	{"{a: 1}", "null", "NNNNN"},

	// Vertices, edges and paths compare by their identities, each with their like.
	{"ann", "ann", "TFTFT"},
	{"ann", "bob", "FTTFF"},
	{"knows", "knows", "TFTFT"},
	{"knows", "likes", "FTTFF"},
	{"short", "short", "TFTFT"},
	{"short", "path", "FTTFF"},
	{"ann", "knows", "FNNNN"},
	{"ann", "{a: 1}", "FNNNN"},
	{"knows", "{a: 1}", "FNNNN"},
	{"short", "[ann, knows, bob]", "FNNNN"},
	{"short", "ann", "FNNNN"},
	{"ann", "1", "FNNNN"},
	{"ann", "null", "NNNNN"},
	{"[ann]", "[bob]", "FTTFF"},
	{"{a: knows}", "{a: likes}", "FTTFF"},
}

// TestComparisons checks =, < and the other comparisons against openCypher's rules of equality and comparability, in both
// directions.
func TestComparisons(t *testing.T) {
	letter := map[fn.Ternary]byte{fn.True: 'T', fn.False: 'F', fn.Unknown: 'N'}
	row := func(a, b graph.Value) string {
		var got []byte
		for _, f := range []func(a, b graph.Value) fn.Ternary{fn.Equal, fn.Less, fn.LessEqual, fn.Greater, fn.GreaterEqual} {
			got = append(got, letter[f(a, b)])
		}
		return string(got)
	}
	for _, c := range comparisons {
		a, b := value(t, c.a), value(t, c.b)
		if got := row(a, b); got != c.want {
			t.Errorf("%s and %s: = < <= > >= give %s, want %s", c.a, c.b, got, c.want)
		}
		turned := string([]byte{c.want[0], c.want[3], c.want[4], c.want[1], c.want[2]})
		if got := row(b, a); got != turned {
			t.Errorf("%s and %s: = < <= > >= give %s, want %s", c.b, c.a, got, turned)
		}
	}
}

// TestComparisonLaws compares every value with every other: a <= b is a < b OR a = b, and a > b is b < a.
func TestComparisonLaws(t *testing.T) {
	var texts []string
	for _, same := range ascending {
		texts = append(texts, same...)
	}
	for _, c := range comparisons {
		texts = append(texts, c.a, c.b)
	}
	values := make([]graph.Value, len(texts))
	for i, text := range texts {
		values[i] = value(t, text)
	}
	for i, a := range values {
		for k, b := range values {
			if got, want := fn.LessEqual(a, b), fn.Less(a, b).Or(fn.Equal(a, b)); got != want {
				t.Errorf("%s <= %s is %v, but < or = is %v", texts[i], texts[k], got, want)
			}
			if fn.Greater(a, b) != fn.Less(b, a) || fn.GreaterEqual(a, b) != fn.LessEqual(b, a) {
				t.Errorf("%s and %s compare otherwise the other way round", texts[i], texts[k])
			}
			if fn.Equal(a, b) == fn.True && fn.Less(a, b) == fn.True {
				t.Errorf("%s is equal to %s and less", texts[i], texts[k])
			}
		}
	}
}
