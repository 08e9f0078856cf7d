package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// registerSchema adds the procedures that say what a graph consists of.
func (e *Engine) registerSchema(
	add func(signature, description string, call func(ctx context.Context, g shard.Graph, tx shard.Tx, args []graph.Value) ([][]graph.Value, error)),
) {
	add("db.schema.visualization() :: (nodes :: LIST<NODE>, relationships :: LIST<RELATIONSHIP>)",
		"One node a label in use, and one relationship for each type between two labels that it joins.",
		func(_ context.Context, g shard.Graph, tx shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
			return [][]graph.Value{visualize(g, tx.Counts())}, nil
		})
	add("db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST<STRING>, propertyName :: STRING?, "+
		"propertyTypes :: LIST<STRING>?, mandatory :: BOOLEAN)",
		"The properties that nodes with the same labels have, with their types and whether all have them. It reads all nodes.", nodeTypeProperties)
	add("db.schema.relTypeProperties() :: (relType :: STRING, propertyName :: STRING?, propertyTypes :: LIST<STRING>?, mandatory :: BOOLEAN)",
		"The properties of each type of relationship, with their types and whether all have them. It reads all relationships.", relTypeProperties)
}

// visualize makes the nodes and relationships of db.schema.visualization. They are in no store: their ids count down from the
// highest.
func visualize(g shard.Graph, c *graph.Counts) []graph.Value {
	labels := used(g.AllLabels(), c.ByLabel)
	slices.Sort(labels)
	number := map[string]graph.VertexID{}
	nodes := make([]graph.Value, len(labels))
	for i, l := range labels {
		var indexes, constraints []string
		for _, ix := range g.Indexes() {
			switch {
			case ix.Label != l || len(ix.Props) == 0:
			case ix.IsConstraint():
				constraints = append(constraints, ix.Name)
			default:
				indexes = append(indexes, strings.Join(ix.Props, ","))
			}
		}
		number[l] = graph.NoVertex - 1 - graph.VertexID(i)
		nodes[i] = graph.VertexRecordValue(number[l], &graph.Record{
			Labels: []string{l}, Keys: []string{"constraints", "indexes", "name"}, Values: []graph.Value{texts(constraints), texts(indexes), text(l)},
		})
	}
	rels := []graph.Value{}
	types := used(g.AllTypes(), c.ByType)
	slices.Sort(types)
	for _, t := range types {
		for _, ends := range joined(c, t, labels) {
			id := ^graph.EdgeID(0) - 1 - graph.EdgeID(len(rels))
			rels = append(rels, graph.EdgeRefValue(&graph.EdgeValue{
				Edge:   graph.Edge{ID: id, Src: number[ends.Src], Dst: number[ends.Dst]},
				Record: &graph.Record{Type: t, Keys: []string{"name"}, Values: []graph.Value{text(t)}},
			}))
		}
	}
	return []graph.Value{graph.ListValue(nodes), graph.ListValue(rels)}
}

// joined gives the pairs of labels that edges of a type join: as they are counted or, where the store counts each end by itself,
// all pairs of a label of a source and a label of a target.
func joined(c *graph.Counts, typ string, labels []string) []graph.TypeEnds {
	var exact, all []graph.TypeEnds
	for _, src := range labels {
		for _, dst := range labels {
			ends := graph.TypeEnds{Src: src, Type: typ, Dst: dst}
			if c.Ends[ends] > 0 {
				exact = append(exact, ends)
			}
			if c.Ends[graph.TypeEnds{Src: src, Type: typ}] > 0 && c.Ends[graph.TypeEnds{Type: typ, Dst: dst}] > 0 {
				all = append(all, ends)
			}
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return all
}

// propertyTypes is what is known of the properties of one kind of node or relationship.
type propertyTypes struct {
	count int                         // of nodes or relationships
	props map[graph.PropID]*propTypes // by property
}

type propTypes struct {
	count int
	types map[string]bool
}

func (p *propertyTypes) add(props []graph.Property) {
	p.count++
	if p.props == nil {
		p.props = map[graph.PropID]*propTypes{}
	}
	for _, x := range props {
		t := p.props[x.ID]
		if t == nil {
			t = &propTypes{types: map[string]bool{}}
			p.props[x.ID] = t
		}
		t.count++
		t.types[javaType(x.Value)] = true
	}
}

// rows gives, by property, name, types and whether all have it, behind some columns; one row of nulls if there is no property.
func (p *propertyTypes) rows(g shard.Graph, first ...graph.Value) [][]graph.Value {
	var rows [][]graph.Value
	for id, t := range p.props {
		types := make([]string, 0, len(t.types))
		for name := range t.types {
			types = append(types, name)
		}
		slices.Sort(types)
		rows = append(rows, append(slices.Clone(first), text(g.PropName(id)), texts(types), graph.BoolValue(t.count == p.count)))
	}
	if rows == nil {
		return [][]graph.Value{append(slices.Clone(first), graph.Value{}, graph.Value{}, graph.BoolValue(false))}
	}
	return byName(rows, len(first))
}

// javaType names a value's type as Neo4j's schema procedures do.
func javaType(v graph.Value) string {
	switch v.Kind() {
	case graph.Int:
		return "Long"
	case graph.Float:
		return "Double"
	case graph.Bool:
		return "Boolean"
	case graph.List:
		if len(v.List()) == 0 {
			return "Array"
		}
		return javaType(v.List()[0]) + "Array"
	case graph.LocalTime:
		return "LocalTime"
	case graph.LocalDateTime:
		return "LocalDateTime"
	case graph.DateTime:
		return "DateTime"
	}
	return v.Kind().String()
}

// eachVertices calls f with all vertices, some at a time.
func eachVertices(ctx context.Context, tx shard.Tx, f func(ids []graph.VertexID) error) error {
	buf := make([]graph.VertexID, 0, graph.BatchSize)
	var from graph.VertexID
	for done := false; !done; {
		var ids []graph.VertexID
		var err error
		if ids, from, done, err = tx.Scan(ctx, 0, from, buf[:0]); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return graph.DeadlineError(context.Cause(ctx))
		}
		if len(ids) == 0 {
			continue
		}
		if err := f(ids); err != nil {
			return err
		}
	}
	return nil
}

func nodeTypeProperties(ctx context.Context, g shard.Graph, tx shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
	bySet := map[graph.LabelSet]*propertyTypes{}
	records := make([]shard.Record, graph.BatchSize)
	err := eachVertices(ctx, tx, func(ids []graph.VertexID) error {
		if err := tx.Records(ctx, ids, records[:len(ids)]); err != nil {
			return err
		}
		for i := range ids {
			set := records[i].Labels
			if bySet[set] == nil {
				bySet[set] = &propertyTypes{}
			}
			bySet[set].add(records[i].Props)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows [][]graph.Value
	for set, p := range bySet {
		var labels []string
		for _, l := range g.Labels(set) {
			labels = append(labels, g.LabelName(l))
		}
		slices.Sort(labels)
		name := ""
		for _, l := range labels {
			name += ":`" + l + "`"
		}
		rows = append(rows, p.rows(g, text(name), texts(labels))...)
	}
	slices.SortStableFunc(rows, func(a, b []graph.Value) int { return cmp.Compare(a[0].Str(), b[0].Str()) })
	return rows, nil
}

func relTypeProperties(ctx context.Context, g shard.Graph, tx shard.Tx, _ []graph.Value) ([][]graph.Value, error) {
	byType := map[graph.TypeID]*propertyTypes{}
	var res shard.Neighbours
	var records []shard.Record
	err := eachVertices(ctx, tx, func(ids []graph.VertexID) error {
		for done := 0; done < len(ids); done += res.Done {
			req := shard.Expand{Sources: ids[done:], Dir: graph.Out, Edges: true, MaxEdges: 4 * graph.BatchSize}
			if err := tx.Expand(ctx, &req, &res); err != nil {
				return err
			}
			edges := make([]graph.Edge, 0, len(res.Targets))
			for u := range res.Done {
				for i := res.Offsets[u]; i < res.Offsets[u+1]; i++ {
					edges = append(edges, graph.Edge{ID: res.Edges[i], Type: res.Types[i], Src: ids[done+u], Dst: res.Targets[i]})
				}
			}
			for len(records) < len(edges) {
				records = append(records, shard.Record{})
			}
			if err := tx.EdgeRecords(ctx, edges, records[:len(edges)]); err != nil {
				return err
			}
			for i := range edges {
				t := edges[i].Type
				if byType[t] == nil {
					byType[t] = &propertyTypes{}
				}
				byType[t].add(records[i].Props)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows [][]graph.Value
	for t, p := range byType {
		rows = append(rows, p.rows(g, text(":`"+g.TypeName(t)+"`"))...)
	}
	slices.SortStableFunc(rows, func(a, b []graph.Value) int { return cmp.Compare(a[0].Str(), b[0].Str()) })
	return rows, nil
}
