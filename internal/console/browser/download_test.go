package browser_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
)

// keep takes what the page offers to keep: $kept holds its files by the ends of their names, as base64.
const keep = `window.$kept = {}; window.$blobs = new Map();
	URL.createObjectURL = (b) => { const u = "blob:kept" + $blobs.size; $blobs.set(u, b); return u; };
	HTMLAnchorElement.prototype.click = function () {
		const r = new FileReader();
		r.onload = () => { $kept[this.download.split(".").at(-1)] = r.result.split(",")[1]; };
		r.readAsDataURL($blobs.get(this.href));
	}`

func (p *page) kept(ending string) string {
	p.t.Helper()
	p.wait(`"` + ending + `" in $kept`)
	data, err := base64.StdEncoding.DecodeString(p.text(`$kept["` + ending + `"]`))
	require.NoError(p.t, err)
	return string(data)
}

// Rows are copied, and kept as CSV, JSON and Arrow, in the order in which they are shown.
func TestDownloads(t *testing.T) {
	p := visit(t, "")
	p.js(keep)
	p.js(`navigator.clipboard.writeText = async (text) => { window.$copied = text; }`)
	p.ask("UNWIND [1, 9007199254740993, 2] AS i RETURN i, 'say \"' + i + '\", ü' AS text, null AS none")
	p.wait(cells + `.includes("9007199254740993")`)
	p.click("button", "i")
	p.click("button", "i")
	p.wait(cells + `.startsWith("9007199254740993|")`)
	p.click("button", "Download the rows as CSV")
	require.Equal(t, "i,text,none\r\n9007199254740993,\"say \"\"9007199254740993\"\", ü\",\r\n2,\"say \"\"2\"\", ü\",\r\n1,\"say \"\"1\"\", ü\",\r\n", p.kept("csv"))
	p.click("button", "Download the rows as JSON")
	require.JSONEq(t, `[{"i": 9007199254740993, "text": "say \"9007199254740993\", ü", "none": null}, {"i": 2, "text": "say \"2\", ü", "none": null}, {"i": 1, "text": "say \"1\", ü", "none": null}]`, p.kept("json"))
	require.Contains(t, p.kept("json"), "9007199254740993,")
	p.click("button", "Copy the rows")
	p.wait(`window.$copied`)
	require.Equal(t, "i\ttext\tnone\r\n9007199254740993\t\"say \"\"9007199254740993\"\", ü\"\t\r\n2\t\"say \"\"2\"\", ü\"\t\r\n1\t\"say \"\"1\"\", ü\"\t\r\n", p.text(`$copied`))

	p.click("button", "Run the statement again, and download the rows as a Parquet file")
	file := p.kept("parquet")
	require.Equal(t, "PAR1PAR1", file[:4]+file[len(file)-4:])
	p.click("button", "Run the statement again, and download the rows as an Arrow stream")
	r, err := ipc.NewReader(bytes.NewReader([]byte(p.kept("arrows"))))
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	require.Equal(t, "text", r.Schema().Field(1).Name)
	require.Equal(t, []int64{1, 9007199254740993, 2}, r.RecordBatch().Column(0).(*array.Int64).Int64Values())

	p.focus("grid", "Rows of the result")
	p.js(`window.$copied = ""`)
	p.key("End", ctl)
	p.key("ArrowLeft", 0)
	p.key("c", ctl)
	p.wait(`$copied === 'say "1", ü'`)

	// A statement that writes does not run again for a download.
	p.ask("CREATE (n:Written) RETURN 1 AS one")
	p.wait(cells + ` === "1"`)
	require.Equal(t, "null", p.text(`$t.find("button", "Run the statement again, and download")`))
}
