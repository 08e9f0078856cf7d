package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

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
	text, err := l.proposed(cmd.Context(), args)
	if err != nil {
		return exitError{exitUsage, err}
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// proposed gives a mapping for files.
func (l *loadFlags) proposed(ctx context.Context, args []string) ([]byte, error) {
	return loader.Propose(ctx, args, func(name string) string {
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
}

// suggest adds to the error of files that cannot be loaded by their headers how to get a mapping, if one can be proposed.
func (l *loadFlags) suggest(cmd *cobra.Command, args []string, err error) error {
	if _, none := l.proposed(cmd.Context(), args); none != nil {
		return err
	}
	names := make([]string, len(args))
	for i, name := range args {
		names[i] = shellQuote(name)
	}
	return fmt.Errorf("%w; for a mapping to load the files with: graphctl load --init %s >mapping.yaml, then graphctl load mapping.yaml",
		err, strings.Join(names, " "))
}

// shellQuote writes a word for a POSIX shell.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:,+@%=", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
