package server

import (
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
		err := decodeJSON([]byte(body), true, &queryRequest{})
		if want == "" {
			require.NoError(t, err, body)
			continue
		}
		require.ErrorContains(t, err, want, body)
	}
}

func TestAccept(t *testing.T) {
	for header, want := range map[string]string{
		"":                           mediaPlain,
		" , ":                        mediaPlain,
		"*/*":                        mediaPlain,
		"text/html, application/xml": "",
		"text/html, */*;q=0.1":       mediaPlain,
		"application/json;q=0":       "",
		"application/json;q=0, application/x-ndjson":                     mediaLines,
		"application/json;q=0.5, application/vnd.neo4j.query;q=0.9":      mediaTyped,
		"application/vnd.neo4j.query.v1.0, application/json":             mediaTyped + ".v1.0",
		"application/vnd.neo4j.query;q=0.3, application/jsonl; q=0.30":   mediaTyped,
		"application/json;charset=utf-8;q=0.9, application/x-ndjson;q=x": mediaPlain,
	} {
		f, ok := accept([]string{header})
		require.Equal(t, want != "", ok, header)
		require.Equal(t, want, f.media, header)
	}
	f, ok := accept(nil)
	require.True(t, ok)
	require.Equal(t, mediaPlain, f.media)
}
