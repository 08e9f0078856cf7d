package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

func rule(action, role string) []*pb.Definition {
	return []*pb.Definition{{Kind: "rule", Name: `{"effect":"GRANT","action":"` + action + `","role":"` + role + `"}`}}
}

// FuzzCatalog decodes catalogs.
func FuzzCatalog(f *testing.F) {
	b, err := proto.Marshal(&pb.Catalog{
		State: &pb.State{Epoch: 1, Number: 2}, Labels: []string{"A"}, Props: []string{"p"}, LabelSets: []*pb.LabelSet{{Members: []uint32{1}}},
		Present: []*pb.LabelSet{{Members: []uint32{1}}}, Indexes: []*pb.IndexDefinition{wire.EncodeIndex(graph.Index{ID: 1, Label: "A", Props: []string{"p"}})},
		Ttls: []*pb.TTL{wire.EncodeTTL(graph.TTL{Label: "A", After: time.Hour})}, Definitions: rule("MATCH", "r"),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		var m pb.Catalog
		if proto.Unmarshal(b, &m) == nil {
			c, err := newCatalog(&m, nil)
			if err != nil {
				return
			}
			for set := range graph.LabelSet(4) {
				_ = c.propsOf(set)
			}
		}
	})
}

// learnt has a gateway learn a catalog, and reports whether it took it for fresh.
func learnt(t *testing.T, g *Graph, c *pb.Catalog, seen *catalog) bool {
	t.Helper()
	fresh, err := g.learn(c, seen)
	require.NoError(t, err)
	return fresh
}

// A catalog of a former leader, whose answer comes late, replaces none of the present one; nor does that of another graph.
func TestLearn(t *testing.T) {
	of := func(epoch, number uint64, role string) *pb.Catalog {
		return &pb.Catalog{State: &pb.State{Epoch: epoch, Number: number}, Definitions: rule("MATCH", role)}
	}
	g := &Graph{name: "g"}
	require.True(t, learnt(t, g, of(1, 1, "a"), nil))
	seen := g.state.Load()
	require.True(t, learnt(t, g, of(1, 3, "b"), seen))
	require.True(t, learnt(t, g, of(1, 2, "a"), seen), "an older one of the same leader")
	require.Equal(t, "b", rules.Of(g.Definitions())[0].Role)
	require.True(t, learnt(t, g, of(2, 1, "c"), g.state.Load()))
	require.False(t, learnt(t, g, of(1, 4, "d"), seen), "a call that was made before the present leader answered")
	require.False(t, learnt(t, g, of(1, 4, "d"), nil))
	other := of(2, 9, "e")
	other.Id = 7
	require.False(t, learnt(t, g, other, g.state.Load()))
	require.Equal(t, "c", rules.Of(g.Definitions())[0].Role)
	before := g.Version()
	broken := of(2, 5, "f")
	broken.Definitions = rule("FLY", "f")
	_, err := g.learn(broken, nil)
	require.ErrorContains(t, err, `rule {"effect":"GRANT","action":"FLY","role":"f"}`)
	require.Equal(t, "c", rules.Of(g.Definitions())[0].Role)
	require.Equal(t, before, g.Version())
}
