package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// storeSeries names a metric of a store of the first shard of the default graph.
func storeSeries(name, store string) string {
	return fmt.Sprintf(`hopgate_storage_%s{graph="default",shard="0",store="%s"}`, name, store)
}

// shapeOf is the entry of a shard in `graphctl stats -o json`.
type shapeOf struct {
	Properties []struct{ Label, EdgeType, Property, Count string }
	Shards     []struct {
		SeparatedLiveBytes, SeparatedDeadBytes, ReadAmplification string
		Stores                                                    []struct {
			Name   string
			Levels []struct{ Files, Bytes, ReadAmplification string }
		}
	}
}

func (s *server) shape() (out shapeOf) {
	text := s.graphctl("stats", "-o", "json")
	require.NoError(s.t, json.Unmarshal([]byte(text), &out), text)
	return out
}

// Metrics and stats reflect a write, a flush, a read and the deletion of large values.
func TestStatsMove(t *testing.T) {
	const values, size = 2000, 2 << 10
	s := start(t, filepath.Join(t.TempDir(), "data"), "--value-threshold", "64")
	moved := func(series string, act func()) float64 {
		t.Helper()
		before := s.metric(series)
		require.GreaterOrEqual(t, before, 0.0, series)
		act()
		return s.metric(series) - before
	}
	// Texts that do not compress to much less than they are.
	rng := rand.New(rand.NewPCG(1, 2))
	create := func(from, n int) {
		texts := make([]string, n)
		for i := range texts {
			b := make([]byte, size)
			for k := range b {
				b[k] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[rng.IntN(64)]
			}
			texts[i] = string(b)
		}
		body, err := json.Marshal(map[string]any{
			"statement":  "UNWIND range(0, size($texts) - 1) AS i CREATE (:Doc {id: $from + i, text: $texts[i]})-[:HAS {at: i}]->(:Part)",
			"parameters": map[string]any{"texts": texts, "from": from},
		})
		require.NoError(t, err)
		code, answer := s.http(http.MethodPost, s.addrs.HTTP, "/v1/query", string(body))
		require.Equal(t, 200, code, answer)
	}
	const most = values * size * 7 / 10

	written := moved(storeSeries("commit_bytes_total", "values"), func() {
		for from := 1; from <= values; from += 200 {
			create(from, 200)
		}
	})
	require.Greater(t, written, float64(most))
	require.Positive(t, s.metric(storeSeries("memtable_bytes", "values")))
	require.Zero(t, s.metric(storeSeries("separated_live_bytes", "values")), "all values are in a memtable")
	out := s.graphctl("stats")
	for _, line := range []string{`:Doc +2000`, `\.id +2000`, `\.text +2000`, `\[:HAS\] +2000`, `\.at +2000`} {
		require.Regexp(t, regexp.MustCompile(line), out)
	}

	flushed := moved(storeSeries("flushed_bytes_total", "values"), func() {
		s.graphctl("backup", filepath.Join(t.TempDir(), "backup"))
	})
	require.Greater(t, flushed, float64(most))
	require.Positive(t, s.metric(storeSeries("flushes_total", "graph")))
	live := s.metric(storeSeries("separated_live_bytes", "values"))
	require.Greater(t, live, float64(most))
	require.Greater(t, s.metric(storeSeries("separated_file_bytes", "values")), float64(most))
	require.Greater(t, s.metric(storeSeries("write_amplification", "values")), 1.5, "to the log and to a table")
	shape := s.shape()
	for i, store := range []string{"graph", "values"} {
		files, bytes, reads := 0.0, 0.0, 0.0
		for no := range 7 {
			level := fmt.Sprintf(`hopgate_storage_level_%%s{graph="default",level="%d",shard="0",store="%s"}`, no, store)
			files += s.metric(fmt.Sprintf(level, "tables"))
			bytes += s.metric(fmt.Sprintf(level, "bytes"))
			reads += s.metric(fmt.Sprintf(level, "read_amplification"))
		}
		require.Positive(t, files, store)
		require.Positive(t, bytes, store)
		require.InDelta(t, s.metric(storeSeries("read_amplification", store)), reads, 0, store)
		require.Positive(t, reads, store)
		require.Equal(t, store, shape.Shards[0].Stores[i].Name)
		require.Len(t, shape.Shards[0].Stores[i].Levels, 7)
	}

	read := func() {
		s.graphctl("query", "MATCH (d:Doc)-[:HAS]->(p) WHERE d.id <= 500 RETURN sum(size(d.text)) AS n")
	}
	require.Positive(t, moved("hopgate_topology_cache_misses_total", read))
	require.Positive(t, moved("hopgate_topology_cache_hits_total", read))
	require.Positive(t, moved("hopgate_block_cache_hits_total", read))
	require.Positive(t, s.metric("hopgate_block_cache_misses_total"))
	require.Positive(t, s.metric("hopgate_block_cache_bytes"))
	require.Positive(t, moved(`hopgate_storage_topology_hits_total{graph="default",shard="0"}`, read))
	require.Positive(t, moved(storeSeries("block_read_bytes_total", "values"), read))
	require.Positive(t, moved(storeSeries("block_found_bytes_total", "values"), read))
	for _, line := range []string{`block cache hits +[0-9.]+% of [0-9.]+ \w+`, `topology cache hits +[0-9.]+% of \d+ blocks`} {
		require.Regexp(t, regexp.MustCompile(line), s.graphctl("stats"))
	}

	// A few dead values are not worth a rewrite, so they stay to be seen.
	require.Zero(t, s.metric(storeSeries("separated_dead_bytes", "values")))
	s.graphctl("query", fmt.Sprintf("MATCH (d:Doc) WHERE d.id > %d SET d.text = null", values*9/10))
	require.Regexp(t, regexp.MustCompile(`\.text +1800`), s.graphctl("stats"))
	eventually(t, func() bool {
		return s.metric(storeSeries("separated_dead_bytes", "values")) > size*values/20 && s.metric(storeSeries("separated_live_bytes", "values")) < live*0.95
	}, 20*time.Millisecond)
	s.graphctl("query", fmt.Sprintf("MATCH (d:Doc) WHERE d.id > %d DETACH DELETE d", values/5))
	out = s.graphctl("stats")
	require.Regexp(t, regexp.MustCompile(`:Doc +400\n +\.id +400\n +\.text +400`), out)
	require.NotContains(t, out, "[:HAS]\t2000")
	eventually(t, func() bool {
		now := s.metric(storeSeries("separated_live_bytes", "values"))
		return now < live*0.25 && s.metric(storeSeries("separated_file_bytes", "values")) < 2*now
	}, 20*time.Millisecond)
	require.Positive(t, s.metric(storeSeries("compactions_total", "values")))
	require.Zero(t, s.stop(syscall.SIGTERM), s.log)
}
