package segment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blevesearch/vellum/regexp"
	"github.com/stretchr/testify/require"
)

// model is what a segment should hold: by ID the documents, in which texts are lists of terms.
type model map[string]modelDoc

type modelDoc struct {
	sum    uint32
	fields map[string][][]string
}

// randomModel makes documents with IDs from some numbers; short words are frequent.
func randomModel(r *rand.Rand, from, docs int) model {
	m := model{}
	for i := range docs {
		d := modelDoc{r.Uint32(), map[string][][]string{}}
		for _, f := range []string{"a", "b"}[:r.IntN(3)] {
			for range 1 + r.IntN(2) {
				var text []string
				for range r.IntN(12) {
					text = append(text, fmt.Sprint("w", r.IntN(1+r.IntN(200))))
				}
				d.fields[f] = append(d.fields[f], text)
			}
		}
		m[string(binary.BigEndian.AppendUint64(nil, uint64(from+4*i)))] = d
	}
	return m
}

func (m model) build() *Segment {
	var b Builder
	for _, id := range slices.Sorted(maps.Keys(m)) {
		b.Add([]byte(id), m[id].sum)
		for name, texts := range m[id].fields {
			f := b.Field(name)
			for i, text := range texts {
				for pos, word := range text {
					f.Add([]byte(word), i, pos+1)
				}
			}
		}
	}
	s, err := New(b.Finish())
	if err != nil {
		panic(err)
	}
	return s
}

// places are where a term should stand, by document.
func (m model) places(field string) map[string]map[string][]Position {
	out := map[string]map[string][]Position{}
	for id, d := range m {
		for i, text := range d.fields[field] {
			for pos, word := range text {
				if out[word] == nil {
					out[word] = map[string][]Position{}
				}
				out[word][id] = append(out[word][id], Position{i, pos + 1})
			}
		}
	}
	return out
}

// check compares a segment with what it should hold.
func (m model) check(t *testing.T, s *Segment, r *rand.Rand) {
	ids := slices.Sorted(maps.Keys(m))
	require.Equal(t, len(ids), s.Docs())
	names := s.IDs()
	for _, doc := range append(slices.Collect(func(yield func(int) bool) {
		for i := range ids {
			if !yield(i) {
				return
			}
		}
	}), r.IntN(len(ids)), r.IntN(len(ids))) {
		require.Equal(t, ids[doc], string(names.ID(uint32(doc))))
		found, ok := s.Find([]byte(ids[doc]))
		require.True(t, ok)
		require.Equal(t, uint32(doc), found)
		require.Equal(t, m[ids[doc]].sum, s.Sum(found))
	}
	_, ok := s.Find([]byte("none"))
	require.False(t, ok)
	for _, name := range []string{"a", "b"} {
		want := m.places(name)
		f := s.Field(name)
		if f == nil {
			require.Empty(t, want)
			continue
		}
		for doc, id := range ids {
			n := 0
			for _, text := range m[id].fields[name] {
				n += len(text)
			}
			require.Equal(t, n, int(f.Length(uint32(doc))))
		}
		all := f.Terms(nil)
		for _, word := range slices.Sorted(maps.Keys(want)) {
			require.True(t, all.Next())
			require.Equal(t, word, string(all.Text()))
			at, ok, err := f.Find([]byte(word))
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, len(want[word]), at.Docs)
			got := map[string][]Position{}
			for p := f.Postings(at, false); p.NextBlock(); require.NoError(t, p.Err()) {
				for i, doc := range p.Docs() {
					got[ids[doc]] = p.Positions(i, nil)
					require.Len(t, got[ids[doc]], int(p.Freqs()[i]))
				}
			}
			require.Equal(t, want[word], got)
			m.seek(t, f.Postings(at, r.IntN(2) == 0), ids, want[word], r)
		}
		require.False(t, all.Next())
		require.NoError(t, all.Err())
		_, ok, err := f.Find([]byte("x"))
		require.NoError(t, err)
		require.False(t, ok)
	}
}

// seek reads some of a term's documents.
func (m model) seek(t *testing.T, p *Postings, ids []string, want map[string][]Position, r *rand.Rand) {
	for from := r.IntN(8); from < len(ids); from += 1 + r.IntN(len(ids)) {
		next := slices.IndexFunc(ids[from:], func(id string) bool { return want[id] != nil })
		require.Equal(t, next >= 0, p.Seek(uint32(from), nil))
		if next < 0 {
			return
		}
		i, ok := slices.BinarySearch(p.Docs(), uint32(from+next))
		require.True(t, ok)
		if !p.plain {
			require.Equal(t, want[ids[from+next]], p.Positions(i, nil))
		}
		from += next
	}
}

// TestSegments builds segments of random documents, some with terms in hundreds of documents, and merges them without those that are dead.
func TestSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		var sources []Source
		merged := model{}
		apart := r.IntN(2)
		for k := range 1 + r.IntN(4) {
			m := randomModel(r, k+apart*1e6*k, 1+r.IntN(1000))
			s := m.build()
			m.check(t, s, r)
			var dead []uint64
			if r.IntN(2) == 0 {
				dead = make([]uint64, (s.Docs()+63)/64)
			}
			for i, id := range slices.Sorted(maps.Keys(m)) {
				if dead != nil && r.IntN(3) == 0 {
					dead[i/64] |= 1 << (i % 64)
				} else {
					merged[id] = m[id]
				}
			}
			sources = append(sources, Source{s, dead})
		}
		path := filepath.Join(t.TempDir(), "s")
		file, err := os.Create(path)
		require.NoError(t, err)
		numbers, err := Merge(t.Context(), file, sources)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		s, err := Open(path)
		require.NoError(t, err)
		if len(merged) > 0 {
			merged.check(t, s, r)
		}
		for i, src := range sources {
			old, now := src.IDs(), s.IDs()
			for doc, to := range numbers[i] {
				require.Equal(t, src.dead(uint32(doc)), to == NoDoc)
				if to != NoDoc {
					require.Equal(t, bytes.Clone(old.ID(uint32(doc))), bytes.Clone(now.ID(to)))
				}
			}
		}
		require.NoError(t, s.Close())
	}
}

// TestLengths has texts whose lengths take 1, 2 and 4 bytes, and a frequent term.
func TestLengths(t *testing.T) {
	for _, n := range []int{255, 256, 1 << 16} {
		var b Builder
		b.Add([]byte("x"), 0)
		f := b.Field("f")
		for i := range n {
			f.Add([]byte("word"), 0, i+1)
		}
		b.Add([]byte("y"), 0)
		s, err := New(b.Finish())
		require.NoError(t, err)
		require.Equal(t, n, int(s.Field("f").Length(0)))
		require.Zero(t, s.Field("f").Length(1))
		require.Equal(t, n < 256, s.Field("f").ByteLengths() != nil)
	}
}

// TestMatch finds terms by regular expressions as a scan of all does.
func TestMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var b Builder
	b.Add([]byte("x"), 0)
	words := map[string]bool{}
	f := b.Field("f")
	for range 3000 {
		word := make([]byte, 1+r.IntN(6))
		for i := range word {
			word[i] = "abcé\xff"[r.IntN(6)]
		}
		words[string(word)] = true
		f.Add(word, 0, 1)
	}
	s, err := New(b.Finish())
	require.NoError(t, err)
	for _, c := range []struct{ pattern, prefix string }{{"a.*", "a"}, {"ab[ac]+b?", "ab"}, {".*c", ""}, {"c?b.", ""}, {"x.*", "x"}, {"", ""}, {"(aa|cc)b*", ""}} {
		a, err := regexp.New(c.pattern)
		require.NoError(t, err)
		want, got := []string{}, []string{}
		for _, w := range slices.Sorted(maps.Keys(words)) {
			state := a.Start()
			for i := range len(w) {
				state = a.Accept(state, w[i])
			}
			if a.IsMatch(state) {
				want = append(want, w)
			}
		}
		require.NoError(t, s.Field("f").Match(a, []byte(c.prefix), func(term []byte) error {
			got = append(got, string(term))
			return nil
		}))
		require.Equal(t, want, got, c.pattern)
	}
}

// reseal gives bytes a trailer with their checksum.
func reseal(data []byte) []byte {
	if len(data) < trailerSize {
		data = append(data, make([]byte, trailerSize)...)
	}
	data = bytes.Clone(data)
	copy(data[len(data)-8:], magic)
	binary.LittleEndian.PutUint32(data[len(data)-12:], crc32.Checksum(data[:len(data)-12], castagnoli))
	return data
}

// FuzzSegment reads all that bytes hold if they are a segment by their checksum.
func FuzzSegment(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	f.Add(randomModel(r, 0, 2).build().Bytes())
	f.Add(randomModel(r, 0, 300).build().Bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := New(data); err == nil {
			require.NotNil(t, s)
		}
		s, err := New(reseal(data))
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		ids := s.IDs()
		for doc := range uint32(min(s.Docs(), 1000)) {
			s.Find(ids.ID(doc))
			s.Sum(doc)
		}
		for i := range s.fields {
			at := &s.fields[i]
			for terms := at.Terms(nil); terms.Next(); {
				p := at.Postings(terms.term, false)
				for p.NextBlock() && !p.bad {
					require.Less(t, int(slices.Max(p.Docs())), s.Docs())
					require.True(t, slices.IsSortedFunc(p.Docs(), cmp.Compare[uint32]))
					for k, doc := range p.Docs() {
						at.Length(doc)
						if !p.bad && p.Freqs()[k] < 1000 {
							p.Positions(k, nil)
						}
					}
				}
				p = at.Postings(terms.term, true)
				p.Seek(uint32(s.Docs()/2), func(freq, _ uint32) bool { return freq < 2 })
			}
		}
		_, _ = Merge(context.Background(), &bytes.Buffer{}, []Source{{Segment: s}, {Segment: s, Dead: make([]uint64, s.Docs()/64+1)}})
	})
}
