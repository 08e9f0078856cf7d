package loader

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/text"
	disk "github.com/hopgate/hopgate/internal/shard/local"
)

// hostileMapping loads vertices that occur once each, from CSV and from JSON lines, and edges between those of CSV.
const hostileMapping = `
version: 1
inputs:
  - path: v.csv
    vertices: [{label: V, id: id, action: insert, properties: {id: {type: int}, n: {type: float}, on: {type: date}, name: {}}}]
  - path: w.jsonl
    vertices: [{label: W, id: id, action: insert, properties: {id: {type: int}, n: {type: float}, name: {}}}]
  - path: e.csv
    edges: [{type: E, from: {column: a, idSpace: V}, to: {column: b, idSpace: V}, properties: {w: {type: int}}}]
`

// fault is what is wrong with a row: the code and column that the reject must have. The text of the row follows its number.
type fault struct {
	code, column string
	text         func(h *hostile, n int) string
}

// Quoted texts begin with a letter, so a stray quote is never closed where a field may end.
var (
	hostileCSV = []fault{
		{"", "", func(h *hostile, n int) string { return fmt.Sprintf("%d,1.5,2020-02-29,plain", n) }},
		{"", "", func(h *hostile, n int) string { return fmt.Sprintf("%d,,,\"q, \"\"é\"\" %d\"", n, n) }},
		{"", "", func(h *hostile, n int) string {
			return fmt.Sprintf("%d,-1e3,1969-12-31,\"two\nlines\r\nor three\"\r", n)
		}},
		{"", "", func(h *hostile, n int) string {
			if n%1000 == 0 {
				return fmt.Sprintf("%d,7,,%s", n, strings.Repeat("huge ", 1<<16))
			}
			return fmt.Sprintf("%d,7,,%s", n, strings.Repeat("long ", n%50))
		}},
		{"BadType", "n", func(h *hostile, n int) string { return fmt.Sprintf("%d,1.5x,,y", n) }},
		{"BadType", "on", func(h *hostile, n int) string { return fmt.Sprintf("%d,1,2021-02-29,y", n) }},
		{"BadType", "id", func(h *hostile, n int) string { return fmt.Sprintf("9%d9999999999999999999,1,,y", n) }},
		{"MissingKey", "id", func(h *hostile, n int) string { return ",1,,y" }},
		{"BadQuote", "name", func(h *hostile, n int) string { return fmt.Sprintf("%d,1,,\"open", n) }},
		{"BadQuote", "on", func(h *hostile, n int) string { return fmt.Sprintf("%d,1,\"x\"y,z", n) }},
		{"InvalidUTF8", "name", func(h *hostile, n int) string { return fmt.Sprintf("%d,1,,a\xff\xc3", n) }},
		{"InvalidUTF8", "id", func(h *hostile, n int) string { return fmt.Sprintf("\xed\xa0\x80%d,1,,a", n) }},
		{"ColumnCount", "", func(h *hostile, n int) string { return strconv.Itoa(n) }},
		{"ColumnCount", "", func(h *hostile, n int) string { return fmt.Sprintf("%d,1,,a,", n) }},
		{"DuplicateKey", "id", func(h *hostile, n int) string { return fmt.Sprintf("%d,3,,again", h.key()) }},
	}
	hostileJSON = []fault{
		{"", "", func(h *hostile, n int) string { return fmt.Sprintf(`{"id": %d, "n": 1.5, "name": "a\n\u00e9"}`, n) }},
		{"", "", func(h *hostile, n int) string { return fmt.Sprintf(`{"name": null, "x": [{"id": 0}], "id": %d}`, n) }},
		{"BadType", "n", func(h *hostile, n int) string { return fmt.Sprintf(`{"id": %d, "n": "x"}`, n) }},
		{"BadType", "id", func(h *hostile, n int) string { return fmt.Sprintf(`{"id": %d.5}`, n) }},
		{"MissingKey", "id", func(h *hostile, n int) string { return `{"n": 1}` }},
		{"BadJSON", "", func(h *hostile, n int) string { return fmt.Sprintf(`{"id": %d, "n": 1`, n) }},
		{"BadJSON", "", func(h *hostile, n int) string { return fmt.Sprintf(`[%d]`, n) }},
		{"BadJSON", "", func(h *hostile, n int) string { return strings.Repeat("[", n%5000+1) }},
		{"InvalidUTF8", "name", func(h *hostile, n int) string { return fmt.Sprintf("{\"id\": %d, \"name\": \"\xc0\xaf\"}", n) }},
		{"DuplicateKey", "id", func(h *hostile, n int) string { return fmt.Sprintf(`{"id": %d}`, h.key()) }},
	}
	hostileEdges = []fault{
		{"", "", func(h *hostile, n int) string { return fmt.Sprintf("%d,%d,%d", h.key(), h.key(), n) }},
		{"", "", func(h *hostile, n int) string { return fmt.Sprintf("%d,%d,", h.key(), h.key()) }},
		{"DanglingEdge", "a", func(h *hostile, n int) string { return fmt.Sprintf("%d,-%d,1", h.key(), n+1) }},
		{"DanglingEdge", "a", func(h *hostile, n int) string { return fmt.Sprintf("-%d,%d,1", n+1, h.key()) }},
		{"BadType", "w", func(h *hostile, n int) string { return fmt.Sprintf("%d,%d,0x10", h.key(), h.key()) }},
		{"BadType", "b", func(h *hostile, n int) string { return fmt.Sprintf("%d,k%d,1", h.key(), n) }},
		{"MissingKey", "b", func(h *hostile, n int) string { return fmt.Sprintf("%d,,1", h.key()) }},
		{"ColumnCount", "", func(h *hostile, n int) string { return fmt.Sprintf("%d,%d", h.key(), n) }},
	}
)

// hostile writes files, and knows which lines a load must refuse, and why.
type hostile struct {
	t    *testing.T
	rng  *rand.Rand
	dir  string
	keys []int32           // of existing vertices
	want map[string][]byte // by file and line, from 1: 1 and the position of the fault, or 0
	rows int64
	bad  int64
}

func (h *hostile) key() int32 { return h.keys[h.rng.IntN(len(h.keys))] }

// write writes a file of n rows.
func (h *hostile) write(name, header string, faults []fault, n int) {
	f, err := os.Create(filepath.Join(h.dir, name))
	require.NoError(h.t, err)
	out := bufio.NewWriterSize(f, 1<<20)
	want := []byte{0}
	put := func(text string, mark int) {
		_, err := out.WriteString(text + "\n")
		require.NoError(h.t, err)
		want = append(want, byte(mark))
		for range strings.Count(text, "\n") {
			want = append(want, 0)
		}
	}
	if header != "" {
		put(header, 0)
	}
	for i := range n {
		at := h.rng.IntN(len(faults))
		if i < 100 {
			at = i % 2 // the first two are no faults
		}
		x := &faults[at]
		put(x.text(h, i), at*min(1, len(x.code)))
		if x.code == "" && name != "e.csv" {
			h.keys = append(h.keys, int32(i))
		}
		if x.code != "" {
			h.bad++
		}
	}
	h.rows += int64(n)
	h.want[name] = want
	require.NoError(h.t, out.Flush())
	require.NoError(h.t, f.Close())
}

// Rows with faults of all kinds are refused, each with its line, column and code, and all others are loaded, online and offline:
// 50,000 rows, 15,000 with -short, or HOPGATE_HOSTILE_ROWS.
func TestHostileRows(t *testing.T) {
	rows := 50_000
	if testing.Short() {
		rows = 15_000
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_HOSTILE_ROWS")); err == nil {
		rows = n
	}
	h := &hostile{t: t, rng: rand.New(rand.NewPCG(11, 12)), dir: t.TempDir(), want: map[string][]byte{}}
	h.write("w.jsonl", "", hostileJSON, rows/5)
	h.keys = h.keys[:0]
	h.write("v.csv", "id,n,on,name", hostileCSV, rows*2/5)
	h.write("e.csv", "a,b,w", hostileEdges, rows-rows/5-rows*2/5)

	run := func(name string, load func(t *testing.T, p *Plan, o Options) (*Report, error)) {
		t.Run(name, func(t *testing.T) {
			p, err := (&world{t: t, dir: h.dir}).plan(hostileMapping)
			require.NoError(t, err)
			p.chunk = max(1<<14, min(chunkBytes, rows))
			o := Options{MaxRejects: Budget{Rows: h.bad}, RejectsDir: t.TempDir(), Memory: 64 << 20, Workers: 2}
			rep, err := load(t, p, o)
			require.NoError(t, err)
			h.check(t, rep, o.RejectsDir)
		})
	}
	opts := disk.Options{Logger: slog.New(slog.DiscardHandler), CacheBytes: 32 << 20, TopologyBytes: 32 << 20}
	run("online", func(t *testing.T, p *Plan, o Options) (*Report, error) {
		opts.Dir = t.TempDir()
		store, err := disk.Open(opts)
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		return p.Run(t.Context(), NewLocal(New(store)), o)
	})
	run("offline", func(t *testing.T, p *Plan, o Options) (*Report, error) {
		opts.Dir = t.TempDir()
		f, err := disk.OpenOffline(opts, "default", disk.OfflineOptions{Memory: 64 << 20, Workers: 2})
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		return p.Run(t.Context(), p.NewOffline(New(f.Store()), f), o)
	})
}

// check compares the refused rows with the expected ones.
func (h *hostile) check(t *testing.T, rep *Report, rejects string) {
	require.Equal(t, h.rows, rep.Rows)
	require.Equal(t, h.bad, rep.Rejects)
	require.Equal(t, h.rows-h.bad, rep.Vertices+rep.Edges)
	t.Logf("%d rows, %d refused, %.0f rows/s, at most %d MiB resident", rep.Rows, rep.Rejects, float64(rep.Rows)/rep.Seconds, rep.PeakBytes>>20)
	require.Less(t, rep.PeakBytes, int64(1<<30))

	wanted := map[string][]byte{}
	for name, want := range h.want {
		wanted[name] = slices.Clone(want)
	}
	faults := map[string][]fault{"v.csv": hostileCSV, "w.jsonl": hostileJSON, "e.csv": hostileEdges}
	f, err := os.Open(filepath.Join(rejects, text.RejectsName))
	require.NoError(t, err)
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var r Reject
		err := d.Decode(&r)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		want := wanted[r.File]
		require.Less(t, r.Line, int64(len(want)), "%+v", r)
		mark := want[r.Line]
		require.NotZero(t, mark, "not to be refused, or twice: %+v", r)
		x := faults[r.File][mark]
		if x.code != r.Code || x.column != r.Column {
			t.Fatalf("want %s in %q: %+v", x.code, x.column, r)
		}
		want[r.Line] = 0
	}
	for name, want := range wanted {
		for line, mark := range want {
			if mark != 0 {
				t.Fatalf("%s:%d is not refused", name, line)
			}
		}
	}
}
