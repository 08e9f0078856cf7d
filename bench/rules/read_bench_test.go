package rules

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/bench/ldbc"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
)

// side is one of two engines that a read is run by in turns.
type side struct {
	e    *query.Engine
	ctx  context.Context
	best time.Duration // processor time of a round
}

// clerk returns the context of a caller with the custom role clerk and the tenant a.
func clerk(b *testing.B) context.Context {
	claims := map[string]graph.Value{"tenant": graph.StringValue("a")}
	return access.WithIdentity(b.Context(), &access.Identity{Name: "ann", Roles: []string{"clerk"}, Claims: claims})
}

// statements runs statements as a caller whom nothing restricts.
func statements(b *testing.B, e *query.Engine, all ...string) {
	for _, text := range all {
		ldbc.Run(b.Context(), b, e, text, nil)
	}
	ldbc.Settle(b)
}

// tenants gives every tenth person to the tenant b and the others to the tenant a, but for those that the reads are about.
func tenants(b *testing.B, e *query.Engine, reads []ldbc.Read) {
	var asked []graph.Value
	for _, r := range reads {
		for _, p := range r.Params {
			for _, name := range []string{"personId", "person1Id", "person2Id"} {
				if id, ok := p[name]; ok {
					asked = append(asked, id)
				}
			}
		}
	}
	ldbc.Run(b.Context(), b, e, `MATCH (p:Person) WITH p ORDER BY p.id WITH collect(p) AS all
		UNWIND range(0, size(all) - 1) AS i WITH all[i] AS p, i
		SET p.tenant = CASE WHEN i % 10 = 0 AND NOT p.id IN $asked THEN 'b' ELSE 'a' END`, map[string]graph.Value{"asked": graph.ListValue(asked)})
}

// BenchmarkTenant hides the people of another tenant, by a rule whose property has an index. The reference is the graph without them.
func BenchmarkTenant(b *testing.B) {
	hidden, dir := ldbc.Open(b)
	reads := ldbc.Reads(b, hidden, dir)
	gone, _ := ldbc.Open(b)
	tenants(b, hidden, reads)
	tenants(b, gone, reads)
	statements(b, gone, "MATCH (p:Person {tenant: 'b'}) DETACH DELETE p", "CREATE INDEX FOR (p:Person) ON (p.tenant)")
	statements(b, hidden, "CREATE INDEX FOR (p:Person) ON (p.tenant)",
		"GRANT MATCH {*} ON HOME GRAPH FOR (p:Person) WHERE p.tenant = $claims.tenant TO clerk",
		"GRANT MATCH {*} ON HOME GRAPH NODES Place, City, Country, Continent, Organisation, Company, University, Tag, TagClass, Forum, Message, Post, Comment TO clerk",
		"GRANT MATCH {*} ON HOME GRAPH RELATIONSHIPS * TO clerk")
	compare(b, reads, &side{e: gone, ctx: b.Context()}, &side{e: hidden, ctx: clerk(b)})
}

// BenchmarkProperty hides properties that the reads do and do not ask for. The reference is the graph without them.
func BenchmarkProperty(b *testing.B) {
	hidden, dir := ldbc.Open(b)
	reads := ldbc.Reads(b, hidden, dir)
	gone, _ := ldbc.Open(b)
	statements(b, gone, "MATCH (p:Person) REMOVE p.lastName, p.email")
	statements(b, hidden,
		"GRANT MATCH {*} ON HOME GRAPH ELEMENTS * TO clerk",
		"DENY READ {lastName, email} ON HOME GRAPH NODES Person TO clerk")
	compare(b, reads, &side{e: gone, ctx: b.Context()}, &side{e: hidden, ctx: clerk(b)})
}

// compare runs each read on both sides in turns, whose answers must be equal, and reports the least processor time of both.
func compare(b *testing.B, reads []ldbc.Read, plain, ruled *side) {
	for _, r := range reads {
		b.Run(r.Name, func(b *testing.B) {
			for _, p := range r.Params {
				require.Equal(b, plain.answer(b, r.Statement, p), ruled.answer(b, r.Statement, p))
			}
			runs := 1
			for plain.best = 0; plain.best < 5*time.Millisecond; runs *= 2 {
				plain.best = plain.round(b, &r, runs)
			}
			plain.best, ruled.best = 0, 0
			b.ResetTimer()
			for range b.N {
				for _, s := range []*side{plain, ruled} {
					if d := s.round(b, &r, runs); s.best == 0 || d < s.best {
						s.best = d
					}
				}
			}
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(runs*len(r.Params)) }
			b.ReportMetric(per(plain.best), "plain-µs")
			b.ReportMetric(per(ruled.best), "ruled-µs")
			b.ReportMetric(float64(ruled.best)/float64(plain.best), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// round runs a read with all its parameters some times, and returns the processor time.
func (s *side) round(b *testing.B, r *ldbc.Read, runs int) time.Duration {
	before := ldbc.ProcessorTime(b)
	for range runs {
		for _, p := range r.Params {
			ldbc.Drain(s.ctx, b, s.e, r.Statement, p)
		}
	}
	return ldbc.ProcessorTime(b) - before
}

// answer returns the rows of a statement as texts, in ascending order.
func (s *side) answer(b *testing.B, statement string, params map[string]graph.Value) (out []string) {
	_, rows := ldbc.Run(s.ctx, b, s.e, statement, params)
	for _, row := range rows {
		out = append(out, string(notation.Append(nil, graph.ListValue(row))))
	}
	slices.Sort(out)
	return out
}
