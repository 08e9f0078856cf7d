package fn

import "github.com/hopgate/hopgate/internal/graph"

var entityFunctions = []Function{
	{
		Name: "id", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Node | Relationship}, Result: Integer | Null,
		Signature: "id(entity :: NODE | RELATIONSHIP) :: INTEGER", Description: "The entity's internal number.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			switch a := args[0]; a.Kind() {
			case graph.VertexKind:
				return graph.IntValue(int64(a.Vertex())), nil
			case graph.EdgeKind:
				return graph.IntValue(int64(a.EdgeID())), nil
			}
			return null, badArgument("id", args[0], "a Node or Relationship")
		}),
	},
	{
		Name: "elementId", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Node | Relationship}, Result: String | Null,
		Signature: "elementId(entity :: NODE | RELATIONSHIP) :: STRING", Description: "The id of the node or relationship, which stays.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			var buf [80]byte
			switch a := args[0]; a.Kind() {
			case graph.VertexKind:
				return graph.StringValue(string(graph.AppendVertexElementID(buf[:0], a.Vertex()))), nil
			case graph.EdgeKind:
				return graph.StringValue(string(graph.AppendEdgeElementID(buf[:0], a.Edge().Edge))), nil
			}
			return null, badArgument("elementId", args[0], "a Node or Relationship")
		}),
	},
	{
		Name: "startNode", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Relationship}, Result: Node | Null,
		Signature: "startNode(relationship :: RELATIONSHIP) :: NODE", Description: "The node that the relationship leaves.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.EdgeKind {
				return null, badArgument("startNode", args[0], "a Relationship")
			}
			return graph.VertexValue(args[0].Edge().Src), nil
		}),
	},
	{
		Name: "endNode", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Relationship}, Result: Node | Null,
		Signature: "endNode(relationship :: RELATIONSHIP) :: NODE", Description: "The node that the relationship enters.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.EdgeKind {
				return null, badArgument("endNode", args[0], "a Relationship")
			}
			return graph.VertexValue(args[0].Edge().Dst), nil
		}),
	},
	{
		Name: "nodes", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Path}, Result: List | Null, Elem: Node,
		Signature: "nodes(path :: PATH) :: LIST<NODE>", Description: "The path's nodes, in its order.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.PathKind {
				return null, badArgument("nodes", args[0], "a Path")
			}
			return graph.ListValue(args[0].Path().Vertices), nil
		}),
	},
	{
		Name: "relationships", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Path}, Result: List | Null, Elem: Relationship,
		Signature: "relationships(path :: PATH) :: LIST<RELATIONSHIP>", Description: "The path's relationships, in its order.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.PathKind {
				return null, badArgument("relationships", args[0], "a Path")
			}
			return graph.ListValue(args[0].Path().Edges), nil
		}),
	},
	{
		Name: "length", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Path}, Result: Integer | Null,
		Signature: "length(path :: PATH) :: INTEGER", Description: "The number of the path's relationships.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() != graph.PathKind {
				return null, badArgument("length", args[0], "a Path")
			}
			return graph.IntValue(int64(len(args[0].Path().Edges))), nil
		}),
	},
	{
		Name: "labels", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Node}, Result: List | Null, Elem: String,
		Signature: "labels(node :: NODE) :: LIST<STRING>", Description: "The node's labels.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			r, err := recordOf("labels", args[0], graph.VertexKind, "a Node")
			if err != nil {
				return null, err
			}
			return textList(r.Labels), nil
		}),
	},
	{
		Name: "type", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Relationship}, Result: String | Null,
		Signature: "type(relationship :: RELATIONSHIP) :: STRING", Description: "The relationship's type.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			r, err := recordOf("type", args[0], graph.EdgeKind, "a Relationship")
			if err != nil {
				return null, err
			}
			return graph.StringValue(r.Type), nil
		}),
	},
	{
		Name: "properties", MinArgs: 1, MaxArgs: 1, Deterministic: true,
		Args: []Kinds{Map | Node | Relationship}, Result: Map | Null,
		Signature:   "properties(value :: MAP | NODE | RELATIONSHIP) :: MAP",
		Description: "The entity's properties as a map; a map is given back as it is.",
		Eval: strict(func(_ *Context, args []graph.Value) (graph.Value, error) {
			if args[0].Kind() == graph.Map {
				return args[0], nil
			}
			r, err := recordOf("properties", args[0], args[0].Kind(), "a Map, Node or Relationship")
			if err != nil {
				return null, err
			}
			m := make([]graph.MapEntry, len(r.Keys))
			for i, k := range r.Keys {
				m[i] = graph.MapEntry{Key: k, Value: r.Values[i]}
			}
			return graph.MapValue(m), nil
		}),
	},
}

func keysOf(_ *Context, args []graph.Value) (graph.Value, error) {
	a := args[0]
	if a.Kind() == graph.Map {
		l := make([]graph.Value, len(a.Map()))
		for i, e := range a.Map() {
			l[i] = graph.StringValue(e.Key)
		}
		return graph.ListValue(l), nil
	}
	r, err := recordOf("keys", a, a.Kind(), "a Map, Node or Relationship")
	if err != nil {
		return null, err
	}
	return textList(r.Keys), nil
}

// recordOf returns the record of a materialised entity of the wanted kind.
func recordOf(name string, v graph.Value, kind graph.ValueKind, wanted string) (*graph.Record, error) {
	var r *graph.Record
	switch {
	case v.Kind() != kind || kind != graph.VertexKind && kind != graph.EdgeKind:
		return nil, badArgument(name, v, wanted)
	case kind == graph.VertexKind:
		r = v.Record()
	default:
		r = v.Edge().Record
	}
	if r == nil {
		return nil, notMaterialised()
	}
	return r, nil
}

func textList(texts []string) graph.Value {
	l := make([]graph.Value, len(texts))
	for i, t := range texts {
		l[i] = graph.StringValue(t)
	}
	return graph.ListValue(l)
}
