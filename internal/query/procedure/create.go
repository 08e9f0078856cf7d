package procedure

import (
	"context"
	"regexp"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// written are APOC's procedures that are one writing statement. Its parameters are the arguments; @name is an argument as a name. Nodes are
// given to it by their ids.
var written = []struct{ signature, description, statement string }{
	{"apoc.create.node(labels :: LIST<STRING>, props :: MAP) :: (node :: NODE)", "Create a node.", "CREATE (n:$($labels)) SET n = $props RETURN n"},
	{
		"apoc.create.nodes(labels :: LIST<STRING>, props :: LIST<MAP>) :: (node :: NODE)", "Create a node for each map of properties.",
		"UNWIND $props AS p CREATE (n:$($labels)) SET n = p RETURN n",
	},
	{
		"apoc.create.relationship(from :: NODE, relType :: STRING, props :: MAP, to :: NODE) :: (rel :: RELATIONSHIP)", "Create a relationship.",
		"WITH $from AS a, $to AS b CREATE (a)-[r:@relType]->(b) SET r = $props RETURN r",
	},
	{
		"apoc.create.setProperty(nodes :: ANY, key :: STRING, value :: ANY) :: (node :: NODE)", "Set a property of nodes.",
		"UNWIND $nodes AS id MATCH (n) WHERE id(n) = id SET n[$key] = $value RETURN n",
	},
	{
		"apoc.create.setProperties(nodes :: ANY, keys :: LIST<STRING>, values :: LIST<ANY>) :: (node :: NODE)", "Set properties of nodes.",
		"UNWIND $nodes AS id MATCH (n) WHERE id(n) = id SET n += apoc.map.fromLists($keys, $values) RETURN n",
	},
	{
		"apoc.create.removeProperties(nodes :: ANY, keys :: LIST<STRING>) :: (node :: NODE)", "Remove properties of nodes.",
		"UNWIND $nodes AS id MATCH (n) WHERE id(n) = id SET n += apoc.map.fromLists($keys, [k IN $keys | null]) RETURN n",
	},
	{
		"apoc.create.setRelProperty(rels :: ANY, key :: STRING, value :: ANY) :: (rel :: RELATIONSHIP)", "Set a property of relationships.",
		"UNWIND $rels AS r SET r[$key] = $value RETURN r",
	},
	{
		"apoc.create.setRelProperties(rels :: ANY, keys :: LIST<STRING>, values :: LIST<ANY>) :: (rel :: RELATIONSHIP)", "Set properties of relationships.",
		"UNWIND $rels AS r SET r += apoc.map.fromLists($keys, $values) RETURN r",
	},
	{
		"apoc.create.removeRelProperties(rels :: ANY, keys :: LIST<STRING>) :: (rel :: RELATIONSHIP)", "Remove properties of relationships.",
		"UNWIND $rels AS r SET r += apoc.map.fromLists($keys, [k IN $keys | null]) RETURN r",
	},
	{
		"apoc.create.addLabels(nodes :: ANY, labels :: LIST<STRING>) :: (node :: NODE)", "Add labels that are values.",
		"UNWIND $nodes AS id MATCH (n) WHERE id(n) = id SET n:$($labels) RETURN n",
	},
	{
		"apoc.create.setLabels(nodes :: ANY, labels :: LIST<STRING>) :: (node :: NODE)", "Give nodes labels in place of theirs.",
		"UNWIND $nodes AS id MATCH (n) WHERE id(n) = id REMOVE n:$(labels(n)) SET n:$($labels) RETURN n",
	},
	{
		"apoc.create.removeLabels(nodes :: ANY, labels :: LIST<STRING>) :: (node :: NODE)", "Remove labels from nodes.",
		"UNWIND $nodes AS id MATCH (n) WHERE id(n) = id REMOVE n:$($labels) RETURN n",
	},
	{
		"apoc.refactor.rename.label(oldLabel :: STRING, newLabel :: STRING, nodes = [] :: ANY) :: (batches :: INTEGER, total :: INTEGER, committedOperations :: INTEGER, errorMessages :: MAP)",
		"Rename a label, of some nodes or of all, in the transaction.",
		"MATCH (n:@oldLabel) WHERE $nodes = [] OR id(n) IN $nodes SET n:@newLabel REMOVE n:@oldLabel RETURN 1, count(*) AS n, count(*) AS m, {} AS e",
	},
	{
		"apoc.refactor.rename.type(oldType :: STRING, newType :: STRING, rels = [] :: ANY) :: (batches :: INTEGER, total :: INTEGER, committedOperations :: INTEGER, errorMessages :: MAP)",
		"Rename a type, of some relationships or of all, in the transaction, which creates them again.",
		"MATCH (a)-[r:@oldType]->(b) WHERE $rels = [] OR r IN $rels CREATE (a)-[s:@newType]->(b) SET s = properties(r) DELETE r RETURN 1, count(*) AS n, count(*) AS m, {} AS e",
	},
	{
		"apoc.refactor.rename.nodeProperty(oldName :: STRING, newName :: STRING, nodes = [] :: ANY) :: (batches :: INTEGER, total :: INTEGER, committedOperations :: INTEGER, errorMessages :: MAP)",
		"Rename a property, of some nodes or of all, in the transaction.",
		"MATCH (n) WHERE n.@oldName IS NOT NULL AND ($nodes = [] OR id(n) IN $nodes) SET n.@newName = n.@oldName REMOVE n.@oldName RETURN 1, count(*) AS n, count(*) AS m, {} AS e",
	},
	{
		"apoc.refactor.rename.typeProperty(oldName :: STRING, newName :: STRING, rels = [] :: ANY) :: (batches :: INTEGER, total :: INTEGER, committedOperations :: INTEGER, errorMessages :: MAP)",
		"Rename a property, of some relationships or of all, in the transaction.",
		"MATCH ()-[r]->() WHERE r.@oldName IS NOT NULL AND ($rels = [] OR r IN $rels) SET r.@newName = r.@oldName REMOVE r.@oldName RETURN 1, count(*) AS n, count(*) AS m, {} AS e",
	},
}

func (r *Registry) addCreate() {
	for _, w := range written {
		sig, err := parseSignature(w.signature)
		if err != nil {
			panic(err)
		}
		r.addWrite(w.signature, w.description, func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			return runWritten(ctx, c, &sig, w.statement)
		})
	}
	r.add("apoc.create.vNode(labels :: LIST<STRING>, props = {} :: MAP) :: (node :: NODE)", "Return a node that is in no graph.", r.virtualNode)
	r.add("apoc.create.vRelationship(from :: NODE, relType :: STRING, props :: MAP, to :: NODE) :: (rel :: RELATIONSHIP)",
		"Return a relationship that is in no graph.", r.virtualRelationship)
}

// argumentName matches an argument in the place of a name.
var argumentName = regexp.MustCompile(`@\w+`)

func runWritten(ctx context.Context, c *exec.Call, sig *cypher.Signature, statement string) ([][]graph.Value, error) {
	params := map[string]graph.Value{}
	for i, f := range sig.Params {
		v, err := checked(sig.Name, f, c.Args[i])
		if err != nil {
			return nil, err
		}
		params[f.Name] = v
	}
	statement = argumentName.ReplaceAllStringFunc(statement, func(at string) string { return tick(params[at[1:]].Str()) })
	return c.Statement(ctx, statement, params)
}

// checked checks an argument by its declaration, and returns it as statements take it.
func checked(procedure string, f cypher.Field, v graph.Value) (graph.Value, error) {
	ok, want := true, ""
	switch f.Type {
	case "STRING":
		ok, want = v.Kind() == graph.String && v.Str() != "", "a string that is not empty"
	case "NODE":
		ok, want = v.Kind() == graph.VertexKind, "a node"
	case "MAP":
		return properties(procedure, f.Name, v)
	case "LIST<STRING>", "LIST<ANY>", "LIST<MAP>":
		if v.IsNull() {
			return graph.ListValue(nil), nil
		}
		ok, want = v.Kind() == graph.List && elements(v.List(), f.Type), "a "+strings.ToLower(f.Type)
	}
	switch {
	case !ok:
		return v, badArgument(procedure, f.Name, want, v)
	case f.Name == "nodes":
		ids, err := vertexIDs(procedure, f.Name, v)
		list := make([]graph.Value, len(ids))
		for i, id := range ids {
			list[i] = graph.IntValue(int64(id))
		}
		return graph.ListValue(list), err
	case f.Name == "rels":
		return relationships(procedure, v)
	}
	return v, nil
}

// elements reports whether the elements of a list have the type of its declaration.
func elements(list []graph.Value, typ string) bool {
	for _, e := range list {
		if typ == "LIST<STRING>" && (e.Kind() != graph.String || e.Str() == "") || typ == "LIST<MAP>" && e.Kind() != graph.Map {
			return false
		}
	}
	return true
}

// relationships returns a list of relationships: the argument, or its elements.
func relationships(procedure string, v graph.Value) (graph.Value, error) {
	if v.Kind() != graph.List {
		v = graph.ListValue([]graph.Value{v})
	}
	for _, e := range v.List() {
		if e.Kind() != graph.EdgeKind {
			return v, badArgument(procedure, "rels", "relationships", e)
		}
	}
	return v, nil
}

// virtuals bounds the entities that are in no graph and have ids of their own.
const virtuals = 1 << 20

// nextVirtual numbers entities that are in no graph. Those of one result differ, up to their bound.
func (r *Registry) nextVirtual() int { return int(r.virtual.Add(1) % virtuals) }

func recordOf(props graph.Value) *graph.Record {
	rec := &graph.Record{}
	for _, e := range props.Map() {
		if !e.Value.IsNull() {
			rec.Keys, rec.Values = append(rec.Keys, e.Key), append(rec.Values, e.Value)
		}
	}
	return rec
}

func (r *Registry) virtualNode(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "apoc.create.vNode"
	labels, err := checked(name, cypher.Field{Name: "labels", Type: "LIST<STRING>"}, c.Args[0])
	if err != nil {
		return nil, err
	}
	props, err := properties(name, "props", c.Args[1])
	if err != nil {
		return nil, err
	}
	rec := recordOf(props)
	rec.Labels = make([]string, len(labels.List()))
	for i, l := range labels.List() {
		rec.Labels[i] = l.Str()
	}
	return [][]graph.Value{{graph.VirtualVertex(r.nextVirtual(), rec)}}, nil
}

func (r *Registry) virtualRelationship(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "apoc.create.vRelationship"
	for i, f := range []cypher.Field{{Name: "from", Type: "NODE"}, {Name: "relType", Type: "STRING"}, {Name: "props", Type: "MAP"}, {Name: "to", Type: "NODE"}} {
		var err error
		if c.Args[i], err = checked(name, f, c.Args[i]); err != nil {
			return nil, err
		}
	}
	rec := recordOf(c.Args[2])
	rec.Type = c.Args[1].Str()
	return [][]graph.Value{{graph.VirtualEdge(r.nextVirtual(), c.Args[0].Vertex(), c.Args[3].Vertex(), rec)}}, nil
}
