package trusted

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/shard"
)

// leader is an engine over a store that counts what it is asked, and may not answer.
type leader struct {
	store         shard.Store
	asked, plans  int
	down, nothing bool
}

func (l *leader) Name(name string) string { return name }

func (l *leader) Graphs() []string {
	l.asked++
	if l.nothing {
		return nil
	}
	return l.store.Graphs()
}

func (l *leader) Graph(_ context.Context, name string) (shard.Graph, error) {
	l.asked++
	if l.down {
		return nil, errors.New("no answer")
	}
	return l.store.Graph(name)
}

func (l *leader) Plan(_ context.Context, _ shard.Graph, o *operation.Operation) (p Plan, err error) {
	l.plans++
	if o.Statement == "bad" {
		p.Unknown = "there is no such label"
	}
	return p, nil
}

func (l *leader) Exclusive(context.Context) bool { return false }

// Metrics ask the store once a survey and plan once a change, and lose nothing while the store does not answer.
func TestHealth(t *testing.T) {
	l := &leader{store: oracle.New(1)}
	require.NoError(t, l.store.CreateGraph(t.Context(), "g"))
	g, err := l.store.Graph("g")
	require.NoError(t, err)
	m := NewManager(l)
	put := func(name, statement string) {
		c, err := operation.Put(g.Definitions(), []*operation.Operation{{Name: name, Statement: statement}})
		require.NoError(t, err)
		require.NoError(t, g.Define(t.Context(), c))
	}
	scrape := func(asked, plans int) (broken map[string]int, called int) {
		t.Helper()
		l.asked, l.plans = 0, 0
		called, broken = len(m.Called()), m.Broken()
		require.Equal(t, asked, l.asked)
		require.Equal(t, plans, l.plans)
		return broken, called
	}
	again := func() { m.health.surveyed = time.Now().Add(-surveyEvery) }

	put("good", "good")
	put("bad", "bad")
	m.Observe("g", "good", time.Millisecond, nil)
	m.Observe("gone", "good", time.Millisecond, nil)
	broken, called := scrape(2, 2)
	require.Equal(t, map[string]int{"g": 1}, broken)
	require.Equal(t, 1, called)
	broken, called = scrape(0, 0)
	require.Equal(t, map[string]int{"g": 1}, broken)
	require.Equal(t, 1, called)
	again()
	scrape(2, 0)

	// A change is seen at once, without a question.
	put("bad", "better")
	broken, _ = scrape(0, 2)
	require.Equal(t, map[string]int{"g": 0}, broken)
	require.NoError(t, g.CreateIndex(t.Context(), graph.Index{Name: "i", Label: "L", Props: []string{"p"}, Indexed: true}))
	scrape(0, 2)

	// A graph that is newer than the survey has its calls counted.
	m.Observe("new", "good", time.Millisecond, nil)
	_, called = scrape(0, 0)
	require.Equal(t, 2, called)
	for _, fault := range []*bool{&l.nothing, &l.down} {
		*fault = true
		again()
		l.asked = 0
		require.Len(t, m.Called(), 2)
		require.Equal(t, map[string]int{"g": 0}, m.Broken())
		require.Positive(t, l.asked)
		*fault = false
	}
	again()
	_, called = scrape(2, 0)
	require.Equal(t, 1, called)
	require.NoError(t, g.Define(t.Context(), operation.Get(g.Definitions(), "good").Drop()))
	_, called = scrape(0, 1)
	require.Zero(t, called)
}
