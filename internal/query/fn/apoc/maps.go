package apoc

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fn"
)

var mapFunctions = []fn.Function{
	strict("apoc.map.fromPairs(pairs :: LIST<LIST<ANY>>) :: MAP", "A map of pairs of keys and values.", func(c *call) (graph.Value, error) {
		return c.merged(nil, 0, pairs)
	}),
	strict("apoc.map.fromLists(keys :: LIST<STRING>, values :: LIST<ANY>) :: MAP", "A map of keys and the values at the same places.", func(c *call) (graph.Value, error) {
		return c.fromLists(nil, 0)
	}),
	strict("apoc.map.fromValues(values :: LIST<ANY>) :: MAP", "A map of keys and values in turn.", func(c *call) (graph.Value, error) {
		return c.merged(nil, 0, turns)
	}),
	loose("apoc.map.merge(map1 :: MAP, map2 :: MAP) :: MAP", "The entries of both maps; for equal keys those of the second.", func(c *call) (graph.Value, error) {
		return mergeMaps(c.args...), nil
	}),
	strict("apoc.map.mergeList(maps :: LIST<MAP>) :: MAP", "The entries of all maps; for equal keys those of the last.", func(c *call) (graph.Value, error) {
		for _, m := range c.list(0) {
			if m.Kind() != graph.Map && !m.IsNull() {
				return null, c.failed("the list has %s, not a Map", notation.Describe(m))
			}
		}
		return mergeMaps(c.list(0)...), nil
	}),
	loose("apoc.map.setKey(map :: MAP, key :: STRING, value :: ANY) :: MAP", "The map with a value for a key.", setKey),
	loose("apoc.map.setEntry(map :: MAP, key :: STRING, value :: ANY) :: MAP", "The map with a value for a key.", setKey),
	strict("apoc.map.setPairs(map :: MAP, pairs :: LIST<LIST<ANY>>) :: MAP", "The map with the values of pairs of keys and values.", func(c *call) (graph.Value, error) {
		return c.merged(c.args[0].Map(), 1, pairs)
	}),
	strict("apoc.map.setLists(map :: MAP, keys :: LIST<STRING>, values :: LIST<ANY>) :: MAP", "The map with values for keys.", func(c *call) (graph.Value, error) {
		return c.fromLists(c.args[0].Map(), 1)
	}),
	strict("apoc.map.setValues(map :: MAP, pairs :: LIST<ANY>) :: MAP", "The map with keys and values in turn.", func(c *call) (graph.Value, error) {
		return c.merged(c.args[0].Map(), 1, turns)
	}),
	strict("apoc.map.removeKey(map :: MAP, key :: STRING [, config :: MAP]) :: MAP", "The map without a key; with {recursive: true} also within its values.",
		func(c *call) (graph.Value, error) {
			return removeKeys(c.args[0], []string{c.text(1)}, recursive(c.args[2])), nil
		}),
	strict("apoc.map.removeKeys(map :: MAP, keys :: LIST<STRING> [, config :: MAP]) :: MAP", "The map without some keys; with {recursive: true} also within its values.",
		func(c *call) (graph.Value, error) {
			keys, err := c.texts(1)
			return removeKeys(c.args[0], keys, recursive(c.args[2])), err
		}),
	loose("apoc.map.clean(map :: MAP, keys :: LIST<STRING>, values :: LIST<ANY>) :: MAP", "The map without some keys, some values and nulls.", cleanMap),
	strict("apoc.map.get(map :: MAP, key :: STRING [, value :: ANY, fail :: BOOLEAN]) :: ANY",
		"The value of a key, or else a default; an error without one, unless fail is false.",
		func(c *call) (graph.Value, error) { return c.get(c.text(1), c.args[2], c.boolOr(3, true)) }),
	strict("apoc.map.mget(map :: MAP, keys :: LIST<STRING> [, values :: LIST<ANY>, fail :: BOOLEAN]) :: LIST<ANY>",
		"The values of keys, or else defaults at the same places; an error without one, unless fail is false.", func(c *call) (graph.Value, error) {
			m, err := c.submap()
			out := make([]graph.Value, len(m))
			for i, e := range m {
				out[i] = e.Value
			}
			return graph.ListValue(out), err
		}),
	strict("apoc.map.submap(map :: MAP, keys :: LIST<STRING> [, values :: LIST<ANY>, fail :: BOOLEAN]) :: MAP",
		"The entries of keys, or else with defaults at the same places; an error without one, unless fail is false.", func(c *call) (graph.Value, error) {
			m, err := c.submap()
			var out entries
			for _, e := range m {
				out.set(e.Key, e.Value)
			}
			return out.value(), err
		}),
	strict("apoc.map.values(map :: MAP [, keys :: LIST<STRING>, addNullsForMissing :: BOOLEAN]) :: LIST<ANY>", "The values of keys that the map has, or null for those it lacks.", mapValues),
	reading(loose("apoc.map.groupBy(values :: LIST<ANY>, key :: STRING) :: MAP", "The maps or entities of a list by the text of a property; for equal ones the last.",
		func(c *call) (graph.Value, error) {
			var out entries
			err := c.group(func(key string, v graph.Value) { out.set(key, v) })
			return out.value(), err
		})),
	reading(loose("apoc.map.groupByMulti(values :: LIST<ANY>, key :: STRING) :: MAP", "Lists of the maps or entities of a list, by the text of a property.", groupByMulti)),
	strict("apoc.map.sortedProperties(map :: MAP [, ignoreCase :: BOOLEAN]) :: LIST<LIST<ANY>>", "Pairs of keys and values in the order of the keys.", sortedProperties),
	strict("apoc.map.flatten(map :: MAP [, delimiter :: STRING]) :: MAP", "The map with the entries of the maps in it, their keys joined by a delimiter.", func(c *call) (graph.Value, error) {
		var out entries
		flattenMap(&out, "", c.textOr(1, "."), c.args[0].Map())
		return out.value(), nil
	}),
	strict("apoc.map.unflatten(map :: MAP [, delimiter :: STRING]) :: MAP", "The map with maps for keys that a delimiter parts.", func(c *call) (graph.Value, error) {
		return unflatten(c.args[0].Map(), c.textOr(1, ".")), nil
	}),
}

// entries builds a map.
type entries struct {
	list []graph.MapEntry
	at   map[string]int
}

func (e *entries) set(key string, v graph.Value) {
	if e.at == nil {
		e.at = map[string]int{}
	}
	if i, ok := e.at[key]; ok {
		e.list[i].Value = v
		return
	}
	e.at[key] = len(e.list)
	e.list = append(e.list, graph.MapEntry{Key: key, Value: v})
}

func (e *entries) value() graph.Value { return graph.MapValue(e.list) }

func mergeMaps(maps ...graph.Value) graph.Value {
	var out entries
	for _, m := range maps {
		for _, e := range m.Map() {
			out.set(e.Key, e.Value)
		}
	}
	return out.value()
}

// pairs takes lists of keys and values apart.
func pairs(list []graph.Value) ([]graph.Value, []graph.Value, bool) {
	var keys, values []graph.Value
	for _, p := range list {
		if p.IsNull() {
			continue
		}
		if p.Kind() != graph.List || len(p.List()) != 2 {
			return nil, nil, false
		}
		keys, values = append(keys, p.List()[0]), append(values, p.List()[1])
	}
	return keys, values, true
}

// turns takes keys and values in turn apart.
func turns(list []graph.Value) ([]graph.Value, []graph.Value, bool) {
	var keys, values []graph.Value
	for kv := range slices.Chunk(list, 2) {
		if len(kv) == 1 {
			return nil, nil, false
		}
		keys, values = append(keys, kv[0]), append(values, kv[1])
	}
	return keys, values, true
}

// merged returns a map with the keys and values of an argument.
func (c *call) merged(m []graph.MapEntry, arg int, apart func([]graph.Value) (keys, values []graph.Value, ok bool)) (graph.Value, error) {
	keys, values, ok := apart(c.list(arg))
	if !ok {
		return null, c.failed("a key has no value")
	}
	return mapOf(m, keys, values), nil
}

func (c *call) fromLists(m []graph.MapEntry, arg int) (graph.Value, error) {
	if len(c.list(arg)) != len(c.list(arg+1)) {
		return null, c.failed("there are %d keys and %d values", len(c.list(arg)), len(c.list(arg+1)))
	}
	return mapOf(m, c.list(arg), c.list(arg+1)), nil
}

// mapOf adds keys, as text, and values to a map. A null key has no entry.
func mapOf(m []graph.MapEntry, keys, values []graph.Value) graph.Value {
	var out entries
	for _, e := range m {
		out.set(e.Key, e.Value)
	}
	for i, k := range keys {
		if !k.IsNull() {
			out.set(plain(k), values[i])
		}
	}
	return out.value()
}

func setKey(c *call) (graph.Value, error) {
	if c.args[1].IsNull() {
		return c.args[0], nil
	}
	return mapOf(c.args[0].Map(), c.args[1:2], c.args[2:3]), nil
}

func recursive(config graph.Value) bool {
	if config.IsNull() {
		return false
	}
	r := config.Get("recursive")
	return r.Kind() == graph.Bool && r.Bool()
}

// removeKeys removes keys. Recursively, it also removes what is then empty.
func removeKeys(m graph.Value, keys []string, deep bool) graph.Value {
	out := []graph.MapEntry{}
	for _, e := range m.Map() {
		if slices.Contains(keys, e.Key) {
			continue
		}
		if deep {
			var empty bool
			if e.Value, empty = removeWithin(e.Value, keys); empty {
				continue
			}
		}
		out = append(out, e)
	}
	return graph.MapValue(out)
}

func removeWithin(v graph.Value, keys []string) (_ graph.Value, empty bool) {
	switch v.Kind() {
	case graph.Map:
		v = removeKeys(v, keys, true)
		return v, len(v.Map()) == 0
	case graph.List:
		list := []graph.Value{}
		for _, e := range v.List() {
			if e.Kind() == graph.Map {
				if e = removeKeys(e, keys, true); len(e.Map()) == 0 {
					continue
				}
			}
			list = append(list, e)
		}
		return graph.ListValue(list), len(list) == 0
	}
	return v, false
}

func cleanMap(c *call) (graph.Value, error) {
	if c.args[0].IsNull() {
		return null, nil
	}
	keys, values := bagOf(c.list(1)), bagOf(c.list(2))
	out := []graph.MapEntry{}
	for _, e := range c.args[0].Map() {
		if !e.Value.IsNull() && !keys.has(text(e.Key)) && !values.has(e.Value) {
			out = append(out, e)
		}
	}
	return graph.MapValue(out), nil
}

// get returns the value of a key of the first argument, or else a default.
func (c *call) get(key string, missing graph.Value, fail bool) (graph.Value, error) {
	m := c.args[0].Map()
	i := slices.IndexFunc(m, func(e graph.MapEntry) bool { return e.Key == key })
	switch {
	case i >= 0:
		return m[i].Value, nil
	case fail && missing.IsNull():
		return null, c.failed("the map has no key %q", key)
	}
	return missing, nil
}

func (c *call) submap() ([]graph.MapEntry, error) {
	keys, err := c.texts(1)
	if err != nil {
		return nil, err
	}
	out := make([]graph.MapEntry, len(keys))
	for i, k := range keys {
		v, err := c.get(k, at(c.list(2), 0)(i), c.boolOr(3, true))
		if err != nil {
			return nil, err
		}
		out[i] = graph.MapEntry{Key: k, Value: v}
	}
	return out, nil
}

func mapValues(c *call) (graph.Value, error) {
	keys, err := c.texts(1)
	out := []graph.Value{}
	for _, k := range keys {
		i := slices.IndexFunc(c.args[0].Map(), func(e graph.MapEntry) bool { return e.Key == k })
		switch {
		case i >= 0:
			out = append(out, c.args[0].Map()[i].Value)
		case c.boolOr(2, false):
			out = append(out, null)
		}
	}
	return graph.ListValue(out), err
}

// group calls f with the elements of the first argument that have a property, and its text.
func (c *call) group(f func(key string, v graph.Value)) error {
	for _, v := range c.list(0) {
		k, err := fn.Index(v, c.args[1])
		if err != nil {
			return err
		}
		if !k.IsNull() {
			f(plain(k), v)
		}
	}
	return nil
}

func groupByMulti(c *call) (graph.Value, error) {
	groups := map[string][]graph.Value{}
	var order []string
	err := c.group(func(key string, v graph.Value) {
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], v)
	})
	out := make([]graph.MapEntry, len(order))
	for i, key := range order {
		out[i] = graph.MapEntry{Key: key, Value: graph.ListValue(groups[key])}
	}
	return graph.MapValue(out), err
}

func sortedProperties(c *call) (graph.Value, error) {
	m := slices.Clone(c.args[0].Map())
	slices.SortStableFunc(m, func(a, b graph.MapEntry) int {
		if c.boolOr(1, true) {
			return strings.Compare(strings.ToLower(a.Key), strings.ToLower(b.Key))
		}
		return strings.Compare(a.Key, b.Key)
	})
	out := make([]graph.Value, len(m))
	for i, e := range m {
		out[i] = graph.ListValue([]graph.Value{text(e.Key), e.Value})
	}
	return graph.ListValue(out), nil
}

func flattenMap(out *entries, prefix, delimiter string, m []graph.MapEntry) {
	for _, e := range m {
		if e.Value.Kind() == graph.Map {
			flattenMap(out, prefix+e.Key+delimiter, delimiter, e.Value.Map())
			continue
		}
		out.set(prefix+e.Key, e.Value)
	}
}

func unflatten(m []graph.MapEntry, delimiter string) graph.Value {
	if delimiter == "" {
		delimiter = "."
	}
	inner := map[string][]graph.MapEntry{}
	var out entries
	for _, e := range m {
		first, rest, ok := strings.Cut(e.Key, delimiter)
		if !ok {
			out.set(e.Key, e.Value)
			continue
		}
		inner[first] = append(inner[first], graph.MapEntry{Key: rest, Value: e.Value})
		out.set(first, null)
	}
	for i := range out.list {
		if part, ok := inner[out.list[i].Key]; ok {
			out.list[i].Value = unflatten(part, delimiter)
		}
	}
	return out.value()
}
