package kv

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// TestDamageIsLoggedOnce reads a damaged table again and again.
func TestDamageIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	o := &Options{FS: vfs.NewMem(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	in, err := Open(o, "store", false, true, make(chan struct{}))
	require.NoError(t, err)
	require.NoError(t, in.DB.Set([]byte("k"), bytes.Repeat([]byte("v"), 4000), pebble.Sync))
	require.NoError(t, in.DB.Flush())
	require.NoError(t, in.Close())
	names, err := o.FS.List("store")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			f, err := o.FS.OpenReadWrite("store/"+name, vfs.WriteCategoryUnspecified)
			require.NoError(t, err)
			_, err = f.WriteAt(make([]byte, 100), 0)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	in, err = Open(o, "store", false, false, make(chan struct{}))
	require.NoError(t, err)
	for range 3 {
		_, _, err = in.DB.Get([]byte("k"))
		require.True(t, IsDamage(err), "%v", err)
	}
	require.NoError(t, in.Close())
	require.Equal(t, 1, strings.Count(log.String(), "stored data fails its checks"), log.String())
}
