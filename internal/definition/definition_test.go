package definition

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
)

var (
	word = Register("word", func(name string, value []byte) (string, error) {
		if strings.Contains(string(value), "!") {
			return "", errors.New("a word has no exclamation mark")
		}
		return name + "=" + string(value), nil
	})
	size = Register("size", func(_ string, value []byte) (int, error) { return len(value), nil })
)

// A change puts and drops all or none, if the set has the version that it asks for; what does not change keeps its decoded form.
func TestApply(t *testing.T) {
	var empty *Set
	require.EqualValues(t, 1, empty.Version())
	require.Empty(t, word.All(empty))
	change := func(s *Set, c Change, version uint64, puts, drops int) *Set {
		t.Helper()
		next, done, err := s.Apply(c)
		require.NoError(t, err)
		require.Equal(t, version, next.Version())
		require.Len(t, done.Put, puts)
		require.Len(t, done.Drop, drops)
		again, done, err := next.Apply(c)
		require.NoError(t, err)
		require.Same(t, next, again, "a change that has been made changes nothing, whatever version it asks for")
		require.Empty(t, done)
		return next
	}
	s := change(empty, Change{If: 1, Put: []Record{word.Record("b", []byte("2")), word.Record("a", []byte("0")), word.Record("a", []byte("1")), size.Record("c", []byte("xyz"))}}, 2, 3, 0)
	require.Equal(t, []string{"a=1", "b=2"}, word.All(s))
	got, ok := size.Get(s, "c")
	require.True(t, ok)
	require.Equal(t, 3, got)
	_, ok = size.Get(s, "a")
	require.False(t, ok)
	next := change(s, Change{If: 2, Put: []Record{word.Record("a", []byte("1"))}, Drop: []Ref{size.Ref("c"), size.Ref("c"), size.Ref("d"), word.Ref("a")}}, 3, 0, 1)
	require.Empty(t, size.All(next))
	require.Same(t, &word.All(s)[0], &word.All(next)[0])
	require.Len(t, s.Records(), 3, "a set does not change")

	stored, err := New(next.Version(), next.Records(), s)
	require.NoError(t, err)
	require.Equal(t, next, stored)
	require.Same(t, &word.All(s)[0], &word.All(stored)[0])
	_, err = New(3, []Record{{Kind: "shape", Name: "a"}}, nil)
	require.ErrorContains(t, err, `definitions of kind "shape" are not known`)

	for want, c := range map[string]Change{
		"version 3 now, not 2":        {If: 2, Put: []Record{word.Record("c", nil)}},
		"exclamation":                 {Put: []Record{word.Record("c", nil), word.Record("d", []byte("!"))}, Drop: []Ref{word.Ref("a")}},
		`kind "shape"`:                {Put: []Record{{Kind: "shape", Name: "a"}}},
		"a name of 0 bytes":           {Put: []Record{word.Record("", nil)}},
		"a value of 1048577 bytes":    {Put: []Record{word.Record("c", make([]byte, maxValue+1))}},
		"may take 16777216 bytes, no": {Put: large()},
	} {
		same, done, err := next.Apply(c)
		require.ErrorContains(t, err, want)
		require.Same(t, next, same)
		require.Empty(t, done)
		require.NotEqual(t, graph.KindInternal, graph.AsError(err).Kind)
	}
}

func large() (all []Record) {
	for i := range 16 {
		all = append(all, size.Record(strings.Repeat("x", i+1), make([]byte, maxValue)))
	}
	return all
}
