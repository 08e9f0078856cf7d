package browser_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The start page lists the schema with counts, of which a click queries a part, and links to the documents of this version.
func TestStart(t *testing.T) {
	single.statement(t, "MATCH (n:Jetty) DETACH DELETE n", "")
	single.statement(t, "CREATE (a:Jetty {wood: 'oak'})-[:TETHERED {fathoms: 3}]->(:Jetty {wood: 'oak'})", "")
	p := visit(t, "")
	p.wait(`document.querySelector(".start .quiet").textContent.includes("demo network")`)
	require.Contains(t, p.text(`document.querySelector(".start").textContent`), "Hopgate "+p.text(`document.querySelector(".brand small").textContent`))
	require.Contains(t, p.text(`$t.find("link", "Cypher").href`), "/docs/cypher.md")
	require.Equal(t, "2", p.text(`$t.find("button", "Show some Jetty").nextSibling.textContent`))
	p.click("button", "Show some Jetty")
	p.ended()
	p.wait(status + `.includes("2 rows")`)
	require.Equal(t, "true", p.text(`document.querySelector(".start").hidden`), "the guides make room for a result")
	p.click("button", "Show some TETHERED")
	p.ended()
	p.wait(status + `.includes("1 row ·")`)
	p.click("button", "The commonest values of wood, which 2 of 2 have")
	p.ended()
	p.click("tab", "Table")
	p.wait(cells + ` === "oak|2"`)
	p.click("button", "The commonest values of fathoms, which 1 of 1 have")
	p.ended()
	p.wait(cells + ` === "3|1"`)
	p.click("button", "Show or hide the guides")
	p.wait(`$t.find("link", "All documents")`)
	p.audit()
}

// Each step of each guide runs on the demo network, and gives rows.
func TestGuides(t *testing.T) {
	dir := t.TempDir()
	s, err := start(filepath.Join(dir, "guides"), "serve", "--data-dir", filepath.Join(dir, "data"))
	require.NoError(t, err)
	defer s.stop()
	p := open(t, s.http, setting{})
	p.wait(`document.documentElement.dataset.ready`)
	require.Equal(t, "true", p.text(`$t.find("button", "Hops").disabled`), "an empty graph has no guides")
	p.click("button", "Load demo data")
	p.wait(`document.querySelector(".tour").textContent.includes("1 of 5")`)
	p.ended()
	p.click("button", "End the tour")
	p.js(`location.reload()`)
	p.wait(`document.documentElement.dataset.ready && $t.find("button", "Hops") && !$t.find("button", "Hops").disabled`)
	p.audit()
	p.picture("start")
	for _, guide := range []struct {
		name  string
		steps int
		empty map[int]bool // steps that make an index
	}{{"Hops", 3, nil}, {"Paths", 2, nil}, {"Profile", 3, map[int]bool{2: true}}, {"Fetch", 2, nil}, {"Search", 3, map[int]bool{1: true}}} {
		p.click("link", "Query")
		p.wait(`document.querySelector(".start")`)
		p.js(`const s = document.querySelector(".start"); if (s.hidden) $t.find("button", "Show or hide the guides").click()`)
		p.click("button", guide.name+" ")
		for i := 1; i <= guide.steps; i++ {
			p.wait(fmt.Sprintf(`document.querySelector(".tour").textContent.includes("%d of %d")`, i, guide.steps))
			if guide.name == "Fetch" {
				p.wait(`document.querySelector(".fetch .status").textContent.startsWith("ok") && document.querySelector(".fetch .json").textContent.includes("Person")`)
			} else {
				p.ended()
				p.wait(fmt.Sprintf(`!%[1]s.includes("failed") && %[1]s.startsWith("0 rows") === %[2]t`, status, guide.empty[i]))
			}
			if i < guide.steps {
				p.click("button", "Next")
			}
		}
		p.audit()
		p.click("button", "Done")
	}
}
