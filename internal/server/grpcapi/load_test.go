package grpcapi

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// A column with inconsistent lengths is an error, never a panic.
func FuzzLoadColumn(f *testing.F) {
	add := func(c *pb.LoadColumn) {
		b, err := proto.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(&pb.LoadColumn{Data: &pb.LoadColumn_Integers{Integers: &pb.IntColumn{Values: []int64{1, 2}}}, Nulls: []byte{2}})
	texts := &pb.LoadColumn{Data: &pb.LoadColumn_Texts{Texts: &pb.TextColumn{Text: []byte("ab"), Ends: []uint32{1, 2}}}}
	add(texts)
	add(&pb.LoadColumn{Data: &pb.LoadColumn_Lists{Lists: &pb.ListColumn{Elements: texts, Ends: []uint32{0, 2}}}, Nulls: []byte{1}})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c pb.LoadColumn
		if proto.Unmarshal(b, &c) != nil {
			return
		}
		values, err := columnFromProto(&c, nil)
		if err != nil {
			return
		}
		for _, v := range values {
			_ = notation.PlainJSON.Append(nil, v)
		}
	})
}

// Lists share one column of elements. Inconsistent lengths and unlimited nesting are errors.
func TestListColumn(t *testing.T) {
	texts := &pb.LoadColumn{Data: &pb.LoadColumn_Texts{Texts: &pb.TextColumn{Text: []byte("abc"), Ends: []uint32{1, 1, 3}}}, Nulls: []byte{2}}
	lists := func(elements *pb.LoadColumn, ends ...uint32) *pb.LoadColumn {
		return &pb.LoadColumn{Data: &pb.LoadColumn_Lists{Lists: &pb.ListColumn{Elements: elements, Ends: ends}}}
	}
	got, err := columnFromProto(lists(lists(texts, 2, 3), 0, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(notation.PlainJSON.Append(nil, graph.ListValue(got))); s != `[[],[["a",null],["bc"]]]` {
		t.Fatal(s)
	}
	deep := texts
	for range wire.MaxDepth + 2 {
		deep = lists(deep, 1)
	}
	for _, c := range []*pb.LoadColumn{lists(texts, 4), lists(texts, 2, 1), lists(nil, 1), deep} {
		if _, err := columnFromProto(c, nil); err == nil {
			t.Fatalf("%v: no error", c)
		}
	}
}
