package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"
)

var ctx = context.Background()

func fileOf(path, text string) File {
	sum := sha256.Sum256([]byte(text))
	return File{Path: path, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
}

var contents = map[string]string{
	"graphs/default/GRAPH": "{}", "graphs/default/shard-0000/graph/000001.sst": "one", "graphs/default/shard-0000/values/000001.sst": "one",
	"graphs/default/shard-0000/graph/000002.sst": strings.Repeat("two", 100_000), "graphs/default/shard-0000/graph/000003.log": "",
}

// keep writes a backup of contents.
func keep(t *testing.T, r *Repo, id string) *Manifest {
	m := &Manifest{ID: id, Taken: time.Unix(1, 0).UTC(), Format: 1, Graphs: []string{"default"}}
	for path, text := range contents {
		m.Files = append(m.Files, fileOf(path, text))
	}
	missing, err := r.Missing(ctx, m.Files)
	require.NoError(t, err)
	for _, i := range missing {
		require.NoError(t, r.Put(ctx, m.Files[i], func(w io.Writer) error {
			_, err := io.WriteString(w, contents[m.Files[i].Path])
			return err
		}))
	}
	require.NoError(t, r.Commit(ctx, m))
	return m
}

func TestBuckets(t *testing.T) {
	dir := t.TempDir()
	onDisk, err := Open(ctx, dir, false)
	require.NoError(t, err)
	byURL, err := Open(ctx, "file://"+filepath.Join(dir, "sub"), true)
	require.NoError(t, err)
	for name, r := range map[string]*Repo{"directory": onDisk, "file URL": byURL, "memory": OpenBucket(memblob.OpenBucket(nil))} {
		t.Run(name, func(t *testing.T) {
			defer r.Close()
			first := keep(t, r, "a")
			missing, err := r.Missing(ctx, first.Files)
			require.NoError(t, err)
			require.Empty(t, missing)
			keep(t, r, "b")
			ids, err := r.IDs(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b"}, ids)
			m, err := r.Manifest(ctx, "")
			require.NoError(t, err)
			require.Equal(t, "b", m.ID)
			require.NoError(t, r.Verify(ctx, m, nil))
			to := filepath.Join(t.TempDir(), "data")
			require.NoError(t, r.Restore(ctx, m, to, 1, nil, nil))
			for path, text := range contents {
				b, err := os.ReadFile(filepath.Join(to, path))
				require.NoError(t, err)
				require.Equal(t, text, string(b))
			}
			_, err = os.Stat(filepath.Join(to, partial))
			require.ErrorIs(t, err, os.ErrNotExist)
			require.ErrorContains(t, r.Restore(ctx, m, to, 1, nil, nil), "not empty")
		})
	}
}

// A damaged backup is refused by the name of the file, and nothing is written.
func TestDamage(t *testing.T) {
	text := "graphs/default/shard-0000/graph/000002.sst"
	object := objectName(fileOf(text, contents[text]).SHA256)
	for name, c := range map[string]struct {
		harm func(dir string) error
		want string
	}{
		"flipped byte": {func(dir string) error {
			at := filepath.Join(dir, object)
			b, err := os.ReadFile(at)
			b[1000] ^= 1
			return errors.Join(err, os.WriteFile(at, b, 0o600))
		}, text},
		"cut short": {func(dir string) error { return os.Truncate(filepath.Join(dir, object), 100) }, text},
		"missing":   {func(dir string) error { return os.Remove(filepath.Join(dir, object)) }, text},
		"manifest": {func(dir string) error {
			at := filepath.Join(dir, "backups/a.json")
			b, err := os.ReadFile(at)
			return errors.Join(err, os.WriteFile(at, []byte(strings.Replace(string(b), "000001.sst", "000009.sst", 1)), 0o600))
		}, "backups/a.json"},
		"truncated manifest": {func(dir string) error { return os.Truncate(filepath.Join(dir, "backups/a.json"), 200) }, "backups/a.json: it is damaged"},
		"empty manifest":     {func(dir string) error { return os.Truncate(filepath.Join(dir, "backups/a.json"), 0) }, "backups/a.json: it is damaged"},
		"manifest of another": {func(dir string) error {
			r, err := Open(ctx, dir, false)
			if err != nil {
				return err
			}
			defer r.Close()
			keep(t, r, "b")
			return os.Rename(filepath.Join(dir, "backups/b.json"), filepath.Join(dir, "backups/a.json"))
		}, "backups/a.json: it is that of backup b"},
		"foreign manifest": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "backups/a.json"), []byte(`{"note": "not a backup"}`), 0o600)
		}, "backups/a.json: it is damaged"},
		"file of another": {func(dir string) error {
			other := contents["graphs/default/shard-0000/graph/000001.sst"]
			return os.Rename(filepath.Join(dir, objectName(fileOf("", other).SHA256)), filepath.Join(dir, object))
		}, text},
		"newer manifest": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "backups/a.json"), []byte(`{"version":2}`), 0o600)
		}, "version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
			r, err := Open(ctx, dir, false)
			require.NoError(t, err)
			defer r.Close()
			keep(t, r, "a")
			require.NoError(t, c.harm(dir))
			m, err := r.Manifest(ctx, "a")
			if err == nil {
				err = r.Restore(ctx, m, to, 1, nil, nil)
			}
			require.ErrorContains(t, err, c.want)
			_, err = os.Stat(to)
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}

func TestRefusals(t *testing.T) {
	r := OpenBucket(memblob.OpenBucket(nil))
	defer r.Close()
	_, err := r.Manifest(ctx, "")
	require.ErrorContains(t, err, "no backup")
	m := keep(t, r, "a")
	_, err = r.Manifest(ctx, "../a")
	require.Error(t, err)
	require.ErrorContains(t, r.Restore(ctx, m, filepath.Join(t.TempDir(), "x"), 0, nil, nil), "format 1")
	err = r.Put(ctx, fileOf("graphs/x", "x"), func(w io.Writer) error { _, err := io.WriteString(w, "y"); return err })
	require.ErrorContains(t, err, "damaged")
	missing, err := r.Missing(ctx, []File{fileOf("graphs/x", "x")})
	require.NoError(t, err)
	require.Equal(t, []int{0}, missing)
	m.Files = append(m.Files, fileOf("graphs/../../etc/passwd", "x"))
	require.NoError(t, r.Commit(ctx, m))
	_, err = r.Manifest(ctx, "a")
	require.ErrorContains(t, err, "passwd")
}

// Files that belong to no backup do no harm, and are not restored.
func TestForeignFiles(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
	r, err := Open(ctx, dir, false)
	require.NoError(t, err)
	defer r.Close()
	m := keep(t, r, "a")
	for _, name := range []string{"README", "files/README", objectName(fileOf("", "nobody's").SHA256), "backups/README"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("foreign"), 0o600))
	}
	newest, err := r.Manifest(ctx, "")
	require.NoError(t, err)
	require.Equal(t, m, newest)
	require.NoError(t, r.Restore(ctx, m, to, 1, nil, nil))
	var names []string
	require.NoError(t, filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, rerr := filepath.Rel(to, path)
			err = rerr
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	require.ElementsMatch(t, slices.Collect(maps.Keys(contents)), names)
}

// An interrupted restore starts over.
func TestRestoreAgain(t *testing.T) {
	r := OpenBucket(memblob.OpenBucket(nil))
	defer r.Close()
	m := keep(t, r, "a")
	to := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(to, partial, "graphs", "old"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(to, "graphs", "old"), 0o755))
	require.NoError(t, r.Restore(ctx, m, to, 1, nil, nil))
	_, err := os.Stat(filepath.Join(to, "graphs", "old"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
