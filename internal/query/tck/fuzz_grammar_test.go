package tck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// grammar writes random statements that have one right answer: it knows the kind of every variable, cuts rows off only
// where their order is total, and lets a write read nothing that another row of the same clause may write.
type grammar struct {
	r     *rand.Rand
	vars  []variable
	names int
	wrote bool // something has been written
	// found are the relationships, and lists of them, of earlier clauses that the current pattern may still look for.
	found []variable
	bags  map[string]bool // the columns of the last projection that are lists in any order
}

// variable is a variable in scope. Its kind is int, float, string, bool, date, time, span, vec, list (of int), bag (a list in any order),
// vertex, edge, edges, path, or walk (a path of which only the length is determined).
type variable struct{ name, kind string }

func (g *grammar) pick(of ...string) string { return of[g.r.IntN(len(of))] }

func (g *grammar) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *grammar) fresh(kind string) string {
	g.names++
	return fmt.Sprint(kind[:1], g.names)
}

func (g *grammar) declare(name, kind string) { g.vars = append(g.vars, variable{name, kind}) }

// of returns a variable of a kind, or "".
func (g *grammar) of(kind string) string {
	var names []string
	for _, v := range g.vars {
		if v.kind == kind {
			names = append(names, v.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return g.pick(names...)
}

// pattern starts a pattern, which may look once for each relationship of earlier clauses.
func (g *grammar) pattern() {
	g.found = nil
	if g.wrote {
		return
	}
	for _, v := range g.vars {
		if v.kind == "edge" || v.kind == "edges" {
			g.found = append(g.found, v)
		}
	}
}

// again returns a relationship, or a list of them, of an earlier clause, or "".
func (g *grammar) again(kind string) string {
	for i, v := range g.found {
		if v.kind == kind && g.chance(60) {
			g.found = slices.Delete(slices.Clone(g.found), i, i+1)
			return v.name
		}
	}
	return ""
}

// inside writes what has a scope of its own.
func (g *grammar) inside(write func() string) string {
	outer, found := slices.Clone(g.vars), g.found
	defer func() { g.vars, g.found = outer, found }()
	return write()
}

// graph writes the statement that creates a graph.
func (g *grammar) graph() string {
	var parts []string
	n := 1 + g.r.IntN([]int{6, 6, 12}[g.r.IntN(3)])
	for i := range n {
		s := fmt.Sprintf("(v%d%s {id: %d", i, g.pick("", ":A", ":B", ":A:B", ":A", ":C"), i)
		for _, p := range []string{
			"x: " + g.pick("0", "1", "2", "-1"), "s: " + g.pick("'a'", "'ab'", "'b'", "''"), "f: " + g.pick("0.5", "1.0", "2.25"),
			"d: " + g.date(0), "t: " + g.time(0), "l: " + g.pick("[1, 2]", "[]", "[2]", "[0, 1, 1]"), "b: " + g.pick("true", "false"),
			"v: " + g.vec(0),
		} {
			if g.chance(65) {
				s += ", " + p
			}
		}
		parts = append(parts, s+"})")
	}
	for i := range g.r.IntN([]int{9, 9, 20}[g.r.IntN(3)]) {
		s := fmt.Sprintf("(v%d)-[:%s {id: %d", g.r.IntN(n), g.pick("T", "T", "U", "V"), i)
		if g.chance(80) {
			s += ", w: " + g.pick("0", "1", "2")
		}
		parts = append(parts, s+fmt.Sprintf("}]->(v%d)", g.r.IntN(n)))
	}
	return "CREATE " + strings.Join(parts, ", ")
}

// expr writes an expression of a kind; depth bounds how deep it nests.
func (g *grammar) expr(kind string, depth int) string {
	if g.chance(4) {
		return "null"
	}
	if v := g.of(kind); v != "" && g.chance(35) {
		return v
	}
	if depth > 0 && g.chance(8) {
		return g.caseOf(kind, depth-1)
	}
	if depth > 0 && g.chance(5) {
		return fmt.Sprintf("coalesce(%s, %s)", g.expr(kind, depth-1), g.expr(kind, depth-1))
	}
	switch kind {
	case "int":
		return g.integer(depth)
	case "float":
		return g.float(depth)
	case "string":
		return g.str(depth)
	case "bool":
		return g.condition(depth)
	case "date":
		return g.date(depth)
	case "time":
		return g.time(depth)
	case "span":
		return g.span(depth)
	case "vec":
		return g.vec(depth)
	case "list":
		return g.list(depth)
	case "bag":
		return g.bag(depth)
	}
	return "null"
}

func (g *grammar) caseOf(kind string, depth int) string {
	if g.chance(40) {
		return fmt.Sprintf("CASE %s WHEN %s THEN %s ELSE %s END", g.expr("int", depth), g.expr("int", depth), g.expr(kind, depth), g.expr(kind, depth))
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.where(depth), g.expr(kind, depth), g.expr(kind, depth))
}

func (g *grammar) integer(depth int) string {
	if v := g.of("vertex"); v != "" && g.chance(40) {
		return v + g.pick(".x", ".x", ".id")
	}
	if e := g.of("edge"); e != "" && g.chance(30) {
		return e + g.pick(".w", ".w", ".id")
	}
	if depth == 0 {
		return g.pick("0", "1", "2", "3", "-1")
	}
	d := depth - 1
	switch g.r.IntN(15) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", g.expr("int", d), g.pick("+", "-", "*"), g.expr("int", d))
	case 2:
		return fmt.Sprintf("(%s %s %s)", g.expr("int", d), g.pick("/", "%%"[:1]), g.pick("2", "3", "-2"))
	case 3:
		return "size(" + g.expr(g.pick("list", "bag", "string", "vec"), d) + ")"
	case 4:
		return g.pick("head", "last") + "(" + g.expr("list", d) + ")"
	case 5:
		return "(" + g.expr("list", d) + ")[" + g.pick("0", "1", "-1") + "]"
	case 6:
		return g.pick("abs", "sign") + "(" + g.expr("int", d) + ")"
	case 7, 8:
		return "COUNT { " + g.inside(func() string { return g.sub(d) }) + " }"
	case 9:
		if p := g.pick("path", "walk"); g.of(p) != "" {
			return "length(" + g.of(p) + ")"
		}
		if e := g.of("edges"); e != "" {
			return "size(" + e + ")"
		}
	case 10:
		acc, v := g.fresh("acc"), g.fresh("it")
		return g.inside(func() string {
			of, start := g.expr(g.pick("list", "bag"), d), g.expr("int", 0)
			g.vars = append(g.vars, variable{v, "int"})
			return fmt.Sprintf("reduce(%s = %s, %s IN %s | %s + %s)", acc, start, v, of, acc, g.expr("int", 0))
		})
	case 11:
		switch g.r.IntN(3) {
		case 0:
			return "(" + g.expr("time", d) + ")." + g.pick("year", "quarter", "day", "hour", "minute")
		case 1:
			return "(" + g.expr("span", d) + ")." + g.pick("months", "days", "seconds")
		}
		return "(" + g.date(d) + ")." + g.pick("year", "quarter", "month", "week", "weekYear", "day", "ordinalDay", "dayOfWeek")
	case 12:
		return "(-" + g.expr("int", d) + ")"
	}
	return g.pick("0", "1", "2", "3", "-1", "7")
}

func (g *grammar) float(depth int) string {
	if v := g.of("vertex"); v != "" && g.chance(50) {
		return v + ".f"
	}
	if depth > 0 && g.chance(50) {
		switch g.r.IntN(5) {
		case 3:
			return fmt.Sprintf("vector.similarity.euclidean(%s, %s)", g.expr("vec", depth-1), g.expr("vec", depth-1))
		case 4:
			return fmt.Sprintf("vector_distance(%s, %s, %s)", g.expr("vec", depth-1), g.expr("vec", depth-1), g.pick("EUCLIDEAN_SQUARED", "MANHATTAN"))
		case 0:
			return "toFloat(" + g.expr("int", depth-1) + ")"
		case 1:
			return fmt.Sprintf("(%s + %s)", g.expr("float", depth-1), g.expr(g.pick("float", "int"), depth-1))
		}
		return "floor(" + g.expr("float", depth-1) + ")"
	}
	return g.pick("0.5", "1.0", "2.0", "2.25", "3.5")
}

func (g *grammar) str(depth int) string {
	if v := g.of("vertex"); v != "" && g.chance(50) {
		return v + ".s"
	}
	if e := g.of("edge"); e != "" && g.chance(30) {
		return "type(" + e + ")"
	}
	if depth > 0 && g.chance(60) {
		switch g.r.IntN(4) {
		case 0:
			return fmt.Sprintf("(%s + %s)", g.expr("string", depth-1), g.expr("string", depth-1))
		case 1:
			return "toUpper(" + g.expr("string", depth-1) + ")"
		case 2:
			return "toString(" + g.expr(g.pick("int", "bool", "date", "time", "span"), depth-1) + ")"
		}
		return "left(" + g.expr("string", depth-1) + ", 1)"
	}
	return g.pick("'a'", "'b'", "'ab'", "''", "'é'")
}

func (g *grammar) date(depth int) string {
	if v := g.of("vertex"); v != "" && g.chance(50) {
		return v + ".d"
	}
	if depth > 0 && g.chance(40) {
		if g.chance(20) {
			return "date(" + g.expr("time", depth-1) + ")"
		}
		return fmt.Sprintf("(%s %s %s)", g.expr("date", depth-1), g.pick("+", "-"), g.expr("span", depth-1))
	}
	return g.pick("date('2020-02-28')", "date('2020-02-29')", "date('1999-12-31')", "date({year: 2020, month: 1, day: 31})")
}

// time writes a local date and time.
func (g *grammar) time(depth int) string {
	if v := g.of("vertex"); v != "" && g.chance(50) {
		return v + ".t"
	}
	if depth > 0 && g.chance(50) {
		return fmt.Sprintf("(%s %s %s)", g.expr("time", depth-1), g.pick("+", "-"), g.pick(g.expr("span", depth-1), "duration({hours: 25, minutes: 1})"))
	}
	return g.pick("localdatetime('2020-02-28T23:30')", "localdatetime('2020-02-29T00:00')", "localdatetime('1999-12-31T12:05')")
}

// span writes a duration of months and days.
func (g *grammar) span(depth int) string {
	if depth > 0 && g.chance(50) {
		switch g.r.IntN(3) {
		case 0:
			return fmt.Sprintf("(%s %s %s)", g.expr("span", depth-1), g.pick("+", "-"), g.expr("span", depth-1))
		case 1:
			return fmt.Sprintf("(%s * %s)", g.expr("span", depth-1), g.pick("2", "-1", "0"))
		}
		return fmt.Sprintf("duration.inDays(%s, %s)", g.expr("date", depth-1), g.expr("date", depth-1))
	}
	return g.pick("duration({days: 1})", "duration({days: 31})", "duration({months: 1})", "duration({months: 13, days: 2})", "duration({weeks: 1, days: -3})")
}

// vec writes a vector of four coordinates, which no other literals of a statement change.
func (g *grammar) vec(depth int) string {
	if v := g.of("vertex"); v != "" && g.chance(70) {
		return v + ".v"
	}
	if depth > 0 && g.chance(20) {
		return fmt.Sprintf("vector(toIntegerList(%s), 4, FLOAT32)", g.vec(depth-1))
	}
	coordinate := func() string { return g.pick("0", "1", "2", "0.5", "2.25") }
	return fmt.Sprintf("vector([%s, 0, %s, 1], 4, %s)", coordinate(), coordinate(), g.pick("FLOAT32", "FLOAT32", "INTEGER8"))
}

func (g *grammar) list(depth int) string {
	if v := g.of("vertex"); v != "" && g.chance(25) {
		return v + ".l"
	}
	if e := g.of("edges"); e != "" && g.chance(50) {
		return "[it0 IN " + e + " | it0." + g.pick("w", "id") + "]"
	}
	if p := g.of("path"); p != "" && g.chance(50) {
		return g.pick("[it0 IN nodes("+p+") | it0.x]", "[it0 IN relationships("+p+") | it0.id]")
	}
	if depth > 0 && g.chance(8) {
		return "toIntegerList(" + g.expr("vec", depth-1) + ")"
	}
	if depth == 0 {
		return g.pick("[]", "[1, 2]", "[0]", "[2, 1, 2]", "[1, null]")
	}
	d := depth - 1
	switch g.r.IntN(7) {
	case 0:
		return "[" + g.expr("int", d) + ", " + g.expr("int", d) + "]"
	case 1:
		return fmt.Sprintf("(%s + %s)", g.expr("list", d), g.expr(g.pick("list", "int"), d))
	case 2:
		return g.pick("tail", "reverse") + "(" + g.expr("list", d) + ")"
	case 3:
		return "(" + g.expr("list", d) + ")[" + g.pick("..1", "1..", "0..2", "-1..", "..-1") + "]"
	case 4, 5:
		return g.inside(func() string {
			of, v := g.expr("list", d), g.fresh("it")
			g.declare(v, "int")
			s := "[" + v + " IN " + of
			if g.chance(60) {
				s += " WHERE " + g.where(d)
			}
			return s + " | " + g.expr("int", d) + "]"
		})
	}
	return "range(" + g.pick("0", "1") + ", " + g.pick("2", "3", "0", "-1") + ")"
}

func (g *grammar) bag(depth int) string {
	if depth > 0 && g.chance(80) {
		return g.inside(func() string {
			if g.chance(50) {
				s := g.sub(depth - 1)
				if !strings.HasPrefix(s, "MATCH") {
					s = "MATCH " + s
				}
				return "COLLECT { " + s + " RETURN " + g.expr("int", depth-1) + " AS " + g.fresh("out") + " }"
			}
			g.pattern()
			s := g.path(false)
			if !strings.Contains(s, "]") {
				s += g.hop("") + g.node()
			}
			if g.chance(40) {
				s += " WHERE " + g.where(depth-1)
			}
			return "[" + s + " | " + g.expr("int", depth-1) + "]"
		})
	}
	return g.list(depth)
}

// sub writes the inside of a subquery, except for its RETURN.
func (g *grammar) sub(depth int) string {
	g.pattern()
	s := g.path(false)
	if g.chance(20) {
		s += ", " + g.path(false)
	}
	if g.chance(50) {
		s += " WHERE " + g.where(depth)
	}
	if g.chance(60) {
		return s
	}
	s = "MATCH " + s
	if g.chance(30) {
		s += " " + g.match(depth)
	}
	return s
}

func (g *grammar) condition(depth int) string {
	if depth == 0 {
		switch g.r.IntN(5) {
		case 0:
			if v := g.of("vertex"); v != "" {
				return v + g.pick(":A", ":B", ":A|B", ":!A", ":%", ":A&!B")
			}
		case 1:
			if v := g.of("vertex"); v != "" {
				return v + ".b"
			}
		case 2:
			if v, w := g.of("vertex"), g.of("vertex"); v != "" {
				return fmt.Sprintf("(%s %s %s)", v, g.pick("=", "<>"), w)
			}
		}
		kind := g.pick("int", "int", "int", "string", "float", "date", "time", "vec")
		return fmt.Sprintf("(%s %s %s)", g.expr(kind, 0), g.pick("=", "<>", "<", "<=", ">", ">="), g.expr(kind, 0))
	}
	d := depth - 1
	switch g.r.IntN(16) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", g.expr("bool", d), g.pick("AND", "OR", "XOR"), g.expr("bool", d))
	case 2:
		return "(NOT " + g.expr("bool", d) + ")"
	case 3:
		return fmt.Sprintf("(%s IN %s)", g.expr("int", d), g.expr(g.pick("list", "bag"), d))
	case 4:
		return "(" + g.expr(g.pick("int", "string", "date", "list", "bool", "float"), d) + g.pick(" IS NULL)", " IS NOT NULL)")
	case 5, 6:
		return g.pick("", "NOT ") + "EXISTS { " + g.inside(func() string { return g.sub(d) }) + " }"
	case 7:
		if a, b := g.of("vertex"), g.of("vertex"); a != "" {
			return g.pick("", "NOT ") + "(" + a + ")" + g.hop("") + "(" + g.pick(b, g.labels()) + ")"
		}
	case 8:
		return g.inside(func() string {
			of, v := g.expr(g.pick("list", "bag"), d), g.fresh("it")
			g.declare(v, "int")
			return g.pick("any", "all", "none", "single") + "(" + v + " IN " + of + " WHERE " + g.condition(d) + ")"
		})
	case 9:
		return fmt.Sprintf("(%s %s %s)", g.expr("string", d), g.pick("STARTS WITH", "ENDS WITH", "CONTAINS"), g.expr("string", d))
	case 10:
		return fmt.Sprintf("(%s %s %s %s %s)", g.expr("int", d), g.pick("<", "<="), g.expr("int", d), g.pick("<", "<="), g.expr("int", d))
	case 11:
		return fmt.Sprintf("(%s %s %s)", g.expr("list", d), g.pick("=", "<>"), g.expr("list", d))
	case 12:
		return fmt.Sprintf("(%s %s %s)", g.expr("int", d), g.pick("=", "<", ">="), g.expr("float", d))
	case 13:
		return fmt.Sprintf("(%s %s %s)", g.expr("span", d), g.pick("=", "<>"), g.expr("span", d))
	}
	return g.condition(0)
}

// where writes a condition or a conjunction of disjunctions. Their tests read any properties of any variables, most of which
// nothing has read before.
func (g *grammar) where(depth int) string {
	if g.chance(50) {
		return g.condition(depth)
	}
	return g.tests()
}

// tests writes a conjunction of disjunctions of tests.
func (g *grammar) tests() string {
	var all []string
	for range 1 + g.r.IntN(3) {
		any := []string{g.test()}
		for range g.r.IntN(3) {
			t := g.test()
			if g.chance(20) {
				t = "(" + t + " AND " + g.test() + ")"
			}
			any = append(any, t)
		}
		all = append(all, "("+strings.Join(any, " OR ")+")")
	}
	return strings.Join(all, " AND ")
}

// test writes a test of a variable or one of its properties.
func (g *grammar) test() string {
	if len(g.vars) == 0 {
		return g.condition(0)
	}
	v := g.vars[g.r.IntN(len(g.vars))]
	x, kind := v.name, v.kind
	switch kind {
	case "vertex":
		kinds := map[string]string{"x": "int", "id": "int", "s": "string", "f": "float", "d": "date", "t": "time", "l": "list", "b": "bool", "v": "vec"}
		p := g.pick("x", "x", "id", "id", "s", "s", "f", "d", "t", "l", "b", "v")
		x, kind = x+"."+p, kinds[p]
	case "edge":
		x, kind = x+g.pick(".w", ".id"), "int"
	}
	switch null := g.pick(" IS NULL", " IS NOT NULL"); {
	case g.chance(15):
		return x + null
	case kind == "bool":
		return g.pick("", "NOT ") + x
	case slices.Contains([]string{"int", "string", "float", "date", "time", "list", "vec"}, kind):
		scope := g.vars
		g.vars = nil // a constant
		defer func() { g.vars = scope }()
		return x + g.pick(" = ", " = ", " <> ", " <> ", " < ", " >= ", " >= ") + g.expr(kind, 0)
	default:
		return x + null
	}
}

func (g *grammar) labels() string {
	return g.pick("", ":A", ":B", ":A:B", ":A|B", ":!A", ":%", ":A&!B", ":!(A|C)")
}

func (g *grammar) types() string { return g.pick("", "", ":T", ":U", ":T|U", ":!T", ":V|T") }

// hop writes a relationship pattern with a variable or "".
func (g *grammar) hop(name string) string {
	s := "[" + name + g.types()
	if g.chance(8) {
		s += " {w: " + g.pick("0", "1") + "}"
	}
	if name != "" && g.chance(12) {
		s += " WHERE " + name + g.pick(".w > 0", ".w <= 1", ".w IS NULL")
	}
	s += "]"
	return g.pick("-"+s+"->", "-"+s+"->", "<-"+s+"-", "-"+s+"-")
}

func (g *grammar) node() string {
	if v := g.of("vertex"); v != "" && g.chance(40) {
		return "(" + v + g.pick("", "", "", g.labels()) + ")"
	}
	name := ""
	s := g.labels()
	if g.chance(75) {
		name = g.fresh("vertex")
	}
	if g.chance(12) {
		s += " {" + g.pick("x: ", "id: ") + g.expr("int", 0) + "}"
	}
	if name != "" {
		g.declare(name, "vertex")
		if g.chance(10) {
			s += " WHERE " + g.condition(0)
		}
	}
	return "(" + name + s + ")"
}

// onEach writes a condition on each edge of a pattern of variable length, which reads another variable.
func (g *grammar) onEach(percent int) string {
	if v := g.of("vertex"); v != "" && g.chance(percent) {
		return " {w: " + v + ".x}"
	}
	return ""
}

// path writes a path pattern. named reports whether it may have a path variable or repeat.
func (g *grammar) path(named bool) string {
	s := g.node()
	varying := false
	for range g.r.IntN(5) / 2 {
		switch k := g.r.IntN(12); {
		case varying || k < 9:
			name, known := "", g.again("edge")
			if known == "" && g.chance(50) {
				name = g.fresh("edge")
			}
			s += g.hop(name + known)
			if name != "" {
				g.declare(name, "edge")
			}
		case k < 11:
			varying = true
			name := g.again("edges")
			if name == "" && g.chance(40) {
				name = g.fresh("edges")
				g.declare(name, "edges")
			}
			h := "[" + name + g.pick("", ":T", ":U", ":T|U") + g.pick("*1..2", "*0..1", "*2", "*..3", "*0..2", "*2..3") + g.onEach(25) + "]"
			s += g.pick("-"+h+"->", "<-"+h+"-", "-"+h+"-")
		default:
			varying = true
			name := ""
			if g.chance(40) {
				name = g.fresh("edges")
			}
			a, b := g.fresh("a"), g.fresh("b")
			where := g.pick("", "", " WHERE "+a+".x < "+b+".x", " WHERE "+b+g.pick(":A", ".x >= 1"))
			if v := g.of("vertex"); v != "" && g.chance(20) {
				where = " WHERE " + b + ".x <= " + v + ".x"
			}
			s += fmt.Sprintf("((%s)%s(%s)%s)%s", a, g.hop(name), b, where, g.pick("{1,2}", "{0,1}", "{2}", "{,2}", "{1,3}"))
			if name != "" {
				g.declare(name, "edges")
			}
		}
		s += g.node()
	}
	if named && g.chance(20) {
		p := g.fresh("path")
		g.declare(p, "path")
		return p + " = " + s
	}
	return s
}

// search writes a MATCH with a path selector.
func (g *grammar) search() string {
	a, b, p := g.fresh("vertex"), g.fresh("vertex"), g.fresh("path")
	types, dir := g.pick("", ":T", ":U", ":T|U"), g.r.IntN(3)
	arrow := func(inner, after string) string {
		return []string{"-[" + inner + "]->" + after, "<-[" + inner + "]-" + after, "-[" + inner + "]-" + after}[dir]
	}
	if g.chance(35) {
		f := g.pick("shortestPath", "allShortestPaths")
		g.declare(a, "vertex")
		g.declare(b, "vertex")
		g.declare(p, map[string]string{"shortestPath": "walk", "allShortestPaths": "path"}[f])
		return fmt.Sprintf("MATCH (%s%s), (%s%s) WHERE %s <> %s %sMATCH %s = %s((%s)%s(%s))", a, g.labels(), b, g.labels(), a, b,
			g.pick("", "OPTIONAL "), p, f, a, arrow(types+g.pick("*", "*..2", "*..3")+g.onEach(15), ""), b)
	}
	selector := g.pick("SHORTEST 1", "SHORTEST 2", "ANY SHORTEST", "ANY 2", "ANY", "ALL SHORTEST", "SHORTEST 2 GROUPS", "SHORTEST GROUP")
	kind := "walk"
	if strings.HasPrefix(selector, "ALL") || strings.Contains(selector, "GROUP") {
		kind = "path"
	}
	from := "(" + a + g.labels() + ")"
	if v := g.of("vertex"); v != "" && g.chance(30) {
		from, a = "("+v+")", ""
	}
	s := fmt.Sprintf("%sMATCH %s = %s %s%s(%s%s)", g.pick("", "", "OPTIONAL "), p, selector, from,
		g.pick(arrow(types, g.pick("+", "*", "{1,3}", "{2,}")), fmt.Sprintf("((%s)%s(%s)%s)%s", "ia"+p, arrow(types, ""), "ib"+p,
			g.pick("", " WHERE ia"+p+".x <= ib"+p+".x"), g.pick("+", "{1,2}", "{2,}"))), b, g.labels())
	if a != "" {
		g.declare(a, "vertex")
	}
	g.declare(b, "vertex")
	g.declare(p, kind)
	if g.chance(25) {
		s += " WHERE " + g.condition(0)
	}
	return s
}

func (g *grammar) match(depth int) string {
	g.pattern()
	s := g.pick("", "", "", "OPTIONAL ") + "MATCH " + g.path(true)
	for range g.r.IntN(8) / 5 {
		s += ", " + g.path(false)
	}
	if g.chance(45) {
		s += " WHERE " + g.where(depth)
	}
	return s
}

var scalars = []string{"int", "int", "int", "string", "float", "bool", "date", "time", "vec", "list"}

// projection writes the items of WITH or RETURN and the rest of the clause. It returns the columns as the new scope, and whether
// their order is total.
func (g *grammar) projection(depth int, last bool) (text string, columns []variable, total bool) {
	var items, keys []string
	add := func(e string, v variable) {
		items, columns = append(items, e), append(columns, v)
		switch v.kind {
		case "vertex", "edge":
			keys = append(keys, v.name+".id")
		case "bag", "edges", "path", "walk":
			keys = append(keys, "")
		default:
			keys = append(keys, v.name)
		}
	}
	aggregated := g.chance(35)
	loose := false // a column that DISTINCT and grouping cannot take
	for _, v := range g.vars {
		switch {
		case v.kind == "walk" && last, v.kind == "bag" && aggregated, v.kind == "walk" && aggregated:
			continue
		case g.chance(map[bool]int{false: 45, true: 25}[aggregated]):
			add(v.name, v)
			loose = loose || v.kind == "bag" || v.kind == "walk"
		}
	}
	for range g.r.IntN(3) {
		kind := g.pick(scalars...)
		if !aggregated && g.chance(12) {
			kind, loose = "bag", true
		}
		v := variable{g.fresh("c"), kind}
		add(g.expr(kind, depth)+" AS "+v.name, v)
	}
	if aggregated || len(items) == 0 {
		for range 1 + g.r.IntN(2) {
			e, kind := g.aggregate(depth)
			v := variable{g.fresh("c"), kind}
			add(e+" AS "+v.name, v)
		}
		aggregated = true
	}
	if !aggregated && !loose && g.chance(20) {
		text = "DISTINCT "
	}
	text += strings.Join(items, ", ")
	if scope := g.identity(); !aggregated && !strings.HasPrefix(text, "DISTINCT") && scope != nil && g.chance(40) {
		keys = scope // the order determines the columns that it does not read
	}
	g.bags = map[string]bool{}
	for _, c := range columns {
		g.bags[c.name] = c.kind == "bag"
	}
	if !slices.Contains(keys, "") && !g.wrote && g.chance(40) {
		total = true
		g.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i := range keys {
			keys[i] += g.pick("", " DESC", " ASC")
		}
		text += " ORDER BY " + strings.Join(keys, ", ")
		if g.chance(40) {
			text += " SKIP " + g.pick("0", "1", "2")
		}
		if g.chance(60) {
			text += " LIMIT " + g.pick("0", "1", "2", "3", "5")
		}
	}
	return text, columns, total
}

// identity returns expressions that distinguish the rows as far as variables do; nil if there are none.
func (g *grammar) identity() []string {
	var keys []string
	for _, v := range g.vars {
		switch v.kind {
		case "vertex", "edge":
			keys = append(keys, v.name+".id")
		case "edges":
			keys = append(keys, "[it0 IN "+v.name+" | it0.id]")
		case "path":
			keys = append(keys, "[it0 IN nodes("+v.name+") | it0.id]", "[it0 IN relationships("+v.name+") | it0.id]")
		case "bag", "walk", "other":
			return nil
		default:
			keys = append(keys, v.name)
		}
	}
	return keys
}

func (g *grammar) aggregate(depth int) (text, kind string) {
	d := max(0, depth-1)
	distinct := g.pick("", "", "DISTINCT ")
	switch g.r.IntN(8) {
	case 0:
		return "count(*)", "int"
	case 1:
		if v := g.of(g.pick("vertex", "edge")); v != "" {
			return "count(" + distinct + v + ")", "int"
		}
		return "count(" + distinct + g.expr("int", d) + ")", "int"
	case 2:
		return "sum(" + distinct + g.expr("int", d) + ")", "int"
	case 3:
		return "avg(" + g.expr(g.pick("int", "float"), d) + ")", "float"
	case 4:
		kind := g.pick("int", "string", "date", "time", "float")
		return g.pick("min", "max") + "(" + g.expr(kind, d) + ")", kind
	case 5:
		return "(count(" + distinct + g.expr("int", d) + ") + sum(" + g.expr("int", d) + "))", "int"
	case 6:
		return "size(collect(" + distinct + g.expr("int", d) + "))", "int"
	}
	return "collect(" + distinct + g.expr("int", d) + ")", "bag"
}

func (g *grammar) unwind() string {
	v := g.fresh("int")
	s := "UNWIND " + g.expr(g.pick("list", "list", "bag"), 1) + " AS " + v
	g.declare(v, "int")
	return s
}

func (g *grammar) call() string {
	var imports []string
	outer := g.vars
	var in []variable
	for _, v := range g.vars {
		if g.chance(50) {
			imports, in = append(imports, v.name), append(in, v)
		}
	}
	scoped := g.chance(60) || len(in) == 0
	s := "CALL (" + strings.Join(imports, ", ") + ") { "
	if !scoped {
		s = "CALL { WITH " + strings.Join(imports, ", ") + " "
	} else if g.chance(20) {
		s = "OPTIONAL " + s
	}
	g.vars = in
	body := func() (string, []variable) {
		text := ""
		for range 1 + g.r.IntN(2) {
			text += g.read(1) + " "
		}
		kind := g.pick("int", "string")
		e := g.expr(kind, 1)
		return text + "RETURN " + g.pick("", "DISTINCT ") + e + " AS ", []variable{{g.fresh("c"), kind}}
	}
	text, out := body()
	text += out[0].name
	if scoped && g.chance(25) {
		g.vars = in
		more, _ := body()
		more = strings.ReplaceAll(more, "OPTIONAL CALL", "CALL")
		text += g.pick(" UNION ", " UNION ALL ") + more + out[0].name
		out[0].kind = "other"
	}
	g.vars = append(slices.Clone(outer), out...)
	return s + text + " }"
}

// read writes one reading clause.
func (g *grammar) read(depth int) string {
	switch k := g.r.IntN(12); {
	case k < 6:
		return g.match(depth)
	case k < 7:
		return g.unwind()
	case k < 8:
		return g.search()
	case k < 9 && depth > 1 && !g.wrote:
		return g.call()
	case k < 10 && len(g.vars) > 0:
		return "FILTER " + g.where(depth)
	}
	return g.with(depth)
}

func (g *grammar) with(depth int) string {
	if g.chance(10) {
		return "WITH " + g.star(depth)
	}
	text, columns, _ := g.projection(depth, false)
	g.vars = columns
	if g.chance(40) {
		text += " WHERE " + g.where(1)
	}
	return "WITH " + text
}

// star writes * and an item beside it, which may take the place of a variable.
func (g *grammar) star(depth int) string {
	kind := g.pick(scalars...)
	var e string
	if len(g.vars) > 1 && g.chance(30) && !slices.ContainsFunc(g.vars, func(v variable) bool { return v.kind == "bag" || v.kind == "walk" }) {
		e, kind = g.aggregate(depth)
	} else {
		e = g.expr(kind, depth)
	}
	name := g.fresh("c")
	if len(g.vars) > 0 && g.chance(60) {
		name = g.vars[g.r.IntN(len(g.vars))].name
	}
	g.vars = append(slices.DeleteFunc(slices.Clone(g.vars), func(v variable) bool { return v.name == name }), variable{name, kind})
	return "*, " + e + " AS " + name
}

// chain writes hops of different types, or in clauses of their own, and groups, counts or deduplicates by few of its variables:
// rules find repeats below its expansions, or count without producing rows.
func (g *grammar) chain() (text string, ordered bool) {
	g.vars = nil
	if g.chance(10) { // functions of one vertex
		items := []string{"v1.id AS k0", "v1" + g.pick(".x", ".s", "") + " AS k1"}
		text = fmt.Sprintf("MATCH (v0)%s(v1%s)\nRETURN DISTINCT ", g.pick("-->", "--", "-[:T]->", "-[*1..2]-"), g.pick("", ":A", ":A", ":B"))
		return text + strings.Join(items, ", ") + g.ordered(items), true
	}
	types := []string{"T", "U", "V"}
	g.r.Shuffle(3, func(i, j int) { types[i], types[j] = types[j], types[i] })
	hops := 1 + g.r.IntN(3)
	end := func(i int) string {
		name := fmt.Sprint("v", i)
		s := "(" + name + g.pick("", "", "", g.labels())
		g.declare(name, "vertex")
		if g.chance(12) {
			s += " WHERE " + g.condition(0)
		}
		return s + ")"
	}
	text = "MATCH " + end(0)
	for i := range hops {
		name, typ := "", g.pick(":"+types[i], ":"+types[i], ":"+types[i], ":"+types[0], "", ":T|U")
		if g.chance(25) {
			name = fmt.Sprint("e", i)
			g.declare(name, "edge")
		}
		s := "[" + name + typ
		if name != "" && g.chance(40) {
			s += " WHERE " + name + g.pick(".w > 0", ".w <= 1", ".w IS NULL", ".w = 1")
		}
		text += g.pick("-"+s+"]->", "<-"+s+"]-", "-"+s+"]-", "-"+s+"]-")
		if i > 0 && g.chance(12) {
			text += "(v0)"
			break
		}
		text += end(i + 1)
		if i+1 < hops && g.chance(35) {
			text += g.pick(" MATCH ", " MATCH ", " WITH * MATCH ", " OPTIONAL MATCH ", " WHERE "+g.condition(1)+" MATCH ") + fmt.Sprintf("(v%d)", i+1)
		}
	}
	if g.chance(40) {
		text += " WHERE " + g.where(1)
	}
	v := func() string { return g.of("vertex") }
	var items []string
	if g.chance(30) {
		text += "\nWITH *, " + g.expr("int", 1) + " AS c0"
		g.declare("c0", "int")
	}
	key := func() {
		items = append(items, fmt.Sprintf("%s AS k%d", g.pick(v(), v()+".x", v()+".s", v()+".id", g.expr("int", 1)), len(items)))
	}
	kind := g.r.IntN(6)
	for range g.r.IntN(3) {
		key()
	}
	if kind == 0 {
		key()
		text += "\nRETURN DISTINCT " + strings.Join(items, ", ")
		return text + g.ordered(items), true
	}
	for range 1 + g.r.IntN(2) {
		e := g.of(g.pick("vertex", "edge"))
		if e == "" {
			e = v()
		}
		some := []string{
			"count(*)", "count(" + e + ")", "count(DISTINCT " + e + ")", "max(" + v() + ".x)", "min(" + v() + ".s)",
			"count(DISTINCT " + v() + ".x)", "sum(DISTINCT " + v() + ".x)", "sum(" + v() + ".x)", "count(" + v() + ".x)", "count(" + g.expr("int", 1) + ")",
		}
		a := g.pick(some[:map[bool]int{true: 3, false: len(some)}[kind < 4]]...)
		items = append(items, fmt.Sprintf("%s AS k%d", a, len(items)))
	}
	text += "\nRETURN " + strings.Join(items, ", ")
	return text + g.ordered(items), true
}

// filtered writes rows of few variables, a condition on them all, and what tells a row from others.
func (g *grammar) filtered() string {
	g.vars = nil
	var text string
	switch g.r.IntN(5) {
	case 0:
		text = "MATCH (v0)"
	case 1:
		text = "MATCH (v0)-[e0]-(v1)"
	case 2:
		text = "UNWIND [0, 1, 2] AS i0 MATCH (v0)"
	case 3:
		text = "MATCH (v0) OPTIONAL MATCH (v0)-[e0" + g.pick("", ":T", ":U") + "]->(v1)"
	case 4:
		text = "MATCH (v0" + g.labels() + "), (v1" + g.labels() + ")"
	}
	for _, v := range []variable{{"v0", "vertex"}, {"v1", "vertex"}, {"e0", "edge"}, {"i0", "int"}} {
		if strings.Contains(text, v.name) {
			g.vars = append(g.vars, v)
		}
	}
	text += g.pick(" WHERE ", " WITH * WHERE ", " WITH * LIMIT 1000 WHERE ", " FILTER ") + g.tests()
	if g.chance(30) {
		text += g.pick("\nFILTER ", "\nMATCH (v0) WHERE ", "\nWITH DISTINCT * WHERE ") + g.tests()
	}
	var items []string
	for i, v := range g.vars {
		x := v.name
		switch v.kind {
		case "vertex":
			x = "[" + x + ".id, " + x + g.pick(".x", ".s", ".f", ".d", ".b") + "]"
		case "edge":
			x = "[" + x + ".id, " + x + ".w]"
		}
		items = append(items, fmt.Sprintf("%s AS c%d", x, i))
	}
	return text + "\nRETURN " + strings.Join(items, ", ")
}

// whole aggregates properties of all vertices, or of all edges of a type.
func (g *grammar) whole() string {
	text, props := "MATCH "+g.pick("(v)", "(v:A)", "(v:C)"), []string{"x", "id", "f", "s", "d"}
	if g.chance(60) {
		t := g.pick("T", "T", "U")
		text, props = g.pick("MATCH ()-[v:"+t+"]->()", "MATCH ()<-[v:"+t+"]-()", "MATCH (:A)-[v:"+t+"]->()"), []string{"w", "id"}
	}
	if g.chance(50) {
		text += " WHERE v." + g.pick(props...) + g.pick(" > ", " >= ", " < ", " <= ", " = ") + g.pick("0", "1", "2", "0.5")
	}
	var items []string
	for i := range 1 + g.r.IntN(3) {
		a := g.pick("min", "max", "count") + "(v." + g.pick(props...) + ")"
		if g.chance(35) {
			a = g.pick("sum(v."+props[0]+")", "avg(v."+props[0]+")", "count(*)", "count(v)")
		}
		items = append(items, fmt.Sprintf("%s AS k%d", a, i))
	}
	return text + "\nRETURN " + strings.Join(items, ", ")
}

// ordered orders by all items, which are named k0, k1 and so on.
func (g *grammar) ordered(items []string) string {
	var keys []string
	for i, it := range items {
		if k := fmt.Sprint("k", i); strings.HasPrefix(it, "v") && !strings.Contains(it, ".") {
			keys = append(keys, k+".id")
		} else {
			keys = append(keys, k+g.pick("", " DESC"))
		}
	}
	g.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	s := " ORDER BY " + strings.Join(keys, ", ")
	if g.chance(30) {
		s += " SKIP " + g.pick("0", "1", "2")
	}
	if g.chance(40) {
		s += " LIMIT " + g.pick("0", "1", "2", "5")
	}
	return s
}

// query writes a reading statement. It reports whether its rows have a total order, and which columns are bags.
func (g *grammar) query() (text string, ordered bool) {
	single := func() string {
		g.vars = nil
		s := g.read(2)
		for range g.r.IntN(4) {
			s += "\n" + g.read(2)
		}
		return s + "\n"
	}
	if g.chance(8) {
		kinds := []string{g.pick(scalars...), g.pick(scalars...)}
		part := func() string {
			s := single()
			return s + "RETURN " + g.expr(kinds[0], 1) + " AS a, " + g.expr(kinds[1], 1) + " AS b"
		}
		defer func() { g.bags = nil }()
		union := g.pick("\nUNION\n", "\nUNION ALL\n")
		return part() + union + part(), false
	}
	if g.chance(15) {
		return g.chain()
	}
	if g.chance(5) {
		return g.whole(), false
	}
	if g.chance(20) {
		return g.filtered(), false
	}
	text = single()
	if v := g.of("vertex"); v != "" && g.chance(3) { // some of its rows may be an error
		e := g.pick("1 / "+v+".x", v+".id % "+v+".x", "NOT "+v+".x", v+".s[0]", v+".x.y", "[1, 2]["+v+".s]", v+".b + 1", "-"+v+".s",
			"date("+v+".s)", v+".s - 1", v+".d + 1")
		return text + "RETURN " + e + " AS c", false
	}
	items, _, total := g.projection(2, true)
	return text + "RETURN " + items, total
}
