package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
