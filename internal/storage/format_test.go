package storage

import (
	"encoding/binary"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// TestFormatVersion opens shards of other versions: what is older, but read, becomes the newest when it may be written.
func TestFormatVersion(t *testing.T) {
	o := &Options{Dir: "data", FS: vfs.NewMem()}
	o.EnsureDefaults()
	s, err := CreateShard(o, nil, "data/0", 0, 1)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	reopen := func(version uint64, readOnly bool) (now uint64, err error) {
		in, err := kv.Open(o.instance(nil), "data/0/graph", false, false, nil)
		require.NoError(t, err)
		record := formatRecord(0, 1)
		_, size := binary.Uvarint(record)
		record = append(binary.AppendUvarint(nil, version), record[size:]...)
		require.NoError(t, in.DB.Set(keys.MetaKey(keys.MetaFormat), record, pebble.Sync))
		require.NoError(t, in.Close())
		o.ReadOnly = readOnly
		defer func() { o.ReadOnly = false }()
		s, err := OpenShard(o, nil, "data/0", 0, 1)
		if err != nil {
			return 0, err
		}
		record, ok, err := kv.Get(s.graph.Live(), keys.MetaKey(keys.MetaFormat), nil)
		require.NoError(t, err)
		require.True(t, ok)
		now, _ = binary.Uvarint(record)
		return now, s.Close()
	}
	for _, c := range []struct {
		version, now uint64
		readOnly     bool
	}{
		{OldestFormat, FormatVersion, false}, {OldestFormat, OldestFormat, true}, {FormatVersion, FormatVersion, false},
	} {
		now, err := reopen(c.version, c.readOnly)
		require.NoError(t, err)
		require.Equal(t, c.now, now)
	}
	for _, version := range []uint64{OldestFormat - 1, FormatVersion + 1} {
		_, err := reopen(version, false)
		require.ErrorContains(t, err, "this program reads versions 2 to 4")
	}
}
