package search

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

// indexModel is what an index should hold: a text by ID.
type indexModel map[string]string

func docOf(id, text string) Doc { return Doc{ID(id), []Field{{"f", []string{text}}}} }

// change makes a random batch, and applies it to the model.
func (m indexModel) change(r *rand.Rand, most int) *Batch {
	b := &Batch{}
	for range r.IntN(most) {
		id := string(binary.BigEndian.AppendUint64(nil, uint64(r.IntN(2000))))
		if r.IntN(4) == 0 {
			b.Delete = append(b.Delete, ID(id))
			continue
		}
		b.Docs = append(b.Docs, docOf(id, fmt.Sprintf("w%d w%d all", r.IntN(5), r.IntN(300))))
	}
	for _, id := range b.Delete {
		delete(m, string(id))
	}
	for _, d := range b.Docs {
		m[string(d.ID)] = d.Fields[0].Texts[0]
	}
	return b
}

// check compares what an index holds and finds with the model.
func (m indexModel) check(t *testing.T, x *Index) {
	a, err := FindAnalyzer(graph.DefaultAnalyzer)
	require.NoError(t, err)
	r, err := x.Reader()
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	require.Equal(t, len(m), int(r.Docs()))
	ids := map[string]bool{}
	require.NoError(t, r.EachID(func(id ID) error { ids[string(id)] = true; return nil }))
	require.Len(t, ids, len(m))
	for id, text := range m {
		d := docOf(id, text)
		require.True(t, r.Holds(&d))
		require.True(t, ids[id])
	}
	for _, c := range []struct {
		query string
		has   func(words []string) bool
	}{
		{"w1", func(w []string) bool { return slices.Contains(w, "w1") }},
		{"all", func([]string) bool { return true }},
		{`"w2 w2"`, func(w []string) bool { return w[0] == "w2" && w[1] == "w2" }},
		{"w29*", func(w []string) bool { return strings.HasPrefix(w[1], "w29") }},
		{"+w3 -w4*", func(w []string) bool {
			return (w[0] == "w3" || w[1] == "w3") && !strings.HasPrefix(w[0], "w4") && !strings.HasPrefix(w[1], "w4")
		}},
	} {
		q, err := Parse(c.query)
		require.NoError(t, err)
		req := &Request{Query: q, Fields: []string{"f"}, Analyzer: a}
		found, err := Search(t.Context(), []Part{{Reader: r}}, req)
		require.NoError(t, err)
		var got, want []string
		for _, h := range found {
			got = append(got, string(h.ID))
		}
		slices.Sort(got)
		for _, id := range slices.Sorted(maps.Keys(m)) {
			if c.has(strings.Fields(m[id])) {
				want = append(want, id)
			}
		}
		require.Equal(t, want, got, c.query)
		req.Most = 5
		best, err := Search(t.Context(), []Part{{Reader: r}}, req)
		require.NoError(t, err)
		require.Len(t, best, min(5, len(found)))
		for i := range best {
			require.Equal(t, found[i].Score, best[i].Score, c.query)
		}
	}
}

// copyOf copies what a crash would leave of an index: a commit, with its files.
func copyOf(t *testing.T, dir string) string {
	for {
		before, _ := os.ReadFile(filepath.Join(dir, commitName))
		to := t.TempDir()
		err := os.CopyFS(to, os.DirFS(dir))
		after, _ := os.ReadFile(filepath.Join(dir, commitName))
		if err == nil && bytes.Equal(before, after) {
			return to
		}
	}
}

// TestIndex applies random batches to an index on disk and to one in memory, whose segments are merged meanwhile, and compares both with a
// model. After a crash the index on disk is what it was after the last batch that was persisted, or a later one.
func TestIndex(t *testing.T) {
	a, err := FindAnalyzer(graph.DefaultAnalyzer)
	require.NoError(t, err)
	dir := t.TempDir()
	x, err := Open(dir, a)
	require.NoError(t, err)
	y, err := Open("", a)
	require.NoError(t, err)
	m := indexModel{}
	r := rand.New(rand.NewPCG(1, 2))
	var states []indexModel
	for i := range 60 {
		b := m.change(r, []int{2, 20, 900}[r.IntN(3)])
		states = append(states, maps.Clone(m))
		b.Mark = []byte{byte(i + 1)}
		b.Persisted = func(err error) { // while nothing of the index is locked
			require.NoError(t, err)
			r, err := y.Reader()
			require.NoError(t, err)
			require.NoError(t, r.Close())
		}
		require.NoError(t, y.Apply(b))
		kept := make(chan error, 1)
		b.Persisted = func(err error) { kept <- err }
		require.NoError(t, x.Apply(b))
		switch r.IntN(8) {
		case 0:
			require.NoError(t, <-kept)
			crashed, err := Open(copyOf(t, dir), a)
			require.NoError(t, err)
			m.check(t, crashed)
			require.NoError(t, crashed.Close())
		case 1:
			crashed, err := Open(copyOf(t, dir), a)
			require.NoError(t, err)
			at := 0
			if mark := crashed.state.mark; len(mark) > 0 {
				at = int(mark[0])
				states[at-1].check(t, crashed)
			}
			require.LessOrEqual(t, at, i+1)
			require.NoError(t, crashed.Close())
		case 2:
			require.NoError(t, <-kept)
			require.NoError(t, x.Close())
			x, err = Open(dir, a)
			require.NoError(t, err)
			fallthrough
		case 3:
			m.check(t, x)
			m.check(t, y)
		}
	}
	require.NoError(t, x.Err())
	require.NoError(t, x.Close())
	require.NoError(t, y.Close())
}

// TestFiles removes files that belong to no state. An index at rest has one segment in the end.
func TestFiles(t *testing.T) {
	a, err := FindAnalyzer(graph.DefaultAnalyzer)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "root.bolt"), nil, 0o600))
	for i := range 20 {
		x, err := Open(dir, a)
		require.NoError(t, err)
		kept := make(chan error, 1)
		require.NoError(t, x.Apply(&Batch{Docs: []Doc{docOf(strconv.Itoa(i), "word")}, Mark: []byte("m"), Persisted: func(err error) { kept <- err }}))
		require.NoError(t, <-kept)
		require.NoError(t, x.Close())
	}
	x, err := Open(dir, a)
	require.NoError(t, err)
	r, err := x.Reader()
	require.NoError(t, err)
	require.Equal(t, 20, int(r.Docs()))
	require.NoError(t, r.Close())
	require.NoFileExists(t, filepath.Join(dir, "root.bolt"))
	require.Eventually(t, func() bool {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) == 2
	}, time.Minute, time.Millisecond)
	require.NoError(t, x.Close())
}

// TestDamaged refuses an index whose files are damaged.
func TestDamaged(t *testing.T) {
	a, err := FindAnalyzer(graph.DefaultAnalyzer)
	require.NoError(t, err)
	dir := t.TempDir()
	x, err := Open(dir, a)
	require.NoError(t, err)
	kept := make(chan error, 1)
	require.NoError(t, x.Apply(&Batch{Docs: []Doc{docOf("a", "word")}, Persisted: func(err error) { kept <- err }}))
	require.NoError(t, <-kept)
	require.NoError(t, x.Close())
	for _, name := range []string{commitName, fileName(1)} {
		at := copyOf(t, dir)
		b, err := os.ReadFile(filepath.Join(at, name))
		require.NoError(t, err)
		b[len(b)/2] ^= 1
		require.NoError(t, os.WriteFile(filepath.Join(at, name), b, 0o600))
		_, err = Open(at, a)
		require.ErrorContains(t, err, "corrupt", name)
		require.NoError(t, os.Remove(filepath.Join(at, name)))
		x, err := Open(at, a)
		if name == commitName {
			require.NoError(t, err, "an index is made")
			require.NoError(t, x.Close())
		} else {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
	}
}

// FuzzCommit reads commits as they were written, and nothing else as one.
func FuzzCommit(f *testing.F) {
	c := &commit{[]commitPart{{1, nil}, {7, []uint32{0, 1, 9}}}, []byte("mark"), Stats{}}
	c.stats.count("f", 3, 300)
	f.Add(c.encode())
	f.Add([]byte(commitMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCommit(b)
		if err != nil {
			require.ErrorIs(t, err, errCommit)
			if b = append([]byte(commitMagic), b...); len(b) > 1<<16 {
				return
			}
			if c, err = decodeCommit(sealed(b)); err != nil {
				return
			}
		}
		again, err := decodeCommit(c.encode())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

// FuzzWords splits texts by ASCII characters as bleve does.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "A hacker's 3.14 a.b, c; d: \"e\" x_y", "The (quick) fox-trot\t42\nis. It!", "café a\u0301b", "a\r\nb\x00c", strings.Repeat("x", maxTerm+1)} {
		f.Add(s)
	}
	var all []*Analyzer
	for _, name := range []string{"standard", graph.DefaultAnalyzer, "english"} {
		a, err := FindAnalyzer(name)
		require.NoError(f, err)
		all = append(all, a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range all {
			var got []textTerm
			a.each(text, nil, func(term []byte, pos int) { got = append(got, textTerm{string(term), pos}) })
			if want := a.terms(text); len(want) > 0 || len(got) > 0 {
				require.Equal(t, want, got, a.Name)
			}
		}
	})
}
