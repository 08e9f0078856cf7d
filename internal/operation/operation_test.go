package operation

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

const file = `// Operations of the shop.

// name: friends
// description: The people whom a person knows,
// description: by name.
// role: support, analyst
// param: id :: INTEGER -- number of the person
// param: most :: integer = 10
// param: tags :: LIST<STRING>? = ["a -- b"] -- any of them
// A comment.
MATCH (n {id: $id}) // name of it
// role: not a header here
RETURN n.name LIMIT $most;

// name: add
// param: x :: FLOAT
CREATE ({x: $x})
`

func parsed(t testing.TB) []*Operation {
	all, err := Parse("shop.cypher", file)
	require.NoError(t, err)
	return all
}

func TestParse(t *testing.T) {
	all := parsed(t)
	require.Len(t, all, 2)
	o := all[0]
	require.Equal(t, "The people whom a person knows, by name.", o.Description)
	require.Equal(t, []string{"support", "analyst"}, o.Roles)
	require.Equal(t, "MATCH (n {id: $id}) // name of it\n// role: not a header here\nRETURN n.name LIMIT $most", o.Statement)
	require.Equal(t, "number of the person", o.Params[0].Description)
	require.True(t, o.Params[0].Required())
	require.Equal(t, Type("INTEGER"), o.Params[1].Type)
	require.JSONEq(t, "10", string(o.Params[1].Default))
	require.JSONEq(t, `["a -- b"]`, string(o.Params[2].Default))
	require.Len(t, o.Hash, 64)
	for text, want := range map[string]string{
		"":                                  `f:1:1: there is no operation`,
		"RETURN 1":                          `f:1:1: a statement begins without a line "// name: …"`,
		"\n// role: a\n":                    `f:2:1: role comes before`,
		"// name: 1a\nRETURN 1":             `f:1:10: the name "1a" must have letters`,
		"// name: a\n\n":                    `f:1:1: the operation a: there is no statement`,
		"// name: a\n// param: x\nRETURN 1": `f:2:11: a parameter is name :: TYPE`,
		"// name: a\n// param: x :: DATE\nRETURN 1":            `f:2:16: the type "DATE" is not BOOLEAN`,
		"// name: a\n// param: x :: INTEGER = 1.5\nRETURN 1":   `the default 1.5: must be of type INTEGER, is of`,
		"// name: a\n// param: x :: INTEGER = 1 2\nRETURN 1":   `f:2:28: "2" stands where`,
		"// name: a\n// param: x :: STRING = null\nRETURN 1":   `must not be null`,
		"// name: a\n// param: x :: LIST<INT>\nRETURN 1":       `the type "LIST<INT>"`,
		"// name: a\nRETURN 1\n// name: a\nRETURN 2":           `f:3:10: the operation a is there twice`,
		"// name: a\n// param: x :: ANY\n// param: x :: ANY\n": `f:3:11: the parameter x is there twice`,
	} {
		_, err := Parse("f", text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestManifest(t *testing.T) {
	all, err := Manifest("m.json", []byte(`{"format":"apollo-persisted-query-manifest","version":1,"operations":[
		{"id":"x1","name":"one","type":"query","body":"// param: a :: INTEGER\nRETURN $a"},
		{"id":"x2","name":"two","type":"mutation","body":"CREATE ()"}]}`))
	require.NoError(t, err)
	require.Equal(t, "one", all[0].Name)
	require.Equal(t, "x1", all[0].ID)
	require.Len(t, all[0].Params, 1)
	byHash, err := Manifest("m.json", []byte(`{"version":1,"revision":"r","generatedAt":"now","operations":{"`+all[1].Hash+`":"CREATE ()","y":"// name: three\nRETURN 3"}}`))
	require.NoError(t, err)
	require.Equal(t, "op_"+all[1].Hash[:12], byHash[0].Name)
	require.Empty(t, byHash[0].ID, "the id is the hash")
	require.Equal(t, "three", byHash[1].Name)
	for text, want := range map[string]string{
		"{\n  x":            "m.json:2:3: invalid character",
		`{}`:                `m.json:1:1: there is no "operations"`,
		`{"operations":[]}`: `the format is "" of version `,
		`{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"i","name":"a","type":"subscription","body":"b"}]}`: `operations[0] (id "i"): the type "subscription"`,
		`{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"i","name":"a","body":"// name: b\nRETURN 1"}]}`:    `the body is not of one operation a`,
	} {
		_, err := Manifest("m.json", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// Operations are kept among the definitions, and each change of one makes its next version.
func TestPut(t *testing.T) {
	put := func(s *definition.Set, all ...*Operation) *definition.Set {
		c, err := Put(s, all)
		require.NoError(t, err)
		next, _, err := s.Apply(c)
		require.NoError(t, err)
		return next
	}
	all := parsed(t)
	s := put(nil, all...)
	require.Same(t, s, put(s, all...), "nothing has changed")
	o := Get(s, "friends")
	require.Same(t, o, ByHash(s, o.Hash))
	require.EqualValues(t, 1, o.Version)
	o.Params[1].value = graph.IntValue(10)
	changed := *all[0]
	changed.Statement = "RETURN 1"
	changed.ID = "old"
	c, err := o.Enable(s, false)
	require.NoError(t, err)
	s, _, err = s.Apply(c)
	require.NoError(t, err)
	s = put(s, &changed)
	require.EqualValues(t, 2, Get(s, "friends").Version)
	require.True(t, Get(s, "friends").Disabled)
	require.NotNil(t, ByHash(s, "old"))
	require.Nil(t, ByHash(s, ""))
	require.Nil(t, ByHash(s, o.Hash))
	s, _, err = s.Apply(Get(s, "friends").Drop())
	require.NoError(t, err)
	require.Len(t, All(s), 1)
	require.Nil(t, Get(s, "friends"))
	require.True(t, o.May([]string{"x", "analyst"}))
	require.False(t, o.May([]string{"x"}))
}

func TestBind(t *testing.T) {
	o := parsed(t)[0]
	got, err := o.Bind(map[string]graph.Value{"id": graph.IntValue(7)})
	require.NoError(t, err)
	require.EqualValues(t, 10, got["most"].Int())
	require.Equal(t, "a -- b", got["tags"].List()[0].Str())
	_, err = o.Bind(map[string]graph.Value{"most": graph.StringValue("x"), "b": {}, "a": {}})
	require.Equal(t, "Neo.ClientError.Statement.ParameterMissing", graph.AsError(err).Code)
	require.EqualError(t, err, "operation friends: $id is missing, of type INTEGER; $most must be of type INTEGER, is of String; $a is not a parameter of the operation; $b is not a parameter of the operation")
	_, err = o.Bind(map[string]graph.Value{"id": graph.IntValue(7), "tags": graph.ListValue([]graph.Value{graph.IntValue(1)})})
	require.Equal(t, "Neo.ClientError.Statement.ArgumentError", graph.AsError(err).Code)
	require.ErrorContains(t, err, "$tags element 0 must be of type STRING")
	got, err = o.FromQuery(url.Values{"id": {"7"}, "tags": {"a", "b"}})
	require.NoError(t, err)
	require.EqualValues(t, 7, got["id"].Int())
	require.Len(t, got["tags"].List(), 2)
	_, err = o.FromQuery(url.Values{"id": {"x"}, "most": {"1", "2"}})
	require.EqualError(t, err, `operation friends: $id must be of type INTEGER, is "x"; $most must be there once`)
	add, err := parsed(t)[1].Bind(map[string]graph.Value{"x": graph.IntValue(2)})
	require.NoError(t, err)
	require.Equal(t, graph.Float, add["x"].Kind())
	schema, err := json.Marshal(o.Schema())
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"integer","description":"number of the person"},
		"most":{"type":"integer","default":10},"tags":{"type":["array","null"],"items":{"type":"string"},"default":["a -- b"],"description":"any of them"}}}`, string(schema))
}

// What parses can be kept, and read back.
func FuzzParse(f *testing.F) {
	f.Add(file)
	f.Add("// name: a\n// param: x :: LIST<ANY> = [[1]]\nRETURN 1")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse("f", text)
		if err != nil {
			require.ErrorAs(t, err, new(*PlaceError))
			return
		}
		c, err := Put(nil, all)
		require.NoError(t, err)
		s, _, err := (*definition.Set)(nil).Apply(c)
		if err == nil {
			require.Len(t, All(s), len(all))
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"x1","name":"one","type":"query","body":"// param: a :: INTEGER\nRETURN $a"}]}`))
	f.Add([]byte(`{"version":1,"operations":{"a":"RETURN 1"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := Manifest("f", b)
		if err != nil {
			require.ErrorAs(t, err, new(*PlaceError))
			return
		}
		_, err = Put(nil, all)
		require.NoError(t, err)
	})
}
