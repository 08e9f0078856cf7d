package asof

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/query/token"
)

// A token that was read before is checked as others are.
func TestSignedTokens(t *testing.T) {
	key, now := [32]byte{1}, time.Unix(1000, 0)
	want := token.Token{Commit: 5, Time: 6, Expires: 1001}
	text := token.NewSigner(key).Text(want)
	for range 3 {
		got, err := tokens.read(key, text, now)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = tokens.read(key, text, now.Add(time.Second))
		require.ErrorIs(t, err, token.ErrExpired)
		_, err = tokens.read([32]byte{2}, text, now)
		require.ErrorIs(t, err, token.ErrOtherGraph)
		_, err = tokens.read(key, text[:len(text)-1]+"_", now)
		require.ErrorIs(t, err, token.ErrMalformed)
	}
}
