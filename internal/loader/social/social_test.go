package social

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sameBytes begins the hash that TestSameBytes pins.
const sameBytes = "83ef847eab1f999b"

// generate writes a network and returns its files.
func generate(t *testing.T, o Options) (map[string][]byte, Counts) {
	t.Helper()
	dir := t.TempDir()
	c, err := Write(t.Context(), dir, o)
	require.NoError(t, err)
	files := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, p := range paths {
		files[filepath.Base(p)], err = os.ReadFile(p)
		require.NoError(t, err)
	}
	return files, c
}

// Users compare runs over regenerated networks, so the bytes must not depend on the machine.
func TestSameBytes(t *testing.T) {
	o := Options{Persons: 3000, Seed: 7, CommentMin: 10, CommentMax: 90, Workers: 1}
	one, c1 := generate(t, o)
	o.Workers = 5
	five, c5 := generate(t, o)
	require.Equal(t, one, five)
	require.Equal(t, c1, c5)
	require.Len(t, one, 9)
	o.Seed = 8
	other, _ := generate(t, o)
	require.NotEqual(t, one["person.csv"], other["person.csv"])

	h := sha256.New()
	for _, name := range []string{"person.csv", "person_knows_person.csv", "comment.csv", "person_likes_comment.csv"} {
		h.Write(one[name])
	}
	require.Equal(t, sameBytes, hex.EncodeToString(h.Sum(nil))[:16], "a change here changes everybody's benchmarks")
}

// Degrees have the mean and the tail that the package promises, and edges neither loop nor repeat.
func TestKnows(t *testing.T) {
	const n = 20000
	files, c := generate(t, Options{Persons: n, Seed: 1, Workers: 2})
	require.Len(t, files, 6)
	out := make([]int, n+1)
	seen := map[[2]int]bool{}
	near := 0
	lines := strings.Split(strings.TrimSuffix(string(files["person_knows_person.csv"]), "\n"), "\n")[1:]
	for _, l := range lines {
		f := strings.Split(l, ",")
		a, errA := strconv.Atoi(f[0])
		b, errB := strconv.Atoi(f[1])
		pair := [2]int{a, b}
		if len(f) != 4 || errA != nil || errB != nil || a == b || seen[pair] {
			t.Fatalf("bad row %q", l)
		}
		seen[pair] = true
		out[a]++
		if d := a - b; d*d < 200*200 {
			near++
		}
	}
	mean, most := float64(len(lines))/n, 0
	for _, d := range out {
		most = max(most, d)
	}
	require.InDelta(t, meanDegree, mean, 3)
	require.Greater(t, most, 1000)
	require.Greater(t, near, len(lines)/3)
	require.Equal(t, int64(n), int64(bytes.Count(files["person.csv"], []byte{'\n'}))-1)
	require.Greater(t, c.Edges, int64(len(lines)))
}

// Contents of comments have lengths in the range asked for.
func TestComments(t *testing.T) {
	files, _ := generate(t, Options{Persons: 100, CommentMin: 30, CommentMax: 35})
	lines := strings.Split(strings.TrimSuffix(string(files["comment.csv"]), "\n"), "\n")[1:]
	require.Len(t, lines, 200)
	for _, l := range lines {
		text := strings.Split(l, `"`)[1]
		require.GreaterOrEqual(t, len(text), 30)
		require.LessOrEqual(t, len(text), 35)
	}
}

// Tiny networks are networks too.
func TestTiny(t *testing.T) {
	for n := 2; n < 12; n++ {
		generate(t, Options{Persons: n, CommentMax: 3})
	}
	for _, o := range []Options{{}, {Persons: 1}, {Persons: 5, CommentMin: 4, CommentMax: 3}} {
		_, err := Write(t.Context(), t.TempDir(), o)
		require.Error(t, err)
	}
}
