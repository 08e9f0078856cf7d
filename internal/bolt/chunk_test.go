package bolt

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWaits(t *testing.T) {
	for _, tt := range []struct {
		name, bytes string
		waits       bool
	}{
		{"whole", "\x00\x02\xb0\x01\x00\x00", true},
		{"whole, and more", "\x00\x02\xb0\x01\x00\x00\x00", true},
		{"without its end", "\x00\x02\xb0\x01\x00", false},
		{"of two chunks", "\x00\x01\xb0\x00\x01\x01\x00\x00", false},
		{"empty chunks", "\x00\x00\x00\x00", false},
		{"nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReader(bytes.NewReader(append([]byte{0}, tt.bytes...)))
			_, err := r.ReadByte() // the buffer holds all that has arrived
			require.NoError(t, err)
			require.Equal(t, tt.waits, NewReader(r).Waits())
		})
	}
}
