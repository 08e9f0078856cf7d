package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// A Parquet file has the columns of an Arrow stream, a row group for each record batch, and no other compression.
func TestParquet(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	const rows = 40_000
	text := "UNWIND range(1, 40000) AS i RETURN i, 'name ' + i AS name, CASE i % 2 WHEN 0 THEN [i, null] END AS list, {i: i} AS map, date('2000-02-03') AS day"
	res := ask(h, "/v1/query", mediaParquet, statement(text))
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, mediaParquet, res.Header.Get("Content-Type"))
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	f, err := file.NewParquetReader(bytes.NewReader(data))
	require.NoError(t, err)
	require.Greater(t, f.NumRowGroups(), 1)
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	table, err := r.ReadTable(context.Background())
	require.NoError(t, err)
	defer table.Release()
	require.EqualValues(t, rows, table.NumRows())
	stream, all := arrowRows(t, ask(h, "/v1/query", mediaArrow, statement(text)).Body)
	require.Len(t, all, rows)
	for c, name := range stream {
		require.Equal(t, name, table.Schema().Field(c).Name)
		at := 0
		for _, chunk := range table.Column(c).Data().Chunks() {
			for i := range chunk.Len() {
				if at%1000 < 2 {
					require.Equal(t, all[at][c], cell(t, chunk.GetOneForMarshal(i)), "%s, row %d", name, at)
				}
				at++
			}
		}
		require.Equal(t, rows, at)
	}

	require.Equal(t, http.StatusBadRequest, ask(h, "/v1/query", mediaParquet, statement("RETURN 1 / 0")).StatusCode)
	req := newRequest(http.MethodPost, "/v1/query", `{"statement": "UNWIND range(1, 9999) AS i RETURN 'aaaaaaaaaaaaaaaaaaaaaaa'"}`)
	req.Header.Set("Accept", mediaParquet)
	req.Header.Set("Accept-Encoding", "zstd")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	require.Empty(t, w.Header().Get("Content-Encoding"))

	res = ask(h, "/v1/query", "application/json", statement("CREATE (:User {id: 1}), (:User {id: 2})"))
	require.Equal(t, http.StatusOK, res.StatusCode)
	ask(h, "/v1/query", "application/json", statement("CREATE CONSTRAINT FOR (u:User) REQUIRE u.id IS UNIQUE"))
	res = ask(h, "/get", mediaParquet, map[string]any{"User[]": map[string]any{"User": map[string]any{}}})
	data, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	f, err = file.NewParquetReader(bytes.NewReader(data))
	require.NoError(t, err)
	require.EqualValues(t, 2, f.NumRows())
}
