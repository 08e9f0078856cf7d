package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// ask asks h for a form of an answer.
func ask(h http.Handler, path, accept string, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	r := newRequest(http.MethodPost, path, string(text))
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func statement(text string) map[string]any { return map[string]any{"statement": text} }

// arrowRows reads an Arrow answer as the JSON values of its rows; it parses a column of JSON text.
func arrowRows(t *testing.T, body io.Reader) (fields []string, rows [][]any) {
	r, err := ipc.NewReader(body)
	require.NoError(t, err)
	defer r.Release()
	for _, f := range r.Schema().Fields() {
		fields = append(fields, f.Name)
	}
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			row := []any{}
			for _, c := range rec.Columns() {
				row = append(row, cell(t, c.GetOneForMarshal(i)))
			}
			rows = append(rows, row)
		}
	}
	require.NoError(t, r.Err())
	return fields, rows
}

func cell(t *testing.T, v any) any {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var out any
	require.NoError(t, json.Unmarshal(text, &out))
	return unpacked(t, out)
}

// unpacked replaces the properties of vertices and edges, which are JSON text.
func unpacked(t *testing.T, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = unpacked(t, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = unpacked(t, v[k])
		}
		if text, ok := v["properties"].(string); ok && v["elementId"] != nil {
			var properties any
			require.NoError(t, json.Unmarshal([]byte(text), &properties))
			v["properties"] = properties
		}
	}
	return v
}

func jsonRows(t *testing.T, res *http.Response) (fields []string, rows [][]any) {
	var answer struct {
		Data struct {
			Fields []string
			Values [][]any
		}
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&answer))
	return answer.Data.Fields, answer.Data.Values
}

// An Arrow answer has the fields and the rows of the JSON answer.
func TestArrowIsJSON(t *testing.T) {
	h := newHTTP(newLocal(t), query.Options{}, Options{})
	res := ask(h, "/v1/query", "application/json", statement(
		`UNWIND range(1, 3000) AS i CREATE (p:Person {id: i, name: 'p' + i, half: i / 2.0})
		 FOREACH (x IN CASE i % 3 WHEN 0 THEN [i] ELSE [] END | SET p.email = 'a@b')
		 WITH collect(p) AS ps UNWIND range(1, 2999) AS i WITH ps[i - 1] AS a, ps[i] AS b, i CREATE (a)-[:KNOWS {since: i}]->(b)`))
	require.Equal(t, http.StatusOK, res.StatusCode)
	cells := []string{
		"i", "toFloat(i) / 3", "'x' + i", "i % 2 = 0", "[i, i + 1]", "{a: i, b: {c: 'x'}}", "[x IN range(0, i % 3) | {n: x}]", "null",
		"CASE WHEN i % 2 = 0 THEN i END", "date('2020-01-01') + duration({days: i})", "p", "[p, null]", "r", "[(p)-[k:KNOWS]->(q) | k.since]", "p.email",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		text := "MATCH (p:Person) OPTIONAL MATCH (p)-[r:KNOWS]->(q) WITH p, r, q, p.id AS i ORDER BY i RETURN"
		for c := range 1 + r.IntN(5) {
			text += fmt.Sprintf("%s %s AS c%d", strings.Repeat(",", min(c, 1)), cells[r.IntN(len(cells))], c)
		}
		text += fmt.Sprintf(" LIMIT %d", []int{0, 1, 100, 3000}[r.IntN(4)])
		fields, want := jsonRows(t, ask(h, "/v1/query", "application/json", statement(text)))
		res := ask(h, "/v1/query", mediaArrow, statement(text))
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, mediaArrow, res.Header.Get("Content-Type"))
		names, rows := arrowRows(t, res.Body)
		require.Equal(t, fields, names)
		if len(want)+len(rows) > 0 {
			require.Equal(t, want, rows, text)
		}
	}
	body := map[string]any{"from": map[string]any{"label": "Person", "property": "id", "value": 7}, "hops": "1..3", "return": "vertices"}
	_, want := jsonRows(t, ask(h, "/v1/traverse", "application/json", body))
	_, rows := arrowRows(t, ask(h, "/v1/traverse", mediaArrow, body).Body)
	require.Len(t, rows, 3)
	require.Equal(t, want, rows)
}

// The summary at the end of JSON answers is in a trailer, in ASCII.
func TestArrowSummary(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	res := ask(h, "/v1/query", mediaArrow, statement("CREATE (:A {n: 1})"))
	fields, rows := arrowRows(t, res.Body)
	require.Empty(t, fields)
	require.Empty(t, rows)
	require.Contains(t, res.Trailer.Get(summaryTrailer), `"nodesCreated":1`)

	res = ask(h, "/v1/query", mediaArrow, map[string]any{"statement": "UNWIND range(1, 9) AS `täg💡` RETURN `täg💡`, EXISTS { (:`Ü💡`) } AS e", "maxRows": 4})
	fields, rows = arrowRows(t, res.Body)
	require.Equal(t, []string{"täg💡", "e"}, fields)
	require.Len(t, rows, 4)
	text := res.Trailer.Get(summaryTrailer)
	var summary struct {
		Truncated     bool
		Notifications []struct{ Description string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &summary))
	require.True(t, summary.Truncated)
	require.Contains(t, summary.Notifications[0].Description, "Ü💡")
	require.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return r > '~' }))
}

// An error before the first record batch is JSON with its status.
func TestArrowError(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	for text, status := range map[string]int{"RETURN x": 400, "UNWIND [1, 0] AS x RETURN 1 / x": 400} {
		res := ask(h, "/v1/query", mediaArrow, statement(text))
		require.Equal(t, status, res.StatusCode)
		require.Equal(t, "application/json", res.Header.Get("Content-Type"))
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), `{"errors":[{"code":`)
	}
	// The memory of the columns counts towards the statement.
	h = newHTTP(newOracle(t), query.Options{QueryBytes: 1 << 20}, Options{})
	res := ask(h, "/v1/query", mediaArrow, statement("UNWIND range(1, 10000) AS i RETURN i, i AS j, i AS k, i AS l, i AS m, i AS n"))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
}

// An error after it breaks the answer off, so that no client takes half an answer for a whole one.
func TestArrowBreaksOff(t *testing.T) {
	s := httptest.NewServer(newHTTP(newOracle(t), query.Options{}, Options{}))
	defer s.Close()
	for _, text := range []string{
		"UNWIND range(1, 100000) AS i RETURN CASE i WHEN 90000 THEN 1 / 0 ELSE i END AS x",
		"UNWIND range(1, 100000) AS i RETURN CASE i WHEN 90000 THEN 'odd' ELSE i END AS x",
	} {
		body, err := json.Marshal(statement(text))
		require.NoError(t, err)
		r, err := http.NewRequest(http.MethodPost, s.URL+"/v1/query", bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Accept", mediaArrow)
		r.Header.Set("Accept-Encoding", "gzip") // which is not worth its time here
		res, err := s.Client().Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Empty(t, res.Header.Get("Content-Encoding"))
		stream, err := ipc.NewReader(res.Body)
		require.NoError(t, err)
		rows := int64(0)
		for stream.Next() {
			rows += stream.RecordBatch().NumRows()
		}
		require.ErrorIs(t, stream.Err(), io.ErrUnexpectedEOF)
		require.Less(t, rows, int64(90000))
		require.Positive(t, rows)
		stream.Release()
		require.NoError(t, res.Body.Close())
	}
}

// A fetch of one array is a table; members of objects inside of the items are columns of their own.
func TestArrowFetch(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	res := ask(h, "/v1/query", "application/json", statement(
		"CREATE (a:User {id: 1, name: 'Ann', tags: ['x']})-[:KNOWS]->(:User {id: 2, age: 7}), (:Moment {id: 10, userId: 1}), (:Moment {id: 11, userId: 2})"))
	require.Equal(t, http.StatusOK, res.StatusCode)
	for _, label := range []string{"User", "Moment"} {
		ask(h, "/v1/query", "application/json", statement("CREATE CONSTRAINT FOR (u:"+label+") REQUIRE u.id IS UNIQUE"))
	}
	object := func(text string) (m map[string]any) {
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		return m
	}
	res = ask(h, "/get", mediaArrow, object(`{"User[]": {"User": {"@order": "id+"}}}`))
	require.Equal(t, mediaArrow, res.Header.Get("Content-Type"))
	fields, rows := arrowRows(t, res.Body)
	require.ElementsMatch(t, []string{"id", "name", "tags", "age"}, fields)
	have := make([]map[string]any, len(rows))
	for i, row := range rows {
		have[i] = map[string]any{}
		for k, name := range fields {
			have[i][name] = row[k]
		}
	}
	require.Equal(t, []map[string]any{
		{"id": 1.0, "name": "Ann", "tags": []any{"x"}, "age": nil}, {"id": 2.0, "name": nil, "tags": nil, "age": 7.0},
	}, have)

	fields, rows = arrowRows(t, ask(h, "/get", mediaArrow, object(`{"[]": {"Moment": {"@order": "id+"}, "User": {"id@": "/Moment/userId", "@column": "id"}}}`)).Body)
	require.Equal(t, []string{"Moment.id", "Moment.userId", "User.id"}, fields)
	require.Equal(t, [][]any{{10.0, 1.0, 1.0}, {11.0, 2.0, 2.0}}, rows)

	fields, rows = arrowRows(t, ask(h, "/get/User[]", mediaArrow, object(`{"User": {"id": 77}}`)).Body)
	require.Empty(t, fields)
	require.Empty(t, rows)

	for body, status := range map[string]int{`{"User": {"id": 1}}`: http.StatusNotAcceptable, `{"User[]": {"User": {"nope{}": 1}}}`: http.StatusNotAcceptable} {
		res := ask(h, "/get", mediaArrow, object(body))
		require.Equal(t, status, res.StatusCode)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), `"ok":false`)
	}
	res = ask(h, "/head", mediaArrow, object(`{"User": {}}`))
	require.Equal(t, mediaFetch, res.Header.Get("Content-Type"))
}

// The items of a fetch as Arrow are buffered until the last, within the memory of a query.
func TestArrowFetchMemory(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{QueryBytes: 1 << 20}, Options{})
	for i := range 10 {
		res := ask(h, "/v1/query", "application/json", statement(fmt.Sprintf(
			"UNWIND range(1, 40) AS i CREATE (u:User {id: i + %d, text: reduce(s = 'x', k IN range(1, 12) | s + s)})", 40*i)))
		require.Equal(t, http.StatusOK, res.StatusCode)
	}
	fetch := func(count int) *http.Response {
		return ask(h, "/get", mediaArrow, map[string]any{"User[]": map[string]any{"count": count, "User": map[string]any{}}})
	}
	res := fetch(400)
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "query-memory")
	require.Contains(t, string(text), `"ok":false`)
	_, rows := arrowRows(t, fetch(100).Body)
	require.Len(t, rows, 100)
}
