package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/option"
	"github.com/hopgate/hopgate/internal/shard"
)

// commands runs the statements that have no plan.
type commands struct{ *Engine }

// command runs a command.
func (e commands) command(ctx context.Context, g shard.Graph, p *prepared, params map[string]graph.Value, res *Result) error {
	res.Columns = []string{}
	switch c := p.command.(type) {
	case *cypher.CreateIndex:
		return e.createIndex(ctx, g, c, params, res)
	case *cypher.DropIndex:
		return e.dropIndex(ctx, g, c, params, res)
	case *cypher.AlterTTL:
		return option.AlterTTL(ctx, g, c, params)
	case *cypher.ChangeRules:
		return e.changeRules(ctx, g, c, params, res)
	case *cypher.CreateGraph:
		return e.createGraph(ctx, c, params, res)
	case *cypher.AlterGraph:
		return e.alterGraph(ctx, c, params, res)
	case *cypher.CreateSnapshot, *cypher.DropSnapshot:
		done, err := option.Snapshot(ctx, g, c, params)
		if done {
			res.changed().system++
		}
		return err
	case *cypher.DropGraph:
		err := e.dropGraph(ctx, c.Name, res)
		if c.IfExists && isKind(err, graph.KindNotFound) {
			return nil
		}
		return err
	}
	return graph.InternalError("run a command", fmt.Errorf("no command %T", p.command))
}

// forget drops the cached state of a dropped graph.
func (e *Engine) forget(g shard.Graph) {
	e.plans.forget(g)
	e.texts.forget(g)
	e.fetches.Forget(g)
}

func isKind(err error, kind graph.Kind) bool {
	var e *graph.Error
	return errors.As(err, &e) && e.Kind == kind
}

// createIndex creates an index or a constraint.
func (e commands) createIndex(ctx context.Context, g shard.Graph, c *cypher.CreateIndex, params map[string]graph.Value, res *Result) error {
	ix, there, err := newIndex(g.Indexes(), c, params)
	if err != nil || there {
		return err
	}
	if err := g.CreateIndex(ctx, ix); err != nil {
		if isKind(err, graph.KindExists) && c.IfNotExists && ix.Clash(g.Indexes()) != nil {
			return nil
		}
		return err
	}
	res.changed().created(c)
	return nil
}

// newIndex returns the index that a command adds to a list. If an existing one conflicts, it returns none with IF NOT EXISTS,
// and otherwise fails with graph.KindExists.
func newIndex(list []graph.Index, c *cypher.CreateIndex, params map[string]graph.Value) (ix graph.Index, there bool, err error) {
	ix = c.Index
	if ix.Name, err = option.Name(ix.Name, c.NameParam, params); err != nil {
		return ix, false, err
	}
	if ix.Kind == graph.VectorIndex {
		if ix.Vector, err = option.Vector(c.Options, params); err != nil {
			return ix, false, err
		}
	}
	if ix.Kind == graph.FullTextIndex {
		more := ix.Text.More
		if ix.Text, err = option.Text(c.Options, params); err != nil {
			return ix, false, err
		}
		ix.Text.More = more
	}
	if ix.Name == "" {
		kind := "index"
		switch {
		case c.Constraint:
			kind = "constraint"
		case ix.Kind != graph.RangeIndex:
			kind = strings.ToLower(ix.Kind.String()) + "_index"
		}
		ix.Name = kind + "_" + strings.Join(ix.Names(), "_") + "_" + strings.Join(ix.Props, "_")
		if ix.Required {
			ix.Name += "_required"
		}
	}
	old := ix.Clash(list)
	if old != nil && !c.IfNotExists {
		return ix, true, graph.IndexExists(old)
	}
	return ix, old != nil, nil
}

// created counts the additions of a command.
func (s *SchemaCounters) created(c *cypher.CreateIndex) {
	if c.Constraint {
		s.ConstraintsAdded++
	} else {
		s.IndexesAdded++
	}
}

// dropped counts the removals of a command.
func (s *SchemaCounters) dropped(c *cypher.DropIndex) {
	if c.Constraint {
		s.ConstraintsRemoved++
	} else {
		s.IndexesRemoved++
	}
}

// dropIndex removes an index or a constraint.
func (e commands) dropIndex(ctx context.Context, g shard.Graph, c *cypher.DropIndex, params map[string]graph.Value, res *Result) error {
	i, err := oldIndex(g.Indexes(), c, params)
	if err != nil || i < 0 {
		return err
	}
	if err := g.DropIndex(ctx, g.Indexes()[i].Name); err != nil {
		return err
	}
	res.changed().dropped(c)
	return nil
}

// oldIndex returns the position of the index that a command removes from a list; -1 if it does not exist and the command says IF
// EXISTS.
func oldIndex(list []graph.Index, c *cypher.DropIndex, params map[string]graph.Value) (int, error) {
	name, err := option.Name(c.Name, c.NameParam, params)
	if err != nil {
		return -1, err
	}
	i := slices.IndexFunc(list, func(ix graph.Index) bool {
		if name != "" {
			return ix.Name == name && ix.IsConstraint() == c.Constraint
		}
		return ix.Label == c.Index.Label && ix.Type == c.Index.Type && slices.Equal(ix.Props, c.Index.Props) && ix.Kind == c.Index.Kind && !ix.IsConstraint()
	})
	if i >= 0 || c.IfExists {
		return i, nil
	}
	what, code := "index", "DatabaseError.Schema.IndexDropFailed"
	if c.Constraint {
		what, code = "constraint", "DatabaseError.Schema.ConstraintDropFailed"
	}
	return i, graph.SchemaError(graph.KindInvalid, code, "NotFound", "there is no %s %q", what, name)
}

func (e commands) createGraph(ctx context.Context, c *cypher.CreateGraph, params map[string]graph.Value, res *Result) error {
	set, err := option.Created(c, params)
	if err != nil {
		return err
	}
	err = e.store.CreateGraph(ctx, c.Name)
	if isKind(err, graph.KindExists) {
		if c.IfNotExists {
			return nil
		}
		if !c.OrReplace {
			return err
		}
		if err := e.dropGraph(ctx, c.Name, res); err != nil {
			return err
		}
		if err = e.store.CreateGraph(ctx, c.Name); err != nil {
			return graph.StandError(err, "graphs dropped: 1")
		}
	}
	if err == nil {
		res.changed().system++
		if err = set(ctx, e.store); err != nil {
			err = graph.StandError(err, "graphs created: 1")
		}
	}
	return err
}

func (e commands) alterGraph(ctx context.Context, c *cypher.AlterGraph, params map[string]graph.Value, res *Result) error {
	set, err := option.Altered(c, e.graphName(c.Name), params)
	if err != nil {
		return err
	}
	if err = set(ctx, e.store); err == nil {
		res.changed().system++
	} else if c.IfExists && graph.AsError(err).Detail == "NotFound" {
		return nil
	}
	return err
}

// dropGraph ends all requests on a graph except for the command itself, and drops the graph.
func (e commands) dropGraph(ctx context.Context, name string, res *Result) error {
	g, err := e.store.Graph(name)
	if err != nil {
		return err
	}
	if name != DefaultGraph {
		e.running.endAll(name, res.q)
	}
	if err := e.store.DropGraph(ctx, name); err != nil {
		return err
	}
	e.forget(g)
	res.changed().system++
	return nil
}
