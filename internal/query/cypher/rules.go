package cypher

import (
	"math"
	"strings"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/rules"
)

// ChangeRules adds access rules to a graph, or removes them.
type ChangeRules struct {
	Head
	Revoke bool
	from   *ast.Privilege
}

// ParseRules reads a GRANT, DENY or REVOKE outside a graph.
func ParseRules(text string) (*ChangeRules, error) {
	stmt, err := parse.Statement(text)
	if err != nil {
		return nil, err
	}
	b := &commands{newBinder(Options{})}
	if _, ok := stmt.Body.(*ast.Privilege); ok && stmt.Mode == ast.ModeRun {
		c, _ := b.command(stmt).(*ChangeRules)
		return c, b.err
	}
	return nil, graph.SyntaxError("UnexpectedSyntax", stmt.Pos, "expected GRANT, DENY or REVOKE")
}

// changeRules binds GRANT, DENY or REVOKE. The graph that it names is that of the statement.
func (b *commands) changeRules(p *ast.Privilege) Command {
	c := &ChangeRules{Revoke: p.Revoke, from: p}
	if _, err := (&ruleBinder{Privilege: p}).rules(); err != nil {
		b.fail(err)
	}
	return c
}

// Rules returns the rules that the statement adds or removes: one for each role, label or type, and property or label of the action, so
// that each can be removed by itself. Parameters in conditions become constants. With a catalog, the names must be in it.
func (c *ChangeRules) Rules(params map[string]graph.Value, known graph.Catalog) ([]rules.Rule, error) {
	return (&ruleBinder{Privilege: c.from, known: known, param: func(p *ast.Parameter) (graph.Value, error) {
		v, ok := params[p.Name]
		if !ok {
			return v, graph.MissingParameters(p.Name)
		}
		return v, nil
	}}).rules()
}

// ruleBinder binds a statement to rules.
type ruleBinder struct {
	*ast.Privilege
	known graph.Catalog                             // nil: names are not checked
	param func(*ast.Parameter) (graph.Value, error) // nil: parameters have no values yet
}

func (b *ruleBinder) rules() ([]rules.Rule, error) {
	for _, role := range b.Roles {
		if err := b.role(role); err != nil {
			return nil, err
		}
	}
	if err := b.names(); err != nil {
		return nil, err
	}
	whole := rules.Rule{Action: rules.Action(b.Action), Names: texts(b.Names), Check: b.Check}
	if whole.Action.OfProperties() {
		whole.Props = texts(b.Resources)
	} else if b.Resources != nil {
		whole.Names = texts(b.Resources)
	}
	if b.Where != nil {
		var err error
		if whole.Where, err = b.condition(b.Where); err != nil {
			return nil, err
		}
	}
	effects := []rules.Effect{rules.Effect(b.Effect)}
	if b.Effect == "" {
		effects = []rules.Effect{rules.Grant, rules.Deny}
	}
	var all []rules.Rule
	for _, role := range b.Roles {
		for _, whole.Effect = range effects {
			whole.Role = role.Name
			all = append(all, b.split(whole)...)
		}
	}
	return all, nil
}

// split returns the rules that make up one of some elements.
func (b *ruleBinder) split(whole rules.Rule) (all []rules.Rule) {
	labels := whole.Action == rules.SetLabel || whole.Action == rules.RemoveLabel
	for _, whole.Edges = range []bool{false, true} {
		if whole.Edges && (b.Elements == ast.PrivilegeNodes || labels) || !whole.Edges && b.Elements == ast.PrivilegeRelationships {
			continue
		}
		for _, r := range whole.Split() {
			if b.Elements != ast.PrivilegeAll || len(r.Names) == 0 || b.has(r.Edges, r.Names[0]) {
				all = append(all, r)
			}
		}
	}
	return all
}

func texts(names []*ast.Name) (out []string) {
	for _, n := range names {
		out = append(out, n.Name)
	}
	return out
}

// role checks a role's name.
func (b *ruleBinder) role(n *ast.Name) error {
	for _, name := range []string{rules.Public, access.Operations.String(), access.Fetcher.String(), access.Reader.String(), access.Writer.String(), access.Admin.String()} {
		if !strings.EqualFold(n.Name, name) || b.Revoke {
			continue
		}
		switch {
		case n.Name != name:
			return graph.SyntaxError("InvalidRole", n.Pos, "the role is written %s", name)
		case name == access.Admin.String():
			return graph.SyntaxError("InvalidRole", n.Pos, "an admin sees and changes everything: no rule restricts that role")
		case name != rules.Public && b.Effect == "GRANT":
			return graph.SyntaxError("InvalidRole", n.Pos, "a %s sees everything already: grant to a role of your own, or DENY something to this one", name)
		}
	}
	return nil
}

// names checks that the graph has the labels, types and properties that the statement names.
func (b *ruleBinder) names() (err error) {
	if b.known == nil || b.Revoke {
		return nil
	}
	check := func(ok bool, n *ast.Name, what string, known ...[]string) {
		if ok || err != nil {
			return
		}
		err = b.unknown(n, what, known...)
	}
	label := func(n *ast.Name) bool { _, ok := b.known.Label(n.Name); return ok }
	for _, n := range b.Names {
		_, isType := b.known.Type(n.Name)
		switch b.Elements {
		case ast.PrivilegeNodes:
			check(label(n), n, "label", b.known.AllLabels())
		case ast.PrivilegeRelationships:
			check(isType, n, "relationship type", b.known.AllTypes())
		default:
			check(label(n) || isType, n, "label or relationship type", b.known.AllLabels(), b.known.AllTypes())
		}
	}
	property := func(n *ast.Name) {
		_, ok := b.known.Prop(n.Name)
		check(ok, n, "property", b.known.AllProps())
	}
	for _, n := range b.Resources {
		if b.OfProperties() {
			property(n)
		} else {
			check(label(n), n, "label", b.known.AllLabels())
		}
	}
	ast.Inspect(b.Where, func(n ast.Node) bool {
		p, ok := n.(*ast.Property)
		if ok && !isClaims(p) {
			property(&ast.Name{At: ast.At{Pos: p.KeyPos}, Name: p.Key})
		}
		return true
	})
	return err
}

// unknown is the error for a name that the graph does not have.
func (b *ruleBinder) unknown(n *ast.Name, what string, known ...[]string) error {
	var all []string
	for _, k := range known {
		all = append(all, k...)
	}
	e := graph.SyntaxError("UnknownName", n.Pos, "the graph has no %s `%s`", what, n.Name)
	if near := ast.Nearest(n.Name, all); near != "" {
		e.Msg += "; did you mean `" + near + "`?"
	}
	return e
}

// has reports whether the graph has a label, or a type; it does if that is not known.
func (b *ruleBinder) has(edges bool, name string) bool {
	if b.known == nil {
		return true
	}
	if edges {
		_, ok := b.known.Type(name)
		return ok
	}
	_, ok := b.known.Label(name)
	return ok
}

// condition binds a condition.
func (b *ruleBinder) condition(e ast.Expr) (*rules.Condition, error) {
	switch e := e.(type) {
	case *ast.Unary:
		if e.Op == ast.OpNot {
			return b.compound(rules.Not, e.Operand)
		}
	case *ast.Binary:
		switch e.Op {
		case ast.OpAnd:
			return b.compound(rules.And, e.Left, e.Right)
		case ast.OpOr:
			return b.compound(rules.Or, e.Left, e.Right)
		case ast.OpIn:
			return b.compare(rules.In, e.Left, e.Right)
		}
	case *ast.IsNull:
		prop, err := b.property(e.Operand)
		if e.Not {
			return &rules.Condition{Op: rules.IsNotNull, Prop: prop}, err
		}
		return &rules.Condition{Op: rules.IsNull, Prop: prop}, err
	case *ast.Comparison:
		if len(e.Steps) > 1 {
			return nil, b.bad(e.Steps[1], "a chain of comparisons")
		}
		s := e.Steps[0]
		if _, ok := s.Right.(*ast.Property); ok && !isClaims(s.Right) && (isClaims(e.First) || !isProperty(e.First)) {
			return b.compare(mirrored[s.Op], s.Right, e.First)
		}
		return b.compare(comparisons[s.Op], e.First, s.Right)
	}
	return nil, b.bad(e, "")
}

var (
	comparisons = [...]rules.Op{
		ast.OpEq: rules.Equal, ast.OpNe: rules.Unequal, ast.OpLt: rules.Less, ast.OpLe: rules.LessEqual, ast.OpGt: rules.More, ast.OpGe: rules.MoreEqual,
	}
	mirrored = [...]rules.Op{
		ast.OpEq: rules.Equal, ast.OpNe: rules.Unequal, ast.OpLt: rules.More, ast.OpLe: rules.MoreEqual, ast.OpGt: rules.Less, ast.OpGe: rules.LessEqual,
	}
)

// bad is the error for a part that a condition cannot have; what describes it, if its text does not.
func (b *ruleBinder) bad(at ast.Node, what string) error {
	if what == "" {
		what = "`" + ast.Format(at) + "`"
	}
	return graph.SyntaxError("InvalidCondition", at.Position(), "%s is not allowed in the condition of a rule: it compares properties of `%s` with constants, "+
		"parameters or $claims.name by =, <>, <, <=, >, >=, IN, IS NULL and IS NOT NULL, joined by AND, OR and NOT", what, b.Variable)
}

// compound binds an operator of conditions. AND of AND is one, so that a condition has one form.
func (b *ruleBinder) compound(op rules.Op, operands ...ast.Expr) (*rules.Condition, error) {
	c := &rules.Condition{Op: op}
	for _, o := range operands {
		of, err := b.condition(o)
		if err != nil {
			return nil, err
		}
		if of.Op == op && op != rules.Not {
			c.Of = append(c.Of, of.Of...)
		} else {
			c.Of = append(c.Of, of)
		}
	}
	return c, nil
}

func (b *ruleBinder) compare(op rules.Op, left, right ast.Expr) (*rules.Condition, error) {
	prop, err := b.property(left)
	if err != nil {
		return nil, err
	}
	c := &rules.Condition{Op: op, Prop: prop, With: &rules.Operand{}}
	if isClaims(right) {
		c.With.Claim = right.(*ast.Property).Key
		return c, nil
	}
	v, err := b.constant(right, true)
	if err == nil && op == rules.In && v.Kind() != graph.List && b.valued(right) {
		err = b.bad(right, "IN without a list")
	}
	c.With.Const = &rules.Constant{Value: v}
	return c, err
}

// valued reports whether the value of an operand is known: a parameter has none before the statement runs.
func (b *ruleBinder) valued(e ast.Expr) bool {
	_, ok := e.(*ast.Parameter)
	return !ok || b.param != nil
}

// isClaims reports whether an expression is $claims.name.
func isClaims(e ast.Expr) bool {
	p, ok := e.(*ast.Property)
	if !ok {
		return false
	}
	claims, ok := p.Subject.(*ast.Parameter)
	return ok && claims.Name == "claims"
}

func isProperty(e ast.Expr) bool { _, ok := e.(*ast.Property); return ok }

// property returns the name of a property of the variable.
func (b *ruleBinder) property(e ast.Expr) (string, error) {
	p, ok := e.(*ast.Property)
	if !ok {
		return "", b.bad(e, "")
	}
	v, ok := p.Subject.(*ast.Variable)
	switch {
	case !ok:
		return "", b.bad(e, "")
	case v.Name != b.Variable:
		return "", graph.SyntaxError("UndefinedVariable", v.Pos, "variable `%s` is not defined; did you mean `%s`?", v.Name, b.Variable)
	}
	return p.Key, nil
}

// constant returns the value of an operand; lists says that it may be a list.
func (b *ruleBinder) constant(e ast.Expr, lists bool) (graph.Value, error) {
	switch e := e.(type) {
	case *ast.BoolLit:
		return graph.BoolValue(e.Value), nil
	case *ast.IntLit:
		return graph.IntValue(e.Value), nil
	case *ast.FloatLit:
		return graph.FloatValue(e.Value), nil
	case *ast.StringLit:
		return graph.StringValue(e.Value), nil
	case *ast.NullLit:
		return graph.Value{}, b.bad(e, "a comparison with null, instead of IS NULL,")
	case *ast.ListLit:
		if lists {
			return b.list(e)
		}
		return graph.Value{}, b.bad(e, "a list of lists")
	case *ast.Parameter:
		if b.param == nil {
			return graph.BoolValue(false), nil
		}
		v, err := b.param(e)
		if err == nil && !constant(v, lists) {
			err = graph.TypeError("InvalidArgumentType", "$%s must be a Boolean, a number, a String or a List of them in the condition of a rule, not %s",
				e.Name, notation.Describe(v)).At(e.Pos)
		}
		return v, err
	}
	return graph.Value{}, b.bad(e, "")
}

func (b *ruleBinder) list(e *ast.ListLit) (graph.Value, error) {
	vs := make([]graph.Value, len(e.Items))
	for i, item := range e.Items {
		var err error
		if vs[i], err = b.constant(item, false); err != nil {
			return graph.Value{}, err
		}
	}
	return graph.ListValue(vs), nil
}

// constant reports whether a value can be one of a rule.
func constant(v graph.Value, lists bool) bool {
	switch v.Kind() {
	case graph.Bool, graph.Int, graph.String:
		return true
	case graph.Float:
		return !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0)
	case graph.List:
		for _, x := range v.List() {
			if !lists || !constant(x, false) {
				return false
			}
		}
		return lists
	}
	return false
}
