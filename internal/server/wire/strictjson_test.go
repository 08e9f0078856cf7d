package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bytes that are no text are refused, where the decoder would put U+FFFD in their place.
func TestRequestIsText(t *testing.T) {
	for body, want := range map[string]string{
		`{"statement": "é\u00e9\ud83d\ude00\\ud800\n"}`: "",
		"{\"statement\":\n \"a\xff\"}":                  "the request is not JSON: line 2, column 4: invalid UTF-8",
		`{"statement": "a\ud800"}`:                      "the request is not JSON: line 1, column 17: half a surrogate pair",
		`{"parameters": {"a": "\ude00\ud83d"}}`:         "the request is not JSON: line 1, column 23: half a surrogate pair",
		`{"parameters": {"\ud83dx": 1}}`:                "the request is not JSON: line 1, column 18: half a surrogate pair",
	} {
		var into struct {
			Statement  string
			Parameters json.RawMessage
		}
		err := DecodeJSON([]byte(body), true, &into)
		if want == "" {
			require.NoError(t, err, body)
			continue
		}
		require.ErrorContains(t, err, want, body)
	}
}
