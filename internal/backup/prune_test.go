package backup

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"
)

// TestPrune removes old backups with the files that only they had; what is kept verifies.
func TestPrune(t *testing.T) {
	onDisk, err := Open(ctx, t.TempDir(), true)
	require.NoError(t, err)
	for name, r := range map[string]*Repo{"directory": onDisk, "memory": OpenBucket(memblob.OpenBucket(nil))} {
		t.Run(name, func(t *testing.T) {
			defer r.Close()
			old := fileOf("graphs/default/old", "old")
			for _, id := range []string{"a", "b", "c"} {
				m := keep(t, r, id)
				if id == "a" {
					require.NoError(t, r.Put(ctx, old, func(w io.Writer) error {
						_, err := io.WriteString(w, "old")
						return err
					}))
					m.Files = append(m.Files, old)
					require.NoError(t, r.Commit(ctx, m))
				}
			}
			_, _, _, err := r.Prune(ctx, 0)
			require.Error(t, err)
			ids, _, _, err := r.Prune(ctx, 3)
			require.NoError(t, err)
			require.Empty(t, ids)

			end, err := r.Begin(ctx, "d")
			require.NoError(t, err)
			_, _, _, err = r.Prune(ctx, 2)
			require.ErrorIs(t, err, ErrBusy, "a backup that runs may count on any file")
			require.NoError(t, end(ctx))
			require.NoError(t, r.mark(ctx, pruningMarks+"x"))
			_, err = r.Begin(ctx, "d")
			require.ErrorIs(t, err, ErrBusy)
			_, _, _, err = r.Prune(ctx, 2)
			require.ErrorIs(t, err, ErrBusy)
			require.NoError(t, r.remove(ctx, pruningMarks+"x"))
			require.NoError(t, r.remove(ctx, pruningMarks+"x"))

			ids, files, bytes, err := r.Prune(ctx, 2)
			require.NoError(t, err)
			require.Equal(t, []string{"a"}, ids)
			require.Equal(t, 1, files)
			require.EqualValues(t, 3, bytes)
			left, err := r.IDs(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{"b", "c"}, left)
			for _, id := range left {
				m, err := r.Manifest(ctx, id)
				require.NoError(t, err)
				require.NoError(t, r.Verify(ctx, m, nil))
			}
			require.Equal(t, []string{old.SHA256}, lacks(t, r, old))

			require.NoError(t, r.bucket.WriteAll(ctx, manifestName("d"), []byte("{}"), nil))
			_, _, _, err = r.Prune(ctx, 2)
			require.ErrorContains(t, err, "damaged", "which files it needs is not known")
			left, err = r.IDs(ctx)
			require.NoError(t, err)
			require.Len(t, left, 3)
			end, err = r.Begin(context.Background(), "e")
			require.NoError(t, err)
			require.NoError(t, end(ctx))
		})
	}
}

func lacks(t *testing.T, r *Repo, f File) (sums []string) {
	missing, err := r.Missing(ctx, []File{f})
	require.NoError(t, err)
	for range missing {
		sums = append(sums, f.SHA256)
	}
	return sums
}
