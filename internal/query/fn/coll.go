package fn

import (
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// collFunctions are Cypher 25's functions of lists. A null list gives null.
var collFunctions = []Function{
	{
		Name: "coll.distinct", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: List | Null,
		Signature: "coll.distinct(list :: LIST<ANY>) :: LIST<ANY>", Description: "The elements without those that equal one before them.",
		Eval: onListOf("coll.distinct", distinctOf),
	},
	{
		Name: "coll.flatten", MinArgs: 1, MaxArgs: 2, Deterministic: true,
		Args: []Kinds{List, Integer}, Result: List | Null,
		Signature:   "coll.flatten(list :: LIST<ANY> [, depth :: INTEGER]) :: LIST<ANY>",
		Description: "The list with the elements of the lists in it in their place, one level deep or as many as depth says.",
		Eval: onListOf("coll.flatten", func(c *Context, l, args []graph.Value) (graph.Value, error) {
			depth := 1
			if len(args) > 0 {
				if args[0].IsNull() {
					return null, nil
				}
				var err error
				if depth, err = countArg("coll.flatten", args[0]); err != nil {
					return null, err
				}
			}
			out, err := flatten(c, nil, l, depth)
			return graph.ListValue(out), err
		}),
	},
	{
		Name: "coll.indexOf", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Args: []Kinds{List}, Result: Integer | Null,
		Signature: "coll.indexOf(list :: LIST<ANY>, value :: ANY) :: INTEGER", Description: "The place of the first element that equals a value, or -1.",
		Eval: onList("coll.indexOf", func(l, args []graph.Value) (graph.Value, error) {
			if args[0].IsNull() {
				return null, nil
			}
			return graph.IntValue(int64(slices.IndexFunc(l, func(v graph.Value) bool { return Equal(v, args[0]) == True }))), nil
		}),
	},
	{
		Name: "coll.insert", MinArgs: 3, MaxArgs: 3, Inserts: 2, Deterministic: true,
		Args: []Kinds{List, Integer}, Result: List | Null,
		Signature:   "coll.insert(list :: LIST<ANY>, index :: INTEGER, value :: ANY) :: LIST<ANY>",
		Description: "The list with a value put before the element at index.",
		Eval: onList("coll.insert", func(l, args []graph.Value) (graph.Value, error) {
			i, ok, err := placeArg("coll.insert", args[0], len(l))
			if !ok {
				return null, err
			}
			return graph.ListValue(slices.Insert(slices.Clone(l), i, args[1])), nil
		}),
	},
	{
		Name: "coll.max", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: Any,
		Signature: "coll.max(list :: LIST<ANY>) :: ANY", Description: "The largest element but null, in the order of ORDER BY; null if there is none.",
		Eval: onList("coll.max", func(l, _ []graph.Value) (graph.Value, error) { return extreme(l, 1), nil }),
	},
	{
		Name: "coll.min", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: Any,
		Signature: "coll.min(list :: LIST<ANY>) :: ANY", Description: "The smallest element, in the order of ORDER BY; null if there is none.",
		Eval: onList("coll.min", func(l, _ []graph.Value) (graph.Value, error) { return extreme(l, -1), nil }),
	},
	{
		Name: "coll.remove", MinArgs: 2, MaxArgs: 2, Deterministic: true,
		Args: []Kinds{List, Integer}, Result: List | Null,
		Signature: "coll.remove(list :: LIST<ANY>, index :: INTEGER) :: LIST<ANY>", Description: "The list without the element at index.",
		Eval: onList("coll.remove", func(l, args []graph.Value) (graph.Value, error) {
			i, ok, err := placeArg("coll.remove", args[0], len(l)-1)
			if !ok {
				return null, err
			}
			return graph.ListValue(slices.Delete(slices.Clone(l), i, i+1)), nil
		}),
	},
	{
		Name: "coll.sort", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{List}, Result: List | Null,
		Signature: "coll.sort(list :: LIST<ANY>) :: LIST<ANY>", Description: "The elements in the order of ORDER BY.",
		Eval: onListOf("coll.sort", sorted),
	},
}

// sorted returns the elements of a list in the order of values.
func sorted(c *Context, l, _ []graph.Value) (graph.Value, error) {
	l = slices.Clone(l)
	return graph.ListValue(l), sortValues(c, l)
}

// distinctOf returns the elements of a list without those that equal one before them.
func distinctOf(c *Context, l, _ []graph.Value) (graph.Value, error) {
	seen := map[uint64][]graph.Value{}
	out := make([]graph.Value, 0, len(l))
	for i, v := range l {
		if i&0xfff == 0xfff {
			if err := c.Alive(); err != nil {
				return null, err
			}
		}
		h := Hash(v)
		if !slices.ContainsFunc(seen[h], func(o graph.Value) bool { return Equivalent(v, o) }) {
			seen[h], out = append(seen[h], v), append(out, v)
		}
	}
	return graph.ListValue(out), nil
}

// onList makes a function of a list and further arguments that returns null for a null list.
func onList(name string, f func(l, args []graph.Value) (graph.Value, error)) eval {
	return onListOf(name, func(_ *Context, l, args []graph.Value) (graph.Value, error) { return f(l, args) })
}

// onListOf is onList for a function that may take long.
func onListOf(name string, f func(c *Context, l, args []graph.Value) (graph.Value, error)) eval {
	return func(c *Context, args []graph.Value) (graph.Value, error) {
		if args[0].IsNull() {
			return null, nil
		}
		l, err := listArg(name, args[0])
		if err != nil {
			return null, err
		}
		return f(c, l, args[1:])
	}
}

// placeArg takes an index from 0 to most; null is not ok, without an error.
func placeArg(name string, v graph.Value, most int) (i int, ok bool, err error) {
	if v.IsNull() {
		return 0, false, nil
	}
	if i, err = countArg(name, v); err == nil && i > most {
		err = badNumber(name, v, "an index within the list")
	}
	return i, err == nil, err
}

// flatten appends l with the lists in it opened to a depth.
func flatten(c *Context, dst, l []graph.Value, depth int) (_ []graph.Value, err error) {
	if len(l) > 1<<10 {
		if err := c.Alive(); err != nil {
			return nil, err
		}
	}
	for _, v := range l {
		if depth > 0 && v.Kind() == graph.List {
			if dst, err = flatten(c, dst, v.List(), depth-1); err != nil {
				return nil, err
			}
		} else {
			dst = append(dst, v)
		}
	}
	if most := c.MostCells(); int64(len(dst)) > most {
		return nil, graph.BudgetError("coll.flatten() would make a list of more than %d elements", most)
	}
	return dst, nil
}

// extreme returns the last (sign 1) or first (-1) element in the order of values, ignoring nulls.
func extreme(l []graph.Value, sign int) graph.Value {
	best := null
	for _, v := range l {
		if !v.IsNull() && (best.IsNull() || sign*Order(v, best) > 0) {
			best = v
		}
	}
	return best
}
