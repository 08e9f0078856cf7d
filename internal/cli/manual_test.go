package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestManual(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	root.AddCommand(&cobra.Command{Use: "load FILE", Short: "Load a file", Run: func(*cobra.Command, []string) {}}, Manual())
	dir := filepath.Join(t.TempDir(), "man1")
	root.SetArgs([]string{"manual", dir})
	require.NoError(t, root.Execute())
	page, err := os.ReadFile(filepath.Join(dir, "tool-load.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), "Load a file")
	require.FileExists(t, filepath.Join(dir, "tool.1"))
	require.NoFileExists(t, filepath.Join(dir, "tool-manual.1"), "a hidden command")
}
