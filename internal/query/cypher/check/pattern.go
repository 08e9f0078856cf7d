package check

import (
	"sync"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// patternUse says how a pattern treats undefined variables.
type patternUse uint8

const (
	patternMatch         patternUse = iota // define them
	patternComprehension                   // define them; the path's may hide an outer one
	patternPredicate                       // nothing
)

// matcher walks over the pattern of one MATCH or of one expression.
type matcher struct {
	*checker
	use   patternUse
	edges map[string]bool // the relationship variables of this pattern so far
	// before returns the scope before the pattern, which a quantified path sees of the outer variables. Few patterns need it.
	before func() *scope
}

// matchPattern checks a pattern that is matched and adds its variables to the scope. All its conditions see all of them.
func (c *checker) matchPattern(paths []*ast.PathPattern, s *scope, use patternUse) {
	n := s.vars.Len()
	m := &matcher{checker: c, use: use, edges: map[string]bool{}, before: sync.OnceValue(func() *scope { return s.first(n) })}
	for _, p := range paths {
		if p.Search > ast.SearchAllShortestPaths && len(paths) > 1 {
			fail(unexpectedSyntax, p, "a path with a selector must stand alone in its MATCH")
		}
		m.define(p, s)
	}
	for _, p := range paths {
		m.conditions(p, s)
	}
}

// define adds the variables of a path.
func (m *matcher) define(p *ast.PathPattern, s *scope) {
	for _, e := range p.Elements {
		switch e := e.(type) {
		case *ast.NodePattern:
			m.join(e.Variable, aNode, s)
		case *ast.RelationshipPattern:
			m.relationship(e, s)
		case *ast.SubpathPattern:
			m.subpath(e, s)
		}
	}
	if p.Variable == nil {
		return
	}
	if _, mine := s.vars.Get(p.Variable.Name); m.use != patternComprehension || mine {
		m.unbound(p.Variable, s)
	}
	s.define(p.Variable.Name, aPath)
}

// join adds a variable, or checks that a defined one has the same kind.
func (m *matcher) join(v *ast.Variable, t typ, s *scope) {
	if v == nil {
		return
	}
	known, ok := s.lookup(v.Name)
	switch {
	case ok && !known.canBe(t):
		conflict(v, known, t)
	case !ok && m.use == patternPredicate:
		m.variable(v, s)
	case !ok:
		s.define(v.Name, t)
	}
}

func conflict(v *ast.Variable, known, wanted typ) {
	fail(variableTypeConflict, v, "variable `%s` is %s and cannot be %s here", v.Name, known.kinds, wanted.kinds)
}

func (m *matcher) relationship(e *ast.RelationshipPattern, s *scope) {
	t := aRelationship
	if e.Length != nil || e.Quantifier != nil {
		t = relationships
	}
	if e.Length != nil && e.Quantifier != nil {
		fail(unexpectedSyntax, e.Quantifier, "a relationship has a length or a quantifier, not both")
	}
	m.join(e.Variable, t, s)
	if e.Variable == nil {
		return
	}
	if m.edges[e.Variable.Name] {
		fail(relationshipUniqueness, e.Variable, "relationship `%s` cannot occur more than once in a pattern", e.Variable.Name)
	}
	m.edges[e.Variable.Name] = true
}

// subpath adds the variables of a parenthesised path; under a quantifier, each holds a list of its matches.
func (m *matcher) subpath(e *ast.SubpathPattern, s *scope) {
	if e.Quantifier == nil {
		m.define(e.Path, s)
		return
	}
	in := newScope(s)
	inner := &matcher{checker: m.checker, use: m.use, edges: m.edges, before: m.before}
	hops := 0
	for _, el := range e.Path.Elements {
		switch el := el.(type) {
		case *ast.NodePattern:
			inner.checkUnbound(el.Variable, s)
		case *ast.RelationshipPattern:
			hops++
			if el.Length != nil || el.Quantifier != nil {
				fail(unexpectedSyntax, el, "a quantified path cannot hold another quantifier")
			}
			inner.checkUnbound(el.Variable, s)
		case *ast.SubpathPattern:
			fail(unexpectedSyntax, el, "a quantified path cannot hold another parenthesised path")
		}
	}
	if hops == 0 {
		fail(unexpectedSyntax, e, "a quantified path needs at least one relationship")
	}
	inner.define(e.Path, in)
	for n, t := range in.vars.All() {
		s.define(n, listOf(t.kinds))
	}
}

// checkUnbound checks that a variable of a quantified path is not defined outside of it.
func (m *matcher) checkUnbound(v *ast.Variable, s *scope) {
	if v == nil {
		return
	}
	if _, ok := s.lookup(v.Name); ok {
		fail(variableAlreadyBound, v, "variable `%s` is already defined outside of the quantified path", v.Name)
	}
}

// conditions checks the expressions in a path.
func (m *matcher) conditions(p *ast.PathPattern, s *scope) {
	m.count(p.Count, "the number of paths")
	for _, e := range p.Elements {
		switch e := e.(type) {
		case *ast.NodePattern:
			m.given(e.Labels)
			m.properties(e.Properties, s)
			m.where(e.Where, s)
		case *ast.RelationshipPattern:
			m.given(e.Types)
			m.quantifier(e.Quantifier)
			m.properties(e.Properties, one(e, s))
			m.where(e.Where, one(e, s))
		case *ast.SubpathPattern:
			m.quantifier(e.Quantifier)
			in := s
			if e.Quantifier != nil {
				in = singles(e.Path, m.before())
			}
			m.conditions(e.Path, in)
			m.where(e.Where, in)
		}
	}
}

// given checks the expressions in the labels of a node or the types of a relationship, which see the variables before the pattern.
func (m *matcher) given(l ast.LabelExpr) {
	found := false
	ast.Inspect(l, func(n ast.Node) bool {
		_, is := n.(*ast.LabelOf)
		found = found || is
		return !found
	})
	if found {
		m.labels(l, m.before())
	}
}

// one returns the scope in the brackets of a relationship: its variable is each relationship in turn, not the list.
func one(e *ast.RelationshipPattern, s *scope) *scope {
	if e.Variable == nil || e.Length == nil && e.Quantifier == nil {
		return s
	}
	return s.with(e.Variable.Name, aRelationship)
}

// singles returns the scope within a quantified path: its variables are the matches of one repetition.
func singles(p *ast.PathPattern, s *scope) *scope {
	in := newScope(s)
	for _, e := range p.Elements {
		switch e := e.(type) {
		case *ast.NodePattern:
			if e.Variable != nil {
				in.define(e.Variable.Name, aNode)
			}
		case *ast.RelationshipPattern:
			if e.Variable != nil {
				in.define(e.Variable.Name, aRelationship)
			}
		}
	}
	return in
}

// quantifier checks that the bounds of a quantifier can be satisfied.
func (m *matcher) quantifier(r *ast.Range) {
	if r == nil {
		return
	}
	least, ok1 := r.Min.(*ast.IntLit)
	most, ok2 := r.Max.(*ast.IntLit)
	if ok2 && (most.Value == 0 || ok1 && least.Value > most.Value) {
		fail(unexpectedSyntax, r, "the upper bound of a quantifier must be at least 1 and not below the lower")
	}
}

// properties checks the map of a pattern that is matched.
func (m *matcher) properties(e ast.Expr, s *scope) {
	if e == nil {
		return
	}
	if _, ok := e.(*ast.Parameter); ok {
		fail(invalidParameterUse, e, "a pattern that is matched cannot take its properties from a parameter; name them, as in {key: $map.key}")
	}
	m.expr(e, env{scope: s})
}

// createPattern checks the pattern of CREATE (create is set) or MERGE and adds its variables to the scope.
func (c *checker) createPattern(paths []*ast.PathPattern, s *scope, create bool) {
	for _, p := range paths {
		if p.Search != ast.SearchNone {
			fail(unexpectedSyntax, p, "a path selector cannot stand in CREATE or MERGE")
		}
		for _, e := range p.Elements {
			switch e := e.(type) {
			case *ast.NodePattern:
				c.createNode(e, s, create, len(p.Elements) == 1)
			case *ast.RelationshipPattern:
				c.createRelationship(e, s, create)
			case *ast.SubpathPattern:
				fail(unexpectedSyntax, e, "a parenthesised path cannot stand in CREATE or MERGE")
			}
		}
		if p.Variable != nil {
			c.bind(p.Variable, aPath, s)
		}
	}
}

// createNode checks a node that is created, or a defined variable on its own.
func (c *checker) createNode(e *ast.NodePattern, s *scope, create, alone bool) {
	c.created(e.Where, e.Properties, create, s)
	c.labels(e.Labels, s)
	if _, _, ok := ast.Named(e.Labels); !ok {
		fail(unexpectedSyntax, e.Labels, "a node is created with labels A:B, not with a condition on them")
	}
	if e.Variable == nil {
		return
	}
	known, ok := s.lookup(e.Variable.Name)
	if !ok {
		s.define(e.Variable.Name, aNode)
		return
	}
	if alone || e.Labels != nil || e.Properties != nil {
		fail(variableAlreadyBound, e.Variable, "variable `%s` is already defined; it cannot be created again", e.Variable.Name)
	}
	if !known.canBe(aNode) {
		conflict(e.Variable, known, aNode)
	}
}

func (c *checker) createRelationship(e *ast.RelationshipPattern, s *scope, create bool) {
	if e.Variable != nil {
		c.unbound(e.Variable, s)
	}
	if e.Length != nil || e.Quantifier != nil {
		fail(creatingVarLength, e, "a relationship of variable length cannot be created")
	}
	if create && e.Direction == ast.DirectionBoth {
		fail(requiresDirectedRelationship, e, "a relationship is created with one direction")
	}
	c.labels(e.Types, s)
	if known, given, ok := ast.Named(e.Types); !ok || len(known)+len(given) != 1 {
		fail(noSingleRelationshipType, e, "a relationship is created with exactly one type")
	}
	c.created(e.Where, e.Properties, create, s)
	if e.Variable != nil {
		c.bind(e.Variable, aRelationship, s)
	}
}

// created checks the properties of new elements, and that they have no condition.
func (c *checker) created(where, properties ast.Expr, create bool, s *scope) {
	if where != nil {
		fail(unexpectedSyntax, where, "WHERE cannot stand in a pattern of CREATE or MERGE")
	}
	if properties == nil {
		return
	}
	if _, ok := properties.(*ast.Parameter); ok && !create {
		fail(invalidParameterUse, properties, "MERGE cannot take properties from a parameter; name them, as in {key: $map.key}")
	}
	c.expr(properties, env{scope: s})
}

// repeatable rejects repetition in a pattern whose relationships may repeat, which could match without end.
func repeatable(paths []*ast.PathPattern) {
	for _, p := range paths {
		if p.Search != ast.SearchNone {
			fail(unexpectedSyntax, p, "a path selector cannot stand under REPEATABLE ELEMENTS")
		}
		for _, e := range p.Elements {
			r, ok := e.(*ast.RelationshipPattern)
			if _, sub := e.(*ast.SubpathPattern); sub || ok && (r.Length != nil || r.Quantifier != nil) {
				fail(unexpectedSyntax, e, "a variable length cannot stand under REPEATABLE ELEMENTS")
			}
		}
	}
}
