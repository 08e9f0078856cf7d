package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlainMembers(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"a": "b"}`: {"a": `"b"`},
		" {\n\"a\":\"\" ,\t\"p\": {\"x\": [1, {\"}\": \"{\"}]}} ": {"a": `""`, "p": `{"x": [1, {"}": "{"}]}`},
		`{}`:                   nil,
		`{"a": 1}`:             nil,
		`{"a": "\n"}`:          nil,
		"{\"a\": \"\n\"}":      nil,
		"{\"a\": \"\xff\"}":    nil,
		`{"a": "b", "a": "c"}`: nil,
		`{"a": "b",}`:          nil,
		`{"a": "b"} 1`:         nil,
		`{"a": {"x": }}`:       nil,
		`{"a": {"x": 1}`:       nil,
		`{"a" "b"}`:            nil,
		`["a"]`:                nil,
		``:                     nil,
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
