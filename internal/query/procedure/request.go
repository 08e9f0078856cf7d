package procedure

import (
	"context"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fetch/verify"
)

// addRequests adds the procedures for the rules of JSON-array fetches, which are APIJSON's table Request. A change takes effect at once.
func (r *Registry) addRequests() {
	const row = "(method :: STRING, tag :: STRING, version :: INTEGER, structure :: STRING)"
	r.add("db.fetch.requests() :: "+row, "List the rules of JSON-array fetches by method and tag. Only an admin of the graph may.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			if err := access.Check(ctx, r.host.Graph(ctx), access.Admin); err != nil {
				return nil, err
			}
			var rows [][]graph.Value
			for _, q := range verify.Of(c.Graph.Definitions()) {
				rows = append(rows, []graph.Value{text(q.Method), text(q.Tag), graph.IntValue(q.Version), text(q.Structure)})
			}
			return rows, nil
		})
	r.add("db.fetch.run(method :: STRING, request :: STRING) :: (value :: MAP)", "Run a JSON-array fetch that reads, and return its answer.",
		func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
			for i, name := range []string{"method", "request"} {
				if c.Args[i].Kind() != graph.String {
					return nil, badArgument("db.fetch.run", name, "a String", c.Args[i])
				}
			}
			v, err := r.host.Fetch(ctx, c, c.Args[0].Str(), c.Args[1].Str())
			return [][]graph.Value{{v}}, err
		})
	r.define("db.fetch.putRequest"+row+" :: ()",
		"Add a rule of JSON-array fetches, or replace that of the same method, tag and version. The structure is JSON, as in APIJSON's table Request.",
		func(c *exec.Call) (definition.Change, error) {
			const name = "db.fetch.putRequest"
			if c.Args[3].Kind() != graph.String {
				return definition.Change{}, badArgument(name, "structure", "a String", c.Args[3])
			}
			method, tag, version, err := requestArguments(name, c)
			if err != nil {
				return definition.Change{}, err
			}
			return verify.Put(verify.Rule{Method: method, Tag: tag, Version: version, Structure: c.Args[3].Str()})
		})
	r.define("db.fetch.dropRequest(method :: STRING, tag :: STRING, version :: INTEGER) :: ()", "Drop a rule of JSON-array fetches.",
		func(c *exec.Call) (definition.Change, error) {
			method, tag, version, err := requestArguments("db.fetch.dropRequest", c)
			return verify.Drop(method, tag, version), err
		})
}

// define adds a procedure that changes the definitions of the graph.
func (r *Registry) define(signature, description string, change func(c *exec.Call) (definition.Change, error)) {
	r.add(signature, description, func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
		done, err := change(c)
		if err != nil {
			return nil, err
		}
		return nil, r.host.Define(ctx, c.Graph, done)
	})
}

// requestArguments returns the arguments that name a rule of fetches.
func requestArguments(name string, c *exec.Call) (method, tag string, version int64, err error) {
	for i, argument := range []string{"method", "tag"} {
		if c.Args[i].Kind() != graph.String {
			return "", "", 0, badArgument(name, argument, "a String", c.Args[i])
		}
	}
	if c.Args[2].Kind() != graph.Int {
		return "", "", 0, badArgument(name, "version", "an Integer", c.Args[2])
	}
	return c.Args[0].Str(), c.Args[1].Str(), c.Args[2].Int(), nil
}
