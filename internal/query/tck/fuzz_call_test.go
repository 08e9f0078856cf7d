package tck

import (
	"fmt"
	"strings"
)

// calls writes a statement with a subquery that writes for several rows, where later rows may see the changes of earlier ones, in
// one transaction or one for every few rows. The changes of a clause depend only on the outer row, since the rows of one outer row
// come in any order.
func (g *grammar) calls() string {
	g.vars, g.names = nil, 10
	rows := make([]string, 2+g.r.IntN(5))
	for i := range rows {
		x, y := g.pick("0", "1", "1", "2", "5"), g.pick("1", "2", "3")
		rows[i] = g.pick("", "", "", "z: "+y+", ")
		rows[i] = fmt.Sprintf("{%sx: %s, y: %s, k: %d}", rows[i], x, y, i)
	}
	s, scope := "UNWIND ["+strings.Join(rows, ", ")+"] AS row", "row"
	var known []string
	own := g.chance(60)
	if !own && g.chance(40) { // created elements have the order of the rows, unlike matches
		s += "\nCREATE (v:" + g.pick("A", "B") + " {x: row.x})\nWITH row, v"
		scope, known = "row, v", []string{"v"}
	}
	s += "\nCALL (" + scope + ") {"
	writing := false
	for range 1 + g.r.IntN(4) {
		clause, reads := g.called(&known)
		if reads && writing {
			s += "\n  WITH *"
		}
		s, writing = s+"\n  "+clause, !reads
	}
	if !writing || len(known) > 0 && g.chance(30) {
		s += "\n  " + g.pick("RETURN count(*) AS c", "RETURN row.k AS c")
	} else {
		scope = ""
	}
	s += "\n}"
	if own {
		s += fmt.Sprintf(" IN TRANSACTIONS OF %d ROWS", 1+g.r.IntN(8))
	}
	if scope == "" {
		return s + g.pick("", "\nRETURN count(*) AS n")
	}
	return s + "\nRETURN sum(c) AS n"
}

// called writes a clause of such a subquery and adds what it names to known.
func (g *grammar) called(known *[]string) (clause string, reads bool) {
	value := func() string { return g.pick("row.x", "row.x", "row.y", "row.k", "1") }
	label := func() string { return ":" + g.pick("A", "A", "B", "C") }
	fresh := func() string {
		*known = append(*known, g.fresh("vertex"))
		return (*known)[len(*known)-1]
	}
	if len(*known) == 0 || g.chance(25) {
		switch g.r.IntN(5) {
		case 0:
			return fmt.Sprintf("CREATE (%s%s {x: %s})", fresh(), label(), g.pick(value(), value(), "COUNT { (:A) }")), false
		case 1, 2:
			v := fresh()
			return fmt.Sprintf("MERGE (%s%s {x: %s})", v, label(), value()) + g.pick("", "", " ON CREATE SET "+v+".y = row.k",
				" ON CREATE SET "+v+" += row", " ON CREATE SET "+v+".y = 0 ON MATCH SET "+v+".y = (coalesce("+v+".y, 0) * 2 + row.k) % 97", " ON MATCH SET "+v+" += {y: row.y, k: row.k}"), false
		case 3:
			return fmt.Sprintf("%sMATCH (%s%s {x: %s})", g.pick("", "", "OPTIONAL "), fresh(), label(), value()), true
		}
		return fmt.Sprintf("MATCH (%s%s)-[:%s]->(%s {x: %s})", fresh(), g.pick("", ":A"), g.pick("T", "U"), fresh(), value()), true
	}
	v, w := g.pick(*known...), g.pick(*known...)
	switch g.r.IntN(12) {
	case 0, 1:
		return "SET " + v + g.pick(".y = row.k", ".z = row.y, "+v+".s = 'a'", ".x = row.y", ":B", ":C"), false
	case 2, 3:
		return "SET " + v + g.pick(" += row", " += {y: row.k}", " = row", " += {x: row.y}"), false
	case 4:
		return fmt.Sprintf("SET %s.y = (coalesce(%s.y, 0) * 2 + row.k) %% 97", v, v), false
	case 5, 6:
		return fmt.Sprintf("MERGE (%s)-[:%s]->(%s)", v, g.pick("T", "U"), w), false
	case 7:
		return fmt.Sprintf("CREATE (%s)-[:%s {w: row.k}]->(%s)", v, g.pick("T", "U"), w), false
	case 8:
		return "REMOVE " + v + g.pick(".x", ".y", ":A"), false
	case 9:
		return "FOREACH (i IN [row.x, row.y] | " + g.pick("MERGE (:A {x: i})", "CREATE (:C {x: i})", "SET "+v+".y = (coalesce("+v+".y, 0) * 2 + i) % 97") + ")", false
	case 10:
		return "CALL (row) { " + g.pick("MATCH (q:A) SET q.y = row.k", "MERGE (:B {x: row.x})", "MATCH (q:C {x: row.x}) SET q.y = (coalesce(q.y, 0) * 2 + row.k) % 97") + " }", true
	}
	return g.pick("DETACH DELETE ", "DETACH DELETE ", "DELETE ") + v, false
}
