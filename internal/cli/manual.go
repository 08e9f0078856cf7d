package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/hopgate/hopgate/internal/version"
)

// Manual returns the command that writes the man pages of a program, as packages need them.
func Manual() *cobra.Command {
	return &cobra.Command{
		Use: "manual DIR", Short: "Write a man page for each command into a directory", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Hopgate " + version.Number, Manual: "Hopgate"}, args[0])
		},
	}
}
