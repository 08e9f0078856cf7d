package procedure

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// addRefactor adds APOC's procedures that make one node or relationship of several.
func (r *Registry) addRefactor() {
	r.addWrite("apoc.refactor.mergeNodes(nodes :: LIST<NODE>, config = {} :: MAP) :: (node :: NODE)",
		"Merge nodes into the first: their labels, properties and relationships move to it, and they are deleted.", mergeNodes)
	r.addWrite("apoc.refactor.mergeRelationships(rels :: LIST<RELATIONSHIP>, config = {} :: MAP) :: (rel :: RELATIONSHIP)",
		"Merge relationships between the same nodes into the first: their properties move to it, and they are deleted.", mergeRelationships)
}

// mergeConfig says how elements are merged.
type mergeConfig struct {
	eval          *fn.Context
	modes         []mergeMode // of properties; the first that matches counts
	given         bool        // modes come from the caller
	mergeRels     bool        // relationships of one type between the same nodes become one
	produceSelf   bool        // relationships between the nodes become relationships of the first with itself
	preserveSelf  bool        // those that it had before stay as they are
	singleAsArray bool        // combined values are a list even if there is one
}

// mergeMode says what becomes of the properties whose keys match: combine, discard or overwrite.
type mergeMode struct {
	keys *regexp.Regexp
	mode string
}

func newMergeConfig(c *exec.Call, name string) (*mergeConfig, error) {
	x := &mergeConfig{eval: c.Run.Env.Fn, produceSelf: true, preserveSelf: true}
	config, err := properties(name, "config", c.Args[1])
	if err != nil {
		return nil, err
	}
	flags := map[string]*bool{
		"mergeRels": &x.mergeRels, "produceSelfRel": &x.produceSelf, "preserveExistingSelfRels": &x.preserveSelf, "singleElementAsArray": &x.singleAsArray,
	}
	for _, e := range config.Map() {
		switch to := flags[e.Key]; {
		case e.Value.IsNull():
		case e.Key == "properties":
			if err := x.setModes(name, e.Value); err != nil {
				return nil, err
			}
		case to == nil:
			return nil, fn.CallFailed("%s: there is no %s; there are mergeRels, preserveExistingSelfRels, produceSelfRel, properties and singleElementAsArray", name, e.Key)
		case e.Value.Kind() != graph.Bool:
			return nil, badArgument(name, e.Key, "a boolean", e.Value)
		default:
			*to = e.Value.Bool()
		}
	}
	return x, nil
}

// setModes reads the entry properties: a mode, or a map from patterns of keys to modes, of which .* counts last.
func (x *mergeConfig) setModes(name string, v graph.Value) error {
	const all = ".*"
	x.given = true
	entries := v.Map
	if v.Kind() == graph.String {
		entries = func() []graph.MapEntry { return []graph.MapEntry{{Key: all, Value: v}} }
	} else if v.Kind() != graph.Map {
		return badArgument(name, "properties", "combine, discard, overwrite, or a map from keys to these", v)
	}
	for _, last := range []bool{false, true} {
		for _, e := range entries() {
			if (e.Key == all) != last {
				continue
			}
			keys, err := regexp.Compile("^(?:" + e.Key + ")$")
			if err != nil {
				return fn.CallFailed("%s: properties: %v", name, err)
			}
			m := mergeMode{keys: keys}
			if e.Value.Kind() == graph.String {
				m.mode = strings.ToLower(e.Value.Str())
			}
			if !slices.Contains([]string{"combine", "discard", "overwrite", "override"}, m.mode) {
				return badArgument(name, "properties", "combine, discard or overwrite", e.Value)
			}
			x.modes = append(x.modes, m)
		}
	}
	return nil
}

// mode returns what becomes of a property.
func (x *mergeConfig) mode(key string, ofRel bool) string {
	if ofRel && !x.given {
		return "combine"
	}
	for _, m := range x.modes {
		if m.keys.MatchString(key) {
			return m.mode
		}
	}
	return "overwrite"
}

// mergedProps are the properties of an element, with those that have changed.
type mergedProps struct{ all, changed []graph.MapEntry }

func put(m []graph.MapEntry, key string, v graph.Value) []graph.MapEntry {
	if i := slices.IndexFunc(m, func(e graph.MapEntry) bool { return e.Key == key }); i >= 0 {
		m[i].Value = v
		return m
	}
	return append(m, graph.MapEntry{Key: key, Value: v})
}

// merge adds the properties of another element to m.
func (x *mergeConfig) merge(m *mergedProps, from []graph.MapEntry, ofRel bool) error {
	for _, e := range from {
		i := slices.IndexFunc(m.all, func(have graph.MapEntry) bool { return have.Key == e.Key })
		v := e.Value
		if i >= 0 {
			switch x.mode(e.Key, ofRel) {
			case "discard":
				continue
			case "combine":
				var err error
				if v, err = x.combine(m.all[i].Value, v); err != nil {
					return err
				}
			}
		}
		m.all, m.changed = put(m.all, e.Key, v), put(m.changed, e.Key, v)
	}
	return nil
}

// combine returns the different values of both: one, or a list, which has texts if they have several types.
func (x *mergeConfig) combine(a, b graph.Value) (graph.Value, error) {
	list := slices.Concat(listOf(a), listOf(b))
	set, _ := fn.Lookup("apoc.coll.toSet")
	v, err := set.Eval(x.eval, []graph.Value{graph.ListValue(list)})
	if err != nil {
		return v, err
	}
	if list = v.List(); len(list) == 1 && !x.singleAsArray {
		return list[0], nil
	}
	if !slices.ContainsFunc(list, func(e graph.Value) bool { return e.Kind() != list[0].Kind() }) {
		return v, nil
	}
	texts, _ := fn.Lookup("toStringList")
	return texts.Eval(x.eval, []graph.Value{v})
}

func listOf(v graph.Value) []graph.Value {
	if v.Kind() == graph.List {
		return v.List()
	}
	return []graph.Value{v}
}

// mergedRel is a relationship after a merge.
type mergedRel struct {
	rel      graph.Value
	typ      string
	src, dst graph.VertexID
	moved    bool // it is deleted and created again
	props    mergedProps
}

// nodeMerge is a call of mergeNodes.
type nodeMerge struct {
	*mergeConfig
	c       *exec.Call
	target  graph.VertexID
	sources []graph.Value // ids of the other nodes
	labels  []graph.Value
	props   mergedProps
	rels    []mergedRel
	drop    []graph.Value // relationships of the target
}

const mergeNodesName = "apoc.refactor.mergeNodes"

func mergeNodes(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	m := &nodeMerge{c: c}
	var err error
	if m.mergeConfig, err = newMergeConfig(c, mergeNodesName); err != nil || c.Args[0].IsNull() {
		return nil, err
	}
	ids, err := checkedIDs(c.Args[0])
	if err != nil {
		return nil, err
	}
	if some, err := m.readNodes(ctx, ids); !some || err != nil {
		return nil, err
	}
	if len(m.sources) > 0 {
		if err := m.readRels(ctx); err != nil {
			return nil, err
		}
		if err := m.write(ctx); err != nil {
			return nil, err
		}
	}
	return c.Statement(ctx, "MATCH (n) WHERE id(n) = $id SET n:$($labels) SET n += $props RETURN n", map[string]graph.Value{
		"id": graph.IntValue(int64(m.target)), "labels": graph.ListValue(m.labels), "props": graph.MapValue(m.props.changed),
	})
}

// checkedIDs returns the ids of nodes as values, each once.
func checkedIDs(nodes graph.Value) ([]graph.Value, error) {
	ids, err := vertexIDs(mergeNodesName, "nodes", nodes)
	var out []graph.Value
	for i, id := range ids {
		if !slices.Contains(ids[:i], id) {
			out = append(out, graph.IntValue(int64(id)))
		}
	}
	return out, err
}

// readNodes merges the nodes in their order. Those that are no more, such as ones that an earlier call has merged, are left out; it reports
// false if none is left.
func (m *nodeMerge) readNodes(ctx context.Context, ids []graph.Value) (bool, error) {
	rows, err := m.c.Statement(ctx, "UNWIND range(0, size($ids) - 1) AS i MATCH (n) WHERE id(n) = $ids[i] RETURN i, id(n), labels(n), properties(n) ORDER BY i",
		map[string]graph.Value{"ids": graph.ListValue(ids)})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	m.target, m.props.all = graph.VertexID(rows[0][1].Int()), slices.Clone(rows[0][3].Map())
	for _, row := range rows[1:] {
		m.sources = append(m.sources, row[1])
		m.labels = append(m.labels, row[2].List()...)
		if err := m.merge(&m.props, row[3].Map(), false); err != nil {
			return false, err
		}
	}
	return true, nil
}

// readRels decides what becomes of the relationships of the nodes, those of the first node first.
func (m *nodeMerge) readRels(ctx context.Context) error {
	ids := append([]graph.Value{graph.IntValue(int64(m.target))}, m.sources...)
	rows, err := m.c.Statement(ctx, "UNWIND range(0, size($ids) - 1) AS i MATCH (n) WHERE id(n) = $ids[i] MATCH (n)-[r]-() "+
		"RETURN r, min(i) AS i, type(r), properties(r) ORDER BY i, id(r)", map[string]graph.Value{"ids": graph.ListValue(ids)})
	if err != nil {
		return err
	}
	sources := map[graph.VertexID]bool{}
	for _, id := range m.sources {
		sources[graph.VertexID(id.Int())] = true
	}
	type ends struct {
		src, dst graph.VertexID
		typ      graph.TypeID
	}
	at := map[ends]int{}
	for _, row := range rows {
		e := row[0].Edge()
		n := mergedRel{rel: row[0], typ: row[2].Str(), src: e.Src, dst: e.Dst, props: mergedProps{all: slices.Clone(row[3].Map())}}
		for _, end := range []*graph.VertexID{&n.src, &n.dst} {
			if sources[*end] {
				*end, n.moved = m.target, true
			}
		}
		self := n.src == n.dst
		if self && !n.moved && (!m.mergeRels || m.preserveSelf) {
			continue
		}
		key := ends{n.src, n.dst, e.Type}
		first, merges := at[key]
		switch {
		case self && !m.produceSelf:
		case merges && m.mergeRels:
			if err := m.merge(&m.rels[first].props, n.props.all, true); err != nil {
				return err
			}
		default:
			at[key] = len(m.rels)
			m.rels = append(m.rels, n)
			continue
		}
		if !n.moved {
			m.drop = append(m.drop, n.rel)
		}
	}
	return nil
}

// write deletes the other nodes, and changes and creates relationships.
func (m *nodeMerge) write(ctx context.Context) error {
	var changed, created []graph.Value
	entry := func(key string, v graph.Value) graph.MapEntry { return graph.MapEntry{Key: key, Value: v} }
	for i := range m.rels {
		switch r := &m.rels[i]; {
		case r.moved:
			created = append(created, graph.MapValue([]graph.MapEntry{
				entry("src", graph.IntValue(int64(r.src))), entry("dst", graph.IntValue(int64(r.dst))), entry("type", graph.StringValue(r.typ)),
				entry("props", graph.MapValue(r.props.all)),
			}))
		case len(r.props.changed) > 0:
			changed = append(changed, graph.MapValue([]graph.MapEntry{entry("rel", r.rel), entry("props", graph.MapValue(r.props.changed))}))
		}
	}
	for _, s := range []struct {
		list []graph.Value
		text string
	}{
		{m.drop, "UNWIND $list AS r DELETE r"},
		{changed, "UNWIND $list AS x WITH x.rel AS r, x.props AS props SET r += props"},
		{m.sources, "UNWIND $list AS id MATCH (n) WHERE id(n) = id DETACH DELETE n"},
		{created, "UNWIND $list AS x MATCH (a) WHERE id(a) = x.src MATCH (b) WHERE id(b) = x.dst CREATE (a)-[r:$(x.type)]->(b) SET r = x.props"},
	} {
		if len(s.list) == 0 {
			continue
		}
		if _, err := m.c.Statement(ctx, s.text, map[string]graph.Value{"list": graph.ListValue(s.list)}); err != nil {
			return err
		}
	}
	return nil
}

func mergeRelationships(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "apoc.refactor.mergeRelationships"
	x, err := newMergeConfig(c, name)
	if err != nil || c.Args[0].IsNull() {
		return nil, err
	}
	list, err := relationships(name, c.Args[0])
	if err != nil || len(list.List()) == 0 {
		return nil, err
	}
	rows, err := c.Statement(ctx, "UNWIND $rels AS r WITH DISTINCT r RETURN r, properties(r)", map[string]graph.Value{"rels": list})
	if err != nil {
		return nil, err
	}
	first, props, drop := rows[0][0], mergedProps{all: slices.Clone(rows[0][1].Map())}, []graph.Value{}
	for _, row := range rows[1:] {
		if a, b := first.Edge(), row[0].Edge(); a.Src != b.Src || a.Dst != b.Dst {
			return nil, fn.CallFailed("%s: all relationships must have the same start and end node", name)
		}
		drop = append(drop, row[0])
		if err := x.merge(&props, row[1].Map(), true); err != nil {
			return nil, err
		}
	}
	return c.Statement(ctx, "FOREACH (r IN $drop | DELETE r) WITH $rel AS r SET r += $props RETURN r",
		map[string]graph.Value{"rel": first, "drop": graph.ListValue(drop), "props": graph.MapValue(props.changed)})
}
