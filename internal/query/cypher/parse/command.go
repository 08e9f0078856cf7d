package parse

import (
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// command parses a statement that is not a query; nil if none follows.
func (p *parser) command() ast.Body {
	at := p.here()
	switch {
	case p.administration() != "":
		p.failAdministration(at, p.administration())
	case (p.is("GRANT") || p.is("DENY") || p.is("REVOKE")) && p.peekAt(1).name():
		return p.privilege(at)
	case p.is("CREATE"):
		return p.create(at)
	case p.is("ALTER"):
		return p.alter(at)
	case p.take("DROP"):
		return p.drop(at)
	case p.take("SHOW"):
		return p.show(at)
	case p.take("TERMINATE"):
		if p.oneOf("TRANSACTIONS", "TRANSACTION") == "" {
			p.unexpected("TRANSACTIONS")
		}
		s := &ast.Show{At: at, Kind: ast.ShowTerminated, Names: p.ids()}
		if p.is("YIELD") {
			p.yielded(s)
		}
		return s
	}
	return nil
}

// administration says why a Neo4j command for users, roles, aliases, servers or the state of a database is not supported; "" if none follows.
func (p *parser) administration() string {
	const (
		access = "users and roles are not changed by statements: tokens say who may do what"
		alias  = "graphs have no aliases, except that the default graph is also called neo4j"
		server = "servers are not changed by statements: graphctl member changes the processes of a cluster"
		state  = "a graph is always online; it cannot be started or stopped by itself"
	)
	next := p.peekAt(1)
	if p.is("CREATE", "OR", "REPLACE") {
		next = p.peekAt(3)
	}
	either := func(words ...string) bool { return slices.ContainsFunc(words, next.is) }
	switch {
	case (p.is("GRANT") || p.is("DENY") || p.is("REVOKE")) && either("ROLE", "ROLES"):
		return access
	case (p.is("CREATE") || p.is("DROP") || p.is("ALTER") || p.is("RENAME") || p.is("ENABLE") || p.is("SHOW")) && either("ALIAS", "ALIASES", "SERVER", "SERVERS"):
		if either("SERVER", "SERVERS") {
			return server
		}
		return alias
	case (p.is("CREATE") || p.is("DROP")) && either("USER", "ROLE", "IMMUTABLE"), p.is("ALTER") && either("USER", "CURRENT"), p.is("RENAME") && next.kind == tokWord:
		return access
	case (p.is("START") || p.is("STOP")) && either("DATABASE", "GRAPH"):
		return state
	}
	return ""
}

// indexKinds maps the words of index kinds to the kinds.
var indexKinds = map[string]ast.IndexKind{
	"RANGE": ast.IndexRange, "TEXT": ast.IndexText, "POINT": ast.IndexPoint, "LOOKUP": ast.IndexLookup,
	"FULLTEXT": ast.IndexFulltext, "VECTOR": ast.IndexVector,
}

// create reads CREATE INDEX, CREATE CONSTRAINT, CREATE GRAPH or CREATE SNAPSHOT; nil, without reading anything, if CREATE begins a clause.
func (p *parser) create(at ast.At) ast.Body {
	switch {
	case p.take("CREATE", "CONSTRAINT"):
		return p.createConstraint(at)
	case p.take("CREATE", "OR", "REPLACE"):
		return p.createGraph(at, true)
	case p.is("CREATE", "GRAPH"), p.is("CREATE", "DATABASE"):
		p.next()
		return p.createGraph(at, false)
	case p.isNameKind(1):
		p.next()
		return p.createName(at)
	case p.take("CREATE", "SNAPSHOT"):
		return p.createSnapshot(at)
	case p.take("CREATE", "INDEX"):
		return p.createIndex(at, ast.IndexRange)
	}
	for word, kind := range indexKinds {
		if p.take("CREATE", word, "INDEX") {
			return p.createIndex(at, kind)
		}
	}
	return nil
}

func (p *parser) graphWord() {
	if p.oneOf("GRAPH", "DATABASE") == "" {
		p.unexpected("GRAPH")
	}
}

func (p *parser) createGraph(at ast.At, replace bool) ast.Body {
	p.graphWord()
	c := &ast.CreateGraph{
		At: at, OrReplace: replace, Name: p.dotted("a graph's name"), IfNotExists: p.take("IF", "NOT", "EXISTS"), Options: p.options(),
	}
	p.waiting()
	return c
}

// alterGraph reads SET OPTION or REMOVE OPTION after ALTER GRAPH.
func (p *parser) alterGraph(at ast.At) ast.Body {
	c := &ast.AlterGraph{At: at, Name: p.dotted("a graph's name"), IfExists: p.take("IF", "EXISTS")}
	switch {
	case p.take("SET", "OPTION"):
		c.Option = p.name("an option")
		c.Value = p.atom()
	case p.take("REMOVE", "OPTION"):
		c.Option = p.name("an option")
	case p.is("SET", "ACCESS"), p.is("SET", "TOPOLOGY"), p.is("SET", "DEFAULT"):
		p.failAdministration(at, "the state of a graph is not changed by statements, only its options are: SET OPTION or REMOVE OPTION")
	default:
		p.unexpected("SET OPTION or REMOVE OPTION")
	}
	p.waiting()
	return c
}

// createSnapshot reads what follows CREATE SNAPSHOT.
func (p *parser) createSnapshot(at ast.At) ast.Body {
	c := &ast.CreateSnapshot{At: at}
	c.Name, c.NameParam = p.schemaName("a snapshot's name")
	c.IfNotExists = p.take("IF", "NOT", "EXISTS")
	if !p.take("EXPIRES") {
		return c
	}
	start := p.i
	switch x := p.atom().(type) {
	case *ast.StringLit, *ast.Parameter:
		c.Expires = x
		return c
	case *ast.Call:
		if len(x.Args) == 1 && !x.Distinct && (strings.EqualFold(x.Name, "duration") || strings.EqualFold(x.Name, "datetime")) {
			c.Expires = x
			return c
		}
	}
	p.i = start
	p.unexpected("a duration or a time: a parameter, a string, duration() or datetime()")
	return nil
}

// waiting takes WAIT [n [SECONDS]] or NOWAIT after a command for graphs, which has always finished when it is answered.
func (p *parser) waiting() {
	if p.take("NOWAIT") || !p.take("WAIT") {
		return
	}
	if p.peek().kind == tokInt {
		p.next()
		p.oneOf("SECONDS", "SECOND", "SEC")
	}
}

// isNameKind reports whether LABEL or RELATIONSHIP TYPE and a name come i tokens from here.
func (p *parser) isNameKind(i int) bool {
	switch t := p.peekAt(i); {
	case t.is("NODE") && p.peekAt(i+1).is("LABEL"), (t.is("RELATIONSHIP") || t.is("EDGE")) && p.peekAt(i+1).is("TYPE"):
		i++
	case !t.is("LABEL"):
		return false
	}
	return p.peekAt(i + 1).name()
}

// nameKind reads LABEL or RELATIONSHIP TYPE and a name.
func (p *parser) nameKind(at ast.At) *ast.AlterName {
	c := &ast.AlterName{At: at}
	if p.oneOf("RELATIONSHIP", "EDGE") != "" {
		c.Relationship = true
		p.need("TYPE")
	} else {
		p.take("NODE")
		p.need("LABEL")
	}
	c.Name = p.name("a label or relationship type")
	return c
}

func (p *parser) createName(at ast.At) ast.Body {
	c := p.nameKind(at)
	c.Create, c.IfNotExists = true, p.take("IF", "NOT", "EXISTS")
	c.Options = p.options()
	return c
}

func (p *parser) alter(at ast.At) ast.Body {
	p.need("ALTER")
	if p.oneOf("GRAPH", "DATABASE") != "" {
		return p.alterGraph(at)
	}
	if !p.isNameKind(0) {
		p.unexpected("LABEL or RELATIONSHIP TYPE and a name, or GRAPH")
	}
	c := p.nameKind(at)
	switch {
	case p.take("SET"):
		if c.Options = p.options(); c.Options == nil {
			p.unexpected("OPTIONS")
		}
	case p.take("REMOVE", "TTL"), p.take("DROP", "TTL"):
		c.Remove = true
	default:
		p.unexpected("SET OPTIONS or REMOVE TTL")
	}
	return c
}

// newSchemaName reads the optional name of a new index or constraint, or the parameter in place of it.
func (p *parser) newSchemaName() (string, *ast.Parameter) {
	if p.is("IF") && p.peekAt(1).is("NOT") || p.is("FOR") || p.is("ON") {
		return "", nil
	}
	return p.schemaName("a name or FOR")
}

// schemaName reads the name of an index or a constraint, or the parameter in place of it.
func (p *parser) schemaName(want string) (string, *ast.Parameter) {
	if t := p.peek(); t.kind == tokParameter {
		at := p.here()
		p.next()
		return "", &ast.Parameter{At: at, Name: t.text}
	}
	return p.name(want), nil
}

func (p *parser) createIndex(at ast.At, kind ast.IndexKind) ast.Body {
	c := &ast.CreateIndex{At: at, Kind: kind}
	c.Name, c.NameParam = p.newSchemaName()
	c.IfNotExists = p.take("IF", "NOT", "EXISTS")
	if c.Name == "" && c.NameParam == nil && p.take("ON") {
		c.Schema = p.labelAndKeys()
		p.deprecate(at, "CREATE INDEX ON :Label(property)", ast.Format(c))
		return c
	}
	p.need("FOR")
	c.Schema = p.schemaPattern()
	p.need("ON")
	switch {
	case kind == ast.IndexLookup:
		p.take("EACH")
		want := "LABELS"
		if c.Schema.Relationship {
			want = "TYPE"
		}
		p.need(want)
		p.needSign("(")
		p.schemaVariable(c.Schema)
		p.needSign(")")
	case kind == ast.IndexFulltext:
		p.need("EACH")
		p.needSign("[")
		p.schemaProperties(c.Schema)
		p.needSign("]")
	case p.takeSign("("):
		p.schemaProperties(c.Schema)
		p.needSign(")")
	default:
		c.Schema.Properties = []string{p.schemaProperty(c.Schema)}
	}
	if kind == ast.IndexVector && p.take("WITH") {
		p.needSign("[")
		c.With = commas(p, func() string { return p.schemaProperty(c.Schema) })
		p.needSign("]")
	}
	c.Options = p.options()
	return c
}

// labelAndKeys reads :Label(key, …).
func (p *parser) labelAndKeys() *ast.Schema {
	s := &ast.Schema{At: p.here(), Variable: "n"}
	p.needSign(":")
	s.Labels = []string{p.name("a label")}
	p.needSign("(")
	s.Properties = commas(p, p.key)
	p.needSign(")")
	return s
}

// schemaPattern reads (n:Label) or ()-[r:TYPE]-().
func (p *parser) schemaPattern() *ast.Schema {
	s := &ast.Schema{At: p.here()}
	p.needSign("(")
	if s.Relationship = p.takeSign(")"); !s.Relationship {
		p.schemaLabels(s)
		p.needSign(")")
		return s
	}
	if isLeft(p.peek()) {
		p.next()
	}
	p.dash()
	p.needSign("[")
	p.schemaLabels(s)
	p.needSign("]")
	p.dash()
	if isRight(p.peek()) {
		p.next()
	}
	p.needSign("(")
	p.needSign(")")
	return s
}

func (p *parser) schemaLabels(s *ast.Schema) {
	s.Variable = p.variable().Name
	if !p.takeSign(":") {
		return
	}
	s.Labels = []string{p.name("a label or relationship type")}
	for p.takeSign("|") {
		s.Labels = append(s.Labels, p.name("a label or relationship type"))
	}
}

func (p *parser) schemaVariable(s *ast.Schema) {
	at := p.here()
	if v := p.variable(); v.Name != s.Variable {
		p.fail(graph.SyntaxError("UndefinedVariable", at.Pos, "variable `%s` is not defined; did you mean `%s`?", v.Name, s.Variable))
	}
}

func (p *parser) schemaProperty(s *ast.Schema) string {
	p.schemaVariable(s)
	p.needSign(".")
	return p.key()
}

func (p *parser) schemaProperties(s *ast.Schema) {
	s.Properties = commas(p, func() string { return p.schemaProperty(s) })
}

// options reads OPTIONS and a map or a parameter; nil if there is none.
func (p *parser) options() ast.Expr {
	if !p.take("OPTIONS") {
		return nil
	}
	e := p.properties()
	if e == nil {
		p.unexpected("a map")
	}
	return e
}

func (p *parser) createConstraint(at ast.At) ast.Body {
	c := &ast.CreateConstraint{At: at}
	c.Name, c.NameParam = p.newSchemaName()
	c.IfNotExists = p.take("IF", "NOT", "EXISTS")
	old := p.is("ON")
	if !p.take("FOR") && !p.take("ON") {
		p.unexpected("FOR")
	}
	c.Schema = p.schemaPattern()
	if len(c.Schema.Labels) != 1 {
		p.fail(graph.SyntaxError(unexpectedSyntax, c.Schema.Pos, "a constraint is on one label or relationship type"))
	}
	old = old || p.is("ASSERT")
	if !p.take("REQUIRE") && !p.take("ASSERT") {
		p.unexpected("REQUIRE")
	}
	switch {
	case p.is("EXISTS") && p.peekAt(1).sign("("):
		old = true
		p.next()
		p.needSign("(")
		p.schemaProperties(c.Schema)
		p.needSign(")")
		c.Kind = ast.ConstraintNotNull
	case p.takeSign("("):
		p.schemaProperties(c.Schema)
		p.needSign(")")
		p.constraintKind(c)
	default:
		c.Schema.Properties = []string{p.schemaProperty(c.Schema)}
		p.constraintKind(c)
	}
	c.Options = p.options()
	if old {
		p.deprecate(at, "CREATE CONSTRAINT ON … ASSERT …", ast.Format(c))
	}
	return c
}

// constraintKind reads IS UNIQUE, IS NODE KEY, IS NOT NULL or IS :: type.
func (p *parser) constraintKind(c *ast.CreateConstraint) {
	p.need("IS")
	if w := p.oneOf("NODE", "RELATIONSHIP", "REL"); w != "" && (w == "NODE") == c.Schema.Relationship {
		p.i--
		p.unexpected("the kind of entity that the pattern has")
	}
	switch {
	case p.take("UNIQUE"):
		c.Kind = ast.ConstraintUnique
	case p.take("KEY"):
		c.Kind = ast.ConstraintKey
	case p.take("NOT", "NULL"):
		c.Kind = ast.ConstraintNotNull
	case p.takeSign("::"), p.take("TYPED"):
		c.Kind, c.Type = ast.ConstraintType, p.typ()
	default:
		p.unexpected("UNIQUE, KEY, NOT NULL or :: and a type")
	}
	if c.Kind >= ast.ConstraintNotNull && len(c.Schema.Properties) != 1 {
		p.fail(graph.SyntaxError(unexpectedSyntax, c.Schema.Pos, "this kind of constraint is on one property"))
	}
}

func (p *parser) drop(at ast.At) ast.Body {
	switch p.oneOf("INDEX", "CONSTRAINT", "GRAPH", "DATABASE", "SNAPSHOT") {
	case "INDEX":
		if p.is("ON") && p.peekAt(1).sign(":") {
			p.next()
			d := &ast.DropIndex{At: at, Schema: p.labelAndKeys()}
			p.deprecate(at, "DROP INDEX ON :Label(property)", "DROP INDEX name")
			return d
		}
		d := &ast.DropIndex{At: at}
		d.Name, d.NameParam = p.schemaName("an index's name")
		d.IfExists = p.take("IF", "EXISTS")
		return d
	case "CONSTRAINT":
		d := &ast.DropConstraint{At: at}
		d.Name, d.NameParam = p.schemaName("a constraint's name")
		d.IfExists = p.take("IF", "EXISTS")
		return d
	case "SNAPSHOT":
		d := &ast.DropSnapshot{At: at}
		d.Name, d.NameParam = p.schemaName("a snapshot's name")
		d.IfExists = p.take("IF", "EXISTS")
		return d
	case "GRAPH", "DATABASE":
		d := &ast.DropGraph{At: at, Name: p.dotted("a graph's name"), IfExists: p.take("IF", "EXISTS")}
		if p.take("DUMP", "DATA") {
			p.fail(graph.SyntaxError(unexpectedSyntax, at.Pos, "a graph is not dumped as it is dropped: back it up first"))
		}
		p.take("DESTROY", "DATA")
		p.waiting()
		return d
	}
	p.unexpected("INDEX, CONSTRAINT, GRAPH or SNAPSHOT")
	return nil
}

// shows lists what SHOW can list, with the filters of each.
var shows = []struct {
	kind    ast.ShowKind
	words   []string
	filters []string
}{
	{ast.ShowIndexes, []string{"INDEXES", "INDEX"}, []string{"RANGE", "TEXT", "POINT", "LOOKUP", "FULLTEXT", "VECTOR"}},
	{ast.ShowConstraints, []string{"CONSTRAINTS", "CONSTRAINT"}, []string{
		"NODE UNIQUENESS", "NODE UNIQUE", "RELATIONSHIP UNIQUENESS", "RELATIONSHIP UNIQUE", "UNIQUENESS", "UNIQUE", "NODE KEY",
		"RELATIONSHIP KEY", "KEY", "NODE PROPERTY EXISTENCE", "RELATIONSHIP PROPERTY EXISTENCE", "PROPERTY EXISTENCE",
		"EXISTENCE", "EXIST", "NODE PROPERTY TYPE", "RELATIONSHIP PROPERTY TYPE", "PROPERTY TYPE",
	}},
	{ast.ShowGraphs, []string{"GRAPHS", "GRAPH"}, []string{"DEFAULT", "HOME"}},
	{ast.ShowDatabases, []string{"DATABASES", "DATABASE"}, []string{"DEFAULT", "HOME"}},
	{ast.ShowFunctions, []string{"FUNCTIONS", "FUNCTION"}, []string{"BUILT IN", "USER DEFINED"}},
	{ast.ShowProcedures, []string{"PROCEDURES", "PROCEDURE"}, nil},
	{ast.ShowLabels, []string{"LABELS", "LABEL"}, []string{"NODE"}},
	{ast.ShowTypes, []string{"TYPES", "TYPE"}, []string{"RELATIONSHIP", "EDGE"}},
	{ast.ShowTransactions, []string{"TRANSACTIONS", "TRANSACTION"}, nil},
	{ast.ShowUser, []string{"USER"}, []string{"CURRENT"}},
	{ast.ShowUsers, []string{"USERS"}, nil},
	{ast.ShowRoles, []string{"ROLES", "ROLE"}, []string{"POPULATED"}},
	{ast.ShowSettings, []string{"SETTINGS", "SETTING"}, nil},
	{ast.ShowSnapshots, []string{"SNAPSHOTS", "SNAPSHOT"}, nil},
}

func (p *parser) show(at ast.At) ast.Body {
	s := &ast.Show{At: at}
	if p.showPrivileges(s) {
		p.yielded(s)
		return s
	}
	single := p.showKind(s)
	switch {
	case (s.Kind == ast.ShowGraphs || s.Kind == ast.ShowDatabases) && single && isVariable(p.peek()) && !p.is("YIELD"):
		s.Names = []ast.Expr{&ast.StringLit{At: p.here(), Value: p.dotted("a graph's name")}}
	case (s.Kind == ast.ShowGraphs || s.Kind == ast.ShowDatabases) && single && p.peek().kind == tokParameter:
		s.Names = []ast.Expr{p.expr()}
	case (s.Kind == ast.ShowFunctions || s.Kind == ast.ShowProcedures) && p.take("EXECUTABLE"):
		if p.take("BY") && !p.take("CURRENT", "USER") { // every caller may call every procedure
			p.name("a user's name")
		}
	case (s.Kind == ast.ShowTransactions || s.Kind == ast.ShowSettings) && !p.is("YIELD") && !p.is("WHERE") && !p.isSign(";") && p.peek().kind != tokEOF:
		s.Names = p.ids()
	}
	p.yielded(s)
	return s
}

// yielded reads [YIELD …] [WHERE …] [RETURN …] behind a list.
func (p *parser) yielded(s *ast.Show) {
	if p.take("YIELD") {
		s.Yield = p.projection()
	}
	s.Where = p.where()
	if r := p.here(); s.Yield != nil && p.take("RETURN") {
		s.Return = &ast.Return{At: r, Projection: p.projection()}
	}
}

// showKind reads the filter and the word for the list, and says whether the word is a singular.
func (p *parser) showKind(s *ast.Show) bool {
	start := p.i
	for _, show := range shows {
		for _, f := range append([]string{"", "ALL"}, show.filters...) {
			p.i = start
			if !p.take(strings.Fields(f)...) {
				continue
			}
			if show.kind == ast.ShowUser && f != "CURRENT" {
				continue
			}
			if w := p.oneOf(show.words...); w != "" {
				s.Kind, s.Filter = show.kind, f
				return !strings.HasSuffix(w, "S")
			}
		}
	}
	p.i = start
	p.unexpected("INDEXES, CONSTRAINTS, LABELS, RELATIONSHIP TYPES, GRAPHS, DATABASES, FUNCTIONS, PROCEDURES, TRANSACTIONS, SETTINGS, SNAPSHOTS, USERS, ROLES, PRIVILEGES or CURRENT USER")
	return false
}

func (p *parser) ids() []ast.Expr { return commas(p, p.expr) }
