package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/check"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// front parses and checks.
func front(text string, o check.Options) error {
	s, err := parse.Statement(text)
	if err != nil {
		return err
	}
	return check.Statement(s, o)
}

// TestGolden runs statements through the front end and shows the first error with the line and a caret.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/check", func(t *testing.T, path string) {
		var names []string
		o := check.Options{Procedures: map[string]check.Procedure{}, ProcedureNames: func() []string { return names }}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "procedure":
				p, err := check.ParseProcedure(d.Input)
				if err != nil {
					return err.Error() + "\n"
				}
				o.Procedures[strings.ToLower(p.Name)] = p
				names = append(names, p.Name)
				return fmt.Sprintf("%v\n", p)
			case "check":
				err := front(d.Input, o)
				if err == nil {
					return "ok\n"
				}
				e := graph.AsError(err)
				return fmt.Sprintf("%s/%s at %d:%d: %s\n%s", e.Type, e.Detail, e.Pos.Line, e.Pos.Column, e.Msg, parse.Caret(d.Input, e.Pos))
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// FuzzCheck checks that no tree makes the checker panic and that its errors are complete.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		"MATCH p = (a:A)-[r:T*1..2 {k: r.x} WHERE r.y]->(b), ((c)-[q]->(d) WHERE c.x){1,2} RETURN DISTINCT a.x AS x, count(r) + a.x ORDER BY a.x, x LIMIT 2",
		"MATCH (n) WITH n, count(*) AS c WHERE c > 1 CALL (n) { WITH n RETURN 1 AS z UNION RETURN 2 AS z } RETURN *",
		"CALL { WITH * MATCH (b) RETURN b } CREATE (a)-[:T]->(b) MERGE (c) ON CREATE SET c.x = 1, c += {}, c:L REMOVE c.x, c:L DELETE a",
		"UNWIND [1, 'a', [null]] AS x FOREACH (y IN x | SET y.z = [q IN y WHERE q % 2 = 0 | q]) RETURN reduce(s = 0, e IN x | s + e), all(e IN x WHERE e)",
		"RETURN EXISTS { MATCH (a) WHERE a.x RETURN a }, COUNT { (a)-->(b) }, COLLECT { RETURN 1 AS a }, CASE 1 WHEN > 2 THEN 3 END, [p = (a)--(b) | p]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse.Statement(text)
		if err != nil {
			return
		}
		if err := check.Statement(s, check.Options{}); err != nil {
			e := graph.AsError(err)
			if e.Kind != graph.KindInvalid || e.Phase != graph.PhaseCompile || e.Detail == "" || e.Pos.Line == 0 {
				t.Fatalf("%s: odd error %#v", text, e)
			}
		}
	})
}
