package mcpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCursor reads whatever a client may send as a cursor.
func FuzzCursor(f *testing.F) {
	of := [8]byte{1, 2, 3}
	f.Add(cursor(of, 0))
	f.Add(cursor(of, 1<<40))
	f.Add("AQID")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := readCursor(text, of)
		if err == nil && text != "" {
			require.Equal(t, cursor(of, rows), text, "a cursor has one form")
		}
	})
}

// FuzzHeaders copies members of whatever a client may send into headers.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte(`{"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
	f.Fuzz(func(_ *testing.T, message []byte) { copyHeaders(http.Header{}, message) })
}
