package graphdb

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/admission"
	"github.com/hopgate/hopgate/internal/server/boltapi"
	"github.com/hopgate/hopgate/internal/server/request"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // before a server of the tests reads it; see Open
	os.Exit(m.Run())
}

// serve serves an empty graph of two shards over Bolt. run runs a statement in it.
func serve(t *testing.T) (s *Source, run func(statement string)) {
	store := oracle.New(2)
	require.NoError(t, store.CreateGraph(t.Context(), query.DefaultGraph))
	e := query.New(store, query.Options{Admission: admission.Limits{Running: 2, Queue: 10}, QueryBytes: 1 << 20})
	registry, logger := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	server := boltapi.New(&request.Host{Engine: e, Registry: registry, Monitor: request.NewMonitor(registry, e.Watch(), logger), Log: logger}, boltapi.Options{})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server.Listen(l)
	done := make(chan error, 1)
	go func() { done <- server.Serve() }()
	s, err = Open(t.Context(), Options{URL: "bolt://" + l.Addr().String()})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		require.NoError(t, s.Close(ctx))
		cancel()
		server.Drain(ctx)
		require.NoError(t, <-done)
	})
	writer := *s
	writer.session.AccessMode = 0
	return s, func(statement string) {
		_, err := writer.all(t.Context(), statement)
		require.NoError(t, err)
	}
}

// rest reads all rows from a cursor on.
func rest(t *testing.T, s *Source, edges bool, from loader.Cursor) (out []Row) {
	rows := s.Rows(t.Context(), edges, true, from)
	defer func() { require.NoError(t, rows.Close()) }()
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			_, err = rows.Next()
			require.ErrorIs(t, err, io.EOF)
			return out
		}
		require.NoError(t, err)
		out = append(out, *row)
	}
}

// Rows come in the order of ids, and from any cursor on, whatever the sizes of pages and windows; so do chunks.
func TestRows(t *testing.T) {
	s, run := serve(t)
	run("UNWIND range(1, 20) AS i CREATE (:V {i: i})")
	run("MATCH (a:V), (b:V) WHERE b.i <= a.i % 4 CREATE (a)-[:E {i: a.i}]->(b), (a)-[:E {i: a.i}]->(b)")
	run("MATCH (a:V {i: 3}), (b:V) CREATE (a)-[:HUB]->(b)")
	names, err := s.Keys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"i"}, names.Vertex)
	for _, edges := range []bool{false, true} {
		all := rest(t, s, edges, loader.Cursor{})
		require.Len(t, all, map[bool]int{false: 20, true: 2*(1+2+3)*5 + 20}[edges])
		for i, row := range all {
			if i > 0 {
				before := &all[i-1]
				require.True(t, before.ID < row.ID || before.ID == row.ID && before.Edge < row.Edge)
			}
			if edges {
				require.Equal(t, [2][]string{{"V"}, {"V"}}, row.Ends)
			}
		}
		for _, size := range []int{1, 2, 7} {
			s.pageIDs, s.windowIDs = size*3, size
			for i, row := range all {
				after := loader.Cursor{Vertex: row.ID + 1}
				if edges {
					after = loader.Cursor{Vertex: row.ID, Edge: row.Edge + 1}
				}
				require.Equal(t, len(all)-i-1, len(rest(t, s, edges, after)))
			}
		}
		at, lines := loader.Cursor{Line: 1}, 0
		for n := 0; ; n++ {
			c, err := s.Read(t.Context(), edges, at, 200, 1<<20)
			require.NoError(t, err)
			chunk, err := c.Next()
			require.NoError(t, c.Close())
			if errors.Is(err, io.EOF) {
				require.Greater(t, n, 3)
				break
			}
			require.NoError(t, err)
			lines += strings.Count(string(chunk.Data), "\n")
			at = loader.Cursor{Vertex: chunk.EndOffset, Edge: chunk.EndPart, Line: chunk.EndLine}
			require.Equal(t, int64(lines+1), at.Line)
		}
		require.Len(t, all, lines)
	}

	// A line that is too long is a chunk of its own.
	c, err := s.Read(t.Context(), false, loader.Cursor{Line: 1}, 1<<20, 10)
	require.NoError(t, err)
	chunk, err := c.Next()
	require.NoError(t, err)
	require.True(t, chunk.Long && chunk.Last && strings.Count(string(chunk.Data), "\n") == 1)
	require.NoError(t, c.Close())

	// Counts by kind, and a property that is new.
	kinds, err := s.Kinds(t.Context(), true)
	require.NoError(t, err)
	require.Len(t, kinds, 2)
	run("MATCH (n:V {i: 9}) SET n.later = 1")
	rows := s.Rows(t.Context(), false, false, loader.Cursor{})
	for err == nil {
		_, err = rows.Next()
	}
	require.ErrorContains(t, err, "has a property later, which no element had when the load began")
	require.NoError(t, rows.Close())
}
