package tck

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/hopgate/hopgate/internal/graph"
)

var updates = flag.Int("updates", 400, "random update statements of TestClausesRunOneAfterAnother")

// TestClausesRunOneAfterAnother runs random update statements as planned and with all rows held back before every clause. Both must
// leave the same graph and return the same rows, with any size of batches.
func TestClausesRunOneAfterAnother(t *testing.T) {
	for seed := range *updates {
		g := &generator{r: rand.New(rand.NewPCG(uint64(seed), 7))}
		setup, statement := g.graph(), g.statement()
		want := outcome(setting{shards: 1, eager: true}, setup, statement)
		for _, batch := range []int{1, 2, 1024} {
			if got := outcome(setting{shards: 1, batch: batch}, setup, statement); got != want {
				t.Errorf("seed %d, batches of %d\n%s\n%s\nwant %s\ngot  %s", seed, batch, setup, statement, want, got)
				break
			}
		}
	}
}

// outcome is what a statement answers and leaves behind, without ids and orders.
func outcome(s setting, setup, statement string) string {
	e := newEngine(s, nil)
	if _, err := e.run(setup, nil); err != nil {
		return "setup: " + describe(err)
	}
	a, err := e.run(statement, nil)
	if err != nil {
		x := graph.AsError(err)
		return x.Type + " " + x.Detail
	}
	out := sortedRows(a)
	a, err = e.run(`MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN labels(n), n, type(r), r, m, size([(n)<--() | 1])`, nil)
	if err != nil {
		return describe(err)
	}
	return out + " and " + sortedRows(a)
}

func sortedRows(a *answer) string {
	rows := make([]string, len(a.rows))
	for i, r := range a.rows {
		rows[i] = show(r)
	}
	sort.Strings(rows)
	return strings.Join(rows, " ")
}

// generator generates random statements.
type generator struct {
	r        *rand.Rand
	vertices []string
	edges    []string
	numbers  []string
	names    int
}

func (g *generator) pick(of ...string) string { return of[g.r.IntN(len(of))] }

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprint(prefix, g.names)
}

func (g *generator) label() string { return g.pick("", ":A", ":B", ":A:B") }

func (g *generator) props() string {
	return g.pick("", "", "{x: 0}", "{x: 1}", "{y: 1}", "{x: 1, y: 0}")
}

func (g *generator) graph() string {
	var parts []string
	n := 2 + g.r.IntN(4)
	for i := range n {
		parts = append(parts, fmt.Sprintf("(v%d%s %s)", i, g.label(), g.props()))
	}
	for range g.r.IntN(6) {
		parts = append(parts, fmt.Sprintf("(v%d)-[:%s]->(v%d)", g.r.IntN(n), g.pick("T", "U"), g.r.IntN(n)))
	}
	return "CREATE " + strings.Join(parts, ", ")
}

func (g *generator) vertex() string { return g.pick(g.vertices...) }

// node is a node pattern, of a known variable or of a new one.
func (g *generator) node(fresh *[]string) string {
	if len(g.vertices) > 0 && g.chance(30) {
		return "(" + g.vertex() + ")"
	}
	v := g.name("v")
	*fresh = append(*fresh, v)
	return "(" + v + g.label() + " " + g.props() + ")"
}

func (g *generator) match() string {
	var fresh []string
	text := g.pick("MATCH ", "MATCH ", "OPTIONAL MATCH ") + g.node(&fresh)
	if g.chance(50) {
		e := g.name("e")
		text += g.pick("-[%s:T]->", "<-[%s:U]-", "-[%s]-")
		text = fmt.Sprintf(text, e) + g.node(&fresh)
		g.edges = append(g.edges, e)
	}
	g.vertices = append(g.vertices, fresh...)
	if g.chance(20) {
		text += " WHERE " + g.vertex() + g.pick(".x = 1", ":A", ".y IS NULL", ".x > 0")
	}
	return text
}

func (g *generator) update() string {
	switch k := g.r.IntN(9); {
	case k == 0 || len(g.vertices) == 0:
		v := g.name("v")
		g.vertices = append(g.vertices, v)
		return fmt.Sprintf("CREATE (%s%s %s)", v, g.label(), g.props())
	case k == 1:
		return fmt.Sprintf("CREATE (%s)-[:%s]->(%s)", g.vertex(), g.pick("T", "U"), g.vertex())
	case k == 2:
		v := g.name("v")
		from := g.vertex()
		g.vertices = append(g.vertices, v)
		return fmt.Sprintf("CREATE (%s)-[:%s]->(%s%s %s)", from, g.pick("T", "U"), v, g.label(), g.props())
	case k == 3:
		v := g.name("v")
		g.vertices = append(g.vertices, v)
		return fmt.Sprintf("MERGE (%s%s %s)", v, g.label(), g.props()) +
			g.pick("", " ON CREATE SET "+v+".y = 2", " ON MATCH SET "+v+":B")
	case k == 4:
		return fmt.Sprintf("MERGE (%s)-[:%s]->(%s)", g.vertex(), g.pick("T", "U"), g.vertex())
	case k == 5:
		return "SET " + g.vertex() + g.pick(".x = 1", ".y = 1", ":A", ":B", " += {x: 2}", " = {y: 3}")
	case k == 6:
		v := g.vertex()
		return fmt.Sprintf("SET %s.x = coalesce(%s.x, 0) + 1", v, v)
	case k == 7:
		return "REMOVE " + g.vertex() + g.pick(".x", ".y", ":A", ":B")
	}
	if len(g.edges) > 0 && g.chance(50) {
		return "DELETE " + g.pick(g.edges...)
	}
	return "DETACH DELETE " + g.vertex()
}

func (g *generator) with() string {
	keep := slices.Clone(g.vertices)
	g.r.Shuffle(len(keep), func(i, j int) { keep[i], keep[j] = keep[j], keep[i] })
	keep = keep[:1+g.r.IntN(len(keep))]
	items := slices.Clone(keep)
	if g.chance(40) {
		n := g.name("n")
		items = append(items, g.vertex()+".x AS "+n)
		g.numbers = []string{n}
	} else {
		g.numbers = nil
	}
	if g.chance(15) {
		items = append(items, "count(*) AS "+g.name("c"))
	}
	g.vertices, g.edges = keep, nil
	return "WITH " + g.pick("", "", "DISTINCT ") + strings.Join(items, ", ")
}

func (g *generator) statement() string {
	clauses := []string{g.pick("UNWIND [1, 2] AS i", "UNWIND [1, 2, 3] AS i", "MATCH (v0)", "MATCH (v0:A)")}
	if strings.HasPrefix(clauses[0], "MATCH") {
		g.vertices = append(g.vertices, "v0")
	}
	wrote := false
	for range 2 + g.r.IntN(5) {
		switch k := g.r.IntN(10); {
		case k < 3:
			if wrote { // MATCH may follow a write only after WITH
				clauses = append(clauses, "WITH *")
			}
			clauses, wrote = append(clauses, g.match()), false
		case k < 8 || len(g.vertices) == 0:
			clauses, wrote = append(clauses, g.update()), true
		default:
			clauses, wrote = append(clauses, g.with()), false
		}
	}
	if g.chance(60) && len(g.vertices) > 0 {
		v := g.vertex()
		clauses = append(clauses, "RETURN "+g.pick(v+".x", v, "labels("+v+") AS l", "count(*) AS c", "sum("+v+".x) AS s", "size([("+v+")-->(z) | z]) AS n"))
	}
	return strings.Join(clauses, "\n")
}
