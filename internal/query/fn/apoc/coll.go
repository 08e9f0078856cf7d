package apoc

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// two begins the arguments of functions of two lists.
const two = "(first :: LIST<ANY>, second :: LIST<ANY>) :: "

var collFunctions = []fn.Function{
	loose("apoc.coll.flatten(coll :: LIST<ANY> [, recursive :: BOOLEAN]) :: LIST<ANY>",
		"The list with the elements of the lists in it in their place, one level deep or, if recursive, at all levels.", flatten),
	orEmpty(alias("apoc.coll.sort", "coll.sort")),
	alias("apoc.coll.toSet", "coll.distinct"),
	alias("apoc.coll.max", "coll.max"),
	alias("apoc.coll.min", "coll.min"),
	strict("apoc.coll.sum(coll :: LIST<NUMBER>) :: FLOAT", "The sum of the numbers, or null of none.", func(c *call) (graph.Value, error) {
		return c.total(func(sum float64, _ int) float64 { return sum })
	}),
	strict("apoc.coll.avg(coll :: LIST<NUMBER>) :: FLOAT", "The mean of the numbers, or null of none.", func(c *call) (graph.Value, error) {
		return c.total(func(sum float64, n int) float64 { return sum / float64(n) })
	}),
	strict("apoc.coll.sumLongs(coll :: LIST<NUMBER>) :: INTEGER", "The sum of the numbers as integers.", sumLongs),
	strict("apoc.coll.stdev(coll :: LIST<NUMBER> [, isBiasCorrected :: BOOLEAN]) :: FLOAT",
		"The standard deviation of a sample or, if isBiasCorrected is false, of a population; null of no number.", stdev),
	strict("apoc.coll.runningTotal(coll :: LIST<NUMBER>) :: LIST<NUMBER>", "The sums of the numbers up to each of them.", runningTotal),
	loose("apoc.coll.contains(coll :: LIST<ANY>, value :: ANY) :: BOOLEAN", "Whether the list has a value.",
		func(c *call) (graph.Value, error) { return graph.BoolValue(bagOf(c.list(0)).has(c.args[1])), nil }),
	loose("apoc.coll.containsAll(coll1 :: LIST<ANY>, coll2 :: LIST<ANY>) :: BOOLEAN", "Whether the first list has all values of the second.", containsAll),
	loose("apoc.coll.containsSorted(coll :: LIST<ANY>, value :: ANY) :: BOOLEAN", "Whether a sorted list has a value.", func(c *call) (graph.Value, error) {
		_, ok := slices.BinarySearchFunc(c.list(0), c.args[1], fn.Order)
		return graph.BoolValue(ok), nil
	}),
	loose("apoc.coll.containsAllSorted(coll1 :: LIST<ANY>, coll2 :: LIST<ANY>) :: BOOLEAN", "Whether the first list, which is sorted, has all values of the second.", containsAll),
	loose("apoc.coll.containsDuplicates(coll :: LIST<ANY>) :: BOOLEAN", "Whether a value is in the list more than once.",
		func(c *call) (graph.Value, error) {
			return graph.BoolValue(len(bagOf(c.list(0)).values) < len(c.list(0))), nil
		}),
	loose("apoc.coll.isEqualCollection(coll :: LIST<ANY>, values :: LIST<ANY>) :: BOOLEAN", "Whether two lists have the same values, each as often, in any order.", sameBag),
	loose("apoc.coll.different(coll :: LIST<ANY>) :: BOOLEAN", "Whether all values of the list differ.", func(c *call) (graph.Value, error) {
		return graph.BoolValue(!c.args[0].IsNull() && len(bagOf(c.list(0)).values) == len(c.list(0))), nil
	}),
	loose("apoc.coll.union"+two+"LIST<ANY>", "The values of both lists, each once.", func(c *call) (graph.Value, error) {
		return c.either(func(a, b []graph.Value) []graph.Value { return bagOf(slices.Concat(a, b)).values })
	}),
	loose("apoc.coll.unionAll"+two+"LIST<ANY>", "The values of both lists.", func(c *call) (graph.Value, error) {
		return c.either(func(a, b []graph.Value) []graph.Value { return slices.Concat(a, b) })
	}),
	loose("apoc.coll.disjunction"+two+"LIST<ANY>", "The values of one list that are not in the other, each once.", func(c *call) (graph.Value, error) {
		return c.either(func(a, b []graph.Value) []graph.Value {
			x, y := bagOf(a), bagOf(b)
			return slices.Concat(without(x.values, y), without(y.values, x))
		})
	}),
	loose("apoc.coll.intersection"+two+"LIST<ANY>", "The values that both lists have, each once.", func(c *call) (graph.Value, error) {
		second := bagOf(c.list(1))
		return graph.ListValue(slices.DeleteFunc(bagOf(c.list(0)).values, func(v graph.Value) bool { return !second.has(v) })), nil
	}),
	loose("apoc.coll.subtract"+two+"LIST<ANY>", "The values of the first list that are not in the second, each once.",
		func(c *call) (graph.Value, error) { return c.less(bagOf(c.list(0)).values) }),
	loose("apoc.coll.removeAll"+two+"LIST<ANY>", "The elements of the first list that are not in the second.",
		func(c *call) (graph.Value, error) { return c.less(c.list(0)) }),
	strict("apoc.coll.zip"+two+"LIST<LIST<ANY>>", "Pairs of the elements at the same places, as many as the first list has.", func(c *call) (graph.Value, error) {
		if len(c.list(1)) == 0 {
			return graph.ListValue(nil), nil
		}
		return pairsOf(len(c.list(0)), at(c.list(0), 0), at(c.list(1), 0)), nil
	}),
	strict("apoc.coll.pairs(coll :: LIST<ANY>) :: LIST<LIST<ANY>>", "Pairs of each element and the next one, the last with null.", func(c *call) (graph.Value, error) {
		return pairsOf(len(c.list(0)), at(c.list(0), 0), at(c.list(0), 1)), nil
	}),
	strict("apoc.coll.pairsMin(coll :: LIST<ANY>) :: LIST<LIST<ANY>>", "Pairs of each element but the last and the next one.", func(c *call) (graph.Value, error) {
		return pairsOf(max(len(c.list(0))-1, 0), at(c.list(0), 0), at(c.list(0), 1)), nil
	}),
	strict("apoc.coll.pairWithOffset(coll :: LIST<ANY>, offset :: INTEGER) :: LIST<LIST<ANY>>", "Pairs of each element and the one so many places after it, or null.",
		func(c *call) (graph.Value, error) {
			return pairsOf(len(c.list(0)), at(c.list(0), 0), at(c.list(0), c.int(1))), nil
		}),
	loose("apoc.coll.partition(coll :: LIST<ANY>, batchSize :: INTEGER) :: LIST<LIST<ANY>>", "The list in parts of a size; the last may be shorter.", partition),
	loose("apoc.coll.split(coll :: LIST<ANY>, value :: ANY) :: LIST<LIST<ANY>>", "The parts of the list between the places of a value, without empty ones.", split),
	loose("apoc.coll.frequencies(coll :: LIST<ANY>) :: LIST<MAP>", "Each value of the list (item) and how often it is there (count).",
		func(c *call) (graph.Value, error) { return bagOf(c.list(0)).counted(1), nil }),
	loose("apoc.coll.frequenciesAsMap(coll :: LIST<ANY>) :: MAP", "How often each value is in the list, by its text.", func(c *call) (graph.Value, error) {
		var out entries
		b := bagOf(c.list(0))
		for i, v := range b.values {
			out.set(plain(v), graph.IntValue(b.counts[i]))
		}
		return out.value(), nil
	}),
	loose("apoc.coll.duplicates(coll :: LIST<ANY>) :: LIST<ANY>", "The values that are in the list more than once.", func(c *call) (graph.Value, error) {
		b, out := bagOf(c.list(0)), []graph.Value{}
		for i, v := range b.values {
			if b.counts[i] > 1 {
				out = append(out, v)
			}
		}
		return graph.ListValue(out), nil
	}),
	loose("apoc.coll.duplicatesWithCount(coll :: LIST<ANY>) :: LIST<MAP>", "Each value that is in the list more than once (item), and how often (count).",
		func(c *call) (graph.Value, error) { return bagOf(c.list(0)).counted(2), nil }),
	loose("apoc.coll.occurrences(coll :: LIST<ANY>, item :: ANY) :: INTEGER", "How often the list has a value.", func(c *call) (graph.Value, error) {
		n := int64(0)
		for _, v := range c.list(0) {
			if fn.Equivalent(v, c.args[1]) {
				n++
			}
		}
		return graph.IntValue(n), nil
	}),
	loose("apoc.coll.indexOf(coll :: LIST<ANY>, value :: ANY) :: INTEGER", "The place of a value in the list, or -1.", func(c *call) (graph.Value, error) {
		return graph.IntValue(int64(slices.IndexFunc(c.list(0), func(v graph.Value) bool { return fn.Equivalent(v, c.args[1]) }))), nil
	}),
	loose("apoc.coll.insert(coll :: LIST<ANY>, index :: INTEGER, value :: ANY) :: LIST<ANY>", "The list with a value before an index; as it is beyond the list, or for null.",
		func(c *call) (graph.Value, error) { return c.inserted(c.args[2:3]) }),
	loose("apoc.coll.insertAll(coll :: LIST<ANY>, index :: INTEGER, values :: LIST<ANY>) :: LIST<ANY>", "The list with values before an index; as it is beyond the list.",
		func(c *call) (graph.Value, error) { return c.inserted(c.list(2)) }),
	loose("apoc.coll.set(coll :: LIST<ANY>, index :: INTEGER, value :: ANY) :: LIST<ANY>", "The list with a value at an index; as it is beyond the list, or for null.",
		func(c *call) (graph.Value, error) {
			if i := c.int(1); i >= 0 && i < int64(len(c.list(0))) && !c.args[2].IsNull() {
				return graph.ListValue(slices.Replace(slices.Clone(c.list(0)), int(i), int(i)+1, c.args[2])), nil
			}
			return c.args[0], nil
		}),
	strict("apoc.coll.remove(coll :: LIST<ANY>, index :: INTEGER [, length :: INTEGER]) :: LIST<ANY>", "The list without so many elements from an index on.",
		func(c *call) (graph.Value, error) {
			i, n, size := c.int(1), c.intOr(2, 1), int64(len(c.list(0)))
			if i < 0 || i >= size || n <= 0 {
				return c.args[0], nil
			}
			return graph.ListValue(slices.Delete(slices.Clone(c.list(0)), int(i), int(i+min(n, size-i)))), nil
		}),
	strict("apoc.coll.reverse(coll :: LIST<ANY>) :: LIST<ANY>", "The elements in the opposite order.", func(c *call) (graph.Value, error) {
		out := slices.Clone(c.list(0))
		slices.Reverse(out)
		return graph.ListValue(out), nil
	}),
	strict("apoc.coll.dropDuplicateNeighbors(coll :: LIST<ANY>) :: LIST<ANY>", "The list without the elements that equal the one before them.",
		func(c *call) (graph.Value, error) {
			return graph.ListValue(slices.CompactFunc(slices.Clone(c.list(0)), fn.Equivalent)), nil
		}),
	strict("apoc.coll.fill(item :: ANY, count :: INTEGER) :: LIST<ANY>", "A list of a value, repeated.", func(c *call) (graph.Value, error) {
		if err := c.room(max(c.int(1), 0)); err != nil {
			return null, err
		}
		return graph.ListValue(slices.Repeat(c.args[:1], int(max(c.int(1), 0)))), nil
	}),
	strict("apoc.coll.combinations(coll :: LIST<ANY>, minSelect :: INTEGER [, maxSelect :: INTEGER]) :: LIST<LIST<ANY>>",
		"All selections of minSelect to maxSelect elements.", combinations),
	reading(loose("apoc.coll.sortMaps(coll :: LIST<MAP>, prop :: STRING) :: LIST<MAP>", "The maps, the largest value of a key first; with ^ before the key, the smallest.",
		func(c *call) (graph.Value, error) { return c.sortBy(c.args[1:2]) })),
	reading(loose("apoc.coll.sortNodes(coll :: LIST<NODE>, prop :: STRING) :: LIST<NODE>", "The nodes, the largest value of a property first; with ^ before it, the smallest.",
		func(c *call) (graph.Value, error) { return c.sortBy(c.args[1:2]) })),
	loose("apoc.coll.sortMulti(coll :: LIST<MAP> [, orderFields :: LIST<STRING>, limit :: INTEGER, skip :: INTEGER]) :: LIST<MAP>",
		"The maps in the order of several keys, the largest value first; with ^ before a key, the smallest.", sortMulti),
	strict("apoc.coll.sortText(coll :: LIST<STRING>) :: LIST<STRING>", "The texts in the order of their characters.", func(c *call) (graph.Value, error) {
		list, err := c.texts(0)
		slices.Sort(list)
		return texts(list), err
	}),
	volatile(loose("apoc.coll.shuffle(coll :: LIST<ANY>) :: LIST<ANY>", "The elements in a random order.",
		func(c *call) (graph.Value, error) { return graph.ListValue(c.shuffled()), nil })),
	volatile(loose("apoc.coll.randomItem(coll :: LIST<ANY>) :: ANY", "A random element, or null of none.", func(c *call) (graph.Value, error) {
		if len(c.list(0)) == 0 {
			return null, nil
		}
		return c.list(0)[c.below(len(c.list(0)))], nil
	})),
	volatile(loose("apoc.coll.randomItems(coll :: LIST<ANY>, itemCount :: INTEGER [, allowRepick :: BOOLEAN]) :: LIST<ANY>",
		"So many random elements; with allowRepick, one may come again.", randomItems)),
}

// bag counts the distinct values of a list, in the order in which they come.
type bag struct {
	values []graph.Value
	counts []int64
	at     map[uint64][]int // places in values, by hash
}

func bagOf(list []graph.Value) *bag {
	b := &bag{values: make([]graph.Value, 0, len(list)), at: make(map[uint64][]int, len(list))}
	for _, v := range list {
		if i := b.find(v); i >= 0 {
			b.counts[i]++
			continue
		}
		h := fn.Hash(v)
		b.at[h] = append(b.at[h], len(b.values))
		b.values, b.counts = append(b.values, v), append(b.counts, 1)
	}
	return b
}

// find returns the place of a value, or -1.
func (b *bag) find(v graph.Value) int {
	for _, i := range b.at[fn.Hash(v)] {
		if fn.Equivalent(b.values[i], v) {
			return i
		}
	}
	return -1
}

func (b *bag) has(v graph.Value) bool { return b.find(v) >= 0 }

// counted lists the values that come at least so often.
func (b *bag) counted(least int64) graph.Value {
	out := []graph.Value{}
	for i, v := range b.values {
		if b.counts[i] >= least {
			out = append(out, graph.MapValue([]graph.MapEntry{{Key: "count", Value: graph.IntValue(b.counts[i])}, {Key: "item", Value: v}}))
		}
	}
	return graph.ListValue(out)
}

// without returns the elements that are not in a bag.
func without(list []graph.Value, b *bag) []graph.Value {
	return slices.DeleteFunc(slices.Clone(list), b.has)
}

// either combines two lists; if one is null, it returns the other.
func (c *call) either(f func(a, b []graph.Value) []graph.Value) (graph.Value, error) {
	switch {
	case c.args[0].IsNull():
		return c.args[1], nil
	case c.args[1].IsNull():
		return c.args[0], nil
	}
	return graph.ListValue(f(c.list(0), c.list(1))), nil
}

// less returns the elements of list that are not in the second argument.
func (c *call) less(list []graph.Value) (graph.Value, error) {
	if c.args[0].IsNull() {
		return null, nil
	}
	return graph.ListValue(without(list, bagOf(c.list(1)))), nil
}

func flatten(c *call) (graph.Value, error) {
	out, err := c.flat(nil, c.list(0), c.boolOr(1, false), 0)
	return graph.ListValue(out), err
}

func (c *call) flat(dst, list []graph.Value, recursive bool, depth int) (_ []graph.Value, err error) {
	for _, v := range list {
		if v.Kind() == graph.List && (depth == 0 || recursive) {
			if dst, err = c.flat(dst, v.List(), recursive, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		dst = append(dst, v)
	}
	return dst, c.room(int64(len(dst)))
}

// room returns an error if the function may not build a list of so many elements.
func (c *call) room(n int64) error {
	if n > c.MostCells() {
		return graph.BudgetError("%s() would make a list of more than %d elements", c.name, c.MostCells())
	}
	return nil
}

func (c *call) notNumber(v graph.Value) error {
	return graph.TypeError("InvalidArgumentValue", "%s() expects a List of numbers, but it has %s", c.name, notation.Describe(v))
}

// numbers returns the numbers of the first argument.
func (c *call) numbers() ([]float64, error) {
	out := make([]float64, len(c.list(0)))
	for i, v := range c.list(0) {
		if !v.IsNumber() {
			return nil, c.notNumber(v)
		}
		out[i] = v.Number()
	}
	return out, nil
}

func (c *call) total(f func(sum float64, n int) float64) (graph.Value, error) {
	list, err := c.numbers()
	if err != nil || len(list) == 0 {
		return null, err
	}
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return graph.FloatValue(f(sum, len(list))), nil
}

func sumLongs(c *call) (graph.Value, error) {
	sum := graph.IntValue(0)
	for _, v := range c.list(0) {
		if !v.IsNumber() {
			return null, c.notNumber(v)
		}
		if v.Kind() == graph.Float {
			v = graph.IntValue(int64(v.Float()))
		}
		var err error
		if sum, err = fn.Add(sum, v); err != nil {
			return null, err
		}
	}
	return sum, nil
}

// whole returns a float as an integer if it is one.
func whole(x float64) graph.Value {
	if n := int64(x); float64(n) == x {
		return graph.IntValue(n)
	}
	return graph.FloatValue(x)
}

func stdev(c *call) (graph.Value, error) {
	if len(c.list(0)) == 0 {
		return null, nil
	}
	name := map[bool]string{true: "stDev", false: "stDevP"}[c.boolOr(1, true)]
	f, _ := fn.LookupAggregate(name)
	a := f.New()
	for _, v := range c.list(0) {
		if !v.IsNumber() {
			return null, c.notNumber(v)
		}
		if err := a.Add([]graph.Value{v}); err != nil {
			return null, err
		}
	}
	v, err := a.Result()
	if err != nil || v.Kind() != graph.Float {
		return v, err
	}
	return whole(v.Float()), nil
}

func runningTotal(c *call) (graph.Value, error) {
	list, err := c.numbers()
	if err != nil || len(list) == 0 {
		return null, err
	}
	out, sum := make([]graph.Value, len(list)), 0.0
	for i, x := range list {
		sum += x
		out[i] = whole(sum)
	}
	return graph.ListValue(out), nil
}

func containsAll(c *call) (graph.Value, error) {
	b := bagOf(c.list(0))
	missing := slices.ContainsFunc(c.list(1), func(v graph.Value) bool { return !b.has(v) })
	return graph.BoolValue(len(b.values) > 0 && !c.args[1].IsNull() && !missing), nil
}

func sameBag(c *call) (graph.Value, error) {
	if c.args[0].IsNull() || c.args[1].IsNull() || len(c.list(0)) != len(c.list(1)) {
		return graph.BoolValue(c.args[0].IsNull() && c.args[1].IsNull()), nil
	}
	a, b := bagOf(c.list(0)), bagOf(c.list(1))
	for i, v := range a.values {
		if k := b.find(v); k < 0 || b.counts[k] != a.counts[i] {
			return graph.BoolValue(false), nil
		}
	}
	return graph.BoolValue(true), nil
}

// at returns the elements so many places after each index, or null.
func at(list []graph.Value, offset int64) func(i int) graph.Value {
	return func(i int) graph.Value {
		if k := int64(i) + offset; k >= 0 && k < int64(len(list)) {
			return list[k]
		}
		return null
	}
}

func pairsOf(n int, first, second func(i int) graph.Value) graph.Value {
	out := make([]graph.Value, n)
	for i := range out {
		out[i] = graph.ListValue([]graph.Value{first(i), second(i)})
	}
	return graph.ListValue(out)
}

func partition(c *call) (graph.Value, error) {
	if c.int(1) < 1 {
		return null, c.failed("batchSize must be at least 1, is %d", c.int(1))
	}
	var out []graph.Value
	for part := range slices.Chunk(c.list(0), int(min(c.int(1), int64(len(c.list(0))+1)))) {
		out = append(out, graph.ListValue(part))
	}
	return graph.ListValue(out), nil
}

func split(c *call) (graph.Value, error) {
	var out []graph.Value
	rest := c.list(0)
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, func(v graph.Value) bool { return fn.Equivalent(v, c.args[1]) })
		if i < 0 {
			i = len(rest)
		}
		if i > 0 {
			out = append(out, graph.ListValue(rest[:i]))
		}
		rest = rest[min(i+1, len(rest)):]
	}
	return graph.ListValue(out), nil
}

func (c *call) inserted(values []graph.Value) (graph.Value, error) {
	i := c.int(1)
	if c.args[0].IsNull() || i < 0 || i > int64(len(c.list(0))) || c.args[2].IsNull() {
		return c.args[0], nil
	}
	return graph.ListValue(slices.Insert(slices.Clone(c.list(0)), int(i), values...)), nil
}

func combinations(c *call) (graph.Value, error) {
	list, least := c.list(0), c.int(1)
	most := c.intOr(2, -1)
	if most == -1 {
		most = least
	}
	out, cells := []graph.Value{}, int64(0)
	if least < 1 || least > most || most > int64(len(list)) {
		return graph.ListValue(out), nil
	}
	for n := int(least); n <= int(most); n++ {
		at := make([]int, n) // the places of the selection
		for i := range at {
			at[i] = i
		}
		for at != nil {
			part := make([]graph.Value, n)
			for i, k := range at {
				part[i] = list[k]
			}
			out, cells = append(out, graph.ListValue(part)), cells+int64(n)+1
			if err := c.room(cells); err != nil {
				return null, err
			}
			at = nextSelection(at, len(list))
		}
	}
	return graph.ListValue(out), nil
}

// nextSelection moves the places of a selection to the next one, or returns nil after the last.
func nextSelection(at []int, size int) []int {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i] < size-len(at)+i {
			at[i]++
			for k := i + 1; k < len(at); k++ {
				at[k] = at[k-1] + 1
			}
			return at
		}
	}
	return nil
}

// sortBy sorts maps or entities by keys: descending, or ascending after ^. A missing value is the smallest.
func (c *call) sortBy(keys []graph.Value) (graph.Value, error) {
	out := slices.Clone(c.list(0))
	var err error
	slices.SortStableFunc(out, func(a, b graph.Value) int {
		for _, k := range keys {
			if k.Kind() != graph.String || k.Str() == "" {
				err = c.failed("a key to sort by is %s", notation.Describe(k))
				return 0
			}
			name, up := strings.CutPrefix(k.Str(), "^")
			x, fault := fn.Index(a, text(name))
			y, fault2 := fn.Index(b, text(name))
			if fault != nil || fault2 != nil {
				err = c.failed("there are no properties to sort by")
				return 0
			}
			if d := nullsFirst(x, y); d != 0 {
				return map[bool]int{true: d, false: -d}[up]
			}
		}
		return 0
	})
	if err != nil {
		return null, err
	}
	return graph.ListValue(out), nil
}

func nullsFirst(x, y graph.Value) int {
	switch {
	case x.IsNull() && y.IsNull():
		return 0
	case x.IsNull():
		return -1
	case y.IsNull():
		return 1
	}
	return fn.Order(x, y)
}

func sortMulti(c *call) (graph.Value, error) {
	v, err := c.sortBy(c.list(1))
	if err != nil {
		return null, err
	}
	list := v.List()
	list = list[min(max(c.intOr(3, 0), 0), int64(len(list))):]
	if n := c.intOr(2, -1); n >= 0 {
		list = list[:min(n, int64(len(list)))]
	}
	return graph.ListValue(list), nil
}

// below returns a random number from 0 to n-1.
func (c *call) below(n int) int { return int(c.Random() % uint64(n)) }

func (c *call) shuffled() []graph.Value {
	out := slices.Clone(c.list(0))
	for i := len(out) - 1; i > 0; i-- {
		k := c.below(i + 1)
		out[i], out[k] = out[k], out[i]
	}
	return out
}

func randomItems(c *call) (graph.Value, error) {
	n := max(c.int(1), 0)
	if len(c.list(0)) == 0 || !c.boolOr(2, false) {
		list := c.shuffled()
		return graph.ListValue(list[:min(n, int64(len(list)))]), nil
	}
	if err := c.room(n); err != nil {
		return null, err
	}
	out := make([]graph.Value, n)
	for i := range out {
		out[i] = c.list(0)[c.below(len(c.list(0)))]
	}
	return graph.ListValue(out), nil
}
