package gateway

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// FuzzCatalog decodes catalogs.
func FuzzCatalog(f *testing.F) {
	b, err := proto.Marshal(&pb.Catalog{
		State: &pb.State{Epoch: 1, Number: 2}, Labels: []string{"A"}, Props: []string{"p"}, LabelSets: []*pb.LabelSet{{Members: []uint32{1}}},
		Present: []*pb.LabelSet{{Members: []uint32{1}}}, Indexes: []*pb.IndexDefinition{wire.EncodeIndex(graph.Index{ID: 1, Label: "A", Props: []string{"p"}})},
		Ttls: []*pb.TTL{wire.EncodeTTL(graph.TTL{Label: "A", After: time.Hour})},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		var m pb.Catalog
		if proto.Unmarshal(b, &m) == nil {
			c := newCatalog(&m)
			for set := range graph.LabelSet(4) {
				_ = c.propsOf(set)
			}
		}
	})
}
