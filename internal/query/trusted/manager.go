package trusted

import (
	"context"
	"slices"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// mostAttempts is how often a change is tried while others change definitions too.
const mostAttempts = 32

// Engine is what a Manager asks of the engine that plans and runs statements.
type Engine interface {
	// Name returns the name of a graph, which may be "" for the default.
	Name(graphName string) string
	Graphs() []string
	// Graph returns a graph as it is now and as the caller sees it.
	Graph(ctx context.Context, name string) (shard.Graph, error)
	// Plan plans an operation, a fetch or traversal with its Sample.
	Plan(ctx context.Context, g shard.Graph, o *operation.Operation) (Plan, error)
	// Exclusive reports whether the statement of the context keeps others from committing, for which a change would wait.
	Exclusive(ctx context.Context) bool
}

// Plan is what the plan of an operation says of it.
type Plan struct {
	Command bool     // it is a command, or is only explained or profiled
	Graph   string   // that it names by USE, or ""
	Params  []string // that it uses
	Write   bool
	Single  bool   // it gives one row at most
	Unknown string // the notification about a label, type or property that the graph lacks, or ""
	Seeks   []graph.Index
	Named   []string // the indexes that procedures search by name
	Columns []operation.Column
}

// Manager lists and changes the trusted operations of the graphs of an engine.
type Manager struct {
	e      Engine
	calls  Metrics
	health health
}

// NewManager returns the manager of an engine's operations.
func NewManager(e Engine) *Manager { return &Manager{e: e} }

// Observe counts a call of an operation.
func (m *Manager) Observe(graphName, name string, d time.Duration, err error) {
	m.calls.Observe(graphName, name, d, err)
}

// List returns the operations of a graph that the caller may run, in order of names; those of an admin are all.
func (m *Manager) List(ctx context.Context, graphName string) ([]operation.State, error) {
	graphName = m.e.Name(graphName)
	g, all, err := m.permitted(ctx, graphName)
	if err != nil {
		return nil, err
	}
	id := access.Caller(ctx)
	var out []operation.State
	for _, o := range all {
		if !o.Disabled || id == nil || id.In(graphName) == access.Admin {
			st := operation.State{Operation: o}
			st.Problem, st.Columns = m.problem(ctx, restricted.Whole(g), o)
			out = append(out, st)
		}
	}
	return out, nil
}

// Find returns an operation of a graph, by its name or hash, or nil. Whether the caller may run it, the call tells.
func (m *Manager) Find(ctx context.Context, graphName string, c *Call) *operation.Operation {
	g, err := m.e.Graph(ctx, m.e.Name(graphName))
	if err != nil {
		return nil
	}
	return c.Find(g)
}

// Callable returns the operations of a graph that are enabled and that the caller may run, in order of names. It plans none.
func (m *Manager) Callable(ctx context.Context, graphName string) ([]*operation.Operation, error) {
	_, all, err := m.permitted(ctx, m.e.Name(graphName))
	return slices.DeleteFunc(all, func(o *operation.Operation) bool { return o.Disabled }), err
}

// permitted returns a graph and those of its operations that the roles of the caller permit.
func (m *Manager) permitted(ctx context.Context, graphName string) (shard.Graph, []*operation.Operation, error) {
	if err := access.Check(ctx, graphName, access.Operations); err != nil {
		return nil, nil, err
	}
	g, err := m.e.Graph(ctx, graphName)
	if err != nil {
		return nil, nil, err
	}
	id := access.Caller(ctx)
	return g, slices.DeleteFunc(slices.Clone(operation.All(g.Definitions())), func(o *operation.Operation) bool {
		return id != nil && !MayRun(id, graphName, o)
	}), nil
}

// Put adds operations to a graph, and replaces those of their names, all or none. Each is planned first. The caller must be an admin
// of the graph.
func (m *Manager) Put(ctx context.Context, graphName string, all []*operation.Operation) ([]*operation.Operation, error) {
	g, err := m.adminOf(ctx, &graphName)
	if err != nil {
		return nil, err
	}
	checked := make([]*operation.Operation, len(all))
	for i, o := range all {
		if checked[i], err = m.check(ctx, g, o); err != nil {
			return nil, err
		}
	}
	err = m.define(ctx, graphName, func(g shard.Graph) error {
		c, err := operation.Put(g.Definitions(), checked)
		if err != nil {
			return err
		}
		return g.Define(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	if g, err = m.e.Graph(ctx, graphName); err != nil {
		return nil, err
	}
	for i, o := range checked {
		if now := operation.Get(g.Definitions(), o.Name); now != nil {
			checked[i] = now
		}
	}
	return checked, nil
}

// adminOf returns a graph, whose name may be "", for an admin of it.
func (m *Manager) adminOf(ctx context.Context, name *string) (shard.Graph, error) {
	*name = m.e.Name(*name)
	if m.e.Exclusive(ctx) { // which Define would wait for
		return nil, graph.ForbiddenInTransaction("a change of trusted operations or quotas in a statement that merges, or runs again after a conflict,")
	}
	if err := access.Check(ctx, *name, access.Admin); err != nil {
		return nil, err
	}
	return m.e.Graph(ctx, *name)
}

// Define makes a change of the definitions of a graph that follows from what they are. The caller must be an admin of the graph.
func (m *Manager) Define(ctx context.Context, graphName string, change func(*definition.Set) (definition.Change, error)) error {
	if _, err := m.adminOf(ctx, &graphName); err != nil {
		return err
	}
	return m.define(ctx, graphName, func(g shard.Graph) error {
		c, err := change(g.Definitions())
		if err != nil {
			return err
		}
		return g.Define(ctx, c)
	})
}

// define changes definitions, and does so again if others have changed them meanwhile.
func (m *Manager) define(ctx context.Context, graphName string, f func(shard.Graph) error) error {
	for again := 1; ; again++ {
		g, err := m.e.Graph(ctx, graphName)
		if err != nil {
			return err
		}
		if err = f(g); err == nil || graph.AsError(err).Detail != "DefinitionsChanged" || again == mostAttempts {
			return err
		}
	}
}

// check plans an operation and returns it with what the plan says of it.
func (m *Manager) check(ctx context.Context, g shard.Graph, o *operation.Operation) (*operation.Operation, error) {
	invalid := func(format string, args ...any) error {
		err := graph.RequestError(graph.KindInvalid, "InvalidOperation", format, args...)
		err.Msg = "operation " + o.Name + ": " + err.Msg
		return err
	}
	p, err := m.e.Plan(ctx, g, o)
	if err != nil {
		wrapped := *graph.AsError(err)
		wrapped.Msg = "operation " + o.Name + ": " + wrapped.Msg
		return nil, &wrapped
	}
	switch {
	case p.Command:
		return nil, invalid("it is not a statement that reads or changes data")
	case p.Graph != "":
		return nil, invalid("it names a graph by USE; an operation runs on its own graph")
	}
	for _, name := range p.Params {
		if !slices.ContainsFunc(o.Params, func(q operation.Param) bool { return q.Name == name }) {
			return nil, invalid("it uses the parameter $%s, which no line \"// param: %s :: …\" gives a type", name, name)
		}
	}
	next := *o
	next.Write, next.Single, next.Indexes = p.Write, p.Single, nil
	for i := range p.Seeks {
		next.Indexes = append(next.Indexes, textOf(&p.Seeks[i]))
	}
	return &next, nil
}

// Enable enables an operation of a graph, or disables it. The caller must be an admin of the graph.
func (m *Manager) Enable(ctx context.Context, graphName, name string, enabled bool) error {
	if _, err := m.adminOf(ctx, &graphName); err != nil {
		return err
	}
	return m.define(ctx, graphName, func(g shard.Graph) error {
		o := operation.Get(g.Definitions(), name)
		if o == nil {
			return NotFound(graphName, &Call{Name: name})
		}
		c, err := o.Enable(g.Definitions(), enabled)
		if err != nil {
			return err
		}
		return g.Define(ctx, c)
	})
}

// Drop drops an operation of a graph. The caller must be an admin of the graph.
func (m *Manager) Drop(ctx context.Context, graphName, name string) error {
	g, err := m.adminOf(ctx, &graphName)
	if err != nil {
		return err
	}
	o := operation.Get(g.Definitions(), name)
	if o == nil {
		return NotFound(graphName, &Call{Name: name})
	}
	return g.Define(ctx, o.Drop())
}
