package ast

func (p *printer) privilege(c *Privilege) {
	p.putIf(c.Revoke, "REVOKE ")
	p.putIf(c.Effect != "", c.Effect+" ")
	p.put(c.Action)
	switch {
	case c.OfProperties():
		p.put(" {")
		p.namesOrAll(c.Resources)
		p.put("}")
	case !c.OfElements() && c.Action != "WRITE":
		p.put(" ")
		p.namesOrAll(c.Resources)
	}
	if c.Graph == "" {
		p.put(" ON HOME GRAPH")
	} else {
		p.put(" ON GRAPH ", Quote(c.Graph))
	}
	if c.OfElements() {
		p.privilegeElements(c)
	}
	p.putIf(c.Check, " WITH CHECK")
	p.put(map[bool]string{false: " TO ", true: " FROM "}[c.Revoke])
	list(p, c.Roles, func(n *Name) { p.name(n.Name) })
}

func (p *printer) namesOrAll(names []*Name) {
	p.putIf(len(names) == 0, "*")
	list(p, names, func(n *Name) { p.name(n.Name) })
}

func (p *printer) privilegeElements(c *Privilege) {
	if c.Where == nil {
		p.put([...]string{PrivilegeAll: " ELEMENTS ", PrivilegeNodes: " NODES ", PrivilegeRelationships: " RELATIONSHIPS "}[c.Elements])
		p.namesOrAll(c.Names)
		return
	}
	s := &Schema{Relationship: c.Elements == PrivilegeRelationships, Variable: c.Variable}
	for _, n := range c.Names {
		s.Labels = append(s.Labels, n.Name)
	}
	p.put(" FOR ")
	p.schemaPattern(s)
	p.where(c.Where)
}

// privileges reports whether a list is one of privileges, behind the names of those who have them.
func (s *Show) privileges() bool {
	return s.Kind == ShowPrivileges || s.Kind == ShowPrivilegeCommands || s.Kind == ShowRevokeCommands
}

// holder writes the name of a role or a user before PRIVILEGES.
func (p *printer) holder(e Expr) {
	s, ok := e.(*StringLit)
	switch {
	case !ok:
		p.expr(e, precLowest)
	case upper(s.Value) == "PRIVILEGES" || upper(s.Value) == "PRIVILEGE":
		p.put(quoted(s.Value))
	default:
		p.name(s.Value)
	}
}
