package tck

import (
	"fmt"
	"strings"
)

// update writes a statement that writes.
func (g *grammar) update() string {
	g.vars, g.names = nil, 10
	s := g.pick("UNWIND [1, 2] AS i0", "MATCH (v0)", "MATCH (v0:A)", "MATCH (v0)-[e0]->(v1)", "OPTIONAL MATCH (v0:B)")
	if strings.HasPrefix(s, "UNWIND") {
		g.declare("i0", "int")
	} else {
		g.declare("v0", "vertex")
	}
	if strings.Contains(s, "e0") {
		g.declare("e0", "edge")
		g.declare("v1", "vertex")
	}
	writing := false
	for range 1 + g.r.IntN(4) {
		if g.chance(70) {
			s, writing = s+"\n"+g.write(), true
			g.wrote = true
			continue
		}
		if writing {
			s += "\nWITH *"
		}
		s, writing = s+"\n"+g.read(1), false
	}
	if !writing || g.chance(60) {
		items, _, _ := g.projection(1, true)
		s += "\nRETURN " + items
	}
	return s
}

// props writes properties that may depend on the row.
func (g *grammar) props() string {
	return g.pick("", " {x: 1}", " {x: "+g.expr("int", 1)+"}", " {s: "+g.expr("string", 1)+", x: 2}", " {l: "+g.list(0)+"}", " {v: "+g.vec(1)+"}")
}

func (g *grammar) someVertex() string {
	if v := g.of("vertex"); v != "" {
		return v
	}
	return ""
}

func (g *grammar) write() string {
	v, e := g.someVertex(), g.of("edge")
	if v == "" {
		return g.createNode()
	}
	switch g.r.IntN(15) {
	case 0:
		return g.createNode()
	case 14:
		return g.createBeside(v)
	case 1:
		n := g.fresh("edge")
		s := fmt.Sprintf("CREATE (%s)-[%s:%s%s]->(%s)", v, n, g.pick("T", "U"), g.pick("", " {w: "+g.expr("int", 1)+"}"), g.someVertex())
		g.declare(n, "edge")
		return s
	case 2:
		n := g.fresh("vertex")
		s := fmt.Sprintf("CREATE (%s)<-[:%s]-(%s%s%s)", v, g.pick("T", "U"), n, g.pick(":A", ":B", ""), g.props())
		g.declare(n, "vertex")
		return s
	case 3:
		n := g.fresh("vertex")
		g.declare(n, "vertex")
		return fmt.Sprintf("MERGE (%s%s {x: %s})", n, g.pick(":A", ":B", ""), g.pick("0", "1", "5")) +
			g.pick("", " ON CREATE SET "+n+".y = 2", " ON MATCH SET "+n+":B", " ON CREATE SET "+n+":C ON MATCH SET "+n+".y = 3",
				" ON MATCH SET "+n+".y = "+n+".q, "+n+".q = "+n+".y", " ON CREATE SET "+g.exchange(n, "x", "y"))
	case 4: // what MERGE matches by stays, or the rows' order would matter
		n := g.fresh("edge")
		s := fmt.Sprintf("MERGE (%s)-[%s:%s%s]->(%s)", v, n, g.pick("T", "U"), g.pick("", " {w: 1}"), g.someVertex()) +
			g.pick("", " ON CREATE SET "+n+".y = 2", " ON MATCH SET "+n+".y = 1", " ON MATCH SET "+n+".y = "+n+".q, "+n+".q = "+n+".y")
		g.declare(n, "edge")
		return s
	case 5:
		n := g.fresh("vertex")
		s := fmt.Sprintf("MERGE (%s)-[:%s]->(%s%s {x: %s})", v, g.pick("T", "U"), n, g.pick(":A", ":B"), g.pick("0", "1"))
		g.declare(n, "vertex")
		return s
	case 6:
		if g.chance(50) {
			if e != "" && g.chance(50) {
				return "SET " + g.exchange(e, "w", "q")
			}
			return "SET " + g.exchange(v, g.pick("x", "id", "s"), "y")
		}
		return "SET " + v + g.pick(".x = 1", ".y = null", ":A", ":B:C", " += {x: 2, y: null}", " = {y: 3}", ".l = [1, 2]", ".d = date('2020-02-29')")
	case 7:
		return fmt.Sprintf("SET %s.x = coalesce(%s.x, 0) + 1", v, v)
	case 8:
		if e != "" {
			return "SET " + e + g.pick(".w = 4", " += {q: 1}", " = {}", ".w = coalesce("+e+".w, 1) * 2")
		}
	case 9:
		return "REMOVE " + v + g.pick(".x", ".s", ":A", ":B")
	case 10:
		return "FOREACH (k IN " + g.expr("list", 1) + " | " + g.pick("CREATE (:C {x: k})", "SET "+v+".n = coalesce("+v+".n, 0) + 1",
			"CREATE ("+v+")-[:V]->(:C)", "MERGE (:C {x: 9})") + ")"
	case 11:
		return "CALL (" + v + ") { " + g.pick("SET "+v+".q = 1", "CREATE ("+v+")-[:T]->(:C)", "CREATE (:C)") + " }"
	case 12:
		if e != "" && g.chance(60) {
			return "DELETE " + e
		}
	}
	if g.chance(35) {
		return g.pick("DETACH DELETE ", "DETACH DELETE ", "DELETE ") + v
	}
	return "REMOVE " + v + ".y"
}

// exchange writes several SET items of v that read what the others change. They read nothing but v, so that rows with the same v may
// come in any order.
func (g *grammar) exchange(v, p, q string) string {
	a, b := v+"."+p, v+"."+q
	items := []string{a + " = " + b, b + " = " + a}
	for range g.r.IntN(3) {
		items = append(items, g.pick(a+" = coalesce("+b+", 1)", b+" = "+a, v+".z = "+b, v+".z = coalesce("+v+".z, 0) + 1", v+" += {"+p+": "+b+", z: "+a+"}",
			v+" = {"+q+": "+a+"}", v+" = {}", v+" = "+v, v+"['"+p+"'] = "+b))
	}
	if !strings.HasPrefix(v, "e") && g.chance(30) {
		items = append(items, g.pick(v+":B", v+".z = size(labels("+v+"))", v+".z = "+v+":B"))
	}
	g.r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	s := strings.Join(items, ", ")
	if g.chance(20) {
		s += " SET " + a + " = " + b + ", " + b + " = " + a
	}
	return s
}

func (g *grammar) createNode() string {
	n := g.fresh("vertex")
	s := fmt.Sprintf("CREATE (%s%s%s)", n, g.pick(":A", ":B", "", ":A:B"), g.props())
	g.declare(n, "vertex")
	return s
}

// createBeside writes a CREATE of several things, whose properties ask of those made beside them.
func (g *grammar) createBeside(v string) string {
	asks := func() string {
		switch g.r.IntN(6) {
		case 0:
			return ""
		case 1:
			return " {x: " + g.expr("int", 2) + "}"
		case 2:
			return " {x: " + g.expr("int", 1) + ", l: " + g.expr("list", 2) + "}"
		case 3:
			return " {b: EXISTS { " + g.inside(func() string { return g.sub(1) }) + " }}"
		}
		return " {x: COUNT { " + g.inside(func() string { return g.sub(1) }) + " }}"
	}
	n, m, e, w := g.fresh("vertex"), g.fresh("vertex"), g.fresh("edge"), g.fresh("vertex")
	node := func(name string) string {
		s := "(" + name + g.pick(":A", ":B", "", ":A:B") + asks() + ")"
		g.declare(name, "vertex")
		return s
	}
	from := "(" + v + ")"
	if g.chance(70) {
		from = node(n)
	}
	rel := "[" + e + g.pick(":T", ":U") + asks() + "]"
	s := from + g.pick("-"+rel+"->", "<-"+rel+"-") + node(m)
	g.declare(e, "edge")
	if g.chance(30) {
		p := g.fresh("path")
		s = p + " = " + s
		g.declare(p, "path")
	}
	s = "CREATE " + s
	if g.chance(50) {
		s += ", " + node(w)
	}
	return s
}
