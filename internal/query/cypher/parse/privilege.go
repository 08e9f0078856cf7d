package parse

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// privilege reads GRANT, DENY or REVOKE.
func (p *parser) privilege(at ast.At) ast.Body {
	c := &ast.Privilege{At: at, Effect: p.oneOf("GRANT", "DENY", "REVOKE")}
	last := "TO"
	if c.Effect == "REVOKE" {
		c.Revoke, c.Effect, last = true, p.oneOf("GRANT", "DENY"), "FROM"
	}
	if p.is("IMMUTABLE") {
		p.failAdministration(p.here(), "IMMUTABLE rules are not supported: who may change some rules of a graph may change all of them")
	}
	p.action(c)
	p.need("ON")
	p.privilegeGraph(c)
	if c.OfElements() {
		p.privilegeElements(c)
		c.Check = p.take("WITH", "CHECK")
	}
	p.need(last)
	c.Roles = commas(p, func() *ast.Name { return p.namePlace("a role's name") })
	return c
}

func (p *parser) failAdministration(at ast.At, msg string) {
	e := graph.SyntaxError("UnsupportedAdministrationCommand", at.Pos, "%s", msg)
	e.Code = "Neo.ClientError.Statement.UnsupportedAdministrationCommand"
	p.fail(e)
}

func (p *parser) namePlace(what string) *ast.Name {
	at := p.here()
	return &ast.Name{At: at, Name: p.name(what)}
}

// namesOrAll reads names with commas between them, or * for nil.
func (p *parser) namesOrAll(what string) []*ast.Name {
	if p.takeSign("*") {
		return nil
	}
	return commas(p, func() *ast.Name { return p.namePlace(what) })
}

var privilegeWords = []string{"TRAVERSE", "READ", "MATCH", "CREATE", "DELETE", "SET", "REMOVE", "WRITE"}

// action reads what a privilege permits, with the properties or labels of it.
func (p *parser) action(c *ast.Privilege) {
	at := p.here()
	other := (p.is("CREATE") || p.is("DELETE")) && p.peekAt(1).kind == tokWord && !p.peekAt(1).is("ON") ||
		p.is("SET") && !p.is("SET", "LABEL") && !p.is("SET", "PROPERTY") || p.is("REMOVE") && !p.is("REMOVE", "LABEL") ||
		p.peek().kind == tokWord && ast.Nearest(p.peek().text, privilegeWords) == ""
	if other {
		p.failAdministration(at, "rules are about TRAVERSE, READ {…}, MATCH {…}, CREATE, DELETE, SET LABEL, REMOVE LABEL, SET PROPERTY {…} and WRITE "+
			"on a graph; users, roles, aliases and servers are not changed by statements: tokens say who may do what")
	}
	switch c.Action = p.oneOf(privilegeWords...); c.Action {
	case "":
		p.unexpected("TRAVERSE, READ, MATCH, CREATE, DELETE, SET LABEL, REMOVE LABEL, SET PROPERTY or WRITE")
	case "SET", "REMOVE":
		c.Action += " " + p.oneOf("LABEL", "PROPERTY")
	}
	switch {
	case c.OfProperties():
		p.needSign("{")
		c.Resources = p.namesOrAll("a property key")
		p.needSign("}")
	case !c.OfElements() && c.Action != "WRITE":
		c.Resources = p.namesOrAll("a label")
	}
}

// privilegeGraph reads GRAPH name or HOME GRAPH.
func (p *parser) privilegeGraph(c *ast.Privilege) {
	if p.take("HOME", "GRAPH") {
		return
	}
	if p.oneOf("GRAPH", "GRAPHS") == "" {
		p.unexpected("GRAPH and a name, or HOME GRAPH")
	}
	if p.isSign("*") {
		p.fail(graph.SyntaxError(unexpectedSyntax, p.peek().pos, "rules are kept with each graph: name one, or say HOME GRAPH for that of the request"))
	}
	c.Graph = p.dotted("a graph's name")
	if p.isSign(",") {
		p.fail(graph.SyntaxError(unexpectedSyntax, p.peek().pos, "rules are kept with each graph: one statement changes those of one"))
	}
}

// privilegeElements reads NODES, RELATIONSHIPS or ELEMENTS and names, or FOR and a pattern; without them, all elements are meant.
func (p *parser) privilegeElements(c *ast.Privilege) {
	switch p.oneOf("NODES", "NODE", "RELATIONSHIPS", "RELATIONSHIP", "ELEMENTS", "ELEMENT", "FOR") {
	case "NODES", "NODE":
		c.Elements, c.Names = ast.PrivilegeNodes, p.namesOrAll("a label")
	case "RELATIONSHIPS", "RELATIONSHIP":
		c.Elements, c.Names = ast.PrivilegeRelationships, p.namesOrAll("a relationship type")
	case "ELEMENTS", "ELEMENT":
		c.Names = p.namesOrAll("a label or relationship type")
	case "FOR":
		p.privilegePattern(c)
		if t := p.peek(); isDash(t) || isLeft(t) {
			p.fail(graph.SyntaxError(unexpectedSyntax, t.pos, "a rule is about vertices, (n:Label), or about edges, ()-[r:TYPE]-(): longer patterns are not supported"))
		}
		if c.Where == nil {
			c.Where = p.where()
		}
		if c.Where == nil {
			p.unexpected("WHERE and a condition")
		}
	}
}

// privilegePattern reads (n:Label|Other) or ()-[r:TYPE|OTHER]-(), whose brackets may hold a map or a condition.
func (p *parser) privilegePattern(c *ast.Privilege) {
	c.Elements = ast.PrivilegeNodes
	p.needSign("(")
	if !p.isSign(")") || !isDash(p.peekAt(1)) && !isLeft(p.peekAt(1)) {
		p.privilegeDetail(c)
		p.needSign(")")
		return
	}
	c.Elements = ast.PrivilegeRelationships
	p.needSign(")")
	if isLeft(p.peek()) {
		p.next()
	}
	p.dash()
	p.needSign("[")
	p.privilegeDetail(c)
	p.needSign("]")
	p.dash()
	if isRight(p.peek()) {
		p.next()
	}
	p.needSign("(")
	p.needSign(")")
}

// privilegeDetail reads the brackets of a pattern.
func (p *parser) privilegeDetail(c *ast.Privilege) {
	c.Variable = "n"
	if v := p.optionalVariable(); v != nil {
		c.Variable = v.Name
	}
	if p.takeSign(":") {
		c.Names = []*ast.Name{p.namePlace("a label or relationship type")}
		for p.takeSign("|") {
			c.Names = append(c.Names, p.namePlace("a label or relationship type"))
		}
	}
	if p.isSign("{") {
		p.bars(false, func() { c.Where = p.equalities(c.Variable) })
		return
	}
	c.Where = p.where()
}

// equalities reads a map {key: value, …} as the condition that the variable's properties equal its values.
func (p *parser) equalities(variable string) (all ast.Expr) {
	p.needSign("{")
	for _, e := range commas(p, p.mapEntry) {
		property := &ast.Property{At: e.At, Subject: &ast.Variable{At: e.At, Name: variable}, Key: e.Key, KeyPos: e.Pos}
		equal := &ast.Comparison{At: e.At, First: property, Steps: []*ast.CompareStep{{At: e.At, Op: ast.OpEq, Right: e.Value}}}
		if all == nil {
			all = equal
		} else {
			all = &ast.Binary{At: e.At, Op: ast.OpAnd, Left: all, Right: equal}
		}
	}
	p.needSign("}")
	return all
}

// showPrivileges reads [ALL | ROLE names | USER [name]] PRIVILEGES [AS [REVOKE] COMMANDS], and says whether it follows.
func (p *parser) showPrivileges(s *ast.Show) bool {
	start := p.i
	switch s.Filter = p.oneOf("ALL", "ROLES", "ROLE", "USERS", "USER"); s.Filter {
	case "ROLES", "ROLE":
		s.Filter, s.Names = "ROLE", p.privilegeHolders()
	case "USERS", "USER":
		s.Filter = "USER"
		if !p.isPrivileges() {
			s.Names = p.privilegeHolders()
		}
	}
	if !p.isPrivileges() || s.Filter == "ROLE" && len(s.Names) == 0 {
		p.i, s.Filter, s.Names = start, "", nil
		return false
	}
	p.next()
	s.Kind = ast.ShowPrivileges
	if p.take("AS") {
		s.Kind = ast.ShowPrivilegeCommands
		if p.take("REVOKE") {
			s.Kind = ast.ShowRevokeCommands
		}
		if p.oneOf("COMMANDS", "COMMAND") == "" {
			p.unexpected("COMMANDS")
		}
	}
	return true
}

func (p *parser) isPrivileges() bool { return p.is("PRIVILEGES") || p.is("PRIVILEGE") }

// privilegeHolders reads the names of roles or users, or parameters in place of them; none if none follow.
func (p *parser) privilegeHolders() []ast.Expr {
	if t := p.peek(); !t.name() && t.kind != tokParameter {
		return nil
	}
	return commas(p, func() ast.Expr {
		if p.peek().kind == tokParameter {
			return p.atom()
		}
		n := p.namePlace("a name")
		return &ast.StringLit{At: n.At, Value: n.Name}
	})
}
