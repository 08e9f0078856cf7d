package cypher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Command is a statement that changes the schema or the engine and has no plan: one of *CreateIndex, *DropIndex, *AlterTTL,
// *CreateGraph, *AlterGraph, *DropGraph, *CreateSnapshot, *DropSnapshot, *ChangeRules.
type Command interface{ head() *Head }

// Head is what all commands have in common.
type Head struct {
	Prefix     string // "", "EXPLAIN" or "PROFILE"
	Graph      string // of USE, or ""
	Text       string // the command without prefix and USE, in normal form
	deprecated []plan.Notification
}

func (h *Head) head() *Head { return h }

// The commands.
type (
	// CreateIndex creates an index or a constraint. An empty Index.Name is generated.
	CreateIndex struct {
		Head
		Index       graph.Index
		NameParam   string    // the parameter that holds the name, or ""
		Options     plan.Expr // of a vector index, of constants and parameters; or nil
		Constraint  bool
		IfNotExists bool
	}

	// DropIndex drops an index or a constraint by its name, or, if Name is empty, the index on Index's label and
	// properties.
	DropIndex struct {
		Head
		Name       string
		NameParam  string // the parameter that holds the name, or ""
		Index      graph.Index
		Constraint bool
		IfExists   bool
	}

	// AlterTTL sets or removes the TTL of a label or an edge type; one of the two is set.
	AlterTTL struct {
		Head
		Label, Type string
		// Create requires that the label or type has no TTL; with IfNotExists, an existing one stays.
		Create, IfNotExists bool
		Remove              bool
		// Options are constants and parameters by the names of the options, or, if Whole is set, one parameter.
		Options map[string]plan.Expr
		Whole   plan.Expr
	}

	// CreateGraph creates a graph.
	CreateGraph struct {
		Head
		Name        string
		OrReplace   bool
		IfNotExists bool
		Options     plan.Expr // of constants and parameters, or nil
	}

	// AlterGraph sets an option of a graph, or removes it.
	AlterGraph struct {
		Head
		Name     string
		IfExists bool
		Option   string
		Value    plan.Expr // a constant or a parameter; nil: the option is removed
	}

	// DropGraph drops a graph.
	DropGraph struct {
		Head
		Name     string
		IfExists bool
	}

	// CreateSnapshot names the present commit of a graph.
	CreateSnapshot struct {
		Head
		Name        string
		NameParam   string // the parameter that holds the name, or ""
		IfNotExists bool
		Expires     plan.Expr // a constant or a parameter: a duration, a time, or the text of either; nil: never
	}

	// DropSnapshot drops a snapshot.
	DropSnapshot struct {
		Head
		Name      string
		NameParam string // the parameter that holds the name, or ""
		IfExists  bool
	}
)

// HeadOf returns what a command has in common with all others.
func HeadOf(c Command) *Head { return c.head() }

// Operator returns the name of a command as EXPLAIN shows it.
func Operator(c Command) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", c), "*cypher.")
	switch c := c.(type) {
	case *CreateIndex:
		if c.Constraint {
			return "CreateConstraint"
		}
	case *DropIndex:
		if c.Constraint {
			return "DropConstraint"
		}
	}
	return name
}

// Notifications returns likely mistakes in a command.
func Notifications(c Command) []plan.Notification { return c.head().deprecated }

// commands binds the commands, which have no plans.
type commands struct{ *binder }

// command binds the command of a statement.
func (b *commands) command(stmt *ast.Statement) Command {
	c := b.commandOf(stmt.Body)
	if b.err != nil {
		return nil
	}
	if stmt.AsOf != nil {
		b.fail(noAsOf(stmt))
	}
	switch c.(type) {
	case *CreateGraph, *AlterGraph, *DropGraph:
		if stmt.Graph != "" {
			b.fail(graph.SyntaxError("UnexpectedSyntax", stmt.Pos, "USE cannot stand before a command that is not about one graph's schema"))
		}
	}
	on := stmt.Graph
	if p, ok := stmt.Body.(*ast.Privilege); ok && p.Graph != "" {
		if on != "" && on != p.Graph {
			b.fail(graph.SyntaxError("UnexpectedSyntax", stmt.Pos, "USE names another graph than ON GRAPH"))
		}
		on = p.Graph
	}
	*c.head() = Head{
		Prefix: prefixes[stmt.Mode], Graph: on, Text: ast.Format(stmt.Body), deprecated: deprecated(stmt),
	}
	return c
}

func (b *commands) commandOf(body ast.Body) Command {
	switch c := body.(type) {
	case *ast.CreateIndex:
		kind, known := indexKinds[c.Kind]
		if !known {
			b.unsupported(c, "an index of this kind is")
		}
		if kind != graph.RangeIndex && kind != graph.FullTextIndex && len(c.Schema.Properties) != 1 {
			b.fail(graph.SyntaxError("UnexpectedSyntax", c.Schema.Pos, "a %s index is on one property", strings.ToLower(kind.String())))
		}
		schema, more := c.Schema, []string(nil)
		if kind == graph.FullTextIndex && len(schema.Labels) > 1 {
			one := *schema
			one.Labels, more = schema.Labels[:1], schema.Labels[1:]
			schema = &one
			for i, name := range c.Schema.Labels {
				if slices.Contains(c.Schema.Labels[:i], name) {
					b.fail(graph.SyntaxError("UnexpectedSyntax", c.Schema.Pos, "the index names %s twice", name))
				}
			}
		}
		for at, name := range c.With {
			if slices.Contains(c.Schema.Properties, name) || slices.Contains(c.With[:at], name) {
				b.fail(graph.SyntaxError("UnexpectedSyntax", c.Schema.Pos, "the index names the property %s twice", name))
			}
		}
		i := b.index(schema)
		i.Name, i.Kind, i.Indexed = c.Name, kind, kind != graph.VectorIndex
		i.Text.More = more
		create := &CreateIndex{Index: i, NameParam: nameOf(c.NameParam), IfNotExists: c.IfNotExists}
		if kind == graph.VectorIndex || kind == graph.FullTextIndex {
			create.Options = b.settings("a "+strings.ToLower(kind.String())+" index", c.Options)
		} else {
			b.indexOptions(kind, c.Options)
		}
		return create
	case *ast.CreateConstraint:
		b.indexOptions(graph.RangeIndex, c.Options)
		i := b.index(c.Schema)
		i.Name = c.Name
		switch c.Kind {
		case ast.ConstraintUnique:
			i.Unique, i.Indexed = true, true
		case ast.ConstraintKey:
			i.Unique, i.Required, i.Indexed = true, true, true
		case ast.ConstraintNotNull:
			i.Required = true
		default:
			b.unsupported(c, "a constraint of this kind is")
		}
		return &CreateIndex{Index: i, NameParam: nameOf(c.NameParam), Constraint: true, IfNotExists: c.IfNotExists}
	case *ast.DropIndex:
		d := &DropIndex{Name: c.Name, NameParam: nameOf(c.NameParam), IfExists: c.IfExists}
		if c.Schema != nil {
			d.Index = b.index(c.Schema)
		}
		return d
	case *ast.DropConstraint:
		return &DropIndex{Name: c.Name, NameParam: nameOf(c.NameParam), IfExists: c.IfExists, Constraint: true}
	case *ast.AlterName:
		return b.alterTTL(c)
	case *ast.CreateGraph:
		g := &CreateGraph{Name: c.Name, OrReplace: c.OrReplace, IfNotExists: c.IfNotExists}
		if c.Options != nil {
			g.Options = b.settings("a graph", c.Options)
		}
		return g
	case *ast.AlterGraph:
		a := &AlterGraph{Name: c.Name, IfExists: c.IfExists, Option: c.Option}
		if c.Value != nil {
			a.Value = b.option(c.Value)
		}
		return a
	case *ast.DropGraph:
		return &DropGraph{Name: c.Name, IfExists: c.IfExists}
	case *ast.CreateSnapshot:
		s := &CreateSnapshot{Name: c.Name, NameParam: nameOf(c.NameParam), IfNotExists: c.IfNotExists}
		switch x := c.Expires.(type) {
		case nil:
		case *ast.Call:
			if strings.EqualFold(x.Name, "datetime") {
				s.Expires = b.option(x.Args[0])
			} else {
				s.Expires = b.option(x)
			}
		default:
			s.Expires = b.option(x)
		}
		return s
	case *ast.DropSnapshot:
		return &DropSnapshot{Name: c.Name, NameParam: nameOf(c.NameParam), IfExists: c.IfExists}
	case *ast.Privilege:
		return b.changeRules(c)
	}
	b.unsupported(body, "this command is")
	return nil
}

var indexKinds = map[ast.IndexKind]graph.IndexKind{
	ast.IndexRange: graph.RangeIndex, ast.IndexPoint: graph.PointIndex, ast.IndexVector: graph.VectorIndex,
	ast.IndexFulltext: graph.FullTextIndex,
}

// nameOf returns the name of a parameter, or "".
func nameOf(p *ast.Parameter) string {
	if p == nil {
		return ""
	}
	return p.Name
}

func (b *commands) alterTTL(c *ast.AlterName) Command {
	a := &AlterTTL{Label: c.Name, Create: c.Create, IfNotExists: c.IfNotExists, Remove: c.Remove}
	if c.Relationship {
		a.Label, a.Type = "", c.Name
	}
	switch o := c.Options.(type) {
	case *ast.MapLit:
		a.Options = map[string]plan.Expr{}
		for _, e := range o.Entries {
			a.Options[e.Key] = b.option(e.Value)
		}
	case *ast.Parameter:
		a.Whole = b.expr(o)
	}
	return a
}

// option binds a constant or a parameter; duration('P1D') is the constant 'P1D'.
func (b *commands) option(e ast.Expr) plan.Expr {
	if c, ok := e.(*ast.Call); ok && strings.EqualFold(c.Name, "duration") && len(c.Args) == 1 {
		e = c.Args[0]
		if m, ok := e.(*ast.MapLit); ok {
			return b.durationOf(m)
		}
	}
	x := b.expr(e)
	switch x.(type) {
	case *plan.Const, *plan.Param:
		return x
	}
	b.unsupported(e, "an option that is neither a literal nor a parameter nor the duration of one is")
	return nil
}

// durationOf returns the duration of a map of literal numbers.
func (b *commands) durationOf(m *ast.MapLit) plan.Expr {
	var d temporal.DurationBuilder
	for _, e := range m.Entries {
		var err error
		switch n := e.Value.(type) {
		case *ast.IntLit:
			err = d.AddInt(e.Key, n.Value)
		case *ast.FloatLit:
			err = d.AddFloat(e.Key, n.Value)
		default:
			b.unsupported(e, "a part of a duration that is no literal number is")
		}
		if err != nil {
			b.fail(graph.SyntaxError("InvalidArgumentValue", e.Pos, "%s", err.Error()))
		}
	}
	v, err := d.Duration()
	if err != nil {
		b.fail(graph.SyntaxError("InvalidArgumentValue", m.Pos, "%s", err.Error()))
	}
	return &plan.Const{Value: graph.DurationValue(v)}
}

// index returns the index that a schema describes.
func (b *commands) index(s *ast.Schema) graph.Index {
	i := graph.Index{Props: s.Properties}
	if len(s.Labels) != 1 {
		b.unsupported(s, "an index over other than one label or type is")
		return i
	}
	if s.Relationship {
		i.Type = s.Labels[0]
	} else {
		i.Label = s.Labels[0]
	}
	return i
}

var showProcedures = map[ast.ShowKind]string{
	ast.ShowIndexes: "show.indexes", ast.ShowConstraints: "show.constraints", ast.ShowGraphs: "show.graphs",
	ast.ShowFunctions: "show.functions", ast.ShowProcedures: "show.procedures", ast.ShowTransactions: "show.transactions",
	ast.ShowLabels: "show.labels", ast.ShowTypes: "show.types", ast.ShowTerminated: "show.terminated", ast.ShowUser: "show.user",
	ast.ShowUsers: "show.users", ast.ShowRoles: "show.roles", ast.ShowPrivileges: "show.privileges",
	ast.ShowPrivilegeCommands: "show.commands", ast.ShowRevokeCommands: "show.revokes", ast.ShowSettings: "show.settings",
	ast.ShowDatabases: "show.databases", ast.ShowSnapshots: "show.snapshots",
}

// show binds SHOW as a call of the procedure that returns the list.
func (b *binder) show(s *ast.Show) result {
	sig, ok := b.opts.procedure(showProcedures[s.Kind])
	if !ok {
		b.unsupported(s, "this list is")
		return result{node: &plan.Unit{}}
	}
	f := &flow{node: b.start(), one: true}
	n := &plan.CallProc{Input: f.node, Proc: sig.Name, Args: []plan.Expr{
		&plan.Const{Value: graph.StringValue(s.Filter)}, &plan.ListLit{Elems: b.exprs(s.Names)},
	}}
	all := ast.CallProcedure{At: s.At, Standalone: true}
	b.scope = scope{}.with(b.yields(n, &all, &sig)...)
	f.node, f.one = n, false
	out := &ast.Return{At: s.At, Projection: &ast.Projection{At: s.At}}
	for _, r := range sig.Results {
		if r.Extra && s.Yield == nil {
			continue
		}
		v := &ast.Variable{At: s.At, Name: r.Name}
		out.Projection.Items = append(out.Projection.Items, &ast.ProjectionItem{At: s.At, Expr: v, Text: r.Name})
	}
	switch {
	case s.Yield != nil:
		b.with(f, &ast.With{At: s.At, Projection: s.Yield, Where: s.Where}, nil)
	case s.Where != nil:
		f.filter(conjuncts(b.expr(s.Where)))
	}
	if s.Return != nil {
		return b.rows(f, s.Return)
	}
	if s.Yield != nil && !s.Yield.Star {
		out.Projection.Items = nil
		for _, i := range s.Yield.Items {
			v := &ast.Variable{At: i.At, Name: i.Name()}
			out.Projection.Items = append(out.Projection.Items, &ast.ProjectionItem{At: i.At, Expr: v, Text: v.Name})
		}
	}
	return b.rows(f, out)
}

// rows ends a chain with a RETURN.
func (b *binder) rows(f *flow, r *ast.Return) result {
	out := b.returns(f, r)
	out.node, out.one = f.node, f.one
	return out
}
