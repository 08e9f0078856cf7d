package procedure

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// addExpansions adds APOC's searches for paths, whose filters are values.
func (r *Registry) addExpansions() {
	r.addStream("apoc.path.expand(startNode :: ANY, relationshipFilter :: STRING, labelFilter :: STRING, minLevel :: INTEGER, maxLevel :: INTEGER) :: (path :: PATH)",
		"The paths from a start that filters let pass.",
		func(ctx context.Context, c *exec.Call) (exec.Stream, error) {
			var config []graph.MapEntry
			for i, key := range []string{"relationshipFilter", "labelFilter", "minLevel", "maxLevel"} {
				config = append(config, graph.MapEntry{Key: key, Value: c.Args[i+1]})
			}
			return newExpansion(ctx, c, "apoc.path.expand", graph.MapValue(config), (*expansion).pathRow)
		})
	for _, p := range []struct {
		name, result, description string
		row                       func(x *expansion, b *branch) graph.Value
	}{
		{"apoc.path.expandConfig", "path :: PATH", "The paths from a start that filters let pass.", (*expansion).pathRow},
		{"apoc.path.spanningTree", "path :: PATH", "A path to each node that paths from a start with filters reach.", (*expansion).pathRow},
		{"apoc.path.subgraphNodes", "node :: NODE", "The nodes that paths from a start with filters reach.", nil},
	} {
		r.addStream(p.name+"(startNode :: ANY, config :: MAP) :: ("+p.result+")", p.description,
			func(ctx context.Context, c *exec.Call) (exec.Stream, error) {
				return newExpansion(ctx, c, p.name, c.Args[1], p.row)
			})
	}
	r.add("apoc.path.subgraphAll(startNode :: ANY, config :: MAP) :: (nodes :: LIST<NODE>, relationships :: LIST<RELATIONSHIP>)",
		"The nodes that paths from a start with filters reach, and all relationships between these nodes.", subgraphAll)
}

// uniqueness says which paths a search leaves out because it has met their last node or relationship before.
type uniqueness struct {
	of    byte // 'n': nodes, 'r': relationships, 0: none is left out
	scope byte // 'g': in the whole search, 'l': at the same depth, 'p': on the path itself
}

var uniquenesses = map[string]uniqueness{
	"NODE_GLOBAL": {'n', 'g'}, "NODE_LEVEL": {'n', 'l'}, "NODE_PATH": {'n', 'p'},
	"RELATIONSHIP_GLOBAL": {'r', 'g'}, "RELATIONSHIP_LEVEL": {'r', 'l'}, "RELATIONSHIP_PATH": {'r', 'p'}, "NONE": {},
}

// pathConfig is the configuration of a search.
type pathConfig struct {
	c                                   *exec.Call
	steps                               []follow // one after the other, and again
	labels                              []labelFilter
	relationships, labelled, sequence   string // the filters as they were given
	endsOnly                            bool   // a label filter names ends, so that only these are returned
	afterStart                          bool   // the sequences begin after the first step
	filterStart                         bool
	least, most, limit                  int
	depthFirst, optional                bool
	unique                              uniqueness
	ends, terminators, allowed, refused []graph.VertexID // sorted
}

// pathOptions set the entries of a configuration. They return what an entry must be if it is not.
var pathOptions = map[string]func(x *pathConfig, v graph.Value) (want string){
	"relationshipFilter":   func(x *pathConfig, v graph.Value) string { return setText(&x.relationships, v) },
	"labelFilter":          func(x *pathConfig, v graph.Value) string { return setText(&x.labelled, v) },
	"sequence":             func(x *pathConfig, v graph.Value) string { return setText(&x.sequence, v) },
	"beginSequenceAtStart": func(x *pathConfig, v graph.Value) string { return setBool(&x.afterStart, false, v) },
	"bfs":                  func(x *pathConfig, v graph.Value) string { return setBool(&x.depthFirst, false, v) },
	"filterStartNode":      func(x *pathConfig, v graph.Value) string { return setBool(&x.filterStart, true, v) },
	"optional":             func(x *pathConfig, v graph.Value) string { return setBool(&x.optional, true, v) },
	"minLevel":             func(x *pathConfig, v graph.Value) string { return setLevel(&x.least, 0, v) },
	"maxLevel":             func(x *pathConfig, v graph.Value) string { return setLevel(&x.most, math.MaxInt, v) },
	"limit":                func(x *pathConfig, v graph.Value) string { return setLevel(&x.limit, math.MaxInt, v) },
	"endNodes":             func(x *pathConfig, v graph.Value) string { return setNodes(&x.ends, v) },
	"terminatorNodes":      func(x *pathConfig, v graph.Value) string { return setNodes(&x.terminators, v) },
	"allowlistNodes":       func(x *pathConfig, v graph.Value) string { return setNodes(&x.allowed, v) },
	"whitelistNodes":       func(x *pathConfig, v graph.Value) string { return setNodes(&x.allowed, v) },
	"denylistNodes":        func(x *pathConfig, v graph.Value) string { return setNodes(&x.refused, v) },
	"blacklistNodes":       func(x *pathConfig, v graph.Value) string { return setNodes(&x.refused, v) },
	"uniqueness": func(x *pathConfig, v graph.Value) string {
		var ok bool
		if v.Kind() == graph.String {
			x.unique, ok = uniquenesses[strings.ToUpper(v.Str())]
		}
		if !ok {
			return "one of " + strings.Join(slices.Sorted(maps.Keys(uniquenesses)), ", ")
		}
		return ""
	},
}

func setText(to *string, v graph.Value) string {
	if v.Kind() != graph.String {
		return "a String"
	}
	*to = strings.TrimSpace(v.Str())
	return ""
}

// setBool sets to whether v is the truth value if.
func setBool(to *bool, is bool, v graph.Value) string {
	if v.Kind() != graph.Bool {
		return "a Boolean"
	}
	*to = v.Bool() == is
	return ""
}

// setLevel sets a number; -1 is none.
func setLevel(to *int, none int, v graph.Value) string {
	n, ok := v.Whole()
	if !ok || n < -1 {
		return "an Integer from -1 on"
	}
	if *to = int(n); n < 0 {
		*to = none
	}
	return ""
}

func setNodes(to *[]graph.VertexID, v graph.Value) string {
	ids, err := vertexIDs("", "", v)
	if err != nil {
		return "nodes or their ids"
	}
	slices.Sort(ids)
	*to = ids
	return ""
}

// newPathConfig reads the configuration of a call.
func newPathConfig(c *exec.Call, name string, config graph.Value) (*pathConfig, error) {
	x := &pathConfig{c: c, most: math.MaxInt, limit: math.MaxInt, unique: uniquenesses["RELATIONSHIP_PATH"]}
	m, err := properties(name, "config", config)
	if err != nil {
		return nil, err
	}
	global := name != "apoc.path.expand" && name != "apoc.path.expandConfig"
	if global {
		x.unique = uniquenesses["NODE_GLOBAL"]
	}
	for _, e := range m.Map() {
		set := pathOptions[e.Key]
		if set == nil {
			return nil, fn.CallFailed("%s: there is no %s; there are %s", name, e.Key, strings.Join(slices.Sorted(maps.Keys(pathOptions)), ", "))
		}
		if e.Value.IsNull() {
			continue
		}
		want := set(x, e.Value)
		switch {
		case want != "":
		case global && e.Key == "minLevel" && x.least > 1:
			want = "-1, 0 or 1"
		case global && e.Key == "uniqueness" && x.unique != uniquenesses["NODE_GLOBAL"]:
			want = "NODE_GLOBAL"
		default:
			continue
		}
		return nil, fn.CallFailed("%s: %s must be %s, not %s", name, e.Key, want, notation.Describe(e.Value))
	}
	x.readFilters()
	return x, nil
}

// readFilters reads the filters, which are sequences of them with commas between. In sequence they take turns.
func (x *pathConfig) readFilters() {
	if x.sequence == "" {
		for step := range strings.SplitSeq(x.relationships, ",") {
			x.addStep(step)
		}
		if x.labelled != "" {
			for filter := range strings.SplitSeq(x.labelled, ",") {
				x.addLabels(filter)
			}
		}
		return
	}
	for i, part := range strings.Split(x.sequence, ",") {
		if (i%2 == 0) == x.afterStart {
			x.addStep(part)
		} else {
			x.addLabels(part)
		}
	}
	if len(x.steps) == 0 {
		x.addStep("")
	}
}

// follow says which edges a step follows.
type follow struct{ out, in edgeTypes }

// edgeTypes are types of edges.
type edgeTypes struct {
	all bool
	ids []graph.TypeID
}

func (t *edgeTypes) none() bool { return !t.all && len(t.ids) == 0 }

func (t *edgeTypes) has(typ graph.TypeID) bool { return t.all || slices.Contains(t.ids, typ) }

// addStep reads a filter of relationships: A|B>|<C, in which > and < alone mean all types.
func (x *pathConfig) addStep(filter string) {
	var f follow
	filter = strings.TrimSpace(filter)
	for part := range strings.SplitSeq(filter, "|") {
		if part = strings.TrimSpace(part); part == "" && filter != "" {
			continue
		}
		name, in := strings.CutPrefix(part, "<")
		name, out := strings.CutSuffix(name, ">")
		name = strings.TrimPrefix(name, ":")
		id, ok := x.c.Graph.Type(name)
		for _, d := range []struct {
			types *edgeTypes
			on    bool
		}{{&f.out, out || !in}, {&f.in, in || !out}} {
			switch {
			case !d.on:
			case name == "":
				*d.types = edgeTypes{all: true}
			case ok && !d.types.has(id):
				d.types.ids = append(d.types.ids, id)
			}
		}
	}
	slices.Sort(f.out.ids)
	slices.Sort(f.in.ids)
	x.steps = append(x.steps, f)
}

// step returns what the search follows from vertices at a depth.
func (x *pathConfig) step(depth int) *follow {
	repeated := x.steps
	if x.afterStart && len(repeated) > 1 {
		if depth == 0 {
			return &repeated[0]
		}
		repeated, depth = repeated[1:], depth-1
	}
	return &repeated[depth%len(repeated)]
}

// labelFilter is a filter of labels: +A (or A) may be passed, -B may not, >C is wanted, and at /D, which is wanted too, the search ends.
// :A:B are two labels of a vertex, and * is any label.
type labelFilter struct {
	wanted  [4][][]graph.LabelID // of each of labelSorts, sets of labels that a vertex must have
	passing bool                 // some labels may be passed, and others not
	sorts   map[graph.LabelSet]byte
}

// labelSorts are the sorts of filters, those that decide first to the left.
const labelSorts = "-/>+"

func (x *pathConfig) addLabels(filter string) {
	f := labelFilter{sorts: map[graph.LabelSet]byte{}}
	for part := range strings.SplitSeq(filter, "|") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		sort := strings.IndexByte(labelSorts, part[0])
		if sort >= 0 {
			part = part[1:]
		} else {
			sort = strings.IndexByte(labelSorts, '+')
		}
		f.passing = f.passing || labelSorts[sort] == '+'
		x.endsOnly = x.endsOnly || labelSorts[sort] == '/' || labelSorts[sort] == '>'
		if ids, ok := x.labelIDs(part); ok {
			f.wanted[sort] = append(f.wanted[sort], ids)
		}
	}
	x.labels = append(x.labels, f)
}

// labelIDs returns the labels of :A:B, or none for *; no vertex can have one that is unknown.
func (x *pathConfig) labelIDs(text string) ([]graph.LabelID, bool) {
	if text == "*" {
		return nil, true
	}
	const escaped = "\x00"
	var ids []graph.LabelID
	for name := range strings.SplitSeq(strings.TrimPrefix(strings.ReplaceAll(text, `\:`, escaped), ":"), ":") {
		id, ok := x.c.Graph.Label(strings.ReplaceAll(name, escaped, ":"))
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// sort returns which of labelSorts holds for vertices with some labels; 0: they may not be passed.
func (f *labelFilter) sort(g graph.Catalog, set graph.LabelSet) byte {
	sort, known := f.sorts[set]
	if known {
		return sort
	}
	labels := g.Labels(set)
	holds := func(ids []graph.LabelID) bool {
		return !slices.ContainsFunc(ids, func(l graph.LabelID) bool { return !slices.Contains(labels, l) })
	}
	if !f.passing {
		sort = '+'
	}
	for i, wanted := range f.wanted {
		if slices.ContainsFunc(wanted, holds) {
			sort = labelSorts[i]
			break
		}
	}
	f.sorts[set] = sort
	return sort
}

// judge says whether the search returns the path to a branch, and whether it goes on from it.
func (x *pathConfig) judge(b *branch) (include, on bool) {
	start, late := b.parent < 0, int(b.depth) >= x.least
	spared := start && !x.filterStart
	include, on = x.judgeLabels(b, spared || start && x.afterStart)
	if len(x.ends)+len(x.terminators) > 0 {
		end, stop := has(x.ends, b.at), has(x.terminators, b.at)
		include = include && !spared && (end || stop)
		on = on && (spared || !late || !stop)
	}
	if !spared && (has(x.refused, b.at) || len(x.allowed) > 0 && !has(x.allowed, b.at) && !has(x.ends, b.at) && !has(x.terminators, b.at)) {
		return false, false
	}
	return include && late, on && int(b.depth) < x.most
}

func (x *pathConfig) judgeLabels(b *branch, spared bool) (include, on bool) {
	if len(x.labels) == 0 || spared {
		return !x.endsOnly, true
	}
	depth := int(b.depth)
	if x.afterStart {
		depth--
	}
	switch x.labels[depth%len(x.labels)].sort(x.c.Graph, b.labels) {
	case '/':
		return true, int(b.depth) < x.least
	case '>':
		return true, true
	case '+':
		return !x.endsOnly, true
	}
	return false, false
}

// has reports whether a sorted list has a vertex.
func has(sorted []graph.VertexID, v graph.VertexID) bool {
	_, ok := slices.BinarySearch(sorted, v)
	return ok
}
