package procedure

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/shard"
)

// addSchema adds the procedures that describe a graph.
func (r *Registry) addSchema() {
	r.add("db.labels() :: (label :: STRING)", "List the labels in use.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
			if err != nil {
				return nil, err
			}
			return column(used(c.Graph.AllLabels(), counts.ByLabel)), nil
		})
	r.add("db.relationshipTypes() :: (relationshipType :: STRING)", "List the relationship types in use.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
			if err != nil {
				return nil, err
			}
			return column(used(c.Graph.AllTypes(), counts.ByType)), nil
		})
	r.add("db.propertyKeys() :: (propertyKey :: STRING)", "List the property keys.",
		func(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
			return column(c.Graph.AllProps()), nil
		})
	r.add("db.schema.visualization() :: (nodes :: LIST<NODE>, relationships :: LIST<RELATIONSHIP>)",
		"One node a label in use, and one relationship for each type between two labels that it joins.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			counts, err := shard.CountExactly(ctx, c.Graph, c.Tx)
			if err != nil {
				return nil, err
			}
			return [][]graph.Value{visualize(c.Graph, counts)}, nil
		})
	r.add("db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST<STRING>, propertyName :: STRING?, "+
		"propertyTypes :: LIST<STRING>?, mandatory :: BOOLEAN)",
		"The properties that nodes with the same labels have, with their types and whether all have them. It reads all nodes.", nodeTypeProperties)
	r.add("db.schema.relTypeProperties() :: (relType :: STRING, propertyName :: STRING?, propertyTypes :: LIST<STRING>?, mandatory :: BOOLEAN)",
		"The properties of each type of relationship, with their types and whether all have them. It reads all relationships.", relTypeProperties)
	r.add("db.indexes() :: (id :: INTEGER, name :: STRING, state :: STRING, populationPercent :: FLOAT, uniqueness :: STRING, type :: STRING, "+
		"entityType :: STRING, labelsOrTypes :: LIST<STRING>, properties :: LIST<STRING>, provider :: STRING)",
		"List the indexes, as SHOW INDEXES does.", indexes)
	r.add("db.constraints() :: (name :: STRING, description :: STRING, details :: STRING)", "List the constraints, as SHOW CONSTRAINTS does.",
		constraints)
	r.add("db.awaitIndexes(timeOutSeconds = 300 :: INTEGER) :: ()", "Wait until all indexes are online.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			return nil, awaitIndexes(ctx, c.Graph, "", c.Args[0])
		})
	r.add("db.awaitIndex(indexName :: STRING, timeOutSeconds = 300 :: INTEGER) :: ()", "Wait until an index is online.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			if c.Args[0].Kind() != graph.String || c.Args[0].Str() == "" {
				return nil, noIndex()
			}
			return nil, awaitIndexes(ctx, c.Graph, c.Args[0].Str(), c.Args[1])
		})
}

// indexes returns SHOW INDEXES in the columns of Neo4j 4.
func indexes(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	rows, err := showIndexes(ctx, &exec.Call{Graph: c.Graph, Tx: c.Tx, Args: []graph.Value{text(""), {}}})
	for i, r := range rows {
		uniqueness := "UNIQUE"
		if r[9].IsNull() {
			uniqueness = "NONUNIQUE"
		}
		typ := r[4]
		if typ.Str() == graph.RangeIndex.String() {
			typ = text("BTREE")
		}
		rows[i] = append(r[:4:4], text(uniqueness), typ, r[5], r[6], r[7], r[8])
	}
	return rows, err
}

// constraints returns SHOW CONSTRAINTS in the columns of Neo4j 4.
func constraints(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	rows, err := showConstraints(ctx, &exec.Call{Graph: c.Graph, Tx: c.Tx, Args: []graph.Value{text(""), {}}})
	for i, r := range rows {
		_, what, _ := strings.Cut(r[9].Str(), " FOR ")
		rows[i] = []graph.Value{r[1], text("CONSTRAINT ON " + what), r[9]}
	}
	return rows, err
}

// visualize creates the nodes and relationships of db.schema.visualization. They are in no store.
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
		nodes[i] = graph.VirtualVertex(i, &graph.Record{
			Labels: []string{l}, Keys: []string{"constraints", "indexes", "name"}, Values: []graph.Value{texts(constraints), texts(indexes), text(l)},
		})
		number[l] = nodes[i].Vertex()
	}
	rels := []graph.Value{}
	types := used(g.AllTypes(), c.ByType)
	slices.Sort(types)
	for _, t := range types {
		for _, ends := range joined(c, t, labels) {
			rels = append(rels, graph.VirtualEdge(len(rels), number[ends.Src], number[ends.Dst],
				&graph.Record{Type: t, Keys: []string{"name"}, Values: []graph.Value{text(t)}}))
		}
	}
	return []graph.Value{graph.ListValue(nodes), graph.ListValue(rels)}
}

// joined returns the pairs of labels that edges of a type join: as counted or, if the store counts each end separately, all pairs of
// a source label and a target label.
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

// rows returns, for each property, name, types and whether all elements have it, after some columns; one row of nulls without
// properties.
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

func nodeTypeProperties(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	g, tx := c.Graph, c.Tx
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

func relTypeProperties(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	g, tx := c.Graph, c.Tx
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
