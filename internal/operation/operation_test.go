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

func TestBody(t *testing.T) {
	const head = "// name: a\n// route: get\n// param: id :: INTEGER?\n// param: tags :: LIST<STRING> = []\n"
	all, err := Parse("a.json", head+"{\"User\": {\"id\": {\"$param\": \"id\"}, \"tag{}\": [\"x\", { \"$param\" : \"tags\" }],\n // no\n")
	require.ErrorContains(t, err, `a.json:6:2: the operation a: the body is not JSON`)
	require.Empty(t, all)
	all, err = Parse("a.json", head+`{"User": {"id": {"$param": "id"}, "tag{}": { "$param" : "tags" }, "name$": "$id%"}}`)
	require.NoError(t, err)
	o := all[0]
	require.Equal(t, Fetch, o.Kind())
	params, err := o.Bind(map[string]graph.Value{"id": {}, "tags": graph.ListValue([]graph.Value{graph.StringValue(`"}`)})})
	require.NoError(t, err)
	body, err := o.Body(params)
	require.NoError(t, err)
	require.Equal(t, `{"User": {"id": null, "tag{}": ["\"}"], "name$": "$id%"}}`, string(body))
	body, err = o.Body(o.Sample())
	require.NoError(t, err)
	require.Equal(t, `{"User": {"id": 1, "tag{}": [], "name$": "$id%"}}`, string(body))
	for text, want := range map[string]string{
		`{"a": {"$param": "x"}}`:                     `f:5:16: the operation a: {"$param": x} names no parameter`,
		`  {"a": {"$param": 1}}`:                     `f:5:18: the operation a: {"$param": 1} names no parameter`,
		`{"a": {"b": 1, "$param": "id"}}`:            `must be the whole value of a member`,
		`{"a": {"$param": "id", "b": 1}}`:            `must be the whole value of a member`,
		`{"$param": "id"}`:                           `must be the whole value of a member`,
		`{"User": {"@order": {"$param": "tags"}}}`:   `"@order" takes no parameter`,
		`{"User": {"id@": {"$param": "tags"}}}`:      `"id@" takes no parameter`,
		`{"User": {"@combine": [{"$param": "id"}]}}`: `"@combine" takes no parameter`,
		`[1]`:                   `the body must be a JSON object`,
		`{"a": 1} 2`:            `f:5:9: the operation a: unexpected text after the body`,
		`{"a": `:                `f:5:6: the operation a: the body is not JSON: it ends too early`,
		"{\"a\": 1,\n\"a\": 2}": `f:6:1: the operation a: the body is not JSON`,
	} {
		_, err := Parse("f", head+text)
		require.ErrorContains(t, err, want, text)
	}
	_, err = Parse("f", "// name: a\n// route: gett\n{}")
	require.ErrorContains(t, err, `f:2:11: the route "gett" must be there once`)
	_, err = Parse("f", "// name: a\n// route: get\n// param: m :: LIST<MAP>\n{}")
	require.ErrorContains(t, err, "a fetch takes no MAP")
	all, err = Parse("f", "// name: a\n// route: traverse\n// param: m :: ANY\n{\"from\": {\"label\": \"P\", \"value\": {\"$param\": \"m\"}}}")
	require.NoError(t, err)
	require.Equal(t, Traversal, all[0].Kind())
	_, err = Parse("f", "// name: a\n// route: traverse\n// param: m :: STRING\n{\"where\": {\"$param\": \"m\"}}")
	require.ErrorContains(t, err, `"where" takes no parameter`)
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
	f.Add("// name: a\n// route: get\n// param: x :: INTEGER\n{\"User\": {\"id\": {\"$param\": \"x\"}, \"a{}\": [1, {\"$param\": \"x\"}]}}")
	f.Add("// name: b\n// route: path\n// param: x :: MAP\n {\"from\": {\"value\": {\"$param\": \"x\"}}}")
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
		for _, o := range all {
			if o.Route == "" {
				continue
			}
			body, err := o.Body(o.Sample())
			require.NoError(t, err)
			require.True(t, json.Valid(body), "%s", body)
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
