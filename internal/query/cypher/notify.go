package cypher

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// mention notes a name that the statement reads by, once.
func (b *variables) mention(kind plan.NameKind, name string, pos graph.Pos) {
	m := plan.Mention{Kind: kind, Name: name, Pos: pos}
	if name == "" || b.mentioned[m] {
		return
	}
	b.mentioned[m] = true
	b.q.Mentions = append(b.q.Mentions, m)
}

// mentionKey records a key of x if x is a vertex or an edge; maps may have any key.
func (b *variables) mentionKey(x plan.Expr, key string, pos graph.Pos) {
	if c, ok := x.(*plan.ColRef); ok {
		if kind := b.kind(c.Col); kind == graph.VertexKind || kind == graph.EdgeKind {
			b.mention(plan.PropertyKind, key, pos)
		}
	}
}

// mentionLabels records the names of x:A|B: labels, or types if x is an edge.
func (b *variables) mentionLabels(e *ast.HasLabels) {
	kind := plan.LabelKind
	if v, ok := e.Subject.(*ast.Variable); ok {
		if bd := b.scope.find(v.Name); bd != nil && bd.col != 0 && b.kind(bd.col) == graph.EdgeKind {
			kind = plan.TypeKind
		}
	}
	eachName(e.Labels, func(name string, pos graph.Pos) { b.mention(kind, name, pos) })
}

// eachName visits the constant names of a label expression.
func eachName(l ast.LabelExpr, visit func(name string, pos graph.Pos)) {
	if l == nil {
		return
	}
	ast.Inspect(l, func(n ast.Node) bool {
		if l, ok := n.(ast.LabelExpr); ok {
			if name, ok := ast.Constant(l); ok {
				visit(name, l.Position())
			}
			return true
		}
		return false
	})
}

// notify adds notifications to a plan after its expressions are bound. Names that the statement itself writes are not reported.
func (b *binder) notify(stmt *ast.Statement) {
	made := b.made(stmt)
	b.q.Notifications = append(b.q.Notifications, deprecated(stmt)...)
	ast.Inspect(stmt, func(n ast.Node) bool {
		eachPatternName(n, b.mention)
		b.deprecated(n)
		return true
	})
	b.q.Mentions = slices.DeleteFunc(b.q.Mentions, func(m plan.Mention) bool { return made[plan.Mention{Kind: m.Kind, Name: m.Name}] })
	slices.SortStableFunc(b.q.Mentions, func(x, y plan.Mention) int { return x.Pos.Offset - y.Pos.Offset })
}

// made returns the names that a statement writes, without positions.
func (b *binder) made(stmt *ast.Statement) map[plan.Mention]bool {
	made := map[plan.Mention]bool{}
	add := func(kind plan.NameKind, name string, _ graph.Pos) { made[plan.Mention{Kind: kind, Name: name}] = true }
	pattern := func(n ast.Node) bool {
		eachPatternName(n, add)
		return true
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Create, *ast.Merge:
			ast.Inspect(n, pattern)
		case *ast.SetLabels:
			for _, l := range n.Labels {
				eachName(l, func(name string, pos graph.Pos) { add(plan.LabelKind, name, pos) })
			}
		case *ast.SetProperty:
			switch t := n.Target.(type) {
			case *ast.Property:
				add(plan.PropertyKind, t.Key, t.KeyPos)
			case *ast.Index:
				if key, ok := t.Index.(*ast.StringLit); ok {
					add(plan.PropertyKind, key.Value, key.Pos)
				}
			}
		case *ast.SetProperties:
			if m, ok := n.Value.(*ast.MapLit); ok {
				for _, e := range m.Entries {
					add(plan.PropertyKind, e.Key, e.Pos)
				}
			}
		}
		return true
	})
	return made
}

// eachPatternName visits the names in an element of a pattern.
func eachPatternName(n ast.Node, visit func(kind plan.NameKind, name string, pos graph.Pos)) {
	var props ast.Expr
	switch n := n.(type) {
	case *ast.NodePattern:
		eachName(n.Labels, func(name string, pos graph.Pos) { visit(plan.LabelKind, name, pos) })
		props = n.Properties
	case *ast.RelationshipPattern:
		eachName(n.Types, func(name string, pos graph.Pos) { visit(plan.TypeKind, name, pos) })
		props = n.Properties
	}
	if m, ok := props.(*ast.MapLit); ok {
		for _, e := range m.Entries {
			visit(plan.PropertyKind, e.Key, e.Pos)
		}
	}
}

// deprecated returns the notifications of a statement's deprecated syntax.
func deprecated(stmt *ast.Statement) []plan.Notification {
	var list []plan.Notification
	for _, d := range stmt.Deprecated {
		list = append(list, plan.Deprecated(d.What, d.Instead, d.Pos))
	}
	return list
}

// deprecated records a form that has a newer one.
func (b *binder) deprecated(n ast.Node) {
	note := func(what, instead string, pos graph.Pos) {
		b.q.Notifications = append(b.q.Notifications, plan.Deprecated(what, instead, pos))
	}
	switch n := n.(type) {
	case *ast.Call:
		switch {
		case strings.EqualFold(n.Name, "id"):
			note("the function id()", "elementId()", n.Pos)
		case strings.EqualFold(n.Name, "exists") && len(n.Args) == 1:
			if _, ok := n.Args[0].(*ast.PatternPredicate); !ok {
				note("the function exists()", ast.Format(&ast.IsNull{At: n.At, Operand: n.Args[0], Not: true}), n.Pos)
			}
		}
	case *ast.CallSubquery:
		if !n.Scoped {
			note("CALL without a list of variables", "CALL ("+strings.Join(imported(n.Query), ", ")+") {…}", n.Pos)
		}
	}
}

// copied records a value of SET v = … that is itself a vertex or an edge.
func (b *binder) copied(value plan.Expr, e ast.Expr) {
	if c, ok := value.(*plan.ColRef); ok && (b.kind(c.Col) == graph.VertexKind || b.kind(c.Col) == graph.EdgeKind) {
		n := plan.Deprecated("a vertex or an edge as properties", "properties("+ast.Format(e)+")", e.Position())
		if !slices.Contains(b.q.Notifications, n) {
			b.q.Notifications = append(b.q.Notifications, n)
		}
	}
}

// imported returns the variables that the parts of a subquery name in a WITH at their beginning.
func imported(q *ast.Query) (names []string) {
	for _, part := range q.Parts {
		w, ok := part.Clauses[0].(*ast.With)
		if !ok || w.Form != ast.WithPlain {
			continue
		}
		if w.Projection.Star {
			return []string{"*"}
		}
		for _, item := range w.Projection.Items {
			if v, ok := item.Expr.(*ast.Variable); ok && item.Alias == nil && !slices.Contains(names, ast.QuoteVariable(v.Name)) {
				names = append(names, ast.QuoteVariable(v.Name))
			}
		}
	}
	return names
}

// lifted matches the parameters that replace literals.
var lifted = regexp.MustCompile("\\$`" + literalPrefix + "[0-9]+`")

// connected records a pattern of a MATCH that shares no variable with earlier ones. All variables in scope count as one
// pattern.
func (b *binder) connected(c *ast.Match) {
	group := make([]int, len(c.Pattern)) // by path: an earlier path that it is connected with, or itself
	of := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	has := map[string]int{} // by variable: a path that has it
	for i, path := range c.Pattern {
		b.opts.Steps.Add(1)
		group[i] = i
		for _, name := range b.variablesOf(path) {
			j, ok := has[name]
			if !ok {
				has[name] = i
				continue
			}
			x, y := of(i), of(j)
			group[max(x, y)] = min(x, y)
		}
	}
	var first []*ast.PathPattern // of each group
	for i, path := range c.Pattern {
		if group[i] == i {
			first = append(first, path)
		}
	}
	if len(first) < 2 {
		return
	}
	for _, path := range first[1:] {
		b.q.Notifications = append(b.q.Notifications, plan.CartesianProduct(lifted.ReplaceAllString(ast.Format(path), "…"), c.Pos))
	}
}

// variablesOf returns the variables of a path's elements; those in scope already are all "".
func (b *binder) variablesOf(path *ast.PathPattern) []string {
	var names []string
	add := func(v *ast.Variable) {
		if v == nil {
			return
		}
		name := v.Name
		if b.scope.find(name) != nil {
			name = ""
		}
		names = append(names, name)
	}
	ast.Inspect(path, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.NodePattern:
			add(n.Variable)
		case *ast.RelationshipPattern:
			add(n.Variable)
		case ast.Expr:
			return false
		}
		return true
	})
	return names
}
