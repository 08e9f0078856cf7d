package browser_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const (
	status = `document.querySelector(".status").textContent`
	cells  = `[...document.querySelectorAll(".trow:not([hidden])")].map((r) => [...r.children].slice(1).map((c) => c.textContent).join("|")).join("\n")`
)

// The unit tests of the pure modules hold in a browser as well.
func TestUnits(t *testing.T) {
	files := httptest.NewServer(http.FileServer(http.Dir("..")))
	defer files.Close()
	p := open(t, files.URL+"/static/icon.svg", setting{})
	failed := eval[[]string](p, `(async () => {
		const { all } = await import("/testdata/all_test.js"), failed = [];
		for (const [name, f] of Object.entries(all)) try { await f(); } catch (e) { failed.push(name + ": " + e.message); }
		return Object.keys(all).length > 20 ? failed : ["only " + Object.keys(all)];
	})()`)
	require.Empty(t, failed)
}

// People write a statement and see its rows; Ctrl-Enter runs it.
func TestQuery(t *testing.T) {
	p := visit(t, "")
	p.ask("UNWIND range(1, 3) AS i RETURN i, 'row ' + i AS text, i / 2.0 AS half, null AS none")
	p.wait(cells + `.includes("3|row 3|1.5|null")`)
	require.Contains(t, p.text(status), "3 rows")
	p.audit()
	p.picture("query-small")

	// A float keeps its point, and an integer all its digits.
	p.ask("RETURN 1.0 AS f, 9007199254740993 AS i, {a: [1.0]} AS m")
	p.wait(cells + ` === "1.0|9007199254740993|{a: [1.0]}"`)

	p.click("tab", "JSON")
	p.wait(`document.querySelector(".json").textContent.includes('"f": 1.0')`)
}

// The place of an error is underlined, with what is wrong and what was likely meant, which a click puts there.
func TestQueryError(t *testing.T) {
	p := visit(t, "")
	p.ask("RETURN 1 AS one;\nMATCH (n)\n  RETRUN n")
	p.wait(`document.querySelector(".code .fault")`)
	require.Equal(t, "RETRUN", p.text(`document.querySelector(".code .fault").textContent`))
	require.Contains(t, p.text(`document.querySelector("[role=alert]").textContent`), "3:3Invalid input 'RETRUN': unknown keyword")
	require.Equal(t, "true", p.text(`$t.find("textbox", "Statement").getAttribute("aria-invalid")`))
	p.audit()
	p.picture("error")
	p.click("button", "Use RETURN")
	p.wait(`$t.find("textbox", "Statement").value.endsWith("  RETURN n")`)
	p.wait(`!document.querySelector(".fault")`)
	p.click("button", "Run all statements")
	p.ended()
	require.Equal(t, "2", p.text(`$t.all("button").filter((b) => b.closest(".strip")).length`))
	require.NotContains(t, p.text(status), "failed")
}

// An error takes the place of the rows before it, and says what its code means; a statement that works shows its rows again.
func TestExplained(t *testing.T) {
	p := visit(t, "")
	p.ask("RETURN 1 AS stale")
	p.wait(cells + ` === "1"`)
	for statement, want := range map[string]string{
		"RETURN $missing AS x": "graphctl query -p name=value", "RETURN 1 / 0 AS x": "divided by zero", "CALL db.nope()": "SHOW PROCEDURES",
	} {
		p.ask(statement)
		p.wait(`document.querySelector(".explained").checkVisibility() && document.querySelector(".explained").textContent.includes("` + want + `")`)
		require.Equal(t, "null", p.text(`$t.find("columnheader", "stale")`))
		require.Equal(t, "null", p.text(`$t.find("tab", "Table")`))
		require.Contains(t, p.text(`document.querySelector(".explained a").href`), "/docs/reference/errors.md#neoclienterror")
		p.audit()
	}
	p.picture("explained")
	p.ask("UNWIND [2, 1, 0] AS i RETURN 4 / i AS part")
	p.wait(`document.querySelector(".explained").checkVisibility()`)
	p.ask("RETURN 2 AS fresh")
	p.wait(cells + ` === "2" && $t.find("columnheader", "fresh") && !document.querySelector(".explained").checkVisibility()`)
}

// Completion knows keywords, functions, labels, properties and parameters, and works by the keyboard.
func TestCompletion(t *testing.T) {
	single.statement(t, "CREATE (:Harbour {depth: 3})-[:FERRY {minutes: 5}]->(:Harbour {depth: 4})", "")
	p := visit(t, "")
	p.write("Statement", "MATCH (h:Harb")
	p.wait(`$t.find("option", "lHarbour")`)
	p.key("Enter", 0)
	p.wait(`$t.find("textbox", "Statement").value === "MATCH (h:Harbour"`)
	p.insert(") WHERE h.")
	p.wait(`$t.find("option", "pdepth")`)
	p.key("Tab", 0)
	p.insert(" > 1 RETURN coa")
	p.wait(`$t.find("option", "fcoalesce")`)
	p.wait(`document.querySelector(".completion-info").textContent.includes("coalesce(")`)
	p.audit()
	p.picture("completion")
	p.key("Escape", 0)
	p.wait(`!$t.find("listbox")`)
	p.insert("lesce(h.depth, 0) AS d")
	p.key("Enter", ctl)
	p.ended()
	p.wait(cells + `.includes("4")`)
}

// The bracket beside the caret and its partner are marked.
func TestBrackets(t *testing.T) {
	p := visit(t, "")
	p.write("Statement", "RETURN ((1))")
	p.wait(`document.querySelectorAll(".match").length === 2`)
	p.key("ArrowLeft", 0)
	p.key("ArrowLeft", 0)
	p.wait(`document.querySelectorAll(".match").length === 2`)
}

// Parameters are JSON; a fault in them is shown where it is, and nothing runs.
func TestParameters(t *testing.T) {
	p := visit(t, "")
	p.click("button", "Parameters")
	p.write("Parameters, as JSON", `{"id": 9007199254740993, "names": ["a", "b"]}`)
	p.ask("RETURN $id AS id, $names[1] AS b")
	p.wait(cells + ` === "9007199254740993|b"`)
	p.write("Parameters, as JSON", `{"id": }`)
	p.wait(`document.querySelector(".side .fault, .side .problem").textContent !== ""`)
	p.audit()
}

// What was run is in the history, and what is saved stays after the page is loaded again; a link brings the query along.
func TestHistory(t *testing.T) {
	p := visit(t, "")
	p.click("button", "History")
	p.ask("RETURN 'first'")
	p.ask("RETURN 'second'")
	p.wait(`document.querySelectorAll(".side .entry").length === 2`)
	p.click("button", "RETURN 'first'")
	p.wait(`$t.find("textbox", "Statement").value === "RETURN 'first'"`)
	p.click("button", "Saved")
	p.focus("textbox", "Name of the query")
	p.insert("mine")
	p.key("Enter", 0)
	p.wait(`document.querySelector(".side .entry small").textContent === "mine"`)
	p.do(chromedp.Navigate(single.http + "/#query?q=RETURN+42+AS+answer"))
	p.do(chromedp.Reload())
	p.wait(`$t.find("textbox", "Statement").value === "RETURN 42 AS answer"`)
	p.wait(`document.querySelector(".side").textContent.includes("mine")`)
	p.click("button", "Run all statements")
	p.ended()
	p.wait(cells + ` === "42"`)
}

// A statement that takes long is cancelled, at the server too.
func TestCancel(t *testing.T) {
	p := visit(t, "")
	p.write("Statement", "UNWIND range(1, 1000000000) AS a UNWIND range(1, 1000) AS b WITH a, b WHERE a + b < 0 RETURN a")
	p.key("Enter", ctl)
	p.wait(`$t.box("button", "Cancel")`)
	p.click("button", "Cancel")
	p.ended()
	require.Contains(t, p.text(status), "cancelled")
}

// The limits beside a statement hold at the server: one that writes is refused, and one that takes too long ends.
func TestLimits(t *testing.T) {
	p := visit(t, "")
	p.click("checkbox", "read only")
	p.ask("CREATE (:Unwanted)")
	require.Contains(t, p.text(status), "the access mode is READ")
	require.Contains(t, single.statement(t, "MATCH (n:Unwanted) RETURN count(n)", ""), "[[0]]")
	p.focus("spinbutton", "Seconds until a statement ends")
	p.js("document.activeElement.select()")
	p.insert("1")
	p.ask(long)
	require.Contains(t, p.text(status), "ended before it finished")
}

// What is likely a mistake is said beside the result, and what is cut off as well.
func TestNotifications(t *testing.T) {
	single.statement(t, "CREATE (:Lighthouse {name: 'x'})", "")
	p := visit(t, "")
	p.ask("MATCH (n:Lighthose) RETURN n")
	p.wait(`document.querySelector(".notes").textContent.includes("did you mean ` + "`Lighthouse`" + `")`)
	p.click("button", "Use Lighthouse")
	p.wait(`$t.find("textbox", "Statement").value === "MATCH (n:Lighthouse) RETURN n"`)
	p.write("Statement", "RETURN 1")
	p.click("button", "Use Lighthouse")
	p.wait(`document.querySelector("#announce").textContent === "The statement has changed"`)
	require.Equal(t, "RETURN 1", p.text(`$t.find("textbox", "Statement").value`))
	p.js(`$t.find("combobox", "Most rows").value = "100"; $t.find("combobox", "Most rows").dispatchEvent(new Event("change"))`)
	p.ask("UNWIND range(1, 1000) AS i RETURN i")
	p.wait(status + `.includes("cut off")`)
	require.Contains(t, p.text(status), "100 rows")
	require.Contains(t, p.text(status), "of at most 100 rows")
	p.audit()
}

// A million rows scroll: only those that are visible are in the document.
func TestMillionRows(t *testing.T) {
	p := visit(t, "")
	p.js(`$t.find("combobox", "Most rows").value = "0"; $t.find("combobox", "Most rows").dispatchEvent(new Event("change"))`)
	p.ask("UNWIND range(1, 1000000) AS i RETURN i, 'name ' + i AS name, i % 7 AS m")
	p.wait(status + `.includes("1,000,000 rows")`)
	p.focus("grid", "Rows of the result")
	p.key("End", ctl)
	p.wait(cells + `.includes("1000000|name 1000000|1")`)
	require.Less(t, eval[int](p, `document.querySelectorAll(".trow").length`), 100)
	p.click("button", "m")
	p.wait(`document.querySelector("[aria-sort=ascending]")`)
	p.key("Home", ctl)
	p.js(`document.querySelector(".tscroll").scrollTop = 0`)
	p.wait(cells + `.startsWith("7|name 7|0\n14|name 14|0")`)
	p.click("button", "m")
	p.wait(cells + `.startsWith("6|name 6|6")`)
	p.picture("million")
}

// The table is used by the keyboard: arrows move, Enter shows the whole value.
func TestTableKeys(t *testing.T) {
	p := visit(t, "")
	p.ask("UNWIND range(1, 50) AS i RETURN i, {number: i, list: [1, 2, 3]} AS m")
	p.wait(cells + `.includes("3|")`)
	p.focus("grid", "Rows of the result")
	p.key("ArrowDown", 0)
	p.key("ArrowRight", 0)
	p.wait(`document.querySelector("#active-cell").textContent.includes("number: 2")`)
	p.key("Enter", 0)
	p.wait(`$t.find("dialog")`)
	require.Contains(t, p.text(`document.querySelector("dialog .detail").textContent`), "\"number\": 2")
	p.audit()
	p.key("Escape", 0)
	p.wait(`!$t.find("dialog")`)
	p.double(p.box("gridcell", "{number: 4"))
	p.wait(`$t.find("dialog") && document.querySelector("dialog .detail").textContent.includes("\"number\": 4")`)
	p.key("Escape", 0)
	p.wait(`!$t.find("dialog")`)
	p.js(`$t.find("separator", "Width of i").dispatchEvent(new MouseEvent("dblclick", {bubbles: true}))`)
	before := p.text(`document.querySelector(".thead").children[1].offsetWidth`)
	at := p.box("separator", "Width of i")
	p.do(chromedp.MouseEvent(chromedp.MousePressed, at.X, at.Y, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, at.X+80, at.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, at.X+80, at.Y, chromedp.ButtonLeft))
	p.wait(`document.querySelector(".thead").children[1].offsetWidth > ` + before)
}

// Colours are readable, light and dark, and nothing is wider than a narrow screen.
func TestAppearance(t *testing.T) {
	for name, s := range map[string]setting{"light": {}, "dark": {dark: true}, "narrow": {width: 390, height: 800}} {
		t.Run(name, func(t *testing.T) {
			p := open(t, single.http, s)
			p.wait(`document.documentElement.dataset.ready`)
			p.ask("UNWIND range(1, 30) AS i RETURN i, 'text' AS t, true AS b, null AS n, [i] AS l, 2.5 * i AS f // comment")
			p.wait(cells + `.includes("30")`)
			p.audit()
			require.Equal(t, "true", p.text(`document.documentElement.scrollWidth <= innerWidth`))
			p.picture("query-" + name)
		})
	}
	p := visit(t, "")
	light := p.text(`getComputedStyle(document.body).backgroundColor`)
	p.click("button", "Colours: as the system")
	p.click("button", "Colours: light")
	p.wait(`getComputedStyle(document.body).backgroundColor !== "` + light + `"`)
	p.audit()
}
