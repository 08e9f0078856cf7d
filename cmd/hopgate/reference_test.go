package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/docs"
)

// TestReference compares the page of the commands with them, and parses their examples.
func TestReference(t *testing.T) {
	for name, lines := range examples {
		for _, line := range lines {
			cmd, rest, err := newRoot().Find(strings.Fields(line)[1:])
			require.NoError(t, err, line)
			require.Equal(t, name, cmd.Name(), line)
			require.NoError(t, cmd.ParseFlags(rest), line)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
		}
	}
	settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.Flags(settings)
	docs.Compare(t, "docs/reference/hopgate.md", docs.Generated+"# Commands of hopgate\n\n"+
		"`hopgate` is the server, and what works on a data directory without one. `hopgate COMMAND --help` shows the same. "+
		"`serve`, `gateway`, `shard` and `config` also take the [settings](settings.md) as flags.\n"+
		docs.Commands(t, newRoot(), func(_ *cobra.Command, f *pflag.Flag) bool {
			s := settings.Lookup(f.Name)
			return s == nil || s.Usage != f.Usage
		}))
}

// TestPages parses the calls of hopgate in the documents.
func TestPages(t *testing.T) {
	lines := docs.CommandLines(t, "hopgate")
	require.Greater(t, len(lines), 15)
	for _, line := range lines {
		cmd, rest, err := newRoot().Find(line.Args)
		if err == nil {
			cmd.InitDefaultVersionFlag()
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
