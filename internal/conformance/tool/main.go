// Package main fills the cache of conformance suites from public repositories, and says where suites lie and what tests ran of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/hopgate/hopgate/internal/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	switch {
	case len(args) > 0 && args[0] == "fill":
		dir, err := conformance.Cache()
		if err != nil {
			return err
		}
		return fill(ctx, dir, args[1:], out)
	case len(args) == 1 && args[0] == "dir": // of openCypher's cases
		path, err := conformance.OpenCypher.Path()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, filepath.Dir(path))
		return err
	case len(args) == 2 && args[0] == "summary": // of the log of a run of the tests
		f, err := os.Open(args[1]) //nolint:gosec // the log that make names
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		line, err := conformance.Summary(f)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, line)
		return err
	}
	return errors.New("usage: tool fill [--REPOSITORY URL]… | tool dir | tool summary LOG")
}
