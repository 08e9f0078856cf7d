package wire

import (
	"runtime"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// frugal calls f, which must not allocate far more than the input is long.
func frugal(t *testing.T, input []byte, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if most := uint64(1<<20 + 256*len(input)); after.TotalAlloc-before.TotalAlloc > most {
		t.Fatalf("%d bytes of input took %d bytes of memory", len(input), after.TotalAlloc-before.TotalAlloc)
	}
}

// samples are values of the kinds that properties have.
func samples() []graph.Value {
	return []graph.Value{
		{},
		graph.BoolValue(true), graph.IntValue(-7), graph.FloatValue(0.5), graph.StringValue("graph"), graph.DateValue(19000),
		graph.ListValue([]graph.Value{graph.IntValue(1), graph.IntValue(2)}),
	}
}

// FuzzColumns decodes columns: whatever comes, nothing panics, and what is decoded says the same when it is encoded.
func FuzzColumns(f *testing.F) {
	f.Add(uint8(0), EncodeIDs([]uint64{3, 1, 1 << 63}))
	f.Add(uint8(1), EncodeEdges([]graph.Edge{{ID: 1, Src: 2, Dst: 3, Type: 4}, {ID: 9}}))
	vals, err := EncodeValues(samples())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(2), vals)
	f.Add(uint8(3), EncodeBools([]bool{true, false, true, true, true, true, true, true, true}))
	f.Add(uint8(2), []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		frugal(t, b, func() {
			switch kind % 4 {
			case 0:
				ids, err := DecodeIDs([]uint64(nil), b)
				again, err2 := DecodeIDs([]uint64(nil), EncodeIDs(ids))
				if err == nil && (err2 != nil || !slices.Equal(ids, again)) {
					t.Fatalf("%v became %v", ids, again)
				}
			case 1:
				edges, err := DecodeEdges(b)
				again, err2 := DecodeEdges(EncodeEdges(edges))
				if err == nil && (err2 != nil || !slices.Equal(edges, again)) {
					t.Fatalf("%v became %v", edges, again)
				}
			case 2:
				vals, err := DecodeValues(nil, b, 0, nil)
				if err != nil {
					return
				}
				c, err := EncodeValues(vals)
				if err != nil {
					t.Fatal(err)
				}
				again, err := DecodeValues(nil, c, 0, nil)
				if err != nil || len(again) != len(vals) {
					t.Fatalf("%d values became %d: %v", len(vals), len(again), err)
				}
				var large []Large
				if _, err := DecodeValues(nil, b, 0, &large); err != nil {
					t.Fatal(err)
				}
			case 3:
				bools, err := DecodeBools(nil, b)
				again, err2 := DecodeBools(nil, EncodeBools(bools))
				if err == nil && (err2 != nil || !slices.Equal(bools, again)) {
					t.Fatalf("%v became %v", bools, again)
				}
			}
		})
	})
}

// fuzzWords bounds the sets that FuzzSet decodes.
const fuzzWords = 1 << 4

// sameSets reports whether two sets have the same vertices, however long their bitmaps are.
func sameSets(a, b *graph.VertexSet) bool {
	for no := range max(a.Shards(), b.Shards()) {
		var words [2][]uint64
		for i, s := range []*graph.VertexSet{a, b} {
			if no < s.Shards() {
				words[i] = s.Bitmap(no)
			}
			for len(words[i]) > 0 && words[i][len(words[i])-1] == 0 {
				words[i] = words[i][:len(words[i])-1]
			}
		}
		if !slices.Equal(words[0], words[1]) {
			return false
		}
	}
	return true
}

// FuzzSet decodes sets of vertices.
func FuzzSet(f *testing.F) {
	var s graph.VertexSet
	for i := range uint64(200) {
		s.Add(graph.MakeVertexID(1, 5*i))
		s.Add(graph.MakeVertexID(3, i))
	}
	f.Add(EncodeSet(&s, -1))
	f.Add(EncodeSet(&s, 3))
	f.Add([]byte{0xff, 0xff, 0xff, 0x1f, 1, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		frugal(t, b, func() {
			var s, again graph.VertexSet
			if _, err := AddSet(&s, b, fuzzWords); err != nil {
				return
			}
			c := EncodeSet(&s, -1)
			if _, err := AddSet(&again, c, fuzzWords); err != nil {
				t.Fatal(err)
			}
			if !sameSets(&s, &again) {
				t.Fatalf("%x became %x", b, c)
			}
			var third graph.VertexSet
			if added, err := AddSet(&third, EncodeSorted(s.AppendTo(nil)), fuzzWords); err != nil || added != s.Len() || !sameSets(&s, &third) {
				t.Fatalf("%x became another set as a list: %d vertices, %v", b, added, err)
			}
		})
	})
}

// FuzzMessages decodes what messages hold beside their columns.
func FuzzMessages(f *testing.F) {
	props := []graph.Property{{ID: 1, Value: graph.IntValue(1)}, {ID: 2, Value: graph.StringValue("two")}}
	mutate, err := EncodeMutations([]shard.Mutation{
		{Op: shard.CreateVertex, Labels: 2, Props: props}, {Op: shard.CreateEdge, Edge: graph.Edge{ID: 1, Src: 2, Dst: 3, Type: 4}, Props: props[:1]},
	})
	if err != nil {
		f.Fatal(err)
	}
	load, err := EncodeLoad("g", &shard.Load{
		Stream: "s", Seq: 3, Mark: []byte("m"),
		Vertices: []shard.LoadVertices{{Labels: 2, Space: 1, Keys: samples()[2:4], Props: []shard.LoadColumn{{Prop: 1, Values: samples()[3:5]}}}},
		Edges:    []shard.LoadEdges{{Type: 1, SrcSpace: 1, DstSpace: 1, Src: samples()[2:3], Dst: samples()[2:3]}},
	})
	if err != nil {
		f.Fatal(err)
	}
	found := EncodeOwners(2, func(i int) graph.IndexOwner {
		return graph.IndexOwner{Vertex: graph.VertexID(i), Dst: 7, Edge: 9, IsEdge: true}
	})
	counts := EncodeCounts(&graph.Counts{
		Vertices: 2, ByLabel: map[string]uint64{"A": 2}, Ends: map[graph.TypeEnds]uint64{{Src: "A", Type: "T", Dst: "A"}: 1},
		Props: map[graph.PropOf]uint64{{Label: "A", Prop: "p"}: 1}, Degrees: map[graph.TypeDir][]uint64{{Type: "T"}: {1, 2}},
	})
	for i, m := range []proto.Message{mutate, load, found, counts} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		frugal(t, b, func() {
			switch kind % 4 {
			case 0:
				var m pb.MutateRequest
				if proto.Unmarshal(b, &m) == nil {
					_, _ = DecodeMutations(&m)
				}
			case 1:
				var m pb.LoadRequest
				if proto.Unmarshal(b, &m) == nil {
					_, _ = DecodeLoad(&m)
				}
			case 2:
				var m pb.Owners
				if proto.Unmarshal(b, &m) == nil {
					_, _ = DecodeOwners(&m)
				}
			case 3:
				var m pb.Counts
				if proto.Unmarshal(b, &m) == nil {
					_ = DecodeCounts(&m)
				}
			}
		})
	})
}
