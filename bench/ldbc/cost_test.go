package ldbc

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// estimated is a request that has run.
type estimated struct {
	name string
	cost.Told
}

// off returns by how much the actual units exceed those of the estimate, and the other way round.
func (x *estimated) off() (more, less float64) {
	actual, estimate := float64(max(1, x.Units())), max(1, x.Estimate)
	return actual / estimate, estimate / actual
}

// took runs a statement and returns what it took, and what a request with a ceiling expects.
func took(ctx context.Context, t testing.TB, e *query.Engine, name, statement string, params map[string]graph.Value) estimated {
	res, err := e.Query(ctx, query.Request{Statement: statement, Params: params, Limits: &query.Limits{Units: math.MaxInt64}})
	require.NoError(t, err, name)
	defer res.Close()
	for b, err := res.Next(); b != nil; b, err = res.Next() {
		require.NoError(t, err, name)
	}
	return estimated{name, res.Cost()}
}

// quantile returns the value that a share of the values does not exceed.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	return values[min(len(values)-1, int(share*float64(len(values))))]
}

// report logs how far estimates are off, and returns the 90th percentiles of actual/estimate and estimate/actual.
func report(t testing.TB, what string, all []estimated) (more, less float64) {
	var mores, lesses, both []float64
	for i := range all {
		m, l := all[i].off()
		mores, lesses, both = append(mores, m), append(lesses, l), append(both, max(m, l))
	}
	more, less = quantile(mores, 0.9), quantile(lesses, 0.9)
	t.Logf("%s: %d requests; p90 of actual/estimate %.2f, of estimate/actual %.2f, of the greater of both %.2f; medians %.2f, %.2f",
		what, len(all), more, less, quantile(both, 0.9), quantile(mores, 0.5), quantile(lesses, 0.5))
	return more, less
}

// Estimates of the complex and short reads and of hops from random persons are near what these take.
func TestEstimates(t *testing.T) {
	answers := conformance.LDBCAnswers.Need(t)
	dir := Data(t)
	statements := Statements(t, filepath.Join(dir, "ldbc-queries.jsonl"))
	e, _ := Load(t, filepath.Join(dir, "ldbc-sf0.003"), 1)
	Settle(t)
	var reads []estimated
	byName := map[string][]estimated{}
	for _, line := range Lines(t, answers) {
		var answer struct {
			Query  string
			Params map[string]any
		}
		decode(t, line, &answer)
		params := map[string]graph.Value{}
		for k, v := range answer.Params {
			params[k] = value(t, v)
		}
		x := took(t.Context(), t, e, answer.Query, statements[answer.Query], params)
		reads = append(reads, x)
		byName[x.name] = append(byName[x.name], x)
	}
	for name, all := range byName {
		report(t, name, all)
		slices.SortFunc(all, func(a, b estimated) int { return cmp.Compare(a.Units(), b.Units()) })
		t.Logf("  estimate %.0f, actual %d … %d", all[0].Estimate, all[0].Units(), all[len(all)-1].Units())
	}
	ids := must(t, e, "MATCH (p:Person) RETURN p.id")
	rnd := rand.New(rand.NewPCG(1, 2))
	var hops []estimated
	for _, statement := range []string{
		"MATCH (p:Person {id: $id})-[:KNOWS]-(q) RETURN q.id",
		"MATCH (p:Person {id: $id})-[:KNOWS]-()-[:KNOWS]-(q) RETURN q.id",
		"MATCH (p:Person {id: $id})-[:KNOWS]-()-[:KNOWS]-()-[:KNOWS]-(q) RETURN q.id",
		"MATCH (p:Person {id: $id})-[:KNOWS*1..2]-(q) RETURN DISTINCT q.id",
		"MATCH (p:Person {id: $id})-[:KNOWS]-()-[:KNOWS]-(q) RETURN count(DISTINCT q)",
	} {
		var own []estimated
		for range 100 {
			own = append(own, took(t.Context(), t, e, statement, statement, map[string]graph.Value{"id": ids[rnd.IntN(len(ids))]}))
		}
		report(t, statement, own)
		hops = append(hops, own...)
	}
	more, less := report(t, "reads", reads)
	require.Less(t, more, 4.0)
	require.Less(t, less, 9.0)
	more, less = report(t, "hops", hops)
	require.Less(t, more, 3.0)
	require.Less(t, less, 2.0)
	conformance.LDBCAnswers.Ran(t, "estimates", len(reads))
}

// must returns the first column of a statement's rows.
func must(t testing.TB, e *query.Engine, statement string) (out []graph.Value) {
	_, rows := Run(t.Context(), t, e, statement, nil)
	for _, row := range rows {
		out = append(out, row[0])
	}
	return out
}
