package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// Tables show graph values as patterns and distinguish null from an empty text; columns line up by the width of characters.
func TestShortForms(t *testing.T) {
	integer := &pb.Value{Kind: &pb.Value_Integer{Integer: 42}}
	a := &pb.Vertex{ElementId: "1", Labels: []string{"Person", "odd name"}, Properties: []*pb.MapEntry{{Key: "id", Value: integer}, {Key: "a b", Value: text("x")}}}
	b := &pb.Vertex{ElementId: "2"}
	e := &pb.Edge{StartElementId: "2", EndElementId: "1", Type: "KNOWS", Properties: []*pb.MapEntry{{Key: "id", Value: integer}}}
	v := &pb.Value{Kind: &pb.Value_Vertex{Vertex: a}}
	path := &pb.Value{Kind: &pb.Value_Path{Path: &pb.Path{Vertices: []*pb.Vertex{a, b}, Edges: []*pb.Edge{e}}}}
	list := &pb.Value{Kind: &pb.Value_List{List: &pb.ListValue{Values: []*pb.Value{{}, text("x")}}}}
	require.Equal(t, []string{
		"(:Person:`odd name` {id: 42, `a b`: \"x\"})", "(:Person:`odd name` {id: 42, `a b`: \"x\"})<-[:KNOWS {id: 42}]-()", `[null, "x"]`, "null", "", `a\nb`,
	}, shortTexts([]*pb.Value{v, path, list, {}, text(""), text("a\nb")}))

	var out bytes.Buffer
	p, err := newPrinter("table", &out)
	require.NoError(t, err)
	p.more = ":max-rows"
	p.begin([]string{"n", "m"})
	for _, s := range []string{"東京", "abc"} {
		require.NoError(t, p.row([]*pb.Value{text(s), {}}))
	}
	require.NoError(t, p.end())
	require.Equal(t, "n     m\n----  ----\n東京  null\nabc   null\n(first 2 rows; more with :max-rows)\n", out.String())
}

// An error in a parameter's JSON includes its position.
func TestParamPlace(t *testing.T) {
	_, err := (&queryFlags{params: []string{`x={"é": 1,, 2}`}}).values()
	require.ErrorContains(t, err, `at character 9 in {"é": 1,, 2}`)
	_, err = (&queryFlags{params: []string{`x=[1`}}).values()
	require.ErrorContains(t, err, "the JSON ends early, at character 3 in [1")
}
