package loader

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/loader/text"
)

// The files of refused rows stay of one piece wherever a load ends that drops what it is about to write again.
func TestRewindInterrupted(t *testing.T) {
	in := &input{Source: text.Source{Name: "in/a.csv"}, header: []byte("id\n")}
	p := &Plan{inputs: []*input{in}}
	read := func(dir string) map[string]string {
		files := map[string]string{}
		require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(name)
			files[name[len(dir):]] = string(b)
			return err
		}))
		return files
	}
	write := func(dir string, seqs ...uint64) {
		l, err := openRejects(dir, p, 100)
		require.NoError(t, err)
		for _, seq := range seqs {
			row := fmt.Sprintf("x%d\n", seq)
			_, err := l.add(in, &Reject{File: in.Name, Line: int64(seq), Value: row}, []byte(row), seq)
			require.NoError(t, err)
		}
		require.NoError(t, l.close(false))
	}
	kept := t.TempDir()
	write(kept, 1, 2, 3)
	want := read(kept)
	require.Len(t, want, 3)
	for renamed := range 4 {
		dir := t.TempDir()
		write(dir, 1, 5, 2, 6, 3) // the server's rejects arrive after later batches were sent
		l := &rejectLog{dir: dir, plan: p, names: map[*input]string{in: "in/a.csv"}}
		require.NoError(t, l.copyUpTo(4))
		for _, name := range []string{text.RejectsName, batchesName, "in/a.csv"}[:renamed] {
			name = filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.Rename(name+".new", name))
		}
		again, err := openRejects(dir, p, 4)
		require.NoError(t, err)
		require.NoError(t, again.close(false))
		require.Equal(t, want, read(dir), "after %d renames", renamed)
	}
}
