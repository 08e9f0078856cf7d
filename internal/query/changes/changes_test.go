package changes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/query/changes"
)

func TestSmoke(t *testing.T) {
	g := newGraph(t)
	g.log.commit([]changelog.Origin{{User: "alice", Protocol: "bolt"}},
		changelog.Change{Op: changelog.Created, Vertex: 5, After: changelog.State{Labels: g.labels("A", "B"), Props: g.props("x", 1, "y", "z")}},
		changelog.Change{Op: changelog.Changed, Vertex: 6, Before: changelog.State{Labels: g.labels("A"), Props: g.props("x", 1)}, After: changelog.State{Labels: g.labels("A", "B"), Props: g.props("x", 2)}})
	s, err := changes.Open(t.Context(), g, changes.Request{Graph: "default", From: "earliest"})
	require.NoError(t, err)
	es, err := s.Next(t.Context(), 0, 0)
	require.NoError(t, err)
	for _, e := range es {
		t.Log(string(e.AppendJSON(nil)))
		t.Log(e.Value())
	}
	require.Len(t, es, 2)
}
