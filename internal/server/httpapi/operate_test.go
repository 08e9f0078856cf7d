package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
)

// A running statement is listed and can be ended; a client that prefers errors as lines receives status 200 and an error line.
func TestKillQuery(t *testing.T) {
	h := newHTTP(newOracle(t), query.Options{}, Options{})
	ended := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		r := newRequest(http.MethodPost, "/v1/query", `{"statement": "UNWIND range(1, 1000000000) AS a UNWIND range(1, 1000) AS b WITH a, b WHERE a + b < 0 RETURN a"}`)
		r.Header.Set("Accept", mediaLines)
		r.Header.Set("Prefer", "error-lines")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		ended <- w
	}()
	var list struct {
		Queries []struct {
			ID        json.Number
			Statement string
		}
	}
	for len(list.Queries) == 0 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, newRequest(http.MethodGet, "/v1/queries", ""))
		require.Equal(t, http.StatusOK, w.Code)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list))
	}
	require.True(t, strings.HasPrefix(list.Queries[0].Statement, "UNWIND"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newRequest(http.MethodDelete, "/v1/queries/"+list.Queries[0].ID.String(), ""))
	require.Equal(t, http.StatusNoContent, w.Code)
	answer := <-ended
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, mediaLines, answer.Header().Get("Content-Type"))
	require.Contains(t, answer.Body.String(), "Neo.ClientError.Transaction.Terminated")
}
