package named

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/definition"
)

// Snapshots that have expired are neither found nor hold a log, and are dropped unless the definitions have changed since.
func TestExpired(t *testing.T) {
	now := time.Unix(1000, 0)
	record := func(name string, commit uint64, expires int64) definition.Record {
		value, err := json.Marshal(&Snapshot{Commit: commit, Expires: expires})
		require.NoError(t, err)
		return stored.Record(name, value)
	}
	set, err := definition.New(7, []definition.Record{
		record("a", 3, now.UnixNano()), record("b", 9, now.UnixNano()+1), record("c", 5, 0),
	}, nil)
	require.NoError(t, err)
	oldest, ok := Oldest(set, now)
	require.True(t, ok)
	require.EqualValues(t, 5, oldest)
	_, err = Get(set, "a", now)
	require.Error(t, err)
	b, err := Get(set, "b", now)
	require.NoError(t, err)
	require.EqualValues(t, 9, b.Commit)
	require.Len(t, All(set, now), 2)
	c, ok := Expired(set, now)
	require.True(t, ok)
	require.Equal(t, definition.Change{If: 7, Drop: []definition.Ref{stored.Ref("a")}}, c)
	_, ok = Expired(set, now.Add(-1))
	require.False(t, ok)
	_, ok = Oldest(nil, now)
	require.False(t, ok)
}

func FuzzDecode(f *testing.F) {
	f.Add("s", []byte(`{"commit":1,"time":2,"bytes":3,"created":4,"expires":5}`))
	f.Add("", []byte(`{}`))
	f.Add("s", []byte(`{"commit":-1}`))
	f.Add("s", []byte(`{} {}`))
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		s, err := decode(name, value)
		if err != nil {
			return
		}
		again, err := json.Marshal(s)
		require.NoError(t, err)
		same, err := decode(name, again)
		require.NoError(t, err)
		require.Equal(t, s, same)
	})
}
