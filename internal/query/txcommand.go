package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/option"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard"
)

// schemaChange holds the changes of an explicit transaction to the schema and the set of graphs. Each command is checked when it is
// sent, against the result of those before it, and runs when the transaction commits. A transaction changes either the schema or
// data.
type schemaChange struct {
	commands []boundCommand
	indexes  []graph.Index   // after the commands
	rules    []rules.Rule    // after the commands
	graphs   map[string]bool // created or dropped by the commands, by name
}

// changesBoth says what a transaction may not contain.
const changesBoth = "a change of data and one of the schema"

type boundCommand struct {
	p      *prepared
	params map[string]graph.Value
	// add and remove are of commands that change rules. Those in a row are one, so that all or none of them take effect.
	add, remove []rules.Rule
}

// add checks a command and counts its changes in res.
func (s *schemaChange) add(e *Engine, g shard.Graph, p *prepared, params map[string]graph.Value, res *Result) error {
	if s.commands == nil {
		s.indexes, s.rules, s.graphs = slices.Clone(g.Indexes()), rules.Of(g.Definitions()), map[string]bool{}
	}
	switch c := p.command.(type) {
	case *cypher.CreateIndex:
		ix, there, err := newIndex(s.indexes, c, params)
		if err != nil || there {
			return err
		}
		s.indexes = append(s.indexes, ix)
		res.changed().created(c)
	case *cypher.DropIndex:
		i, err := oldIndex(s.indexes, c, params)
		if err != nil || i < 0 {
			return err
		}
		s.indexes = slices.Delete(s.indexes, i, i+1)
		res.changed().dropped(c)
	case *cypher.AlterTTL:
		if !c.Remove {
			if _, err := option.TTL(c, params); err != nil {
				return err
			}
		}
	case *cypher.ChangeRules:
		add, remove, err := changedRules(g, c, params)
		if err != nil {
			return err
		}
		return s.addRules(p, add, remove, res)
	case *cypher.AlterGraph:
		if _, err := option.Altered(c, c.Name, params); err != nil {
			return err
		}
		if !s.hasGraph(e, e.graphName(c.Name)) && !c.IfExists {
			return graph.NoGraph(c.Name)
		}
		res.changed().system++
	case *cypher.CreateSnapshot, *cypher.DropSnapshot:
		res.changed().system++
	case *cypher.CreateGraph:
		if _, err := option.Created(c, params); err != nil {
			return err
		}
		there := s.hasGraph(e, c.Name)
		switch {
		case there && c.IfNotExists:
			return nil
		case there && !c.OrReplace:
			return graph.DuplicateGraph(c.Name)
		case there:
			res.changed().system++ // the replaced graph
		}
		res.changed().system++
		s.graphs[c.Name] = true
	case *cypher.DropGraph:
		if !s.hasGraph(e, c.Name) {
			if c.IfExists {
				return nil
			}
			return graph.NoGraph(c.Name)
		}
		res.changed().system++
		s.graphs[c.Name] = false
	}
	s.commands = append(s.commands, boundCommand{p: p, params: params})
	return nil
}

// addRules adds a command that changes rules.
func (s *schemaChange) addRules(p *prepared, add, remove []rules.Rule, res *Result) (err error) {
	if s.rules, err = res.changed().rules(s.rules, add, remove); err != nil {
		return err
	}
	last := len(s.commands) - 1
	if last < 0 || !s.commands[last].changesRules() {
		s.commands = append(s.commands, boundCommand{p: p, add: add, remove: remove})
		return nil
	}
	c := &s.commands[last]
	if c.remove, _, err = rules.Change(c.remove, remove, add); err == nil {
		c.add, _, err = rules.Change(c.add, add, remove)
	}
	return err
}

func (c *boundCommand) changesRules() bool {
	_, ok := c.p.command.(*cypher.ChangeRules)
	return ok
}

func (s *schemaChange) hasGraph(e *Engine, name string) bool {
	if there, ok := s.graphs[name]; ok {
		return there
	}
	_, err := e.store.Graph(name)
	return err == nil
}

// run runs the commands in order. After an error, those before it have taken effect, and the error says so.
func (s *schemaChange) run(ctx context.Context, e *Engine, g shard.Graph, q *Running) error {
	for i, c := range s.commands {
		var err error
		if c.changesRules() {
			err = shard.ChangeRules(ctx, g, c.add, c.remove)
		} else {
			err = commands{e}.command(ctx, g, c.p, c.params, &Result{e: e, q: q})
		}
		if err != nil {
			if i > 0 {
				err = graph.StandError(err, fmt.Sprintf("commands: %d", i))
			}
			return err
		}
	}
	return nil
}
