package ast

func (p *printer) command(b Body) {
	switch c := b.(type) {
	case *CreateIndex:
		p.put("CREATE ", indexKinds[c.Kind], "INDEX ")
		p.created(c.Name, c.NameParam, c.IfNotExists)
		p.put("FOR ")
		p.schemaPattern(c.Schema)
		p.put(" ON ")
		p.indexed(c)
		if c.With != nil {
			with := *c.Schema
			with.Properties = c.With
			p.put(" WITH [")
			p.properties(&with)
			p.put("]")
		}
		p.options(c.Options)
	case *DropIndex:
		p.put("DROP INDEX ")
		if c.Schema != nil {
			p.put("ON :", Quote(c.Schema.Labels[0]), "(")
			list(p, c.Schema.Properties, p.name)
			p.put(")")
		}
		p.dropped(c.Name, c.NameParam, c.IfExists)
	case *CreateConstraint:
		p.put("CREATE CONSTRAINT ")
		p.created(c.Name, c.NameParam, c.IfNotExists)
		p.put("FOR ")
		p.schemaPattern(c.Schema)
		p.put(" REQUIRE ")
		p.required(c)
		p.options(c.Options)
	case *DropConstraint:
		p.put("DROP CONSTRAINT ")
		p.dropped(c.Name, c.NameParam, c.IfExists)
	case *AlterName:
		p.alterName(c)
	case *CreateGraph:
		p.put("CREATE ")
		p.putIf(c.OrReplace, "OR REPLACE ")
		p.put("GRAPH ", QuoteVariable(c.Name))
		p.putIf(c.IfNotExists, " IF NOT EXISTS")
		p.options(c.Options)
	case *AlterGraph:
		p.alterGraph(c)
	case *DropGraph:
		p.put("DROP GRAPH ")
		p.dropped(c.Name, nil, c.IfExists)
	case *CreateSnapshot:
		p.put("CREATE SNAPSHOT ")
		p.schemaName(c.Name, c.NameParam)
		p.putIf(c.IfNotExists, " IF NOT EXISTS")
		if c.Expires != nil {
			p.put(" EXPIRES ")
			p.expr(c.Expires, precLowest)
		}
	case *DropSnapshot:
		p.put("DROP SNAPSHOT ")
		p.dropped(c.Name, c.NameParam, c.IfExists)
	case *Privilege:
		p.privilege(c)
	case *Show:
		p.show(c)
	}
}

// asOf writes the moment of a statement.
func (p *printer) asOf(n *Statement) {
	p.put("AS OF ")
	if s, ok := n.AsOf.(*StringLit); ok && n.Snapshot {
		p.put("SNAPSHOT ", QuoteVariable(s.Value), " ")
		return
	}
	p.putIf(n.Snapshot, "SNAPSHOT ")
	p.expr(n.AsOf, precLowest)
	p.put(" ")
}

var indexKinds = [...]string{
	IndexRange: "", IndexText: "TEXT ", IndexPoint: "POINT ", IndexLookup: "LOOKUP ", IndexFulltext: "FULLTEXT ",
	IndexVector: "VECTOR ",
}

// created writes the name of a new index or constraint. A name that would read as the next word gets backticks.
func (p *printer) created(name string, param *Parameter, ifNotExists bool) {
	p.schemaName(name, param)
	p.putIf(name != "" || param != nil, " ")
	p.putIf(ifNotExists, "IF NOT EXISTS ")
}

func (p *printer) dropped(name string, param *Parameter, ifExists bool) {
	p.schemaName(name, param)
	p.putIf(ifExists, " IF EXISTS")
}

// schemaName writes a name or the parameter in place of it, if there is either.
func (p *printer) schemaName(name string, param *Parameter) {
	switch {
	case param != nil:
		p.parameter(param)
	case name != "":
		p.put(quoteSchemaName(name))
	}
}

func quoteSchemaName(name string) string {
	switch upper(name) {
	case "IF", "FOR", "ON", "YIELD":
		return quoted(name)
	}
	return QuoteVariable(name)
}

func (p *printer) schemaPattern(s *Schema) {
	v := QuoteVariable(s.Variable)
	if s.Relationship {
		p.put("()-[", v)
	} else {
		p.put("(", v)
	}
	for i, l := range s.Labels {
		p.put([]string{":", "|"}[min(i, 1)], Quote(l))
	}
	if s.Relationship {
		p.put("]-()")
	} else {
		p.put(")")
	}
}

func (p *printer) properties(s *Schema) {
	list(p, s.Properties, func(k string) { p.put(QuoteVariable(s.Variable), ".", Quote(k)) })
}

func (p *printer) indexed(c *CreateIndex) {
	switch c.Kind {
	case IndexLookup:
		p.put("EACH ")
		if c.Schema.Relationship {
			p.put("type(")
		} else {
			p.put("labels(")
		}
		p.put(QuoteVariable(c.Schema.Variable), ")")
	case IndexFulltext:
		p.put("EACH [")
		p.properties(c.Schema)
		p.put("]")
	default:
		p.put("(")
		p.properties(c.Schema)
		p.put(")")
	}
}

func (p *printer) required(c *CreateConstraint) {
	p.put("(")
	p.properties(c.Schema)
	p.put(") IS ")
	switch c.Kind {
	case ConstraintUnique:
		p.put("UNIQUE")
	case ConstraintKey:
		p.putIf(c.Schema.Relationship, "RELATIONSHIP ")
		p.putIf(!c.Schema.Relationship, "NODE ")
		p.put("KEY")
	case ConstraintNotNull:
		p.put("NOT NULL")
	case ConstraintType:
		p.put(":: ")
		p.typ(c.Type)
	}
}

func (p *printer) alterName(c *AlterName) {
	what := "LABEL "
	if c.Relationship {
		what = "RELATIONSHIP TYPE "
	}
	if c.Create {
		p.put("CREATE ", what, Quote(c.Name))
		p.putIf(c.IfNotExists, " IF NOT EXISTS")
		p.options(c.Options)
		return
	}
	p.put("ALTER ", what, Quote(c.Name))
	if c.Remove {
		p.put(" REMOVE TTL")
		return
	}
	p.put(" SET")
	p.options(c.Options)
}

func (p *printer) alterGraph(c *AlterGraph) {
	p.put("ALTER GRAPH ", QuoteVariable(c.Name))
	p.putIf(c.IfExists, " IF EXISTS")
	if c.Value == nil {
		p.put(" REMOVE OPTION ", Quote(c.Option))
		return
	}
	p.put(" SET OPTION ", Quote(c.Option), " ")
	p.expr(c.Value, precLowest)
}

func (p *printer) options(e Expr) {
	if e != nil {
		p.put(" OPTIONS ")
		p.expr(e, precLowest)
	}
}

func (p *printer) show(c *Show) {
	verb := "SHOW "
	if c.Kind == ShowTerminated {
		verb = "TERMINATE "
	}
	p.put(verb)
	if c.Filter != "" {
		p.put(c.Filter, " ")
	}
	if c.privileges() && len(c.Names) > 0 {
		list(p, c.Names, p.holder)
		p.put(" ")
	}
	if name, ok := graphName(c); ok {
		word := "GRAPH "
		if c.Kind == ShowDatabases {
			word = "DATABASE "
		}
		p.put(word, quoteSchemaName(name))
	} else {
		p.showNames(c)
	}
	if c.Yield != nil {
		p.put(" YIELD ")
		p.projection(c.Yield)
	}
	p.where(c.Where)
	if c.Return != nil {
		p.put(" RETURN ")
		p.projection(c.Return.Projection)
	}
}

// graphName is the name that SHOW GRAPH was given.
func graphName(c *Show) (string, bool) {
	if c.Kind != ShowGraphs && c.Kind != ShowDatabases || len(c.Names) != 1 {
		return "", false
	}
	s, ok := c.Names[0].(*StringLit)
	if !ok {
		return "", false
	}
	return s.Value, true
}

func (p *printer) showNames(c *Show) {
	if len(c.Names) == 1 && (c.Kind == ShowGraphs || c.Kind == ShowDatabases) { // a parameter
		p.put(map[ShowKind]string{ShowGraphs: "GRAPH ", ShowDatabases: "DATABASE "}[c.Kind])
		p.expr(c.Names[0], precLowest)
		return
	}
	p.put([...]string{
		ShowIndexes: "INDEXES", ShowConstraints: "CONSTRAINTS", ShowGraphs: "GRAPHS", ShowFunctions: "FUNCTIONS",
		ShowProcedures: "PROCEDURES", ShowTransactions: "TRANSACTIONS", ShowTerminated: "TRANSACTIONS",
		ShowLabels: "LABELS", ShowTypes: "TYPES", ShowUser: "USER", ShowUsers: "USERS", ShowRoles: "ROLES",
		ShowPrivileges: "PRIVILEGES", ShowSettings: "SETTINGS", ShowDatabases: "DATABASES",
		ShowSnapshots: "SNAPSHOTS", ShowPrivilegeCommands: "PRIVILEGES AS COMMANDS", ShowRevokeCommands: "PRIVILEGES AS REVOKE COMMANDS",
	}[c.Kind])
	if len(c.Names) > 0 && !c.privileges() {
		p.put(" ")
		list(p, c.Names, func(e Expr) { p.expr(e, precLowest) })
	}
}
