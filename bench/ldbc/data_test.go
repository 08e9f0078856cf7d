package ldbc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// value converts JSON decoded with numbers as written.
func value(t testing.TB, x any) graph.Value {
	switch v := x.(type) {
	case nil:
		return graph.Value{}
	case bool:
		return graph.BoolValue(v)
	case string:
		return graph.StringValue(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return graph.IntValue(i)
		}
		f, err := v.Float64()
		require.NoError(t, err)
		return graph.FloatValue(f)
	case []any:
		l := make([]graph.Value, len(v))
		for i, e := range v {
			l[i] = value(t, e)
		}
		return graph.ListValue(l)
	}
	t.Fatalf("no value: %T", x)
	return graph.Value{}
}

// decode decodes JSON and keeps numbers as written.
func decode(t testing.TB, text []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(into))
}
