package browser_test

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// mostWire is how many bytes a first visit may bring, with their headers.
const mostWire = 150 << 10

// wire is the bytes that the page has brought so far.
const wire = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((n, e) => n + e.transferSize, 0)`

// A first visit brings few bytes.
func TestFirstLoad(t *testing.T) {
	p := visit(t, "")
	n := eval[int](p, wire)
	require.Greater(t, n, 10<<10)
	require.Less(t, n, mostWire)
}

// BenchmarkConsole measures what bench/README.md shows of the console.
func BenchmarkConsole(b *testing.B) {
	b.Run("first result", func(b *testing.B) {
		for b.Loop() {
			p := visit(b, "")
			ready := eval[float64](p, `performance.now()`)
			sent := eval[float64](p, wire)
			p.write("Statement", "UNWIND range(1, 100) AS i RETURN i")
			p.js(`window.$asked = performance.now();
				new MutationObserver(() => { if (!window.$shown && document.querySelector(".trow")) window.$shown = performance.now(); }).observe(document.body, { childList: true, subtree: true })`)
			p.key("Enter", ctl)
			p.wait(`window.$shown`)
			b.ReportMetric(sent/(1<<10), "KiB-wire")
			b.ReportMetric(ready, "ms-ready")
			b.ReportMetric(eval[float64](p, `$shown - $asked`), "ms-result")
		}
	})
	b.Run("layout", func(b *testing.B) {
		single.statement(b, "MATCH (n:Star) DETACH DELETE n", "")
		single.statement(b, "UNWIND range(1, 2000) AS i CREATE (:Star {id: i})", "")
		single.statement(b, "MATCH (n:Star) WITH collect(n) AS all UNWIND range(0, 5999) AS i WITH all[i % 2000] AS a, all[(i * 7919 + 13) % 2000] AS b CREATE (a)-[:NEAR]->(b)", "")
		for b.Loop() {
			p := visit(b, "")
			p.watchGraph()
			p.js(`const s = $t.find("combobox", "Most rows"); s.value = "10000"; s.dispatchEvent(new Event("change"))`)
			p.ask("MATCH (a:Star)-[r:NEAR]->(b) RETURN a, r, b")
			p.wait(`window.$view && $view.frames`)
			p.js(`window.$from = { at: performance.now(), frames: $view.frames }`)
			p.wait(`$view.settled || performance.now() > $from.at + 3000`)
			require.Equal(b, "2000 6000", p.text("`${$view.scene.vertices.size} ${$view.scene.edges.size}`"))
			b.ReportMetric(eval[float64](p, `($view.frames - $from.frames) / (performance.now() - $from.at) * 1000`), "frames/s")
		}
	})
	b.Run("million rows", func(b *testing.B) {
		for b.Loop() {
			p := visit(b, "")
			before := heap(p)
			p.js(`$t.find("combobox", "Most rows").value = "0"; $t.find("combobox", "Most rows").dispatchEvent(new Event("change"))`)
			start := time.Now()
			p.ask("UNWIND range(1, 1000000) AS i RETURN i, 'name ' + i AS name, i % 7 AS m")
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-rows")
			p.wait(status + `.includes("1,000,000 rows")`)
			b.ReportMetric((heap(p)-before)/(1<<20), "MiB")
		}
	})
}

// heap is what the page holds in memory, in bytes.
func heap(p *page) float64 {
	p.t.Helper()
	p.js(`window.gc?.()`)
	ctx, cancel := p.limited()
	defer cancel()
	h, err := chromedp.Call(ctx, runtime.GetHeapUsage, cdp.Empty{})
	require.NoError(p.t, err)
	return h.UsedSize + h.BackingStorageSize
}
