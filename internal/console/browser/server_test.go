package browser_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both have the same fingerprint.
const (
	long  = "UNWIND range(1, 1000000000) AS a UNWIND range(1, 1000) AS b WITH a, b WHERE a + b < 0 RETURN a"
	short = "UNWIND range(1, 100) AS a UNWIND range(1, 1000) AS b WITH a, b WHERE a + b < 0 RETURN a"
)

// Those who run the server see what runs and end it, what was slow, what takes the time, and where the processors are.
func TestServer(t *testing.T) {
	busy := visit(t, "")
	busy.write("Statement", long)
	busy.key("Enter", ctl)
	p := visit(t, "#server")
	p.wait(`document.querySelector(".server").textContent.includes("UNWIND range(1, 1000000000)")`)
	p.audit()

	// Statements are named that begin while the page watches.
	busy.js(`window.$again = true; (async () => { while ($again) await fetch("/v1/query", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({statement: "` + short + `"})}); })()`)
	p.click("tab", "Flame graph")
	p.js(`$t.find("spinbutton", "Seconds to watch").value = 1`)
	watch := func() { // until a sample has hit the statement
		for range 20 {
			p.wait(`!$t.find("button", "Watch the CPU").disabled`)
			if eval[bool](p, `document.querySelector(".flame") !== null && document.querySelector(".flame").textContent.includes("Unwind")`) {
				return
			}
			p.click("button", "Watch the CPU")
		}
		require.FailNow(t, "the flame graph never names the statement")
	}
	watch()
	p.wait(`document.querySelector(".flame").textContent.includes("outside of statements")`)
	p.audit()
	p.picture("flame")

	p.click("tab", "Charts")
	p.wait(`document.querySelectorAll(".chart").length === 9 && [...document.querySelectorAll(".chart b")].filter((b) => b.textContent !== "–").length > 10`)
	p.wait(`[...document.querySelectorAll(".chart polyline")].some((l) => l.getAttribute("points").split(" ").length > 3)`)
	p.audit()
	p.picture("charts")

	p.click("tab", "Running")
	p.js(`[...document.querySelectorAll(".server tr")].find((r) => r.textContent.includes("UNWIND range(1, 1000000000)")).querySelector("button").click()`)
	busy.ended()
	require.Contains(t, busy.text(status), "killed")

	p.click("tab", "Slow log")
	p.wait(`document.querySelector(".server").textContent.includes("UNWIND range(1, 1000000000)")`)
	p.audit()
	p.click("button", "Show the plan")
	p.wait(`document.querySelector(".plan-table")`)
	p.js(`[...document.querySelectorAll(".server tr")].find((r) => r.textContent.includes("UNWIND range(1, 1000000000)")).querySelector("button[title^=Watch]").click()`)
	p.wait(`$t.find("tab", "Flame graph").getAttribute("aria-selected") === "true" && document.querySelector(".server").textContent.includes("only UNWIND")`)
	watch()
	require.NotContains(t, p.text(`document.querySelector(".flame").textContent`), "outside of statements")
	p.audit()
	busy.js(`$again = false`)
	p.click("tab", "Shards")
	p.wait(`document.querySelectorAll(".server [role=tabpanel]:not([hidden]) tbody tr").length === 2`)
	p.audit()
	single.statement(t, "CALL db.quotas.put({name: 'calls', for: 'everyone', measure: 'requests', amount: 1000000, window: 'day', mode: 'measure'})", "")
	p.click("tab", "Quotas")
	p.wait(`document.querySelector(".server [role=tabpanel]:not([hidden]) meter") && document.querySelector(".server").textContent.includes("1M requests a day")`)
	p.wait(`document.querySelector(".server [role=tabpanel]:not([hidden]) meter").value > 0`)
	p.audit()
	single.statement(t, "CALL db.quotas.drop('calls')", "")
	// What ends is counted, so something must end in each second that the page looks at.
	busy.js(`window.$work = setInterval(() => fetch("/v1/query", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"statement": "RETURN 1"}'}), 50)`)
	p.click("tab", "Top")
	p.wait(`document.querySelector(".server").textContent.includes("calls/s")`)
	p.audit()
	p.picture("top")
}

// A fetch is completed, run, and shown with its plans; a fault is underlined.
func TestFetch(t *testing.T) {
	single.statement(t, "MERGE (:Vendor {id: 7, name: 'Ann'})", "")
	p := visit(t, "#fetch")
	p.write("Fetch, as JSON", `{"Ven`)
	p.wait(`$t.find("option", "lVendor")`)
	p.write("Fetch, as JSON", `{"Vendor[]": {"count": 5, "Vendor": {"@column": "id,name"}}}`)
	p.key("Enter", ctl)
	p.wait(`document.querySelector(".fetch .json").textContent.includes('"name": "Ann"')`)
	p.wait(`document.querySelector(".fetch-plans").textContent.includes("LabelScan")`)
	p.audit()
	p.picture("fetch")
	p.write("Fetch, as JSON", `{"Vendor[]": {"count": "ten", "Vendor": {}}}`)
	p.key("Enter", ctl)
	p.wait(`document.querySelector(".fetch .fault") && document.querySelector(".fetch .fault").textContent === '"count"'`)
	p.audit()
}

// An empty graph offers the demo network, loads it, and shows a tour.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	s, err := start(filepath.Join(dir, "demo"), "serve", "--data-dir", filepath.Join(dir, "data"))
	require.NoError(t, err)
	defer s.stop()
	p := open(t, s.http, setting{})
	p.wait(`$t.find("button", "Load demo data")`)
	p.audit()
	p.watchGraph()
	p.js(`window.$progress = []; new MutationObserver(() => { const bar = $t.find("progressbar", "Load of the demo data"); if (bar) $progress.push(bar.value); }).observe(document.querySelector(".tour"), { attributes: true, childList: true, subtree: true })`)
	p.click("button", "Load demo data")
	p.wait(`document.querySelector(".tour").textContent.includes("1 of 5")`)
	p.wait(`$progress.some((v) => v > 0 && v < 1) && $progress.at(-1) === 1`)
	p.ended()
	p.wait(status + `.includes("20 rows")`)
	p.picture("tour")
	for _, step := range []string{"2", "3", "4", "5"} {
		p.click("button", "Next")
		p.wait(`document.querySelector(".tour").textContent.includes("` + step + ` of 5")`)
		p.ended()
		require.NotContains(t, p.text(status), "failed")
		require.NotContains(t, p.text(status), " 0 rows")
		if step == "4" {
			p.wait(`$view.scene.paths.length && $view.settled`)
			p.picture("paths")
		}
	}
	p.wait(`document.querySelector(".plan-table")`)
	p.picture("plan")
	require.Contains(t, s.statement(t, "MATCH (n) RETURN count(n)", ""), "549")
}

// Behind tokens, through a gateway: the console asks for one, keeps it only if ticked, and shows what its role may see.
func TestGatewayTokens(t *testing.T) {
	dir := t.TempDir()
	var lines []string
	tokens := map[string]string{}
	for name, role := range map[string]string{"ann": "reader", "root": "admin"} {
		out := command(t, "token", name, "--role", role)
		tokens[name] = regexp.MustCompile(`token: (\S+)`).FindStringSubmatch(out)[1]
		lines = append(lines, regexp.MustCompile(`\{name:.*\}`).FindString(out))
	}
	file := filepath.Join(dir, "tokens.yaml")
	require.NoError(t, os.WriteFile(file, []byte("tokens:\n  - "+strings.Join(lines, "\n  - ")+"\n"), 0o600))
	address := free(t)
	shard, err := start(filepath.Join(dir, "shard"), "shard", "--data-dir", filepath.Join(dir, "data"), "--join", address, "--grpc", address)
	require.NoError(t, err)
	defer shard.stop()
	gateway, err := start(filepath.Join(dir, "gateway"), "gateway", "--join", address, "--tokens-file", file)
	require.NoError(t, err)
	defer gateway.stop()
	gateway.statement(t, "CREATE (:Secret {name: 'x'})", tokens["root"])

	p := open(t, gateway.http, setting{})
	p.wait(`$t.find("dialog", "Token")`)
	p.audit()
	p.focus("textbox", "Token of this server")
	p.insert(tokens["ann"])
	p.click("button", "Use")
	p.wait(`document.documentElement.dataset.ready`)
	p.ask("MATCH (n:Secret) RETURN n.name AS name")
	p.wait(cells + ` === "x"`)
	require.Equal(t, "0 0", p.text(`sessionStorage.length + " " + document.cookie.length`))
	p.ask("CREATE (:Secret)")
	require.Contains(t, p.text(`document.querySelector(".result").textContent`), "writer")
	p.click("link", "Server")
	p.click("tab", "Slow log")
	p.wait(`document.querySelector(".server").textContent.includes("This needs the role admin.")`)

	p.click("button", "Give the token for this server")
	p.focus("textbox", "Token of this server")
	p.js(`document.activeElement.select()`)
	p.insert(tokens["root"])
	p.click("checkbox", "Keep it until this tab closes")
	p.click("button", "Use")
	p.wait(`sessionStorage.getItem("hopgate.token")`)
	p.click("tab", "Charts")
	p.wait(`[...document.querySelectorAll(".chart b")].some((b) => b.textContent !== "–")`)
	p.audit()
	walk(p)
	for _, name := range tokens {
		require.NotContains(t, p.text(`document.documentElement.outerHTML + JSON.stringify(localStorage)`), name)
	}
}

// walk goes through what the console offers with a cluster behind it.
func walk(p *page) {
	t := p.t
	p.click("tab", "Shards")
	p.wait(`document.querySelector(".server [role=tabpanel]:not([hidden]) tbody tr")`)
	p.click("tab", "Slow log")
	p.wait(`document.querySelector(".server").textContent.includes("Secret")`)
	p.click("link", "Query")
	p.watchGraph()
	p.ask("CREATE (a:Lamp {name: 'a'})-[:WIRE]->(b:Lamp {name: 'b'})-[:WIRE]->(:Lamp {name: 'c'})")
	require.Contains(t, p.text(status), "3 nodes created")
	p.draw("MATCH (n:Lamp {name: 'a'}) RETURN n")
	p.double(p.at("a"))
	p.click("menuitem", "→ WIRE (1)")
	p.wait(`$view.scene.vertices.size === 2`)
	p.ask("PROFILE MATCH (a:Lamp)-[:WIRE]->(b)-[:WIRE]->(c) RETURN a.name, c.name")
	p.wait(`document.querySelector(".plan-table") && document.querySelector(".icicle rect")`)
	heads := p.text(`document.querySelector(".plan-table thead").textContent`)
	for _, want := range []string{"calls", "sent", "received", "memory", "bytes"} {
		require.Contains(t, heads, want)
	}
	p.audit()
	p.click("link", "Plans")
	p.wait(`document.querySelector(".plans .plan-table")`)
	p.click("link", "Schema")
	p.wait(`$t.find("button", "Lamp WIRE Lamp")`)
	p.audit()
	p.click("link", "Fetch")
	p.write("Fetch, as JSON", `{"Lamp[]": {"count": 5, "Lamp": {"@column": "name", "@order": "name-"}}}`)
	p.key("Enter", ctl)
	p.wait(`document.querySelector(".fetch .json").textContent.includes('"name": "c"') && document.querySelector(".fetch-plans h2")`)
	p.click("link", "Query")
	p.write("Statement", long)
	p.key("Enter", ctl)
	p.click("link", "Server")
	p.click("tab", "Running")
	p.wait(`$t.find("button", "Kill ")`)
	p.click("button", "Kill ")
	p.wait(`document.querySelector(".server").textContent.includes("Nothing runs.")`)
	p.click("link", "Query")
	p.ended()
	require.Contains(t, p.text(status), "killed")
}

// A trusted operation is run with the parameters of a form; what is missing is said, and its figures follow.
func TestTrustedOperations(t *testing.T) {
	single.statement(t, "UNWIND range(1, 5) AS i MERGE (:Pier {id: i, name: 'pier ' + i})", "")
	single.statement(t, "CALL db.operations.put('// name: piers\n// description: Piers from a number on.\n// param: least :: INTEGER -- first number\n// param: most :: INTEGER = 2 -- how many\n"+
		"MATCH (p:Pier) WHERE p.id >= $least RETURN p.name AS name ORDER BY p.id LIMIT $most')", "")
	p := visit(t, "#operations")
	p.wait(`document.querySelector(".operations h1") && document.querySelector(".operations h1").textContent === "piers"`)
	p.audit()
	p.click("button", "Run the operation")
	p.wait(`document.querySelector(".operations [role=alert]").textContent === "least: a value is needed"`)
	p.audit()
	p.focus("textbox", "least integer")
	p.insert("3")
	p.click("button", "Run the operation")
	p.wait(status + `.includes("2 rows")`)
	p.wait(`document.querySelector(".operations").textContent.includes("pier 4")`)
	p.wait(status + `.includes("7 units")`) // 5 visits, 2 rows
	p.wait(`document.querySelector(".figures").textContent.includes("1 call ") && document.querySelector(".figures").textContent.includes("p99")`)
	p.audit()
	p.picture("operations")
	p.focus("textbox", "most (optional) integer")
	p.insert("1")
	p.click("button", "Run the operation")
	p.wait(status + `.includes("1 row")`)
	single.statement(t, "CALL db.operations.disable('piers')", "")
	p.click("button", "Run the operation")
	p.wait(status + `.includes("disabled")`)
	single.statement(t, "CALL db.operations.drop('piers')", "")

	// A fetch shows its answer as JSON.
	single.statement(t, `CALL db.operations.put('// name: pier\n// route: get\n// param: id :: INTEGER\n{"Pier": {"id": {"$param": "id"}}}')`, "")
	p.js(`location.hash = "schema"`)
	p.wait(`document.querySelector(".schema")`)
	p.js(`location.hash = "operations"`)
	p.wait(`document.querySelector(".operations h1").textContent === "pier"`)
	p.focus("textbox", "id integer")
	p.insert("4")
	p.click("button", "Run the operation")
	p.wait(`document.querySelector(".operations .json").textContent.includes('"name": "pier 4"')`)
	p.audit()
	p.focus("textbox", "id integer")
	p.js("document.activeElement.select()")
	p.insert(`"four"`)
	p.click("button", "Run the operation")
	p.wait(`document.querySelector(".operations [role=alert]").textContent.includes("id")`)
	single.statement(t, "CALL db.operations.drop('pier')", "")
}
