package page

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/token"
)

func positions(t testing.TB) []position {
	zoned, err := temporal.ParseDateTime("2020-01-01T00:00:00.000000001[Europe/Berlin]", temporal.Zone{})
	require.NoError(t, err)
	return []position{
		{left: -1},
		{at: snapshot.At{Commit: math.MaxUint64, Time: -1}, request: [16]byte{1, 2}, left: 1<<62 - 1, keys: []graph.Value{{}}},
		{at: snapshot.At{Commit: 7, Time: 9}, keys: []graph.Value{
			graph.IntValue(math.MinInt64), graph.FloatValue(math.Copysign(0, -1)), graph.StringValue("ä\x00"), graph.BoolValue(true), graph.DateTimeValue(zoned),
			graph.DurationValue(temporal.Duration{Months: -1, Nanos: 1}), graph.PointValue(graph.Point{CRS: 7203, X: 1, Y: -2.5}),
			graph.ListValue([]graph.Value{graph.IntValue(1), {}, graph.StringValue("x")}), graph.BytesValue([]byte{0, 1}),
		}},
	}
}

func TestPositions(t *testing.T) {
	s := token.NewSigner([32]byte{1})
	for _, want := range positions(t) {
		text, err := want.text(s)
		require.NoError(t, err)
		got, err := read(s, text)
		require.NoError(t, err)
		wrote, err := want.encode()
		require.NoError(t, err)
		again, err := got.encode()
		require.NoError(t, err)
		require.Equal(t, wrote, again)
		require.Len(t, got.keys, len(want.keys))
		for i, v := range want.keys {
			require.Equal(t, notation.TypedJSON.Append(nil, v), notation.TypedJSON.Append(nil, got.keys[i]))
		}
		_, err = token.NewSigner([32]byte{2}).Unseal(token.Page, text)
		require.Equal(t, token.ErrOtherGraph, err)
		_, err = s.Parse(text, time.Now())
		require.Equal(t, token.ErrMalformed, err, "it names no moment")
		for i := range text {
			_, err := read(s, text[:i])
			require.Error(t, err)
			other := byte('A')
			if text[i] == other {
				other = 'B'
			}
			_, err = read(s, text[:i]+string(other)+text[i+1:])
			require.Error(t, err)
		}
	}
	moment := s.Text(token.Token{Commit: 7})
	_, err := read(s, moment)
	require.Equal(t, token.ErrMalformed, err)
}

// What is signed is still read with care: a later version may write another form.
func FuzzPosition(f *testing.F) {
	for _, p := range positions(f) {
		b, err := p.encode()
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parse(b)
		if !ok {
			return
		}
		again, err := p.encode()
		if err != nil {
			require.Contains(t, err.Error(), "4096 bytes")
			return
		}
		got, ok := parse(again)
		require.True(t, ok)
		twice, err := got.encode()
		require.NoError(t, err)
		require.Equal(t, again, twice)
	})
}

func FuzzToken(f *testing.F) {
	s := token.NewSigner([32]byte{1})
	for _, p := range positions(f) {
		text, err := p.text(s)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		s := token.NewSigner([32]byte{1})
		if p, err := read(s, text); err == nil {
			again, err := p.text(s)
			require.NoError(t, err)
			require.Equal(t, text, again)
		}
	})
}
