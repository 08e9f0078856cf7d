package procedure

import (
	"cmp"
	"context"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/shard"
)

// sampleSize is the number of vertices of a label, or edges of a type, that determine the types of their properties, and the number
// of vertices searched for edges of a type.
const sampleSize = 1000

// kindSample is what is known of the vertices of a label or the edges of a type: counts are exact, types of values are those of a
// sample.
type kindSample struct {
	name  string
	count uint64
	props []propSample // by name
	ends  []end        // of a label: the types of edges that its vertices have
}

type propSample struct {
	name            string
	count           uint64
	types           []string // of Cypher, for example STRING; sorted
	common          string   // the type that most values of the sample have
	list            bool
	indexed, unique bool
	required        bool
}

// end is a type of edges at the vertices of a label, with the labels at the far end.
type end struct {
	typ    string
	out    bool
	count  uint64
	others []string
}

// sample reads the labels and types in use from the graph's counters, and the types of property values from some vertices and edges.
func sample(ctx context.Context, c *exec.Call) (labels, types []kindSample, err error) {
	counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
	if err != nil {
		return nil, nil, err
	}
	names := used(c.Graph.AllLabels(), counts.ByLabel)
	slices.Sort(names)
	for _, name := range names {
		k := kindSample{name: name, count: counts.ByLabel[name]}
		records, err := someVertices(ctx, c, name)
		if err != nil {
			return nil, nil, err
		}
		k.fill(c, counts, graph.PropOf{Label: name}, records)
		for _, typ := range slices.Sorted(keysOf(counts.ByType)) {
			for _, out := range []bool{true, false} {
				k.addEnd(counts, typ, out, names)
			}
		}
		labels = append(labels, k)
	}
	for _, name := range slices.Sorted(keysOf(counts.ByType)) {
		if counts.ByType[name] == 0 {
			continue
		}
		k := kindSample{name: name, count: counts.ByType[name]}
		records, err := someEdges(ctx, c, counts, name)
		if err != nil {
			return nil, nil, err
		}
		k.fill(c, counts, graph.PropOf{Type: name}, records)
		types = append(types, k)
	}
	return labels, types, nil
}

func keysOf(m map[string]uint64) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// addEnd notes the edges of a type that vertices of the label have in a direction, if there are any.
func (k *kindSample) addEnd(counts *graph.Counts, typ string, out bool, labels []string) {
	near := graph.TypeEnds{Src: k.name, Type: typ}
	if !out {
		near = graph.TypeEnds{Type: typ, Dst: k.name}
	}
	n := counts.Ends[near]
	if n == 0 {
		return
	}
	e := end{typ: typ, out: out, count: n}
	for _, pair := range joined(counts, typ, labels) {
		switch {
		case out && pair.Src == k.name:
			e.others = append(e.others, pair.Dst)
		case !out && pair.Dst == k.name:
			e.others = append(e.others, pair.Src)
		}
	}
	k.ends = append(k.ends, e)
}

// fill returns the properties that counters know, with their descriptions from a sample and the indexes.
func (k *kindSample) fill(c *exec.Call, counts *graph.Counts, of graph.PropOf, records []shard.Record) {
	types := map[string]map[string]int{}
	lists := map[string]bool{}
	for _, r := range records {
		for _, p := range r.Props {
			name := c.Graph.PropName(p.ID)
			if types[name] == nil {
				types[name] = map[string]int{}
			}
			types[name][cypherType(p.Value)]++
			lists[name] = lists[name] || p.Value.Kind() == graph.List
		}
	}
	for key, n := range counts.Props {
		if key.Label != of.Label || key.Type != of.Type || n == 0 {
			continue
		}
		p := propSample{name: key.Prop, count: n, list: lists[key.Prop]}
		for t := range types[key.Prop] {
			p.types = append(p.types, t)
		}
		slices.Sort(p.types)
		if p.types == nil {
			p.types = []string{"ANY"} // nothing in the sample has it
		}
		p.common = slices.MaxFunc(p.types, func(a, b string) int { return cmp.Compare(types[p.name][a], types[p.name][b]) })
		for _, ix := range c.Graph.Indexes() {
			if ix.Label == of.Label && ix.Type == of.Type && slices.Contains(ix.Props, p.name) {
				p.indexed = p.indexed || ix.Indexed
				p.unique = p.unique || ix.Unique && len(ix.Props) == 1
				p.required = p.required || ix.Required
			}
		}
		k.props = append(k.props, p)
	}
	slices.SortFunc(k.props, func(a, b propSample) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
}

// someVertices reads the first vertices of a label.
func someVertices(ctx context.Context, c *exec.Call, label string) ([]shard.Record, error) {
	id, ok := c.Graph.Label(label)
	if !ok {
		return nil, nil
	}
	ids, err := firstVertices(ctx, c, id)
	if err != nil {
		return nil, err
	}
	records := make([]shard.Record, len(ids))
	return records, c.Tx.Records(ctx, ids, records)
}

// firstVertices returns the first vertices of a label, or of all.
func firstVertices(ctx context.Context, c *exec.Call, label graph.LabelID) (all []graph.VertexID, err error) {
	var from graph.VertexID
	buf := make([]graph.VertexID, 0, sampleSize)
	for done := false; !done && len(all) < sampleSize; {
		var ids []graph.VertexID
		if ids, from, done, err = c.Tx.Scan(ctx, label, from, buf[:0]); err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all[:min(len(all), sampleSize)], nil
}

// someEdges reads the first edges of a type that leave the first vertices of a label that has any.
func someEdges(ctx context.Context, c *exec.Call, counts *graph.Counts, typ string) ([]shard.Record, error) {
	id, ok := c.Graph.Type(typ)
	if !ok {
		return nil, nil
	}
	var label graph.LabelID
	for _, name := range slices.Sorted(keysOf(counts.ByLabel)) {
		if counts.Ends[graph.TypeEnds{Src: name, Type: typ}] > 0 {
			label, _ = c.Graph.Label(name)
			break
		}
	}
	ids, err := firstVertices(ctx, c, label)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var res shard.Neighbours
	var edges []graph.Edge
	for len(ids) > 0 && len(edges) < sampleSize {
		req := shard.Expand{Sources: ids, Types: []graph.TypeID{id}, Dir: graph.Out, Edges: true, MaxEdges: sampleSize}
		if err := c.Tx.Expand(ctx, &req, &res); err != nil {
			return nil, err
		}
		for u := range res.Done {
			for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
				edges = append(edges, graph.Edge{ID: res.Edges[i], Type: id, Src: ids[u], Dst: res.Targets[i]})
			}
		}
		ids = ids[res.Done:]
	}
	edges = edges[:min(len(edges), sampleSize)]
	records := make([]shard.Record, len(edges))
	return records, c.Tx.EdgeRecords(ctx, edges, records)
}

// cypherType names the type of a property as APOC does.
func cypherType(v graph.Value) string {
	switch v.Kind() {
	case graph.Int:
		return "INTEGER"
	case graph.Float:
		return "FLOAT"
	case graph.Bool:
		return "BOOLEAN"
	case graph.String:
		return "STRING"
	case graph.List:
		return "LIST"
	case graph.Date:
		return "DATE"
	case graph.LocalTime:
		return "LOCAL_TIME"
	case graph.Time:
		return "TIME"
	case graph.LocalDateTime:
		return "LOCAL_DATE_TIME"
	case graph.DateTime:
		return "DATE_TIME"
	case graph.Duration:
		return "DURATION"
	case graph.PointKind:
		return "POINT"
	case graph.VectorKind:
		return "VECTOR"
	}
	return "ANY"
}
