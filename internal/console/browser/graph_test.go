package browser_test

import (
	"encoding/xml"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A small world: parallel edges, a loop, two labels.
const world = `CREATE (a:Town {name: 'Aster', size: 3}), (b:Town {name: 'Birch'}), (c:Inn {name: 'Crown'}), (d:Town {name: 'Dale'})
CREATE (a)-[:ROAD {km: 4}]->(b), (b)-[:ROAD {km: 4}]->(a), (a)-[:RIVER]->(b), (c)-[:IN]->(a), (a)-[:RING]->(a), (b)-[:ROAD]->(d)`

// accented counts the pixels of the canvas that have the colour of what is highlighted.
const accented = `(() => {
	const c = document.querySelector(".stage canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
	copy.drawImage(c, 0, 0);
	const d = copy.getImageData(0, 0, c.width, c.height).data, want = $t.rgba($view.colours.accent);
	let n = 0;
	for (let i = 0; i < d.length; i += 4) if (d[i] === want[0] && d[i + 1] === want[1] && d[i + 2] === want[2]) n++;
	return n;
})()`

// graph gives a page with the graph of a statement at rest. view is the view, for where() and scene.
func graph(t *testing.T, statement string) *page {
	p := visit(t, "")
	p.watchGraph()
	p.draw(statement)
	return p
}

// watchGraph makes the page's graph known to the test.
func (p *page) watchGraph() {
	p.t.Helper()
	p.js(`window.$view = null; import("/console/graph.js").then((m) => { const set = m.GraphView.prototype.set; m.GraphView.prototype.set = function (r) { window.$view = this; return set.call(this, r); }; window.$ready = true; })`)
	p.wait(`window.$ready`)
}

// draw runs a statement and waits until its graph is at rest.
func (p *page) draw(statement string) {
	p.t.Helper()
	p.ask(statement)
	p.wait(`$t.find("tab", "Graph").getAttribute("aria-selected") === "true"`)
	p.wait(`window.$view && $view.settled && $view.frames`)
}

// at gives where a vertex is.
func (p *page) at(caption string) point {
	p.t.Helper()
	p.wait(`$view.settled && $view.where("` + caption + `")`)
	return eval[point](p, `(({x, y}) => ({X: x, Y: y}))($view.where("`+caption+`"))`)
}

func (p *page) mouse(kind input.DispatchMouseEventType, at point, clicks int) {
	p.t.Helper()
	p.do(chromedp.MouseEvent(kind, at.X, at.Y, chromedp.ButtonLeft, chromedp.ClickCount(clicks)))
}

func (p *page) double(at point) {
	p.t.Helper()
	for clicks := range 2 {
		p.mouse(chromedp.MousePressed, at, clicks+1)
		p.mouse(chromedp.MouseReleased, at, clicks+1)
	}
}

// A graph is drawn in a worker's layout; people select, follow edges, move, pin, hide, search and zoom.
func TestGraph(t *testing.T) {
	single.statement(t, "MATCH (n:Town|Inn) DETACH DELETE n", "")
	single.statement(t, world, "")
	p := graph(t, "MATCH (a:Town {name: 'Aster'})-[r]->(b:Town) RETURN a, r, b")
	require.Contains(t, p.text(`$t.name($t.find("application"))`), "Graph of 2 vertices and 3 edges")
	p.audit()

	// A click shows what a vertex holds.
	p.mouse(chromedp.MousePressed, p.at("Aster"), 1)
	p.mouse(chromedp.MouseReleased, p.at("Aster"), 1)
	p.wait(`document.querySelector(".graph-detail").textContent.includes("size3")`)

	// A double click offers the neighbours by type and direction.
	p.double(p.at("Aster"))
	p.wait(`$t.find("menuitem", "← IN (1)")`)
	p.audit()
	p.click("menuitem", "← IN (1)")
	p.wait(`$view.scene.vertices.size === 3`)
	p.double(p.at("Birch"))
	p.click("menuitem", "All types")
	p.wait(`$view.scene.vertices.size === 4`)
	p.picture("graph-small")

	// What is dragged stays where it was put; what is hidden comes back.
	from := p.at("Dale")
	p.mouse(chromedp.MousePressed, from, 1)
	p.mouse(chromedp.MouseMoved, point{from.X + 20, from.Y + 10}, 0)
	p.mouse(chromedp.MouseMoved, point{from.X + 40, from.Y + 20}, 0)
	p.mouse(chromedp.MouseReleased, point{from.X + 40, from.Y + 20}, 1)
	p.wait(`$view.where("Dale").pinned`)
	to := p.at("Dale")
	require.InDelta(t, from.X+40, to.X, 3)
	p.click("button", "Hide")
	p.wait(`$view.scene.vertices.size === 3`)
	p.click("button", "Show hidden")
	p.wait(`$view.scene.vertices.size === 4`)

	// The keyboard reaches the same.
	p.focus("application", "Graph of")
	p.key("n", 0)
	p.wait(`document.querySelector(".graph-detail dl")`)
	p.key("Delete", 0)
	p.wait(`$view.scene.vertices.size === 3`)
	before := p.text(`$view.where("Crown").k`)
	p.key("+", 0)
	p.wait(`$view.where("Crown").k > ` + before)
	before = p.text(`$view.where("Crown").k`)
	at := p.at("Crown")
	call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: at.X, Y: at.Y, DeltaX: 1, DeltaY: 200})
	p.wait(`$view.where("Crown").k < ` + before)
	p.click("button", "Fit")

	p.focus("searchbox", "Search vertices")
	p.insert("crow")
	p.wait(`$t.find("searchbox", "Search vertices").dataset.found === "1"`)
}

// Colours and captions of a label are chosen, and are kept.
func TestGraphLooks(t *testing.T) {
	single.statement(t, "MERGE (:Kiosk {name: 'Kay', code: 'K-1'})", "")
	p := graph(t, "MATCH (n:Kiosk) RETURN n")
	p.wait(`$view.where("Kay")`)
	p.click("button", "Kiosk1")
	p.js(`const s = $t.find("combobox", "Caption of Kiosk"); s.value = "code"; s.dispatchEvent(new Event("change"))`)
	p.wait(`$view.where("K-1")`)
	p.js(`const c = $t.find("color", "Colour of Kiosk"); c.value = "#123456"; c.dispatchEvent(new Event("change"))`)
	p.audit()
	p.wait(`JSON.parse(localStorage["hopgate.looks"]).Kiosk.colour === "#123456"`)
	require.JSONEq(t, `{"Kiosk": {"caption": "code", "colour": "#123456"}}`, p.text(`localStorage["hopgate.looks"]`))

	// They are still there when the page is loaded again.
	p.do(chromedp.Reload())
	p.wait(`document.documentElement.dataset.ready`)
	p.watchGraph()
	p.draw("MATCH (n:Kiosk) RETURN n")
	p.wait(`$view.where("K-1")`)
}

// Labels have colours of their own, and keep them when others come and the page is loaded again.
func TestGraphColours(t *testing.T) {
	single.statement(t, "MATCH (n:Hue1|Hue2|Hue3|Hue4|Hue5|Hue6|Hue7|Hue8|Hue9|Hue10|Hue11|Hue12) DETACH DELETE n", "")
	single.statement(t, "UNWIND range(1, 12) AS i CREATE (n:$('Hue' + i) {i: i})", "")
	const swatches = `Object.fromEntries($t.all("button", "Hue").filter((b) => b.closest(".legend")).map((b) => [b.textContent, getComputedStyle(b.firstChild).backgroundColor]))`
	p := graph(t, "MATCH (n:Hue7|Hue12) RETURN n")
	first := eval[map[string]string](p, swatches)
	require.Len(t, first, 2)
	require.NotEqual(t, first["Hue71"], first["Hue121"])
	p.do(chromedp.Reload())
	p.wait(`document.documentElement.dataset.ready`)
	p.watchGraph()
	p.draw("MATCH (n) WHERE any(l IN labels(n) WHERE l STARTS WITH 'Hue') RETURN n")
	all, different := eval[map[string]string](p, swatches), map[string]bool{}
	for _, colour := range all {
		different[colour] = true
	}
	require.Len(t, different, 12, "%v", all)
	require.Equal(t, first["Hue71"], all["Hue71"])
	require.Equal(t, first["Hue121"], all["Hue121"])
}

// A property colours the vertices of a label by its values, and still does when the page is loaded again.
func TestGraphByProperty(t *testing.T) {
	single.statement(t, "MATCH (n:Buoy) DETACH DELETE n", "")
	single.statement(t, "UNWIND range(1, 6) AS i CREATE (:Buoy {name: 'b' + i, side: ['port', 'starboard'][i % 2]})", "")
	const values = `[...document.querySelectorAll(".legend .value")].map((c) => c.textContent + " " + getComputedStyle(c.firstChild).backgroundColor).join("\n")`
	fills := func(p *page) map[string]int {
		p.js(`$t.find("button", "Download the picture as SVG").click()`)
		n := map[string]int{}
		for _, m := range regexp.MustCompile(`<circle[^>]*fill="(#\w+)"`).FindAllStringSubmatch(p.kept("svg"), -1) {
			n[m[1]]++
		}
		return n
	}
	p := graph(t, "MATCH (n:Buoy) RETURN n")
	p.js(keep)
	require.Len(t, fills(p), 1)
	p.click("button", "Buoy")
	p.js(`const s = $t.find("combobox", "Property that colours Buoy"); s.value = "side"; s.dispatchEvent(new Event("change")); $kept = {}`)
	p.wait(values + `.split("\n").length === 2`)
	p.audit()
	first := p.text(values)
	require.Regexp(t, "^port rgb.*\nstarboard rgb", first)
	got := fills(p)
	require.Len(t, got, 2)
	for colour, n := range got {
		require.Equal(t, 3, n, colour)
	}
	p.do(chromedp.Reload())
	p.wait(`document.documentElement.dataset.ready`)
	p.watchGraph()
	p.draw("MATCH (n:Buoy) RETURN n")
	require.Equal(t, first, p.text(values))
}

// Paths are highlighted one after the other, pictures are kept as PNG and SVG.
func TestGraphPaths(t *testing.T) {
	single.statement(t, "CREATE (:Stop {name: 'p'})-[:LINE]->(:Stop {name: 'q'})-[:LINE]->(:Stop {name: 'r'})", "")
	p := graph(t, "MATCH p = (:Stop {name: 'p'})-[:LINE*1..2]->() RETURN p")
	p.click("button", "Highlight the paths")
	p.wait(`$t.find("button", "Path 1 of 2")`)
	p.wait(accented + ` > 100`)
	p.click("button", "Path 1 of 2")
	p.wait(`$t.find("button", "Path 2 of 2")`)
	p.click("button", "Path 2 of 2")
	p.wait(`$t.find("button", "Paths") && ` + accented + ` === 0`)
	p.js(keep)
	p.click("button", "Download the picture as SVG")
	svg := p.kept("svg")
	require.NoError(t, xml.Unmarshal([]byte(svg), &struct{}{}))
	require.Equal(t, 3, strings.Count(svg, "<circle"))
	require.Equal(t, 2, strings.Count(svg, ">LINE</text>"))
	p.click("button", "Download the picture as PNG")
	picture, err := png.Decode(strings.NewReader(p.kept("png")))
	require.NoError(t, err)
	require.Greater(t, picture.Bounds().Dx(), 200)
}

// Several edges between a pair bend apart, a loop leaves its vertex and comes back, and each has its name.
func TestGraphEdges(t *testing.T) {
	single.statement(t, "CREATE (a:Node {name: 'a'})-[:ONE]->(b:Node {name: 'b'}), (b)-[:TWO]->(a), (a)-[:THREE]->(b), (a)-[:SELF]->(a), (a)-[:AGAIN]->(a)", "")
	p := graph(t, "MATCH (a:Node)-[r]->(b) RETURN a, r, b")
	require.Contains(t, p.text(`$t.name($t.find("application"))`), "Graph of 2 vertices and 5 edges")
	p.js(keep)
	p.click("button", "Download the picture as SVG")
	svg := p.kept("svg")
	curves := regexp.MustCompile(`<path d="(M[^"]*[QCL][^"]*)" fill="none"`).FindAllStringSubmatch(svg, -1)
	require.Len(t, curves, 5)
	loops, different := 0, map[string]bool{}
	for _, c := range curves {
		different[c[1]] = true
		loops += strings.Count(c[1], "C")
	}
	require.Len(t, different, 5)
	require.Equal(t, 2, loops)
	for _, name := range []string{"ONE", "TWO", "THREE", "SELF", "AGAIN"} {
		require.Contains(t, svg, ">"+name+"</text>")
	}
}

// Neighbours come by type and direction, at most as many as are asked for; what is pinned is let go; edges are added between what is drawn.
func TestGraphNeighbours(t *testing.T) {
	single.statement(t, "MATCH (n:Hub|Spoke) DETACH DELETE n", "")
	single.statement(t, "CREATE (h:Hub {name: 'hub'}) WITH h UNWIND range(1, 30) AS i CREATE (h)-[:OUT]->(:Spoke {name: 's' + i})-[:BACK]->(h)", "")
	p := graph(t, "MATCH (n:Hub) RETURN n")
	p.js(`const s = $t.find("combobox", "Most neighbours"); s.value = "10"; s.dispatchEvent(new Event("change"))`)
	p.focus("application", "Graph of")
	p.key("n", 0)
	p.key("Enter", 0)
	p.wait(`$t.find("menuitem", "← BACK (30)")`)
	p.wait(`document.activeElement === $t.find("menuitem", "All types")`)
	p.key("ArrowDown", 0)
	p.wait(`document.activeElement === $t.find("menuitem", "← BACK (30)") || document.activeElement === $t.find("menuitem", "→ OUT (30)")`)
	p.click("menuitem", "→ OUT (30)")
	p.wait(`$view.scene.vertices.size === 11 && $view.scene.edges.size === 10 && $view.settled`)
	p.click("button", "Connect")
	p.wait(`$view.scene.edges.size === 20 && $view.settled`)
	p.focus("application", "Graph of")
	p.key("f", 0)
	p.wait(`$view.where("hub").pinned`)
	p.click("button", "Let go")
	p.wait(`!$view.where("hub").pinned`)
	p.audit()
}

// More vertices than can be drawn are left out, and the page says so.
func TestGraphCap(t *testing.T) {
	single.statement(t, "MATCH (n:Many) DETACH DELETE n", "")
	single.statement(t, "UNWIND range(1, 2100) AS i CREATE (:Many {id: i})", "")
	p := visit(t, "")
	p.js(`const s = $t.find("combobox", "Most rows"); s.value = "10000"; s.dispatchEvent(new Event("change"))`)
	p.ask("MATCH (n:Many) RETURN n")
	p.wait(`document.querySelector(".graph-notice").textContent.includes("The first 2,000 vertices are drawn; 100 or more were left out.")`)
	p.audit()
}
