package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/loader"
)

// propose prints a mapping for files. Its paths are those of the arguments, or relative to --dir.
func (l *loadFlags) propose(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("load --init: name files or directories")
	}
	for _, name := range []string{"nodes", "relationships", "id-type", "offline", "data-dir", "dry-run"} {
		if cmd.Flags().Changed(name) {
			return usagef("--init loads nothing: it takes files and --dir, not --%s", name)
		}
	}
	for _, name := range args {
		if isMapping(name) {
			return usagef("--init is for files without a mapping; %s is one", name)
		}
	}
	text, err := loader.Propose(cmd.Context(), args, func(name string) string {
		if l.dir == "" || loader.IsURL(name) {
			return filepath.ToSlash(name)
		}
		base, err := filepath.Abs(l.dir)
		if err != nil {
			return name
		}
		abs, err := filepath.Abs(name)
		if err != nil {
			return name
		}
		rel, err := filepath.Rel(base, abs)
		if err != nil {
			return abs
		}
		return filepath.ToSlash(rel)
	})
	if err != nil {
		return exitError{exitUsage, err}
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}
