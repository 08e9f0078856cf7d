package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/console"
)

// A profile is drawn with its figures, estimates that are far off are marked, and two runs stand beside each other.
func TestPlans(t *testing.T) {
	single.statement(t, "UNWIND range(1, 400) AS i CREATE (:Part {id: i, kind: i % 2})", "")
	p := visit(t, "")
	p.ask("PROFILE MATCH (a:Part) WHERE a.id < 3 WITH a ORDER BY a.id UNWIND range(1, 300) AS i RETURN a.id, count(i) AS n")
	p.wait(`$t.find("tab", "Plan").getAttribute("aria-selected") === "true" && document.querySelector(".plan-table tbody tr")`)
	require.Contains(t, p.text(`document.querySelector(".plan-table thead").textContent`), "estimatedrowstimecacherequestsbytesmemory")
	p.wait(`document.querySelector(".plan-off")`)
	p.audit()
	p.picture("profile")
	p.click("button", "sunburst")
	p.wait(`document.querySelector(".sunburst path")`)
	p.ask("EXPLAIN MATCH (a:Part) RETURN a")
	p.wait(`document.querySelector(".plan-table") && !document.querySelector(".icicle, .sunburst")`)
	p.ask("PROFILE MATCH (a:Part) WHERE a.kind = 1 RETURN count(*)")
	p.click("link", "Plans")
	p.wait(`document.querySelectorAll(".plans .entry").length === 3`)
	p.audit()
	p.js(`$t.all("button", "vs: Compare with this run").filter((b) => !b.disabled).at(-1).click()`)
	p.wait(`$t.find("region", "Comparison").textContent.includes("only in")`)
	p.audit()
	p.picture("compare")
}

// The page that graphctl writes stands alone, and no operator's name is broken letter by letter.
func TestPlanPage(t *testing.T) {
	node := func(name string, us float64, children ...map[string]any) map[string]any {
		return map[string]any{
			"operator": name, "arguments": "(a:Person)-[:KNOWS]->(b:Person)", "rows": 7, "estimatedRows": 1.5, "timeUs": us, "bytes": 100, "memory": 4096,
			"shardRequests": 2, "cacheHits": 5, "cacheMisses": 1, "wireRequests": 4, "wireSent": 120, "wireReceived": 330, "edges": 200, "wirePerEdge": 2.25, "largeValues": 3, "children": children,
		}
	}
	page, err := console.PlanPage("MATCH </script>", node("Projection", 10, node("ExpandIntoUndirected", 500, node("VertexIndexSeekRange", 60))))
	require.NoError(t, err)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(page)
	}))
	defer files.Close()
	p := open(t, files.URL, setting{})
	p.wait(`document.querySelectorAll(".plan-table tbody tr").length === 3 && document.querySelectorAll(".sunburst path").length === 3`)
	require.Equal(t, "true", p.text(`[...document.querySelectorAll(".plan-operator b")].every((b) => b.getClientRects().length === 1)`))
	p.audit()
	p.picture("planpage")
}

// The schema page shows what there is, and a click asks for it.
func TestSchema(t *testing.T) {
	single.statement(t, "CREATE (:Ship {name: 's', length: 3})-[:MOORED {since: 2}]->(:Quay {name: 'q'}), (:Ship)", "")
	single.statement(t, "CREATE INDEX ship_name IF NOT EXISTS FOR (s:Ship) ON (s.name)", "")
	single.statement(t, "CREATE CONSTRAINT quay_name IF NOT EXISTS FOR (q:Quay) REQUIRE q.name IS UNIQUE", "")
	p := visit(t, "#schema")
	p.wait(`document.querySelector(".schema-picture")`)
	text := p.text(`document.querySelector(".schema").textContent`)
	for _, want := range []string{"ship_name", "quay_name", ":Ship(name)", ":Quay(name)", "length long 50%", "MOORED"} {
		require.Contains(t, text, want)
	}
	p.audit()
	p.picture("schema")
	p.click("button", "Ship MOORED Quay")
	p.ended()
	p.wait(`$t.find("textbox", "Statement").value.startsWith("MATCH (a:Ship)-[r:MOORED]->(b:Quay)") && document.querySelector(".status").textContent.includes("1 row")`)

	// Labels and properties lead to queries as well, and the picture by the keyboard.
	for name, want := range map[string]string{"Show some Ship": "MATCH (n:Ship)\nRETURN n\nLIMIT 25", "length long 50%": "MATCH (n:Ship)\nRETURN n.length AS value", "Show some MOORED": "MATCH (a)-[r:MOORED]->(b)"} {
		p.click("link", "Schema")
		p.wait(`document.querySelector(".schema[aria-busy=false]")`) // or what is clicked is made again meanwhile
		p.click("button", name)
		p.wait(fmt.Sprintf(`$t.find("textbox", "Statement")?.value.startsWith(%q)`, want))
		p.ended()
		require.NotContains(t, p.text(status), "failed")
	}
	p.click("link", "Schema")
	p.wait(`document.querySelector(".schema[aria-busy=false] .schema-picture")`) // what was read before goes
	p.focus("button", "Quay")
	p.key(" ", 0)
	p.wait(`$t.find("textbox", "Statement")?.value === "MATCH (n:Quay)\nRETURN n\nLIMIT 25"`)
	p.ended()
}
