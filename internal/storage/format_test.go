package storage

import (
	"encoding/binary"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	_ "github.com/hopgate/hopgate/internal/rules" // the kind of the rule
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// TestFormatVersion refuses to open shards of other versions.
func TestFormatVersion(t *testing.T) {
	o := &Options{Dir: "data", FS: vfs.NewMem()}
	o.EnsureDefaults()
	s, err := CreateShard(o, nil, "data/0", 0, 1)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	reopen := func(version uint64, readOnly bool) error {
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
			return err
		}
		return s.Close()
	}
	for _, readOnly := range []bool{false, true} {
		require.NoError(t, reopen(FormatVersion, readOnly))
		for _, version := range []uint64{FormatVersion - 1, FormatVersion + 1} {
			require.ErrorContains(t, reopen(version, readOnly), "this program reads version 4")
		}
	}
}

// A catalog with an access rule that this program does not know is not opened.
func TestUnknownRule(t *testing.T) {
	o := &Options{Dir: "data", FS: vfs.NewMem()}
	o.EnsureDefaults()
	s, err := CreateShard(o, nil, "data/0", 0, 1)
	require.NoError(t, err)
	require.NoError(t, s.put(func(b *pebble.Batch) error {
		return b.Set(definitionKey("rule", `{"effect":"GRANT","action":"FLY","role":"a"}`), nil, nil)
	}))
	_, err = OpenCatalog(s)
	require.ErrorContains(t, err, `rule {"effect":"GRANT","action":"FLY","role":"a"}: the action "FLY" is not known`)
	require.NoError(t, s.Close())
}
