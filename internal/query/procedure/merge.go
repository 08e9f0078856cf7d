package procedure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn/apoc"
)

// addMerge adds APOC's procedures that write labels, types and keys given as values, which a statement cannot name.
func (r *Registry) addMerge() {
	r.addWrite("apoc.merge.node(labels :: LIST<STRING>, identProps :: MAP, onCreateProps = {} :: MAP, onMatchProps = {} :: MAP) :: (node :: NODE)",
		"MERGE a node whose labels and keys are values.", mergeNode)
	r.addWrite("apoc.merge.relationship(startNode :: NODE, relType :: STRING, identProps :: MAP, onCreateProps :: MAP, endNode :: NODE, "+
		"onMatchProps = {} :: MAP) :: (rel :: RELATIONSHIP)", "MERGE a relationship whose type and keys are values.", mergeRelationship)
	r.add("apoc.util.sleep(duration :: INTEGER) :: ()", "Wait for some milliseconds.", sleep)
	r.add("apoc.util.validate(predicate :: BOOLEAN, message :: STRING, params = [] :: LIST<ANY>) :: ()",
		"Fail with a message if the predicate holds.",
		func(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
			_, err := apoc.Validate("procedure `apoc.util.validate`", c.Args[0], c.Args[1], c.Args[2])
			return nil, err
		})
}

// identity is the text of a pattern's properties, {k: $ident.k, …}, in the order of the keys so that equal shapes share a plan.
func identity(procedure string, v graph.Value) (string, error) {
	if v.IsNull() {
		return "", nil
	}
	if v.Kind() != graph.Map {
		return "", badArgument(procedure, "identProps", "a map", v)
	}
	keys := make([]string, len(v.Map()))
	for i, e := range v.Map() {
		keys[i] = tick(e.Key) + ": $ident." + tick(e.Key)
	}
	if len(keys) == 0 {
		return "", nil
	}
	slices.Sort(keys)
	return " {" + strings.Join(keys, ", ") + "}", nil
}

// properties returns a map that may be null.
func properties(procedure, argument string, v graph.Value) (graph.Value, error) {
	switch v.Kind() {
	case graph.Null:
		return graph.MapValue(nil), nil
	case graph.Map:
		return v, nil
	}
	return v, badArgument(procedure, argument, "a map", v)
}

// labelsText is :`A`:`B` of a list of names.
func labelsText(procedure string, v graph.Value) (string, error) {
	if v.IsNull() {
		return "", nil
	}
	if v.Kind() != graph.List {
		return "", badArgument(procedure, "labels", "a list of strings", v)
	}
	var b strings.Builder
	for _, l := range v.List() {
		if l.Kind() != graph.String || l.Str() == "" {
			return "", badArgument(procedure, "labels", "a list of strings that are not empty", v)
		}
		b.WriteString(":" + tick(l.Str()))
	}
	return b.String(), nil
}

// merged runs a MERGE of one pattern with its SET items, by the name of its variable.
func merged(ctx context.Context, c *exec.Call, procedure, before, pattern, variable string, ident, onCreate, onMatch graph.Value) ([][]graph.Value, error) {
	create, err := properties(procedure, "onCreateProps", onCreate)
	if err != nil {
		return nil, err
	}
	match, err := properties(procedure, "onMatchProps", onMatch)
	if err != nil {
		return nil, err
	}
	params := map[string]graph.Value{"ident": ident, "create": create, "match": match}
	if before != "" {
		params["start"], params["end"] = c.Args[0], c.Args[4]
	}
	text := fmt.Sprintf("%sMERGE %s ON CREATE SET %s += $create ON MATCH SET %s += $match RETURN %s", before, pattern, variable, variable, variable)
	return c.Statement(ctx, text, params)
}

func mergeNode(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "apoc.merge.node"
	labels, err := labelsText(name, c.Args[0])
	if err != nil {
		return nil, err
	}
	ident, err := identity(name, c.Args[1])
	if err != nil {
		return nil, err
	}
	return merged(ctx, c, name, "", "(n"+labels+ident+")", "n", c.Args[1], c.Args[2], c.Args[3])
}

func mergeRelationship(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "apoc.merge.relationship"
	if c.Args[0].Kind() != graph.VertexKind {
		return nil, badArgument(name, "startNode", "a node", c.Args[0])
	}
	if c.Args[4].Kind() != graph.VertexKind {
		return nil, badArgument(name, "endNode", "a node", c.Args[4])
	}
	if c.Args[1].Kind() != graph.String || c.Args[1].Str() == "" {
		return nil, badArgument(name, "relType", "a string that is not empty", c.Args[1])
	}
	ident, err := identity(name, c.Args[2])
	if err != nil {
		return nil, err
	}
	pattern := "(a)-[r:" + tick(c.Args[1].Str()) + ident + "]->(b)"
	return merged(ctx, c, name, "WITH $start AS a, $end AS b ", pattern, "r", c.Args[2], c.Args[3], c.Args[5])
}

// vertexIDs returns the vertices of an argument: a node, its id or its element id, or a list of these.
func vertexIDs(procedure, argument string, v graph.Value) ([]graph.VertexID, error) {
	list := []graph.Value{v}
	if v.Kind() == graph.List {
		list = v.List()
	}
	ids := make([]graph.VertexID, len(list))
	for i, n := range list {
		switch n.Kind() {
		case graph.VertexKind:
			ids[i] = n.Vertex()
			continue
		case graph.Int:
			ids[i] = graph.VertexID(n.Int())
			continue
		case graph.String:
			var ok bool
			if ids[i], ok = graph.ParseVertexElementID(n.Str()); ok {
				continue
			}
		}
		return nil, badArgument(procedure, argument, "nodes or their ids", n)
	}
	return ids, nil
}

func sleep(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	if c.Args[0].Kind() != graph.Int || c.Args[0].Int() < 0 {
		return nil, badArgument("apoc.util.sleep", "duration", "milliseconds from 0 on", c.Args[0])
	}
	const most = 1 << 40 // far beyond any timeout
	timer := time.NewTimer(time.Duration(min(c.Args[0].Int(), most)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, graph.DeadlineError(context.Cause(ctx))
	}
}
