package mapping

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// validate checks a mapping by the schema that users have.
func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	var v any
	require.NoError(t, yaml.Unmarshal([]byte(text), &v))
	asJSON, err := json.Marshal(v)
	require.NoError(t, err)
	v, err = jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
	require.NoError(t, err)
	return s.Validate(v)
}

// The schema holds for the mappings of the tree: that of the benchmark and those proposed, and refuses what is none.
func TestSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	s, err := c.Compile("../../../docs/load-mapping.schema.json")
	require.NoError(t, err)
	own, err := os.ReadFile("../../../bench/ldbc/mapping.yaml")
	require.NoError(t, err)
	require.NoError(t, validate(t, s, string(own)))
	proposed, err := os.ReadFile("../testdata/propose")
	require.NoError(t, err)
	n := 0
	for _, part := range strings.Split(string(proposed), "\nversion: 1\n")[1:] {
		text, _, _ := strings.Cut(part, "\n\n")
		text, _, _ = strings.Cut(text, "\nleft out: ")
		require.NoError(t, validate(t, s, "version: 1\n"+text), text)
		n++
	}
	require.Greater(t, n, 2)
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		if strings.HasPrefix(d.Expected, "space ") && d.Cmd != "headers" {
			require.NoError(t, validate(t, s, d.Input), d.Input)
		}
		return d.Expected
	})
	const inputs = "inputs: [{path: a.csv, vertices: [{label: A, id: id}]}]\n"
	require.NoError(t, validate(t, s, "version: 1\n"+inputs))
	require.NoError(t, validate(t, s, "version: 1\ndefaults: {onDuplicate: error}\n"+strings.Replace(inputs, "id: id", "id: id, onDuplicate: keep-first", 1)))
	for _, text := range []string{
		inputs, "version: 2\n" + inputs, "version: 1\n", "version: 1\ninputs: []\n", "version: 1\nother: 1\n" + inputs,
		"version: 1\ndefaults: {onDuplicate: first}\n" + inputs, "version: 1\ninputs: [{path: a.csv}]\n", "version: 1\ninputs: [{path: a.csv, vertices: [{label: A}]}]\n",
		"version: 1\ninputs: [{path: a.csv, vertices: [{label: A, id: id, properties: {a: {type: map}}}]}]\n",
		"version: 1\ninputs: [{path: a.csv, edges: [{type: E, from: {column: 0, idSpace: A}}]}]\n",
	} {
		require.Error(t, validate(t, s, text), text)
	}
}
