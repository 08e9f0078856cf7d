package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/docs"
)

// TestReference compares the page of the commands with them.
func TestReference(t *testing.T) {
	for _, name := range []string{"GRAPHCTL_ADDRESS", "GRAPHCTL_TOKEN"} {
		t.Setenv(name, "")
	}
	docs.Compare(t, "docs/reference/graphctl.md", docs.Generated+"# Commands of graphctl\n\n"+
		"`graphctl` is the client. `graphctl COMMAND --help` shows the same. [cli.md](../cli.md) describes the shell, scripts and forms of output.\n"+
		docs.Commands(t, newRoot(&app{}), func(*cobra.Command, *pflag.Flag) bool { return true }))
}

// TestPages parses the calls of graphctl in the documents.
func TestPages(t *testing.T) {
	lines := docs.CommandLines(t, "graphctl")
	require.Greater(t, len(lines), 80)
	for _, line := range lines {
		cmd, rest, err := newRoot(&app{}).Find(line.Args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %s: %v", line.Place, line.Text, err)
		}
	}
}
