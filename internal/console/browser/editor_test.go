package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const kinds = `[...document.querySelectorAll(".work .code span")].map((s) => s.textContent + " " + s.className.split(" ")[0]).join("\n")`

// Words of a statement and of a fetch have the colours of their kinds, whatever is typed.
func TestHighlight(t *testing.T) {
	p := visit(t, "")
	p.write("Statement", "MATCH (p:Person {id: $id})-[:KNOWS]->(q) WHERE q.name = 'x' RETURN count(q) // all")
	p.wait(kinds + `.endsWith("// all k-comment")`)
	for _, want := range []string{"MATCH k-keyword", "Person k-label", "id k-property", "$id k-parameter", "KNOWS k-label", "name k-property", "'x' k-string", "count k-function"} {
		require.Contains(t, p.text(kinds), want)
	}
	require.Equal(t, "true", p.text(`new Set(["k-keyword", "k-label", "k-string", "k-comment"].map((k) => getComputedStyle(document.querySelector("." + k)).color)).size === 4`))
	p.audit()
	p.click("link", "Fetch")
	p.write("Fetch, as JSON", `{"User[]": {"count": 3, "User": {"id>": 1, "@order": "id-"}}}`)
	p.wait(kinds + `.includes('"User[]" k-label')`)
	for _, want := range []string{`"count" k-keyword`, `"id>" k-property`, `"@order" k-keyword`, `"id-" k-string`} {
		require.Contains(t, p.text(kinds), want)
	}
}

// Completion offers keywords, edge types and what the parameters panel holds.
func TestCompletionOfParameters(t *testing.T) {
	single.statement(t, "CREATE (:Depot)-[:TRAMWAY]->(:Depot)", "")
	p := visit(t, "")
	p.click("button", "Parameters")
	p.write("Parameters, as JSON", `{"minimum": 4, "other": 5}`)
	p.write("Statement", "RETURN $mi")
	p.wait(`$t.find("option", "p$minimum")`)
	p.key("Tab", 0)
	p.wait(`$t.find("textbox", "Statement").value === "RETURN $minimum"`)
	p.key("Enter", ctl)
	p.ended()
	p.wait(cells + ` === "4"`)
	p.write("Statement", "MATCH ()-[:TRAM")
	p.wait(`$t.find("option", "tTRAMWAY")`)
	p.key("Enter", 0)
	p.insert("]-() RETU")
	p.wait(`$t.find("option", "kRETURN")`)
	p.key("ArrowDown", 0)
	p.key("ArrowUp", 0)
	p.key("Tab", 0)
	p.wait(`$t.find("textbox", "Statement").value === "MATCH ()-[:TRAMWAY]-() RETURN"`)
}

// Several statements run one after the other, each with a result of its own; keys run the selection, or the one at the caret.
func TestStatements(t *testing.T) {
	p := visit(t, "")
	p.ask("RETURN 'a;b' AS x; RETURN 2 AS x;\nRETURN 3 AS x")
	p.wait(cells + ` === "3"`)
	p.click("button", "1 RETURN 'a;b' AS x")
	p.wait(cells + ` === "a;b"`)
	p.audit()
	p.js(`$t.find("textbox", "Statement").setSelectionRange(22, 22)`)
	p.focus("textbox", "Statement")
	p.key("Enter", ctl|int64(chromedp.ModifierShift))
	p.wait(cells + ` === "2"`)
	p.ended()
	p.wait(`document.querySelector(".strip").hidden`)
	p.js(`$t.find("textbox", "Statement").setSelectionRange(0, 12)`)
	p.key("Enter", ctl)
	p.wait(`document.querySelector("[role=columnheader] button").textContent === "'a;b'" && ` + cells + ` === "a;b"`)
	p.ended()

	// The first that fails ends them.
	p.ask("RETURN 1 AS x; RETURN 1 / 0 AS x; RETURN 3 AS x")
	p.wait(`$t.all("button").filter((b) => b.closest(".strip")).length === 2`)
	require.Contains(t, p.text(status), "failed")
	p.wait(`document.querySelector(".work [role=alert]").textContent.includes("zero")`)
}

// A link carries the statement and its parameters to another browser.
func TestLink(t *testing.T) {
	p := visit(t, "")
	p.js(`navigator.clipboard.writeText = async (text) => { window.$copied = text; }`)
	p.click("button", "Parameters")
	p.write("Parameters, as JSON", `{"q": "ü & #?"}`)
	p.write("Statement", "RETURN $q AS a,\n  '100% + ?' AS b")
	p.click("button", "Copy a link that opens this query")
	p.wait(`window.$copied`)
	other := open(t, p.text(`$copied`), setting{})
	other.wait(`document.documentElement.dataset.ready`)
	other.wait(`$t.find("textbox", "Statement").value === "RETURN $q AS a,\n  '100% + ?' AS b"`)
	require.Equal(t, "true", other.text(`document.querySelector(".result").hidden`), "a link does not run anything by itself")
	other.click("button", "Run all statements")
	other.ended()
	other.wait(cells + ` === "ü & #?|100% + ?"`)
}

// Each kind of notice stands beside the result, with the place that it speaks of.
func TestNotices(t *testing.T) {
	single.statement(t, "UNWIND range(1, 3000) AS i CREATE (:Barge {name: 's' + i, len: i})-[:TOWED]->(:Lock {name: 'q' + i})", "")
	p := visit(t, "")
	for statement, want := range map[string]string{
		"MATCH (n:Barg) RETURN n":                      "The label is not in the graph1:10",
		"MATCH (n:Barge)-[:TOWD]->() RETURN n LIMIT 1": "The relationship type is not in the graph1:19",
		"MATCH (n:Lock) RETURN n.nmae LIMIT 1":         "did you mean `name`",
		"MATCH (a:Barge), (b:Lock) RETURN count(*)":    "The patterns of a MATCH are not connected1:1",
		"MATCH (n:Barge) WHERE n.len = 3 RETURN n":     "CREATE INDEX FOR (n:Barge) ON (n.len)",
	} {
		p.ask(statement)
		p.wait(`document.querySelector(".notes").textContent.includes("` + want + `")`)
		p.audit()
	}
}
