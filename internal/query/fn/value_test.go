package fn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// ascending are values in the global order; those on one line are equivalent.
var ascending = [][]string{
	{"{}"},
	{"{a: 1}", "{a: 1.0}"},
	{"{a: 2}"},
	{"{b: 0}"},
	{"{a: 1, b: null}", "{b: null, a: 1}"},
	{"ann"},
	{"bare"},
	{"bob"},
	{"knows"},
	{"[]"},
	{"[1]", "[1.0]"},
	{"[1, 2]"},
	{"[1, null]"},
	{"[2]"},
	{"[NaN]", "[0.0 / 0.0]"},
	{"[null]"},
	{"path"},
	{"datetime('2023-12-31T23:00Z')"},
	{"datetime('2024-01-01T00:00-01:00')"},
	{"datetime('2024-01-01T01:00Z')", "datetime('2024-01-01T01:00+00:00')"},
	{"datetime('2024-01-01T02:00+01:00')"},
	{"datetime('2024-01-01T02:00[Europe/Stockholm]')"},
	{"localdatetime('2024-01-01')"},
	{"date('-999999999-01-01')"},
	{"date('2024-01-01')"},
	{"time('11:00Z')"},
	{"time('12:00+01:00')"},
	{"localtime('12:00')"},
	{"duration('P-1M')"},
	{"duration('PT24H')"},
	{"duration('P1D')"},
	{"''"},
	{"'B'"},
	{"'a'"},
	{"'aa'"},
	{"'ä'"},
	{"false"},
	{"true"},
	{"-Inf"},
	{"-9223372036854775808", "-9223372036854775808.0"},
	{"-1.5"},
	{"-1"},
	{"0", "0.0", "-0.0"},
	{"1", "1.0"},
	{"1.5"},
	{"9007199254740992", "9007199254740992.0"},
	{"9007199254740993"},
	{"9223372036854775807"},
	{"9223372036854775808.0"},
	{"Inf"},
	{"NaN"},
	{"null"},
}

func value(t *testing.T, text string) graph.Value {
	t.Helper()
	x, err := parse.Expression(text)
	if err != nil {
		t.Fatal(err)
	}
	var names row
	names = names.with("NaN", graph.FloatValue(math.NaN())).with("Inf", graph.FloatValue(math.Inf(1)))
	for name, v := range entities() {
		names = names.with(name, v)
	}
	return (&evaluator{ctx: new(fn.Context)}).eval(names, x)
}

// TestOrder compares every value with every other: the order is that of the list, agrees with equivalence and hashes, and
// contradicts neither = nor <.
func TestOrder(t *testing.T) {
	type item struct {
		text string
		rank int
		v    graph.Value
	}
	var all []item
	for rank, texts := range ascending {
		for _, text := range texts {
			all = append(all, item{text, rank, value(t, text)})
		}
	}
	for _, a := range all {
		for _, b := range all {
			c := fn.Order(a.v, b.v)
			if (c < 0) != (a.rank < b.rank) || (c > 0) != (a.rank > b.rank) {
				t.Errorf("order of %s and %s: %d", a.text, b.text, c)
			}
			if fn.Equivalent(a.v, b.v) != (c == 0) {
				t.Errorf("equivalence of %s and %s: %v", a.text, b.text, c != 0)
			}
			if c == 0 && fn.Hash(a.v) != fn.Hash(b.v) {
				t.Errorf("hashes of %s and %s differ", a.text, b.text)
			}
			if fn.Equal(a.v, b.v) == fn.True && c != 0 {
				t.Errorf("%s = %s, but they are ordered", a.text, b.text)
			}
			if fn.Less(a.v, b.v) == fn.True && c >= 0 {
				t.Errorf("%s < %s against the order", a.text, b.text)
			}
			if fn.Equal(a.v, b.v) != fn.Equal(b.v, a.v) || fn.Less(a.v, b.v) != fn.Greater(b.v, a.v) {
				t.Errorf("%s and %s compare otherwise the other way round", a.text, b.text)
			}
			if o, ok := fn.Compare(a.v, b.v); ok && o != c {
				t.Errorf("%s against %s: %d and %d", a.text, b.text, o, c)
			}
		}
	}
}

// TestHashSpreads looks for collisions among dense numbers and short lists.
func TestHashSpreads(t *testing.T) {
	seen := make(map[uint64]bool)
	n := 0
	for i := range int64(20_000) {
		for _, v := range []graph.Value{
			graph.IntValue(i), graph.IntValue(-i - 1), graph.VertexValue(graph.VertexID(i)), graph.FloatValue(float64(i) + 0.5),
			graph.ListValue([]graph.Value{graph.IntValue(i % 100), graph.IntValue(i / 100)}),
		} {
			seen[fn.Hash(v)] = true
			n++
		}
	}
	if len(seen) != n {
		t.Errorf("%d hashes of %d values", len(seen), n)
	}
}

func TestNoAllocations(t *testing.T) {
	values := []graph.Value{
		graph.IntValue(7), graph.FloatValue(1.5), graph.StringValue("some text"), graph.VertexValue(9),
		value(t, "datetime('2024-01-01T02:00[Europe/Stockholm]')"), value(t, "[1, 'a', null]"),
	}
	n := alloctest.Least(100, func() {
		for _, a := range values {
			for _, b := range values {
				fn.Hash(a)
				fn.Equal(a, b)
				fn.Less(a, b)
				fn.Order(a, b)
				fn.Equivalent(a, b)
			}
		}
		if _, err := fn.Add(values[0], values[1]); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTypes(t *testing.T) {
	for _, c := range []struct {
		text, typ string
		want      bool
	}{
		{"1", "INTEGER", true},
		{"1", "INTEGER NOT NULL", true},
		{"null", "INTEGER", true},
		{"null", "INTEGER NOT NULL", false},
		{"1.0", "INTEGER", false},
		{"1.0", "NUMBER", true},
		{"null", "NULL", true},
		{"1", "NULL", false},
		{"null", "NOTHING", false},
		{"1", "ANY", true},
		{"null", "ANY NOT NULL", false},
		{"'a'", "INTEGER | STRING", true},
		{"'a'", "ANY<INTEGER | STRING NOT NULL>", true},
		{"true", "INTEGER | STRING", false},
		{"[1, 2]", "LIST<INTEGER NOT NULL> NOT NULL", true},
		{"[1, null]", "LIST<INTEGER NOT NULL>", false},
		{"[1, null]", "LIST<INTEGER>", true},
		{"[]", "LIST<NOTHING>", true},
		{"[1, 'a']", "LIST<ANY<INTEGER | STRING>>", true},
		{"[1, 'a']", "LIST<INTEGER | STRING>", true},
		{"[[1]]", "LIST<LIST<INTEGER>>", true},
		{"[[1]]", "LIST<LIST<STRING>>", false},
		{"1", "LIST<INTEGER>", false},
		{"[1, 2]", "PROPERTY VALUE", true},
		{"[1, 'a']", "PROPERTY VALUE", false},
		{"ann", "PROPERTY VALUE", false},
		{"{a: 1}", "MAP", true},
		{"ann", "NODE", true},
		{"knows", "RELATIONSHIP NOT NULL", true},
		{"path", "PATH", true},
		{"localtime('12:00')", "LOCAL TIME", true},
		{"time('12:00')", "ZONED TIME", true},
		{"localdatetime('2024')", "LOCAL DATETIME", true},
		{"datetime('2024')", "ZONED DATETIME", true},
		{"date('2024')", "DATE", true},
		{"duration('P1D')", "DURATION NOT NULL", true},
	} {
		typ, err := fn.ParseType(c.typ)
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
		} else if got := typ.Matches(value(t, c.text)); got != c.want {
			t.Errorf("%s IS :: %s is %v", c.text, c.typ, got)
		}
	}
	for _, text := range []string{"", "INT", "LIST<", "LIST<INTEGER", "INTEGER |", "INTEGER NOT NULL NOT NULL", "ANY<>", "INTEGER>"} {
		if _, err := fn.ParseType(text); err == nil {
			t.Errorf("%q is taken for a type", text)
		}
	}
}

func TestElementIDs(t *testing.T) {
	v := graph.MakeVertexID(65535, 1<<48-1)
	if got, ok := graph.ParseVertexElementID(string(graph.AppendVertexElementID(nil, v))); !ok || got != v {
		t.Errorf("%x, %v", got, ok)
	}
	e := graph.Edge{ID: graph.MakeEdgeID(3, 9), Src: graph.MakeVertexID(3, 4), Dst: v, Type: 1<<32 - 1}
	if got, ok := graph.ParseEdgeElementID(string(graph.AppendEdgeElementID(nil, e))); !ok || got != e {
		t.Errorf("%v, %v", got, ok)
	}
	for _, text := range []string{
		"", "v", "v1", "v1:", "v1:2:3", "v65536:1", "v1:281474976710656", "v-1:1", "x1:2", "e1:2:3:4:5", "4:a:1",
	} {
		if got, ok := graph.ParseVertexElementID(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	for _, text := range []string{"", "e", "e1:2:3:4", "e1:2:3:4:x", "e1:2:3:4:5:6", "v1:2", "e1:2:g:4:5"} {
		if got, ok := graph.ParseEdgeElementID(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestCatalogue holds that every entry is whole and agrees with its signature, which SHOW FUNCTIONS prints.
func TestCatalogue(t *testing.T) {
	names := make(map[string]bool)
	for _, f := range fn.All() {
		if name := strings.ToLower(f.Name); names[name] {
			t.Errorf("%s stands twice", f.Name)
		} else {
			names[name] = true
		}
		if f.Result == 0 || f.Category == "" || f.Description == "" || (f.Eval == nil) == (f.New == nil) {
			t.Errorf("%s lacks a field: %+v", f.Name, f)
		}
		if f.Volatile && f.Deterministic || f.Elem != 0 && f.Result&fn.List == 0 || f.MaxArgs >= 0 && len(f.Args) > f.MaxArgs {
			t.Errorf("%s contradicts itself: %+v", f.Name, f)
		}
		args, ok := strings.CutPrefix(f.Signature, f.Name+"(")
		end := strings.LastIndex(args, ") :: ")
		if !ok || end < 0 {
			t.Errorf("%s has the signature %s", f.Name, f.Signature)
			continue
		}
		if strings.HasPrefix(f.Name, "sql.") {
			continue // SHOW FUNCTIONS does not list them
		}
		required, _, _ := strings.Cut(args[:end], "[")
		least, most := strings.Count(required, "::"), strings.Count(args[:end], "::")
		if strings.Contains(args, "…") {
			most = -1
		}
		if least != f.MinArgs || most != f.MaxArgs {
			t.Errorf("%s takes %d to %d arguments, but its signature is %s", f.Name, f.MinArgs, f.MaxArgs, f.Signature)
		}
	}
	for _, name := range []string{"TOINTEGER", "Duration.Between", "datetime.fromepochmillis", "localDateTime.Truncate"} {
		if _, ok := fn.Lookup(name); !ok {
			t.Errorf("%s is not found", name)
		}
		if _, ok := fn.LookupAggregate(name); ok {
			t.Errorf("%s is found as an aggregate", name)
		}
	}
	if _, ok := fn.Lookup("nosuch"); ok {
		t.Error("nosuch is found")
	}
	if _, ok := fn.LookupAggregate("STDEVP"); !ok {
		t.Error("STDEVP is not found")
	}
	if _, ok := fn.Builtin("sql.now"); ok {
		t.Error("statements can call sql.now")
	}
}

// TestAggregates adds a column of values to each aggregate.
func TestAggregates(t *testing.T) {
	for _, c := range []struct{ name, values, second, want string }{
		{"count", "[1, null, 'a']", "", "2"},
		{"count", "[]", "", "0"},
		{"sum", "[1, 2, null]", "", "3"},
		{"sum", "[]", "", "0"},
		{"sum", "[1, 2.5]", "", "3.5"},
		{"sum", "[9223372036854775807, 1, -2]", "", "9223372036854775806"},
		{"sum", "[9223372036854775807, 1]", "", "ArithmeticError IntegerOverflow"},
		{"sum", "[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]", "", "1.0"},
		{"sum", "[1e300, 1.0, -1e300]", "", "1.0"},
		{"sum", "[Inf, 1.0]", "", "Infinity"},
		{"sum", "[Inf, -Inf]", "", "NaN"},
		{"sum", "['a']", "", "TypeError InvalidArgumentType"},
		{"sum", "[duration('P1D'), duration('PT1H')]", "", "'P1DT1H'"},
		{"sum", "[1, duration('PT1H')]", "", "TypeError InvalidArgumentType"},
		{"avg", "[1, 2, null]", "", "1.5"},
		{"avg", "[9223372036854775807, 9223372036854775807]", "", "9.223372036854776E18"},
		{"avg", "[]", "", "null"},
		{"avg", "[duration('P1D'), duration('P2D')]", "", "'P1DT12H'"},
		{"min", "[3, null, 1.5, 'a', [1]]", "", "[1]"},
		{"max", "[3, null, 1.5, 'a', [1]]", "", "3"},
		{"max", "[1, NaN]", "", "NaN"},
		{"min", "[null]", "", "null"},
		{"collect", "[1, null, [2]]", "", "[1, [2]]"},
		{"collect", "[]", "", "[]"},
		{"stDev", "[2, 4, 4, 4, 5, 5, 7, 9]", "", "2.138089935299395"},
		{"stDevP", "[2, 4, 4, 4, 5, 5, 7, 9]", "", "2.0"},
		{"stDev", "[1]", "", "0.0"},
		{"stDevP", "[]", "", "0.0"},
		{"stDev", "['a']", "", "TypeError InvalidArgumentValue"},
		{"percentileCont", "[40, 10, null, 20, 30]", "0.4", "22.0"},
		{"percentileCont", "[10]", "1.0", "10.0"},
		{"percentileCont", "[]", "0.5", "null"},
		{"percentileDisc", "[40, 10, null, 20, 30]", "0.5", "20"},
		{"percentileDisc", "[40, 10, null, 20, 30]", "0.51", "30"},
		{"percentileDisc", "[40, 10, null, 20, 30]", "0", "10"},
		{"percentileDisc", "[40, 10]", "1.5", "ArgumentError NumberOutOfRange"},
		{"percentileDisc", "[40, 10]", "NaN", "ArgumentError NumberOutOfRange"},
	} {
		agg, _ := fn.LookupAggregate(c.name)
		acc := agg.New()
		for range 2 { // the second time after Reset
			if got := aggregate(t, acc, c.values, c.second); got != c.want {
				t.Errorf("%s(%s) is %s, want %s", c.name, c.values, got, c.want)
			}
			acc.Reset()
		}
	}
}

func aggregate(t *testing.T, acc fn.Accumulator, values, second string) string {
	short := func(err error) string {
		e := graph.AsError(err)
		return e.Type + " " + e.Detail
	}
	for _, v := range value(t, values).List() {
		args := []graph.Value{v}
		if second != "" {
			args = append(args, value(t, second))
		}
		if err := acc.Add(args); err != nil {
			return short(err)
		}
	}
	v, err := acc.Result()
	if err != nil {
		return short(err)
	}
	return string(notation.Append(nil, v))
}

// TestMerge returns each half of the rows to its own accumulator.
func TestMerge(t *testing.T) {
	values := value(t, "[1, 2.5, -7, null, 9223372036854775807, 4, 1e10, 3]").List()
	for cut := range len(values) + 1 {
		var count [3]fn.Count
		var sum [3]fn.Sum
		var avg [3]fn.Avg
		var low [3]fn.Min
		var high [3]fn.Max
		var dev [3]fn.Deviation
		for i, v := range values {
			half := 0
			if i >= cut {
				half = 1
			}
			for _, k := range []int{half, 2} {
				count[k].Add(v)
				low[k].Add(v)
				high[k].Add(v)
				for _, err := range []error{sum[k].Add(v), avg[k].Add(v), dev[k].Add(v)} {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		count[0].Merge(count[1])
		low[0].Merge(low[1])
		high[0].Merge(high[1])
		dev[0].Merge(dev[1])
		if err := sum[0].Merge(&sum[1]); err != nil {
			t.Fatal(err)
		}
		if err := avg[0].Merge(&avg[1]); err != nil {
			t.Fatal(err)
		}
		result := func(k int) []graph.Value {
			s, err1 := sum[k].Result()
			a, err2 := avg[k].Result()
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			return []graph.Value{count[k].Result(), s, a, low[k].Result(), high[k].Result()}
		}
		if got, want := result(0), result(2); !slices.EqualFunc(got, want, fn.Equivalent) {
			t.Errorf("cut at %d: %s, want %s", cut, notation.Append(nil, graph.ListValue(got)), notation.Append(nil, graph.ListValue(want)))
		}
		if got, want := dev[0].Sample(), dev[2].Sample(); math.Abs(got-want) > 1e-9*want {
			t.Errorf("cut at %d: deviation %v, want %v", cut, got, want)
		}
	}
}
