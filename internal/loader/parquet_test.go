package loader

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

type parquetRow struct {
	ID     int64     `parquet:"id"`
	Name   string    `parquet:"name,optional"`
	Score  float64   `parquet:"score"`
	Good   bool      `parquet:"good"`
	Tags   []string  `parquet:"tags,list"`
	Born   time.Time `parquet:"born,timestamp(microsecond)"`
	Born32 int32     `parquet:"day,date"`
	Home   struct {
		City string `parquet:"city"`
	} `parquet:"home"`
}

func writeParquet[T any](t *testing.T, w *world, name string, rows []T) {
	require.NoError(t, parquet.WriteFile(filepath.Join(w.dir, name), rows))
}

// Parquet and the equivalent JSON lines load the same graph, also from an offset.
func TestParquet(t *testing.T) {
	w := newWorld(t)
	var rows []parquetRow
	lines := ""
	for i := range 1000 {
		r := parquetRow{
			ID: int64(i), Name: []string{"", "a\"b\\\n\u00e9"}[i%2], Score: []float64{1, 0.5, math.NaN()}[i%3], Good: i%2 == 0,
			Born: time.UnixMicro(int64(i) * 1e9).UTC(), Born32: int32(i),
		}
		r.Home.City = fmt.Sprint("c", i%7)
		for k := range i % 4 {
			r.Tags = append(r.Tags, fmt.Sprint("t", k))
		}
		rows = append(rows, r)
		score := []string{"1.0", "0.5", `"NaN"`}[i%3]
		name := []string{"null", `"a\"b\\\n\u00e9"`}[i%2]
		tags := []string{`[]`, `["t0"]`, `["t0","t1"]`, `["t0","t1","t2"]`}[i%4]
		lines += fmt.Sprintf(`{"id":%d,"name":%s,"score":%s,"good":%v,"tags":%s,"home.city":"c%d","day":%q,"born":%q}`+"\n",
			i, name, score, i%2 == 0, tags, i%7, time.Unix(int64(i)*86400, 0).UTC().Format(time.DateOnly), r.Born.Format(time.RFC3339Nano))
	}
	writeParquet(t, w, "people.parquet", rows)
	w.file("people.jsonl", lines)
	text := `
version: 1
inputs:
  - path: people.%s
    vertices:
      - label: Person
        id: id
        properties: {id: {type: int}, name: {}, score: {type: float}, good: {type: boolean}, tags: {type: "string[]"}, home.city: {}, day: {type: date}, born: {type: datetime}}
`
	p, err := w.plan(fmt.Sprintf(text, "parquet"))
	require.NoError(t, err)
	p.chunk = 5000
	rep, err := p.Run(t.Context(), NewLocal(w.l), Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1000, rep.Vertices)
	got := w.state()

	other := newWorld(t)
	other.file("people.jsonl", lines)
	_, err = other.load(fmt.Sprintf(text, "jsonl"), Options{})
	require.NoError(t, err)
	require.Equal(t, other.state(), got)

	in := p.inputs[0]
	all, err := in.Peek(t.Context())
	require.NoError(t, err)
	from, err := in.Open(t.Context(), 1234)
	require.NoError(t, err)
	rest := make([]byte, len(all)-1234)
	_, err = from.Read(rest)
	require.NoError(t, err)
	require.Equal(t, all[1234:1300], rest[:66])
	require.NoError(t, from.Close())
}

// Nested lists are loaded unchanged. Refused rows are kept as JSON lines that the same mapping reads.
func TestParquetRejects(t *testing.T) {
	w := newWorld(t)
	type row struct {
		ID int64  `parquet:"id"`
		N  string `parquet:"n"`
	}
	writeParquet(t, w, "a.parquet", []row{{1, "1"}, {2, "x"}, {3, "3"}})
	text := `
version: 1
inputs:
  - path: a.parquet
    vertices: [{label: A, id: id, properties: {id: {type: int}, n: {type: int}}}]
`
	dir := t.TempDir()
	rep, err := w.load(text, Options{RejectsDir: dir, MaxRejects: Budget{Rows: 9}})
	require.NoError(t, err)
	require.EqualValues(t, 1, rep.Rejects)
	kept, err := os.ReadFile(filepath.Join(dir, "a.parquet"))
	require.NoError(t, err)
	require.Equal(t, `{"id":2,"n":"x"}`+"\n", string(kept))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "a.parquet"), []byte(`{"id":2,"n":"7"}`+"\n"), 0o666))
	rep, err = w.load(text, Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1, rep.Vertices)
	w.file("a.parquet", "id,n\n1,2\n")
	_, err = w.load(text, Options{})
	require.ErrorContains(t, err, "not a Parquet file")
}
