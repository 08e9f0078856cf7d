package procedure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/shard"
)

// addMeta adds APOC's procedures that describe a graph. They read counters and a sample, never the whole graph.
func (r *Registry) addMeta() {
	r.add("apoc.meta.data(config = {} :: MAP) :: (label :: STRING, property :: STRING, count :: INTEGER, unique :: BOOLEAN, index :: BOOLEAN, "+
		"existence :: BOOLEAN, type :: STRING, array :: BOOLEAN, sample :: LIST<ANY>?, left :: INTEGER, right :: INTEGER, other :: LIST<STRING>, "+
		"otherLabels :: LIST<STRING>, elementType :: STRING)", "The properties and relationships of each label and type, a row each.", metaData)
	r.add("apoc.meta.schema(config = {} :: MAP) :: (value :: MAP)", "The properties and relationships of each label and type, as a map.", metaSchema)
	r.add("apoc.meta.stats() :: (labelCount :: INTEGER, relTypeCount :: INTEGER, propertyKeyCount :: INTEGER, nodeCount :: INTEGER, "+
		"relCount :: INTEGER, labels :: MAP, relTypes :: MAP, relTypesCount :: MAP, stats :: MAP)", "The graph's counters.", metaStats)
	for _, name := range []string{"graph", "graphSample", "subGraph"} {
		r.add("apoc.meta."+name+"(config = {} :: MAP) :: (nodes :: LIST<NODE>, relationships :: LIST<RELATIONSHIP>)",
			"One node a label, and one relationship for each type between two labels, with their counts.", metaGraph)
	}
	r.add("apoc.meta.nodeTypeProperties(config = {} :: MAP) :: (nodeType :: STRING, nodeLabels :: LIST<STRING>, propertyName :: STRING, "+
		"propertyTypes :: LIST<STRING>, mandatory :: BOOLEAN, propertyObservations :: INTEGER, totalObservations :: INTEGER)",
		"The properties of each label.", metaNodeProperties)
	r.add("apoc.meta.relTypeProperties(config = {} :: MAP) :: (relType :: STRING, sourceNodeLabels :: LIST<STRING>, targetNodeLabels :: LIST<STRING>, "+
		"propertyName :: STRING, propertyTypes :: LIST<STRING>, mandatory :: BOOLEAN, propertyObservations :: INTEGER, totalObservations :: INTEGER)",
		"The properties of each relationship type.", metaRelProperties)
	r.add("apoc.schema.nodes(config = {} :: MAP) :: (name :: STRING, label :: ANY, properties :: LIST<STRING>, status :: STRING, type :: STRING, "+
		"failure :: STRING, populationProgress :: FLOAT, size :: INTEGER, valuesSelectivity :: FLOAT, userDescription :: STRING)",
		"List the indexes and constraints of labels.", schemaNodes)
	r.add("apoc.schema.properties.distinct(label :: STRING, key :: STRING) :: (value :: LIST<ANY>)", "The distinct values of a property.", distinctValues)
	r.builtin["apoc.schema.properties.distinct"].sig.Calls = true
}

func ints(n uint64) graph.Value { return graph.IntValue(int64(n)) }

// object builds a map from pairs of a key and a value; the keys are sorted.
func object(entries ...graph.MapEntry) graph.Value {
	slices.SortFunc(entries, func(a, b graph.MapEntry) int { return strings.Compare(a.Key, b.Key) })
	return graph.MapValue(entries)
}

func entry(key string, v graph.Value) graph.MapEntry { return graph.MapEntry{Key: key, Value: v} }

func metaData(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	labels, types, err := sample(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]graph.Value
	zero, no := graph.IntValue(0), graph.BoolValue(false)
	add := func(k *kindSample, element string) {
		for i := range k.props {
			p := &k.props[i]
			rows = append(rows, []graph.Value{
				text(k.name), text(p.name), ints(p.count), graph.BoolValue(p.unique), graph.BoolValue(p.indexed), graph.BoolValue(p.required),
				text(p.common), graph.BoolValue(p.list),
				{},
				zero, zero, texts(nil), texts(nil), text(element),
			})
		}
	}
	for i := range labels {
		k := &labels[i]
		add(k, "node")
		for _, e := range k.ends {
			if !e.out {
				continue
			}
			average := graph.IntValue(int64((e.count + k.count - 1) / k.count))
			rows = append(rows, []graph.Value{
				text(k.name), text(e.typ), ints(e.count), no, no, no, text("RELATIONSHIP"), graph.BoolValue(e.count > k.count),
				{},
				average, zero,
				texts(e.others), texts(nil), text("node"),
			})
		}
	}
	for i := range types {
		add(&types[i], "relationship")
	}
	return rows, nil
}

// propsObject maps the properties of a label or type to their descriptions.
func propsObject(k *kindSample, node bool) graph.Value {
	var entries []graph.MapEntry
	for i := range k.props {
		p := &k.props[i]
		of := []graph.MapEntry{
			entry("array", graph.BoolValue(p.list)), entry("existence", graph.BoolValue(p.required)), entry("indexed", graph.BoolValue(p.indexed)),
			entry("type", text(p.common)),
		}
		if node {
			of = append(of, entry("unique", graph.BoolValue(p.unique)))
		}
		entries = append(entries, entry(p.name, object(of...)))
	}
	return object(entries...)
}

func metaSchema(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	labels, types, err := sample(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []graph.MapEntry
	typeOf := map[string]*kindSample{}
	for i := range types {
		k := &types[i]
		typeOf[k.name] = k
		all = append(all, entry(k.name, object(
			entry("count", ints(k.count)), entry("properties", propsObject(k, false)), entry("type", text("relationship")),
		)))
	}
	for i := range labels {
		k := &labels[i]
		relationships := map[string]graph.Value{}
		for _, e := range k.ends {
			direction := "in"
			if e.out {
				direction = "out"
			}
			if old, ok := relationships[e.typ]; ok && !old.IsNull() {
				continue // out precedes in
			}
			relationships[e.typ] = object(
				entry("count", ints(e.count)), entry("direction", text(direction)), entry("labels", texts(e.others)),
				entry("properties", propsObject(typeOf[e.typ], false)),
			)
		}
		var rels []graph.MapEntry
		for name, v := range relationships {
			rels = append(rels, entry(name, v))
		}
		all = append(all, entry(k.name, object(
			entry("count", ints(k.count)), entry("labels", texts(nil)), entry("properties", propsObject(k, true)),
			entry("relationships", object(rels...)), entry("type", text("node")),
		)))
	}
	return [][]graph.Value{{object(all...)}}, nil
}

func metaStats(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
	if err != nil {
		return nil, err
	}
	var labels, ends, types []graph.MapEntry
	for name, n := range counts.ByLabel {
		if n > 0 {
			labels = append(labels, entry(name, ints(n)))
		}
	}
	for name, n := range counts.ByType {
		if n > 0 {
			types, ends = append(types, entry(name, ints(n))), append(ends, entry("()-[:"+name+"]->()", ints(n)))
		}
	}
	for e, n := range counts.Ends {
		switch {
		case n == 0 || e.Type == "":
		case e.Src != "" && e.Dst == "":
			ends = append(ends, entry("(:"+e.Src+")-[:"+e.Type+"]->()", ints(n)))
		case e.Dst != "" && e.Src == "":
			ends = append(ends, entry("()-[:"+e.Type+"]->(:"+e.Dst+")", ints(n)))
		}
	}
	numbers := []graph.Value{
		graph.IntValue(int64(len(labels))), graph.IntValue(int64(len(types))), graph.IntValue(int64(len(c.Graph.AllProps()))),
		ints(counts.Vertices), ints(counts.Edges), object(labels...), object(ends...), object(types...),
	}
	var stats []graph.MapEntry
	for i, name := range []string{"labelCount", "relTypeCount", "propertyKeyCount", "nodeCount", "relCount", "labels", "relTypes", "relTypesCount"} {
		stats = append(stats, entry(name, numbers[i]))
	}
	return [][]graph.Value{append(numbers, object(stats...))}, nil
}

// names reads a list of names of a configuration.
func names(config graph.Value, keys ...string) []string {
	var out []string
	if config.Kind() != graph.Map {
		return nil
	}
	for _, e := range config.Map() {
		if !slices.Contains(keys, e.Key) || e.Value.Kind() != graph.List {
			continue
		}
		for _, v := range e.Value.List() {
			if v.Kind() == graph.String {
				out = append(out, v.Str())
			}
		}
	}
	return out
}

func metaGraph(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
	if err != nil {
		return nil, err
	}
	config := c.Args[0]
	wantLabels, wantTypes := names(config, "labels", "includeLabels"), names(config, "rels", "includeRels")
	without, withoutTypes := names(config, "excludes", "excludeLabels"), names(config, "excludeRels")
	labels := slices.DeleteFunc(used(c.Graph.AllLabels(), counts.ByLabel), func(l string) bool {
		return wantLabels != nil && !slices.Contains(wantLabels, l) || slices.Contains(without, l)
	})
	slices.Sort(labels)
	number := map[string]graph.VertexID{}
	nodes := make([]graph.Value, len(labels))
	for i, l := range labels {
		nodes[i] = graph.VirtualVertex(i, &graph.Record{
			Labels: []string{l}, Keys: []string{"count", "name"}, Values: []graph.Value{ints(counts.ByLabel[l]), text(l)},
		})
		number[l] = nodes[i].Vertex()
	}
	rels := []graph.Value{}
	types := used(c.Graph.AllTypes(), counts.ByType)
	slices.Sort(types)
	for _, t := range types {
		if wantTypes != nil && !slices.Contains(wantTypes, t) || slices.Contains(withoutTypes, t) {
			continue
		}
		for _, e := range joined(counts, t, labels) {
			out, in := counts.Ends[graph.TypeEnds{Src: e.Src, Type: t}], counts.Ends[graph.TypeEnds{Type: t, Dst: e.Dst}]
			n, exact := counts.Ends[e]
			if !exact {
				n = min(out, in)
			}
			rels = append(rels, graph.VirtualEdge(len(rels), number[e.Src], number[e.Dst], &graph.Record{
				Type: t, Keys: []string{"count", "in", "out", "type"}, Values: []graph.Value{ints(n), ints(in), ints(out), text(t)},
			}))
		}
	}
	return [][]graph.Value{{graph.ListValue(nodes), graph.ListValue(rels)}}, nil
}

// javaNames are the types of properties as db.schema.nodeTypeProperties calls them.
var javaNames = map[string]string{
	"INTEGER": "Long", "FLOAT": "Double", "BOOLEAN": "Boolean", "STRING": "String", "LIST": "List", "DATE": "Date", "LOCAL_TIME": "LocalTime",
	"TIME": "Time", "LOCAL_DATE_TIME": "LocalDateTime", "DATE_TIME": "DateTime", "DURATION": "Duration", "POINT": "Point", "ANY": "Any",
}

// observed returns, for each property, its name, its types, whether all elements have it, and how many do.
func (k *kindSample) observed(f func(row ...graph.Value)) {
	for _, p := range k.props {
		types := make([]string, len(p.types))
		for i, t := range p.types {
			types[i] = javaNames[t]
		}
		f(text(p.name), texts(types), graph.BoolValue(p.count == k.count), ints(p.count), ints(k.count))
	}
	if len(k.props) == 0 {
		f(graph.Value{}, graph.Value{}, graph.BoolValue(false), graph.IntValue(0), ints(k.count))
	}
}

func metaNodeProperties(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	labels, _, err := sample(ctx, c)
	var rows [][]graph.Value
	for _, k := range labels {
		k.observed(func(row ...graph.Value) {
			rows = append(rows, append([]graph.Value{text(":`" + k.name + "`"), texts([]string{k.name})}, row...))
		})
	}
	return rows, err
}

func metaRelProperties(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	labels, types, err := sample(ctx, c)
	var rows [][]graph.Value
	for _, k := range types {
		for _, l := range labels {
			for _, e := range l.ends {
				if e.typ != k.name || !e.out {
					continue
				}
				for _, other := range e.others {
					k.observed(func(row ...graph.Value) {
						rows = append(rows, append([]graph.Value{text(":`" + k.name + "`"), texts([]string{l.name}), texts([]string{other})}, row...))
					})
				}
			}
		}
	}
	return rows, err
}

func schemaNodes(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
	if err != nil {
		return nil, err
	}
	want, without := names(c.Args[0], "labels"), names(c.Args[0], "excludeLabels")
	var rows [][]graph.Value
	for _, ix := range c.Graph.Indexes() {
		if ix.Label == "" || len(ix.Props) == 0 || want != nil && !slices.Contains(want, ix.Label) || slices.Contains(without, ix.Label) {
			continue
		}
		kind, status, progress := ix.Kind.String(), "ONLINE", 100.0
		if ix.IsConstraint() {
			kind = constraintType(&ix)
		}
		switch {
		case ix.Failure != "":
			status, progress = "FAILED", 0
		case !ix.Online:
			status, progress = "POPULATING", 100*c.Graph.IndexProgress(ix.ID)
		}
		size := counts.Props[graph.PropOf{Label: ix.Label, Prop: ix.Props[0]}]
		selectivity := 0.0
		if size > 0 {
			selectivity = min(1, float64(counts.Distinct[ix.Name])/float64(size))
		}
		rows = append(rows, []graph.Value{
			text(":" + ix.Label + "(" + strings.Join(ix.Props, ",") + ")"), text(ix.Label), texts(ix.Props), text(status), text(kind), text("NO FAILURE"),
			graph.FloatValue(progress), ints(size), graph.FloatValue(selectivity),
			text(fmt.Sprintf("Index( id=%d, name='%s', type='%s', schema=(:%s {%s}) )", ix.ID, ix.Name, kind, ix.Label, strings.Join(ix.Props, ", "))),
		})
	}
	return byName(rows, 0), nil
}

func distinctValues(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	for i, argument := range []string{"label", "key"} {
		if c.Args[i].Kind() != graph.String || i == 1 && c.Args[i].Str() == "" {
			return nil, badArgument("apoc.schema.properties.distinct", argument, "a name", c.Args[i])
		}
	}
	label, key := c.Args[0].Str(), tick(c.Args[1].Str())
	if label != "" {
		label = ":" + tick(label)
	}
	return c.Statement(ctx, "MATCH (n"+label+") WHERE n."+key+" IS NOT NULL RETURN collect(DISTINCT n."+key+")", nil)
}
