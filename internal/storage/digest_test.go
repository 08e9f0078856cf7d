package storage

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/storage/keys"
)

// TestDigest applies the same batches to parts that differ in what no version owns, and in how their tables lie on disk: all have one
// digest. A value that is another one, a record that is missing, and bytes that move from a key to its value change it.
func TestDigest(t *testing.T) {
	opts := &Options{FS: vfs.NewMem()}
	opts.EnsureDefaults()
	sh := NewShared(opts)
	defer sh.Close()
	type pair struct{ key, value string }
	next := string(keys.MetaKey(keys.MetaNextValue))
	large := func(id uint64) string { return string(keys.AppendValueKey(nil, id)) }
	garbage := func(id uint64) string { return string(keys.AppendGarbage(nil, id)) }
	digests := 0
	digest := func(values, graph []pair, later ...pair) Digest {
		digests++
		p, err := OpenPart(opts, sh, "part"+string(rune('a'+digests)), 0, 1, true, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		version, err := p.Attach(0, 3)
		require.NoError(t, err)
		apply := func(store Store, version uint64, pairs []pair) {
			b := p.s.graph.NewBatch()
			for _, x := range pairs {
				require.NoError(t, b.Set([]byte(x.key), []byte(x.value), nil))
			}
			require.NoError(t, p.Apply(0, 3, &Changed{Store: store, Version: version, Batch: b.Repr()}))
			require.NoError(t, b.Close())
		}
		apply(ValuesStore, 1, values)
		apply(GraphStore, version+1, graph)
		apply(ValuesStore, 2, later)
		if digests%2 == 0 {
			require.NoError(t, p.Flush(context.Background()))
		}
		d, err := p.Digest(context.Background(), 3, version+1)
		require.NoError(t, err)
		_, err = p.Digest(context.Background(), 3, version+2)
		require.ErrorIs(t, err, ErrAhead)
		return d
	}
	values := []pair{{large(0), "zero"}, {large(1), "one"}, {large(2), "two"}}
	graph := []pair{{next, "\x02"}, {garbage(0), ""}, {"\x20ab", "c"}}
	want := digest(values, graph)
	require.Equal(t, want, digest(values, graph))
	require.Equal(t, want, digest(values[1:], graph), "a value that is marked as garbage is gone")
	require.Equal(t, want, digest(values, graph, pair{large(2), "another two"}, pair{large(9), "nine"}), "values of a later version are there")
	require.NotEqual(t, want, digest([]pair{values[0], {large(1), "ome"}}, graph))
	require.NotEqual(t, want, digest(values[:1], graph))
	require.NotEqual(t, want, digest(values, []pair{graph[0], graph[1], {"\x20ab", "d"}}))
	require.NotEqual(t, want, digest(values, []pair{graph[0], graph[1], {"\x20a", "bc"}}))
	require.NotEqual(t, want, digest(values, graph[:2]))
}
