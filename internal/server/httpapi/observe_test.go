package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// A panic is counted once and is a 500 with a code, or, after the first byte, an answer that breaks off.
func TestPanic(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := New(&request.Host{Engine: query.New(newOracle(t), query.Options{}), Registry: registry, Log: slog.New(slog.DiscardHandler)}, Options{})
	early := h.observe("r", func(http.ResponseWriter, *http.Request) { panic("early") }, wire.Fail)
	w := httptest.NewRecorder()
	early.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `"code":"Neo.DatabaseError.General.UnknownError"`)
	late := h.observe("r", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("late")
	}, wire.Fail)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		late.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	})
	fetch := h.observe("f", func(http.ResponseWriter, *http.Request) { panic("early") }, failFetch)
	w = httptest.NewRecorder()
	fetch.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `"code":500`)
	metrics, err := registry.Gather()
	require.NoError(t, err)
	for _, m := range metrics {
		if m.GetName() == "hopgate_panics_total" {
			require.InDelta(t, 3, m.GetMetric()[0].GetCounter().GetValue(), 0)
			return
		}
	}
	t.Fatal("panics are not counted")
}

// deadlines records the write deadlines of an answer.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// An answer that shares its connection with others has a deadline for each piece, as a connection has.
func TestStreamedAnswer(t *testing.T) {
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	w := &statusWriter{ResponseWriter: d, streamed: true}
	n, err := w.Write(make([]byte, 3*request.WritePiece-1))
	require.NoError(t, err)
	require.Equal(t, 3*request.WritePiece-1, n)
	require.Equal(t, n, d.Body.Len())
	require.Len(t, d.set, 3)
	require.WithinDuration(t, time.Now().Add(request.WriteTime), d.set[2], request.WriteTime/2)
}
