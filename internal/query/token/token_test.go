package token

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	ours   = [32]byte{1, 2, 3}
	theirs = [32]byte{1, 2, 4}
	now    = time.Unix(1_800_000_000, 5)
	tokens = []Token{
		{},
		{Commit: 1, Time: now.UnixNano()},
		{Commit: 1<<64 - 1, Time: -1, Event: 1<<64 - 1, Copy: true, Expires: 1<<63 - 1},
		{Commit: 7, Time: now.UnixNano(), Event: 3},
		{Commit: 7, Time: now.UnixNano(), Copy: true},
		{Commit: 7, Time: now.UnixNano(), Expires: now.Unix() + 1},
	}
)

func TestTokens(t *testing.T) {
	s := NewSigner(ours)
	seen := map[string]bool{}
	for _, want := range tokens {
		text := s.Text(want)
		require.LessOrEqual(t, len(text), 100)
		require.Empty(t, strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"))
		require.False(t, seen[text])
		seen[text] = true
		got, err := NewSigner(ours).Parse(text, now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestTokensThatDoNotHold(t *testing.T) {
	s := NewSigner(ours)
	text := s.Text(tokens[3])
	for i := range text {
		for _, c := range []byte("A_z9=.") {
			if text[i] == c {
				continue
			}
			_, err := s.Parse(text[:i]+string(c)+text[i+1:], now)
			require.Error(t, err)
		}
	}
	for i := range text {
		_, err := s.Parse(text[:i], now)
		require.Error(t, err)
	}
	for _, bad := range []string{"", "earliest", text + "A", text + "AAAA", text + "=", " " + text, strings.Repeat("A", 1<<16), strings.Repeat("AQ", 30)} {
		_, err := s.Parse(bad, now)
		require.Error(t, err, bad)
	}
	_, err := NewSigner(theirs).Parse(text, now)
	require.Equal(t, ErrOtherGraph, err)
	_, err = s.Parse(text[:len(text)-4]+"AAAA", now)
	require.Equal(t, ErrMalformed, err)

	late := Token{Commit: 7, Expires: now.Unix()}
	got, err := s.Parse(s.Text(late), now)
	require.Equal(t, ErrExpired, err)
	require.Equal(t, late, got)
}

func FuzzParse(f *testing.F) {
	s := NewSigner(ours)
	for _, t := range tokens {
		f.Add(s.Text(t))
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		s := NewSigner(ours)
		got, err := s.Parse(text, now)
		if err == nil {
			require.Equal(t, text, s.Text(got))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s := NewSigner(ours)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = s.Append(dst[:0], tokens[3])
	}
}
