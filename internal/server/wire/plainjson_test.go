package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph/notation"
)

func TestPlainMembers(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"a": "b"}`: {"a": `"b"`},
		" {\n\"a\":\"\" ,\t\"p\": {\"x\": [1, {\"}\": \"{\"}]}} ": {"a": `""`, "p": `{"x": [1, {"}": "{"}]}`},
		`{}`:                         nil,
		`{"a": 1, "b":-20 ,"c":0}`:   {"a": "1", "b": "-20", "c": "0"},
		`{"a": 999999999999999999}`:  {"a": "999999999999999999"},
		`{"a": 1000000000000000000}`: nil,
		`{"a": 01}`:                  nil,
		`{"a": -0}`:                  nil,
		`{"a": 1.0}`:                 nil,
		`{"a": 1e3}`:                 nil,
		`{"a": -}`:                   nil,
		`{"a": true}`:                nil,
		`{"a": "\n"}`:                nil,
		"{\"a\": \"\n\"}":            nil,
		"{\"a\": \"\xff\"}":          nil,
		`{"a": "b", "a": "c"}`:       nil,
		`{"a": "b",}`:                nil,
		`{"a": "b"} 1`:               nil,
		`{"a": {"x": }}`:             nil,
		`{"a": {"x": 1}`:             nil,
		`{"a" "b"}`:                  nil,
		`["a"]`:                      nil,
		``:                           nil,
	} {
		got := map[string]string{}
		ok := PlainMembers([]byte(text), func(name string, value []byte) bool {
			got[name] = string(value)
			return true
		})
		require.Equal(t, want != nil, ok, text)
		if ok {
			require.Equal(t, want, got, text)
		}
	}
	require.False(t, PlainMembers([]byte(`{"a": "b"}`), func(string, []byte) bool { return false }))
}

// FuzzPlainParams compares plain parameters with the decoder.
func FuzzPlainParams(f *testing.F) {
	for _, s := range []string{`{"a": 1, "b": "x", "c": -12}`, `{"a": 1, "a": 2}`, `{"a": {}}`, `{"a": 1, "b": 2.0}`, ` {} `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok, err := plainParams(data, nil)
		require.NoError(t, err)
		if !ok {
			return
		}
		v, err := DecodeValue(data, nil)
		require.NoError(t, err)
		require.Len(t, got, len(v.Map()))
		for _, e := range v.Map() {
			require.Equal(t, e.Value.Kind(), got[e.Key].Kind())
			require.Equal(t, string(notation.PlainJSON.Append(nil, e.Value)), string(notation.PlainJSON.Append(nil, got[e.Key])))
		}
	})
}

// FuzzPlainMembers compares with the decoder, which decides.
func FuzzPlainMembers(f *testing.F) {
	f.Add([]byte(`{"statement": "RETURN $x", "parameters": {"x": [1, "}"]}}`))
	f.Add([]byte(`{"a": "b", "a": "c"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]json.RawMessage{}
		if !PlainMembers(data, func(name string, value []byte) bool {
			got[name] = value
			return true
		}) {
			return
		}
		want := map[string]json.RawMessage{}
		require.NoError(t, DecodeJSON(data, true, &want))
		require.Equal(t, want, got)
	})
}
