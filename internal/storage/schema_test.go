package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

func FuzzSchemaChange(f *testing.F) {
	for _, c := range []SchemaChange{
		{Put: &graph.Index{ID: 7, Name: "n", Label: "L", Props: []string{"p", "q"}, Unique: true, Indexed: true}},
		{Drop: &graph.Index{ID: 1 << 20, Name: "ttl", Type: "T", Props: []string{}, Indexed: true, TTL: time.Hour}},
		{Define: &definition.Change{Put: []definition.Record{{Kind: "k", Name: "n", Value: []byte("value")}}, Drop: []definition.Ref{{Kind: "k", Name: "other"}}}},
		{Define: &definition.Change{}},
	} {
		b := c.append(nil)
		got, err := ParseSchemaChange(b)
		require.NoError(f, err)
		require.Equal(f, c, got)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseSchemaChange(b)
		if err != nil {
			return
		}
		again, err := ParseSchemaChange(c.append(nil))
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}
