package procedure

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// Operations keeps the trusted operations of graphs. Package trusted's Manager implements it.
type Operations interface {
	List(ctx context.Context, graphName string) ([]operation.State, error)
	Put(ctx context.Context, graphName string, all []*operation.Operation) ([]*operation.Operation, error)
	Enable(ctx context.Context, graphName, name string, enabled bool) error
	Drop(ctx context.Context, graphName, name string) error
	// Define makes a change of all that is defined in a graph.
	Define(ctx context.Context, graphName string, change func(*definition.Set) (definition.Change, error)) error
}

// addOperations adds the procedures that list and change trusted operations. What they change, they change at once, whatever becomes of the
// transaction.
func (r *Registry) addOperations() {
	const put = " :: (name :: STRING, version :: INTEGER, write :: BOOLEAN, hash :: STRING)"
	r.addDefine(`db.operations.put(text :: STRING, file = "" :: STRING)`+put,
		"Add the trusted operations of a file, or replace those of their names.", r.putOperations(operation.Parse))
	r.addDefine(`db.operations.import(manifest :: STRING, file = "" :: STRING)`+put,
		"Add the trusted operations of a manifest of persisted queries, or replace those of their names.",
		r.putOperations(func(file, text string) ([]*operation.Operation, error) { return operation.Manifest(file, []byte(text)) }))
	r.add("db.operations.list() :: (name :: STRING, description :: STRING, params :: LIST<MAP>, roles :: LIST<STRING>, write :: BOOLEAN, "+
		"state :: STRING, problem :: STRING, version :: INTEGER, hash :: STRING, id :: STRING, statement :: STRING, kind :: STRING, route :: STRING)",
		"List the trusted operations that the caller may run.", r.listOperations)
	r.add(`db.operations.call(name :: STRING, arguments :: LIST<ANY>, key = "" :: STRING, when = true :: BOOLEAN?) :: (value :: ANY)`,
		"Call a trusted operation that reads, and return its one row's value or map, or a list of all rows'. The key is named in errors.", r.callOperation)
	for name, enabled := range map[string]bool{"enable": true, "disable": false} {
		r.addDefine("db.operations."+name+"(name :: STRING) :: ()", strings.ToUpper(name[:1])+name[1:]+" a trusted operation.",
			func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
				return nil, r.host.Operations().Enable(ctx, r.host.Graph(ctx), c.Args[0].Str(), enabled)
			})
	}
	r.addDefine("db.operations.drop(name :: STRING) :: ()", "Drop a trusted operation.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			return nil, r.host.Operations().Drop(ctx, r.host.Graph(ctx), c.Args[0].Str())
		})
}

// putOperations returns the procedure that adds the operations of a text.
func (r *Registry) putOperations(parse func(file, text string) ([]*operation.Operation, error)) run {
	return func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
		all, err := parse(cmp.Or(c.Args[1].Str(), "text"), c.Args[0].Str())
		if err != nil {
			return nil, graph.RequestError(graph.KindInvalid, "InvalidOperation", "%v", err)
		}
		if all, err = r.host.Operations().Put(ctx, r.host.Graph(ctx), all); err != nil {
			return nil, err
		}
		rows := make([][]graph.Value, len(all))
		for i, o := range all {
			rows[i] = []graph.Value{text(o.Name), graph.IntValue(int64(o.Version)), graph.BoolValue(o.Write), text(o.Hash)}
		}
		return rows, nil
	}
}

func (r *Registry) callOperation(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "db.operations.call"
	switch {
	case c.Args[3].Kind() != graph.Bool || !c.Args[3].Bool():
		return [][]graph.Value{{{}}}, nil
	case c.Args[0].Kind() != graph.String:
		return nil, badArgument(name, "name", "a String", c.Args[0])
	case c.Args[1].Kind() != graph.List:
		return nil, badArgument(name, "arguments", "a List", c.Args[1])
	}
	v, err := r.host.CallOperation(ctx, c, c.Args[0].Str(), c.Args[1].List())
	if err != nil && c.Args[2].Kind() == graph.String && c.Args[2].Str() != "" {
		named := *graph.AsError(err)
		named.Msg = strconv.Quote(c.Args[2].Str()) + ": " + named.Msg
		err = &named
	}
	return [][]graph.Value{{v}}, err
}

func (r *Registry) listOperations(ctx context.Context, _ *exec.Call) ([][]graph.Value, error) {
	all, err := r.host.Operations().List(ctx, r.host.Graph(ctx))
	if err != nil {
		return nil, err
	}
	rows := make([][]graph.Value, len(all))
	for i, o := range all {
		params := make([]graph.Value, len(o.Params))
		for k := range o.Params {
			p := &o.Params[k]
			entries := []graph.MapEntry{
				{Key: "name", Value: text(p.Name)},
				{Key: "type", Value: text(string(p.Type))},
				{Key: "description", Value: text(p.Description)},
				{Key: "required", Value: graph.BoolValue(p.Required())},
			}
			if !p.Required() {
				entries = append(entries, graph.MapEntry{Key: "default", Value: text(string(p.Default))})
			}
			params[k] = graph.MapValue(entries)
		}
		roles := make([]graph.Value, len(o.Roles))
		for k, role := range o.Roles {
			roles[k] = text(role)
		}
		rows[i] = []graph.Value{
			text(o.Name), text(o.Description), graph.ListValue(params), graph.ListValue(roles), graph.BoolValue(o.Write), text(o.State()),
			text(o.Problem), graph.IntValue(int64(o.Version)), text(o.Hash), text(o.ID), text(o.Statement),
			text(string(o.Kind())), text(o.Route),
		}
	}
	return rows, nil
}
