package gateway

import (
	"fmt"
	"testing"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/alloctest"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query"
)

// BenchmarkQuotas compares, in the engine, the look-up by a caller without quotas with that by one who is charged to three.
func BenchmarkQuotas(b *testing.B) {
	n, _ := open(b)
	as := func(name, statement string, id int64) {
		ctx := access.WithIdentity(b.Context(), &access.Identity{Name: name, Every: access.Admin})
		res, err := n.Engine.Query(ctx, query.Request{Statement: statement, Params: map[string]graph.Value{"id": graph.IntValue(id)}})
		if err != nil {
			b.Fatal(err)
		}
		defer res.Close()
		if _, err := res.Next(); err != nil {
			b.Fatal(err)
		}
	}
	for _, measure := range []string{"requests", "cost", "cpu"} {
		as("root", fmt.Sprintf("CALL db.quotas.put({name: '%s', for: 'token=ann', measure: '%s', each: true, amount: 2000000000, window: 'day', mode: 'enforce'})",
			measure, measure), 0)
	}
	ways := map[string]func(int64){}
	for _, name := range []string{"bob", "ann"} {
		ctx := access.WithIdentity(b.Context(), &access.Identity{Name: name, Every: access.Reader})
		ways[name] = func(id int64) {
			res, err := n.Engine.Query(ctx, query.Request{Statement: statement, Params: map[string]graph.Value{"id": graph.IntValue(id)}})
			if err != nil {
				b.Fatal(err)
			}
			defer res.Close()
			if rows, err := res.Next(); err != nil || rows.N != 1 {
				b.Fatal(err, "no row")
			}
		}
	}
	measure(b, n.Persons, []way{{"free", ways["bob"]}, {"charged", ways["ann"]}})
	b.ReportMetric(alloctest.Least(100, func() { ways["ann"](1) })-alloctest.Least(100, func() { ways["bob"](1) }), "more-allocs")
}
