package tck

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/plan"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
)

// TestCountsOfPatterns counts random trees and rings of edges that may be the same as each other, over graphs with self-loops
// and parallel edges, with and without the rules that count by multiplicities.
func TestCountsOfPatterns(t *testing.T) {
	summed, counted := 0, 0
	paired := map[string]int{}
	for seed := range uint64(60) {
		g := &patternGenerator{r: rand.New(rand.NewPCG(seed, 23))}
		g.makeGraph()
		pushed, plain := newEngine(setting{shards: 1 + int(seed%2)}, nil), newEngine(setting{shards: 1, disable: rules}, nil)
		for _, e := range []*engine{pushed, plain} {
			_, err := e.run(g.graph.create(), nil)
			require.NoError(t, err)
		}
		for range 20 {
			text := g.tree()
			want, err := plain.run(text, nil)
			require.NoError(t, err, text)
			got, err := pushed.run(text, nil)
			require.NoError(t, err, text)
			require.Equal(t, sortedRows(want), sortedRows(got), "seed %d\n%s\n%s", seed, g.graph.create(), text)
			counted++
			p := pushed.planOf(t, text)
			if strings.Contains(p, " - ") {
				summed++
			}
			for _, kind := range []string{" <> (", " EXCEPT ("} {
				if at := strings.Index(p, "PairMultiplicity"); at >= 0 && strings.Contains(p[at:], kind) {
					paired[kind]++
				}
			}
		}
	}
	require.Greater(t, 10*summed, counted, "hardly any statement is a sum of counts")
	require.Len(t, paired, 2, "no statement counts pairs of edges")
}

// planOf returns the printed plan of a statement.
func (e *engine) planOf(t *testing.T, text string) string {
	q, _, err := cypher.Compile(text, cypher.Options{})
	require.NoError(t, err)
	tx, err := e.g.Begin(t.Context(), shard.Read)
	require.NoError(t, err)
	defer tx.Rollback()
	optimize.Plan(q, optimize.Env{Counts: tx.Statistics(), Indexes: e.g.Indexes(), Features: e.g.Features()})
	return plan.Format(q)
}

// tree writes a count over a pattern of one to four edges, each at an earlier vertex.
func (g *patternGenerator) tree() string {
	vertices := []string{"v0"}
	var parts, where []string
	labelled := func(v string) string {
		if g.chance(20) {
			return "(" + v + ":" + []string{"A", "B"}[g.r.IntN(2)] + ")"
		}
		return "(" + v + ")"
	}
	for i := range 1 + g.r.IntN(4) {
		from := vertices[g.r.IntN(len(vertices))]
		to := fmt.Sprint("v", i+1)
		if g.chance(12) {
			to = vertices[g.r.IntN(len(vertices))]
		} else {
			vertices = append(vertices, to)
		}
		edge := fmt.Sprintf("[e%d%s]", i, []string{"", ":T", ":T", ":T", ":U", ":T|U"}[g.r.IntN(6)])
		way := []string{"-%s->", "<-%s-", "-%s-"}[g.r.IntN(3)]
		parts = append(parts, labelled(from)+fmt.Sprintf(way, edge)+labelled(to))
		if g.chance(8) {
			where = append(where, fmt.Sprintf("e%d.w = %d", i, g.r.IntN(2)))
		}
	}
	for _, v := range vertices {
		if g.chance(15) {
			where = append(where, fmt.Sprintf("%s.x %s %d", v, []string{"=", "<", ">"}[g.r.IntN(3)], g.r.IntN(3)))
		}
	}
	if g.chance(30) {
		a, b := vertices[g.r.IntN(len(vertices))], vertices[g.r.IntN(len(vertices))]
		where = append(where, []string{a + " <> " + b, "NOT (" + a + ")-[:T]->(" + b + ")", "NOT (" + a + ")-[:T|U]-(" + b + ")"}[g.r.IntN(3)])
	}
	text := "MATCH " + strings.Join(parts, ", ")
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text + " RETURN count(*) AS n"
}
