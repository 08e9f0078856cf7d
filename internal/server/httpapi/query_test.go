package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/server/wire"
)

func TestAccept(t *testing.T) {
	for header, want := range map[string]string{
		"":                           wire.MediaPlain,
		" , ":                        wire.MediaPlain,
		"*/*":                        wire.MediaPlain,
		"text/html, application/xml": "",
		"text/html, */*;q=0.1":       wire.MediaPlain,
		"application/json;q=0":       "",
		"application/json;q=0, application/x-ndjson":                     mediaLines,
		"application/json;q=0.5, application/vnd.neo4j.query;q=0.9":      mediaTyped,
		"application/vnd.neo4j.query.v1.0, application/json":             mediaTyped + ".v1.0",
		"application/vnd.neo4j.query;q=0.3, application/jsonl; q=0.30":   mediaTyped,
		"application/json;charset=utf-8;q=0.9, application/x-ndjson;q=x": wire.MediaPlain,
	} {
		f, ok := accept([]string{header})
		require.Equal(t, want != "", ok, header)
		require.Equal(t, want, f.media, header)
	}
	f, ok := accept(nil)
	require.True(t, ok)
	require.Equal(t, wire.MediaPlain, f.media)
}
