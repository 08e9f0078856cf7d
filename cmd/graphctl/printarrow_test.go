package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cli"
)

// all is a statement whose rows have every type, with nulls between the values.
const all = `MATCH p = (a:A)-[r:R]->(b) UNWIND range(1, 5000) AS i
	RETURN i, i / 4.0 AS f, 'text ' + i AS s, i % 2 = 0 AS b, CASE i % 3 WHEN 0 THEN i END AS n, [i, i] AS l, {a: i, t: 'x'} AS m, a, r, p,
	  date('2020-01-01') AS d, localtime('10:00:00.000000001') AS lt, time('10:00+01:00') AS ti, localdatetime('2020-01-01T10:00') AS ldt,
	  datetime('2020-01-01T10:00+02:00') AS dt, duration('P1DT2S') AS du, point({x: 1, y: 2}) AS pt, vector([i, 0.5], 2, FLOAT32) AS v, null AS nothing,
	  CASE i % 2 WHEN 0 THEN i ELSE 'odd' END AS mixed, [] AS none`

// Arrow and Parquet hold the rows of a statement, as the server's own Arrow answer would.
func TestArrowOutput(t *testing.T) {
	// Without it, texts come back as texts: arrow-go 18.8 does not find the strings of Parquet below the type.
	json := arrow.GetExtensionType("arrow.json")
	require.NoError(t, arrow.UnregisterExtensionType("arrow.json"))
	defer func() { require.NoError(t, arrow.RegisterExtensionType(json)) }()
	a, _ := serve(t)
	out, errs, code := ctl(a.Address, "", "query", "CREATE (:A {name: 'Ann', born: date('2000-01-02')})-[:R {since: 1}]->(:B)")
	require.Zero(t, code, errs+out)

	out, errs, code = ctl(a.Address, "", "query", "-o", "arrow", all)
	require.Zero(t, code, errs)
	r, err := ipc.NewReader(bytes.NewReader([]byte(out)))
	require.NoError(t, err)
	defer r.Release()
	var want []string
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			want = append(want, line(t, rec, i))
		}
	}
	require.NoError(t, r.Err())
	require.Len(t, want, 5000)
	require.Contains(t, want[0], "Ann")

	out, errs, code = ctl(a.Address, "", "query", "-o", "parquet", all)
	require.Zero(t, code, errs)
	f, err := file.NewParquetReader(bytes.NewReader([]byte(out)))
	require.NoError(t, err)
	defer f.Close()
	reader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	table, err := reader.ReadTable(context.Background())
	require.NoError(t, err)
	defer table.Release()
	tr := array.NewTableReader(table, 0)
	defer tr.Release()
	var have []string
	for tr.Next() {
		for i := range int(tr.RecordBatch().NumRows()) {
			have = append(have, line(t, tr.RecordBatch(), i))
		}
	}
	require.Equal(t, want, have)
}

// line returns a row as text.
func line(t *testing.T, rec arrow.RecordBatch, i int) string {
	text := ""
	for c, col := range rec.Columns() {
		text += rec.ColumnName(c) + "=" + col.ValueStr(i) + " "
	}
	return text
}

// One file holds the rows of one statement.
func TestArrowRefusals(t *testing.T) {
	a, _ := serve(t)
	out, errs, code := ctl(a.Address, "", "query", "-o", "arrow", "CREATE (:A); MATCH (n:A) RETURN n.x; RETURN 2;")
	require.Equal(t, cli.Usage, code)
	require.Contains(t, errs, "--output arrow: holds the rows of one statement, and another one follows")
	r, err := ipc.NewReader(bytes.NewReader([]byte(out)))
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	_, errs, code = ctl(a.Address, "", "query", "-o", "orc", "RETURN 1")
	require.Equal(t, cli.Usage, code)
	require.Contains(t, errs, "must be table, json, ndjson, csv, arrow or parquet")
}
