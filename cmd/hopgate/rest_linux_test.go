package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only what the program file still holds may go: no data, no pages that were changed, no other files.
func TestUnchangedMappings(t *testing.T) {
	const smaps = `00400000-00402000 r--p 00000000 fe:00 1069914                           /opt/hop gate
Rss:                   8 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
00402000-02d0e000 r-xp 00002000 fe:00 1069914                           /opt/hop gate
Anonymous:             0 kB
02d0e000-05870000 r--p 02d0e000 fe:00 1069914                           /opt/hop gate
Anonymous:             4 kB
05870000-05d12000 rw-p 05870000 fe:00 1069914                           /opt/hop gate
Anonymous:             0 kB
05d12000-07d82000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f7a5cfbd000-7f7a5d113000 r-xp 00028000 fe:00 8871                      /usr/lib/opt/hop gate.so
Anonymous:             0 kB
`
	var got [][2]uintptr
	require.NoError(t, eachUnchanged(strings.NewReader(smaps), "/opt/hop gate", func(from, to uintptr) error {
		got = append(got, [2]uintptr{from, to})
		return nil
	}))
	require.Equal(t, [][2]uintptr{{0x400000, 0x402000}, {0x402000, 0x2d0e000}}, got)
}

// The program goes on after its pages were forgotten.
func TestForgetProgram(t *testing.T) {
	exe, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	mapped := 0
	f, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	require.NoError(t, eachUnchanged(f, exe, func(uintptr, uintptr) error { mapped++; return nil }))
	require.NoError(t, f.Close())
	require.Positive(t, mapped)
	require.NoError(t, forgetProgram())
	require.Positive(t, residentMemory())
}
