package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// command runs a command.
func (e *Engine) command(ctx context.Context, g shard.Graph, p *prepared, params map[string]graph.Value, res *Result) error {
	res.Columns = []string{}
	switch c := p.command.(type) {
	case *cypher.CreateIndex:
		return e.createIndex(ctx, g, c, res)
	case *cypher.DropIndex:
		return e.dropIndex(ctx, g, c, res)
	case *cypher.AlterTTL:
		return e.alterTTL(ctx, g, c, params)
	case *cypher.CreateGraph:
		return e.createGraph(ctx, c, res.q)
	case *cypher.DropGraph:
		err := e.dropGraph(ctx, c.Name, res.q)
		if c.IfExists && isKind(err, graph.KindNotFound) {
			return nil
		}
		return err
	}
	return graph.InternalError("run a command", fmt.Errorf("no command %T", p.command))
}

// forget drops what is kept for a graph that is no more.
func (e *Engine) forget(g shard.Graph) {
	e.plans.forget(g)
	e.texts.forget(g)
	e.fetches.forget(g)
}

func isKind(err error, kind graph.Kind) bool {
	var e *graph.Error
	return errors.As(err, &e) && e.Kind == kind
}

// existsAlready tells an index that is there from a constraint that what is there violates.
func existsAlready(err error) bool {
	var e *graph.Error
	return errors.As(err, &e) && e.Detail == "IndexExists"
}

func (e *Engine) createIndex(ctx context.Context, g shard.Graph, c *cypher.CreateIndex, res *Result) error {
	ix := c.Index
	if ix.Name == "" {
		kind := "index"
		if c.Constraint {
			kind = "constraint"
		}
		ix.Name = kind + "_" + ix.Label + ix.Type + "_" + strings.Join(ix.Props, "_")
		if ix.Required {
			ix.Name += "_required"
		}
	}
	err := g.CreateIndex(ctx, ix)
	if c.IfNotExists && existsAlready(err) && slices.ContainsFunc(g.Indexes(), func(old graph.Index) bool {
		return old.Name == ix.Name || sameSchema(&old, &ix)
	}) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.Constraint {
		res.schema.ConstraintsAdded = 1
	} else {
		res.schema.IndexesAdded = 1
	}
	return nil
}

func sameSchema(a, b *graph.Index) bool {
	return a.Label == b.Label && a.Type == b.Type && slices.Equal(a.Props, b.Props) && a.Unique == b.Unique && a.Required == b.Required
}

func isConstraint(ix *graph.Index) bool { return ix.Unique || ix.Required }

func (e *Engine) dropIndex(ctx context.Context, g shard.Graph, c *cypher.DropIndex, res *Result) error {
	name := c.Name
	for _, ix := range g.Indexes() {
		if name == "" && ix.Label == c.Index.Label && ix.Type == c.Index.Type && slices.Equal(ix.Props, c.Index.Props) && !isConstraint(&ix) {
			name = ix.Name
		}
	}
	i := slices.IndexFunc(g.Indexes(), func(ix graph.Index) bool { return ix.Name == name && isConstraint(&ix) == c.Constraint })
	if i < 0 {
		if c.IfExists {
			return nil
		}
		what, code := "index", "Neo.ClientError.Schema.IndexNotFound"
		if c.Constraint {
			what, code = "constraint", "Neo.ClientError.Schema.ConstraintNotFound"
		}
		return &graph.Error{
			Kind: graph.KindInvalid, Code: code, Type: "SchemaError", Phase: graph.PhaseRuntime, Detail: "NotFound",
			Msg: fmt.Sprintf("there is no %s %q", what, name),
		}
	}
	if err := g.DropIndex(ctx, name); err != nil {
		return err
	}
	if c.Constraint {
		res.schema.ConstraintsRemoved = 1
	} else {
		res.schema.IndexesRemoved = 1
	}
	return nil
}

func (e *Engine) createGraph(ctx context.Context, c *cypher.CreateGraph, q *Running) error {
	err := e.store.CreateGraph(ctx, c.Name)
	if !isKind(err, graph.KindExists) {
		return err
	}
	switch {
	case c.IfNotExists:
		return nil
	case c.OrReplace:
		if err := e.dropGraph(ctx, c.Name, q); err != nil {
			return err
		}
		return e.store.CreateGraph(ctx, c.Name)
	}
	return err
}

// dropGraph ends what runs on a graph, but for the command itself, and drops it.
func (e *Engine) dropGraph(ctx context.Context, name string, command *Running) error {
	g, err := e.store.Graph(name)
	if err != nil {
		return err
	}
	if name != DefaultGraph {
		e.running.endAll(name, command)
	}
	if err := e.store.DropGraph(ctx, name); err != nil {
		return err
	}
	e.forget(g)
	return nil
}

// transactionID is how SHOW TRANSACTIONS names a running statement.
func transactionID(q *Running) string {
	return q.Graph + "-transaction-" + strconv.FormatUint(q.ID, 10)
}

// terminate ends the transactions with these ids, each a string or a list of strings, and says of each what came of it.
func (e *Engine) terminate(ctx context.Context, _ shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
	var rows [][]graph.Value
	ids := args[1].List()
	for len(ids) > 0 {
		id := ids[0]
		ids = ids[1:]
		switch id.Kind() {
		case graph.List:
			ids = append(slices.Clone(id.List()), ids...)
			continue
		case graph.String:
		default:
			return nil, graph.TypeError("InvalidArgumentType", "a transaction id must be a string, not %s", fn.Describe(id))
		}
		msg, caller := "Transaction not found.", graph.Value{}
		for _, q := range e.Running(ctx) {
			if transactionID(q) == id.Str() && e.Kill(ctx, q.ID) {
				msg, caller = "Transaction terminated.", text(q.Caller)
			}
		}
		rows = append(rows, []graph.Value{id, caller, text(msg)})
	}
	return rows, nil
}
