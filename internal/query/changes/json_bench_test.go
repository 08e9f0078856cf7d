package changes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
)

// BenchmarkNDJSON reads a log and writes its events: of commits of one change, and of those of a load. The goal is 500,000 events/s on one
// core.
func BenchmarkNDJSON(b *testing.B) {
	for _, of := range []struct {
		name             string
		commits, changes int
	}{{"small", 20_000, 1}, {"large", 4, 5_000}} {
		b.Run(of.name, func(b *testing.B) {
			g := newGraph(b)
			labels := g.labels("Person", "Employee")
			props := g.props("id", 0, "name", "a name of some length", "born", 1970)
			typ := g.typ("KNOWS")
			n := 0
			for range of.commits {
				var cs []changelog.Change
				for range of.changes {
					n++
					props[0].Value = graph.IntValue(int64(n))
					c := changelog.Change{Op: changelog.Created, Vertex: graph.VertexID(n), After: changelog.State{Labels: labels, Props: append([]graph.Property{}, props...)}}
					switch n % 4 {
					case 1:
						c = changelog.Change{
							Op: changelog.Created, IsEdge: true, Edge: graph.Edge{ID: graph.EdgeID(n), Src: 1, Dst: 2, Type: typ},
							Src: changelog.End{Labels: labels}, Dst: changelog.End{Labels: labels},
						}
					case 2:
						c.Op, c.Before = changelog.Changed, changelog.State{Labels: labels, Props: []graph.Property{{ID: props[0].ID, Value: graph.IntValue(-1)}}}
						c.After.Props = c.After.Props[:1]
					}
					cs = append(cs, c)
				}
				g.log.commit([]changelog.Origin{{User: "alice", Protocol: "bolt", Client: "10.0.0.1:4711", Server: "10.0.0.2:7687"}}, cs...)
			}
			var out []byte
			total, bytes := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				s, err := changes.Open(b.Context(), g, changes.Request{Graph: "default", From: changes.Earliest, Bounded: true})
				require.NoError(b, err)
				for {
					es, err := s.Next(b.Context(), 0, 0)
					require.NoError(b, err)
					if len(es) == 0 {
						break
					}
					out = out[:0]
					for i := range es {
						out = append(es[i].AppendJSON(out), '\n')
					}
					total, bytes = total+len(es), bytes+len(out)
				}
				s.Close()
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(bytes)/float64(total), "bytes/event")
		})
	}
}
