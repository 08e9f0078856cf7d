package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/shard/local"
)

func TestBudget(t *testing.T) {
	for text, want := range map[string]loader.Budget{
		"0": {}, "12": {Rows: 12}, "1%": {Share: 0.01}, "0.5%": {Share: 0.005}, "0%": {}, "100%": {Share: 1},
	} {
		got, err := parseBudget(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "x", "101%", "-1%", "%", "1.5"} {
		_, err := parseBudget(text)
		require.Error(t, err, text)
	}
}

// On a terminal, the client shows the proposed mapping and loads the files with it once the user agrees.
func TestLoadOffersMapping(t *testing.T) {
	name := filepath.Join(t.TempDir(), "people.csv")
	require.NoError(t, os.WriteFile(name, []byte("id,name\n1,Ann\n"), 0o600))
	for answer, loads := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "n\n": false, "": false} {
		cmd, shown := &cobra.Command{Use: "load"}, new(strings.Builder)
		cmd.SetIn(strings.NewReader(answer))
		cmd.SetErr(shown)
		cmd.SetContext(t.Context())
		l := &Load{idType: "string", asks: func() bool { return true }}
		plan, err := l.plan(cmd, []string{name})
		require.Contains(t, shown.String(), "label: People", answer)
		require.Contains(t, shown.String(), "[y/N]")
		if !loads {
			require.ErrorContains(t, err, "graphctl load --init")
			continue
		}
		require.NoError(t, err)
		require.NoError(t, plan.Close())
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		require.Equal(t, want, Grouped(n))
	}
}

// A line of progress shows the load before the bar and the current input after it, and omits unknown figures.
func TestProgressLine(t *testing.T) {
	p := loader.Progress{
		Totals: loader.Totals{Rows: 3000, Vertices: 1000, Edges: 1999, Rejects: 1}, Done: 250, Bytes: 1000, Elapsed: 2 * time.Second, Left: 6 * time.Second,
		Inputs: []loader.InputProgress{
			{Path: "a.csv"},
			{Path: "b.csv", Totals: loader.Totals{Rows: 500}, Done: 50, Bytes: 200, Elapsed: time.Second, Left: 3 * time.Second},
		}, Current: 1,
	}
	require.Equal(t, "25%  2s  3,000 rows  1,000 vertices  1,999 edges  1 rejects  1,500 rows/s  6s left  |  b.csv  25%  500 rows/s  3s left", progressLine(&p))
	p.Bytes, p.Left, p.Inputs[1].Bytes, p.Inputs[1].Left = 0, -1, 0, -1
	require.Equal(t, "2s  3,000 rows  1,000 vertices  1,999 edges  1 rejects  1,500 rows/s  |  b.csv  500 rows/s", progressLine(&p))
	require.Equal(t, "0s  0 rows  0 vertices  0 edges  0 rejects  0 rows/s", progressLine(&loader.Progress{Left: -1}))
}

// The metrics of a load are described before it runs, and cover each input afterwards.
func TestLoadRegistry(t *testing.T) {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	file := filepath.Join(t.TempDir(), "p.csv")
	require.NoError(t, os.WriteFile(file, []byte("id:ID(P){id-type:long},:LABEL\n1,P\n2,P\nx,P\n"), 0o666))
	p, err := loader.NewHeaderPlan(t.Context(), loader.HeaderOptions{Paths: []string{file}})
	require.NoError(t, err)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newLoadMetrics(p))
	_, err = r.Gather()
	require.NoError(t, err)
	_, err = p.Run(t.Context(), loader.NewLocal(loader.New(store)), loader.Options{MaxRejects: loader.Budget{Rows: 1}})
	require.NoError(t, err)
	metrics, err := r.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, m := range metrics {
		require.Equal(t, m.GetType().String() == "COUNTER", strings.HasSuffix(m.GetName(), "_total"), m.GetName())
		got[m.GetName()] = m.GetMetric()[0].GetCounter().GetValue() + m.GetMetric()[0].GetGauge().GetValue()
	}
	for name, want := range map[string]float64{"rows_total": 3, "rejects_total": 1, "vertices_total": 2, "edges_total": 0, "flight_bytes": 0, "left_seconds": 0} {
		require.InDelta(t, want, got["hopgate_loader_"+name], 0, name)
	}
	require.Positive(t, got["hopgate_loader_input_bytes"])
	require.InDelta(t, got["hopgate_loader_input_bytes"], got["hopgate_loader_done_bytes_total"], 0)
}
