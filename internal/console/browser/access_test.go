package browser_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/require"
)

// Every page is reached and read by the keyboard alone: Tab goes to each control, which has a name and is seen to have the focus.
func TestKeyboard(t *testing.T) {
	p := visit(t, "")
	p.ask("UNWIND range(1, 3) AS i RETURN i")
	for page, controls := range map[string][]string{
		"query": {"Skip to content", "Query", "Operations", "Graph", "Statement", "Schema", "Run all statements, or the selection (Ctrl+Enter)", "Most rows", "Table", "Rows of the result", "History (1)"},
		"fetch": {"Fetch, as JSON", "Method", "Label"}, "schema": {"Schema"}, "plans": {"Plans"}, "server": {"Running"}, "operations": {"Operations"},
	} {
		p.js(`location.hash = "` + page + `"`)
		p.wait(`document.querySelector("#pages [aria-current]").dataset.page === "` + page + `"`)
		p.js(`document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute("tabindex")`)
		seen := map[string]bool{}
		for range 400 {
			p.key("Tab", 0)
			if p.text(`document.activeElement === document.body`) == "true" {
				break // all have been reached
			}
			seen[p.text(`$t.name(document.activeElement)`)] = true
			require.Equal(t, "", p.text(`$t.focusFault()`), page)
		}
		for _, want := range controls {
			require.True(t, seen[want], "%s: Tab reaches %s: %v", page, want, seen)
		}
	}
}

// All pages can be read in the dark and on a narrow screen.
func TestPagesEverywhere(t *testing.T) {
	single.statement(t, "MERGE (a:Isle {name: 'a'}) MERGE (a)-[:NEAR {km: 3}]->(:Isle {name: 'b'})", "")
	p := open(t, single.http, setting{width: 390, height: 800, dark: true})
	p.wait(`document.documentElement.dataset.ready`)
	p.ask("PROFILE MATCH (a:Isle)-[r]->(b) RETURN a, r, b")
	p.wait(`document.querySelector(".plan-table")`)
	for _, page := range []string{"query", "fetch", "schema", "plans", "operations", "server"} {
		p.js(`location.hash = "` + page + `"`)
		p.wait(`document.querySelector("#pages [aria-current]").dataset.page === "` + page + `" && document.querySelector("#main .page")`)
		for _, width := range []int64{390, 768, 1280} {
			call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1})
			p.wait(fmt.Sprintf(`innerWidth === %d`, width))
			p.wait(`document.documentElement.scrollWidth <= innerWidth`)
			p.audit()
		}
	}
}

// With --console=false a browser gets no page, and the API stays.
func TestNoConsole(t *testing.T) {
	if chrome == nil {
		t.Skip("there is no Chromium")
	}
	dir := t.TempDir()
	s, err := start(filepath.Join(dir, "off"), "serve", "--data-dir", filepath.Join(dir, "data"), "--console=false")
	require.NoError(t, err)
	defer s.stop()
	for path, want := range map[string]int{"/": http.StatusOK, "/console/main.js": http.StatusNotFound} {
		req, err := http.NewRequest(http.MethodGet, s.http+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Accept", "text/html")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, path)
		require.Contains(t, res.Header.Get("Content-Type"), "application/json", path)
		require.NotContains(t, string(body), "<html")
	}
	require.Contains(t, s.statement(t, "RETURN 1", ""), "[[1]]")
}
